"""Losses compose: a triplet costs ``penalty(link(near) - link(far) + margin)``.

near and far are the squared distances from the anchor. A new loss is a row of :func:`get`'s table;
a new link or penalty is an entry below and its twin in the compiled kernels.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate import noise
from ordinate._arrays import cast, namespace, special
from ordinate._checks import check_choice

Function = Callable[[np.ndarray], np.ndarray]


class Link(NamedTuple):
    """A function of squared distances u, with one shape parameter, and its derivative."""

    name: str
    code: int
    value: Callable[[np.ndarray, float], np.ndarray]
    slope: Callable[[np.ndarray, float], np.ndarray]


class Penalty(NamedTuple):
    """A function of z = link(near) - link(far) + margin, its derivative, and a curvature.

    The curvature scales steps. It is the expected second derivative for likelihoods, and the square
    of the derivative for the hinge, which has none.
    """

    name: str
    code: int
    value: Function
    slope: Function
    curvature: Function


class Loss(NamedTuple):
    """What a triplet costs, given the squared distances near and far.

    Attributes
    ----------
    name : str
    link : Link
    penalty : Penalty
    shape : float
        The link's parameter: alpha of t-STE, mu of CKL.
    margin : float
    """

    name: str
    link: Link
    penalty: Penalty
    shape: float = 0.0
    margin: float = 0.0

    @property
    def codes(self) -> tuple[int, float, int, float]:
        """Link, shape, penalty and margin, as kernels take them."""
        return self.link.code, self.shape, self.penalty.code, self.margin

    @property
    def is_likelihood(self) -> bool:
        """Whether exp(-loss) is the probability of an answer."""
        return self.penalty.name in ("logistic", "normal")

    def argument(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return z, what the penalty is a function of."""
        return self.link.value(near, self.shape) - self.link.value(far, self.shape) + self.margin


IDENTITY = Link("identity", 0, lambda u, _: u, lambda u, _: namespace(u).ones_like(u))
STUDENT = Link(
    "student",
    1,
    lambda u, alpha: (alpha + 1) / 2 * namespace(u).log1p(u / alpha),
    lambda u, alpha: (alpha + 1) / 2 / (alpha + u),
)
LOGARITHM = Link("logarithm", 2, lambda u, mu: namespace(u).log(u + mu), lambda u, mu: 1 / (u + mu))
# At distance 0 the derivative is infinite but its direction undefined: any finite value will do.
ROOT = Link(
    "root",
    3,
    lambda u, _: u**0.5,
    lambda u, _: 0.5 / namespace(u).clip(u, namespace(u).finfo(u.dtype).tiny, None) ** 0.5,
)


def _logistic() -> Penalty:
    btl = noise.get("btl")

    def value(z: np.ndarray) -> np.ndarray:
        xp = namespace(z)
        return _above(z) + xp.log1p(xp.exp(-abs(z)))

    return Penalty("logistic", 0, value, btl.probability, btl.information)


def _normal() -> Penalty:
    thurstone = noise.get("thurstone")
    return Penalty(
        "normal",
        1,
        lambda z: -special(z).log_ndtr(-z),
        lambda z: thurstone.residual(-z),
        thurstone.information,
    )


def _hinge() -> Penalty:
    return Penalty("hinge", 2, _above, _is_above, _is_above)


def _squared_hinge() -> Penalty:
    return Penalty(
        "squared hinge",
        3,
        lambda z: _above(z) ** 2,
        lambda z: 2 * _above(z),
        lambda z: 2 * _is_above(z),
    )


def _above(z: np.ndarray) -> np.ndarray:
    return namespace(z).clip(z, 0, None)


def _is_above(z: np.ndarray) -> np.ndarray:
    return cast(z > 0, "float64")


LINKS = (IDENTITY, STUDENT, LOGARITHM, ROOT)
NAMES = ("ste", "probit", "tste", "ckl", "gnmds", "soe")


def penalties() -> tuple[Penalty, ...]:
    """Return all penalties, in the order of their codes."""
    return _logistic(), _normal(), _hinge(), _squared_hinge()


def get(name: str, *, alpha: float = 1.0, mu: float = 0.05, margin: float = 1.0) -> Loss:
    """Return a loss by its name.

    Parameters
    ----------
    name : {"ste", "probit", "tste", "ckl", "gnmds", "soe"}
    alpha : float
        Degrees of freedom of t-STE.
    mu : float
        What CKL adds to squared distances.
    margin : float
        By how much SOE wants far distances to exceed near ones, and GNMDS squared distances.

    Returns
    -------
    Loss
    """
    check_choice("loss", name, NAMES)
    table = {
        "ste": lambda: Loss("ste", IDENTITY, _logistic()),
        "probit": lambda: Loss("probit", IDENTITY, _normal()),
        "tste": lambda: Loss("tste", STUDENT, _logistic(), shape=alpha),
        "ckl": lambda: Loss("ckl", LOGARITHM, _logistic(), shape=mu),
        "gnmds": lambda: Loss("gnmds", IDENTITY, _hinge(), margin=margin),
        "soe": lambda: Loss("soe", ROOT, _squared_hinge(), margin=margin),
    }
    return table[name]()
