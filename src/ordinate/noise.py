"""Noise models: the probability f(x) that j is called farther when D_ij - D_ik is x.

Both models are symmetric, f(-x) = 1 - f(x), and have a concave log f, so that the likelihood of
scores has one maximum.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate._arrays import special
from ordinate._checks import check_choice

SQRT_2 = math.sqrt(2)
SQRT_2_PI = math.sqrt(2 / math.pi)


class Noise(NamedTuple):
    """A noise model as functions of arrays, of NumPy or torch.

    Attributes
    ----------
    name : str
    code : int
        How compiled kernels know it.
    probability : function
        f(x).
    residual : function
        The derivative of log f(x): how strongly an answer "farther" pulls the two scores apart.
    information : function
        The expected curvature of an answer, f'(x)^2 / (f(x) f(-x)).
    """

    name: str
    code: int
    probability: Callable[[np.ndarray], np.ndarray]
    residual: Callable[[np.ndarray], np.ndarray]
    information: Callable[[np.ndarray], np.ndarray]


def get(name: str) -> Noise:
    """Return a noise model by its name: "btl" (logistic f) or "thurstone" (normal f)."""
    check_choice("noise", name, NAMES)
    return _btl() if name == "btl" else _thurstone()


NAMES = ("btl", "thurstone")


def _btl() -> Noise:
    def expit(x: np.ndarray) -> np.ndarray:
        return special(x).expit(x)

    def information(x: np.ndarray) -> np.ndarray:
        probability = expit(x)
        return probability * (1 - probability)

    return Noise("btl", 0, expit, lambda x: expit(-x), information)


def _thurstone() -> Noise:
    def probability(x: np.ndarray) -> np.ndarray:
        return special(x).ndtr(x)

    def residual(x: np.ndarray) -> np.ndarray:
        # phi(x) / Phi(x), written so that neither tail under- or overflows.
        return SQRT_2_PI / special(x).erfcx(-x / SQRT_2)

    return Noise("thurstone", 1, probability, residual, lambda x: residual(x) * residual(-x))
