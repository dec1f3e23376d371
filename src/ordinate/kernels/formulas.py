"""The one table of formulas: links and penalties that losses are composed of, and noise models.

Each formula stands here alone. NumPy and torch call it as it is, on arrays; the kernels of numba
and Triton are made of it (``backends.translating``). It calls functions by their bare
names, those of ``functions`` or other formulas, and has no branches. Shape numbers, if
it has any, come last. A new link, penalty or noise model is a row of the table and no more, unless
it needs a function that is not there yet.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ordinate.kernels.functions import (
    above,
    erfcx,
    exp,
    expit,
    exprel,
    exprel_slope,
    is_above,
    log,
    log1p,
    log_ndtr,
    ndtr,
    nonzero,
    ones_like,
    softplus,
    sqrt,
)

SQRT_2 = math.sqrt(2)
SQRT_2_PI = math.sqrt(2 / math.pi)

Formula = Callable[..., Any]


class Link(NamedTuple):
    """A function of squared distances u, up to a constant, and its derivatives.

    ``slope`` is the derivative by u, ``by_shape`` are those by the shape numbers, one for each.
    """

    name: str
    value: Formula
    slope: Formula
    by_shape: tuple[Formula, ...] = ()


class Penalty(NamedTuple):
    """A function of z = link(near) - link(far) + margin, its derivative, and a curvature.

    The curvature scales steps. It is the expected second derivative for likelihoods, whose value is
    minus the logarithm of the probability of an answer, and the square of the derivative for the
    hinge, which has no second one. ``by_shape`` are the derivatives by the shape numbers. The
    probabilities of a likelihood's two answers, at z and -z, add up to 1.
    """

    name: str
    value: Formula
    slope: Formula
    curvature: Formula
    is_likelihood: bool = False
    by_shape: tuple[Formula, ...] = ()


class Noise(NamedTuple):
    """The probability f(x) that one item is called farther than another when it is so by x.

    Attributes
    ----------
    name : str
    probability : function
        f(x).
    residual : function
        The derivative of log f(x): how strongly an answer "farther" pulls the two scores apart.
    information : function
        The expected curvature of an answer, f'(x)^2 / (f(x) f(-x)).
    """

    name: str
    probability: Formula
    residual: Formula
    information: Formula


# Links.


def _identity(u):
    return u


def _identity_slope(u):
    return ones_like(u)


def _student(u, alpha):
    return (alpha + 1) / 2 * log(alpha + u)


def _student_slope(u, alpha):
    return (alpha + 1) / 2 / (alpha + u)


def _student_by_alpha(u, alpha):
    return log(alpha + u) / 2 + _student_slope(u, alpha)


def _logarithm(u, mu):
    return log(mu + u)


def _logarithm_slope(u, mu):
    return 1 / (mu + u)


# At distance 0 the derivative is infinite but its direction undefined: any finite value will do.
def _root(u):
    return sqrt(nonzero(u))


def _root_slope(u):
    return 0.5 / sqrt(nonzero(u))


# ((1 + u)^power - 1) / power, and log(1 + u) at power 0, times the slope.
def _power(u, power, slope):
    return slope * _power_by_slope(u, power, slope)


def _power_slope(u, power, slope):
    return slope * exp(power * log1p(u)) / (1 + u)


def _power_by_power(u, power, slope):
    logarithm = log1p(u)
    return slope * logarithm * logarithm * exprel_slope(power * logarithm)


def _power_by_slope(u, power, slope):
    logarithm = log1p(u)
    return logarithm * exprel(power * logarithm)


# Noise models, and the penalties -log f(-z).


def _logistic_probability(x):
    return expit(x)


def _logistic_residual(x):
    return expit(-x)


def _logistic_information(x):
    residual = expit(-x)
    return residual * (1 - residual)


def _logistic(z):
    return softplus(z)


def _logistic_slope(z):
    return expit(z)


def _normal_probability(x):
    return ndtr(x)


# phi(x) / Phi(x), written so that neither tail under- or overflows.
def _normal_residual(x):
    return SQRT_2_PI / erfcx(-x / SQRT_2)


def _normal_information(x):
    return _normal_residual(x) * _normal_residual(-x)


def _normal(z):
    return -log_ndtr(-z)


def _normal_slope(z):
    return _normal_residual(-z)


# -log f, f = lapse / 2 + (1 - lapse) q: answers that were tossed up, and others right with
# probability q. Without lapses, f must not vanish either, however far out.
def _right(z):
    return nonzero(expit(-z))


def _lapsing(z, lapse):
    return -log(lapse / 2 + (1 - lapse) * _right(z))


def _lapsing_slope(z, lapse):
    right = _right(z)
    return (1 - lapse) * right * (1 - right) / (lapse / 2 + (1 - lapse) * right)


def _lapsing_curvature(z, lapse):
    return _lapsing_slope(z, lapse) * _lapsing_slope(-z, lapse)


def _lapsing_by_lapse(z, lapse):
    right = _right(z)
    return (right - 0.5) / (lapse / 2 + (1 - lapse) * right)


# Other penalties.


def _hinge(z):
    return above(z)


def _hinge_slope(z):
    return is_above(z)


def _squared_hinge(z):
    return above(z) * above(z)


def _squared_hinge_slope(z):
    return 2 * above(z)


def _squared_hinge_curvature(z):
    return 2 * is_above(z)


LINKS = {
    link.name: link
    for link in (
        Link("identity", _identity, _identity_slope),
        Link("student", _student, _student_slope, (_student_by_alpha,)),
        Link("logarithm", _logarithm, _logarithm_slope, (_logarithm_slope,)),
        Link("power", _power, _power_slope, (_power_by_power, _power_by_slope)),
        Link("root", _root, _root_slope),
    )
}
PENALTIES = {
    penalty.name: penalty
    for penalty in (
        Penalty("logistic", _logistic, _logistic_slope, _logistic_information, True),
        Penalty("normal", _normal, _normal_slope, _normal_information, True),
        Penalty(
            "lapsing logistic",
            _lapsing,
            _lapsing_slope,
            _lapsing_curvature,
            True,
            (_lapsing_by_lapse,),
        ),
        Penalty("hinge", _hinge, _hinge_slope, _hinge_slope),
        Penalty("squared hinge", _squared_hinge, _squared_hinge_slope, _squared_hinge_curvature),
    )
}
NOISES = {
    noise.name: noise
    for noise in (
        Noise("btl", _logistic_probability, _logistic_residual, _logistic_information),
        Noise("thurstone", _normal_probability, _normal_residual, _normal_information),
    )
}
