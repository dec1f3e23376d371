"""Noise models: the probability f(x) that j is called farther when D_ij - D_ik is x.

Both models are symmetric, f(-x) = 1 - f(x), and have a concave log f, so that the likelihood of
scores has one maximum. Their formulas are rows of :mod:`ordinate.kernels.formulas`.
"""

from ordinate._base.checks import check_choice
from ordinate.kernels.formulas import NOISES, Noise

__all__ = ["NAMES", "Noise", "get"]

NAMES = tuple(NOISES)


def get(name: str) -> Noise:
    """Return a noise model by its name: "btl" (logistic f) or "thurstone" (normal f)."""
    check_choice("noise", name, NAMES)
    return NOISES[name]
