"""The kernels in plain NumPy: the reference for every other backend."""

import numpy as np

from ordinate import losses
from ordinate import noise as noise_models

PLACING_STEPS = 3
HALVINGS = 5
DAMPING = 1e-9  # relative to the curvature: points on a line through all landmarks stay on it
TINY = 1e-300
LINKS = losses.LINKS
PENALTIES = losses.penalties()
NOISES = [noise_models.get(name) for name in noise_models.NAMES]


def scan_rows(rows: np.ndarray, n_items: int) -> tuple[int, int, int, bool]:
    """Look for rows that are not triplets: an id outside ``0..n_items-1``, or two equal ids.

    Returns the number of bad rows, the index of the first (-1 if none), the largest id, and whether
    the anchors are in order.
    """
    anchor, near, far = rows.T
    bad = ((rows < 0) | (rows >= n_items)).any(axis=1)
    bad |= (anchor == near) | (anchor == far) | (near == far)
    n_bad = int(np.count_nonzero(bad))
    in_order = bool((anchor[1:] >= anchor[:-1]).all())
    return n_bad, int(bad.argmax()) if n_bad else -1, int(rows.max()), in_order


def scan_pairs(pairs: np.ndarray, anchor: int, n_items: int) -> int:
    """Count the pairs (m, 2), contiguous uint32, that make no triplet with an anchor."""
    near, far = pairs.T
    bad = (pairs >= n_items).any(axis=1) | (near == far) | (near == anchor) | (far == anchor)
    return int(np.count_nonzero(bad))


def count_anchors(rows: np.ndarray, n_items: int) -> np.ndarray:
    """Count the rows of each anchor."""
    return np.bincount(rows[:, 0], minlength=n_items)


def count_mentions(rows: np.ndarray, n_items: int) -> np.ndarray:
    """Count the rows that each item occurs in, as an anchor and otherwise: an array (2, n)."""
    anchor, near, far = rows.T
    others = np.bincount(near, minlength=n_items) + np.bincount(far, minlength=n_items)
    return np.array([np.bincount(anchor, minlength=n_items), others])


def anchor_starts(rows: np.ndarray, n_items: int) -> np.ndarray:
    """Find the first row of each anchor, and the end, in rows whose anchors are in order."""
    return np.searchsorted(rows[:, 0], np.arange(n_items + 1))


def scatter_by_anchor(
    rows: np.ndarray, values: np.ndarray, free: np.ndarray, out: np.ndarray
) -> None:
    """Write each row's ``values`` (m, k) to the next free place of its anchor in ``out``.

    ``free`` (n_items,) holds those places and is moved on.
    """
    anchor = rows[:, 0]
    sorting = np.argsort(anchor, kind="stable")
    counts = np.bincount(anchor, minlength=len(free))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    out[free[anchor[sorting]] + rank] = values[sorting]
    free += counts


def count_sums(
    pairs: np.ndarray, weight: np.ndarray, n_items: int, dtype: type
) -> tuple[np.ndarray, np.ndarray]:
    """Count how often each item was far and how often near among ``pairs`` (m, 2) of near, far.

    An empty ``weight`` counts every pair once. ``dtype`` is that of the other backends' sums.
    """
    near, far = pairs.T
    w = weight if len(weight) else None
    return np.bincount(far, w, n_items) * 1.0, np.bincount(near, w, n_items) * 1.0


def score_sums(pairs: np.ndarray, weight: np.ndarray, scores: np.ndarray, noise: int) -> np.ndarray:
    """Gradient of the log-likelihood of ``scores`` (n,): sum of log f(far - near) over pairs."""
    near, far = pairs.T
    residual = NOISES[noise].residual(scores[far] - scores[near])
    if len(weight):
        residual = residual * weight
    n = len(scores)
    return np.bincount(far, residual, n) - np.bincount(near, residual, n)


def pair_information(
    pairs: np.ndarray, weight: np.ndarray, scores: np.ndarray, noise: int
) -> np.ndarray:
    """Expected curvature that each pair adds to the log-likelihood of ``scores``."""
    near, far = pairs.T
    information = NOISES[noise].information(scores[far] - scores[near])
    return information * weight if len(weight) else information


def neighbour_sums(pairs: np.ndarray, weight: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each item, the sum of its opponents' ``values`` (n,) times the ``weight`` of the pair."""
    near, far = pairs.T
    n = len(values)
    return np.bincount(far, weight * values[near], n) + np.bincount(near, weight * values[far], n)


def count_parts(pairs: np.ndarray, n_items: int, n_compared: int) -> int:
    """Count the connected parts of the ``n_compared`` items that occur in ``pairs``."""
    return join_parts(pairs, np.arange(n_items, dtype=np.uint32), n_compared)


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


def place_items(
    points: np.ndarray, landmarks: np.ndarray, distances: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Move points (n, d) to where their squared distances to the landmarks (l, d) fit best.

    Minimises, for each point x, the sum over landmarks z of weight times the square of
    ``distance - |x - z|^2`` by Gauss-Newton steps, halved until the sum falls.
    """
    x = points.copy()
    cost, gradient, curvature = _placement(x, landmarks, distances, weight)
    for _ in range(PLACING_STEPS):
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        for _ in range(HALVINGS):
            new_cost, new_gradient, new_curvature = _placement(
                x + step, landmarks, distances, weight
            )
            better = new_cost < cost
            x[better] += step[better]
            cost = np.where(better, new_cost, cost)
            gradient[better] = new_gradient[better]
            curvature[better] = new_curvature[better]
            step = np.where(better[:, None], 0, step / 2)
    return x


def _placement(
    x: np.ndarray, landmarks: np.ndarray, distances: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    away = x[:, None, :] - landmarks
    error = distances - (away**2).sum(axis=2)
    gradient = np.einsum("nl,nl,nla->na", weight, error, 2 * away)
    curvature = 4 * np.einsum("nl,nla,nlb->nab", weight, away, away)
    d = x.shape[1]
    size = np.trace(curvature, axis1=1, axis2=2) + TINY
    return (
        (weight * error**2).sum(axis=1),
        gradient,
        curvature + DAMPING * size[:, None, None] * np.eye(d),
    )


def loss_sums(
    rows: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    link: int,
    shape: float,
    penalty: int,
    margin: float,
) -> tuple[float, np.ndarray]:
    """Value and gradient (n, d) of a loss, summed over triplets, at ``points`` (n, d)."""
    to_near, to_far, slope_near, slope_far, z = _triplet_terms(rows, points, link, shape, margin)
    value, slope = PENALTIES[penalty].value(z), PENALTIES[penalty].slope(z)
    if len(weight):
        value, slope = value * weight, slope * weight
    pull = 2 * (slope * slope_near)[:, None] * to_near
    push = 2 * (slope * slope_far)[:, None] * to_far
    gradient = np.zeros_like(points)
    for item, change in zip(_items(rows), (pull - push, -pull, push), strict=True):
        gradient += _scatter(item, change, len(points))
    return float(value.sum()), gradient


def curvature_sums(
    rows: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    link: int,
    shape: float,
    penalty: int,
    margin: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Each item's block (d, d) of a loss's curvature, and of its gradients' outer products.

    Both are sums over triplets of a weight times the outer product of the derivative of z, the
    penalty's argument: the curvature of the penalty, and the square of its slope.
    """
    curvature, square, pull, push = curvature_terms(
        rows, weight, points, link, shape, penalty, margin
    )
    n, d = points.shape
    blocks, spread = np.zeros((n, d, d)), np.zeros((n, d, d))
    for item, change in zip(_items(rows), (pull - push, -pull, push), strict=True):
        outer = (change[:, :, None] * change[:, None, :]).reshape(len(rows), d * d)
        blocks += _scatter(item, curvature[:, None] * outer, n).reshape(n, d, d)
        spread += _scatter(item, square[:, None] * outer, n).reshape(n, d, d)
    return blocks, spread


def curvature_terms(
    rows: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    link: int,
    shape: float,
    penalty: int,
    margin: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Per triplet: the penalty's curvature and squared slope, and z's derivatives by near and far.

    The derivatives (m, d) are those of the link by the anchor's coordinates.
    """
    to_near, to_far, slope_near, slope_far, z = _triplet_terms(rows, points, link, shape, margin)
    curvature, square = PENALTIES[penalty].curvature(z), PENALTIES[penalty].slope(z) ** 2
    if len(weight):
        # A row seen w times adds w independent gradients.
        curvature, square = curvature * weight, square * weight
    return curvature, square, 2 * slope_near[:, None] * to_near, 2 * slope_far[:, None] * to_far


def similarity_sums(rows: np.ndarray, weight: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Product of S + S' with ``vectors`` (n, k), S_ij = times j was far from i minus times near."""
    from scipy.sparse import coo_array

    anchor, near, far = _items(rows)
    n, m = len(vectors), len(rows)
    w = weight if len(weight) else np.ones(m)
    ends = (np.concatenate([anchor, anchor]), np.concatenate([far, near]))
    S = coo_array((np.concatenate([w, -w]), ends), shape=(n, n)).tocsr()
    return (S @ vectors + S.T @ vectors).astype(vectors.dtype)


def _triplet_terms(
    rows: np.ndarray, points: np.ndarray, link: int, shape: float, margin: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    anchor, near, far = _items(rows)
    to_near, to_far = points[anchor] - points[near], points[anchor] - points[far]
    u, v = np.einsum("ma,ma->m", to_near, to_near), np.einsum("ma,ma->m", to_far, to_far)
    f = LINKS[link]
    z = f.value(u, shape) - f.value(v, shape) + margin
    return to_near, to_far, f.slope(u, shape), f.slope(v, shape), z


def _items(rows: np.ndarray) -> np.ndarray:
    """Anchors, near and far items, as NumPy likes its indices."""
    return np.ascontiguousarray(rows.T, dtype=np.intp)


def _scatter(item: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Add the rows of ``values`` (m, k) up by item: an array (n, k)."""
    return np.stack([np.bincount(item, column, n) for column in values.T], axis=1)
