"""Placing items that were not in a fit, from answers about them; the map itself stays as it is.

A new item costs what the answers about it cost under the fit's own loss, plus the fit's ridge. Its
place is where that is least, which is where the fit would have put it, had the others not moved.

Where the new item is the anchor, a difference of squared distances is linear in its coordinates x,

    near - far = |x - a|^2 - |x - b|^2 = 2 x (b - a) + |a|^2 - |b|^2,

so that minus the log-likelihood of STE and probit, and GNMDS's hinge, are convex in x: there is one
optimum, and any start leads there. Everything else may have several optima: the loss is looked up
at many places, and the most promising ones are followed to their optima.

Where answers tell less about an item than the map as a whole does, a normal distribution with the
map's mean and covariance stands in for the answers that are missing, and the item is called weak.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.threads import blocks, run
from ordinate.algorithms.optimise import minimise
from ordinate.data.numbering import numbered
from ordinate.kernels import backends
from ordinate.kernels.losses import Loss
from ordinate.passes import NO_WEIGHT, MemoryTriplets

LOOKED_UP = 48  # places at which the loss of each item is looked up
FOLLOWED = 4  # of those, the ones that are followed
APART = 0.5  # standard deviations of the map that these are apart, at least
MOST_STEPS = 60
# Newton decrements, squares of distances in standard errors, at which to choose the best of the
# starts, and at which to stop.
ROUGHLY, SETTLED = 1e-2, 1e-10
ROUNDING = 1e-13  # share of the value that rounding hides
DAMPING = (1e-9, 1e-3, 1e9)  # least, first and largest, as shares of the curvature
TIE_BREAKER = 1e-3  # share of the map's spread that tells where a hinge is indifferent
JOINT_TOL = 1e-8
BLOCK = 128  # items of a task
TINY = 1e-300


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


class Prior(NamedTuple):
    """What is known of any item before its answers: the map's mean and the inverse covariance."""

    centre: np.ndarray
    precision: np.ndarray

    @classmethod
    def of_map(cls, points: np.ndarray) -> "Prior":
        """Describe the known places (n, d)."""
        centre, d = points.mean(axis=0), points.shape[1]
        away = points - centre
        covariance = away.T @ away / len(points)
        size = float(np.trace(covariance)) / d or 1.0
        return cls(centre, np.linalg.inv(covariance + 1e-6 * size * np.eye(d)))

    @property
    def covariance(self) -> np.ndarray:
        """The map's covariance."""
        return np.linalg.inv(self.precision)


@dataclass(frozen=True)
class About:
    """The triplets about each of k items, and where all other items are."""

    rows: np.ndarray
    starts: np.ndarray
    weight: np.ndarray
    items: np.ndarray
    points: np.ndarray
    loss: Loss
    backend: ModuleType

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        weight: np.ndarray,
        items: np.ndarray,
        points: np.ndarray,
        loss: Loss,
        backend: ModuleType,
    ) -> "About":
        """Sort rows by the items that they are about; a row about two of them counts for both."""
        number = np.full(len(points), -1)
        number[items] = np.arange(len(items))
        row, column = np.nonzero(number[rows] >= 0)
        owner = number[rows[row, column]]
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(len(items) + 1))
        taken = row[order]
        w = weight[taken] if len(weight) else weight
        return cls(rows[taken], starts, w, items, points, loss, backend)

    @property
    def sizes(self) -> np.ndarray:
        """Triplets about each item."""
        return np.diff(self.starts)

    @property
    def convex(self) -> np.ndarray:
        """Whether the loss is convex in an item's coordinates, for sure."""
        as_anchor = self.rows[:, 0] == np.repeat(self.items, self.sizes)
        others = np.bincount(np.repeat(np.arange(len(self.items)), self.sizes), ~as_anchor)
        return (others == 0) & (self.loss.link.name == "identity")

    def sums(
        self, chosen: np.ndarray, places: np.ndarray, slopes: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, gradient and curvature of chosen items (c,) at places (c, s, d)."""

        def part(which: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return self.backend.new_item_sums(
                self.rows,
                self.starts,
                self.weight,
                self.points,
                self.items,
                chosen[which],
                np.ascontiguousarray(places[which]),
                self.loss,
                slopes,
            )

        parts = run(part, blocks(len(chosen), BLOCK))
        value, gradient, curvature = (np.concatenate(each) for each in zip(*parts, strict=True))
        return value, gradient, curvature


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
    prior = Prior.of_map(points[~without])
    ridge = regularization * np.eye(d)
    placed = points.copy()
    weak = np.zeros(len(items), bool)
    n_rows = np.bincount(rows[without[rows]], minlength=len(points))[items]
    while len(waiting := np.flatnonzero(np.isnan(placed[items, 0]))):
        ready, usable = _next_ones(rows, items[waiting], placed)
        if not len(ready):
            break
        w = weight[usable] if len(weight) else weight
        about = About.of(rows[usable], w, items[waiting][ready], placed, loss, module)
        placed[about.items], weak[waiting[ready]] = place_apart(about, prior, ridge)
    there = ~np.isnan(placed[rows]).any(axis=(1, 2))
    rows, weight = rows[there], weight[there] if len(weight) else weight
    found = np.flatnonzero(~np.isnan(placed[items, 0]))
    about = About.of(rows, weight, items[found], placed, loss, module)
    if (without[rows].sum(axis=1) > 1).any():
        placed, weak[found] = _place_together(about, rows, weight, prior, ridge, weak[found])
        about = About.of(rows, weight, items[found], placed, loss, module)
    covariance = np.full((len(items), d, d), np.nan)
    if loss.is_likelihood and len(found):
        kept = None if answer is None else answer[there]
        excess = _dependence(rows, weight, kept, without, placed, loss)
        covariance[found] = _covariance(about, prior, ridge, weak[found], excess)
    return NewPlaces(items, placed[items], covariance, n_rows, weak)


def place_apart(
    about: About, prior: Prior, ridge: np.ndarray, starts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Place each item (k, d) for itself; also tell which are weak (k,).

    ``starts`` (k, s, d) are followed in place of those that are found here.
    """
    k, d = len(about.items), about.points.shape[1]
    everyone, likely = np.arange(k), about.loss.is_likelihood
    # With the map's extent to help, every item has a place, however little is known of it.
    helped = ridge + (1 if likely else TIE_BREAKER) * prior.precision
    if starts is None:
        starts = _promising(about, prior, helped)
    pairs = np.repeat(everyone, starts.shape[1])
    ends, value, _ = _settle(about, pairs, starts.reshape(-1, d), helped, prior.centre, ROUGHLY)
    best = value.reshape(k, -1).argmin(axis=1)
    places = ends.reshape(k, -1, d)[everyone, best]
    places, _, information = _settle(about, everyone, places, helped, prior.centre, SETTLED)
    if not likely:
        return places, about.sizes < d
    weak = _is_weak(information + ridge, prior)
    strong = np.flatnonzero(~weak)
    if len(strong):  # answers alone tell where these are, unless they set no limit
        ends, _, information = _settle(about, strong, places[strong], ridge, prior.centre, SETTLED)
        weak[strong] = _is_weak(information + ridge, prior)
        places[strong] = np.where(weak[strong, None], places[strong], ends)
    return places, weak


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


def _promising(about: About, prior: Prior, precision: np.ndarray) -> np.ndarray:
    """Places (k, s, d) to start from: the centre if any will do, else some where losses are low."""
    k, d = len(about.items), about.points.shape[1]
    hard = np.flatnonzero(~about.convex)
    starts = np.broadcast_to(prior.centre, (k, FOLLOWED if len(hard) else 1, d)).copy()
    if not len(hard):
        return starts
    known = about.points[~np.isnan(about.points).any(axis=1)]
    spread_out = np.unique(np.linspace(0, len(known) - 1, LOOKED_UP).astype(int))
    candidates = np.concatenate([[prior.centre], known[spread_out]])
    places = np.broadcast_to(candidates, (len(hard), *candidates.shape))
    value = about.sums(hard, places, slopes=False)[0] + _pull(candidates, precision, prior.centre)
    distance = ((candidates[:, None] - candidates) ** 2).sum(axis=2)
    near = distance <= APART**2 * np.trace(prior.covariance) / d
    for start in range(FOLLOWED):
        best = value.argmin(axis=1)
        starts[hard, start] = candidates[best]
        value = np.where(near[best], np.inf, value)
    return starts


def _pull(places: np.ndarray, precision: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """What the ridge and the map's extent cost: half the squared distances from the centre."""
    away = places - centre
    return 0.5 * ((away @ precision) * away).sum(axis=-1)


def _settle(
    about: About,
    chosen: np.ndarray,
    starts: np.ndarray,
    precision: np.ndarray,
    centre: np.ndarray,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take damped Newton steps from the starts (p, d) of chosen items (p,) until they settle.

    The curvature is the expected one, which is never negative, and exact where STE's loss is
    convex. A step that does not lower the value is taken back, and the next one is damped more.
    Returns ends (p, d), their values (p,), and the information there, without the ridge (p, d, d).
    """
    least, first, largest = DAMPING
    identity, x = np.eye(starts.shape[1]), starts.copy()
    unit = float(about.weight.mean()) if len(about.weight) else 1.0

    def evaluate(which: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value, gradient, curvature = (sums[:, 0] for sums in about.sums(which, x[:, None]))
        return value + _pull(x, precision, centre), gradient + (x - centre) @ precision, curvature

    value, gradient, curvature = evaluate(chosen, x)
    damping, moving = np.full(len(x), first), np.arange(len(x))
    for _ in range(MOST_STEPS):
        if not len(moving):
            break
        total = curvature[moving] + precision
        size = damping[moving] * np.trace(total, axis1=1, axis2=2) / len(identity) + TINY
        damped = total + size[:, None, None] * identity
        step = -np.linalg.solve(damped, gradient[moving][..., None])[..., 0]
        decrement = -(step * gradient[moving]).sum(axis=1)
        new_value, new_gradient, new_curvature = evaluate(chosen[moving], x[moving] + step)
        settled = decrement <= tol * unit + ROUNDING * np.abs(value[moving])
        better = new_value <= value[moving]  # what is no number is not
        taken = moving[better]
        x[taken] += step[better]
        value[taken], gradient[taken] = new_value[better], new_gradient[better]
        curvature[taken] = new_curvature[better]
        damping[moving] = np.where(
            better, np.maximum(damping[moving] / 10, least), np.maximum(10 * damping[moving], first)
        )
        moving = moving[~settled & (damping[moving] < largest)]
    return x, value, curvature


def _is_weak(information: np.ndarray, prior: Prior) -> np.ndarray:
    """Whether, in some direction, answers (k, d, d) tell less than the map's extent does."""
    root = np.linalg.cholesky(prior.covariance)
    return np.linalg.eigvalsh(root.T @ information @ root)[:, 0] < 1


class _Held:
    """A store for :func:`minimise` in which some items stay where they are."""

    def __init__(
        self, store: MemoryTriplets, free: np.ndarray, precision: np.ndarray, centre: np.ndarray
    ) -> None:
        self.store, self.free, self.precision, self.centre = store, free, precision, centre
        self.total = store.total

    def __len__(self) -> int:
        return len(self.store)

    def sample(self, size: int) -> "_Held":
        """Take all rows: these are few."""
        return self

    def loss(self, points: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
        """Value and gradient, with what pulls free items to the centre."""
        value, gradient = self.store.loss(points, loss)
        away = points[self.free] - self.centre
        pulled = np.einsum("kij,kj->ki", self.precision, away)
        moved = np.zeros_like(gradient)
        moved[self.free] = gradient[self.free] + pulled
        return value + 0.5 * float((away * pulled).sum()), moved

    def curvature(self, points: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
        """Blocks of the free items alone."""
        found = []
        for sums in self.store.curvature(points, loss):
            kept = np.zeros_like(sums)
            kept[self.free] = sums[self.free]
            found.append(kept)
        found[0][self.free] += self.precision
        return found[0], found[1]


def _place_together(
    about: About,
    rows: np.ndarray,
    weight: np.ndarray,
    prior: Prior,
    ridge: np.ndarray,
    weak: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Move all new items at once, from where they are, to where all rows about them fit best.

    Returns all points, and which items are weak. Whether one is may change with its place.
    """
    store = MemoryTriplets(rows.astype(np.int32), weight, len(about.points), about.backend)
    points, likely = about.points, about.loss.is_likelihood
    for _ in range(2):
        share = np.where(weak, 1.0, 0.0) if likely else np.full(len(weak), TIE_BREAKER)
        precision = ridge + share[:, None, None] * prior.precision
        held: Any = _Held(store, about.items, precision, prior.centre)
        points = minimise(held, about.loss, points, tol=JOINT_TOL).points
        if not likely:
            break
        moved = About.of(rows, weight, about.items, points, about.loss, about.backend)
        before, weak = weak, _is_weak(_information(moved) + ridge, prior)
        if (weak == before).all():
            break
    return points, weak


def _information(about: About) -> np.ndarray:
    """Curvature (k, d, d) of each item where it is."""
    everyone = np.arange(len(about.items))
    return about.sums(everyone, about.points[about.items][:, None])[2][:, 0]


def _covariance(
    about: About, prior: Prior, ridge: np.ndarray, weak: np.ndarray, excess: float
) -> np.ndarray:
    known = _information(about) / excess + ridge + weak[:, None, None] * prior.precision
    return np.linalg.inv(known)


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
    from ordinate.kernels.backends.numpy_ import curvature_terms

    _, _, pull, push = curvature_terms(rows, NO_WEIGHT, points, loss)
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    slope = loss.penalty.slope(loss.argument(near, far), *loss.penalty_shape)
    slope = slope * weight if len(weight) else slope
    n, apart, together = len(points), 0.0, 0.0
    for item, change in zip(rows.T, (pull - push, -pull, push), strict=True):
        apart += float(((slope[:, None] * change)[new[item]] ** 2).sum())
    for axis in range(points.shape[1]):
        pairs = np.concatenate([numbered(answer) * n + item for item in rows.T])
        pushes = np.concatenate([slope * c[:, axis] for c in (pull - push, -pull, push)])
        kept = np.concatenate([new[item] for item in rows.T])
        together += float((np.bincount(numbered(pairs[kept]), pushes[kept]) ** 2).sum())
    return max(together / max(apart, 1e-300), 1.0)
