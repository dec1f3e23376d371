"""What kernels share: how their sums lie, and functions of noise models."""

from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from ordinate.backends.torch_ import Tensor

SPREAD = 1 << 20  # numbers that all copies of some sums may have
MOST_COPIES = 128
SQRT_2 = tl.constexpr(2**0.5)
SQRT_2_PI = tl.constexpr(0.7978845608028654)


def copies_of_zeros(size: int, kind: Any, device: Any) -> Tensor:
    """Return sums (n_copies, size) to add to, with more copies the fewer they are."""
    copies = max(1, min(MOST_COPIES, SPREAD // size))
    return torch.zeros((copies, size), dtype=kind, device=device)


def padded(points: Tensor) -> Tensor:
    """Rows as wide as a power of two, so that each is read and added to in one go."""
    width = triton.next_power_of_2(points.shape[1])
    return torch.nn.functional.pad(points, (0, width - points.shape[1])).contiguous()


@triton.jit
def noise_residual(x, noise: tl.constexpr):
    """Return the derivative of log f(x), by the noise model's code."""
    if noise == 0:
        residual = 1 / (1 + tl.exp(x))
    else:
        residual = SQRT_2_PI / libdevice.erfcx(-x / SQRT_2)
    return residual
