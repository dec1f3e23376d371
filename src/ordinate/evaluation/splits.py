"""Cross-validation that keeps the rows of one answer, or of one participant, together."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ordinate._base.checks import check_whole
from ordinate.data.folds import shuffled_folds
from ordinate.data.triplets import Triplets
from ordinate.files.inputs import as_triplets


class TripletKFold:
    """K folds of triplets for scikit-learn's ``cross_val_score`` and ``GridSearchCV``.

    Groups are shuffled, then dealt to folds of about equal numbers of rows. Rows of one answer
    depend on each other: a split through an answer makes the test look better than it is.

    Parameters
    ----------
    n_splits : int
    by : {"answer", "participant", "row"}
        What stays together.
    random_state : int, Generator or None
        For shuffling.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinate import Triplets, TripletKFold
    >>> triplets = Triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1]], answer=[0, 0, 1, 2])
    >>> for train, test in TripletKFold(3, random_state=0).split(triplets):
    ...     print(triplets.answer[train], triplets.answer[test])
    [0 0 1] [2]
    [1 2] [0 0]
    [0 0 2] [1]
    """

    def __init__(self, n_splits: int = 5, *, by: str = "answer", random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.by = by
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the row indices of the training and the test part of each fold.

        Parameters
        ----------
        X : triplets in any form
        y, groups : ignored
            Present for scikit-learn.
        """
        n_splits = check_whole("n_splits", self.n_splits, least=2)
        fold = shuffled_folds(
            as_triplets(X).groups(self.by), np.full(n_splits, 1 / n_splits), self.random_state
        )
        for k in range(n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits


def n_cut(judged: Triplets, fitted: Triplets) -> int:
    """Count the rows judged that a map was not fitted to, while it was to others of their answer.

    Only tables taken from the same one, by indices, masks, slices or a split, can share answers;
    of others the number is 0.

    Examples
    --------
    >>> from ordinate import Triplets
    >>> triplets = Triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]], answer=[0, 0, 1])
    >>> n_cut(triplets[[0, 2]], triplets[[1]])
    1
    """
    if judged._origin is not fitted._origin or fitted._places is None:
        return 0
    if judged.answer is None or fitted.answer is None:
        return 0
    places = np.arange(len(judged)) if judged._places is None else judged._places
    shared = np.isin(judged.answer, fitted.answer)
    return int((shared & ~np.isin(places, fitted._places)).sum())
