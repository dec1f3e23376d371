"""Kernels over the comparisons of a column: pairs (near, far) of items."""

import numpy as np

from ordinate.kernels.backends.numba_.functions import BATCH, DOUBLE, SINGLE, filled, kernel
from ordinate.kernels.backends.translating import blank

CHUNK = 1 << 22  # rows after which sums move to double precision, and more where items are more
LONGEST_CHUNK = 1 << 24  # rows whose pulls, of 1 at most, single precision can still add up

residual = information = blank


@kernel
def count_sums(pairs, weight, n_items, dtype):
    far, near = np.zeros(n_items, dtype), np.zeros(n_items, dtype)
    if weight.shape[0] == 0:
        for row in range(pairs.shape[0]):
            near[pairs[row, 0]] += dtype(1)
            far[pairs[row, 1]] += dtype(1)
    else:
        for row in range(pairs.shape[0]):
            near[pairs[row, 0]] += weight[row]
            far[pairs[row, 1]] += weight[row]
    return far, near


def score_sums(pairs, weight, scores, noise):
    language = SINGLE if scores.dtype == np.float32 else DOUBLE
    return filled(_score_sums, language, residual=noise.residual)(pairs, weight, scores)


def _score_sums(pairs, weight, scores):
    n_items = scores.shape[0]
    gradient = np.zeros(n_items)
    # An item's score and its sum beside each other are fetched together.
    item = np.zeros((n_items, 2), scores.dtype)
    item[:, 0] = scores
    pull = np.empty(BATCH, scores.dtype)
    chunk = max(CHUNK, min(8 * n_items, LONGEST_CHUNK))
    for start in range(0, pairs.shape[0], chunk):
        stop = min(start + chunk, pairs.shape[0])
        for first in range(start, stop, BATCH):
            size = min(BATCH, stop - first)
            batch = pairs[first : first + size]
            for i in range(size):
                pull[i] = item[batch[i, 1], 0] - item[batch[i, 0], 0]
            for i in range(size):
                pull[i] = residual(pull[i])
            if weight.shape[0] > 0:
                for i in range(size):
                    pull[i] *= weight[first + i]
            for i in range(size):
                item[batch[i, 1], 1] += pull[i]
                item[batch[i, 0], 1] -= pull[i]
        for i in range(n_items):
            gradient[i] += item[i, 1]
            item[i, 1] = 0
    return gradient


def pair_information(pairs, weight, scores, noise):
    language = SINGLE if scores.dtype == np.float32 else DOUBLE
    return filled(_pair_information, language, information=noise.information)(pairs, weight, scores)


def _pair_information(pairs, weight, scores):
    found = np.empty(pairs.shape[0], scores.dtype)
    for row in range(pairs.shape[0]):
        found[row] = scores[pairs[row, 1]] - scores[pairs[row, 0]]
    for row in range(pairs.shape[0]):
        found[row] = information(found[row])
    if weight.shape[0] > 0:
        for row in range(pairs.shape[0]):
            found[row] *= weight[row]
    return found


@kernel
def neighbour_sums(pairs, weight, values):
    item = np.zeros((values.shape[0], 2), values.dtype)
    item[:, 0] = values
    for row in range(pairs.shape[0]):
        near, far = pairs[row, 0], pairs[row, 1]
        item[far, 1] += weight[row] * item[near, 0]
        item[near, 1] += weight[row] * item[far, 0]
    return item[:, 1].copy()


@kernel
def scatter_by_tile(pairs, weight, shift, n_tiles, out, out_weight):
    free = np.zeros(n_tiles * n_tiles + 1, np.int64)
    for row in range(pairs.shape[0]):
        free[(pairs[row, 0] >> shift) * n_tiles + (pairs[row, 1] >> shift) + 1] += 1
    for tile in range(n_tiles * n_tiles):
        free[tile + 1] += free[tile]
    for row in range(pairs.shape[0]):
        tile = (pairs[row, 0] >> shift) * n_tiles + (pairs[row, 1] >> shift)
        place = free[tile]
        free[tile] = place + 1
        out[place, 0], out[place, 1] = pairs[row, 0], pairs[row, 1]
        if weight.shape[0] > 0:
            out_weight[place] = weight[row]


@kernel
def count_parts(pairs, n_items, n_compared):
    return join_parts(pairs, np.arange(n_items, dtype=np.uint32), n_compared)


@kernel
def join_parts(pairs, parent, n_parts):
    for row in range(pairs.shape[0]):
        a, b = _root(parent, pairs[row, 0]), _root(parent, pairs[row, 1])
        if a != b:
            parent[max(a, b)] = min(a, b)  # one order for all keeps paths short
            n_parts -= 1
            if n_parts == 1:
                break
    return n_parts


@kernel
def _root(parent, item):
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item
