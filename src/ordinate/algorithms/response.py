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
from ordinate.kernels.losses import Loss, power_family
from ordinate.passes import TripletStore

# Where the numbers may lie: beyond, answers say nothing more about them.
SCALES, POWERS, SLOPES, LAPSES = (1e-2, 1e2), (-2.0, 2.0), (1e-4, 1e4), (0.0, 0.9)
LEAST_LAPSE = 0.01  # to begin with: at 0 the derivative may be steep


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
    """

    scale: float
    power: float
    slope: float
    lapse: float
    value: float

    @property
    def loss(self) -> Loss:
        """The loss of the scaled map."""
        return power_family(self.power, self.slope, self.lapse)


def fit_response(
    seen: Sequence[tuple[TripletStore, np.ndarray]],
    start: Loss,
    powers: tuple[float, float] = POWERS,
) -> Response:
    """Find how answers follow the distances of maps, beginning at a loss of the power family.

    Parameters
    ----------
    seen : list of (TripletStore, ndarray of shape (n, d))
        Maps, and answers that each was not fitted to. The numbers found are those of all together.
    start : Loss
    powers : (float, float)
        Where the power may lie.
    """
    power, slope, lapse = start.shape
    total = sum(store.total for store, _ in seen)

    def value(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        scale, slope = np.exp(numbers[0]), np.exp(numbers[2])
        loss = power_family(numbers[1], slope, numbers[3])
        sums = np.zeros(5)
        for store, points in seen:
            scaled = scale * points
            value, gradient, by_shape, _ = store.shape(scaled, loss)
            by_power, by_slope, by_lapse = on_host(by_shape)
            sums += [value, dot(gradient, scaled), by_power, slope * by_slope, by_lapse]
        return sums[0] / total, sums[1:] / total

    limits = [np.log(SCALES), powers, np.log(SLOPES), LAPSES]
    begin = np.array([0.0, power, math.log(slope), max(lapse, LEAST_LAPSE)])
    options = {"maxiter": 100, "ftol": 1e-7}
    found = minimize(value, begin, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    scale, power, slope, lapse = map(float, found.x)
    return Response(math.exp(scale), power, math.exp(slope), lapse, float(found.fun))
