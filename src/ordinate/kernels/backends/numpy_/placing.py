"""Placing items: among landmarks, and new ones on a map."""

import numpy as np

from ordinate._base.arrays import beside, copy, keep, namespace
from ordinate.kernels.losses import Loss

PLACING_STEPS = 3
HALVINGS = 5
DAMPING = 1e-9  # relative to the curvature: points on a line through all landmarks stay on it
TINY = 1e-300


def place_items(
    points: np.ndarray, landmarks: np.ndarray, distances: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Move points (n, d) to where their squared distances to the landmarks (l, d) fit best.

    Minimises, for each point x, the sum over landmarks z of weight times the square of
    ``distance - |x - z|^2`` by Gauss-Newton steps, halved until the sum falls.
    """
    xp, x = namespace(points), copy(points)
    given = landmarks, distances, weight, beside(points, DAMPING * np.eye(points.shape[1]))
    cost, gradient, curvature = _placement(x, *given)
    for _ in range(PLACING_STEPS):
        step = _solve(curvature, gradient)
        for _ in range(HALVINGS):
            new_cost, new_gradient, new_curvature = _placement(x + step, *given)
            better = new_cost < cost
            x = xp.where(better[:, None], x + step, x)
            cost = xp.where(better, new_cost, cost)
            gradient = xp.where(better[:, None], new_gradient, gradient)
            curvature = xp.where(better[:, None, None], new_curvature, curvature)
            step = keep(step / 2, ~better[:, None])
            if better.all():
                break
    return x


def _placement(
    x: np.ndarray,
    landmarks: np.ndarray,
    distances: np.ndarray,
    weight: np.ndarray,
    damping: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    away = x[:, None, :] - landmarks
    squared = (away**2).sum(axis=2)
    error = distances - squared
    pulled = (4 * weight)[:, :, None] * away
    gradient = 0.5 * (error[:, :, None] * pulled).sum(axis=1)
    curvature = (pulled[:, :, :, None] * away[:, :, None, :]).sum(axis=1)
    size = 4 * (weight * squared).sum(axis=1) + TINY  # its trace
    curvature += size[:, None, None] * damping
    return (weight * error**2).sum(axis=1), gradient, curvature


def _solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve A x = b for many small positive definite A (n, d, d) at once, by elimination.

    A step of it for all n together: libraries solve them one by one, which takes longer.
    """
    d = b.shape[1]
    rows = [[A[:, i, j] for j in range(d)] + [b[:, i]] for i in range(d)]
    for i in range(d):
        for k in range(i + 1, d):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [p - factor * q for p, q in zip(rows[k], rows[i], strict=True)]
    x: list[np.ndarray] = []
    for i in reversed(range(d)):
        known = sum(p * q for p, q in zip(rows[i][d - 1 : i : -1], x, strict=True))
        x.append((rows[i][d] - known) / rows[i][i])
    return namespace(b).stack(x[::-1], 1)


def new_item_sums(
    rows: np.ndarray,
    starts: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    items: np.ndarray,
    chosen: np.ndarray,
    places: np.ndarray,
    loss: Loss,
    slopes: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the triplets about single items cost, were these items in other places.

    Parameters
    ----------
    rows : ndarray of int, shape (m, 3)
        Those of item ``items[i]``, which each of them names, are ``rows[starts[i]:starts[i + 1]]``.
    starts : ndarray of int64, shape (k + 1,)
    weight : ndarray, shape (m,) or empty
    points : ndarray, shape (n, d)
        Where all others are.
    items : ndarray of int64, shape (k,)
    chosen : ndarray of int64, shape (c,)
        Which of the k items are asked about.
    places : ndarray, shape (c, s, d)
        Where each of them might be.
    loss : Loss
    slopes : bool
        Work out gradient and curvature too; else they are 0.

    Returns
    -------
    value : ndarray, shape (c, s)
    gradient : ndarray, shape (c, s, d)
    curvature : ndarray, shape (c, s, d, d)
        That of the penalty times the outer product of z's derivative, summed, as in
        :func:`curvature_sums`.
    """
    sizes = (starts[1:] - starts[:-1])[chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    at = np.repeat(starts[chosen] - np.cumsum(sizes) + sizes, sizes) + np.arange(len(owner))
    rows, w = rows[at], weight[at] if len(weight) else np.ones(len(at))
    here = (rows == items[chosen][owner, None])[:, :, None]
    value = np.zeros(places.shape[:2])
    gradient, curvature = np.zeros(places.shape), np.zeros((*places.shape, places.shape[2]))
    penalty, shape = loss.penalty, loss.penalty_shape
    for place in range(places.shape[1]):
        corners = np.where(here, places[owner, place][:, None, :], points[rows])
        to_near, to_far = corners[:, 0] - corners[:, 1], corners[:, 0] - corners[:, 2]
        u, v = (to_near**2).sum(axis=1), (to_far**2).sum(axis=1)
        z = loss.argument(u, v)
        np.add.at(value[:, place], owner, w * penalty.value(z, *shape))
        if not slopes:
            continue
        pull = 2 * loss.link.slope(u, *loss.link_shape)[:, None] * to_near
        push = 2 * loss.link.slope(v, *loss.link_shape)[:, None] * to_far
        change = np.where(here[:, 0], pull - push, np.where(here[:, 1], -pull, push))
        np.add.at(gradient[:, place], owner, (w * penalty.slope(z, *shape))[:, None] * change)
        curved = (w * penalty.curvature(z, *shape))[:, None, None]
        np.add.at(curvature[:, place], owner, curved * change[:, :, None] * change[:, None, :])
    return value, gradient, curvature
