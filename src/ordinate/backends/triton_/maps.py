"""Kernels over triplets, given a map: losses and similarities."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from ordinate.backends.torch_ import Tensor
from ordinate.backends.triton_.functions import SQRT_2, copies_of_zeros, noise_residual, padded

TRIPLETS = 512  # that a program reads
VECTORS = 128  # triplets whose vectors a program multiplies
MOST = tl.constexpr(2**31 - 1)


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
    points = padded(points)
    width = points.shape[1]
    sums = copies_of_zeros(n * width, points.dtype, ids.device)
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
    vectors = padded(vectors)
    width = vectors.shape[1]
    sums = copies_of_zeros(n * width, vectors.dtype, ids.device)
    _similarity[(triton.cdiv(m, VECTORS),)](
        ids, weight, vectors, sums, m, n, len(sums), len(weight) > 0, width, VECTORS
    )
    return sums.sum(dim=0, dtype=torch.float64).view(n, width)[:, :k]


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
        slope = noise_residual(-z, 1)
        tail = z * z / 2 - tl.log(libdevice.erfcx(above / SQRT_2) / 2)
        value = tl.where(z > 0, tail, -libdevice.log1p(-libdevice.erfc(-z / SQRT_2) / 2))
    elif penalty == 2:
        value, slope = above, (z > 0).to(z.dtype)
    else:
        value, slope = above * above, 2 * above
    return value, slope


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
    program, at, inside, anchor, near, far = _read_triplets(ids, m, width, block)
    axis = tl.arange(0, width)[None, :]
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
