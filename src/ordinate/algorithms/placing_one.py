"""Placing single items on a map, each for itself, from the triplets about it.

Where an item is the anchor, a difference of squared distances is linear in its coordinates x,

    near - far = |x - a|^2 - |x - b|^2 = 2 x (b - a) + |a|^2 - |b|^2,

so that minus the log-likelihood of STE and probit, and GNMDS's hinge, are convex in x: there is one
optimum, and any start leads there. Everything else may have several optima: the loss is looked up
at many places, and the most promising ones are followed to their optima.

Where answers tell less about an item, in some direction, than the extent of the map does, a normal
distribution around the map's centre, with the variance of the map's coordinates, stands in for the
answers that are missing, unless the ridge is stronger; the item is then called weak.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.threads import blocks, run
from ordinate.kernels.losses import Loss

LOOKED_UP = 48  # places at which the loss of each item is looked up
FOLLOWED = 4  # of those, the ones that are followed
APART = 0.5  # standard deviations of the map that these are apart, at least
MOST_STEPS = 60
# Newton decrements, squares of distances in standard errors, at which to choose the best of the
# starts, and at which to stop.
ROUGHLY, SETTLED = 1e-2, 1e-10
ROUNDING = 1e-13  # share of the value that rounding hides
DAMPING = (1e-9, 1e-3, 1e9)  # least, first and largest, as shares of the curvature
TIE_BREAKER = 1e-3  # share of the map's extent that tells where a hinge is indifferent
BLOCK = 128  # items of a task
TINY = 1e-300


class Extent(NamedTuple):
    """What is known of any item before its answers: the centre and the variance of coordinates."""

    centre: np.ndarray
    variance: float

    @classmethod
    def of(cls, points: np.ndarray) -> "Extent":
        """Describe the known places (n, d)."""
        return cls(points.mean(axis=0), float(points.var(axis=0).mean()) or 1.0)

    def pull(self, places: np.ndarray, ridge: Any) -> np.ndarray:
        """What a ridge costs at places (..., d): half of it times the squared distances."""
        return ridge / 2 * ((places - self.centre) ** 2).sum(axis=-1)

    def is_weak(self, information: np.ndarray) -> np.ndarray:
        """Whether, in some direction, answers with this information (k, d, d) tell less."""
        return np.linalg.eigvalsh(information)[:, 0] * self.variance < 1


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


def place_apart(
    about: About, extent: Extent, ridge: float, starts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Place each item (k, d) for itself; also tell which are weak (k,).

    ``starts`` (k, s, d) are followed in place of those that are found here.
    """
    k, d = len(about.items), about.points.shape[1]
    everyone, likely = np.arange(k), about.loss.is_likelihood
    # With the map's extent to help, every item has a place, however little is known of it.
    helped = max(ridge, (1 if likely else TIE_BREAKER) / extent.variance)
    if starts is None:
        starts = _promising(about, extent, helped)
    pairs = np.repeat(everyone, starts.shape[1])
    ends, value, _ = _settle(about, pairs, starts.reshape(-1, d), helped, extent, ROUGHLY)
    best = value.reshape(k, -1).argmin(axis=1)
    places = ends.reshape(k, -1, d)[everyone, best]
    places, _, information = _settle(about, everyone, places, helped, extent, SETTLED)
    if not likely:
        return places, about.sizes < d
    weak = extent.is_weak(information)
    strong = np.flatnonzero(~weak)
    if len(strong):  # answers alone tell where these are, unless they set no limit
        ends, _, information = _settle(about, strong, places[strong], ridge, extent, SETTLED)
        weak[strong] = extent.is_weak(information)
        places[strong] = np.where(weak[strong, None], places[strong], ends)
    return places, weak


def _promising(about: About, extent: Extent, ridge: float) -> np.ndarray:
    """Places (k, s, d) to start from: the centre if any will do, else some where losses are low."""
    k, d = len(about.items), about.points.shape[1]
    hard = np.flatnonzero(~about.convex)
    starts = np.broadcast_to(extent.centre, (k, FOLLOWED if len(hard) else 1, d)).copy()
    if not len(hard):
        return starts
    known = about.points[~np.isnan(about.points).any(axis=1)]
    spread_out = np.unique(np.linspace(0, len(known) - 1, LOOKED_UP).astype(int))
    candidates = np.concatenate([[extent.centre], known[spread_out]])
    places = np.broadcast_to(candidates, (len(hard), *candidates.shape))
    value = about.sums(hard, places, slopes=False)[0] + extent.pull(candidates, ridge)
    distance = ((candidates[:, None] - candidates) ** 2).sum(axis=2)
    near = distance <= APART**2 * extent.variance
    for start in range(FOLLOWED):
        best = value.argmin(axis=1)
        starts[hard, start] = candidates[best]
        value = np.where(near[best], np.inf, value)
    return starts


def _settle(
    about: About,
    chosen: np.ndarray,
    starts: np.ndarray,
    ridge: float,
    extent: Extent,
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
        return value + extent.pull(x, ridge), gradient + ridge * (x - extent.centre), curvature

    value, gradient, curvature = evaluate(chosen, x)
    damping, moving = np.full(len(x), first), np.arange(len(x))
    for _ in range(MOST_STEPS):
        if not len(moving):
            break
        total = curvature[moving] + ridge * identity
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
