"""The plain kernels on torch tensors, in blocks, so that what they need beside the rows is small.

The twins of ``triton_``, and what takes over where that cannot run, or where sums must not depend
on the order of threads. Pairs (M, 2) of all columns lie one after the other; ``ranges`` names the
rows of each column. Triplets are three arrays of ids (3, m).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ordinate._base.threads import blocks, whole_groups
from ordinate.kernels.backends import numpy_
from ordinate.kernels.backends.numpy_ import place_items
from ordinate.kernels.formulas import Noise
from ordinate.kernels.losses import Loss

__all__ = [
    "connect",
    "count_sums",
    "curvature_sums",
    "left_out_sums",
    "loss_sums",
    "neighbour_sums",
    "pair_information",
    "place_items",
    "score_sums",
    "shape_part",
    "shape_sums",
    "similarity_sums",
]

Tensor = Any
Ranges = Sequence[tuple[int, int]]
BLOCK = 1 << 22  # numbers of one kind that a block of rows is turned into


def count_sums(pairs: Tensor, weight: Tensor, ranges: Ranges, n_items: int) -> Tensor:
    """Count how often each item was far, and near, in each column: (2, n_columns, n_items)."""
    total = weight.new_zeros((2, len(ranges), n_items)).double()
    for column, part, w in _parts(pairs, weight, ranges):
        far, near = numpy_.count_sums(part, w, n_items, float)
        total[0, column] += far
        total[1, column] += near
    return total


def score_sums(
    pairs: Tensor, weight: Tensor, ranges: Ranges, scores: Tensor, noise: Noise
) -> Tensor:
    """Gradient (n_columns, n_items) of the log-likelihood of scores, in double precision."""
    total = scores.new_zeros(scores.shape).double()
    for column, part, w in _parts(pairs, weight, ranges):
        total[column] += numpy_.score_sums(part, w, scores[column], noise)
    return total


def pair_information(
    pairs: Tensor, weight: Tensor, ranges: Ranges, scores: Tensor, noise: Noise
) -> Tensor:
    """Curvature that each pair adds to the log-likelihood of scores."""
    found = scores.new_empty(len(pairs))
    at = 0
    for column, part, w in _parts(pairs, weight, ranges):
        found[at : at + len(part)] = numpy_.pair_information(part, w, scores[column], noise)
        at += len(part)
    return found


def neighbour_sums(pairs: Tensor, weight: Tensor, ranges: Ranges, values: Tensor) -> Tensor:
    """Per column and item, the sum of the opponents' values times the pairs' weights."""
    total = values.new_zeros(values.shape).double()
    for column, part, w in _parts(pairs, weight, ranges):
        total[column] += numpy_.neighbour_sums(part, w, values[column])
    return total


def connect(pairs: Tensor, ranges: Ranges, label: Tensor) -> bool:
    """Hook the parts that pairs connect on to each other; whether there were any.

    ``label`` (n_columns, n_items) of int32 names an item of the same part, none larger than the
    item itself; of two labels that a pair connects, the larger is given the smaller.
    """
    found = False
    for column, part, _ in _parts(pairs, label[0, :0], ranges):
        ends = label[column][part]
        low, high = ends.amin(dim=1), ends.amax(dim=1)
        found |= bool((low < high).any())
        label[column].scatter_reduce_(0, high.long(), low, "amin")
    return found


def loss_sums(ids: Tensor, weight: Tensor, points: Tensor, loss: Loss) -> tuple[float, Tensor]:
    """Value and gradient (n, d) of a loss, summed over triplets, at points (n, d)."""
    value, gradient = 0.0, points.new_zeros(points.shape).double()
    for rows, w in _rows(ids, weight, 3 * points.shape[1]):
        some, change = numpy_.loss_sums(rows, w, points, loss)
        value += some
        gradient += change
    return value, gradient


def curvature_sums(
    ids: Tensor,
    weight: Tensor,
    points: Tensor,
    loss: Loss,
    answer: Tensor = (),
    one_voter: bool = False,
) -> tuple[Tensor, Tensor]:
    """Each item's block (d, d) of a loss's curvature, and of its gradients' outer products."""
    d = points.shape[1]
    sums = points.new_zeros((2, len(points), d, d)).double()
    for part in whole_groups(blocks(ids.shape[1], max(BLOCK // (3 * d * d), 1)), answer):
        found = numpy_.curvature_sums(
            ids[:, part].T, weight[part], points, loss, answer[part], one_voter
        )
        for total, some in zip(sums, found, strict=True):
            total += some
    return sums[0], sums[1]


def left_out_sums(
    ids: Tensor,
    weight: Tensor,
    points: Tensor,
    loss: Loss,
    inverse: Tensor,
    scales: Tensor,
    answer: Tensor = (),
    one_voter: bool = False,
) -> Tensor:
    """Loss (k,) of answers in maps that were fitted without them, multiplied by scales (k,)."""
    d = points.shape[1]
    total = points.new_zeros(len(scales)).double()
    for part in whole_groups(blocks(ids.shape[1], max(BLOCK // (3 * d * d), 1)), answer):
        given = ids[:, part].T, weight[part], points, loss, inverse, scales
        total += numpy_.left_out_sums(*given, answer[part], one_voter)
    return total


def shape_sums(
    ids: Tensor, weight: Tensor, points: Tensor, loss: Loss
) -> tuple[float, Tensor, Tensor, Tensor]:
    """What :func:`loss_sums` returns, and :func:`shape_part`."""
    return *loss_sums(ids, weight, points, loss), *shape_part(ids, weight, points, loss)


def shape_part(ids: Tensor, weight: Tensor, points: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
    """Gradient (k,) of a loss in its shape numbers, and their information (k, k) given the map."""
    k = len(loss.shape)
    gradient, information = points.new_zeros(k).double(), points.new_zeros((k, k)).double()
    for rows, w in _rows(ids, weight, 3 * points.shape[1] + k * k):
        change, product = numpy_.shape_part(rows, w, points, loss)
        gradient += change
        information += product
    return gradient, information


def similarity_sums(ids: Tensor, weight: Tensor, vectors: Tensor) -> Tensor:
    """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus times near."""
    total = vectors.new_zeros(vectors.shape).double()
    for rows, w in _rows(ids, weight, 3 * vectors.shape[1]):
        total += numpy_.similarity_sums(rows, w, vectors)
    return total


def _parts(pairs: Tensor, weight: Tensor, ranges: Ranges) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Column, pairs and weights of each block."""
    for column, (start, stop) in enumerate(ranges):
        for part in blocks(stop - start, BLOCK):
            at = slice(start + part.start, start + part.stop)
            yield column, pairs[at], weight[at]  # no weights stay none


def _rows(ids: Tensor, weight: Tensor, width: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows (m, 3) and weights of each block."""
    for part in blocks(ids.shape[1], max(BLOCK // width, 1)):
        yield ids[:, part].T, weight[part]
