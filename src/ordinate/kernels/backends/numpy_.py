"""The kernels in plain NumPy: the reference for every other backend.

Those that run on a device take torch tensors as well, for ``torch_`` to share.
"""

from collections.abc import Callable

import numpy as np

from ordinate._base.arrays import add_at, beside, cast, copy, count_in, keep, namespace
from ordinate._base.threads import blocks
from ordinate.kernels.formulas import Noise
from ordinate.kernels.losses import Loss

PLACING_STEPS = 3
HALVINGS = 5
DAMPING = 1e-9  # relative to the curvature: points on a line through all landmarks stay on it
TINY = 1e-300
LEAST_LEFT = 0.1  # of the curvature, when an answer is left out
NO_ANSWER = np.empty(0, np.int64)  # each row is an answer of its own


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


def loss_sums(
    rows: np.ndarray, weight: np.ndarray, points: np.ndarray, loss: Loss
) -> tuple[float, np.ndarray]:
    """Value and gradient (n, d) of a loss, summed over triplets, at ``points`` (n, d)."""
    to_near, to_far, slope_near, slope_far, z = _triplet_terms(rows, points, loss)
    penalty, shape = loss.penalty, loss.penalty_shape
    value, slope = penalty.value(z, *shape), penalty.slope(z, *shape)
    if len(weight):
        value, slope = value * weight, slope * weight
    pull = 2 * (slope * slope_near)[:, None] * to_near
    push = 2 * (slope * slope_far)[:, None] * to_far
    gradient = namespace(points).zeros_like(points)
    for item, change in zip(rows.T, (pull - push, -pull, push), strict=True):
        add_at(gradient, item, change)
    return float(value.sum()), gradient


def _add_outer(sums: np.ndarray, item: np.ndarray, weight: np.ndarray, vectors: np.ndarray) -> None:
    """Add the weighted outer products of vectors (m, d) to the blocks of their items."""
    add_at(sums, item, weight[:, None, None] * vectors[:, :, None] * vectors[:, None, :])


def curvature_sums(
    rows: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    loss: Loss,
    answer: np.ndarray = NO_ANSWER,
    one_voter: bool = False,
    add_outer: Callable[..., None] = _add_outer,
) -> tuple[np.ndarray, np.ndarray]:
    """Each item's block (d, d) of a loss's curvature, and of its gradients' outer products.

    The first is a sum over triplets of the penalty's curvature times the outer product of the
    derivative of z, the penalty's argument. The second is a sum over answers, whose rows' gradients
    are added up first: the rows of one ``answer`` (m,) have the same number there, and are
    together. Without numbers each row is an answer. A row of weight w stands for w answers, or, if
    ``one_voter``, for one that says it w times. Another backend may lend its ``add_outer``.
    """
    curvature, slope, pull, push = curvature_terms(rows, weight, points, loss, one_voter)
    xp = namespace(points)
    blocks = xp.zeros_like(points[:, :, None] * points[:, None, :])
    spread = copy(blocks)
    changes = (pull - push, -pull, push)
    for item, change in zip(rows.T, changes, strict=True):
        add_outer(blocks, item, curvature, change)
    if len(answer):
        gradient, item, _ = _answer_gradients(rows, answer, slope, changes, points)
        add_outer(spread, item, xp.ones_like(gradient[:, 0]), gradient)
    else:
        for item, change in zip(rows.T, changes, strict=True):
            add_outer(spread, item, slope**2, change)
    return blocks, spread


def left_out_sums(
    rows: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    loss: Loss,
    inverse: np.ndarray,
    scales: np.ndarray,
    answer: np.ndarray = NO_ANSWER,
    one_voter: bool = False,
) -> np.ndarray:
    """Loss (k,) of answers in maps that were fitted without them, multiplied by ``scales`` (k,).

    Without an answer, which pulled its items by its gradient g and curved the loss by h, an item of
    it would be at ``x + V g / (1 - h)``: a Newton step, V being its block of ``inverse`` (n, d, d),
    that of the curvature, and h the answer's share in the curvature, ``f'' g' V g`` summed over its
    rows and their items.
    """
    curvature, slope, pull, push = curvature_terms(rows, weight[:0], points, loss)
    xp, changes = namespace(points), (pull - push, -pull, push)
    steps = [_times(inverse[item], change) for item, change in zip(rows.T, changes, strict=True)]
    share = curvature * sum((s * c).sum(axis=1) for s, c in zip(steps, changes, strict=True))
    if len(answer):
        gradient, item, place = _answer_gradients(rows, answer, slope, changes, points)
        steps = list(_times(inverse[item], gradient)[place].reshape(3, len(rows), -1))
        numbers, row_of = xp.unique(answer, return_inverse=True)
        share = count_in(row_of, share, len(numbers))[row_of]
    else:
        steps = [slope[:, None] * step for step in steps]
    left = xp.clip(1 - share, LEAST_LEFT, None)[:, None]
    anchor, near, far = (
        points[item] + step / left for item, step in zip(rows.T, steps, strict=True)
    )
    u, v = ((anchor - near) ** 2).sum(axis=1), ((anchor - far) ** 2).sum(axis=1)
    found = []
    for scale in scales:
        value = loss.penalty.value(loss.argument(scale**2 * u, scale**2 * v), *loss.penalty_shape)
        found.append((value * weight if len(weight) else value).sum())
    return xp.stack(found)


def _answer_gradients(
    rows: np.ndarray,
    answer: np.ndarray,
    slope: np.ndarray,
    changes: tuple[np.ndarray, ...],
    points: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients (k, d) of answers in their items; which items; and places there of anchors, ..."""
    xp, n = namespace(points), len(points)
    at = xp.concatenate([cast(answer, "int64") * n + cast(item, "int64") for item in rows.T])
    pairs, place = xp.unique(at, return_inverse=True)
    gradient = xp.zeros_like(points[:1] * cast(pairs, "float64")[:, None])
    add_at(gradient, place, xp.concatenate([slope[:, None] * change for change in changes]))
    return gradient, pairs % n, place


def _times(blocks: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (blocks * vectors[:, None, :]).sum(axis=2)


def curvature_terms(
    rows: np.ndarray, weight: np.ndarray, points: np.ndarray, loss: Loss, one_voter: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Per triplet: the penalty's curvature and slope, and z's derivatives by near and far.

    The derivatives (m, d) are those of the link by the anchor's coordinates. The square of the
    slope is that of all the answers that a row stands for.
    """
    to_near, to_far, slope_near, slope_far, z = _triplet_terms(rows, points, loss)
    penalty, shape = loss.penalty, loss.penalty_shape
    curvature, slope = penalty.curvature(z, *shape), penalty.slope(z, *shape)
    if len(weight):
        # A row seen w times adds w independent gradients, unless they are of one voter.
        curvature, slope = curvature * weight, slope * (weight if one_voter else weight**0.5)
    return curvature, slope, 2 * slope_near[:, None] * to_near, 2 * slope_far[:, None] * to_far


def shape_sums(
    rows: np.ndarray, weight: np.ndarray, points: np.ndarray, loss: Loss
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`loss_sums` returns, and :func:`shape_part`."""
    return *loss_sums(rows, weight, points, loss), *shape_part(rows, weight, points, loss)


def shape_part(
    rows: np.ndarray, weight: np.ndarray, points: np.ndarray, loss: Loss
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (k,) of a loss in its shape numbers, and their information (k, k) given the map."""
    given, other = shape_terms(rows, points, loss)
    w = weight[:, None] * given if len(weight) else given
    return w.sum(axis=0), -(w[:, :, None] * other[:, None, :]).sum(axis=0)


def shape_terms(rows: np.ndarray, points: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (m, k) of each triplet's penalty by the shape numbers, and of the other answer's.

    The other answer to the same question has the argument -z. As the probabilities p and q of both
    add up to 1, p times the one derivative g is minus q times the other h: the expected information
    of the question, p g g' + q h h', is -g h'.
    """
    anchor, near, far = rows.T
    u = ((points[anchor] - points[near]) ** 2).sum(axis=1)
    v = ((points[anchor] - points[far]) ** 2).sum(axis=1)
    z, penalty = loss.argument(u, v), loss.penalty
    links = [by(u, *loss.link_shape) - by(v, *loss.link_shape) for by in loss.link.by_shape]
    stack = namespace(points).stack
    given, other = (
        [sign * penalty.slope(sign * z, *loss.penalty_shape) * change for change in links]
        + [by(sign * z, *loss.penalty_shape) for by in penalty.by_shape]
        for sign in (1, -1)
    )
    # With a column to drop, since nothing cannot be stacked.
    return stack([*given, z], 1)[:, :-1], stack([*other, z], 1)[:, :-1]


def similarity_sums(rows: np.ndarray, weight: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Product of S + S' with ``vectors`` (n, k), S_ij = times j was far from i minus times near."""
    anchor, near, far = rows.T
    w = weight[:, None] if len(weight) else 1.0
    product = namespace(vectors).zeros_like(vectors)
    add_at(product, anchor, w * (vectors[far] - vectors[near]))
    add_at(product, far, w * vectors[anchor])
    add_at(product, near, -w * vectors[anchor])
    return product


def _triplet_terms(
    rows: np.ndarray, points: np.ndarray, loss: Loss
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    anchor, near, far = rows.T
    to_near, to_far = points[anchor] - points[near], points[anchor] - points[far]
    u, v = (to_near**2).sum(axis=1), (to_far**2).sum(axis=1)
    slope, shape = loss.link.slope, loss.link_shape
    return to_near, to_far, slope(u, *shape), slope(v, *shape), loss.argument(u, v)
