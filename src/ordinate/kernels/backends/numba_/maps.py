"""Kernels over triplets, given a map: losses, curvature, shape numbers, similarities."""

import math

import numpy as np

from ordinate.kernels.backends import numpy_
from ordinate.kernels.backends.numba_.functions import BATCH, MANY, filled, kernel, part
from ordinate.kernels.backends.translating import blank

NO_ANSWER = numpy_.NO_ANSWER

link = link_slope = penalty = penalty_slope = penalty_curvature = blank
link_by_first = link_by_second = penalty_by_first = penalty_by_second = blank


def loss_sums(rows, weight, points, loss):
    gradient, buffers = np.zeros(points.shape), np.empty((4, BATCH))
    shape = loss.link_shape, loss.penalty_shape, loss.margin
    return loss_kernel(loss)(rows, weight, points, *shape, gradient, *buffers), gradient


def loss_kernel(loss):
    return filled(
        _loss_sums,
        link=loss.link.value,
        link_slope=loss.link.slope,
        penalty=loss.penalty.value,
        penalty_slope=loss.penalty.slope,
    )


def _loss_sums(
    rows, weight, points, link_shape, penalty_shape, margin, gradient, near, far, slope, cost
):
    """Add to the gradient, and return the value; to make arrays here would take long to compile."""
    value = 0.0
    for first in range(0, rows.shape[0], BATCH):
        size = min(BATCH, rows.shape[0] - first)
        batch = rows[first : first + size]
        _distances(batch, points, near, far)
        for i in range(size):
            u, v = near[i], far[i]
            slope[i] = link(u, *link_shape) - link(v, *link_shape) + margin
            near[i], far[i] = link_slope(u, *link_shape), link_slope(v, *link_shape)
        for i in range(size):
            z = slope[i]
            cost[i], slope[i] = penalty(z, *penalty_shape), penalty_slope(z, *penalty_shape)
        if weight.shape[0] > 0:
            for i in range(size):
                slope[i] *= weight[first + i]
                cost[i] *= weight[first + i]
        for i in range(size):
            value += cost[i]
            near[i] *= 2 * slope[i]
            far[i] *= 2 * slope[i]
        _pull_and_push(batch, points, near, far, gradient)
    return value


def curvature_sums(rows, weight, points, loss, answer=NO_ANSWER, one_voter=False):
    if len(rows) < MANY:
        # NumPy knows all losses; for few rows, a copy compiled for one takes too long to make.
        near, far = np.empty(len(rows)), np.empty(len(rows))
        _all_distances(rows, points, near, far)
        factors = numpy_.curvature_factors(near, far, weight, loss, one_voter)
        return _outer_sums(rows, points, *factors, answer)
    compiled = filled(
        _curvature_sums,
        link=loss.link.value,
        link_slope=loss.link.slope,
        penalty_slope=loss.penalty.slope,
        penalty_curvature=loss.penalty.curvature,
    )
    shape = loss.link_shape, loss.penalty_shape, loss.margin
    return compiled(rows, weight, points, *shape, answer, one_voter)


def _curvature_sums(rows, weight, points, link_shape, penalty_shape, margin, answer, one_voter):
    n, d = points.shape
    sums, of_answer = np.zeros((n, 2, d, d)), _no_answer_yet(answer, n, d)
    near, far = np.empty(BATCH), np.empty(BATCH)
    slope, curvature = np.empty(BATCH), np.empty(BATCH)
    pull, push = np.empty((BATCH, d)), np.empty((BATCH, d))
    for first in range(0, rows.shape[0], BATCH):
        size = min(BATCH, rows.shape[0] - first)
        batch = rows[first : first + size]
        _distances(batch, points, near, far)
        for i in range(size):
            u, v = near[i], far[i]
            slope[i] = link(u, *link_shape) - link(v, *link_shape) + margin
            near[i], far[i] = 2 * link_slope(u, *link_shape), 2 * link_slope(v, *link_shape)
        for i in range(size):
            z = slope[i]
            curvature[i] = penalty_curvature(z, *penalty_shape)
            slope[i] = penalty_slope(z, *penalty_shape)
        if weight.shape[0] > 0:
            for i in range(size):
                w = weight[first + i]
                curvature[i] *= w
                slope[i] *= w if one_voter else math.sqrt(w)
        _moves(batch, points, near, far, pull, push)
        answers = answer[first : first + size]  # none stay none
        _add_outer(batch, curvature, slope, pull, push, answers, sums, *of_answer)
    return _finished(sums, *of_answer)


@kernel
def _all_distances(rows, points, near, far):
    _distances(rows, points, near, far)


@kernel
def _outer_sums(rows, points, curvature, slope, by_near, by_far, answer):
    n, d = points.shape
    sums, of_answer = np.zeros((n, 2, d, d)), _no_answer_yet(answer, n, d)
    pull, push = np.empty((BATCH, d)), np.empty((BATCH, d))
    for first in range(0, rows.shape[0], BATCH):
        here = slice(first, min(first + BATCH, rows.shape[0]))
        _moves(rows[here], points, by_near[here], by_far[here], pull, push)
        given = rows[here], curvature[here], slope[here], pull, push, answer[here]
        _add_outer(*given, sums, *of_answer)
    return _finished(sums, *of_answer)


@part
def _moves(rows, points, by_near, by_far, pull, push):
    """How the link of near, and of far, changes with the anchor's coordinates."""
    for i in range(rows.shape[0]):
        anchor, j, k = rows[i, 0], rows[i, 1], rows[i, 2]
        for a in range(points.shape[1]):
            x = points[anchor, a]
            pull[i, a], push[i, a] = by_near[i] * (x - points[j, a]), by_far[i] * (x - points[k, a])


@part
def _no_answer_yet(answer, n, d):
    """Room for the rows of an answer: gradients of its items, which these are, how many, whose."""
    size = n if answer.shape[0] > 0 else 0
    return (
        np.zeros((size, d)),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(2, np.int64),
    )


@part
def _add_outer(rows, curvature, slope, pull, push, answer, sums, gradient, item_of, place, state):
    """Add to the lower triangles of each item's two blocks; to the second, by whole answers.

    ``item_of`` lists the items of the answer at hand, and ``place`` says where each is in the list,
    counted from 1; ``state`` is their number and that answer.
    """
    d = pull.shape[1]
    by_answer = answer.shape[0] > 0
    if d == 2 and not by_answer:
        _add_outer_in_the_plane(rows, curvature, slope, pull, push, sums)
        return
    change = np.empty(d)
    for row in range(rows.shape[0]):
        if by_answer and answer[row] != state[1]:
            _add_answer(sums, gradient, item_of, place, state)
            state[1] = answer[row]
        for k in range(3):
            item = rows[row, k]
            for a in range(d):
                if k == 0:
                    change[a] = pull[row, a] - push[row, a]
                else:
                    change[a] = -pull[row, a] if k == 1 else push[row, a]
            for a in range(d):
                for b in range(a + 1):
                    sums[item, 0, a, b] += curvature[row] * change[a] * change[b]
            if by_answer:
                if place[item] == 0:
                    item_of[state[0]] = item
                    state[0] += 1
                    place[item] = state[0]
                for a in range(d):
                    gradient[item, a] += slope[row] * change[a]
            else:
                square = slope[row] * slope[row]
                for a in range(d):
                    for b in range(a + 1):
                        sums[item, 1, a, b] += square * change[a] * change[b]


@part
def _add_outer_in_the_plane(rows, curvature, slope, pull, push, sums):
    """The same for maps in the plane, each row an answer: worth a loop of its own."""
    for row in range(rows.shape[0]):
        c, s = curvature[row], slope[row] * slope[row]
        pull_x, pull_y, push_x, push_y = pull[row, 0], pull[row, 1], push[row, 0], push[row, 1]
        both_x, both_y = pull_x - push_x, pull_y - push_y
        anchor, near, far = sums[rows[row, 0]], sums[rows[row, 1]], sums[rows[row, 2]]
        xx, yx, yy = both_x * both_x, both_y * both_x, both_y * both_y
        anchor[0, 0, 0] += c * xx
        anchor[0, 1, 0] += c * yx
        anchor[0, 1, 1] += c * yy
        anchor[1, 0, 0] += s * xx
        anchor[1, 1, 0] += s * yx
        anchor[1, 1, 1] += s * yy
        xx, yx, yy = pull_x * pull_x, pull_y * pull_x, pull_y * pull_y
        near[0, 0, 0] += c * xx
        near[0, 1, 0] += c * yx
        near[0, 1, 1] += c * yy
        near[1, 0, 0] += s * xx
        near[1, 1, 0] += s * yx
        near[1, 1, 1] += s * yy
        xx, yx, yy = push_x * push_x, push_y * push_x, push_y * push_y
        far[0, 0, 0] += c * xx
        far[0, 1, 0] += c * yx
        far[0, 1, 1] += c * yy
        far[1, 0, 0] += s * xx
        far[1, 1, 0] += s * yx
        far[1, 1, 1] += s * yy


@part
def _add_answer(sums, gradient, item_of, place, state):
    """Add the outer products of an answer's gradients, and make room for the next."""
    d = gradient.shape[1]
    for i in range(state[0]):
        item = item_of[i]
        for a in range(d):
            for b in range(a + 1):
                sums[item, 1, a, b] += gradient[item, a] * gradient[item, b]
        place[item] = 0
        for a in range(d):
            gradient[item, a] = 0
    state[0] = 0


@part
def _finished(sums, gradient, item_of, place, state):
    """Add the last answer, and fill in the upper triangles."""
    _add_answer(sums, gradient, item_of, place, state)
    for item in range(sums.shape[0]):
        for kind in range(2):
            for a in range(sums.shape[2]):
                for b in range(a):
                    sums[item, kind, b, a] = sums[item, kind, a, b]
    return sums[:, 0], sums[:, 1]


def shape_sums(rows, weight, points, loss):
    return *loss_sums(rows, weight, points, loss), *shape_part(rows, weight, points, loss)


def shape_part(rows, weight, points, loss):
    if not loss.shape:  # nothing to compile for
        return np.zeros(0), np.zeros((0, 0))
    of_link, of_penalty = loss.link.by_shape, loss.penalty.by_shape
    none = (_no_number,) * 2
    compiled = filled(
        _shape_part,
        link=loss.link.value,
        link_by_first=(*of_link, *none)[0],
        link_by_second=(*of_link, *none)[1],
        penalty_slope=loss.penalty.slope,
        penalty_by_first=(*of_penalty, *none)[0],
        penalty_by_second=(*of_penalty, *none)[1],
    )
    sums, buffers = np.zeros((5, 4)), np.empty((3, BATCH))
    shape = loss.link_shape, loss.penalty_shape, loss.margin
    compiled(rows, weight, points, *shape, sums, *buffers, *np.empty((2, 4, BATCH)))
    there = [*range(len(of_link)), *range(2, 2 + len(of_penalty))]
    return sums[0, there], sums[1:][there][:, there]


def _no_number(x, *shape):
    return 0.0


def _shape_part(
    rows, weight, points, link_shape, penalty_shape, margin, sums, near, far, z, given, other
):
    """Gradient, and below it information, for two shape numbers of the link and two of the penalty.

    ``numpy_.shape_terms`` says what they are made of.
    """
    for first in range(0, rows.shape[0], BATCH):
        size = min(BATCH, rows.shape[0] - first)
        _distances(rows[first : first + size], points, near, far)
        for i in range(size):
            u, v = near[i], far[i]
            z[i] = link(u, *link_shape) - link(v, *link_shape) + margin
            given[0, i] = link_by_first(u, *link_shape) - link_by_first(v, *link_shape)
            given[1, i] = link_by_second(u, *link_shape) - link_by_second(v, *link_shape)
        for i in range(size):
            slope = penalty_slope(z[i], *penalty_shape)
            opposite = -penalty_slope(-z[i], *penalty_shape)
            other[0, i], other[1, i] = opposite * given[0, i], opposite * given[1, i]
            given[0, i], given[1, i] = slope * given[0, i], slope * given[1, i]
            given[2, i] = penalty_by_first(z[i], *penalty_shape)
            other[2, i] = penalty_by_first(-z[i], *penalty_shape)
            given[3, i] = penalty_by_second(z[i], *penalty_shape)
            other[3, i] = penalty_by_second(-z[i], *penalty_shape)
        if weight.shape[0] > 0:
            for a in range(4):
                for i in range(size):
                    given[a, i] *= weight[first + i]
        for i in range(size):
            for a in range(4):
                sums[0, a] += given[a, i]
                for b in range(4):
                    sums[1 + a, b] -= given[a, i] * other[b, i]


def similarity_sums(rows, weight, vectors):
    product = np.zeros(vectors.shape, vectors.dtype)
    _add_similarities(rows, weight, vectors, product, np.ones(1, vectors.dtype))
    return product


@kernel
def _add_similarities(rows, weight, vectors, product, w):
    for row in range(rows.shape[0]):
        anchor, near, far = rows[row, 0], rows[row, 1], rows[row, 2]
        if weight.shape[0] > 0:
            w[0] = weight[row]
        # A loop for each item that changes: the compiler cannot know that they differ.
        for k in range(vectors.shape[1]):
            product[anchor, k] += w[0] * (vectors[far, k] - vectors[near, k])
        for k in range(vectors.shape[1]):
            product[far, k] += w[0] * vectors[anchor, k]
        for k in range(vectors.shape[1]):
            product[near, k] -= w[0] * vectors[anchor, k]


@part
def _distances(batch, points, near, far):
    """Squared distances from the anchors; maps in the plane are worth a loop of their own."""
    d = points.shape[1]
    if d == 2:
        for i in range(batch.shape[0]):
            anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
            x, y = points[anchor, 0], points[anchor, 1]
            near[i] = (x - points[j, 0]) ** 2 + (y - points[j, 1]) ** 2
            far[i] = (x - points[k, 0]) ** 2 + (y - points[k, 1]) ** 2
        return
    for i in range(batch.shape[0]):
        anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
        u, v = 0.0, 0.0
        for a in range(d):
            x = points[anchor, a]
            u += (x - points[j, a]) ** 2
            v += (x - points[k, a]) ** 2
        near[i], far[i] = u, v


@part
def _pull_and_push(batch, points, near, far, gradient):
    """Add to the gradient what triplets do, given the derivatives by their distances, doubled."""
    d = points.shape[1]
    if d == 2:
        for i in range(batch.shape[0]):
            anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
            x, y = points[anchor, 0], points[anchor, 1]
            pull_x, pull_y = near[i] * (x - points[j, 0]), near[i] * (y - points[j, 1])
            push_x, push_y = far[i] * (x - points[k, 0]), far[i] * (y - points[k, 1])
            gradient[anchor, 0] += pull_x - push_x
            gradient[anchor, 1] += pull_y - push_y
            gradient[j, 0] -= pull_x
            gradient[j, 1] -= pull_y
            gradient[k, 0] += push_x
            gradient[k, 1] += push_y
        return
    for i in range(batch.shape[0]):
        anchor, j, k = batch[i, 0], batch[i, 1], batch[i, 2]
        for a in range(d):
            x = points[anchor, a]
            pull, push = near[i] * (x - points[j, a]), far[i] * (x - points[k, a])
            gradient[anchor, a] += pull - push
            gradient[j, a] -= pull
            gradient[k, a] += push
