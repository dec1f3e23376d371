"""How people answer, given a map: the member of the power family that makes answers most likely.

A map is made by one loss and judged by the best description of how answers follow its distances.
The two need not be the same: a ridge shrinks a map, and then answers are clearer than its own loss
would have it. So four numbers, the map's scale and the family's three, are fitted to answers that
the map has not seen.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ordinate._base.arrays import dot, on_host
from ordinate.algorithms.optimise import TINY
from ordinate.kernels.losses import Loss, power_family
from ordinate.passes import TripletStore

# Where the numbers may lie: beyond, answers say nothing more about them.
SCALES, POWERS, GAINS, LAPSES = (1e-2, 1e2), (-2.0, 2.0), (1e-6, 1e6), (0.0, 0.9)
LEAST_LAPSE = 0.01  # to begin with: at 0 the derivative may be steep
UNITS = np.array([0.5, 0.2, 0.3, 0.05])  # of steps in the coordinates of a search


class Response(NamedTuple):
    """How answers follow a map's distances.

    Attributes
    ----------
    scale : float
        What the map is multiplied by first.
    power, slope, lapse : float
        Of the power family.
    value : float
        Minus the mean log-likelihood of an answer.
    spread : float
        Typical squared distance of two items of the scaled map.
    """

    scale: float
    power: float
    slope: float
    lapse: float
    value: float
    spread: float

    @property
    def loss(self) -> Loss:
        """The loss of the scaled map."""
        return power_family(self.power, self.slope, self.lapse)


def fit_response(
    seen: Sequence[tuple[TripletStore, np.ndarray]],
    start: Loss | Response,
    powers: tuple[float, float] = POWERS,
) -> Response:
    """Find how answers follow the distances of maps.

    The scale, the power and the slope do much the same to probabilities. So the search is over the
    logarithm of the typical squared distance U, over the power, the logarithm of the gain
    ``slope U (1 + U)^(power - 1)``, which is what a typical change of a distance does, and the
    lapse rate.

    Parameters
    ----------
    seen : list of (TripletStore, ndarray of shape (n, d))
        Maps, and answers that each was not fitted to. The numbers found are those of all together.
    start : Loss or Response
        Where to begin: a loss of the power family, or what was found of similar maps.
    powers : (float, float)
        Where the power may lie.
    """
    total = sum(store.total for store, _ in seen)
    given = max(float(np.mean([_typical_square(points) for _, points in seen])), TINY)
    spread, loss = (start.spread, start.loss) if isinstance(start, Response) else (given, start)

    def numbers(at: np.ndarray) -> tuple[float, float, float, float, float]:
        size, power, gain, lapse = at * UNITS
        slope = math.exp(gain - size - (power - 1) * math.log1p(math.exp(size)))
        return math.exp(size), math.sqrt(math.exp(size) / given), power, slope, lapse

    def value(at: np.ndarray) -> tuple[float, np.ndarray]:
        square, scale, power, slope, lapse = numbers(at)
        loss = power_family(power, slope, lapse)
        sums = np.zeros(5)
        for store, points in seen:
            scaled = scale * points
            value, gradient, by_shape, _ = store.shape(scaled, loss)
            by_power, by_slope, by_lapse = on_host(by_shape)
            sums += [value, dot(gradient, scaled), by_power, slope * by_slope, by_lapse]
        value, by_scale, by_power, by_gain, by_lapse = sums / total
        by_size = by_scale / 2 - by_gain * (1 + (power - 1) * square / (1 + square))
        by_power -= by_gain * math.log1p(square)
        return value, np.array([by_size, by_power, by_gain, by_lapse]) * UNITS

    power, slope, lapse = loss.shape
    gain = math.log(slope) + math.log(spread) + (power - 1) * math.log1p(spread)
    begin = np.array([math.log(spread), power, gain, max(lapse, LEAST_LAPSE)])
    # However clear so many answers are, the next may be given at random: one never knows less.
    n_answers = max(total, sum(len(store) for store, _ in seen))
    lapses = (1 / (1 + n_answers), LAPSES[1])
    limits = np.array([np.log(np.square(SCALES) * given), powers, np.log(GAINS), lapses])
    options = {"maxiter": 100, "ftol": 1e-7}
    found = minimize(
        value,
        np.clip(begin, *limits.T) / UNITS,
        jac=True,
        method="L-BFGS-B",
        bounds=limits / UNITS[:, None],
        options=options,
    )
    square, scale, power, slope, lapse = map(float, numbers(found.x))
    return Response(scale, power, slope, lapse, float(found.fun), square)


def _typical_square(points: np.ndarray) -> float:
    """Mean squared distance of two items."""
    centred = points - points.mean(axis=0)
    return 2 * dot(centred, centred) / len(points)
