"""Minimising a loss over maps: quasi-Newton steps scaled by each item's own curvature.

A map's curvature is dominated by its diagonal blocks: in a sum over random triplets, the parts that
couple two items are noise against the part of one item alone. Limited-memory quasi-Newton steps
(L-BFGS) that start from the inverse blocks, estimated on a sample of the triplets, need few passes.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.arrays import beside, copy, dot, namespace, on_host
from ordinate.data.rows import read_only
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore

MEMORY = 10  # steps that are remembered
SAMPLE = 8  # triplets per item and dimension in the sample that tells the curvature
REFRESH = 10  # steps after which it is taken anew
HALVINGS = 20
ROUNDING = 1e-14  # fall of the value, as a share of the start's, that rounding hides
TINY = 1e-300
BATCH = 32  # triplets per coordinate, at least, in the smallest batch
GROWTH = 4  # how much larger the next one is
ENOUGH = 0.1  # share of a batch's own statistical error that its optimisation may leave

Memory = deque[tuple[np.ndarray, np.ndarray, float]]
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Of the number of steps so far, the value per answer, the points, and how many times larger than
# wanted the decrement is; says whether to stop.
Watch = Callable[[int, float, np.ndarray, float], bool]


@dataclass(frozen=True)
class Step:
    """Where a fit has got to: what ``callback`` is called with.

    Attributes
    ----------
    iteration : int
        Steps taken since the start; 0 at the start itself.
    loss : float
        Mean loss per answer, with the ridge; of the current batch if there are batches.
    left : float
        How many times larger than wanted the error of the optimisation is: it ends at 1. NaN if
        that is not known.
    n_passes : float
        Passes over the triplets so far, those of the start included.
    embedding : ndarray, shape (n_items, n_components), read-only
        The map, computed on demand; not yet centred, nor aligned with its principal axes.
    """

    iteration: int
    loss: float
    left: float
    n_passes: float
    _points: Callable[[], np.ndarray] = field(repr=False, compare=False)

    @property
    def embedding(self) -> np.ndarray:
        """The map at this step."""
        return read_only(self._points())


class Found(NamedTuple):
    """A minimum, and how it was found.

    Attributes
    ----------
    points : ndarray, shape (n, d)
    n_iter : int
    converged : bool
    history : list of float
        The value per answer, with the ridge, at the start and after each step.
    stopped : bool
        By the callback.
    """

    points: np.ndarray
    n_iter: int
    converged: bool
    history: list[float]
    stopped: bool = False


def two_loop(
    gradient: np.ndarray, inverse: Callable[[np.ndarray], np.ndarray], memory: Memory
) -> np.ndarray:
    """Apply the inverse curvature that L-BFGS has gathered to a gradient.

    ``inverse`` applies the first guess of it; ``memory`` holds steps s, changes of the gradient y
    along them, and s'y, the latest last.
    """
    q = copy(gradient)
    weights = []
    for s, y, sy in reversed(memory):
        weights.append(dot(s, q) / sy)
        q -= weights[-1] * y
    q = inverse(q)
    if memory:
        _, y, sy = memory[-1]
        q *= sy / dot(y, inverse(y))
    for (s, y, sy), weight in zip(memory, reversed(weights), strict=True):
        q += (weight - dot(y, q) / sy) * s
    return q


def minimise(
    store: TripletStore,
    loss: Loss,
    start: np.ndarray,
    *,
    regularization: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 500,
    watch: Watch | None = None,
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
        0.0001 leaves a squared error that is one ten-thousandth of the statistical one, where
        weights are about 1; their scale makes no difference.
    max_iter : int
    watch : Watch, optional
        Called at the start and after each step.

    Returns
    -------
    Found
    """
    evaluate = _objective(store, loss, regularization)
    total, unit = len(store), weight_unit(store)
    points = copy(start)
    value, gradient = evaluate(points)
    history, hidden = [value / total], ROUNDING * value
    memory: Memory = deque(maxlen=MEMORY)
    sample = store.sample(SAMPLE * points.shape[1] * len(points))
    stalled, latest, chance = False, math.inf, 0.0
    for step in range(max_iter):
        if step % REFRESH == 0:
            # All these steps have brought less than one should: caught in a kink of a hinge.
            before, stalled = stalled, latest - value < tol * chance / 2
            if stalled and before:
                return Found(points, step, False, history)
            if stalled:
                memory.clear()
            latest = value
            scale = len(store) / len(sample) / unit
            inverse, chance = block_inverse(sample, scale, loss, points, regularization / unit)
            if loss.is_likelihood:
                # Answers that a map has quite wrong would pass as chance, however many.
                chance = min(chance, math.prod(points.shape))
        direction = -two_loop(gradient, inverse, memory)
        decrement = -dot(gradient, direction)
        left = decrement / max(tol * chance, TINY)
        stopped = watch is not None and watch(step, value / total, points, left)
        if decrement <= tol * chance + hidden:
            return Found(points, step, True, history, stopped)
        if stopped:
            return Found(points, step, False, history, stopped)
        taken = _line_search(evaluate, points, value, direction, decrement)
        if taken is None and memory:
            # What is remembered has gone stale: begin anew from the blocks.
            memory.clear()
            continue
        if taken is None:
            return Found(points, step, False, history)
        new_points, new_value, new_gradient = taken
        s, y = new_points - points, new_gradient - gradient
        sy = dot(s, y)
        if sy > 1e-10 * (dot(s, s) * dot(y, y)) ** 0.5:
            memory.append((s, y, sy))
        points, value, gradient = new_points, new_value, new_gradient
        history.append(value / total)
    stopped = watch is not None and watch(max_iter, value / total, points, np.nan)
    return Found(points, max_iter, False, history, stopped)


def minimise_in_batches(
    store: TripletStore,
    loss: Loss,
    start: np.ndarray,
    *,
    regularization: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 500,
    watch: Watch | None = None,
) -> Found:
    """Minimise on batches of the triplets that grow fourfold, each from the map of the last.

    Each is left where its own statistical error begins; the last is all triplets. Takes the same
    as :func:`minimise`, and pays where triplets are many and the start is poor: most steps then
    read a small part of them.
    """
    sizes = [len(store)]
    while sizes[-1] // GROWTH >= BATCH * math.prod(start.shape):
        sizes.append(sizes[-1] // GROWTH)
    points, history, n_iter = start, [], 0
    for size in reversed(sizes):
        batch = store.sample(size)
        found = minimise(
            batch,
            loss,
            points,
            regularization=regularization * len(batch) / len(store),
            tol=tol if size == len(store) else max(tol, ENOUGH),
            max_iter=max_iter,
            watch=_counting_from(n_iter, watch),
        )
        points, n_iter = found.points, n_iter + found.n_iter
        history += found.history
        if found.stopped:
            break
    return Found(points, n_iter, found.converged and batch is store, history, found.stopped)


def _counting_from(n_iter: int, watch: Watch | None) -> Watch | None:
    """Add the steps of batches before to those of a batch."""
    return watch and (lambda step, *state: watch(n_iter + step, *state))


def minimise_plainly(
    store: TripletStore,
    loss: Loss,
    start: np.ndarray,
    *,
    regularization: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 500,
    watch: Watch | None = None,
) -> Found:
    """Minimise by scipy's L-BFGS: the plain reference, with the parameters of :func:`minimise`.

    It knows nothing of statistical errors: ``tol`` times 1e-6 is the relative fall of the value at
    which it stops, or where rounding hides it.
    """
    from scipy.optimize import minimize

    evaluate = _objective(store, loss, regularization)
    history = [evaluate(start)[0] / len(store)]
    if watch is not None and watch(0, history[0], start, np.nan):
        return Found(start, 0, False, history, True)
    stopped = False

    def flat(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate(beside(start, coordinates.reshape(start.shape)))
        return value, on_host(gradient).ravel()

    def after_step(intermediate_result: Any) -> None:
        nonlocal stopped
        history.append(intermediate_result.fun / len(store))
        points = intermediate_result.x.reshape(start.shape).copy()  # scipy goes on with the array
        if watch is not None and watch(len(history) - 1, history[-1], points, np.nan):
            stopped = True
            raise StopIteration

    found = minimize(
        flat,
        on_host(start).ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={
            "maxiter": max_iter,
            "maxfun": 4 * max_iter,
            "ftol": max(1e-6 * tol, 10 * ROUNDING),  # its line search fails below
            "gtol": 0.0,
        },
    )
    points = beside(start, found.x.reshape(start.shape))
    return Found(points, found.nit, bool(found.success), history, stopped)


def weight_unit(store: TripletStore) -> float:
    """Mean weight of a row: the unit in which the scale of weights makes no difference."""
    return store.total / len(store)


def _objective(store: TripletStore, loss: Loss, regularization: float) -> Objective:
    """Value and gradient of a loss over all triplets, with the ridge, in units of a weight."""
    unit = weight_unit(store)
    ridge = regularization / unit

    def evaluate(points: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = store.loss(points, loss)
        if unit != 1:
            value, gradient = value / unit, gradient / unit
        if ridge:
            centred = points - points.mean(axis=0)
            value += ridge / 2 * dot(centred, centred)
            gradient += ridge * centred
        return value, gradient

    return evaluate


def _line_search(
    evaluate: Objective,
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
    sample: TripletStore, scale: float, loss: Loss, points: np.ndarray, regularization: float
) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Inverse of the curvature's diagonal blocks, and the Newton decrement that chance explains.

    Both from a sample of the triplets, scaled up to all of them, which are ``scale`` times as many.
    By chance the gradient at the truth has each item's summed outer products G as its covariance,
    so that the decrement is the sum of tr(F^-1 G) over items, F their blocks: the number of
    coordinates for a likelihood.
    """
    d = points.shape[1]
    F, G = sample.curvature(points, loss)
    F, G = scale * F, scale * G
    diagonal = np.arange(d)
    size = F[:, diagonal, diagonal].sum(axis=1) / d
    typical = float(size.sum() / max(int((size > 0).sum()), 1)) or 1.0
    # Items with few triplets have blocks of less than full rank.
    F[:, diagonal, diagonal] += regularization + 1e-2 * size[:, None] + 1e-4 * typical
    P = namespace(F).linalg.inv(F)
    chance = dot(P, G)  # both symmetric
    return lambda gradient: (P * gradient[:, None, :]).sum(axis=2), chance


SOLVERS = {"blocks": minimise, "batches": minimise_in_batches, "scipy": minimise_plainly}
