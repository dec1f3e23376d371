"""Estimators that answer questions with probabilities."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.arrays import beside, on_host
from ordinate._base.checks import refuse_class
from ordinate._base.messages import Either, Message
from ordinate.algorithms.covariance import covariances, honest_scale
from ordinate.data.simulate import pair_distances
from ordinate.data.triplets import Triplets
from ordinate.estimators.placing import PlacingEmbedder
from ordinate.estimators.uncertain import UncertainEmbedder, few_answers, n_answers
from ordinate.files.inputs import over_labels
from ordinate.kernels.losses import Loss
from ordinate.passes import store_of


class LikelihoodEmbedder(UncertainEmbedder, PlacingEmbedder):
    """Those that know how likely an answer is: they answer questions with probabilities."""

    @abstractmethod
    def _loss(self, n_components: int) -> Loss:
        """Return the loss of the map, minus the logarithm of the probability of an answer."""

    def _covariances(self, by: str) -> np.ndarray:
        loss, ridge, scale = self._made_by()
        answers, independent = (
            store_of(self._data, self.backend, self.device_, by=self._kind(kind))
            for kind in ("answer", by)
        )
        points = np.nan_to_num(self.embedding_) / scale
        shrunken = honest_scale(answers, beside(answers.counts, points), loss, ridge)
        points = beside(independent.counts, points)
        return scale**2 * on_host(covariances(independent, points, loss, ridge, shrunken))

    def _doubt(self, covariance: np.ndarray) -> str | None:
        data = self._data
        if isinstance(data, Triplets):
            given = n_answers(data)
        else:
            given = store_of(data, self.backend).total / len(data) * data.n_answers
        return few_answers(self.embedding_, given) or super()._doubt(covariance)

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


def no_probabilities(estimator: Any) -> Message:
    """Say what an estimator lacks, and which have it."""
    return Message(
        f"{type(estimator).__name__} gives no probabilities: take ",
        Either(
            "OrdinalEmbedding, PowerEmbedding, STE, TSTE or CKL",
            "a map by --method ordinal, ste, tste or ckl",
        ),
    )


def check_likelihood(estimator: Any) -> LikelihoodEmbedder:
    """Return an estimator that can judge participants, or raise."""
    refuse_class(estimator)
    if not isinstance(estimator, LikelihoodEmbedder):
        raise ValueError(
            Message(
                "participants are judged by how likely their answers are, and ",
                no_probabilities(estimator),
            )
        )
    return estimator
