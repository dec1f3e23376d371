"""Kernels over triplets, given a map: losses, curvature, similarities."""

import math

import numpy as np

from ordinate.backends import numpy_
from ordinate.backends.numba_.functions import (
    BATCH,
    SQRT_2,
    kernel,
    log,
    logistic_residual,
    normal_residual,
    softplus_rest,
)

LOG_SQRT_2_PI = math.log(2 * math.pi) / 2


@kernel
def loss_sums(rows, weight, points, link, shape, penalty, margin):
    gradient = np.zeros(points.shape)
    value = 0.0
    near, far = np.empty(BATCH), np.empty(BATCH)
    slope, cost = np.empty(BATCH), np.empty(BATCH)
    for first in range(0, rows.shape[0], BATCH):
        size = min(BATCH, rows.shape[0] - first)
        batch = rows[first : first + size]
        _distances(batch, points, near, far)
        _arguments(size, link, shape, margin, near, far, slope)
        _penalise(size, penalty, slope, cost)
        if weight.shape[0] > 0:
            for i in range(size):
                slope[i] *= weight[first + i]
                cost[i] *= weight[first + i]
        for i in range(size):
            value += cost[i]
            near[i] *= 2 * slope[i]
            far[i] *= 2 * slope[i]
        _pull_and_push(batch, points, near, far, gradient)
    return value, gradient


def curvature_sums(rows, weight, points, link, shape, penalty, margin):
    # Few rows tell a curvature: NumPy works out their terms, sparing a second compiled copy.
    curvature, square, pull, push = numpy_.curvature_terms(
        rows, weight, points, link, shape, penalty, margin
    )
    return _outer_sums(rows, curvature, square, pull, push, points.shape[0])


@kernel
def _outer_sums(rows, curvature, square, pull, push, n):
    d = pull.shape[1]
    blocks, spread = np.zeros((n, d, d)), np.zeros((n, d, d))
    change = np.empty((3, d))
    for row in range(rows.shape[0]):
        for a in range(d):
            change[0, a] = pull[row, a] - push[row, a]
            change[1, a] = -pull[row, a]
            change[2, a] = push[row, a]
        for k in range(3):
            item = rows[row, k]
            for a in range(d):
                for b in range(d):
                    outer = change[k, a] * change[k, b]
                    blocks[item, a, b] += curvature[row] * outer
                    spread[item, a, b] += square[row] * outer
    return blocks, spread


@kernel
def similarity_sums(rows, weight, vectors):
    product = np.zeros(vectors.shape, vectors.dtype)
    w = np.ones(1, vectors.dtype)
    for row in range(rows.shape[0]):
        anchor, near, far = rows[row, 0], rows[row, 1], rows[row, 2]
        if weight.shape[0] > 0:
            w[0] = weight[row]
        # A loop for each item that changes: the compiler cannot know that they differ.
        for k in range(vectors.shape[1]):
            product[anchor, k] += w[0] * (vectors[far, k] - vectors[near, k])
        for k in range(vectors.shape[1]):
            product[far, k] += w[0] * vectors[anchor, k]
        for k in range(vectors.shape[1]):
            product[near, k] -= w[0] * vectors[anchor, k]
    return product


@kernel
def _distances(batch, points, near, far):
    """Squared distances from the anchors; maps in the plane are worth a loop of their own."""
    d = points.shape[1]
    if d == 2:
        for i in range(batch.shape[0]):
            anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
            x, y = points[anchor, 0], points[anchor, 1]
            near[i] = (x - points[j, 0]) ** 2 + (y - points[j, 1]) ** 2
            far[i] = (x - points[k, 0]) ** 2 + (y - points[k, 1]) ** 2
        return
    for i in range(batch.shape[0]):
        anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
        u, v = 0.0, 0.0
        for a in range(d):
            x = points[anchor, a]
            u += (x - points[j, a]) ** 2
            v += (x - points[k, a]) ** 2
        near[i], far[i] = u, v


@kernel
def _pull_and_push(batch, points, near, far, gradient):
    """Add to the gradient what triplets do, given the derivatives by their distances, doubled."""
    d = points.shape[1]
    if d == 2:
        for i in range(batch.shape[0]):
            anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
            x, y = points[anchor, 0], points[anchor, 1]
            pull_x, pull_y = near[i] * (x - points[j, 0]), near[i] * (y - points[j, 1])
            push_x, push_y = far[i] * (x - points[k, 0]), far[i] * (y - points[k, 1])
            gradient[anchor, 0] += pull_x - push_x
            gradient[anchor, 1] += pull_y - push_y
            gradient[j, 0] -= pull_x
            gradient[j, 1] -= pull_y
            gradient[k, 0] += push_x
            gradient[k, 1] += push_y
        return
    for i in range(batch.shape[0]):
        anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
        for a in range(d):
            x = points[anchor, a]
            pull, push = near[i] * (x - points[j, a]), far[i] * (x - points[k, a])
            gradient[anchor, a] += pull - push
            gradient[j, a] -= pull
            gradient[k, a] += push


@kernel
def _arguments(size, link, shape, margin, near, far, z):
    """Turn squared distances into the penalty's argument z, and themselves into link's slopes."""
    if link == 0:
        for i in range(size):
            z[i] = near[i] - far[i] + margin
            near[i], far[i] = 1.0, 1.0
    elif link == 1:
        half = (shape + 1) / 2
        for i in range(size):
            z[i] = half * (log(shape + near[i]) - log(shape + far[i])) + margin
        for i in range(size):
            near[i], far[i] = half / (shape + near[i]), half / (shape + far[i])
    elif link == 2:
        for i in range(size):
            z[i] = log(shape + near[i]) - log(shape + far[i]) + margin
        for i in range(size):
            near[i], far[i] = 1 / (shape + near[i]), 1 / (shape + far[i])
    else:
        for i in range(size):
            near[i], far[i] = math.sqrt(max(near[i], 1e-300)), math.sqrt(max(far[i], 1e-300))
            z[i] = near[i] - far[i] + margin
        for i in range(size):
            near[i], far[i] = 0.5 / near[i], 0.5 / far[i]


@kernel
def _penalise(size, penalty, z, cost):
    """Turn arguments z into costs, and themselves into the penalty's slopes."""
    if penalty == 0:
        for i in range(size):
            slope = logistic_residual(-z[i])
            cost[i] = softplus_rest(slope) + (z[i] if z[i] > 0.0 else 0.0)
            z[i] = slope
    elif penalty == 1:
        for i in range(size):
            slope = normal_residual(-z[i])
            if z[i] < 0.0:
                cost[i] = -math.log1p(-0.5 * math.erfc(-z[i] / SQRT_2))
            else:  # phi(z) / slope = Phi(-z), where that may vanish
                cost[i] = 0.5 * z[i] * z[i] + LOG_SQRT_2_PI + math.log(slope)
            z[i] = slope
    elif penalty == 2:
        for i in range(size):
            cost[i] = z[i] if z[i] > 0.0 else 0.0
            z[i] = 1.0 if z[i] > 0.0 else 0.0
    else:
        for i in range(size):
            above = z[i] if z[i] > 0.0 else 0.0
            cost[i] = above * above
            z[i] = 2 * above
