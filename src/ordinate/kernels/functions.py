"""The functions that formulas are written in, for arrays of NumPy or torch.

Each compiled backend has functions of the same names for its own numbers, in its ``functions``.
"""

import math
from typing import Any

from ordinate._base.arrays import cast, keep, namespace, special

SMALL = 0.5  # where differences of exponentials cancel, and a short series is exact
EXPREL_SLOPE = tuple((n + 1) / math.factorial(n + 2) for n in range(14))


def ones_like(x: Any) -> Any:
    """1, in the shape of x."""
    return namespace(x).ones_like(x)


def above(x: Any) -> Any:
    """Return x where it is positive, else 0."""
    return namespace(x).clip(x, 0, None)


def is_above(x: Any) -> Any:
    """Return 1 where x is positive, else 0."""
    return cast(x > 0, "float64")


def nonzero(x: Any) -> Any:
    """Return x >= 0, but no less than the smallest normal number, so that it can be divided by."""
    return namespace(x).clip(x, namespace(x).finfo(x.dtype).tiny, None)


def sqrt(x: Any) -> Any:
    """Square root."""
    return namespace(x).sqrt(x)


def log(x: Any) -> Any:
    """Natural logarithm."""
    return namespace(x).log(x)


def log1p(x: Any) -> Any:
    """log(1 + x), exact for small x."""
    return namespace(x).log1p(x)


def exp(x: Any) -> Any:
    """e^x."""
    return namespace(x).exp(x)


def exprel(x: Any) -> Any:
    """(e^x - 1) / x, which is 1 at 0."""
    there = x != 0
    return keep(namespace(x).expm1(x) / keep(x, there, 1.0), there, 1.0)


def exprel_slope(x: Any) -> Any:
    """Derivative of :func:`exprel`: (e^x - exprel(x)) / x, which is 1/2 at 0."""
    small = abs(x) < SMALL
    series, large = 0.0 * x, keep(x, ~small, 1.0)
    for term in reversed(EXPREL_SLOPE):
        series = series * x + term
    return namespace(x).where(small, series, (exp(large) - exprel(large)) / large)


def expit(x: Any) -> Any:
    """1 / (1 + e^-x), the logistic function."""
    return special(x).expit(x)


def softplus(x: Any) -> Any:
    """log(1 + e^x)."""
    xp = namespace(x)
    return above(x) + xp.log1p(xp.exp(-abs(x)))


def ndtr(x: Any) -> Any:
    """Probability of less than x under the standard normal distribution."""
    return special(x).ndtr(x)


def log_ndtr(x: Any) -> Any:
    """Logarithm of :func:`ndtr`, exact in both tails."""
    return special(x).log_ndtr(x)


def erfcx(x: Any) -> Any:
    """e^(x^2) erfc(x), which falls no faster than 1 / x."""
    return special(x).erfcx(x)
