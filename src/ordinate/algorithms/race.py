"""Which start to descend from: several race, and how many of them end in the same map is told.

Losses over maps have local optima, and no kind of start is best everywhere. So the map that the
start at hand (spectral, say) leads to races with those of starts of three other kinds, in turn:

- the map of STE, the loss with the fewest local optima, from points at random;
- a map of d + 2 dimensions, from points at random, whose weakest principal axis is dropped and the
  rest fitted again, one dimension at a time: more dimensions have fewer local optima;
- points at random.

The best map takes over from the others what they have better (:mod:`.recombining`). And for as much
time as starts take, it tries to leave its optimum by way of one or two more dimensions: items move
apart along them, and they are dropped like the others. That goes on until some starts end alike, or
time is up. Where triplets are many, starts of a likelihood race on a sample first. A hinge fits a
sample without telling much about all triplets.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from ordinate._base.arrays import beside, namespace, on_host
from ordinate.algorithms.optimise import Found, minimise, weight_unit
from ordinate.algorithms.recombining import recombined
from ordinate.algorithms.scaling import principal_axes
from ordinate.algorithms.spectral import best_scale
from ordinate.algorithms.starts import RACE, Ending, Start, endings
from ordinate.kernels import losses
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets, TripletStore
from ordinate.passes.triplets import collapsed

MOST_STARTS = 13  # on a sample
MOST_IN_VAIN = 30  # lifts and starts in a row
AGREEING = 4  # starts that end alike, of several kinds: more would, too
RACE_LEAST = 20_000  # triplets of the sample that starts race on, at least
SCALE_ROWS = 2000  # triplets that tell the scale of a start that races
SCREEN_ROWS = 4000  # triplets that tell which of several maps to descend from first
# tol at most, on the way down from more dimensions and at the end; a hinge's curvature tells less.
ROUGH, CLOSE = 1e-1, 1e-2
ROUGH_HINGED, CLOSE_HINGED = 1e-2, 1e-3
CLOSEST = 1e-4
ABOVE = 2  # dimensions more than wanted that a descent begins with
# Costs over a plain descent's: up to the last start on a sample, of all that improves the best, at
# which a descent is given up, and of what one map takes over from others.
STARTING, IMPROVING, AT_MOST = 4.0, 8.0, 8.5
RECOMBINING = 2.0
LAST_HINGED = 2.0  # the descent of a hinge from the winner, which is longer than those of a race
# Coordinates of triplets that are read in the time that a step takes beside reading, in all and
# for each number of an item's block of the curvature.
STEP, STEP_EACH = 25_000, 10
BEGINNING = 3  # steps that take as long as the beginning of a descent
MOST_COLLAPSED = 300_000  # triplets that are sorted to find equal ones
LIFT = 0.3  # spread of items along a new dimension, over that of the map
ALIKE = 2e-5  # difference of losses per answer that counts as none
LEFT = 1e-4  # loss per answer to be gained, by the curvature, at which to drop a dimension


class Race:
    """A race between starts.

    Parameters
    ----------
    store : MemoryTriplets
    loss : Loss
    generator : Generator
    regularization, tol : float
    max_iter : int
        Of each descent.
    """

    def __init__(
        self,
        store: MemoryTriplets,
        loss: Loss,
        generator: np.random.Generator,
        *,
        regularization: float,
        tol: float,
        max_iter: int,
    ) -> None:
        self.original = store  # whose passes count
        self.store = collapsed(store) if len(store) <= MOST_COLLAPSED else store
        self.loss, self.generator = loss, generator
        self.ridge = regularization / store.total
        self.tol, self.max_iter = tol, max_iter
        # A row that stands for several counts as one where a descent decides when to stop.
        self.strict = weight_unit(self.original) / weight_unit(self.store)
        hinged = not loss.is_likelihood
        self.rough = ROUGH_HINGED if hinged else ROUGH
        self.close = CLOSE_HINGED if hinged else CLOSE
        self.kept_back = LAST_HINGED if hinged else 0.0
        self.counted = store.n_passes  # passes that are part of what was spent
        self.spent, self.plain = 0.0, 0.0

    def run(self, first: Start) -> tuple[Start, list[Ending]]:
        """Let starts race, and return the winner and where each ended.

        Where they do not agree, the first and the best go on to all triplets, and the winner is
        improved.
        """
        d = first.points.shape[1]
        field = self.store
        if self.loss.is_likelihood:
            field = self.store.sample(max(RACE * math.prod(first.points.shape), RACE_LEAST))
        points = beside(field.counts, first.points)
        points = best_scale(self.original, self.loss, points) * points
        self._count(points)
        before = self.spent
        names, found = [first.name], [self._descend(field, points, self.tol)]
        steps = (BEGINNING + found[0].n_iter) * _step_cost(points)
        reading = self.spent - before - steps
        self.plain = before + reading * len(self.original) / len(field) + steps
        others = self._others(field, d)

        def on_field() -> tuple[str, Found]:
            name, start = next(others)
            names.append(name)
            found.append(self._from(field, start(), d))
            return name, found[-1]

        def on_all() -> tuple[str, Found]:
            name, end = on_field()
            return name, end if field is self.store else self._close(self.store, end.points)

        while field is not self.store and not self._settled(found):
            if len(found) >= MOST_STARTS or self._costs_more(STARTING):
                break
            on_field()
        ranked = _ranked(list(zip(names, found, strict=True)))
        name, best = ranked[0]
        if not self._settled(found):
            ended = [(name, best)]
            if field is not self.store:
                # A sample's optimum may be out of the way for a start found from all triplets.
                begun = [(first.name, points), (name, best.points)]
                ended = [(kind, self._close(self.store, begin)) for kind, begin in begun]
            name, best = self._improved(*_ranked(ended)[0], [f.points for f in found], on_all)
        told = endings(names, found, best.points)
        return Start(name, best.points, first.gap if name == first.name else np.nan), told

    def challenge(self, best: Found) -> tuple[Found, list[Ending]]:
        """Let one start at random race with a map; return the lower of the two, and where both end.

        Tried again and again, as answers come, that leads out of most poor optima.
        """
        d = best.points.shape[1]
        points = self._random(self.store, self._above(d))
        rival = self._from(self.store, points, d, self.rough)
        names = ["the map so far", "more dimensions"]
        return rival if _lower(rival, best) else best, endings(names, [best, rival])

    def _improved(
        self,
        name: str,
        best: Found,
        others: list[np.ndarray],
        next_start: Callable[[], tuple[str, Found]],
    ) -> tuple[str, Found]:
        """Try to leave an optimum, on all triplets, by lifts and more starts.

        What ends higher may have some items in better places.
        """
        in_vain, by, ends, lifted, started, alike = 0, 1, [best], 0.0, 0.0, False
        while True:
            better = self._recombine(best, others)
            if better is not best:
                name, best, in_vain = "recombined", better, 0
                ends.append(best)
            tried_enough = in_vain >= MOST_IN_VAIN or self._settled(ends)
            if tried_enough or self._costs_more(IMPROVING):
                return name, best
            before = self.spent
            # As much time for the one as for the other; where a start ends alike, others may, too.
            lift = lifted < started and not alike
            if lift:
                kind, rival = "lifted", self._lifted(best.points, by)
                lifted, by = lifted + self.spent - before, 3 - by
            else:
                kind, rival = next_start()
                started, alike = started + self.spent - before, _alike(rival, best)
            lower = _lower(rival, best)
            if lower or not lift:
                ends.append(rival)
            others, in_vain = [rival.points], in_vain + 1
            if lower:
                others = [best.points]
                name, best, in_vain = kind, rival, 0

    def _since(self, points: np.ndarray, n_steps: int) -> float:
        """What was read since it was counted, and what steps took beside, in coordinates."""
        read = (self.original.n_passes - self.counted) * len(self.original)
        return read * points.shape[1] + n_steps * _step_cost(points)

    def _count(self, points: np.ndarray, n_steps: int = 0) -> None:
        self.spent += self._since(points, n_steps)
        self.counted = self.original.n_passes

    def _costs_more(self, times: float, since: float = 0.0) -> bool:
        return self.spent + since > (times - self.kept_back) * self.plain

    def _recombine(self, best: Found, others: list[np.ndarray]) -> Found:
        """Put groups of items where other maps have them, as long as that lowers the loss."""
        screen, tried, before = self.store.sample(SCREEN_ROWS), set(), self.spent
        while True:
            children = [
                (screen.loss(child, self.loss)[0], items.tobytes(), child)
                for other in others
                for items, child in recombined(best.points, other)
            ]
            for _, items, child in sorted(children, key=lambda one: one[0]):
                if self.spent - before > RECOMBINING * self.plain or self._costs_more(IMPROVING):
                    return best
                if items in tried:
                    continue
                tried.add(items)
                found = self._close(self.store, child)
                if _lower(found, best):
                    best = found
                    break
            else:
                return best

    def _others(
        self, field: TripletStore, d: int
    ) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
        """Yield the starts that the first races with, each found when its turn comes."""

        def random(dimensions: int) -> np.ndarray:
            return self._random(field, dimensions)

        def by_ste() -> np.ndarray:
            # STE is a point of the power family, whose kernel is there already.
            ste = losses.get("power" if self.loss.name == "power" else "ste")
            points = random(d)
            points = best_scale(field.sample(SCALE_ROWS), ste, points) * points
            return self._descend(field, points, ROUGH, ste).points

        while True:
            if self.loss.name != "ste":
                yield "ste", by_ste
            yield "more dimensions", lambda: random(self._above(d))
            # More dimensions may all lead to the same optimum.
            yield "random", lambda: random(d)
            yield "random", lambda: random(d)

    def _above(self, d: int) -> int:
        return max(min(d + ABOVE, self.store.n_items - 1), d)

    def _random(self, field: TripletStore, dimensions: int) -> np.ndarray:
        # Items that do not occur stay at the centre: they must not turn the principal axes.
        occurs = on_host(self.store.counts.sum(axis=0) > 0)[:, None]
        points = self.generator.normal(size=(self.store.n_items, dimensions))
        return beside(field.counts, occurs * points)

    def _from(
        self,
        field: TripletStore,
        points: np.ndarray,
        d: int,
        tol: float | None = None,
    ) -> Found:
        """Descend from a start of d or more dimensions."""
        points = best_scale(field.sample(SCALE_ROWS), self.loss, points) * points
        return self._down(field, points, d, tol)

    def _lifted(self, points: np.ndarray, by: int) -> Found:
        """Descend from a map by way of more dimensions, with items at random along them."""
        n, d = points.shape
        spread = LIFT * float((points - points.mean(axis=0)).std())
        along = beside(points, spread * self.generator.normal(size=(n, by)))
        return self._down(self.store, namespace(points).hstack([points, along]), d)

    def _down(
        self, field: TripletStore, points: np.ndarray, d: int, tol: float | None = None
    ) -> Found:
        """Descend in all dimensions, drop the weakest axis, and so on; at last in d."""
        while points.shape[1] > d:
            higher = self._descend(field, points, tol) if tol else self._roughly(field, points)
            points = principal_axes(higher.points)[:, :-1]
        return self._close(field, points)

    def _close(self, field: TripletStore, points: np.ndarray) -> Found:
        """Descend until about a quarter of what counts as no difference is left to be gained."""
        tol = self._tol(field, points, ALIKE / 4)
        return self._descend(field, points, float(np.clip(tol, CLOSEST, self.close)))

    def _roughly(self, field: TripletStore, points: np.ndarray) -> Found:
        """Descend as far as more dimensions help: where answers are few, chance is no measure."""
        tol = self._tol(field, points, LEFT)
        return self._descend(field, points, float(np.clip(tol, CLOSEST, self.rough)))

    def _tol(self, field: TripletStore, points: np.ndarray, left: float) -> float:
        """The tol at which so much per answer is left to be gained."""
        n_answers = len(self.original) * field.total / self.original.total
        return 2 * left * n_answers / math.prod(points.shape)

    def _descend(
        self, field: TripletStore, points: np.ndarray, tol: float, loss: Loss | None = None
    ) -> Found:
        found = minimise(
            field,
            loss or self.loss,
            points,
            regularization=self.ridge * field.total,
            tol=tol * self.strict,
            max_iter=self.max_iter,
            watch=lambda step, *_: (
                self.plain > 0 and self._costs_more(AT_MOST, self._since(points, step))
            ),
        )
        self._count(points, BEGINNING + found.n_iter)
        return found

    @staticmethod
    def _settled(found: list[Found]) -> bool:
        """Whether enough have the lowest loss, or nearly."""
        best = min(found, key=lambda f: f.history[-1])
        return sum(_alike(f, best) for f in found) >= AGREEING


def _step_cost(points: np.ndarray) -> float:
    n, d = points.shape
    return STEP + STEP_EACH * n * d**2


def _lower(found: Found, best: Found) -> bool:
    """Whether a loss is lower by more than counts as none."""
    return found.history[-1] < best.history[-1] - ALIKE


def _alike(found: Found, best: Found) -> bool:
    """Whether two losses differ by less than counts."""
    return abs(found.history[-1] - best.history[-1]) <= ALIKE


def _value(ending: tuple[str, Found]) -> float:
    return ending[1].history[-1]


def _ranked(ended: list[tuple[str, Found]]) -> list[tuple[str, Found]]:
    """Sort endings by their loss; those like the best come first, in the order they had."""
    lowest = min(map(_value, ended))
    return sorted(ended, key=lambda one: max(_value(one), lowest + ALIKE))
