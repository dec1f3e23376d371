"""Estimators that answer questions with probabilities."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate.data.simulate import pair_distances
from ordinate.estimators.base import Embedder
from ordinate.files.inputs import over_labels
from ordinate.kernels.losses import Loss


class LikelihoodEmbedder(Embedder):
    """Those that know how likely an answer is: they answer questions with probabilities."""

    @abstractmethod
    def _loss(self, n_components: int) -> Loss:
        """Return the loss of the map, minus the logarithm of the probability of an answer."""

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
        rows = over_labels(X, self.items_).rows
        first = self._probability(rows, self._loss(self.embedding_.shape[1]))
        return np.column_stack([1 - first, first])

    def _probability(self, rows: np.ndarray, loss: Loss) -> np.ndarray:
        """Probability (m,) that rows are answered as they stand, by the map and a loss."""
        anchor, one, other = rows.T
        points = self.embedding_
        near, far = pair_distances(points, anchor, one), pair_distances(points, anchor, other)
        first = loss.probability(near, far)
        return np.where(np.isnan(first), 0.5, first)


def check_likelihood(estimator: Any) -> LikelihoodEmbedder:
    """Return an estimator that can judge participants, or raise."""
    if not isinstance(estimator, LikelihoodEmbedder):
        raise ValueError(
            "participants are judged by how likely their answers are, so that estimator must be "
            "one with probabilities: OrdinalEmbedding, STE, TSTE, CKL or PowerEmbedding; got "
            f"{estimator!r}"
        )
    return estimator
