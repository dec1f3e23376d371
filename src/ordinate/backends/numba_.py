"""The kernels compiled by numba: the functions of ``numpy_``, with the same meaning.

They release Python's global lock and are cached on disk. Arrays of triplets reach them read-only,
so that each kernel is compiled once, whether the rows lie in memory or in a memory map.
"""

import numpy as np
from numba import njit

kernel = njit(nogil=True, cache=True)


@kernel
def scan_rows(rows, n_items):
    n_bad, first, largest = 0, -1, 0
    for row in range(rows.shape[0]):
        anchor, near, far = rows[row, 0], rows[row, 1], rows[row, 2]
        low, high = min(anchor, near, far), max(anchor, near, far)
        largest = max(largest, high)
        if low < 0 or high >= n_items or anchor in (near, far) or near == far:
            if n_bad == 0:
                first = row
            n_bad += 1
    return n_bad, first, largest


@kernel
def count_anchors(rows, n_items):
    counts = np.zeros(n_items, np.int64)
    in_order = True
    before = rows[0, 0]
    for row in range(rows.shape[0]):
        anchor = rows[row, 0]
        counts[anchor] += 1
        in_order &= anchor >= before
        before = anchor
    return counts, in_order


@kernel
def scatter_by_anchor(rows, values, free, out):
    for row in range(rows.shape[0]):
        place = free[rows[row, 0]]
        free[rows[row, 0]] = place + 1
        for k in range(values.shape[1]):
            out[place, k] = values[row, k]
