"""A map with an honest account of it: what it predicts of answers that it has not seen."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ordinate._base import progress
from ordinate._base.messages import message_of
from ordinate.data.advice import Problem
from ordinate.data.triplets import Triplets
from ordinate.evaluation.held_out import HeldOut, hold_out
from ordinate.files.ondisk import TripletFile
from ordinate.passes import store_of

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder


class Analysis(NamedTuple):
    """A fitted model and what is known about its map.

    Attributes
    ----------
    model : Embedder
        Fitted to all triplets; to the weighed ones, if participants were weighed.
    held_out : HeldOut or None
    triplets_per_item : ndarray of int, shape (n_items,)
    accuracy_per_item : ndarray, shape (n_items,)
        Of the held-out triplets that an item occurs in; NaN where there are none.
    participants : list of dict
        Keys participant, triplets, accuracy, and those of :class:`.Participants` where these were
        weighed; empty where participants are unknown.
    warnings : list of str
        What the fit warned of.
    problems : list of Problem
        What the held-out answers say against the map.
    """

    model: "Embedder"
    held_out: HeldOut | None
    triplets_per_item: np.ndarray
    accuracy_per_item: np.ndarray
    participants: list[dict[str, Any]]
    warnings: list[str]
    problems: list[Problem]


def analyse(
    estimator: "Embedder",
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
        Each answer is predicted by a map of the other folds; 0 skips this. By default 5, or as
        many as there are answers if fewer; of more than 2 million triplets one tenth is held out,
        once.
    random_state : int, Generator or None
        For dealing answers into folds, and for simulated answers to compare with if in doubt.
    tell : function of str
        Called before each fit.

    Returns
    -------
    Analysis
    """
    progress.expect(1 + estimator._n_steps(triplets.n_items))
    held_out, predicted = hold_out(
        estimator, triplets, folds=folds, random_state=random_state, tell=tell
    )
    tell("the map of all answers")
    model, warned = _fit(estimator, triplets)
    people = _per_participant(predicted, triplets)
    weighed = getattr(model, "participants_", None)
    if weighed is not None:
        model = cast(Any, model).estimator_
        people = [
            found | {name: value for name, value in person.items() if value == value}
            for found, person in zip(weighed.rows(), people, strict=True)
        ]
    return Analysis(
        model,
        held_out,
        np.bincount(triplets.rows.ravel(), minlength=triplets.n_items),
        _per_item(predicted, triplets),
        people,
        warned,
        [] if held_out is None else held_out.problems(),
    )


def analyse_stored(
    estimator: "Embedder",
    stored: TripletFile,
    *,
    tell: Callable[[str], None] = lambda message: None,
) -> Analysis:
    """Fit a map to triplets in a file that is larger than memory; nothing is held out."""
    progress.expect(1 + estimator._n_steps(stored.n_items))
    tell("the map, streamed")
    model, warned = _fit(estimator, stored)
    counts = store_of(stored).counts.sum(axis=0).astype(int)
    unknown = np.full(stored.n_items, np.nan)
    return Analysis(model, None, counts, unknown, [], warned, [])


def _fit(estimator: "Embedder", data: Triplets | TripletFile) -> tuple["Embedder", list[str]]:
    """Fit, and return what the fit warned of instead of warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(data)
    return model, [message_of(cast(Warning, warning.message)) for warning in caught]


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
