"""The kernels that pay, compiled for a GPU by Triton: the functions of ``torch_``, with one launch each.

Sums are added where they belong as they arise, by atomic additions, so that their last digits
depend on the order of threads. Few items would be fought over: their sums have several copies,
which are added up in double precision at the end.
"""

from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from ordinate.backends.numpy_ import DAMPING, HALVINGS, PLACING_STEPS, TINY
from ordinate.backends.torch_ import Ranges, Tensor, curvature_sums

__all__ = [
    "connect",
    "count_sums",
    "curvature_sums",
    "loss_sums",
    "neighbour_sums",
    "pair_information",
    "place_items",
    "score_sums",
    "similarity_sums",
]

PAIRS = tl.constexpr(1024)  # that a program reads
TRIPLETS = 512
ITEMS = 128  # that a program places
VECTORS = 128  # triplets whose vectors are multiplied by a program
SPREAD = 1 << 20  # numbers that all copies of some sums may have
MOST_COPIES = 128
SQRT_2 = tl.constexpr(2**0.5)
SQRT_2_PI = tl.constexpr(0.7978845608028654)
MOST = tl.constexpr(2**31 - 1)
_DAMPING, _TINY = tl.constexpr(DAMPING), tl.constexpr(TINY)
_STEPS, _HALVINGS = tl.constexpr(PLACING_STEPS), tl.constexpr(HALVINGS)


def count_sums(pairs: Tensor, weight: Tensor, ranges: Ranges, n_items: int) -> Tensor:
    """Count how often each item was far, and near, in each column: (2, n_columns, n_items)."""
    l, weighted = len(ranges), len(weight) > 0
    kind = torch.float64 if weighted else torch.int32
    sums = _copies(2 * l * n_items, kind, pairs.device)
    _count[_grid(ranges)](
        _words(pairs), weight, _table(ranges, pairs), sums, n_items, l, len(sums), weighted
    )
    return sums.sum(dim=0).double().view(2, l, n_items)


def score_sums(
    pairs: Tensor, weight: Tensor, ranges: Ranges, scores: Tensor, noise: int
) -> Tensor:
    """Gradient (n_columns, n_items) of the log-likelihood of scores, in double precision."""
    l, n = scores.shape
    sums = _copies(l * n, scores.dtype, pairs.device)
    _score[_grid(ranges)](
        _words(pairs),
        weight,
        _table(ranges, pairs),
        scores.contiguous(),
        sums,
        n,
        l,
        len(sums),
        len(weight) > 0,
        noise,
    )
    return sums.sum(dim=0, dtype=torch.float64).view(l, n)


def pair_information(
    pairs: Tensor, weight: Tensor, ranges: Ranges, scores: Tensor, noise: int
) -> Tensor:
    """Curvature that each pair adds to the log-likelihood of scores."""
    found = scores.new_empty(len(pairs))
    _information[_grid(ranges)](
        _words(pairs),
        weight,
        _table(ranges, pairs),
        scores.contiguous(),
        found,
        scores.shape[1],
        len(weight) > 0,
        noise,
    )
    return found


def neighbour_sums(pairs: Tensor, weight: Tensor, ranges: Ranges, values: Tensor) -> Tensor:
    """Per column and item, the sum of the opponents' values times the pairs' weights."""
    l, n = values.shape
    sums = _copies(l * n, values.dtype, pairs.device)
    _neighbour[_grid(ranges)](
        _words(pairs), weight, _table(ranges, pairs), values.contiguous(), sums, n, l, len(sums)
    )
    return sums.sum(dim=0, dtype=torch.float64).view(l, n)


def connect(pairs: Tensor, ranges: Ranges, label: Tensor) -> bool:
    """Hook the parts that pairs connect on to each other; whether there were any."""
    found = torch.zeros(1, dtype=torch.int32, device=pairs.device)
    _connect[_grid(ranges)](_words(pairs), _table(ranges, pairs), label, found, label.shape[1])
    return bool(found.item())


def loss_sums(
    ids: Tensor,
    weight: Tensor,
    points: Tensor,
    link: int,
    shape: float,
    penalty: int,
    margin: float,
) -> tuple[float, Tensor]:
    """Value and gradient (n, d) of a loss, summed over triplets, at points (n, d)."""
    (n, d), m = points.shape, ids.shape[1]
    points = _padded(points)
    width = points.shape[1]
    sums = _copies(n * width, points.dtype, ids.device)
    n_programs = triton.cdiv(m, TRIPLETS)
    values = torch.empty(n_programs, dtype=torch.float64, device=ids.device)
    # By way of memory, since a number that is handed over becomes one of single precision.
    constants = torch.tensor([shape, margin], dtype=points.dtype, device=ids.device)
    _loss[(n_programs,)](
        ids,
        weight,
        points,
        constants,
        values,
        sums,
        m,
        n,
        len(sums),
        len(weight) > 0,
        link,
        penalty,
        width,
        TRIPLETS,
    )
    gradient = sums.sum(dim=0, dtype=torch.float64).view(n, width)[:, :d]
    return float(values.sum()), gradient


def similarity_sums(ids: Tensor, weight: Tensor, vectors: Tensor) -> Tensor:
    """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus times near."""
    (n, k), m = vectors.shape, ids.shape[1]
    vectors = _padded(vectors)
    width = vectors.shape[1]
    sums = _copies(n * width, vectors.dtype, ids.device)
    _similarity[(triton.cdiv(m, VECTORS),)](
        ids, weight, vectors, sums, m, n, len(sums), len(weight) > 0, width, VECTORS
    )
    return sums.sum(dim=0, dtype=torch.float64).view(n, width)[:, :k]


def place_items(points: Tensor, landmarks: Tensor, distances: Tensor, weight: Tensor) -> Tensor:
    """Move points (n, d) to where their squared distances to the landmarks (l, d) fit best."""
    (n, d), l = points.shape, len(landmarks)
    points, landmarks = _padded(points), _padded(landmarks)
    placed, width = torch.empty_like(points), points.shape[1]
    _place[(triton.cdiv(n, ITEMS),)](
        points,
        landmarks,
        distances,
        weight,
        placed,
        n,
        l,
        d,
        *distances.stride(),
        *weight.stride(),
        width,
        ITEMS,
    )
    return placed[:, :d]


def _copies(size: int, kind: Any, device: Any) -> Tensor:
    copies = max(1, min(MOST_COPIES, SPREAD // size))
    return torch.zeros((copies, size), dtype=kind, device=device)


def _words(pairs: Tensor) -> Tensor:
    """Pairs as one number of 64 bits each, to be read in one go."""
    return pairs.view(torch.int64)


def _table(ranges: Ranges, beside: Tensor) -> Tensor:
    return _sent(tuple(ranges), beside.device)


@lru_cache(maxsize=64)
def _sent(ranges: Ranges, device: Any) -> Tensor:
    """Send the ranges to a device, once: each sending makes the host wait."""
    return torch.tensor(ranges, dtype=torch.int64, device=device)


def _grid(ranges: Ranges) -> tuple[int, int]:
    longest = max(stop - start for start, stop in ranges)
    return max(triton.cdiv(longest, PAIRS.value), 1), len(ranges)


def _padded(points: Tensor) -> Tensor:
    """Rows as wide as a power of two, so that each is read and added to in one go."""
    width = triton.next_power_of_2(points.shape[1])
    return torch.nn.functional.pad(points, (0, width - points.shape[1])).contiguous()


@triton.jit
def _read_pairs(pairs, ranges):
    """Rows, ids of near and far items, and which rows there are, of this program."""
    column = tl.program_id(1)
    at = tl.load(ranges + 2 * column) + tl.program_id(0).to(tl.int64) * PAIRS
    at += tl.arange(0, PAIRS)
    inside = at < tl.load(ranges + 2 * column + 1)
    pair = tl.load(pairs + at, mask=inside, other=0)
    near = (pair & 0xFFFFFFFF).to(tl.int32)
    far = (pair >> 32).to(tl.int32)
    return at, near, far, inside


@triton.jit
def _residual(x, noise: tl.constexpr):
    if noise == 0:
        residual = 1 / (1 + tl.exp(x))
    else:
        residual = SQRT_2_PI / libdevice.erfcx(-x / SQRT_2)
    return residual


@triton.jit
def _count(pairs, weight, ranges, sums, n, l, copies, weighted: tl.constexpr):
    at, near, far, inside = _read_pairs(pairs, ranges)
    column = tl.program_id(1)
    sums += (tl.program_id(0) % copies).to(tl.int64) * 2 * l * n
    if weighted:
        w = tl.load(weight + at, mask=inside, other=0)
    else:
        w = inside.to(tl.int32)
    tl.atomic_add(sums + column * n + far, w, mask=inside, sem="relaxed")
    tl.atomic_add(sums + (l + column) * n + near, w, mask=inside, sem="relaxed")


@triton.jit
def _score(
    pairs, weight, ranges, scores, sums, n, l, copies, weighted: tl.constexpr, noise: tl.constexpr
):
    at, near, far, inside = _read_pairs(pairs, ranges)
    column = tl.program_id(1)
    scores += column * n
    pull = _residual(tl.load(scores + far) - tl.load(scores + near), noise)
    if weighted:
        pull = (pull * tl.load(weight + at, mask=inside, other=0)).to(pull.dtype)
    sums += (tl.program_id(0) % copies).to(tl.int64) * l * n + column * n
    tl.atomic_add(sums + far, pull, mask=inside, sem="relaxed")
    tl.atomic_add(sums + near, -pull, mask=inside, sem="relaxed")


@triton.jit
def _information(
    pairs, weight, ranges, scores, found, n, weighted: tl.constexpr, noise: tl.constexpr
):
    at, near, far, inside = _read_pairs(pairs, ranges)
    scores += tl.program_id(1) * n
    x = tl.load(scores + far) - tl.load(scores + near)
    information = _residual(x, noise) * _residual(-x, noise)
    if weighted:
        information *= tl.load(weight + at, mask=inside, other=0)
    tl.store(found + at, information.to(x.dtype), mask=inside)


@triton.jit
def _neighbour(pairs, weight, ranges, values, sums, n, l, copies):
    at, near, far, inside = _read_pairs(pairs, ranges)
    column = tl.program_id(1)
    values += column * n
    w = tl.load(weight + at, mask=inside, other=0).to(values.dtype.element_ty)
    sums += (tl.program_id(0) % copies).to(tl.int64) * l * n + column * n
    tl.atomic_add(sums + far, w * tl.load(values + near), mask=inside, sem="relaxed")
    tl.atomic_add(sums + near, w * tl.load(values + far), mask=inside, sem="relaxed")


@triton.jit
def _connect(pairs, ranges, label, found, n):
    _, near, far, inside = _read_pairs(pairs, ranges)
    label += tl.program_id(1) * n
    a, b = tl.load(label + near), tl.load(label + far)
    low, high = tl.minimum(a, b), tl.maximum(a, b)
    apart = inside & (low < high)
    tl.atomic_min(label + high, low, mask=apart, sem="relaxed")
    if tl.max(apart.to(tl.int32)) > 0:
        tl.store(found, 1)


@triton.jit
def _link(u, shape, link: tl.constexpr):
    """A link's value and slope at squared distances u."""
    if link == 0:
        value, slope = u, tl.full(u.shape, 1, u.dtype)
    elif link == 1:
        half = (shape + 1) / 2
        value, slope = half * tl.log(1 + u / shape), half / (shape + u)
    elif link == 2:
        value, slope = tl.log(shape + u), 1 / (shape + u)
    else:
        value = tl.sqrt(tl.maximum(u, 1e-38))
        slope = 0.5 / value
    return value, slope


@triton.jit
def _penalty(z, penalty: tl.constexpr):
    """A penalty's value and slope at z."""
    above = tl.maximum(z, 0)
    if penalty == 0:
        power = tl.exp(-tl.abs(z))
        value, small = above + tl.log(1 + power), power / (1 + power)
        slope = tl.where(z > 0, 1 - small, small)
    elif penalty == 1:
        # -log Phi(-z), and its derivative phi(z) / Phi(-z): neither may vanish in a tail.
        slope = _residual(-z, 1)
        tail = z * z / 2 - tl.log(libdevice.erfcx(above / SQRT_2) / 2)
        value = tl.where(z > 0, tail, -libdevice.log1p(-libdevice.erfc(-z / SQRT_2) / 2))
    elif penalty == 2:
        value, slope = above, (z > 0).to(z.dtype)
    else:
        value, slope = above * above, 2 * above
    return value, slope


@triton.jit
def _loss(
    ids,
    weight,
    points,
    constants,
    values,
    sums,
    m,
    n,
    copies,
    weighted: tl.constexpr,
    link: tl.constexpr,
    penalty: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    at = program * block + tl.arange(0, block)
    inside = at < m
    axis = tl.arange(0, width)[None, :]
    anchor = tl.load(ids + at, mask=inside, other=0)
    near = tl.load(ids + m + at, mask=inside, other=0)[:, None] * width + axis
    far = tl.load(ids + 2 * m + at, mask=inside, other=0)[:, None] * width + axis
    x = tl.load(points + anchor[:, None] * width + axis)
    to_near, to_far = x - tl.load(points + near), x - tl.load(points + far)
    shape, margin = tl.load(constants), tl.load(constants + 1)
    u, slope_near = _link(tl.sum(to_near * to_near, 1), shape, link)
    v, slope_far = _link(tl.sum(to_far * to_far, 1), shape, link)
    value, slope = _penalty(u - v + margin, penalty)
    w = inside.to(slope.dtype)
    if weighted:
        w = tl.load(weight + at, mask=inside, other=0).to(slope.dtype)
    tl.store(values + program, tl.sum((value * w).to(tl.float64)))
    slope = 2 * slope * w
    pull, push = (slope * slope_near)[:, None] * to_near, (slope * slope_far)[:, None] * to_far
    sums += (program % copies) * n * width
    there = inside[:, None]
    tl.atomic_add(sums + near, -pull, mask=there, sem="relaxed")
    tl.atomic_add(sums + far, push, mask=there, sem="relaxed")
    _add_at_anchors(sums, anchor, pull - push, inside, width)


@triton.jit
def _add_at_anchors(sums, anchor, change, inside, width: tl.constexpr):
    """Add rows to those of the anchors; once for all where the program has a single anchor."""
    first = tl.min(tl.where(inside, anchor, MOST))
    if first == tl.max(tl.where(inside, anchor, 0)):
        together = tl.sum(tl.where(inside[:, None], change, 0), 0)
        tl.atomic_add(sums + first * width + tl.arange(0, width), together, sem="relaxed")
    else:
        place = anchor[:, None] * width + tl.arange(0, width)[None, :]
        tl.atomic_add(sums + place, change, mask=inside[:, None], sem="relaxed")


@triton.jit
def _similarity(
    ids,
    weight,
    vectors,
    sums,
    m,
    n,
    copies,
    weighted: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    at = program * block + tl.arange(0, block)
    inside = at < m
    axis = tl.arange(0, width)[None, :]
    anchor = tl.load(ids + at, mask=inside, other=0)
    near = tl.load(ids + m + at, mask=inside, other=0)[:, None] * width + axis
    far = tl.load(ids + 2 * m + at, mask=inside, other=0)[:, None] * width + axis
    x = tl.load(vectors + anchor[:, None] * width + axis)
    difference = tl.load(vectors + far) - tl.load(vectors + near)
    if weighted:
        w = tl.load(weight + at, mask=inside, other=0).to(x.dtype)[:, None]
        x, difference = w * x, w * difference
    sums += (program % copies) * n * width
    tl.atomic_add(sums + far, x, mask=inside[:, None], sem="relaxed")
    tl.atomic_add(sums + near, -x, mask=inside[:, None], sem="relaxed")
    _add_at_anchors(sums, anchor, difference, inside, width)


@triton.jit
def _place(
    points,
    landmarks,
    distances,
    weight,
    placed,
    n,
    l,
    d,
    distance_row,
    distance_column,
    weight_row,
    weight_column,
    width: tl.constexpr,
    block: tl.constexpr,
):
    item = tl.program_id(0) * block + tl.arange(0, block)
    inside = item < n
    item = tl.where(inside, item, 0).to(tl.int64)
    place = item[:, None] * width + tl.arange(0, width)[None, :]
    distances += item * distance_row
    weight += item * weight_row
    x = tl.load(points + place)
    cost, gradient, size = _misfit(
        x, landmarks, distances, weight, l, distance_column, weight_column, width
    )
    for _ in range(_STEPS):
        step = _newton_step(x, gradient, size, landmarks, weight, l, d, weight_column, width)
        for _ in range(_HALVINGS):
            new_cost, new_gradient, new_size = _misfit(
                x + step, landmarks, distances, weight, l, distance_column, weight_column, width
            )
            better = new_cost < cost
            cost, size = tl.where(better, new_cost, cost), tl.where(better, new_size, size)
            better = better[:, None]
            x, gradient = tl.where(better, x + step, x), tl.where(better, new_gradient, gradient)
            step = tl.where(better, 0, step / 2)
    tl.store(placed + place, x, mask=inside[:, None])


@triton.jit
def _misfit(
    x, landmarks, distances, weight, l, distance_column, weight_column, width: tl.constexpr
):
    """Cost of each point, half its negative gradient, and the trace of its curvature."""
    axis = tl.arange(0, width)[None, :]
    cost = tl.sum(x * 0, 1)
    size, gradient = cost + _TINY, x * 0
    for i in range(l):
        away = x - tl.load(landmarks + i * width + axis)
        squared = tl.sum(away * away, 1)
        error = tl.load(distances + i * distance_column) - squared
        w = tl.load(weight + i * weight_column)
        cost += w * error * error
        gradient += (2 * w * error)[:, None] * away
        size += 4 * w * squared
    return cost, gradient, size


@triton.jit
def _newton_step(
    x, gradient, size, landmarks, weight, l, d, weight_column, width: tl.constexpr
):
    """Solve curvature times step = gradient by d steps of conjugate gradients, which is exact.

    The curvature, the sum over landmarks of 4 weight away away', is only multiplied with.
    """
    axis = tl.arange(0, width)[None, :]
    step, left, direction = x * 0, gradient, gradient
    squares = tl.sum(left * left, 1)
    for _ in range(d):
        product = (_DAMPING * size)[:, None] * direction
        for i in range(l):
            away = x - tl.load(landmarks + i * width + axis)
            w = tl.load(weight + i * weight_column)
            product += (4 * w * tl.sum(away * direction, 1))[:, None] * away
        along = tl.sum(direction * product, 1)
        length = tl.where(along > 0, squares / along, 0)[:, None]
        step += length * direction
        left -= length * product
        fewer = tl.sum(left * left, 1)
        direction = left + tl.where(squares > 0, fewer / squares, 0)[:, None] * direction
        squares = fewer
    return step
