"""Minimising a loss over maps: quasi-Newton steps scaled by each item's own curvature.

A map's curvature is dominated by its diagonal blocks: in a sum over random triplets, the parts that
couple two items are noise against the part of one item alone. Limited-memory quasi-Newton steps
(L-BFGS) that start from the inverse blocks, estimated on a sample of the triplets, need few passes.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate.losses import Loss
from ordinate.stores import TripletStore

MEMORY = 10  # steps that are remembered
SAMPLE = 8  # triplets per item and dimension in the sample that tells the curvature
REFRESH = 10  # steps after which it is taken anew
HALVINGS = 20

Memory = deque[tuple[np.ndarray, np.ndarray, float]]


class Found(NamedTuple):
    """A minimum, and how it was found.

    Attributes
    ----------
    points : ndarray, shape (n, d)
    value : float
        The loss, summed over triplets, with the ridge.
    n_iter : int
    converged : bool
    history : list of float
        The value after each step, the start's first.
    """

    points: np.ndarray
    value: float
    n_iter: int
    converged: bool
    history: list[float]


def two_loop(
    gradient: np.ndarray, inverse: Callable[[np.ndarray], np.ndarray], memory: Memory
) -> np.ndarray:
    """Apply the inverse curvature that L-BFGS has gathered to a gradient.

    ``inverse`` applies the first guess of it; ``memory`` holds steps s, changes of the gradient y
    along them, and s'y, the latest last.
    """
    q = gradient.copy()
    weights = []
    for s, y, sy in reversed(memory):
        weights.append(np.vdot(s, q) / sy)
        q -= weights[-1] * y
    q = inverse(q)
    if memory:
        _, y, sy = memory[-1]
        q *= sy / np.vdot(y, inverse(y))
    for (s, y, sy), weight in zip(memory, reversed(weights), strict=True):
        q += (weight - np.vdot(y, q) / sy) * s
    return q


def minimise(
    store: TripletStore,
    loss: Loss,
    start: np.ndarray,
    *,
    regularization: float = 0.0,
    tol: float = 1e-2,
    max_iter: int = 500,
    watch: Callable[[int, float, np.ndarray], None] | None = None,
) -> Found:
    """Minimise a loss, plus ``regularization / 2`` times the squared norm of the centred map.

    Parameters
    ----------
    store : TripletStore
    loss : Loss
    start : ndarray, shape (n, d)
    regularization : float
    tol : float
        The Newton decrement, twice the fall in value that is left, at which to stop, as a share of
        what chance alone does to it: of the number of coordinates, for a likelihood. A share of
        0.01 leaves a squared error that is one hundredth of the statistical one.
    max_iter : int
    watch : function of (step, value, points), optional
        Called at the start and after each step.

    Returns
    -------
    Found
    """

    def evaluate(points: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = store.loss(points, loss)
        if regularization:
            centred = points - points.mean(axis=0)
            value += regularization / 2 * np.vdot(centred, centred)
            gradient += regularization * centred
        return value, gradient

    points = start.copy()
    value, gradient = evaluate(points)
    history = [value]
    if watch is not None:
        watch(0, value, points)
    memory: Memory = deque(maxlen=MEMORY)
    for step in range(max_iter):
        if step % REFRESH == 0:
            inverse, chance = block_inverse(store, loss, points, regularization)
        direction = -two_loop(gradient, inverse, memory)
        decrement = -np.vdot(gradient, direction)
        if decrement <= tol * chance:
            return Found(points, value, step, True, history)
        taken = _line_search(evaluate, points, value, direction, decrement)
        if taken is None and memory:
            # The memory has gone stale: begin anew from the blocks.
            memory.clear()
            continue
        if taken is None:
            return Found(points, value, step, False, history)
        new_points, new_value, new_gradient = taken
        s, y = new_points - points, new_gradient - gradient
        sy = float(np.vdot(s, y))
        if sy > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            memory.append((s, y, sy))
        points, value, gradient = new_points, new_value, new_gradient
        history.append(value)
        if watch is not None:
            watch(step + 1, value, points)
    return Found(points, value, max_iter, False, history)


def _line_search(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    points: np.ndarray,
    value: float,
    direction: np.ndarray,
    decrement: float,
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Shorten a step until the value falls as it should; None if it never does."""
    length = 1.0
    for _ in range(HALVINGS):
        new_points = points + length * direction
        new_value, new_gradient = evaluate(new_points)
        if new_value <= value - 1e-4 * length * decrement:
            return new_points, new_value, new_gradient
        # The lowest point of the parabola through what is known, within limits.
        curve = (new_value - value) / length + decrement
        shorter = decrement / (2 * curve) if np.isfinite(curve) and curve > 0 else 0.5
        length *= float(np.clip(shorter, 0.1, 0.5))
    return None


def block_inverse(
    store: TripletStore, loss: Loss, points: np.ndarray, regularization: float
) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Inverse of the curvature's diagonal blocks, and the Newton decrement that chance explains.

    Both from a sample of the triplets, scaled up to all of them. By chance the gradient
    at the truth has each item's summed outer products G as its covariance, so that the decrement is the sum of
    tr(F^-1 G) over items, F their blocks: the number of coordinates for a likelihood.
    """
    n, d = points.shape
    sample = store.sample(SAMPLE * d * n)
    scale = len(store) / len(sample)
    F, G = sample.curvature(points, loss)
    store.n_passes += len(sample) / len(store)
    F, G = scale * F, scale * G
    diagonal = np.arange(d)
    size = F[:, diagonal, diagonal].sum(axis=1) / d
    typical = size[size > 0].mean() if (size > 0).any() else 1.0
    # Items with few triplets have blocks of less than full rank.
    F[:, diagonal, diagonal] += regularization + 1e-2 * size[:, None] + 1e-4 * typical
    P = np.linalg.inv(F)
    chance = float(np.einsum("nab,nba->", P, G))
    return lambda gradient: np.einsum("nab,nb->na", P, gradient), chance
