"""The kernels in plain NumPy: the reference for every other backend."""

import numpy as np


def scan_rows(rows: np.ndarray, n_items: int) -> tuple[int, int, int]:
    """Look for rows that are not triplets: an id outside ``0..n_items-1``, or two equal ids.

    Returns the number of bad rows, the index of the first (-1 if none), and the largest id.
    """
    anchor, near, far = rows.T
    bad = ((rows < 0) | (rows >= n_items)).any(axis=1)
    bad |= (anchor == near) | (anchor == far) | (near == far)
    n_bad = int(np.count_nonzero(bad))
    return n_bad, int(bad.argmax()) if n_bad else -1, int(rows.max())


def count_anchors(rows: np.ndarray, n_items: int) -> tuple[np.ndarray, bool]:
    """Count the rows of each anchor, and say whether the anchors are already in order."""
    anchor = rows[:, 0]
    return np.bincount(anchor, minlength=n_items), bool((anchor[1:] >= anchor[:-1]).all())


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
