"""Noise models: the probability f(x) that j is called farther when D_ij - D_ik is x.

Both models are symmetric, f(-x) = 1 - f(x), and have a concave log f, so that the likelihood of
scores has one maximum.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate._checks import check_choice


class Noise(NamedTuple):
    """A noise model as functions of arrays.

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
    from scipy.special import expit

    def information(x: np.ndarray) -> np.ndarray:
        probability = expit(x)
        return probability * (1 - probability)

    return Noise("btl", 0, expit, lambda x: expit(-x), information)


def _thurstone() -> Noise:
    from scipy.special import erfcx, ndtr

    def residual(x: np.ndarray) -> np.ndarray:
        # phi(x) / Phi(x), written so that neither tail under- or overflows.
        return np.sqrt(2 / np.pi) / erfcx(-x / np.sqrt(2))

    return Noise("thurstone", 1, ndtr, residual, lambda x: residual(x) * residual(-x))
