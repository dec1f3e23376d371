"""Which start to descend from: several race, and how many of them end in the same map is told.

Losses over maps have local optima, and no kind of start is best everywhere. So the start at hand
(spectral, say) races with starts of three other kinds, in turn:

- a map of d + 2 dimensions, from points at random, whose weakest principal axis is dropped and the
  rest fitted again, one dimension at a time: more dimensions have fewer local optima;
- the map of STE, the loss with the fewest local optima, from points at random;
- points at random.

For a likelihood they race on a sample of the triplets. A hinge fits a sample without telling much
about all triplets, and needs them all. The race is over where the first few end alike. Else the
best map takes over from the others what they have better (:mod:`.recombining`), and then tries to
leave its optimum by way of another dimension: items move apart along it, and it is dropped again.
Where that brings nothing, more starts come in turns with it, as long as time is left.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, dot, namespace, on_host
from ordinate.algorithms.optimise import Found, minimise, weight_unit
from ordinate.algorithms.recombining import recombined
from ordinate.algorithms.scaling import principal_axes
from ordinate.algorithms.spectral import best_scale
from ordinate.evaluation.metrics import procrustes_error
from ordinate.kernels import losses
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets, TripletStore
from ordinate.passes.triplets import collapsed

MOST_ITEMS = 2000  # of maps whose starts race on all rows; others race on a small sample, if at all
MOST_STARTS = 13  # before the best is improved
MOST_IN_VAIN = 30  # lifts and starts in a row
AGREEING = 4  # starts that end alike, of several kinds: more would, too
RACE = 100  # triplets per coordinate of the sample that starts race on
RACE_LEAST = 20_000  # triplets of it
SCALE_ROWS = 2000  # triplets that tell the scale of a start that races
SCREEN_ROWS = 4000  # triplets that tell which of several maps to descend from first
# tol at most, on the way down from more dimensions and at the end; a hinge's curvature tells less.
ROUGH, CLOSE = 1e-1, 1e-2
ROUGH_HINGED, CLOSE_HINGED = 1e-2, 1e-3
CLOSEST = 1e-4
ABOVE = 2  # dimensions more than wanted that a descent begins with
# Costs up to the last of the first starts, of their recombinations, and of all that improves the
# best, over a plain descent's.
STARTING, RECOMBINING, IMPROVING = 4.0, 5.0, 7.5
AT_MOST = 8.0  # the same, at which a descent is given up
# Coordinates of triplets that are read in the time that a step takes beside reading, in all and
# for each number of an item's block of the curvature.
STEP, STEP_EACH = 25_000, 10
BEGINNING = 3  # steps that take as long as the beginning of a descent
MOST_COLLAPSED = 300_000  # triplets that are sorted to find equal ones
LIFT = 0.3  # spread of items along a new dimension, over that of the map
ALIKE = 2e-5  # difference of losses per answer that counts as none
LEFT = 1e-4  # loss per answer to be gained, by the curvature, at which to drop a dimension
SAME = 0.25  # distance of two maps, over their size, up to which they show the same

# Where rows are not at hand, or items are many, starts race on a sample alone.
MOST_ON_SAMPLE = 10
SAMPLE_LEAST = 10_000  # triplets of it
SAMPLE_ROWS = 100_000  # of all samples together
JURY = 16  # times as many triplets decide
ON_SAMPLE = 1e-2  # tol there
MATTERS = 1e-3  # of the loss


class Start(NamedTuple):
    """Where an optimisation began.

    Attributes
    ----------
    name : str
        "spectral", "loe", "random", "ste" (STE's map), "more dimensions", "recombined" (of several
        starts' maps), "lifted" (from another start's map, by way of another dimension) or "given".
    points : ndarray, shape (n_items, n_components)
        Of the winner of a race, where the descent on all triplets began.
    gap : float
        Of a spectral start, the last eigenvalue wanted over the next; NaN for others. Near 1, the
        triplets are few, or show fewer dimensions.
    """

    name: str
    points: np.ndarray
    gap: float = np.nan


class Ending(NamedTuple):
    """Where one of several starts ended.

    Attributes
    ----------
    name : str
        The start's.
    loss : float
        Per answer, with the ridge; on the sample if starts raced on one.
    distance : float
        From the map found, over its size: 0 if they are the same up to their position, orientation
        and scale, 1 if they have nothing in common.
    """

    name: str
    loss: float
    distance: float

    @property
    def agrees(self) -> bool:
        """Whether it shows the same map as the best."""
        return self.distance <= SAME


def endings(names: list[str], found: list[Found], best: np.ndarray | None = None) -> list[Ending]:
    """Compare where starts ended, with the best map of theirs or another; the best comes first."""
    order = np.argsort([f.history[-1] for f in found], kind="stable")
    best = on_host(found[order[0]].points if best is None else best)
    return [
        Ending(
            names[k],
            float(found[k].history[-1]),
            _distance(on_host(found[k].points), best),
        )
        for k in order
    ]


def _distance(points: np.ndarray, best: np.ndarray) -> float:
    """Distance of a map from the best, over the size of that."""
    if not np.ptp(best, axis=0).any():  # all items in one place: no map at all
        return float(np.ptp(points, axis=0).any())
    return procrustes_error(points, best, scale=True, relative=True)


def agreement(ended: list[Ending]) -> str:
    """Say how many starts ended in the same map.

    Examples
    --------
    >>> agreement([Ending("spectral", 0.41, 0.0), Ending("random", 0.43, 0.8)])
    '1 of 2 starts ends in this map; the loss of the other is 0.43, of this one 0.41'
    """
    n, same = len(ended), sum(end.agrees for end in ended)
    if same == n:
        return f"all {n} starts end in this map"
    others = sorted(end.loss for end in ended if not end.agrees)
    told = list(dict.fromkeys(f"{loss:.5g}" for loss in (others[0], others[-1])))
    whose = "the loss of the other is" if len(others) == 1 else "the losses of the others are"
    return (
        f"{same} of {n} starts {'ends' if same == 1 else 'end'} in this map; {whose} "
        f"{' to '.join(told)}, of this one {min(end.loss for end in ended):.5g}"
    )


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
        self.counted = store.n_passes  # passes that are part of what was spent
        self.spent, self.plain = 0.0, 0.0

    def run(self, first: Start) -> tuple[Start, list[Ending]]:
        """Let starts race, and return the winner and where each ended.

        Where they do not agree, the best go on to all triplets, and the winner is improved.
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

        def another() -> tuple[str, Found]:
            name, start = next(others)
            names.append(name)
            found.append(self._from(field, start(), d))
            return name, found[-1]

        def rival() -> tuple[str, Found]:
            name, end = another()
            return name, end if field is self.store else self._close(self.store, end.points)

        while not self._settled(found):
            if len(found) >= MOST_STARTS or self._costs_more(STARTING):
                break
            another()
        ranked = _ranked(list(zip(names, found, strict=True)))
        name, best = ranked[0]
        if not self._settled(found):
            ended = [(name, best)]
            if field is not self.store:
                # A sample's optimum may be out of the way for a start found from all triplets.
                begun = [(first.name, points), (name, best.points)]
                ended = [(kind, self._close(self.store, begin)) for kind, begin in begun]
            name, best = self._improved(*_ranked(ended)[0], [f.points for f in found], rival)
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
        another: Callable[[], tuple[str, Found]],
    ) -> tuple[str, Found]:
        """Try to leave an optimum, on all triplets, by lifts and more starts.

        Lifts go on while they gain; after one in vain comes a start, and after that a lift. What
        ends higher may have some items in better places.
        """
        until, in_vain = RECOMBINING, 0
        while True:
            better = self._recombine(best, others, until)
            if better is not best:
                name, best, in_vain = "recombined", better, 0
            if self._costs_more(IMPROVING) or in_vain >= MOST_IN_VAIN:
                return name, best
            lift = in_vain % 2 == 0
            kind, rival = ("lifted", self._lifted(best.points)) if lift else another()
            others, until, in_vain = [rival.points], IMPROVING, in_vain + 1
            if _lower(rival, best):
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
        return self.spent + since > times * self.plain

    def _recombine(self, best: Found, others: list[np.ndarray], until: float) -> Found:
        """Put groups of items where other maps have them, as long as that lowers the loss."""
        screen, tried = self.store.sample(SCREEN_ROWS), set()
        while True:
            children = [
                (screen.loss(child, self.loss)[0], items.tobytes(), child)
                for other in others
                for items, child in recombined(best.points, other)
            ]
            for _, items, child in sorted(children, key=lambda one: one[0]):
                if self._costs_more(until):
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
            yield "more dimensions", lambda: random(self._above(d))
            if self.loss.name != "ste":
                yield "ste", by_ste
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
        """Descend from a start of d or more dimensions; the weakest axis is dropped each time."""
        points = best_scale(field.sample(SCALE_ROWS), self.loss, points) * points
        while points.shape[1] > d:
            higher = self._descend(field, points, tol) if tol else self._roughly(field, points)
            points = principal_axes(higher.points)[:, :-1]
        return self._close(field, points)

    def _lifted(self, points: np.ndarray) -> Found:
        """Descend from a map by way of another dimension, with items at random along it."""
        n, d = points.shape
        spread = LIFT * float((points - points.mean(axis=0)).std())
        along = beside(points, spread * self.generator.normal(size=(n, 1)))
        higher = self._roughly(self.store, namespace(points).hstack([points, along]))
        dropped = principal_axes(higher.points)[:, :d]
        return self._close(self.store, dropped)

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
        values = np.array([f.history[-1] for f in found])
        return int((values <= values.min() + ALIKE).sum()) >= AGREEING


def is_small(store: TripletStore) -> bool:
    """Whether items are few enough for starts to race on all rows."""
    return store.n_items <= MOST_ITEMS


def n_on_sample(store: TripletStore, loss: Loss, size: int) -> int:
    """How many starts of ``size`` coordinates race on a sample: as many as cost little."""
    if not loss.is_likelihood:
        return 1  # hinges fit a sample without telling much about all triplets
    rows = min(len(store), max(RACE * size, SAMPLE_LEAST))
    return int(np.clip(SAMPLE_ROWS // rows, 1, MOST_ON_SAMPLE))


def race_on_sample(
    store: TripletStore,
    loss: Loss,
    starts: list[Start],
    descend: Callable[[TripletStore, Loss, Start, dict, None], Found],
    options: dict,
) -> tuple[Start, list[Ending]]:
    """Let starts race on a sample; a larger one judges where they end.

    Returns the first start, or where a better one ended, and where each ended.
    """
    size = math.prod(starts[0].points.shape)
    rows = max(RACE * size, SAMPLE_LEAST)
    sample, jury = store.sample(rows), store.sample(JURY * rows)
    ridge = options["regularization"] / store.total
    short = {
        "regularization": ridge * sample.total,
        "tol": max(options["tol"], ON_SAMPLE),
        "max_iter": min(options["max_iter"], 100),
    }

    def judged(found: Found) -> Found:
        centred = found.points - found.points.mean(axis=0)
        value = jury.loss(found.points, loss)[0] / jury.total + ridge / 2 * dot(centred, centred)
        return found._replace(history=[value])

    found = [judged(descend(sample, loss, start, short, None)) for start in starts]
    values = [f.history[-1] for f in found]
    best = int(np.argmin(values))
    # The first stays unless another is lower by more than races leave to be gained, and enough to
    # matter.
    if values[0] <= values[best] + max(ON_SAMPLE * size / len(sample), MATTERS * values[best]):
        best = 0
    winner = Start(starts[best].name, on_host(found[best].points)) if best else starts[0]
    return winner, endings([start.name for start in starts], found)


def _step_cost(points: np.ndarray) -> float:
    n, d = points.shape
    return STEP + STEP_EACH * n * d**2


def _lower(found: Found, best: Found) -> bool:
    """Whether a loss is lower by more than counts as none."""
    return found.history[-1] < best.history[-1] - ALIKE


def _value(ending: tuple[str, Found]) -> float:
    return ending[1].history[-1]


def _ranked(ended: list[tuple[str, Found]]) -> list[tuple[str, Found]]:
    """Sort endings by their loss; those like the best come first, in the order they had."""
    lowest = min(map(_value, ended))
    return sorted(ended, key=lambda one: max(_value(one), lowest + ALIKE))
