"""Estimators that know how sure their map is."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.checks import check_choice
from ordinate._base.threads import single_threaded_blas
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder

BY = ("answer", "participant", "row")
IN_WORDS = {
    "answer": "answers taken for independent of each other, the rows of one answer together",
    "participant": "participants taken for independent of each other, all that one said together",
    "row": "rows taken for independent of each other; rows of one answer are not, and make the map "
    "look surer than it is",
    "score": "comparisons taken for independent of each other",
}


class UncertainEmbedder(Embedder):
    """Those that give each item's covariance, from the answers that they were fitted to."""

    _data: Any  # the triplets of the fit, neither pickled nor saved
    _covariance: tuple[np.ndarray, str]  # and its kind

    @abstractmethod
    def _covariances(self, by: str) -> np.ndarray:
        """Covariance (n, d, d) of the coordinates, given the triplets in ``_data``."""

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance (n_items, d, d) of each item's coordinates; NaN for items without a place.

        Computed when first asked for, in one pass over the answers. See :meth:`covariance`.
        """
        return self._known_covariance()[0]

    @property
    def covariance_kind_(self) -> str:
        """What ``covariance_`` takes for independent: "answer", "participant", "row" or "score"."""
        return self._known_covariance()[1]

    def covariance(self, by: str = "answer") -> np.ndarray:
        """Covariance of each item's coordinates, from one pass over the answers.

        It is that of the estimate about the truth, once the two are aligned, in the coordinates
        of ``embedding_``: about 95 of 100 items lie in their ellipses of 95 %. docs/uncertainty.md
        says how, and where that was tried.

        Parameters
        ----------
        by : {"answer", "participant", "row"}
            What is independent. A participant whose answers are alike tells less than as many
            different people; that takes some tens of participants to see.

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
        check_is_fitted(self, "embedding_")
        check_choice("by", by, BY)
        if "_data" not in vars(self):
            raise AttributeError(
                f"this {type(self).__name__} no longer has the answers it was fitted to, and no "
                "covariance was kept: fit it again and take covariance_ before it is pickled, or "
                "save it with model.save(folder), which keeps the covariance"
            )
        if by == "participant" and not isinstance(self._data, Triplets):
            raise ValueError(
                "by='participant' needs triplets in memory that say who answered; these are "
                "streamed from a file"
            )
        with single_threaded_blas():
            found = self._covariances(by)
        return np.where(np.isnan(self.embedding_[:, :1, None]), np.nan, found)

    def _prepare(self, X: Any, y: Any, device: Any = None) -> tuple[Any, int]:
        vars(self).pop("_covariance", None)
        triplets, n_components = super()._prepare(X, y, device)
        self._data = triplets
        return triplets, n_components

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the model without the data it was fitted to."""
        return {name: value for name, value in super().__getstate__().items() if name != "_data"}

    def _known_covariance(self) -> tuple[np.ndarray, str]:
        if "_covariance" not in vars(self):
            self._covariance = self.covariance(), self._kind("answer")
        return self._covariance

    def _kind(self, by: str) -> str:
        """What is taken for independent when ``by`` is asked for: files do not tell answers."""
        return by if isinstance(self._data, Triplets) else "row"
