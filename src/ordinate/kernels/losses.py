"""Losses compose: a triplet costs ``penalty(link(near) - link(far) + margin)``.

near and far are the squared distances from the anchor. A new loss is a row of :data:`LOSSES`; links
and penalties are rows of :mod:`ordinate.kernels.formulas`.
"""

from typing import NamedTuple

import numpy as np

from ordinate._base.checks import check_choice, check_number
from ordinate.kernels.formulas import LINKS, PENALTIES, Link, Penalty


class Loss(NamedTuple):
    """What a triplet costs, given the squared distances near and far.

    Attributes
    ----------
    name : str
    link : Link
    penalty : Penalty
    link_shape : tuple of float
        The link's shape numbers: alpha of t-STE, mu of CKL, power and slope of the power family.
    penalty_shape : tuple of float
        The penalty's: the lapse rate of the power family.
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
    def shape(self) -> tuple[float, ...]:
        """All shape numbers: the link's, and then the penalty's."""
        return (*self.link_shape, *self.penalty_shape)

    @property
    def without_lapses(self) -> "Loss":
        """The same of people who never answer at random: the only shape number of penalties."""
        return self._replace(penalty_shape=tuple(0.0 for _ in self.penalty_shape))

    @property
    def at_one_point(self) -> float:
        """What any triplet costs in a map that has all items in one place."""
        return float(self.penalty.value(np.array(self.margin), *self.penalty_shape))

    def argument(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return z, what the penalty is a function of."""
        link, shape = self.link.value, self.link_shape
        return link(near, *shape) - link(far, *shape) + self.margin

    def probability(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Probability of the answer that near is nearer than far, for a likelihood."""
        return np.exp(-self.penalty.value(self.argument(near, far), *self.penalty_shape))


# Link, penalty, the link's and the penalty's shape numbers by name, and whether there is a margin.
LOSSES: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], bool]] = {
    "ste": ("identity", "logistic", (), (), False),
    "probit": ("identity", "normal", (), (), False),
    "tste": ("student", "logistic", ("alpha",), (), False),
    "ckl": ("logarithm", "logistic", ("mu",), (), False),
    "power": ("power", "lapsing logistic", ("power", "slope"), ("lapse",), False),
    "gnmds": ("identity", "hinge", (), (), True),
    "soe": ("root", "squared hinge", (), (), True),
}
NAMES = tuple(LOSSES)
# Of ordinary squared distances, higher powers leave the range of floating-point numbers.
LARGEST_POWER = 10


def get(
    name: str,
    *,
    alpha: float = 1.0,
    mu: float = 0.05,
    power: float = 1.0,
    slope: float = 1.0,
    lapse: float = 0.0,
    margin: float = 1.0,
) -> Loss:
    """Return a loss by its name.

    Parameters
    ----------
    name : {"ste", "probit", "tste", "ckl", "power", "gnmds", "soe"}
    alpha : float
        Degrees of freedom of t-STE.
    mu : float
        What CKL adds to squared distances.
    power, slope, lapse : float
        Of the power family, whose probability of an answer is ``lapse / 2 + (1 - lapse) f(z)``, f
        the logistic function and z ``slope ((1 + far)^power - (1 + near)^power) / power``. STE is
        its point power 1, slope 1; CKL power 0, slope 1, of the map divided by sqrt(mu); t-STE
        power 0, slope (alpha + 1) / 2, of the map divided by sqrt(alpha).
    margin : float
        By how much SOE wants far distances to exceed near ones, and GNMDS squared distances.

    Returns
    -------
    Loss
    """
    check_choice("loss", name, NAMES)
    link, penalty, of_link, of_penalty, has_margin = LOSSES[name]
    given = {"alpha": alpha, "mu": mu, "power": power, "slope": slope, "lapse": lapse}
    return Loss(
        name,
        LINKS[link],
        PENALTIES[penalty],
        link_shape=tuple(float(given[number]) for number in of_link),
        penalty_shape=tuple(float(given[number]) for number in of_penalty),
        margin=float(margin) if has_margin else 0.0,
    )


def power_family(power: float, slope: float, lapse: float) -> Loss:
    """Return a loss of the power family, or raise if there is none with these numbers."""
    return get(
        "power",
        power=check_number("power", power, least=-LARGEST_POWER, below=LARGEST_POWER),
        slope=check_number("slope", slope, above=0),
        lapse=check_number("lapse", lapse, least=0, below=1),
    )
