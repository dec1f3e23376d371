"""Estimators that know how sure their map is."""

import warnings
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.checks import check_choice
from ordinate._base.threads import single_threaded_blas
from ordinate.data.numbering import distinct
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder

BY = ("answer", "participant", "row")
IN_WORDS = {
    "answer": "answers are taken for independent of each other, the rows of one answer together",
    "participant": "participants are taken for independent of each other, all that one said "
    "together",
    "row": "rows are taken for independent of each other, since the file that is streamed does not "
    "tell answers, or does not keep the rows of each together as the fast layout does in the order "
    "of answers; where answers have several rows, the map looks surer than it is",
    "score": "comparisons are taken for independent of each other",
}
ENOUGH = 15  # answers per coordinate from which covariances hold, by simulation: 10 are too few
MOST_NOISE = 0.5  # share of a map's spread beyond which its covariance is a guess


class Covariance(NamedTuple):
    """Each item's covariance (n, d, d), what it takes for independent, why it may be wrong."""

    values: np.ndarray
    kind: str
    doubt: str | None

    @property
    def in_words(self) -> str:
        """What a reader of standard errors must know."""
        told = f"by {self.kind}: {IN_WORDS[self.kind]}"
        return told if self.doubt is None else f"{told}. Not to be trusted: {self.doubt}"


class UncertainEmbedder(Embedder):
    """Those that give each item's covariance, from the answers that they were fitted to."""

    _covariance: Covariance

    @abstractmethod
    def _covariances(self, by: str) -> np.ndarray:
        """Covariance (n, d, d) of the coordinates, given the triplets in ``_data``."""

    @property
    def _can_tell(self) -> bool:
        """Whether what a covariance comes from is still there."""
        return self._data is not None

    @property
    def _tells_only_if_asked(self) -> bool:
        """Whether it takes more than there is to be had here, as a rule, to tell."""
        return False

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance (n_items, d, d) of each item's coordinates; NaN for items without a place.

        That of ``covariance()``, computed when first asked for, and kept.
        """
        return self._known_covariance().values

    @property
    def covariance_kind_(self) -> str:
        """What ``covariance_`` takes for independent: "answer", "row" or "score"."""
        return self._known_covariance().kind

    @property
    def covariance_doubt_(self) -> str | None:
        """Why ``covariance_`` is not to be trusted; None if there is no reason."""
        return self._known_covariance().doubt

    def covariance(self, by: str = "answer") -> np.ndarray:
        """Covariance of each item's coordinates, from few passes over the answers.

        It is that of the estimate about the truth, once the two are aligned, in the coordinates
        of ``embedding_``: about 95 of 100 items lie in their ellipses of 95 %. docs/uncertainty.md
        says how, and where that was tried. A warning says so where answers are too few.

        Parameters
        ----------
        by : {"answer", "participant", "row"}
            What is independent. A participant whose answers are alike tells less than as many
            different people; it takes some tens of participants to see that. LOE takes comparisons
            for independent, unless they are so few that their likelihood must tell.

        Returns
        -------
        ndarray, shape (n_items, n_components, n_components)
            NaN for items without a place.

        Examples
        --------
        >>> from ordinate import STE, sample_points, sample_triplets
        >>> triplets = sample_triplets(sample_points(30, random_state=0), 6000, random_state=0)
        >>> model = STE(random_state=0).fit(triplets)
        >>> model.covariance().shape
        (30, 2, 2)
        """
        check_choice("by", by, BY)
        found = self._find_covariance(by)
        if found.doubt is not None:
            warnings.warn(
                f"the covariance is not to be trusted: {found.doubt}", UserWarning, stacklevel=2
            )
        return found.values

    def _find_covariance(self, by: str) -> Covariance:
        check_is_fitted(self, "embedding_")
        if not self._can_tell:
            raise AttributeError(
                f"this {type(self).__name__} has no covariance, nor the answers it was fitted to, "
                "which are not pickled: fit it again, and take covariance_ before it is pickled, "
                "or save it with model.save(folder), which keeps the covariance"
            )
        if by == "participant" and not isinstance(self._data, Triplets):
            raise ValueError(
                "by='participant' needs triplets in memory that say who answered; these are "
                "streamed from a file"
            )
        with single_threaded_blas():
            found = self._covariances(by)
        found = np.where(np.isnan(self.embedding_[:, :1, None]), np.nan, found)
        return Covariance(found, self._kind(by), self._doubt(found))

    def _doubt(self, covariance: np.ndarray) -> str | None:
        """Say why a covariance is not to be trusted, if there is a reason."""
        return much_noise(self.embedding_, covariance)

    def _prepare(self, X: Any, y: Any, device: Any = None) -> tuple[Any, int]:
        vars(self).pop("_covariance", None)
        return super()._prepare(X, y, device)

    def _known_covariance(self) -> Covariance:
        if "_covariance" not in vars(self):
            self._covariance = self._find_covariance("answer")
        return self._covariance

    def _kind(self, by: str) -> str:
        """What is taken for independent when ``by`` is asked for: not all files tell answers."""
        if isinstance(self._data, Triplets) or (by == "answer" and self._data.by_answer):
            return by
        return "row"


def n_answers(triplets: Triplets) -> float:
    """Count the answers in a table, each as often as its rows weigh on average."""
    votes = 1.0 if triplets.weight is None else float(triplets.weight.mean())
    return votes * (len(triplets) if triplets.answer is None else len(distinct(triplets.answer)))


def few_answers(points: np.ndarray, n_answers: float) -> str | None:
    """Say that answers are too few for the likelihood to tell how sure a map (n, d) is."""
    each = n_answers / np.isfinite(points).sum()
    if each >= ENOUGH:
        return None
    return (
        f"there are {each:.1f} answers per item and dimension, and ellipses were found to hold "
        f"what they should from {ENOUGH} on"
    )


def much_noise(points: np.ndarray, covariance: np.ndarray) -> str | None:
    """Say that a map (n, d) may be mostly chance."""
    spread = np.nansum(points**2)
    noise = np.nansum(np.trace(covariance, axis1=1, axis2=2)) / spread if spread > 0 else 1.0
    if noise <= MOST_NOISE:
        return None
    share = f"{noise:.0%} of" if noise < 1 else "all of"
    return (
        f"{share} the map's spread may be chance, and where that is more than "
        f"{MOST_NOISE:.0%}, how much it is cannot be told either. It takes more answers, or a "
        "ridge"
    )
