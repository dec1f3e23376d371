"""What all estimators share."""

import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from os import PathLike
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ordinate._base.checks import check_whole
from ordinate._base.device import choose_device, describe_device
from ordinate._base.memory import in_words
from ordinate._base.messages import Message, Option, counted, some
from ordinate.data.triplets import Triplets
from ordinate.evaluation.metrics import correct
from ordinate.evaluation.splits import n_cut
from ordinate.evaluation.uncertainty import UncertainMap
from ordinate.files.cluster import PartitionedTriplets
from ordinate.files.inputs import answered, open_source, over_labels
from ordinate.files.ondisk import TripletFile
from ordinate.kernels.losses import Loss

NO_GAIN = 1e-6  # share of the loss that a map must save to tell anything
NOT_PICKLED = ("_fitted_to", "_data")  # the data of the fit
SURE = 1e-3  # share of the loss that is left where a map is sure of every answer

if TYPE_CHECKING:
    # scikit-learn has no types, and a checker believes a class whose base it does not know to have
    # any attribute whatever: this is what is used of it.
    class ScikitEstimator:
        """An estimator of scikit-learn."""

        get_params: Callable[..., dict[str, Any]]
        set_params: Callable[..., "Embedder"]
        set_output: Callable[..., "Embedder"]
        get_feature_names_out: Callable[..., np.ndarray]

        def __init__(self, n_components: Any = 2, **parameters: Any) -> None: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __sklearn_tags__(self) -> Any: ...
else:

    class ScikitEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
        """An estimator of scikit-learn that makes a map, and names the map's columns."""


def _streaming() -> list[str]:
    """Names of the estimators that take triplets which are not in memory."""
    from ordinate import estimators
    from ordinate.estimators.catalogue import METHODS

    classes = [method.estimator for method in METHODS]
    return [name for name in classes if getattr(estimators, name)._streams]


class Embedder(UncertainMap, ScikitEstimator):
    """A map in ``embedding_`` that answers questions, and how it is asked for."""

    n_components: Any  # a whole number, or what one is to be chosen of
    n_items: int | None
    verbose: int
    embedding_: np.ndarray
    items_: np.ndarray
    n_features_in_: int
    n_triplets_at_fit_: int
    converged_: bool
    device_: str
    loss_: float

    _data: Any = None  # the triplets of the fit; neither saved nor pickled
    _streams = True  # takes triplets that are not in memory
    _by_anchor = False  # and needs the rows of each anchor together
    _chooses = False  # tries many settings in a fit, which takes as long

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> "Embedder":
        """Find the map; ``y`` says how the rows were answered, see :func:`answered`."""

    def _prepare(self, X: Any, y: Any, device: Any = None) -> tuple[Any, int]:
        """Check what all estimators are given; return the triplets and number of dimensions."""
        n_components = self._most_components()
        self.device_ = choose_device(device)
        if device is not None:
            self._say(f"device: {describe_device(self.device_)}")
        triplets = answered(X, self._triplets(X), y)
        if n_components >= triplets.n_items:
            raise ValueError(
                Message(
                    Option("n_components"),
                    f" must be less than the number of items, {triplets.n_items:,}; got "
                    f"{n_components:,}",
                )
            )
        self.n_features_in_ = 3
        self.items_ = triplets.items
        # Kept if it is a part of a table, to tell whether answers judged later were cut in two.
        self._fitted_to = X if isinstance(X, Triplets) and X._places is not None else None
        self.n_triplets_at_fit_ = len(triplets)
        self._data = triplets
        return triplets, n_components

    def _most_components(self) -> int:
        """The number of dimensions, checked; the largest, where one is yet to be chosen."""
        return check_whole("n_components", self.n_components)

    @property
    def _runs_beside_others(self) -> bool:
        """Whether fits may run at the same time: nobody watches, and they share no GPU."""
        watched = self.verbose or getattr(self, "callback", None) is not None
        return not watched and choose_device(getattr(self, "device", None)) == "cpu"

    def _n_steps(self, n_items: int) -> int:
        """How many steps of a fit are told, as :mod:`ordinate._base.progress` has it."""
        return 0

    def _triplets(self, X: Any) -> Triplets | TripletFile:
        """Return the triplets: in memory, unless they are in a file that is too large for it."""
        source = open_source(X, n_items=self.n_items)
        source.warn()
        stored = source.triplets
        if isinstance(stored, Triplets):
            return stored
        on_cluster = isinstance(stored, PartitionedTriplets)
        if on_cluster and not self._streams:
            raise ValueError(
                f"{type(self).__name__} needs all triplets at once, and these are on a cluster: "
                f"take one that does not, as {', '.join(_streaming())}"
            )
        if not (stored.fits or self._streams):
            raise MemoryError(
                f"{stored.path} is too large for the memory limit of "
                f"{in_words(stored.memory_limit)}, and {type(self).__name__} reads it whole: raise "
                f"the limit, or use one that streams: {', '.join(_streaming())}"
            )
        where = "read into memory" if stored.fits else "on a cluster" if on_cluster else "streamed"
        self._say(
            f"{stored.path}: {len(stored):,} rows, {where}; the memory limit is "
            f"{in_words(stored.memory_limit)}"
        )
        if stored.fits:
            return stored.load()
        if self._by_anchor and not stored.is_grouped:
            self._say(
                f"a copy in the fast layout goes to {gettempdir()} first; "
                "ordinate.ondisk.convert makes one to keep"
            )
        return stored

    def _check_memory(self, triplets: Any, working: float, sample: float = 0.0) -> None:
        """Say how much memory streaming will take, or raise if that is too much.

        ``working`` and ``sample`` are bytes of the state and of the samples that are wanted.
        """
        if isinstance(triplets, Triplets):
            return
        streaming = triplets.streaming_bytes()
        if self.device_ != "cpu":
            streaming *= 2  # each block again, in pinned memory
        needed = streaming + working + triplets.sample_bytes(sample)
        self._say(f"needs about {in_words(needed)} of memory")
        if needed > triplets.memory_limit:
            raise MemoryError(
                Message(
                    f"about {in_words(needed)} of memory are needed for {triplets.n_items:,} "
                    f"items, but the memory limit is {in_words(triplets.memory_limit)}: raise it "
                    "with ",
                    Option("memory_limit", ...),
                    " as the file is opened, or take fewer landmarks or dimensions",
                )
            )

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Find the map and return it: an array (n_items, n_components), or a frame.

        ``set_output(transform="pandas")``, or "polars", asks for a frame, and so does
        ``sklearn.set_config(transform_output="pandas")``: a row for each item, in the order of
        ``items_`` (the index of a frame of pandas), and columns as ``get_feature_names_out()``
        names them. Other keywords are those of `fit`.
        """
        self.fit(X, y, **fit_params)
        return self._framed(self.embedding_, self.items_)

    def _framed(self, points: np.ndarray, labels: np.ndarray) -> Any:
        """Return coordinates of items, as a frame of pandas where one was asked for."""
        own = getattr(self, "_sklearn_output_config", {})
        if own.get("transform", get_config()["transform_output"]) != "pandas":
            return points  # scikit-learn makes what else was asked for of it
        import pandas as pd

        # It would take the index of X, whose rows are triplets; a frame it leaves as it is.
        return pd.DataFrame(points, index=pd.Index(labels, name="item"), copy=True)

    @property
    def _n_features_out(self) -> int:
        """How many columns ``get_feature_names_out`` names."""
        return int(self.embedding_.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Answer questions by the map.

        Parameters
        ----------
        X : triplets in any form
            Rows ``(anchor, first, second)``; labels, where given, are those of the fit.

        Returns
        -------
        ndarray of int, shape (m,)
            1 where the first is nearer to the anchor, -1 where the second is, 0 for a tie or where
            an item has no place.
        """
        check_is_fitted(self, "embedding_")
        self._warn_of_cut_answers(X)
        questions = over_labels(X, self.items_)
        return np.round(2 * correct(self.embedding_, questions.rows) - 1).astype(int)

    def score(self, X: Any, y: Any = None) -> float:
        """Share of triplets that the map gets right; ties count half, rows by their weight.

        Parameters
        ----------
        X : triplets in any form
            Labels, where given, are those of the fit.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How the rows were answered, as in `fit`.
        """
        check_is_fitted(self, "embedding_")
        self._warn_of_cut_answers(X)
        questions = answered(X, over_labels(X, self.items_), y)
        return float(np.average(correct(self.embedding_, questions.rows), weights=questions.weight))

    def save(self, folder: str | PathLike, *, force: bool = False) -> None:
        """Write the fitted model to a folder of plain files, which :func:`ordinate.load` reads.

        Parameters
        ----------
        folder : str or path
            Gets ``model.json`` (the method, its parameters, what the fit found) and
            ``embedding.csv`` (label, dim1, dim2, ...); from methods that know how sure the map is
            also ``covariance.npy``, and standard errors se1, se2, ... in ``embedding.csv``.
        force : bool
            Replace an existing folder, if ordinate wrote everything in it.
        """
        from ordinate.estimators import saving

        check_is_fitted(self, "embedding_")
        saving.save(self, folder, force=force)

    def _uncertain_map(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_is_fitted(self, "embedding_")
        if not hasattr(type(self), "covariance_"):
            raise AttributeError(
                f"{type(self).__name__} is no likelihood, which would tell how sure its map is: "
                "ordinate.bootstrap(model, triplets) finds that out, and its result has the same "
                "methods"
            )
        covariance = getattr(self, "covariance_")  # noqa: B009  # of some subclasses
        return self.embedding_, covariance, self.items_

    def _settled(self) -> "Embedder":
        """Return an estimator, not fitted, that makes maps of other answers as this was made.

        It chooses nothing: what unseen answers chose in this fit is a setting of it.
        """
        return clone(self)

    def _from_here(self) -> "Embedder":
        """Return the same, but beginning with this map, where the method takes a start."""
        return self._settled()

    def _fitted_again(self, triplets: Triplets, **settings: Any) -> Any:
        """Fit a copy to other answers about the same items, or other weights, from this map.

        Nothing is chosen anew, and the map is in units of this one. Of other settings those are
        taken that the method has.
        """
        return self._from_here()._set_known(settings).fit(triplets)

    def _set_known(self, settings: dict[str, Any]) -> "Embedder":
        """Set those parameters that there are."""
        known = self.get_params(deep=False)
        return self.set_params(**{name: settings[name] for name in settings if name in known})

    def _warn_of_cut_answers(self, X: Any) -> None:
        """Warn, once for each table, where the fit has seen part of the answers that are judged."""
        seen = getattr(self, "_fitted_to", None)
        if seen is None or not isinstance(X, Triplets) or X._origin.cut_told:
            return
        n_rows = n_cut(X, seen)
        if n_rows:
            X._origin.cut_told = True
            warnings.warn(
                f"{n_rows:,} of {len(X):,} rows belong to answers whose other rows the map was "
                "fitted to, so it looks better than it is: split by answers, with "
                "Triplets.split() in place of train_test_split, and with cv=TripletKFold(5) in "
                "place of cv=5",
                UserWarning,
                stacklevel=3,
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the model without the data it was fitted to."""
        state = super().__getstate__()
        return {name: state[name] for name in state if name not in NOT_PICKLED}

    def __copy__(self) -> "Embedder":
        """Return a copy that shares everything, also what pickles leave out."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> "Embedder":
        """Return a copy that shares nothing but the data, which nobody changes."""
        twin = memo[id(self)] = copy(self)
        for name, value in vars(self).items():
            if name not in NOT_PICKLED:
                setattr(twin, name, deepcopy(value, memo))
        return twin

    def _placed(self, points: np.ndarray, n_rows: np.ndarray, n_parts: int) -> np.ndarray:
        """Take the places away from items that no triplet mentions, and warn of parts."""
        missing = n_rows == 0
        if missing.any():
            points = np.where(missing[:, None], np.nan, points)
            warnings.warn(
                counted(
                    missing.sum(),
                    "item is in no triplet and has",
                    "items are in no triplet and have",
                )
                + f" no place (NaN) in the map: {some(self.items_[missing])}",
                UserWarning,
                stacklevel=3,
            )
        if n_parts > 1:
            warnings.warn(
                f"the items fall into {n_parts:,} parts that no triplet connects: their "
                "relative positions are arbitrary. Embed them one by one, or ask questions that "
                "link them",
                UserWarning,
                stacklevel=3,
            )
        return points

    def _tell_end(
        self, found: Any, loss: Loss, regularization: float = 0.0, advice: str = ""
    ) -> None:
        """Say that the callback stopped a descent, or warn of what came of it."""
        if found.stopped:
            self._say("stopped by the callback")
        elif not self._warn_of_extremes(loss, regularization) and not found.converged:
            warnings.warn(
                Message(
                    f"not converged after {found.n_iter} steps: raise ",
                    Option("max_iter"),
                    " or ",
                    Option("tol"),
                    advice,
                ),
                ConvergenceWarning,
                stacklevel=3,
            )

    def _warn_of_extremes(self, loss: Loss, regularization: float) -> bool:
        """Warn where answers tell nothing, or set the map no limits; return whether they do."""
        if self.loss_ >= (1 - NO_GAIN) * loss.at_one_point:
            ridge = f", or the ridge of {regularization:g} outweighs them"
            told = (
                "the map explains the answers no better than one with all items in one place: they "
                f"contradict each other{ridge if regularization else ''}. Nothing can be told "
                "about where the items lie"
            )
        elif loss.is_likelihood and not regularization and self.loss_ <= SURE * loss.at_one_point:
            told = (
                "the map is sure of every answer, as none contradict each other: it would grow "
                "without end, and its size means nothing. A little regularization, with methods "
                "that take it, or more answers set it"
            )
        else:
            return False
        warnings.warn(told, UserWarning, stacklevel=4)
        return True

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}", file=sys.stderr)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags
