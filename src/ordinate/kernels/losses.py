"""Losses compose: a triplet costs ``penalty(link(near) - link(far) + margin)``.

near and far are the squared distances from the anchor. A new loss is a row of :func:`get`'s table;
links and penalties are rows of :mod:`ordinate.kernels.formulas`.
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

    def argument(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return z, what the penalty is a function of."""
        link, shape = self.link.value, self.link_shape
        return link(near, *shape) - link(far, *shape) + self.margin


NAMES = ("ste", "probit", "tste", "ckl", "gnmds", "soe")


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
        "ste": ("identity", "logistic", (), 0.0),
        "probit": ("identity", "normal", (), 0.0),
        "tste": ("student", "logistic", (float(alpha),), 0.0),
        "ckl": ("logarithm", "logistic", (float(mu),), 0.0),
        "gnmds": ("identity", "hinge", (), float(margin)),
        "soe": ("root", "squared hinge", (), float(margin)),
    }
    link, penalty, shape, by = table[name]
    return Loss(name, LINKS[link], PENALTIES[penalty], link_shape=shape, margin=by)
