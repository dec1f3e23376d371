"""How sure the numbers are that say how people answer: intervals from the likelihood.

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
from scipy.special import chdtri

from ordinate._base.arrays import beside, namespace, on_host
from ordinate.algorithms.optimise import minimise
from ordinate.evaluation.uncertainty import Interval
from ordinate.kernels.losses import power_family
from ordinate.passes import TripletStore

NUMBERS = ("exponent", "power", "lapse")
POWERS, SPREADS, SIZES, LAPSES = (-2.0, 2.0), (1e-2, 1e4), (1e-6, 1e6), (0.0, 0.9)
EXPONENTS, LEAST_SPREAD = (-1.0, 2.0), 0.5  # below, maps too small to show a power by an exponent
STEPS = np.array([0.01, 0.05, 0.02, 0.002])  # of differences: small against any error to be found
UNITS = 10 * STEPS
TOL = 1e-5  # of the maps, so that differences of values are of the numbers' making
MAX_ITER = 200
# When to stop, for the minimum that all is measured from, and for others.
STRICT = {"maxiter": 60, "ftol": 1e-8, "gtol": 0.02}
LENIENT = {"maxiter": 20, "ftol": 1e-8, "gtol": 0.1}
LOWER = 0.1  # fall of the value below what was taken for its minimum that makes it begin anew
TRIES = 4
WALL = 1e3  # above the best, in place of a value that overflows
NEAR = 0.05  # of the rise at an end, in square roots, to interpolate from there
EACH_END = np.array([0.2, 0.8])  # where to look between two places, at least so far from both
LONGEST = 30  # steps to an end


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
    distance; and the lapse rate. The slope is none: at power 1 it can be anything.
    """

    wanted: str
    n_components: int

    @property
    def place(self) -> int:
        """Which of them is the number of interest."""
        return 3 if self.wanted == "lapse" else 0

    @property
    def by_exponent(self) -> bool:
        """Whether the first of them is the exponent."""
        return self.wanted != "power"

    @property
    def bounds(self) -> np.ndarray:
        spreads = (LEAST_SPREAD, SPREADS[1]) if self.by_exponent else SPREADS
        first = EXPONENTS if self.by_exponent else POWERS
        return np.array([first, np.log(spreads), np.log(SIZES), LAPSES])

    def numbers(self, at: np.ndarray) -> _Numbers:
        shape, spread, size, lapse = float(at[0]), math.exp(at[1]), math.exp(at[2]), float(at[3])
        variance = spread / (2 * self.n_components)
        power = 1 + (shape - 1) * (1 + spread) / spread if self.by_exponent else shape
        return _Numbers(power, size / variance * (1 + spread) ** (1 - power), lapse, variance)

    def of(self, numbers: _Numbers) -> np.ndarray:
        """Return the coordinates of numbers, or of the nearest within bounds."""
        spread = 2 * self.n_components * numbers.variance
        shape = numbers.power
        if self.by_exponent:
            shape = 1 + (shape - 1) * spread / (1 + spread)
        size = numbers.slope * numbers.variance * (1 + spread) ** (numbers.power - 1)
        at = np.array([shape, math.log(spread), math.log(size), numbers.lapse])
        return np.clip(at, *self.bounds.T)

    def moved(self, at: np.ndarray, number: float) -> np.ndarray:
        """Return a place near to ``at`` with another value of the number of interest.

        Another power on a map of another spread comes to the same exponent, where there is one.
        """
        new = at.copy()
        new[self.place] = number
        if self.wanted == "power" and number != 1:
            spread = math.exp(at[1])
            share = (at[0] - 1) / (number - 1) * spread / (1 + spread)
            if 0 < share < 1:
                new[1] = np.clip(math.log(share / (1 - share)), *self.bounds[1])
        return new


class _Found(NamedTuple):
    """A place, the value there, and the map in units of the prior's standard deviation."""

    at: np.ndarray
    value: float
    points: np.ndarray


class _LowerError(Exception):
    """The value is lower elsewhere than at what was taken for its minimum."""

    def __init__(self, numbers: _Numbers, points: np.ndarray, fall: float) -> None:
        super().__init__("there is a lower minimum")
        self.numbers, self.points, self.fall = numbers, points, fall


def response_intervals(
    store: TripletStore,
    points: np.ndarray,
    shape: tuple[float, ...],
    *,
    level: float,
    rows_per_answer: float = 1.0,
) -> dict[str, Interval]:
    """Find intervals of exponent, power and lapse rate.

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
    variance = float(on_host((points**2).mean()))
    power, slope, lapse = shape
    numbers, points = _Numbers(power, slope, lapse, variance), points / math.sqrt(variance)
    allowed = float(chdtri(1, 1 - level)) / 2 * rows_per_answer
    every = [_Coordinates(wanted, points.shape[1]) for wanted in NUMBERS]
    fall = 0.0
    for left in reversed(range(TRIES)):
        best = _minimum(store, every[0], every[0].of(numbers), points)
        numbers = every[0].numbers(best.at)
        # Where answers leave much open, or are so clear that maps get stuck, no minimum may be the
        # last word: the last try stands, and may be off by as much as the one before it was.
        lower, beyond = (LOWER, 0.0) if left else (math.inf, fall)
        try:
            return {
                each.wanted: _interval(store, each, numbers, best, allowed + beyond, lower)
                for each in every
            }
        except _LowerError as error:
            numbers, points, fall = error.numbers, error.points, error.fall
    raise AssertionError("the last try stands")


def _value(store: TripletStore, numbers: _Numbers, points: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the logarithm of the likelihood of numbers, maps averaged over, and the best map."""
    loss = power_family(numbers.power, numbers.slope, numbers.lapse)
    deviation = math.sqrt(numbers.variance)
    found = minimise(
        store,
        loss,
        deviation * points,
        regularization=1 / numbers.variance,
        tol=TOL,
        max_iter=MAX_ITER,
    )
    blocks, _ = store.curvature(found.points, loss)
    identity = beside(blocks, np.eye(blocks.shape[1]))
    averaged = namespace(blocks).linalg.slogdet(identity + numbers.variance * blocks)[1].sum()
    value = found.history[-1] * store.total + float(on_host(averaged)) / 2
    return value, found.points / deviation


def _minimum(
    store: TripletStore,
    coordinates: _Coordinates,
    start: np.ndarray,
    points: np.ndarray,
    held: int | None = None,
) -> _Found:
    """Minimise over all coordinates but the one that is held, from a map."""
    free = np.array([k for k in range(len(start)) if k != held])
    bounds, unit = coordinates.bounds, UNITS[free]
    best = _Found(start, math.inf, points)

    def with_slopes(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        at = start.copy()
        at[free] = scaled * unit
        # Maps begin where the best one ended: one that has lost its way must not lead others.
        base, found = _value(store, coordinates.numbers(at), best.points)
        if not math.isfinite(base):  # too steep for any arithmetic: a wall to turn back from
            return (best.value if math.isfinite(best.value) else 0.0) + WALL, np.zeros(len(free))
        if base < best.value:
            best = _Found(at, base, found)
        slopes = np.empty(len(free))
        for row, k in enumerate(free):
            step = STEPS[k] if at[k] + STEPS[k] <= bounds[k, 1] else -STEPS[k]
            beyond = at.copy()
            beyond[k] += step
            slopes[row] = (_value(store, coordinates.numbers(beyond), found)[0] - base) / step
        return base, np.where(np.isfinite(slopes), slopes, 0.0) * unit

    minimize(
        with_slopes,
        start[free] / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds[free] / unit[:, None],
        options=STRICT if held is None else LENIENT,
    )
    return best


def _interval(
    store: TripletStore,
    coordinates: _Coordinates,
    numbers: _Numbers,
    best: _Found,
    allowed: float,
    lower: float,
) -> Interval:
    """Step to both sides until the value has risen by what is allowed."""
    k = coordinates.place
    middle = coordinates.of(numbers)
    latest = best

    def rise(number: float) -> float:
        nonlocal latest
        start = coordinates.moved(latest.at, number)
        latest = _minimum(store, coordinates, start, latest.points, held=k)
        if latest.value < best.value - lower:
            fall = best.value - latest.value
            raise _LowerError(coordinates.numbers(latest.at), latest.points, fall)
        return max(latest.value - best.value, 0.0)

    ends = []
    for side, limit in zip((-1, 1), coordinates.bounds[k], strict=True):
        latest = best._replace(at=middle)
        ends.append(_end(rise, float(middle[k]), side * UNITS[k], float(limit), allowed))
    low = -math.inf if ends[0] is None else ends[0]
    high = math.inf if ends[1] is None else ends[1]
    if coordinates.wanted == "lapse":
        return Interval(numbers.lapse, max(low, 0.0), min(high, 1.0))
    return Interval(float(middle[k]), low, high)


def _end(
    rise: Callable[[float], float], middle: float, step: float, limit: float, allowed: float
) -> float | None:
    """Where the value has risen by what is allowed; None if it has not at the limit.

    The square root of the rise is nearly straight, but for jumps.
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
        if outer[0] - inner[0] < NEAR * outer[0]:
            # The value jumps here, from one optimum of the map to another.
            return middle + math.copysign(outer[0], step)
        length = float(np.clip(length, *(inner[0] + EACH_END * (outer[0] - inner[0]))))
    return middle + math.copysign(length, step)
