"""Placing items: among landmarks, and new ones on a map."""

import math

import numpy as np

from ordinate.kernels.backends.numba_.functions import filled, kernel
from ordinate.kernels.backends.numpy_.placing import DAMPING, HALVINGS, PLACING_STEPS, TINY
from ordinate.kernels.backends.translating import blank

link = link_slope = penalty = penalty_slope = penalty_curvature = blank


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


def new_item_sums(rows, starts, weight, points, items, chosen, places, loss, slopes=True):
    compiled = filled(
        _new_item_sums,
        link=loss.link.value,
        link_slope=loss.link.slope,
        penalty=loss.penalty.value,
        penalty_slope=loss.penalty.slope,
        penalty_curvature=loss.penalty.curvature,
    )
    shape = loss.link_shape, loss.penalty_shape, loss.margin
    return compiled(rows, starts, weight, points, items, chosen, places, slopes, *shape)


def _new_item_sums(
    rows,
    starts,
    weight,
    points,
    items,
    chosen,
    places,
    slopes,
    link_shape,
    penalty_shape,
    margin,
):
    n_chosen, n_places, d = places.shape
    value = np.zeros((n_chosen, n_places))
    gradient, curvature = np.zeros((n_chosen, n_places, d)), np.zeros((n_chosen, n_places, d, d))
    corner, change = np.empty((3, d)), np.empty(d)
    for i in range(n_chosen):
        item = items[chosen[i]]
        for row in range(starts[chosen[i]], starts[chosen[i] + 1]):
            w = weight[row] if weight.shape[0] > 0 else 1.0
            role = 0
            for k in range(3):
                if rows[row, k] == item:
                    role = k
                for a in range(d):
                    corner[k, a] = points[rows[row, k], a]
            for place in range(n_places):
                u, v = 0.0, 0.0
                for a in range(d):
                    corner[role, a] = places[i, place, a]
                    u += (corner[0, a] - corner[1, a]) ** 2
                    v += (corner[0, a] - corner[2, a]) ** 2
                z = link(u, *link_shape) - link(v, *link_shape) + margin
                value[i, place] += w * penalty(z, *penalty_shape)
                if not slopes:
                    continue
                pull, push = 2 * link_slope(u, *link_shape), 2 * link_slope(v, *link_shape)
                slope = w * penalty_slope(z, *penalty_shape)
                curved = w * penalty_curvature(z, *penalty_shape)
                for a in range(d):
                    to_near = pull * (corner[0, a] - corner[1, a])
                    to_far = push * (corner[0, a] - corner[2, a])
                    if role == 0:
                        change[a] = to_near - to_far
                    else:
                        change[a] = -to_near if role == 1 else to_far
                    gradient[i, place, a] += slope * change[a]
                for a in range(d):
                    for b in range(d):
                        curvature[i, place, a, b] += curved * change[a] * change[b]
    return value, gradient, curvature
