"""What all estimators share."""

import sys
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ordinate._checks import check_whole
from ordinate._device import choose_device, describe_device
from ordinate.metrics import correct
from ordinate.triplets import Triplets, as_triplets


class Embedder(BaseEstimator):
    """A map in ``embedding_`` that answers questions, and how it is asked for."""

    def fit(self, X: Any, y: Any = None) -> "Embedder":
        """Find the map."""
        raise NotImplementedError

    def _prepare(self, X: Any) -> tuple[Triplets, int]:
        """Check what all estimators are given; return the triplets and number of dimensions."""
        n_components = check_whole("n_components", self.n_components)
        self.device_ = choose_device(self.device)
        if self.device is not None:
            self._say(f"device: {describe_device(self.device_)}")
        triplets = as_triplets(X, n_items=self.n_items)
        self.n_features_in_ = 3
        self.labels_ = triplets.labels
        return triplets, n_components

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the map and return it: an array (n_items, n_components)."""
        return self.fit(X).embedding_

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
        questions = over_labels(X, self.labels_)
        return np.round(2 * correct(self.embedding_, questions.rows) - 1).astype(int)

    def score(self, X: Any, y: Any = None) -> float:
        """Share of triplets that the map gets right; ties count half, rows by their weight."""
        check_is_fitted(self, "embedding_")
        questions = over_labels(X, self.labels_)
        return float(np.average(correct(self.embedding_, questions.rows), weights=questions.weight))

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}", file=sys.stderr)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags


def over_labels(X: Any, labels: np.ndarray) -> Triplets:
    """Return triplets over these items, in this order; plain arrays hold ids, all else labels."""
    if not isinstance(X, Triplets) and not hasattr(X, "columns"):
        return Triplets(X, labels=labels)
    triplets = as_triplets(X)
    if triplets.n_items == len(labels) and (triplets.labels == labels).all():
        return triplets
    names = triplets.labels[triplets.rows]
    return Triplets.from_columns(*names.T, labels=labels, weight=triplets.weight)


def names_of(labels: np.ndarray) -> str:
    """Return the first ten labels, for a message."""
    return f"{labels[:10].tolist()}{' ...' if len(labels) > 10 else ''}"
