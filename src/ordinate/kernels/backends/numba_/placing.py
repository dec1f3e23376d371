"""Placing items among landmarks."""

import math

import numpy as np

from ordinate.kernels.backends.numba_.functions import kernel
from ordinate.kernels.backends.numpy_ import DAMPING, HALVINGS, PLACING_STEPS, TINY


@kernel
def place_items(points, landmarks, distances, weight):
    x = points.copy()
    d = x.shape[1]
    gradient, new_gradient = np.empty(d), np.empty(d)
    curvature, new_curvature = np.empty((d, d)), np.empty((d, d))
    step, new = np.empty(d), np.empty(d)
    for i in range(x.shape[0]):
        cost = _placement(x[i], landmarks, distances[i], weight[i], gradient, curvature)
        for _ in range(PLACING_STEPS):
            step[:] = gradient
            _solve(curvature, step)
            for _ in range(HALVINGS):
                new[:] = x[i] + step
                new_cost = _placement(
                    new, landmarks, distances[i], weight[i], new_gradient, new_curvature
                )
                if new_cost < cost:
                    x[i], cost = new, new_cost
                    gradient[:], curvature[:] = new_gradient, new_curvature
                    break
                step /= 2
            else:
                break  # no step helps: the point is where it fits best
    return x


@kernel
def _placement(x, landmarks, distances, weight, gradient, curvature):
    d = x.shape[0]
    cost = 0.0
    gradient[:] = 0
    curvature[:] = 0
    for k in range(landmarks.shape[0]):
        error = distances[k]
        for a in range(d):
            error -= (x[a] - landmarks[k, a]) ** 2
        cost += weight[k] * error * error
        for a in range(d):
            away = 2 * (x[a] - landmarks[k, a])
            gradient[a] += weight[k] * error * away
            for b in range(a + 1):
                curvature[a, b] += weight[k] * away * 2 * (x[b] - landmarks[k, b])
    size = TINY
    for a in range(d):
        size += curvature[a, a]
    for a in range(d):
        curvature[a, a] += DAMPING * size
    return cost


@kernel
def _solve(A, b):
    """Solve A x = b in place by Cholesky's method, from the lower triangle of A alone."""
    d = b.shape[0]
    for a in range(d):
        for k in range(a):
            A[a, a] -= A[a, k] ** 2
        A[a, a] = math.sqrt(A[a, a])
        for b_ in range(a + 1, d):
            for k in range(a):
                A[b_, a] -= A[b_, k] * A[a, k]
            A[b_, a] /= A[a, a]
    for a in range(d):
        for k in range(a):
            b[a] -= A[a, k] * b[k]
        b[a] /= A[a, a]
    for a in range(d - 1, -1, -1):
        for k in range(a + 1, d):
            b[a] -= A[k, a] * b[k]
        b[a] /= A[a, a]
