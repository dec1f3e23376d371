"""LOE as an estimator for scikit-learn."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ordinate._base.arrays import on_host
from ordinate._base.checks import check_choice, check_regularization
from ordinate._base.memory import in_words, memory_size
from ordinate._base.messages import counted, some
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.landmark import RECOVERIES, loe
from ordinate.algorithms.landmark_choice import choose_landmarks
from ordinate.algorithms.landmark_cluster import ClusterScores
from ordinate.algorithms.landmark_covariance import Likeliest, landmark_covariances
from ordinate.algorithms.ranking import Scores
from ordinate.algorithms.scaling import principal_axes
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.estimators.placing import MadeBy, PlacingEmbedder
from ordinate.estimators.uncertain import (
    Covariance,
    UncertainEmbedder,
    few_answers,
    much_noise,
    n_answers,
)
from ordinate.files.cluster import PartitionedTriplets
from ordinate.files.maps import MANY as MANY_ITEMS
from ordinate.kernels import losses
from ordinate.passes import store_of

WORKING = 320  # bytes per score, at most at the same time, with the sample of the comparisons
ENOUGH = 5  # comparisons per score and dimension from which its variance is known
# Of fewer, the landmarks' error is known where so many items are beside them that each landmark has
# this many comparisons for every two of the (d + 1) (d + 2) / 2 numbers that are lifted.
MANY = 35
FEW = 1_000_000  # comparisons up to which their likelihood may be asked: it takes 20 to 50 passes
LIGHT = 0.1  # mean weight below which rows cannot be meant as answers
ONE_PLACE = 1e-9  # extent of a map, whose unit is that of the noise, that is rounding alone


class LOE(UncertainEmbedder, PlacingEmbedder):
    """Landmark ordinal embedding: a map from comparisons with landmarks, in linear time.

    Ranks all items by their distance to each landmark, from noisy comparisons, and finds the map
    whose distances to the landmarks are those scores (Ghosh, Chen and Yue, NeurIPS 2019).

    Parameters
    ----------
    n_components : int
        Number of dimensions d.
    landmarks : "auto", int or sequence
        Landmarks as labels or ids; or their number, spread out among the anchors with the most
        comparisons; "auto" takes every anchor with enough. At least ``d + 3``.
    noise : {"btl", "thurstone"}
        How answers err: logistic or normal in the difference of squared distances.
    recovery : {"auto", "lift", "edm"}
        How scores become distances; "edm" is the paper's Algorithm 1 to the letter.
    regularization : float or "auto"
        Ridge on the scores; "auto" is 0.2 over their variance.
    n_items : int, optional
        Number of items, if some may occur in no triplet.
    backend : {"auto", "numba", "numpy"}
        What computes on the CPU: compiled kernels, or NumPy alone; "auto" takes numba if there.
    device : None, "cpu", "cuda", "cuda:<number>", "auto" or torch.device
        Where the passes run: a GPU if named, or by "auto" if there is one. See docs/gpu.md.
    verbose : int
        1 prints what is done.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_items, n_components)
        Centred, along its principal axes. Items that were compared with respect to no landmark are
        NaN, and a warning names them.
    items_ : ndarray, shape (n_items,)
    landmarks_ : ndarray of int, shape (n_landmarks,)
        Rows of the map that are landmarks.
    scores_ : ndarray, shape (n_items, n_landmarks)
    shifts_ : ndarray, shape (n_landmarks,)
        ``scores_ + shifts_`` are estimates of squared distances to the landmarks.
    score_details_ : Scores
        What is known about the scores of each landmark: information, how often each item was
        compared, the ridge, whether they converged.
    misfit_ : float
        Mean squared difference of ``scores_ + shifts_`` and the map's squared distances, in units
        of the scores' variance by chance: about 1 where the map explains the answers.
    recovery_ : str
        The recovery used, "lift" or "edm".
    n_triplets_used_ : int
        Triplets whose anchor is a landmark; a warning says so if there are others.
    n_passes_ : float
        Passes over those triplets.
    converged_ : bool
    device_ : str
        The device used: "cpu", or that of the GPU.

    Examples
    --------
    >>> from ordinate import LOE, procrustes_error, sample_points, sample_triplets
    >>> points = sample_points(500, 2, random_state=0)
    >>> triplets = sample_triplets(
    ...     points, 500_000, design="landmarks", landmarks=20, random_state=0
    ... )
    >>> model = LOE(n_components=2).fit(triplets)
    >>> print(f"{procrustes_error(model.embedding_, points, relative=True):.2f}")
    0.09
    """

    _by_anchor = True
    _scores: Scores | ClusterScores | None = None

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = "auto",
        noise: str = "btl",
        recovery: str = "auto",
        regularization: float | str = "auto",
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.noise = noise
        self.recovery = recovery
        self.regularization = regularization
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "LOE":
        """Find the map.

        Parameters
        ----------
        X : Triplets, array-like of int (m, 3), DataFrame, Arrow table, or a file
            Rows ``(anchor, near, far)``. A file too large for memory is streamed: its path, or
            what :func:`ordinate.ondisk.open_triplets` returns.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How rows ``(anchor, first, second)`` were answered: +1 or True where the first is
            nearer, -1 or False where the second is. Without it, the first is nearer in every row.

        Returns
        -------
        self
        """
        triplets, n_components = self._prepare(X, y, self.device)
        check_choice("recovery", self.recovery, RECOVERIES)
        check_regularization(self.regularization)
        began = time.perf_counter()
        triplets, _ = triplets.grouped(backend=self.backend)
        self.landmarks_ = choose_landmarks(
            triplets, n_components, self.landmarks, backend=self.backend
        )
        self._say(f"{len(self.landmarks_)} landmarks among {triplets.n_items:,} items")
        if not isinstance(triplets, PartitionedTriplets):  # whose scores are not here
            self._check_memory(triplets, WORKING * triplets.n_items * len(self.landmarks_))
        found, scores = loe(
            triplets,
            self.landmarks_,
            n_components,
            noise=self.noise,
            recovery=self.recovery,
            regularization=self.regularization,
            backend=self.backend,
            device=self.device_,
        )
        self.embedding_ = on_host(principal_axes(found.points))
        self.shifts_ = found.shifts
        self._scores = scores if isinstance(scores, ClusterScores) else self._brought(scores)
        self.misfit_ = found.misfit
        self.recovery_ = found.recovery
        self.n_passes_ = scores.n_passes
        self.converged_ = bool(scores.converged.all())
        self.n_triplets_used_ = int(scores.n_triplets.sum())
        self._say(
            f"{self.n_triplets_used_:,} triplets, {self.n_passes_:.2f} passes, "
            f"misfit {self.misfit_:.2f}, {time.perf_counter() - began:.2f} s"
        )
        self._warn(triplets)
        if not isinstance(triplets, Triplets):
            self._data = None  # and with it a copy by anchor, which may be as large as the file
        return self

    def _brought(self, scores: Scores | ClusterScores) -> Scores:
        """Bring scores here from where they were computed, and give landmarks one of their own."""
        if isinstance(scores, ClusterScores):
            needed, allowed = (
                24 * self.embedding_.shape[0] * len(self.landmarks_),
                memory_size(None),
            )
            if needed > allowed:
                raise MemoryError(
                    f"the scores on the cluster take {in_words(needed)}, more than half of the "
                    "memory that is free here"
                )
        here = scores.on_host()
        here.scores[self.landmarks_, range(len(self.landmarks_))] = -self.shifts_
        return here

    @property
    def score_details_(self) -> Scores:
        """What is known about the scores; those on a cluster come here when first asked for."""
        if self._scores is None:
            raise AttributeError("scores are not saved with a model: fit it again")
        if isinstance(self._scores, ClusterScores):
            self._scores = self._brought(self._scores)
        return self._scores

    @property
    def scores_(self) -> np.ndarray:
        """The scores of all items in all columns."""
        return self.score_details_.scores

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: scores on a cluster stay there."""
        state = super().__getstate__()
        return state | {"_scores": None} if isinstance(self._scores, ClusterScores) else state

    def _settled(self) -> Embedder:
        # Landmarks are part of how questions were asked, and not to be chosen again by other
        # answers: maps would differ by what was chosen.
        return super()._settled().set_params(landmarks=self.items_[self.landmarks_])

    @property
    def _can_tell(self) -> bool:
        return self._scores is not None

    @property
    def _tells_only_if_asked(self) -> bool:
        return isinstance(self._scores, ClusterScores) and len(self.embedding_) > MANY_ITEMS

    def _find_covariance(self, by: str) -> Covariance:
        """Find it by scores; by the likelihood, where these cannot tell and it costs little."""
        few = isinstance(self._data, Triplets) and self._can_tell and self.n_triplets_used_ <= FEW
        if not few or not np.nanmax(np.abs(self.embedding_)) > ONE_PLACE:
            return super()._find_covariance(by)
        if self._doubt_of_scores() is None:
            found = super()._find_covariance(by)
            if found.doubt is None:
                return found
        return self._by_likelihood(by)

    def _by_likelihood(self, by: str) -> Covariance:
        """Find the covariance by the likeliest map of the comparisons that were used."""
        used = self._data[np.isin(self._data.rows[:, 0], self.landmarks_)]
        answers, independent = (
            store_of(used, self.backend, self.device_, by=kind) for kind in ("answer", by)
        )
        # Centred by the items that have a place.
        points = np.nan_to_num(self.embedding_ - np.nanmean(self.embedding_, axis=0))
        with single_threaded_blas():
            likeliest = Likeliest.near(points, answers, independent, self._made_by().loss)
        unplaced = np.isnan(self.embedding_[:, :1, None])
        doubt = few_answers(self.embedding_, n_answers(used))
        if not likeliest.converged:
            doubt = (
                "the likeliest map of the comparisons, which would tell, was not found, as where "
                "they hardly contradict each other"
            )
        return Covariance(
            np.where(unplaced, np.nan, likeliest.covariance_of(points)),
            by,
            doubt or much_noise(likeliest.points, np.where(unplaced, np.nan, likeliest.covariance)),
        )

    def _covariances(self, by: str) -> np.ndarray:
        return landmark_covariances(
            np.nan_to_num(self.embedding_),
            self.landmarks_,
            self.score_details_,
            self.shifts_,
            self.misfit_,
            "lift" if self.recovery_ == "lift" else self.recovery,
        )

    def _kind(self, by: str) -> str:
        return "score"

    def _doubt(self, covariance: np.ndarray) -> str | None:
        return self._doubt_of_scores() or super()._doubt(covariance)

    def _doubt_of_scores(self) -> str | None:
        """Say why scores cannot tell the landmarks' error, if there is a reason."""
        if self.recovery_ != "lift":
            return (
                f"there are too few items beside the {len(self.landmarks_)} landmarks, or they do "
                "not fit the scores: the landmarks' error cannot be told. Fewer landmarks help, or "
                "STE"
            )
        details, d = self.score_details_, self.embedding_.shape[1]
        each = float(details.n_compared.sum() / (details.n_compared > 0).sum())
        beside = len(self.embedding_) - len(self.landmarks_)
        needed = MANY * ((d + 1) * (d + 2) / 2) ** 2
        if each < ENOUGH * d and each * beside < needed:
            return (
                f"a score comes from {each:.1f} comparisons on average, and it takes {ENOUGH * d} "
                f"in {d} dimensions, or {needed / each:,.0f} items beside the landmarks: ask more, "
                "or fewer landmarks, or take STE"
            )
        return None

    def _made_by(self) -> MadeBy:
        return MadeBy(losses.get({"btl": "ste", "thurstone": "probit"}[self.noise]))

    def _continue(self, triplets: Triplets, start: np.ndarray, afresh: bool) -> None:
        """Fit anew: that takes about two passes, and no start would save any."""
        self.fit(triplets)

    def _warn(self, triplets: Any) -> None:
        """Say what was left out or went wrong."""
        assert self._scores is not None
        scores, by_item = self._scores, self._scores.compared_by_item
        unused = len(triplets) - self.n_triplets_used_
        if unused:
            warnings.warn(
                f"{unused:,} of {len(triplets):,} triplets were not used: their anchor is not one "
                f"of the {len(self.landmarks_)} landmarks",
                UserWarning,
                stacklevel=3,
            )
        unseen = by_item == 0
        unseen[self.landmarks_] = False
        if unseen.any():
            self.embedding_[unseen] = np.nan
            warnings.warn(
                counted(
                    unseen.sum(),
                    "item was never compared by its distance to a landmark and has",
                    "items were never compared by their distance to a landmark and have",
                )
                + f" no place (NaN) in the map: {some(self.items_[unseen])}",
                UserWarning,
                stacklevel=3,
            )
        each = float(by_item.sum()) / 2 / self.n_triplets_used_
        if each < LIGHT:
            warnings.warn(
                f"the weights of the triplets have a mean of {each:.2g}: LOE takes weights for "
                "numbers of answers, and so few tell little. If they are relative, divide them by "
                "their mean",
                UserWarning,
                stacklevel=3,
            )
        elif not np.nanmax(np.abs(self.embedding_)) > ONE_PLACE:
            warnings.warn(
                "all items are in one place: the answers contradict each other, and nothing can "
                "be told about where the items lie",
                UserWarning,
                stacklevel=3,
            )
        apart = np.flatnonzero(scores.n_parts > 1)
        if len(apart):
            names = some(self.items_[self.landmarks_[apart]])
            warnings.warn(
                f"the comparisons of {len(apart)} landmarks fall into parts that no comparison "
                f"connects, so that only the ridge relates their scores: {names}",
                UserWarning,
                stacklevel=3,
            )
        if not self.converged_:
            late = self.landmarks_[~scores.converged]
            warnings.warn(
                f"the scores of {len(late)} landmarks had not converged after "
                f"{self.n_passes_:.0f} passes: {some(self.items_[late])}",
                ConvergenceWarning,
                stacklevel=3,
            )
