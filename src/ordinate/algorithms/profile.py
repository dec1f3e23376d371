"""How sure the numbers are that say how people answer: intervals from the likelihood of the answers.

Power, slope and lapse are found together with the map. The likeliest map follows the chance in its
answers too, which then look clearer than they are; so the map is averaged over. Coordinates have
a normal prior of variance s^2, itself fitted, and Laplace's method integrates over them, item by
item, with the blocks F_i of the curvature at the best map:

    value = min over X of (loss(X) + |X|^2 / (2 s^2))  +  1/2 sum_i log det(1 + s^2 F_i)

An interval holds a number's values at which this rises, all others fitted anew, by less than half
a quantile of chi^2 above its minimum. That needs no curvature, and holds at the bounds too.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from ordinate._base.arrays import beside, namespace, on_host
from ordinate.algorithms.optimise import minimise
from ordinate.kernels.losses import power_family
from ordinate.passes import TripletStore

NUMBERS = ("exponent", "power", "slope", "lapse")
POWERS, SPREADS, SIZES, LAPSES = (-2.0, 2.0), (1e-2, 1e4), (1e-6, 1e6), (0.0, 0.9)
EXPONENTS, LEAST_SPREAD = (-1.0, 2.0), 0.5  # below, maps too small to show a power by an exponent
STEPS = np.array([0.01, 0.05, 0.02, 0.002])  # of differences: small against any error to be found
UNITS = 10 * STEPS
TOL = 1e-6  # of the maps, so that differences of values are of the numbers' making
MAX_ITER = 200
LOWER = 0.1  # fall of the value below what was taken for its minimum that makes it begin anew
TRIES = 5
NEAR = 0.05  # of the rise at an end, in square roots, to interpolate from there
LONGEST = 30  # steps to an end


class Interval(NamedTuple):
    """What a number is, and where it may lie.

    Attributes
    ----------
    estimate, low, high : float
        An end is infinite, or 0 for a slope, where the answers set no limit.
    """

    estimate: float
    low: float
    high: float


class _Lower(Exception):
    """The value is lower elsewhere than at what was taken for its minimum."""

    def __init__(self, place: np.ndarray) -> None:
        super().__init__("there is a lower minimum")
        self.place = place


class _Numbers(NamedTuple):
    """What a value is of: three numbers of the power family, and the prior's variance."""

    power: float
    slope: float
    lapse: float
    variance: float


class _Coordinates(NamedTuple):
    """Four coordinates among which a number of interest is one, and the others are well-behaved.

    They are the power, or the exponent that it comes to at the typical distance; the logarithms of
    the typical squared distance U and of the gain, the effect of a typical change of a squared
    distance, or of the slope; and the lapse rate.
    """

    wanted: str
    n_components: int

    @property
    def place(self) -> int:
        """Which of them is the number of interest."""
        return {"exponent": 0, "power": 0, "slope": 2, "lapse": 3}[self.wanted]

    @property
    def by_exponent(self) -> bool:
        return self.wanted in ("exponent", "lapse")

    @property
    def bounds(self) -> np.ndarray:
        spreads = (LEAST_SPREAD, SPREADS[1]) if self.by_exponent else SPREADS
        first = EXPONENTS if self.by_exponent else POWERS
        return np.array([first, np.log(spreads), np.log(SIZES), LAPSES])

    def numbers(self, at: np.ndarray) -> _Numbers:
        shape, spread, size, lapse = float(at[0]), math.exp(at[1]), math.exp(at[2]), float(at[3])
        variance = spread / (2 * self.n_components)
        power = 1 + (shape - 1) * (1 + spread) / spread if self.by_exponent else shape
        if self.wanted == "slope":
            return _Numbers(power, size, lapse, variance)
        return _Numbers(power, size / variance * (1 + spread) ** (1 - power), lapse, variance)

    def of(self, numbers: _Numbers) -> np.ndarray:
        """Return the coordinates of numbers, or of the nearest within bounds."""
        spread = 2 * self.n_components * numbers.variance
        shape = numbers.power
        if self.by_exponent:
            shape = 1 + (shape - 1) * spread / (1 + spread)
        size = numbers.slope
        if self.wanted != "slope":
            size *= numbers.variance * (1 + spread) ** (numbers.power - 1)
        at = np.array([shape, math.log(spread), math.log(size), numbers.lapse])
        return np.clip(at, *self.bounds.T)


class _Value:
    """Minus the logarithm of the likelihood of numbers, maps averaged over."""

    def __init__(self, store: TripletStore, points: np.ndarray) -> None:
        self._store = store
        # The latest map, in units of the prior's standard deviation: where the next one begins.
        self._points = points / math.sqrt(float(on_host((points**2).mean())))

    def __call__(self, numbers: _Numbers) -> float:
        loss = power_family(numbers.power, numbers.slope, numbers.lapse)
        deviation = math.sqrt(numbers.variance)
        found = minimise(
            self._store,
            loss,
            deviation * self._points,
            regularization=1 / numbers.variance,
            tol=TOL,
            max_iter=MAX_ITER,
        )
        self._points = found.points / deviation
        blocks, _ = self._store.curvature(found.points, loss)
        identity = beside(blocks, np.eye(blocks.shape[1]))
        averaged = namespace(blocks).linalg.slogdet(identity + numbers.variance * blocks)[1].sum()
        return found.history[-1] * self._store.total + float(on_host(averaged)) / 2


def response_intervals(
    store: TripletStore,
    points: np.ndarray,
    shape: tuple[float, ...],
    *,
    level: float,
    rows_per_answer: float = 1.0,
) -> dict[str, Interval]:
    """Find intervals of exponent, power, slope and lapse rate.

    Parameters
    ----------
    store : TripletStore
    points : ndarray, shape (n, d)
        A map to begin with.
    shape : (float, float, float)
        Power, slope and lapse to begin with.
    level : float
        How often intervals shall hold the truth.
    rows_per_answer : float
        The rows of an answer are taken for one, as if they said the same: the rise that is allowed
        is so many times larger.
    """
    points = beside(store.counts, points)
    d = points.shape[1]
    value = _Value(store, points)
    power, slope, lapse = shape
    begin = _Numbers(power, slope, lapse, float(on_host((points**2).mean())))
    allowed = float(chi2.ppf(level, 1)) / 2 * rows_per_answer
    for _ in range(TRIES):
        coordinates = _Coordinates("exponent", d)
        best, least = _minimum(value, coordinates, coordinates.of(begin))
        begin = coordinates.numbers(best)
        try:
            return {
                wanted: _interval(value, _Coordinates(wanted, d), begin, least, allowed)
                for wanted in NUMBERS
            }
        except _Lower as lower:
            begin = _Numbers(*lower.place)
    raise RuntimeError(
        f"no minimum was found in {TRIES} tries: the answers leave the numbers open, or the map "
        "from which they are sought is a poor one"
    )


def _minimum(
    value: _Value, coordinates: _Coordinates, start: np.ndarray, held: int | None = None
) -> tuple[np.ndarray, float]:
    """Minimise over all coordinates but the one that is held."""
    free = np.array([k for k in range(len(start)) if k != held])
    bounds, unit = coordinates.bounds, UNITS[free]

    def with_slopes(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        at = start.copy()
        at[free] = scaled * unit
        base, slopes = value(coordinates.numbers(at)), np.empty(len(free))
        for row, k in enumerate(free):
            step = STEPS[k] if at[k] + STEPS[k] <= bounds[k, 1] else -STEPS[k]
            beyond = at.copy()
            beyond[k] += step
            slopes[row] = (value(coordinates.numbers(beyond)) - base) / step
        return base, slopes * unit

    found = minimize(
        with_slopes,
        start[free] / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds[free] / unit[:, None],
        options={"maxiter": 40, "ftol": 1e-8, "gtol": 0.02},
    )
    at = start.copy()
    at[free] = found.x * unit
    return at, float(found.fun)


def _interval(
    value: _Value, coordinates: _Coordinates, best: _Numbers, least: float, allowed: float
) -> Interval:
    """Step to both sides until the value has risen by what is allowed."""
    k = coordinates.place
    middle = coordinates.of(best)
    ends = []
    for side, limit in zip((-1, 1), coordinates.bounds[k], strict=True):
        latest = middle

        def rise(number: float) -> float:
            nonlocal latest
            start = latest.copy()
            start[k] = number
            latest, found = _minimum(value, coordinates, start, held=k)  # noqa: B023
            if found < least - LOWER:
                raise _Lower(np.array(coordinates.numbers(latest)))
            return max(found - least, 0.0)

        ends.append(_end(rise, float(middle[k]), side * UNITS[k], float(limit), allowed))
    # The outermost values stand for all beyond, but a lapse rate can be 0.
    low, high = (
        (open_low if end is None else end)
        for end, open_low in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if coordinates.wanted == "slope":
        return Interval(best.slope, math.exp(low), math.exp(high))
    if coordinates.wanted == "lapse":
        return Interval(best.lapse, max(low, 0.0), min(high, 1.0))
    return Interval(float(middle[k]), low, high)


def _end(
    rise: Callable[[float], float], middle: float, step: float, limit: float, allowed: float
) -> float | None:
    """Where the value has risen by what is allowed; None if it has not at the limit.

    The square root of the rise is nearly straight.
    """
    wanted = math.sqrt(allowed)
    inner, outer = (0.0, 0.0), None  # distances from the middle, and roots of the rise there
    length, longest = abs(step), abs(limit - middle)
    for _ in range(LONGEST):
        length = min(length, longest)
        root = math.sqrt(rise(middle + math.copysign(length, step)))
        if root < wanted and length == longest:
            return None
        if root < wanted:
            inner = (length, root)
        else:
            outer = (length, root)
        if outer is None:
            if root > (1 - NEAR) * wanted:
                return middle + math.copysign(length * wanted / root, step)
            length *= float(np.clip(wanted / max(root, 1e-9), 1.1, 3.0))
            continue
        share = (wanted - inner[1]) / (outer[1] - inner[1])
        length = inner[0] + share * (outer[0] - inner[0])
        if abs(root - wanted) < NEAR * wanted:
            break
    return middle + math.copysign(length, step)
