"""Kernels over triplets, given a map: losses, curvature, shape numbers, similarities."""

import numpy as np

from ordinate._base.arrays import add_at, cast, copy, count_in, distinct_and_places, namespace
from ordinate.kernels.losses import Loss

LEAST_LEFT = 0.1  # of the curvature, when an answer is left out
NO_ANSWER = np.empty(0, np.int64)  # each row is an answer of its own


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
) -> tuple[np.ndarray, np.ndarray]:
    """Each item's block (d, d) of a loss's curvature, and of its gradients' outer products.

    The first is a sum over triplets of the penalty's curvature times the outer product of the
    derivative of z, the penalty's argument. The second is a sum over answers, whose rows' gradients
    are added up first: the rows of one ``answer`` (m,) have the same number there, and are
    together. Without numbers each row is an answer. A row of weight w stands for w answers, or, if
    ``one_voter``, for one that says it w times.
    """
    curvature, slope, pull, push = curvature_terms(rows, weight, points, loss, one_voter)
    xp = namespace(points)
    blocks = xp.zeros_like(points[:, :, None] * points[:, None, :])
    spread = copy(blocks)
    changes = (pull - push, -pull, push)
    for item, change in zip(rows.T, changes, strict=True):
        _add_outer(blocks, item, curvature, change)
    if len(answer):
        gradient, item, _ = _answer_gradients(rows, answer, slope, changes, points)
        _add_outer(spread, item, xp.ones_like(gradient[:, 0]), gradient)
    else:
        for item, change in zip(rows.T, changes, strict=True):
            _add_outer(spread, item, slope**2, change)
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
        numbers, row_of = distinct_and_places(answer)
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
    pairs, place = distinct_and_places(at)
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
    anchor, near, far = rows.T
    to_near, to_far = points[anchor] - points[near], points[anchor] - points[far]
    u, v = (to_near**2).sum(axis=1), (to_far**2).sum(axis=1)
    curvature, slope, by_near, by_far = curvature_factors(u, v, weight, loss, one_voter)
    return curvature, slope, by_near[:, None] * to_near, by_far[:, None] * to_far


def curvature_factors(
    near: np.ndarray, far: np.ndarray, weight: np.ndarray, loss: Loss, one_voter: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`curvature_terms` has of squared distances (m,) alone.

    The derivatives by near and far are these factors times what lies between the items.
    """
    (penalty, shape), z = (loss.penalty, loss.penalty_shape), loss.argument(near, far)
    curvature, slope = penalty.curvature(z, *shape), penalty.slope(z, *shape)
    if len(weight):
        # A row seen w times adds w independent gradients, unless they are of one voter.
        curvature, slope = curvature * weight, slope * (weight if one_voter else weight**0.5)
    by_near, by_far = (2 * loss.link.slope(u, *loss.link_shape) for u in (near, far))
    return curvature, slope, by_near, by_far


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
