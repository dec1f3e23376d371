"""The functions that formulas are written in, for arrays of NumPy or torch.

Each compiled backend has functions of the same names for its own numbers, in its ``functions``.
"""

from typing import Any

from ordinate._base.arrays import cast, namespace, special


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
