"""Triplets that mention few of the items: only those are worked on, as all work grows with them.

So the map of some answers is the same, however many other items there are.
"""

from typing import Any, NamedTuple

import numpy as np

from ordinate.data.numbering import distinct
from ordinate.data.triplets import Triplets

FEW = 0.5  # share of the items below which the others are left out


class Items(NamedTuple):
    """The items that are worked on.

    Attributes
    ----------
    ids : ndarray of int, shape (k,), or slice
        Their places among all.
    n_items : int
        How many there are in all.
    """

    ids: Any
    n_items: int

    def over_all(self, values: np.ndarray, none: float = np.nan) -> np.ndarray:
        """Return an array with a row for each item, ``none`` for those that are left out."""
        if isinstance(self.ids, slice):
            return values
        every = np.full((self.n_items, *values.shape[1:]), none, values.dtype)
        every[self.ids] = values
        return every


EVERY = Items(slice(None), 0)


def among_occurring(triplets: Any, n_components: int) -> tuple[Any, Items]:
    """Return triplets over the items that occur, if these are few, and which they are.

    Labels are left behind. Triplets that are not in memory stay as they are, and so do those of no
    more items than dimensions.

    Examples
    --------
    >>> few, items = among_occurring(Triplets([[7, 90, 4], [4, 7, 90]], n_items=100), 2)
    >>> few.rows.tolist(), items.ids.tolist()
    ([[1, 2, 0], [0, 1, 2]], [4, 7, 90])
    """
    n = triplets.n_items
    if not isinstance(triplets, Triplets) or len(distinct(triplets.rows[:n].ravel())) >= FEW * n:
        return triplets, EVERY  # as the first rows tell in most cases
    ids = distinct(triplets.rows.ravel())
    if not n_components < len(ids) < FEW * n:
        return triplets, EVERY
    place = np.empty(n, np.int32)
    place[ids] = np.arange(len(ids))
    few = Triplets(
        place[triplets.rows], n_items=len(ids), answer=triplets.answer, weight=triplets.weight
    )
    return few, Items(ids, n)
