"""Placing items among landmarks."""

import torch
import triton
import triton.language as tl

from ordinate.kernels.backends.numpy_ import placing
from ordinate.kernels.backends.torch_ import Tensor
from ordinate.kernels.backends.triton_.functions import padded

ITEMS = 128  # that a program places
DAMPING, TINY = tl.constexpr(placing.DAMPING), tl.constexpr(placing.TINY)
STEPS, HALVINGS = tl.constexpr(placing.PLACING_STEPS), tl.constexpr(placing.HALVINGS)


def place_items(points: Tensor, landmarks: Tensor, distances: Tensor, weight: Tensor) -> Tensor:
    """Move points (n, d) to where their squared distances to the landmarks (l, d) fit best."""
    (n, d), l = points.shape, len(landmarks)
    points, landmarks = padded(points), padded(landmarks)
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
    for _ in range(STEPS):
        step = _newton_step(x, gradient, size, landmarks, weight, l, d, weight_column, width)
        for _ in range(HALVINGS):
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
    size, gradient = cost + TINY, x * 0
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
def _newton_step(x, gradient, size, landmarks, weight, l, d, weight_column, width: tl.constexpr):
    """Solve curvature times step = gradient by d steps of conjugate gradients, which is exact.

    The curvature, the sum over landmarks of 4 weight away away', is only multiplied with.
    """
    axis = tl.arange(0, width)[None, :]
    step, left, direction = x * 0, gradient, gradient
    squares = tl.sum(left * left, 1)
    for _ in range(d):
        product = (DAMPING * size)[:, None] * direction
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
