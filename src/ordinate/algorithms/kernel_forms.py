"""The convex forms: gradient steps on the n x n matrix of inner products, projected each time.

A triplet's argument, near - far + margin of squared distances ``K_ii + K_jj - 2 K_ij``, is linear
in the matrix K of inner products. STE-Ker and GNMDS-Ker keep K positive semidefinite, STE-Proj of
rank d. They are slow by nature: each step takes n^2 memory and up to n^3 time.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate._base.memory import available_memory
from ordinate._base.threads import blocks
from ordinate.algorithms.optimise import ROUNDING, Watch
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets

ROWS = 1 << 18  # triplets that are summed at a time
MATRICES = 8  # n x n arrays at the same time: K, its successor, the gradient, eigenvectors and work
TRIAL = 300  # size of the problem that tells the speed
GROWTH = 2.0  # of the step's length after a step that went well
TRIES = 2  # lengths that are tried in a step, about
PATIENCE = 3  # steps in a row that must gain too little

Projection = Callable[[np.ndarray], np.ndarray]


class FoundKernel(NamedTuple):
    """Inner products (n, n), and how they were found; values are losses per answer."""

    K: np.ndarray
    n_iter: int
    converged: bool
    history: list[float]
    stopped: bool = False


class Cost(NamedTuple):
    """What a kernel form takes: memory in bytes, and the time of a step in seconds."""

    memory: float
    seconds: float


def project_semidefinite(K: np.ndarray) -> np.ndarray:
    """Closest positive semidefinite matrix: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 0
    return (vectors[:, kept] * values[kept]) @ vectors[:, kept].T


def project_rank(n_components: int) -> Projection:
    """Projection onto the positive semidefinite matrices of at most this rank."""

    def project(K: np.ndarray) -> np.ndarray:
        from scipy.linalg import eigh

        n = len(K)
        values, vectors = eigh(K, subset_by_index=[max(n - n_components, 0), n - 1])
        return (vectors * np.maximum(values, 0)) @ vectors.T

    return project


def kernel_value(store: MemoryTriplets, loss: Loss, K: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient (n, n) of a loss that is linear in squared distances."""
    store.count_pass()
    n = len(K)
    diagonal = np.diag(K)
    value, flat = 0.0, np.zeros(n * n)
    on_diagonal = np.zeros(n)
    for part in blocks(len(store), ROWS):
        anchor, near, far = store.rows[part].T.astype(np.int64)
        z = diagonal[near] - diagonal[far] - 2 * (K[anchor, near] - K[anchor, far]) + loss.margin
        penalty, shape = loss.penalty, loss.penalty_shape
        values, slope = penalty.value(z, *shape), penalty.slope(z, *shape)
        if len(store.weight):
            values, slope = values * store.weight[part], slope * store.weight[part]
        value += float(values.sum())
        flat += np.bincount(anchor * n + far, slope, n * n)
        flat -= np.bincount(anchor * n + near, slope, n * n)
        on_diagonal += np.bincount(near, slope, n) - np.bincount(far, slope, n)
    G = flat.reshape(n, n)
    G = G + G.T
    G[np.diag_indices(n)] += on_diagonal
    return value, G


def descend_kernel(
    store: MemoryTriplets,
    loss: Loss,
    project: Projection,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    watch: Watch | None = None,
) -> FoundKernel:
    """Minimise over matrices K by projected gradient steps, from K = 0.

    A step ``P(K - t G)`` is taken if the value falls below its bound
    ``f(K) + <G, step> + |step|^2 / 2t``; else t is halved. Stops when steps gain less than ``tol``
    of the value, or rounding hides what is left of it. ``watch`` is called at the start and after
    each step, with K for the points.
    """
    n = store.n_items
    K = np.zeros((n, n))
    value, G = kernel_value(store, loss, K)
    history, hidden = [value / store.total], ROUNDING * value
    length = 1 / max(np.abs(G).max(), 1e-300)
    idle = 0
    if watch is not None and watch(0, history[0], K, np.nan):
        return FoundKernel(K, 0, False, history, True)
    for step in range(1, max_iter + 1):
        while True:
            new = project(K - length * G)
            change = new - K
            new_value, new_G = kernel_value(store, loss, new)
            bound = value + np.vdot(G, change) + np.vdot(change, change) / (2 * length)
            if new_value <= bound + 1e-12 * abs(value):
                break
            length /= 2
        gained = value - new_value
        K, value, G = new, new_value, new_G
        history.append(value / store.total)
        length *= GROWTH
        idle = idle + 1 if gained <= tol * abs(value) or value <= hidden else 0
        stopped = watch is not None and watch(step, history[-1], K, np.nan)
        if idle == PATIENCE:
            return FoundKernel(K, step, True, history)
        if stopped:
            return FoundKernel(K, step, False, history, stopped)
    return FoundKernel(K, max_iter, False, history)


def estimate_cost(store: MemoryTriplets, loss: Loss, project: Projection) -> Cost:
    """Measure small problems and scale them up."""
    n = store.n_items
    small = min(n, TRIAL)
    trial = np.random.default_rng(0).normal(size=(small, small))
    began = time.perf_counter()
    project(trial + trial.T)
    projecting = (time.perf_counter() - began) * (n / small) ** 3
    few = MemoryTriplets(store.rows[:ROWS] % small, store.weight[:ROWS], small, store.backend)
    began = time.perf_counter()
    kernel_value(few, loss, np.zeros((small, small)))
    reading = (time.perf_counter() - began) * len(store) / len(few)
    n_blocks = -(-len(store) // ROWS)
    memory = 8.0 * (MATRICES * n * n + 12 * min(ROWS, len(store)))
    return Cost(memory, TRIES * (projecting + reading + n_blocks * 3e-9 * n * n))


def check_memory(cost: Cost) -> None:
    """Raise if there is not as much memory as is needed."""
    available = available_memory()
    if cost.memory > available:
        raise MemoryError(
            f"this kernel form needs about {cost.memory / 2**30:.1f} GiB for its n x n matrices, "
            f"but {available / 2**30:.1f} GiB are free: use STE or GNMDS, which need no such matrix"
        )
