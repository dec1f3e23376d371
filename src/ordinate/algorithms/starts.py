"""Which start to descend from: several race, and how many of them end in the same map is told.

Losses over maps have local optima, and no kind of start is best everywhere. So the start at hand
(spectral, say) races with starts of three other kinds, in turn:

- a map of d + 3 dimensions, found from the spectral start, whose weakest principal axis is dropped
  and the rest fitted again, one dimension at a time: more dimensions have fewer local optima;
- the map of STE, the loss with the fewest local optima, from points at random;
- points at random, in d + 2 dimensions or in d.

For a likelihood they race on a sample of the triplets. A hinge fits a sample without telling much
about all triplets, and needs them all. The best then try to leave their optimum by way of another
dimension: items move apart along it, and it is dropped again.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, dot, namespace, on_host
from ordinate.algorithms.optimise import Found, minimise, weight_unit
from ordinate.algorithms.scaling import principal_axes
from ordinate.algorithms.spectral import best_scale, spectral_start
from ordinate.evaluation.metrics import procrustes_error
from ordinate.kernels import losses
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets, TripletStore
from ordinate.passes.triplets import collapsed

MOST_ITEMS = 1000  # of maps whose starts race on all rows; others race on a small sample, if at all
MOST_STARTS = 13
MOST_LIFTS = 20
AGREEING = 8  # starts that end alike, of several kinds: more would, too
RACE = 100  # triplets per coordinate of the sample that starts race on
RACE_LEAST = 20_000  # triplets of it
SCALE_ROWS = 2000  # triplets that tell the scale of a start that races
ROUGH, CLOSE = 1e-2, 1e-3  # tol on the way down from more dimensions, and at the end of a race
ABOVE = 3  # dimensions more than wanted that a descent begins with
FINALISTS = 3  # maps of a sample that go on to all triplets
STARTING, LIFTING = 5.0, 8.0  # passes up to the last start, and lift, over a plain descent's
READ = 6_000_000  # triplets that a race reads beside, at most
MOST_ROWS, MOST_HINGED = 50_000, 300_000  # triplets that likelihoods, and hinges, may race on
LIFT = 0.3  # spread of items along a new dimension, over that of the map
ALIKE = 2e-5  # difference of losses per answer that counts as none
SAME = 0.25  # distance of two maps, over their size, up to which they show the same

# Where rows are not at hand, or items are many, starts race on a sample alone.
MOST_ON_SAMPLE = 10
SAMPLE_LEAST = 10_000  # triplets of it
SAMPLE_ROWS = 100_000  # of all samples together
JURY = 16  # times as many triplets decide
MATTERS = 1e-3  # of the loss


class Start(NamedTuple):
    """Where an optimisation began.

    Attributes
    ----------
    name : str
        "spectral", "loe", "random", "ste" (STE's map), "more dimensions", "lifted" (from another
        start's map, by way of another dimension) or "given".
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
        From the best start's map, over its size: 0 if they are the same up to their position,
        orientation and scale, 1 if they have nothing in common.
    """

    name: str
    loss: float
    distance: float

    @property
    def agrees(self) -> bool:
        """Whether it shows the same map as the best."""
        return self.distance <= SAME


def endings(names: list[str], found: list[Found]) -> list[Ending]:
    """Compare where starts ended; the best comes first."""
    order = np.argsort([f.history[-1] for f in found], kind="stable")
    best = on_host(found[order[0]].points)
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
    '1 of 2 starts ends in this map; the others have losses of 0.43000 to 0.43000'
    """
    n, same = len(ended), sum(end.agrees for end in ended)
    if same == n:
        return f"all {n} starts end in this map"
    others = [end.loss for end in ended if not end.agrees]
    verb = "ends" if same == 1 else "end"
    return (
        f"{same} of {n} starts {verb} in this map; the others have losses of "
        f"{min(others):.5f} to {max(others):.5f}"
    )


class Race:
    """A race between starts.

    Parameters
    ----------
    store : MemoryTriplets
    loss : Loss
    generator : Generator
    regularization : float
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
        max_iter: int,
    ) -> None:
        self.original = store  # whose passes count
        self.store = collapsed(store) if len(store) <= MOST_HINGED else store
        self.loss, self.generator = loss, generator
        self.ridge = regularization / store.total
        self.max_iter = max_iter
        # A row that stands for several counts as one where a descent decides when to stop.
        self.strict = weight_unit(self.original) / weight_unit(self.store)

    def run(self, first: Start) -> tuple[Start, list[Ending]]:
        """Let starts race, and return the winner and where each ended.

        The best go on to all triplets, and the winner is lifted.
        """
        d = first.points.shape[1]
        field = self.store
        if self.loss.is_likelihood:
            field = self.store.sample(_n_racing(math.prod(first.points.shape)))
        before = self.original.n_passes
        points = beside(field.counts, first.points)
        scale = best_scale(self.original, self.loss, points)
        points = scale * points
        names, found = [first.name], [self._descend(field, points, CLOSE)]
        plain = before + (self.original.n_passes - before) * len(self.original) / len(field)

        def costs_more(times: float) -> bool:
            more = times / LIFTING * READ / len(self.original)
            return self.original.n_passes > min(times * plain, plain + more)

        for name, start in self._others(field, d):
            if len(found) >= MOST_STARTS or self._n_alike(found) >= AGREEING:
                break
            if costs_more(STARTING):
                break
            names.append(name)
            found.append(self._from(field, start(), d))
        ended = endings(names, found)
        settled = self._n_alike(found) >= AGREEING
        ranked = _ranked(list(zip(names, found, strict=True)))
        if field is not self.store:
            finalists = _distinct(ranked)[:FINALISTS]
            ranked = []
            for name, f in finalists:
                if not ranked or not costs_more(LIFTING):
                    # A sample's optimum may be out of the way for a start found from all triplets.
                    begin = points if f is found[0] else f.points
                    ranked.append((name, self._descend(self.store, begin, CLOSE)))
            ranked = _ranked(ranked)
        name, best = ranked[0]
        for _ in range(0 if settled else MOST_LIFTS):
            if costs_more(LIFTING):
                break
            lifted = self._lifted(best.points)
            if lifted.history[-1] < best.history[-1] - ALIKE:
                name, best = "lifted", lifted
        return Start(name, best.points, first.gap if name == first.name else np.nan), ended

    def _others(
        self, field: TripletStore, d: int
    ) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
        """Yield the starts that the first races with, each found when its turn comes."""
        n = self.store.n_items
        above = min(d + ABOVE, n - 1)
        occurs = on_host(self.store.counts.sum(axis=0) > 0)[:, None]

        def random(dimensions: int) -> np.ndarray:
            # Items that do not occur stay at the centre: they must not turn the principal axes.
            return beside(field.counts, occurs * self.generator.normal(size=(n, dimensions)))

        def by_ste() -> np.ndarray:
            ste = losses.get("ste")
            points = random(d)
            points = best_scale(field.sample(SCALE_ROWS), ste, points) * points
            return self._descend(field, points, ROUGH, ste).points

        yield "more dimensions", lambda: spectral_start(field, above, self.generator).points
        while True:
            if self.loss.name != "ste":
                yield "ste", by_ste
            yield "random", lambda: random(d)
            yield "more dimensions", lambda: random(max(above - 1, d))
            yield "random", lambda: random(d)

    def _from(self, field: TripletStore, points: np.ndarray, d: int) -> Found:
        """Descend from a start of d or more dimensions; the weakest axis is dropped each time."""
        points = best_scale(field.sample(SCALE_ROWS), self.loss, points) * points
        while points.shape[1] > d:
            points = principal_axes(self._descend(field, points, ROUGH).points)[:, :-1]
        return self._descend(field, points, CLOSE)

    def _lifted(self, points: np.ndarray) -> Found:
        """Descend from a map by way of another dimension, with items at random along it."""
        n, d = points.shape
        spread = LIFT * float((points - points.mean(axis=0)).std())
        along = beside(points, spread * self.generator.normal(size=(n, 1)))
        higher = self._descend(self.store, namespace(points).hstack([points, along]), ROUGH)
        dropped = principal_axes(higher.points)[:, :d]
        return self._descend(self.store, dropped, CLOSE)

    def _descend(
        self, field: TripletStore, points: np.ndarray, tol: float, loss: Loss | None = None
    ) -> Found:
        return minimise(
            field,
            loss or self.loss,
            points,
            regularization=self.ridge * field.total,
            tol=tol * self.strict,
            max_iter=self.max_iter,
        )

    @staticmethod
    def _n_alike(found: list[Found]) -> int:
        """How many have the lowest loss, or nearly."""
        values = np.array([f.history[-1] for f in found])
        return int((values <= values.min() + ALIKE).sum())


def is_small(store: TripletStore, loss: Loss, size: int) -> bool:
    """Whether maps of ``size`` coordinates are found fast enough for several to race."""
    if loss.is_likelihood:
        few = min(len(store), _n_racing(size)) <= MOST_ROWS
    else:
        few = len(store) <= MOST_HINGED
    return few and store.n_items <= MOST_ITEMS


def _n_racing(size: int) -> int:
    """Rows of the sample that likelihoods of ``size`` coordinates race on."""
    return max(RACE * size, RACE_LEAST)


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
        "tol": max(options["tol"], ROUGH),
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
    if values[0] <= values[best] + max(ROUGH * size / len(sample), MATTERS * values[best]):
        best = 0
    winner = Start(starts[best].name, on_host(found[best].points)) if best else starts[0]
    return winner, endings([start.name for start in starts], found)


def _value(ending: tuple[str, Found]) -> float:
    return ending[1].history[-1]


def _ranked(ended: list[tuple[str, Found]]) -> list[tuple[str, Found]]:
    """Sort endings by their loss; those like the best come first, in the order they had."""
    lowest = min(map(_value, ended))
    return sorted(ended, key=lambda one: max(_value(one), lowest + ALIKE))


def _distinct(ranked: list[tuple[str, Found]]) -> list[tuple[str, Found]]:
    """Those of several endings, the best first, that are not like one before."""
    kept: list[tuple[str, Found]] = []
    for one in ranked:
        if all(_value(one) - _value(other) > ALIKE for other in kept):
            kept.append(one)
    return kept
