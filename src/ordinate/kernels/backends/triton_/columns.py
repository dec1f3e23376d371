"""Kernels over the comparisons of columns: pairs (near, far) of items."""

from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl

from ordinate.kernels.backends.torch_ import Ranges, Tensor
from ordinate.kernels.backends.translating import blank
from ordinate.kernels.backends.triton_.functions import copies_of_zeros, filled
from ordinate.kernels.formulas import Noise

PAIRS = tl.constexpr(1024)  # that a program reads

residual = information = blank


def count_sums(pairs: Tensor, weight: Tensor, ranges: Ranges, n_items: int) -> Tensor:
    """Count how often each item was far, and near, in each column: (2, n_columns, n_items)."""
    l, weighted = len(ranges), len(weight) > 0
    kind = torch.float64 if weighted else torch.int32
    sums = copies_of_zeros(2 * l * n_items, kind, pairs.device)
    _count[_grid(ranges)](
        _words(pairs), weight, _table(ranges, pairs), sums, n_items, l, len(sums), weighted
    )
    return sums.sum(dim=0).double().view(2, l, n_items)


def score_sums(
    pairs: Tensor, weight: Tensor, ranges: Ranges, scores: Tensor, noise: Noise
) -> Tensor:
    """Gradient (n_columns, n_items) of the log-likelihood of scores, in double precision."""
    l, n = scores.shape
    sums = copies_of_zeros(l * n, scores.dtype, pairs.device)
    filled(_score, residual=noise.residual)[_grid(ranges)](
        _words(pairs),
        weight,
        _table(ranges, pairs),
        scores.contiguous(),
        sums,
        n,
        l,
        len(sums),
        len(weight) > 0,
    )
    return sums.sum(dim=0, dtype=torch.float64).view(l, n)


def pair_information(
    pairs: Tensor, weight: Tensor, ranges: Ranges, scores: Tensor, noise: Noise
) -> Tensor:
    """Curvature that each pair adds to the log-likelihood of scores."""
    found = scores.new_empty(len(pairs))
    filled(_information, information=noise.information)[_grid(ranges)](
        _words(pairs),
        weight,
        _table(ranges, pairs),
        scores.contiguous(),
        found,
        scores.shape[1],
        len(weight) > 0,
    )
    return found


def neighbour_sums(pairs: Tensor, weight: Tensor, ranges: Ranges, values: Tensor) -> Tensor:
    """Per column and item, the sum of the opponents' values times the pairs' weights."""
    l, n = values.shape
    sums = copies_of_zeros(l * n, values.dtype, pairs.device)
    _neighbour[_grid(ranges)](
        _words(pairs), weight, _table(ranges, pairs), values.contiguous(), sums, n, l, len(sums)
    )
    return sums.sum(dim=0, dtype=torch.float64).view(l, n)


def connect(pairs: Tensor, ranges: Ranges, label: Tensor) -> bool:
    """Hook the parts that pairs connect on to each other; whether there were any."""
    found = torch.zeros(1, dtype=torch.int32, device=pairs.device)
    _connect[_grid(ranges)](_words(pairs), _table(ranges, pairs), label, found, label.shape[1])
    return bool(found.item())


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


def _score(pairs, weight, ranges, scores, sums, n, l, copies, weighted: tl.constexpr):
    at, near, far, inside = _read_pairs(pairs, ranges)
    column = tl.program_id(1)
    scores += column * n
    pull = residual(tl.load(scores + far) - tl.load(scores + near))
    if weighted:
        pull = (pull * tl.load(weight + at, mask=inside, other=0)).to(pull.dtype)
    sums += (tl.program_id(0) % copies).to(tl.int64) * l * n + column * n
    tl.atomic_add(sums + far, pull, mask=inside, sem="relaxed")
    tl.atomic_add(sums + near, -pull, mask=inside, sem="relaxed")


def _information(pairs, weight, ranges, scores, found, n, weighted: tl.constexpr):
    at, near, far, inside = _read_pairs(pairs, ranges)
    scores += tl.program_id(1) * n
    x = tl.load(scores + far) - tl.load(scores + near)
    curvature = information(x)
    if weighted:
        curvature *= tl.load(weight + at, mask=inside, other=0)
    tl.store(found + at, curvature.to(x.dtype), mask=inside)


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
