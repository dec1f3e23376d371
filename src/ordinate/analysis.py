"""A map with an honest account of it: what it predicts of answers that it has not seen."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ordinate._checks import check_whole
from ordinate.estimators.base import Embedder
from ordinate.metrics import correct
from ordinate.splits import TripletKFold
from ordinate.storage import TripletFile
from ordinate.stores import store_of
from ordinate.triplets import Triplets

MANY = 2_000_000  # triplets above which one tenth is held out, once
FOLDS = 5
SHARE = 10  # of many triplets, one in so many is held out


class HeldOut(NamedTuple):
    """Accuracy on answers that the map was not made of.

    Attributes
    ----------
    accuracy : float
    error : float
        Its standard error, from the spread between answers.
    n_triplets : int
        Triplets that were predicted, each by a map fitted without its answer.
    how : str
    """

    accuracy: float
    error: float
    n_triplets: int
    how: str


class Analysis(NamedTuple):
    """A fitted model and what is known about its map.

    Attributes
    ----------
    model : Embedder
        Fitted to all triplets.
    held_out : HeldOut or None
    triplets_per_item : ndarray of int, shape (n_items,)
    accuracy_per_item : ndarray, shape (n_items,)
        Of the held-out triplets that an item occurs in; NaN where there are none.
    participants : list of dict
        Keys participant, triplets, accuracy; empty where participants are unknown.
    warnings : list of str
        What the fit warned of.
    """

    model: Embedder
    held_out: HeldOut | None
    triplets_per_item: np.ndarray
    accuracy_per_item: np.ndarray
    participants: list[dict[str, Any]]
    warnings: list[str]


def analyse(
    estimator: Embedder,
    triplets: Triplets,
    *,
    folds: int | None = None,
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> Analysis:
    """Fit a map to all triplets, and judge it by maps that were fitted without some answers.

    Parameters
    ----------
    estimator : Embedder
    triplets : Triplets
    folds : int, optional
        Each answer is predicted by a map of the other folds; 0 judges nothing. By default 5, and
        or as many as there are answers; for more than 2 million triplets one tenth is held out
        once.
    random_state : int, Generator or None
        For dealing answers to folds.
    tell : function of str
        Called before each fit.

    Returns
    -------
    Analysis
    """
    predicted = np.full(len(triplets), np.nan)
    unit = "row" if triplets.answer is None else "answer"
    n_fits, how = _plan(folds, len(triplets), len(np.unique(triplets.groups("answer"))), unit)
    if n_fits:
        n_splits = n_fits if n_fits > 1 else SHARE
        splits = TripletKFold(n_splits, random_state=random_state).split(triplets)
        for number, (train, test) in zip(range(n_fits), splits, strict=False):
            tell(f"held-out answers, map {number + 1} of {n_fits}")
            predicted[test] = _predict(clone(estimator), triplets[train], triplets.rows[test])
    tell("the map of all answers")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(triplets)
    return Analysis(
        model,
        _held_out(predicted, triplets, how),
        np.bincount(triplets.rows.ravel(), minlength=triplets.n_items),
        _per_item(predicted, triplets),
        _per_participant(predicted, triplets),
        [str(warning.message) for warning in caught],
    )


class Brief(NamedTuple):
    """What is known of triplets that were not read into memory, in the form of a summary."""

    n_rows: int
    n_items: int

    def lines(self) -> list[tuple[str, str, str]]:
        """Return name, value and note of each line, for tables."""
        return [
            ("rows", f"{self.n_rows:,}", "  streamed from the file"),
            ("items", f"{self.n_items:,}", ""),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return self._asdict()


def analyse_stored(estimator: Embedder, stored: TripletFile) -> Analysis:
    """Fit a map to triplets in a file that is larger than memory; nothing is held out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(stored)
    counts = store_of(stored).counts.sum(axis=0).astype(int)
    unknown = np.full(stored.n_items, np.nan)
    return Analysis(model, None, counts, unknown, [], [str(w.message) for w in caught])


def _plan(folds: int | None, n_rows: int, n_answers: int, unit: str) -> tuple[int, str]:
    """How many fits judge the map, and how to say so; rows are units where answers are unknown."""
    if folds is None and n_rows > MANY:
        return 1, f"one tenth of the {unit}s is predicted by a map of the others"
    if folds is None:
        n_folds = min(FOLDS, n_answers) if n_answers > 1 else 0
    else:
        n_folds = check_whole("folds", folds, least=0, most=max(n_answers, 2))
        if n_folds == 1:
            raise ValueError("folds must be 0, or at least 2: one part leaves nothing to fit")
    return n_folds, f"each {unit} is predicted by a map of the others, in {n_folds} parts"


def _predict(estimator: Embedder, train: Triplets, rows: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all triplets warns of the same
        return correct(estimator.fit(train).embedding_, rows)


def _held_out(predicted: np.ndarray, triplets: Triplets, how: str) -> HeldOut | None:
    known = np.isfinite(predicted)
    if not known.any():
        return None
    weight = np.ones(len(triplets)) if triplets.weight is None else triplets.weight
    accuracy = float(np.average(predicted[known], weights=weight[known]))
    # Rows of one answer go together: the spread is that of sums over answers.
    answer = triplets.groups("answer")
    deviations = np.bincount(answer[known], (weight * (predicted - accuracy))[known])
    error = float(np.sqrt((deviations**2).sum()) / weight[known].sum())
    return HeldOut(accuracy, error, int(known.sum()), how)


def _per_item(predicted: np.ndarray, triplets: Triplets) -> np.ndarray:
    known = np.isfinite(predicted)
    n = triplets.n_items
    right, seen = np.zeros(n), np.zeros(n)
    for item in triplets.rows[known].T:
        right += np.bincount(item, predicted[known], n)
        seen += np.bincount(item, minlength=n)
    return np.divide(right, seen, out=np.full(n, np.nan), where=seen > 0)


def _per_participant(predicted: np.ndarray, triplets: Triplets) -> list[dict[str, Any]]:
    if triplets.participant is None or triplets.participant_labels is None:
        return []
    known = np.isfinite(predicted)
    n = len(triplets.participant_labels)
    n_rows = np.bincount(triplets.participant, minlength=n)
    seen = np.bincount(triplets.participant[known], minlength=n)
    right = np.bincount(triplets.participant[known], predicted[known], n)
    accuracy = np.divide(right, seen, out=np.full(n, np.nan), where=seen > 0)
    return [
        {"participant": str(label), "triplets": int(rows), "accuracy": float(share)}
        for label, rows, share in zip(triplets.participant_labels, n_rows, accuracy, strict=True)
        if rows
    ]
