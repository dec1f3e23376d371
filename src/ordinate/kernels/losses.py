"""Losses compose: a triplet costs ``penalty(link(near) - link(far) + margin)``.

near and far are the squared distances from the anchor. A new loss is a row of :data:`LOSSES`; links
and penalties are rows of :mod:`ordinate.kernels.formulas`.
"""

from typing import NamedTuple

import numpy as np

from ordinate._base.checks import check_choice
from ordinate.kernels.formulas import LINKS, PENALTIES, Link, Penalty


class Loss(NamedTuple):
    """What a triplet costs, given the squared distances near and far.

    Attributes
    ----------
    name : str
    link : Link
    penalty : Penalty
    link_shape : tuple of float
        The link's shape numbers: alpha of t-STE, mu of CKL.
    penalty_shape : tuple of float
        The penalty's.
    margin : float
    """

    name: str
    link: Link
    penalty: Penalty
    link_shape: tuple[float, ...] = ()
    penalty_shape: tuple[float, ...] = ()
    margin: float = 0.0

    @property
    def is_likelihood(self) -> bool:
        """Whether exp(-loss) is the probability of an answer."""
        return self.penalty.is_likelihood

    @property
    def at_one_point(self) -> float:
        """What any triplet costs in a map that has all items in one place."""
        return float(self.penalty.value(np.array(self.margin), *self.penalty_shape))

    def argument(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return z, what the penalty is a function of."""
        link, shape = self.link.value, self.link_shape
        return link(near, *shape) - link(far, *shape) + self.margin


# Link, penalty, the link's shape numbers by name, and whether there is a margin.
LOSSES = {
    "ste": ("identity", "logistic", (), False),
    "probit": ("identity", "normal", (), False),
    "tste": ("student", "logistic", ("alpha",), False),
    "ckl": ("logarithm", "logistic", ("mu",), False),
    "gnmds": ("identity", "hinge", (), True),
    "soe": ("root", "squared hinge", (), True),
}
NAMES = tuple(LOSSES)


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
    link, penalty, numbers, has_margin = LOSSES[name]
    given = {"alpha": float(alpha), "mu": float(mu)}
    shape = tuple(given[number] for number in numbers)
    by = float(margin) if has_margin else 0.0
    return Loss(name, LINKS[link], PENALTIES[penalty], link_shape=shape, margin=by)
