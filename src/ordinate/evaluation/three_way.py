"""Answers that pick one of three items: how often a map picks the same."""

from typing import NamedTuple

import numpy as np

from ordinate.data.numbering import numbered
from ordinate.data.summary import Agreement, Ceiling, ceiling
from ordinate.data.triplets import Triplets

CHANCE = 1 / 3
CHOICES = 3


class ThreeWay(NamedTuple):
    """The share of three-way answers that a map gives, too.

    Attributes
    ----------
    accuracy : float
        A map picks the odd one, or the most central, as was answered if both rows of the answer
        are right.
    error : float
        Its standard error, as if two more answers had been right and two wrong.
    n_answers : int
    ceiling : Ceiling or None
        What any map can reach, where questions were asked more than once.
    """

    accuracy: float
    error: float
    n_answers: int
    ceiling: Ceiling | None


class _Picked(NamedTuple):
    """Three-way answers: their two rows (k, 2), their question (k,) and the item picked (k,)."""

    rows: np.ndarray
    question: np.ndarray
    item: np.ndarray


def three_way(right: np.ndarray, triplets: Triplets) -> ThreeWay | None:
    """Judge the three-way answers among triplets; None if there are none.

    Parameters
    ----------
    right : ndarray, shape (m,)
        1 for each row that the map agrees with, 0.5 for a tie, 0 where it contradicts.
    triplets : Triplets
        Odd-one-out and most-central answers are told by their two rows, where answers are known.
    """
    picked = _picked(triplets)
    if picked is None:
        return None
    first, second = right[picked.rows].T
    # Two of three distances may be equal, or all: then any of the three is picked.
    agreed = np.where((first == 0.5) & (second == 0.5), CHANCE, first * second)
    padded = np.append(agreed, [1, 1, 0, 0])
    error = np.sqrt(((padded - padded.mean()) ** 2).sum()) / len(padded)
    bound = ceiling(_agreement(picked), CHOICES)
    return ThreeWay(float(agreed.mean()), float(error), len(agreed), bound)


def _picked(triplets: Triplets) -> _Picked | None:
    """Find the answers of two rows that together pick one of three items."""
    if triplets.answer is None:
        return None
    answer = triplets.groups("answer")
    order = np.argsort(answer, kind="stable")
    size = np.bincount(answer)
    begin = np.cumsum(size) - size
    rows = np.column_stack([order[begin[size == 2]], order[begin[size == 2] + 1]])
    (a, b, c), (x, y, z) = triplets.rows[rows].astype(np.int64).transpose(1, 2, 0)
    odd = (a == y) & (b == x) & (c == z)  # a and b are together: c is the odd one
    central = (a == z) & (b == y) & (c == x)  # a and c are farthest apart: b is between
    found = odd | central
    if not found.any():
        return None
    items = np.sort(triplets.rows[rows[found, 0]].astype(np.int64), axis=1)
    pair = numbered(items[:, 0] * triplets.n_items + items[:, 1])
    question = numbered((pair * triplets.n_items + items[:, 2]) * 2 + odd[found])
    return _Picked(rows[found], question, np.where(odd, c, b)[found])


def _agreement(picked: _Picked) -> Agreement:
    """Compare the answers to each question, two at a time."""
    n = np.bincount(picked.question)
    choice = numbered(picked.question * (int(picked.item.max()) + 1) + picked.item)
    times = np.bincount(choice)
    question_of = np.empty(len(times), np.int64)
    question_of[choice] = picked.question
    pairs = n * (n - 1) / 2
    agreeing = np.bincount(question_of, times * (times - 1) / 2, len(n))
    if pairs.sum() < 1:
        return Agreement(np.nan, np.nan, 0)
    share = agreeing.sum() / pairs.sum()
    error = np.sqrt(((agreeing - share * pairs) ** 2).sum()) / pairs.sum()
    return Agreement(float(share), float(error), int(pairs.sum()))
