"""Kernels over the comparisons of a column: pairs (near, far) of items."""

import numpy as np

from ordinate._base.arrays import count_in
from ordinate._base.threads import blocks
from ordinate.kernels.formulas import Noise


def count_sums(
    pairs: np.ndarray, weight: np.ndarray, n_items: int, dtype: type
) -> tuple[np.ndarray, np.ndarray]:
    """Count how often each item was far and how often near among ``pairs`` (m, 2) of near, far.

    An empty ``weight`` counts every pair once. ``dtype`` is that of compiled sums.
    """
    near, far = pairs.T
    w = weight if len(weight) else None
    return count_in(far, w, n_items), count_in(near, w, n_items)


def score_sums(
    pairs: np.ndarray, weight: np.ndarray, scores: np.ndarray, noise: Noise
) -> np.ndarray:
    """Gradient of the log-likelihood of ``scores`` (n,): sum of log f(far - near) over pairs."""
    near, far = pairs.T
    residual = noise.residual(scores[far] - scores[near])
    if len(weight):
        residual = residual * weight
    n = len(scores)
    return count_in(far, residual, n) - count_in(near, residual, n)


def pair_information(
    pairs: np.ndarray, weight: np.ndarray, scores: np.ndarray, noise: Noise
) -> np.ndarray:
    """Expected curvature that each pair adds to the log-likelihood of ``scores``."""
    near, far = pairs.T
    information = noise.information(scores[far] - scores[near])
    return information * weight if len(weight) else information


def neighbour_sums(pairs: np.ndarray, weight: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each item, the sum of its opponents' ``values`` (n,) times the ``weight`` of the pair."""
    near, far = pairs.T
    n = len(values)
    return count_in(far, weight * values[near], n) + count_in(near, weight * values[far], n)


def scatter_by_tile(
    pairs: np.ndarray,
    weight: np.ndarray,
    shift: int,
    n_tiles: int,
    out: np.ndarray,
    out_weight: np.ndarray,
) -> None:
    """Copy pairs and weights in the order of the tiles of 2^shift items that both are in.

    The near item's tile counts first; pairs of the same two tiles keep their order.
    """
    near, far = pairs.astype(np.int64).T >> shift
    order = np.argsort(near * n_tiles + far, kind="stable")
    out[:] = pairs[order]
    if len(weight):
        out_weight[:] = weight[order]


def count_parts(pairs: np.ndarray, n_items: int, n_compared: int) -> int:
    """Count the connected parts of the ``n_compared`` items that occur in ``pairs``."""
    parent, n_parts = np.arange(n_items, dtype=np.uint32), n_compared
    for part in blocks(len(pairs), max(16 * n_items, 1 << 20)):  # the first is enough as a rule
        n_parts = join_parts(pairs[part], parent, n_parts)
        if n_parts == 1:
            break
    return n_parts


def join_parts(pairs: np.ndarray, parent: np.ndarray, n_parts: int) -> int:
    """Join parts of items that ``pairs`` connect; return how many of ``n_parts`` are left.

    ``parent`` (n_items,) names for each item another of its part, and is changed.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(parent)
    ends = np.concatenate([pairs.T.astype(np.int64), [np.arange(n), parent]], axis=1)
    graph = coo_array((np.ones(ends.shape[1]), ends), shape=(n, n))
    before = connected_components(
        coo_array((np.ones(n), (np.arange(n), parent)), shape=(n, n)), directed=False
    )[0]
    after, part = connected_components(graph, directed=False)
    parent[:] = np.unique(part, return_index=True)[1][part]
    return int(n_parts - before + after)
