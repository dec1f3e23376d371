"""Placing items that were not in a fit, from answers about them; the map itself stays as it is.

A new item costs what the answers about it cost under the fit's own loss, plus the fit's ridge. Its
place is where that is least, which is where the fit would have put it, had the others not moved.
Items that answers compare with known ones are placed each for itself (``placing_one``), those that
they compare with each other then together.
"""

from typing import Any, NamedTuple

import numpy as np

from ordinate.algorithms.optimise import minimise
from ordinate.algorithms.placing_one import TIE_BREAKER, TINY, About, Extent, place_apart
from ordinate.data.numbering import numbered
from ordinate.kernels import backends
from ordinate.kernels.backends.numpy_ import curvature_terms
from ordinate.kernels.losses import Loss
from ordinate.passes import NO_WEIGHT, MemoryTriplets

JOINT_TOL = 1e-8


class NewPlaces(NamedTuple):
    """Where new items are, k of them.

    Attributes
    ----------
    items : ndarray of int64, shape (k,)
        Their ids, in increasing order.
    points : ndarray, shape (k, d)
        NaN where no answer relates an item to the map, directly or by way of other new items.
    covariance : ndarray, shape (k, d, d)
        Inverse of the information in the answers about an item, and in the ridge, with all others
        taken to be exactly where they are; NaN for losses that are no likelihoods.
    n_rows : ndarray of int64, shape (k,)
        Triplets about each.
    weak : ndarray of bool, shape (k,)
        The answers tell less than the map's extent does, which then helped.
    """

    items: np.ndarray
    points: np.ndarray
    covariance: np.ndarray
    n_rows: np.ndarray
    weak: np.ndarray


def place_new(
    rows: np.ndarray,
    weight: np.ndarray | None,
    points: np.ndarray,
    loss: Loss,
    *,
    regularization: float = 0.0,
    answer: np.ndarray | None = None,
    backend: str = "auto",
) -> NewPlaces:
    """Find places for the items that have none.

    Parameters
    ----------
    rows : ndarray of int, shape (m, 3)
    weight : ndarray, shape (m,), or None
    points : ndarray, shape (n, d)
        The map, NaN for items without a place. Those that a row names are placed.
    loss : Loss
    regularization : float
        The fit's ridge: half of it times the squared distance from the map's centre is added.
    answer : ndarray of int, shape (m,), optional
        Which answer a row came from. Rows of one answer are no independent evidence: the
        covariance allows for that by one factor for all items.
    backend : str

    Returns
    -------
    NewPlaces
    """
    module, d = backends.load(backend), points.shape[1]
    weight = NO_WEIGHT if weight is None else weight
    without = np.isnan(points).any(axis=1)
    if without.all():
        raise ValueError("no item has a place, so that there is no map to place others on")
    relevant = without[rows].any(axis=1)
    rows = np.ascontiguousarray(rows[relevant])
    weight = weight[relevant] if len(weight) else weight
    answer = None if answer is None else answer[relevant]
    items = np.unique(rows[without[rows]]).astype(np.int64)
    extent = Extent.of(points[~without])
    placed = points.copy()
    weak = np.zeros(len(items), bool)
    n_rows = np.bincount(rows[without[rows]], minlength=len(points))[items]
    while len(waiting := np.flatnonzero(np.isnan(placed[items, 0]))):
        ready, usable = _next_ones(rows, items[waiting], placed)
        if not len(ready):
            begun = _least_unknown(rows, placed)
            if begun is None:
                break
            placed[begun], weak[items == begun] = extent.centre, True  # until all move together
            continue
        w = weight[usable] if len(weight) else weight
        about = About.of(rows[usable], w, items[waiting][ready], placed, loss, module)
        placed[about.items], weak[waiting[ready]] = place_apart(about, extent, regularization)
    there = ~np.isnan(placed[rows]).any(axis=(1, 2))
    rows, weight = rows[there], weight[there] if len(weight) else weight
    found = np.flatnonzero(~np.isnan(placed[items, 0]))
    about = About.of(rows, weight, items[found], placed, loss, module)
    if (without[rows].sum(axis=1) > 1).any():
        placed, weak[found] = _place_together(
            about, rows, weight, extent, regularization, weak[found]
        )
        about = About.of(rows, weight, items[found], placed, loss, module)
    covariance = np.full((len(items), d, d), np.nan)
    if loss.is_likelihood and len(found):
        kept = None if answer is None else answer[there]
        excess = _dependence(rows, weight, kept, without, placed, loss)
        covariance[found] = _covariance(about, extent, regularization, weak[found], excess)
    return NewPlaces(items, placed[items], covariance, n_rows, weak)


def _next_ones(
    rows: np.ndarray, waiting: np.ndarray, placed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which of those waiting can be placed next, and by which rows: those with no other waiting.

    First come items with as many such rows as coordinates; then those that have the most.
    """
    without = np.isnan(placed[:, 0])
    usable = without[rows].sum(axis=1) == 1
    taken = rows[usable]
    counts = np.bincount(taken[without[taken]], minlength=len(placed))[waiting]
    most = int(counts.max(initial=0))
    enough = min(placed.shape[1], most)
    return np.flatnonzero((counts >= enough) & (counts > 0)), usable


def _least_unknown(rows: np.ndarray, placed: np.ndarray) -> int | None:
    """Of the items without a place, the one that most rows compare with items that have one."""
    without = np.isnan(placed[:, 0])[rows]
    mixed = rows[without.any(axis=1) & ~without.all(axis=1)]
    waiting = mixed[np.isnan(placed[mixed, 0])]
    return int(np.bincount(waiting).argmax()) if len(waiting) else None


class _Held:
    """A store for :func:`minimise` in which some items stay where they are."""

    def __init__(
        self, store: MemoryTriplets, free: np.ndarray, ridge: np.ndarray, extent: Extent
    ) -> None:
        self.store, self.free, self.ridge, self.extent = store, free, ridge, extent
        self.total = store.total

    def __len__(self) -> int:
        return len(self.store)

    def sample(self, size: int) -> "_Held":
        """Take all rows: these are few."""
        return self

    def loss(self, points: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
        """Value and gradient, with what pulls free items to the centre."""
        value, gradient = self.store.loss(points, loss)
        x, moved = points[self.free], np.zeros_like(gradient)
        moved[self.free] = gradient[self.free] + self.ridge[:, None] * (x - self.extent.centre)
        return value + float(self.extent.pull(x, self.ridge).sum()), moved

    def curvature(self, points: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
        """Blocks of the free items alone."""
        found = []
        for sums in self.store.curvature(points, loss):
            kept = np.zeros_like(sums)
            kept[self.free] = sums[self.free]
            found.append(kept)
        found[0][self.free] += self.ridge[:, None, None] * np.eye(points.shape[1])
        return found[0], found[1]


def _place_together(
    about: About,
    rows: np.ndarray,
    weight: np.ndarray,
    extent: Extent,
    ridge: float,
    weak: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Move all new items at once, from where they are, to where all rows about them fit best.

    Returns all points, and which items are weak. Whether one is may change with its place.
    """
    store = MemoryTriplets(rows.astype(np.int32), weight, len(about.points), about.backend)
    points, likely = about.points, about.loss.is_likelihood
    for _ in range(2):
        held: Any = _Held(store, about.items, _ridges(about, extent, ridge, weak), extent)
        points = minimise(held, about.loss, points, tol=JOINT_TOL).points
        if not likely:
            break
        moved = About.of(rows, weight, about.items, points, about.loss, about.backend)
        before, weak = weak, extent.is_weak(_information(moved))
        if (weak == before).all():
            break
    return points, weak


def _information(about: About) -> np.ndarray:
    """Curvature (k, d, d) of each item where it is."""
    everyone = np.arange(len(about.items))
    return about.sums(everyone, about.points[about.items][:, None])[2][:, 0]


def _ridges(about: About, extent: Extent, ridge: float, weak: np.ndarray) -> np.ndarray:
    """What pulls each item (k,) to the centre: the ridge, or the map's extent if that is needed."""
    share = weak if about.loss.is_likelihood else np.full(len(weak), TIE_BREAKER)
    return np.maximum(ridge, share / extent.variance)


def _covariance(
    about: About, extent: Extent, ridge: float, weak: np.ndarray, excess: float
) -> np.ndarray:
    pulled = _ridges(about, extent, ridge, weak)[:, None, None] * np.eye(about.points.shape[1])
    return np.linalg.inv(_information(about) / excess + pulled)


def _dependence(
    rows: np.ndarray,
    weight: np.ndarray,
    answer: np.ndarray | None,
    new: np.ndarray,
    points: np.ndarray,
    loss: Loss,
) -> float:
    """How many times larger the gradients' variance is for rows of one answer being alike.

    The sum over answers of the squares of their summed gradients, over that of single rows: one
    number for all new items, since the few answers about each would tell it badly.
    """
    if answer is None or len(np.unique(answer)) == len(answer):
        return 1.0
    _, _, pull, push = curvature_terms(rows, NO_WEIGHT, points, loss)
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    slope = loss.penalty.slope(loss.argument(near, far), *loss.penalty_shape)
    slope = slope * weight if len(weight) else slope
    item, whose = rows.T.ravel(), np.tile(numbered(answer), 3)
    about_new = new[item]
    gradients = np.tile(slope, 3)[:, None] * np.concatenate([pull - push, -pull, push])
    gradients = gradients[about_new]
    answered = numbered((whose * len(points) + item)[about_new])
    together = sum(float((np.bincount(answered, along) ** 2).sum()) for along in gradients.T)
    return max(together / max(float((gradients**2).sum()), TINY), 1.0)
