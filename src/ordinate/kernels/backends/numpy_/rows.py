"""Kernels over rows of triplets: checking and grouping."""

import numpy as np


def scan_rows(rows: np.ndarray, n_items: int) -> tuple[int, int, int, bool]:
    """Look for rows that are not triplets: an id outside ``0..n_items-1``, or two equal ids.

    Returns the number of bad rows, the index of the first (-1 if none), the largest id, and whether
    the anchors are in order.
    """
    anchor, near, far = rows.T
    bad = ((rows < 0) | (rows >= n_items)).any(axis=1)
    bad |= (anchor == near) | (anchor == far) | (near == far)
    n_bad = int(np.count_nonzero(bad))
    in_order = bool((anchor[1:] >= anchor[:-1]).all())
    return n_bad, int(bad.argmax()) if n_bad else -1, int(rows.max()), in_order


def scan_pairs(pairs: np.ndarray, anchor: int, n_items: int) -> int:
    """Count the pairs (m, 2), contiguous uint32, that make no triplet with an anchor."""
    near, far = pairs.T
    bad = (pairs >= n_items).any(axis=1) | (near == far) | (near == anchor) | (far == anchor)
    return int(np.count_nonzero(bad))


def count_anchors(rows: np.ndarray, n_items: int) -> np.ndarray:
    """Count the rows of each anchor."""
    return np.bincount(rows[:, 0], minlength=n_items)


def count_mentions(rows: np.ndarray, n_items: int) -> np.ndarray:
    """Count the rows that each item occurs in, as an anchor and otherwise: an array (2, n)."""
    anchor, near, far = rows.T
    others = np.bincount(near, minlength=n_items) + np.bincount(far, minlength=n_items)
    return np.array([np.bincount(anchor, minlength=n_items), others])


def anchor_starts(rows: np.ndarray, n_items: int) -> np.ndarray:
    """Find the first row of each anchor, and the end, in rows whose anchors are in order."""
    return np.searchsorted(rows[:, 0], np.arange(n_items + 1))


def scatter_by_anchor(
    rows: np.ndarray, values: np.ndarray, free: np.ndarray, out: np.ndarray
) -> None:
    """Write each row's ``values`` (m, k) to the next free place of its anchor in ``out``.

    ``free`` (n_items,) holds those places and is moved on.
    """
    anchor = rows[:, 0]
    sorting = np.argsort(anchor, kind="stable")
    counts = np.bincount(anchor, minlength=len(free))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    out[free[anchor[sorting]] + rank] = values[sorting]
    free += counts
