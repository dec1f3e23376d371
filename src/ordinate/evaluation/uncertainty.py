"""What the covariances of a map's coordinates say about places, distances and comparisons.

Each item has a covariance (d, d) of its own, from the likelihood (``covariance_``) or from a
bootstrap, and the errors of different items are taken to be independent and normal. Together they
are a little less than that: what all items share, such as the scale of the map, is counted for
each.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtri

from ordinate._base.checks import check_number, check_whole
from ordinate._base.messages import some
from ordinate.data.labels import places

LEVEL = 0.95
CERTAIN = 40.0  # standard deviations from 0 beyond which nothing is on the other side


class Interval(NamedTuple):
    """What a number is, and where it may lie.

    Attributes
    ----------
    estimate, low, high : float
        An end is infinite where the answers set no limit.
    """

    estimate: float
    low: float
    high: float


class Ellipses(NamedTuple):
    """Where items of a plane lie with a given confidence.

    Attributes
    ----------
    axes : ndarray, shape (n, 2)
        Half the longer and half the shorter axis of each.
    angle : ndarray, shape (n,)
        From the first dimension to the longer axis, in degrees, anticlockwise.
    """

    axes: np.ndarray
    angle: np.ndarray


class ItemError(NamedTuple):
    """How unsure an item's place is.

    Attributes
    ----------
    item : label
    error : float
        Standard error of its place: the root of the mean squared distance from the true one.
    relative : float
        The same over the size of the map.
    """

    item: Any
    error: float
    relative: float


class Sureness(NamedTuple):
    """How sure a map is, in a few numbers.

    Attributes
    ----------
    error : float
        Standard error of an item's place; the median of all items.
    relative : float
        The same over the size of the map.
    size : float
        Root mean squared distance of the items from their centre.
    least_certain : list of ItemError
        The worst first.
    """

    error: float
    relative: float
    size: float
    least_certain: list[ItemError]

    def __str__(self) -> str:
        worst = ", ".join(
            f"{some([each.item])} ({each.relative:.1%})" for each in self.least_certain
        )
        return (
            f"the standard error of an item's place is {self.relative:.1%} of the map's size at "
            f"the median; least certain: {worst}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        worst = [each._replace(item=str(each.item))._asdict() for each in self.least_certain]
        return {**self._asdict(), "least_certain": worst, "told": str(self)}


def standard_errors(covariance: Any) -> np.ndarray:
    """Standard errors (n, d) of coordinates.

    Examples
    --------
    >>> standard_errors([[[0.04, 0.0], [0.0, 0.09]]]).tolist()
    [[0.2, 0.3]]
    """
    return np.sqrt(np.einsum("...kk->...k", np.asarray(covariance, dtype=float)))


def place_errors(covariance: Any) -> np.ndarray:
    """Standard errors (n,) of places: the root mean squared distance from the true ones.

    Examples
    --------
    >>> place_errors([[[0.09, 0.0], [0.0, 0.16]]]).tolist()
    [0.5]
    """
    return np.sqrt(np.trace(np.asarray(covariance, dtype=float), axis1=-2, axis2=-1))


def map_size(points: Any) -> float:
    """The size of a map: the root mean squared distance of its items from their centre.

    Examples
    --------
    >>> map_size([[3.0, 0.0], [-3.0, 0.0]])
    3.0
    """
    X = np.asarray(points, dtype=float)
    X = X[np.isfinite(X).all(axis=1)]
    return float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))


def sureness(points: Any, covariance: Any, items: Any, n: int = 3) -> Sureness | None:
    """Sum up how sure a map is, and name the n least certain items; None if nothing is known.

    Examples
    --------
    >>> points, covariance = [[3.0], [-3.0], [0.0]], [[[0.09]], [[0.01]], [[0.04]]]
    >>> print(sureness(points, covariance, ["ant", "bee", "cat"], 1))
    the standard error of an item's place is 8.2% of the map's size at the median; least certain:
    ant (12.2%)
    """
    errors, size = place_errors(covariance), map_size(points)
    known = np.flatnonzero(np.isfinite(errors))
    if not (len(known) and size > 0):
        return None
    order = known[np.argsort(-errors[known], kind="stable")][:n]
    worst = [ItemError(items[k], float(errors[k]), float(errors[k]) / size) for k in order]
    middle = float(np.median(errors[known]))
    return Sureness(middle, middle / size, size, worst)


def ellipses(covariance: Any, level: float = LEVEL) -> Ellipses:
    """Ellipses that hold the true places of items of a plane with this confidence, each by itself.

    Parameters
    ----------
    covariance : array-like, shape (n, 2, 2)
    level : float
        Between 0 and 1.

    Examples
    --------
    >>> found = ellipses([[[1.0, 0.0], [0.0, 4.0]]])
    >>> found.axes.round(2).tolist(), found.angle.tolist()
    ([[4.9, 2.45]], [90.0])
    """
    C = np.asarray(covariance, dtype=float)
    if C.ndim != 3 or C.shape[1:] != (2, 2):
        raise ValueError(f"ellipses need covariances of shape (n, 2, 2); got {C.shape}")
    check_number("level", level, above=0, below=1)
    known = np.isfinite(C).all(axis=(1, 2))
    variances, directions = np.linalg.eigh(np.where(known[:, None, None], C, 0.0))
    axes = np.sqrt(chdtri(2, 1 - level) * np.maximum(variances[:, ::-1], 0.0))
    angle = np.degrees(np.arctan2(directions[:, 1, 1], directions[:, 0, 1])) % 180.0
    return Ellipses(np.where(known[:, None], axes, np.nan), np.where(known, angle, np.nan))


def distance_interval(difference: Any, covariance: Any, level: float = LEVEL) -> Interval:
    """An interval on a distance, from an estimate of the difference (d,) and its covariance (d, d).

    Noise makes small distances look larger than they are. So the lower end is the distance at which
    noise would seldom give as much as was found, 0 if it might even for items in one place; the
    upper end is one that the difference seldom exceeds, given its noise. Far from 0 both are the
    estimate, less and plus so many standard errors along the difference.

    Examples
    --------
    >>> [round(float(end), 2) for end in distance_interval([3.0, 4.0], 0.01 * np.eye(2))]
    [5.0, 4.8, 5.2]
    >>> distance_interval([0.1, 0.0], 0.01 * np.eye(2)).low
    0.0
    """
    m, C = np.asarray(difference, dtype=float), np.asarray(covariance, dtype=float)
    check_number("level", level, above=0, below=1)
    distance = float(np.linalg.norm(m))
    if not (np.isfinite(m).all() and np.isfinite(C).all()):
        return Interval(distance, np.nan, np.nan)
    share = (1 + level) / 2
    high = _norm_quantile(m, C, share)
    if distance <= _norm_quantile(0 * m, C, share):
        return Interval(distance, 0.0, high)
    along = m / distance
    low = brentq(lambda r: _norm_quantile(r * along, C, share) - distance, 0.0, distance)
    return Interval(distance, float(low), high)


def _norm_quantile(mean: np.ndarray, C: np.ndarray, share: float) -> float:
    """Return the length that a normal vector stays below with this probability.

    By a power of its square that is nearly normal (Jensen and Solomon, 1972).
    """
    square, Cm = mean @ mean, C @ mean
    first = np.trace(C) + square
    second = (C**2).sum() + 2 * mean @ Cm
    third = np.trace(C @ C @ C) + 3 * Cm @ Cm
    if second <= 0:
        return float(np.sqrt(first))
    h = 1 - 2 * first * third / (3 * second**2)
    spread = second / first**2
    if abs(h) < 1e-6:  # the power becomes the logarithm
        return float(np.sqrt(first * np.exp(np.sqrt(2 * spread) * ndtri(share) - spread)))
    power = 1 + spread * h * (h - 1) + h * np.sqrt(2 * spread) * ndtri(share)
    return float(np.sqrt(first * max(power, 0.0) ** (1 / h)))


def closer_probability(points: Any, covariance: Any) -> float:
    """Probability that the first of three items is closer to the second than to the third.

    That is P(s's - p'p > 0) for the differences p and s of the first from the others, which are
    jointly normal; by Gil-Pelaez's formula, from the characteristic function.

    Parameters
    ----------
    points : array-like, shape (3, d)
    covariance : array-like, shape (3, d, d)

    Examples
    --------
    >>> covariance = [[[0.01]]] * 3
    >>> round(closer_probability([[0.0], [1.0], [1.2]], covariance), 2)
    0.92
    >>> round(closer_probability([[0.0], [1.0], [-1.0]], covariance), 2)
    0.5
    """
    from scipy.integrate import quad  # here, since it takes long to import

    (a, b, c), (A, B, C) = np.asarray(points, dtype=float), np.asarray(covariance, dtype=float)
    if not (np.isfinite(points).all() and np.isfinite(covariance).all()):
        return np.nan
    d = len(a)
    sign = np.repeat([-1.0, 1.0], d)
    mean = np.concatenate([a - b, a - c])
    values, vectors = np.linalg.eigh(np.block([[A + B, A], [A, A + C]]))
    root = vectors * np.sqrt(np.maximum(values, 0))
    centre = float(sign @ mean**2)
    weights, turn = np.linalg.eigh(root.T @ (sign[:, None] * root))
    slopes = turn.T @ root.T @ (sign * mean)
    expected = centre + weights.sum()
    spread = np.sqrt(2 * (weights**2).sum() + 4 * (slopes**2).sum())
    if spread == 0 or abs(expected) > CERTAIN * spread:
        return float((1 + np.sign(expected)) / 2)

    def integrand(u: float) -> float:
        t = u / spread
        down = 1 - 2j * t * weights
        phase = 1j * t * centre - 2 * t**2 * (slopes**2 / down).sum() - np.log(down).sum() / 2
        return float(np.exp(phase).imag / u)

    # In one dimension the integral converges slowly: then it is right to three digits, and no
    # warning of the integrator's is worth a reader's time.
    area = quad(integrand, 0, np.inf, limit=500, epsabs=1e-6, full_output=1)[0]
    return float(np.clip(0.5 + area / np.pi, 0.0, 1.0))


class UncertainMap(ABC):
    """A map whose items' places are known up to a covariance each."""

    @abstractmethod
    def _uncertain_map(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the map (n, d), its covariances (n, d, d) and the items (n,)."""

    def distance_interval(self, a: Hashable, b: Hashable, *, level: float = LEVEL) -> Interval:
        """Return the distance between two items, and the ends of an interval that holds it.

        Parameters
        ----------
        a, b : label
            As in ``items_``.
        level : float
            How often such intervals hold the true distance.

        Returns
        -------
        Interval
            ``(estimate, low, high)``. The lower end is 0 where the two may be in one place.
        """
        X, C = self._of([a, b])
        if a == b:
            return Interval(0.0, 0.0, 0.0)
        return distance_interval(X[0] - X[1], C[0] + C[1], level)

    def closer(self, a: Hashable, b: Hashable, c: Hashable) -> float:
        """Return the probability that a is closer to b than to c, given how sure the map is.

        Near 1 or 0 the answers settle it, near one half they do not. It is about the true places,
        not about what people would answer: that is ``predict_proba``.

        Parameters
        ----------
        a, b, c : label
            As in ``items_``.
        """
        return closer_probability(*self._of([a, b, c]))

    def least_certain(self, n: int = 5) -> list[ItemError]:
        """Return the items whose places are least certain, the worst first.

        Parameters
        ----------
        n : int
            How many, at most.
        """
        found = sureness(*self._uncertain_map(), check_whole("n", n))
        return [] if found is None else found.least_certain

    def _of(self, labels: list[Hashable]) -> tuple[np.ndarray, np.ndarray]:
        """Places and covariances of items that are named by their labels."""
        X, C, items = self._uncertain_map()
        rows = places(labels, items.tolist())
        unknown = [label for label, row in zip(labels, rows, strict=True) if row < 0]
        if unknown:
            raise ValueError(
                f"there is no item {some(unknown)} in the map; its items are "
                f"{some(items.tolist(), 5)}"
            )
        return X[rows], C[rows]
