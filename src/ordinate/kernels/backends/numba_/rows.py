"""Kernels over rows of triplets: checking and grouping."""

import numpy as np

from ordinate.kernels.backends import numpy_
from ordinate.kernels.backends.numba_.functions import MANY, kernel


@kernel
def scan_rows(rows, n_items):
    n_bad, first, largest = 0, -1, 0
    in_order, before = True, rows[0, 0]
    for row in range(rows.shape[0]):
        anchor, near, far = rows[row, 0], rows[row, 1], rows[row, 2]
        in_order &= anchor >= before
        before = anchor
        low, high = min(anchor, near, far), max(anchor, near, far)
        largest = max(largest, high)
        if low < 0 or high >= n_items or anchor in (near, far) or near == far:
            if n_bad == 0:
                first = row
            n_bad += 1
    return n_bad, first, largest, in_order


@kernel
def scan_pairs(pairs, anchor, n_items):
    # A pair as one number of 64 bits, and bits instead of branches: the loop vectorises.
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    own, limit = np.uint64(anchor), np.uint64(n_items)
    words = pairs.reshape(-1).view(np.uint64)
    n_bad = np.uint64(0)
    for row in range(words.shape[0]):
        one, other = words[row] & low, words[row] >> half
        bad = (one >= limit) | (other >= limit) | (one == other) | (one == own) | (other == own)
        n_bad += np.uint64(bad)
    return n_bad


@kernel
def count_anchors(rows, n_items):
    counts = np.zeros(n_items, np.int64)
    for row in range(rows.shape[0]):
        counts[rows[row, 0]] += 1
    return counts


def count_mentions(rows, n_items):
    return (_count_mentions if len(rows) >= MANY else numpy_.count_mentions)(rows, n_items)


@kernel
def _count_mentions(rows, n_items):
    counts = np.zeros((2, n_items), np.int64)
    for row in range(rows.shape[0]):
        counts[0, rows[row, 0]] += 1
        counts[1, rows[row, 1]] += 1
        counts[1, rows[row, 2]] += 1
    return counts


@kernel
def anchor_starts(rows, n_items):
    n_rows = rows.shape[0]
    starts = np.full(n_items + 1, n_rows, np.int64)
    row = 0
    for item in range(n_items + 1):
        # Bisection between here and a place found in strides that double: long runs are leapt over.
        stride = 1
        while row + stride < n_rows and rows[row + stride, 0] < item:
            stride *= 2
        low, high = row, min(row + stride, n_rows)
        while low < high:
            middle = (low + high) // 2
            if rows[middle, 0] < item:
                low = middle + 1
            else:
                high = middle
        starts[item] = row = low
    return starts


@kernel
def scatter_by_anchor(rows, values, free, out):
    for row in range(rows.shape[0]):
        place = free[rows[row, 0]]
        free[rows[row, 0]] = place + 1
        for k in range(values.shape[1]):
            out[place, k] = values[row, k]
