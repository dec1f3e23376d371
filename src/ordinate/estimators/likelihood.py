"""Estimators that answer questions with probabilities."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.arrays import beside, on_host
from ordinate.algorithms.covariance import covariances, honest_scale
from ordinate.data.simulate import pair_distances
from ordinate.estimators.uncertain import UncertainEmbedder
from ordinate.files.inputs import over_labels
from ordinate.kernels.losses import Loss
from ordinate.passes import store_of


class LikelihoodEmbedder(UncertainEmbedder):
    """Those that know how likely an answer is: they answer questions with probabilities."""

    backend: str
    regularization: float

    @abstractmethod
    def _loss(self, n_components: int) -> Loss:
        """Return the loss of the map, minus the logarithm of the probability of an answer."""

    def _made_by(self) -> tuple[Loss, float, float]:
        """Return the loss and the ridge that made the map, and what the map was multiplied by."""
        return self._loss(self.embedding_.shape[1]), self.regularization, 1.0

    def _covariances(self, by: str) -> np.ndarray:
        loss, ridge, scale = self._made_by()
        answers, independent = (
            store_of(self._data, self.backend, self.device_, by=self._kind(kind))
            for kind in ("answer", by)
        )
        points = beside(answers.counts, np.nan_to_num(self.embedding_) / scale)
        shrunken = honest_scale(answers, points, loss, ridge)
        return scale**2 * on_host(covariances(independent, points, loss, ridge, shrunken))

    @property
    def classes_(self) -> np.ndarray:
        """What the columns of `predict_proba` stand for, as `predict` says it."""
        return np.array([-1, 1])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two answers to questions, by the map and the model.

        Parameters
        ----------
        X : triplets in any form
            Rows ``(anchor, first, second)``; labels, where given, are those of the fit.

        Returns
        -------
        ndarray, shape (m, 2)
            In the order of ``classes_``: that the second is called nearer to the anchor, and that
            the first is. One half each where an item has no place.
        """
        check_is_fitted(self, "embedding_")
        self._warn_of_cut_answers(X)
        anchor, one, other = over_labels(X, self.items_).rows.T
        points = self.embedding_
        near, far = pair_distances(points, anchor, one), pair_distances(points, anchor, other)
        first = self._loss(points.shape[1]).probability(near, far)
        first = np.where(np.isnan(first), 0.5, first)
        return np.column_stack([1 - first, first])
