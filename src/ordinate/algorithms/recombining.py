"""What one map can learn from another that fits worse.

The ends of descents from different starts differ, as a rule, in a few small groups of items: each
has some in the right place, and others in the wrong one, whatever the rest does. So a map is
improved by putting one such group where another map has it.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

APART = 0.3  # distance, over the size of a map, from which places differ
REWEIGHTINGS = 3


def aligned(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Shift, turn and scale a map onto another; items that lie elsewhere there count little.

    Examples
    --------
    >>> grid = np.array([[i, j] for i in range(4) for j in range(4)])
    >>> moved = np.vstack([grid[:-1], [[-2, 5]]])
    >>> there = aligned(3 * moved @ [[0, 1], [-1, 0]] + 5, grid)
    >>> bool(np.abs(there[:-1] - grid[:-1]).max() < 0.01)
    True
    """
    weight = np.ones((len(points), 1))
    for _ in range(REWEIGHTINGS):
        of, to = (np.average(x, axis=0, weights=weight[:, 0]) for x in (points, reference))
        U, sizes, V = np.linalg.svd((weight * (points - of)).T @ (reference - to))
        scale = sizes.sum() / max((weight * (points - of) ** 2).sum(), np.finfo(float).tiny)
        found = scale * (points - of) @ (U @ V) + to
        squared = ((found - reference) ** 2).sum(axis=1, keepdims=True)
        typical = max(float(np.median(squared)), np.finfo(float).tiny)
        weight = typical / (typical + squared)
    return found


def recombined(best: np.ndarray, other: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield groups of items that lie elsewhere in another map, and the best map with each there.

    Items are in one group if both maps have them together. There is none where half of the items
    or more lie elsewhere: that is another map altogether.
    """
    there = aligned(other, best)
    near = APART * float(best.std(axis=0) @ best.std(axis=0)) ** 0.5
    moved = np.flatnonzero(((there - best) ** 2).sum(axis=1) > near**2)
    if not 0 < len(moved) <= len(best) // 2:
        return
    together = np.maximum(cdist(best[moved], best[moved]), cdist(there[moved], there[moved])) < near
    n_groups, group = connected_components(together, directed=False)
    for number in range(n_groups):
        items = moved[group == number]
        child = best.copy()
        child[items] = there[items]
        yield items, child
