"""Kernels over triplets, given a map: losses and similarities."""

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl

from ordinate.kernels.backends.torch_ import Tensor, shape_part
from ordinate.kernels.backends.translating import blank, fill
from ordinate.kernels.backends.triton_.functions import TRITON, copies_of_zeros, padded
from ordinate.kernels.formulas import Formula, Link, Penalty
from ordinate.kernels.losses import Loss

TRIPLETS = 512  # that a program reads
VECTORS = 128  # triplets whose vectors a program multiplies
MOST = tl.constexpr(2**31 - 1)

formula = link = link_slope = penalty = penalty_slope = blank


def loss_sums(ids: Tensor, weight: Tensor, points: Tensor, loss: Loss) -> tuple[float, Tensor]:
    """Value and gradient (n, d) of a loss, summed over triplets, at points (n, d)."""
    (n, d), m = points.shape, ids.shape[1]
    points = padded(points)
    width = points.shape[1]
    sums = copies_of_zeros(n * width, points.dtype, ids.device)
    n_programs = triton.cdiv(m, TRIPLETS)
    values = torch.empty(n_programs, dtype=torch.float64, device=ids.device)
    # By way of memory, since a number that is handed over becomes one of single precision.
    numbers = [*loss.link_shape, *loss.penalty_shape, loss.margin]
    constants = torch.tensor(numbers, dtype=points.dtype, device=ids.device)
    _loss_of(loss.link, loss.penalty)[(n_programs,)](
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
        len(loss.link_shape),
        len(loss.penalty_shape),
        width,
        TRIPLETS,
    )
    gradient = sums.sum(dim=0, dtype=torch.float64).view(n, width)[:, :d]
    return float(values.sum()), gradient


def shape_sums(
    ids: Tensor, weight: Tensor, points: Tensor, loss: Loss
) -> tuple[float, Tensor, Tensor, Tensor]:
    """What :func:`loss_sums` returns, and torch's :func:`shape_part`."""
    return *loss_sums(ids, weight, points, loss), *shape_part(ids, weight, points, loss)


def similarity_sums(ids: Tensor, weight: Tensor, vectors: Tensor) -> Tensor:
    """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus times near."""
    (n, k), m = vectors.shape, ids.shape[1]
    vectors = padded(vectors)
    width = vectors.shape[1]
    sums = copies_of_zeros(n * width, vectors.dtype, ids.device)
    _similarity[(triton.cdiv(m, VECTORS),)](
        ids, weight, vectors, sums, m, n, len(sums), len(weight) > 0, width, VECTORS
    )
    return sums.sum(dim=0, dtype=torch.float64).view(n, width)[:, :k]


@cache
def _loss_of(link: Link, penalty: Penalty) -> Any:
    """Compile the kernel of losses with a link and a penalty in its blanks."""
    blanks = {
        "link": _reading_shape(link.value),
        "link_slope": _reading_shape(link.slope),
        "penalty": _reading_shape(penalty.value),
        "penalty_slope": _reading_shape(penalty.slope),
    }
    return triton.jit(fill(_loss, blanks))


def _reading_shape(formula: Formula) -> Any:
    """Translate a formula to a function of x and of where its shape numbers are."""
    n_numbers = formula.__code__.co_argcount - 1
    reading = fill(_READING[n_numbers], {"formula": TRITON.translate(formula)})
    # Triton takes functions of one name for the same.
    reading.__qualname__ += f"_of_{formula.__module__}_{formula.__qualname__}"
    return triton.jit(reading)


def _no_shape(x, shape):
    return formula(x)


def _one_number(x, shape):
    return formula(x, tl.load(shape))


def _two_numbers(x, shape):
    return formula(x, tl.load(shape), tl.load(shape + 1))


_READING = (_no_shape, _one_number, _two_numbers)


@triton.jit
def _read_triplets(ids, m, width: tl.constexpr, block: tl.constexpr):
    """Rows of this program and which there are, their anchors, and places of near and far items."""
    program = tl.program_id(0).to(tl.int64)
    at = program * block + tl.arange(0, block)
    inside = at < m
    axis = tl.arange(0, width)[None, :]
    anchor = tl.load(ids + at, mask=inside, other=0)
    # In this order: twice m need not be a number of 32 bits.
    near = tl.load(ids + (at + m), mask=inside, other=0)[:, None] * width + axis
    far = tl.load(ids + (at + m + m), mask=inside, other=0)[:, None] * width + axis
    return program, at, inside, anchor, near, far


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
    n_link_shape: tl.constexpr,
    n_penalty_shape: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
):
    program, at, inside, anchor, near, far = _read_triplets(ids, m, width, block)
    axis = tl.arange(0, width)[None, :]
    x = tl.load(points + anchor[:, None] * width + axis)
    to_near, to_far = x - tl.load(points + near), x - tl.load(points + far)
    u, v = tl.sum(to_near * to_near, 1), tl.sum(to_far * to_far, 1)
    slope_near, slope_far = link_slope(u, constants), link_slope(v, constants)
    penalty_shape = constants + n_link_shape
    margin = tl.load(penalty_shape + n_penalty_shape)
    z = link(u, constants) - link(v, constants) + margin
    value, slope = penalty(z, penalty_shape), penalty_slope(z, penalty_shape)
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
    program, at, inside, anchor, near, far = _read_triplets(ids, m, width, block)
    axis = tl.arange(0, width)[None, :]
    x = tl.load(vectors + anchor[:, None] * width + axis)
    difference = tl.load(vectors + far) - tl.load(vectors + near)
    if weighted:
        w = tl.load(weight + at, mask=inside, other=0).to(x.dtype)[:, None]
        x, difference = w * x, w * difference
    sums += (program % copies) * n * width
    tl.atomic_add(sums + far, x, mask=inside[:, None], sem="relaxed")
    tl.atomic_add(sums + near, -x, mask=inside[:, None], sem="relaxed")
    _add_at_anchors(sums, anchor, difference, inside, width)
