"""Where an optimisation may begin, where several starts ended, and whether they agree.

Where items are few, starts race as :mod:`.race` says. Elsewhere they race on a sample, if at all.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import dot, on_host
from ordinate.algorithms.optimise import Found
from ordinate.evaluation.metrics import procrustes_error
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore

MOST_ITEMS = 2000  # of maps whose starts race on all rows; others race on a small sample, if at all
RACE = 100  # triplets per coordinate of the sample that starts race on
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
        starts' maps), "lifted" (from another start's map, by way of more dimensions) or "given".
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
