"""What kernels share: how their sums lie, and the functions that formulas are written in."""

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from ordinate.kernels.backends.torch_ import Tensor
from ordinate.kernels.backends.translating import Language, fill
from ordinate.kernels.formulas import Formula

SPREAD = 1 << 20  # numbers that all copies of some sums may have
MOST_COPIES = 128
SQRT_2 = tl.constexpr(2**0.5)
SMALLEST = tl.constexpr(2.0**-126)  # the smallest normal number of single precision


def copies_of_zeros(size: int, kind: Any, device: Any) -> Tensor:
    """Return sums (n_copies, size) to add to, with more copies the fewer they are."""
    copies = max(1, min(MOST_COPIES, SPREAD // size))
    return torch.zeros((copies, size), dtype=kind, device=device)


def padded(points: Tensor) -> Tensor:
    """Rows as wide as a power of two, so that each is read and added to in one go."""
    width = triton.next_power_of_2(points.shape[1])
    return torch.nn.functional.pad(points, (0, width - points.shape[1])).contiguous()


@triton.jit
def ones_like(x):
    """1, in the shape of x."""
    return tl.full(x.shape, 1, x.dtype)


@triton.jit
def above(x):
    """Return x where it is positive, else 0."""
    return tl.maximum(x, 0)


@triton.jit
def is_above(x):
    """Return 1 where x is positive, else 0."""
    return (x > 0).to(x.dtype)


@triton.jit
def nonzero(x):
    """Return x >= 0, but no less than a small number."""
    return tl.maximum(x, SMALLEST)


@triton.jit
def sqrt(x):
    """Square root."""
    return tl.sqrt(x)


@triton.jit
def log(x):
    """Natural logarithm."""
    return tl.log(x)


@triton.jit
def log1p(x):
    """log(1 + x), exact for small x."""
    return libdevice.log1p(x)


@triton.jit
def exp(x):
    """e^x."""
    return tl.exp(x)


@triton.jit
def exprel(x):
    """(e^x - 1) / x, which is 1 at 0."""
    return tl.where(x == 0, 1, libdevice.expm1(x) / tl.where(x == 0, 1, x))


@triton.jit
def expit(x):
    """1 / (1 + e^-x), by the same power that softplus takes, which is worked out once for both."""
    power = tl.exp(-tl.abs(x))
    small = power / (1 + power)
    return tl.where(x > 0, 1 - small, small)


@triton.jit
def softplus(x):
    """log(1 + e^x)."""
    return tl.maximum(x, 0) + tl.log(1 + tl.exp(-tl.abs(x)))


@triton.jit
def erfcx(x):
    """e^(x^2) erfc(x)."""
    return libdevice.erfcx(x)


@triton.jit
def log_ndtr(x):
    """Logarithm of Phi(x) = erfc(-x / sqrt(2)) / 2, by what does not vanish on either side."""
    below = tl.log(libdevice.erfcx(tl.maximum(-x, 0) / SQRT_2) / 2) - x * x / 2
    return tl.where(x > 0, libdevice.log1p(-libdevice.erfc(x / SQRT_2) / 2), below)


TRITON = Language(
    {
        "above": above,
        "erfcx": erfcx,
        "exp": exp,
        "expit": expit,
        "exprel": exprel,
        "is_above": is_above,
        "log": log,
        "log1p": log1p,
        "log_ndtr": log_ndtr,
        "nonzero": nonzero,
        "ones_like": ones_like,
        "softplus": softplus,
        "sqrt": sqrt,
    },
    triton.jit,
    {},
    tl.constexpr,
)


@cache
def filled(kernel: Any, **formulas: Formula) -> Any:
    """Return the kernel compiled with formulas in its blanks."""
    blanks = {name: TRITON.translate(formula) for name, formula in formulas.items()}
    return triton.jit(fill(kernel, blanks))
