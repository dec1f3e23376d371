"""Labels of a line of items: flags on stems, in rows above and below it.

Items next to each other form a block whose stems rise like stairs, the leftmost highest: so labels
cover neither each other nor a stem, and no lines cross. All lengths are in one unit.
"""

from typing import NamedTuple

import numpy as np

STEP = 2.5  # between stems, in points
FINER = (1.0, 0.4)  # where every label must be drawn


class LineLayout(NamedTuple):
    """Where labels stand.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        1, 2, ... above the line, -1, -2, ... below it; 0 for an item without a label.
    stems : ndarray, shape (n,)
        Where along the line a label begins; NaN for an item without one.
    n_rows : int
        On either side of the line.
    """

    rows: np.ndarray
    stems: np.ndarray
    n_rows: int


def lay_out(
    x: np.ndarray,
    widths: np.ndarray,
    width: float,
    row_height: float,
    most_rows: int,
    *,
    every: bool = False,
) -> LineLayout:
    """Find rows and stems for labels: few rows, and stems near their items.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Places of the items, from 0 to `width`.
    widths : ndarray, shape (n,)
        Of the labels, with the room between them; NaN for an item without one.
    width, row_height : float
    most_rows : int
        On either side. Labels that do not fit are left out, evenly along the line.
    every : bool
        Take as many rows as all labels need, and stems as close.

    Examples
    --------
    >>> lay_out(np.array([0.0, 10, 50]), np.full(3, 20.0), 100, 8, 5).rows.tolist()
    [1, -1, 1]
    """
    order = np.argsort(x, kind="stable")
    order = order[~np.isnan(widths[order])]
    steps, limits = [STEP], [max(1, most_rows)]
    if every:
        steps, limits = [STEP, STEP, *FINER, 0.0], [*limits, *(4 * [len(order)])]
    for step, limit in zip(steps, limits, strict=True):
        found = _fewest(x, widths, order, width, row_height, limit, step)
        if found is not None:
            return found
    fits, too_many = 0, len(order)
    best = LineLayout(np.zeros(len(x), dtype=int), np.full(len(x), np.nan), 1)
    while too_many - fits > 1:
        some = (fits + too_many) // 2
        chosen = order[np.linspace(0, len(order) - 1, some).round().astype(int)]
        found = _fewest(x, widths, chosen, width, row_height, limits[-1], steps[-1])
        if found is None:
            too_many = some
        else:
            fits, best = some, found
    return best


def _fewest(
    x: np.ndarray,
    widths: np.ndarray,
    order: np.ndarray,
    width: float,
    row_height: float,
    most_rows: int,
    step: float,
) -> LineLayout | None:
    """Weigh a row more against stems that stand farther from their items; None if nothing fits."""
    best, least = None, np.inf
    for n_rows in range(1, most_rows + 1):
        if n_rows * row_height / 2 >= least:
            break
        rows, stems = np.zeros(len(x), dtype=int), np.full(len(x), np.nan)
        for sign, side in ((1, order[::2]), (-1, order[1::2])):
            found = _stems(x[side], widths[side], width, n_rows, step)
            if found is None:
                break
            stems[side] = found
            rows[side] = sign * _rows(len(side), n_rows)
        else:
            far = float(np.abs(stems[order] - x[order]).mean()) if len(order) else 0.0
            if far + n_rows * row_height / 2 < least:
                least = far + n_rows * row_height / 2
                best = LineLayout(rows, stems, n_rows)
    return best


def _rows(n: int, n_rows: int) -> np.ndarray:
    """Rows of n labels in blocks of stairs that fall to the right; each ends in the lowest row."""
    block, place = np.divmod(np.arange(n), n_rows)
    return np.minimum(n_rows, n - block * n_rows) - place


def _stems(
    x: np.ndarray, widths: np.ndarray, width: float, n_rows: int, step: float
) -> np.ndarray | None:
    """Stems as near to their items as possible in the least-squares sense; None if too many.

    Stems of a block differ by at least a step; the next block begins where all labels have ended.
    Less those gaps, what is left must only be in order: isotonic regression.
    """
    from sklearn.isotonic import isotonic_regression

    if len(x) == 0:
        return x
    place = np.arange(len(x)) % n_rows
    last = np.append(place[1:] == 0, True)
    # A label of a block begins some steps to the left of the last: how far it goes beyond that.
    steps_left = np.where(last, place, 0)[::-1]
    steps_left = _carry(steps_left, last[::-1])[::-1] - place
    beyond = widths - step * steps_left
    ends = np.flatnonzero(last)
    longest = np.maximum.reduceat(beyond, np.append(0, ends[:-1] + 1))
    gaps = np.full(len(x), step)
    gaps[ends] = np.maximum(longest, step)
    offsets = np.append(0, np.cumsum(gaps)[:-1])
    room = width - gaps[-1] - offsets[-1]
    if room < 0:
        return None
    return np.asarray(isotonic_regression(x - offsets, y_min=0, y_max=room)) + offsets


def _carry(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Repeat each known value until the next."""
    return values[np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))]
