"""Choosing the loss and the ridge that make a map, by answers that the map has not seen.

Some members of the power family and some ridges make maps of a part of the answers. Each map is
judged by the rest, under the best description of how answers follow its distances
(:mod:`ordinate.algorithms.response`). Of those that predict as well as the best does, within one
standard error, the one that is right most often is chosen.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ordinate._base import progress
from ordinate._base.arrays import beside, dot, on_host
from ordinate.algorithms.optimise import TINY, minimise
from ordinate.algorithms.response import Response, fit_response
from ordinate.algorithms.spectral import best_scale
from ordinate.data.simulate import pair_distances
from ordinate.data.triplets import Triplets
from ordinate.evaluation.metrics import correct
from ordinate.kernels.losses import Loss, power_family
from ordinate.passes import TripletStore

# Power and slope of the losses that are tried: from STE's, to which large distances matter most, by
# those that compare distances, to those that compare their ratios.
SHAPES = (
    (1.0, 1.0),
    (0.75, 0.1),
    (0.5, 0.03),
    (0.5, 0.3),
    (0.25, 0.3),
    (0.25, 1.0),
    (0.0, 1.0),
    (0.0, 2.5),
)
LAPSE = 0.02  # of all of them
# Ridges that are tried, in units in which a map of the start's size costs a half per item. None is
# 0: where answers hardly contradict each other, maps would grow without end.
RIDGES = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
CONTENDERS = 12  # candidates that go on from the first part to the others, and into the last choice
TOL = 1e-3
MAX_ITER = 200
STEPS = len(SHAPES) + CONTENDERS  # of a choice, each of which is told


class Part(NamedTuple):
    """A part of the answers to fit maps to, the others to judge them by, and a start.

    Attributes
    ----------
    fitted : TripletStore
    judging : TripletStore
    others : Triplets
        What ``judging`` holds.
    start : ndarray, shape (n, d)
        A map of what is fitted, of any scale.
    """

    fitted: TripletStore
    judging: TripletStore
    others: Triplets
    start: np.ndarray


class Maker(NamedTuple):
    """What makes a map: a loss of the power family, and a ridge."""

    power: float
    slope: float
    regularization: float

    @property
    def loss(self) -> Loss:
        """The loss."""
        return power_family(self.power, self.slope, LAPSE)


class Judged(NamedTuple):
    """What makes a map, and how well its maps predict.

    Attributes
    ----------
    maker : Maker
    maps : list of ndarray
        One for each part.
    response : Response
        How the answers that each was not fitted to follow them.
    accuracy : float
        Share of them that it gets right.
    behind, error : float
        By how much the log-likelihood of an answer is less than the best one's, and the standard
        error of that, from the spread between answers.
    """

    maker: Maker
    maps: list[np.ndarray]
    response: Response
    accuracy: float = np.nan
    behind: float = np.nan
    error: float = np.nan

    @property
    def on_par(self) -> bool:
        """Whether it predicts as well as the best, within one standard error."""
        return self.behind <= self.error

    def as_dict(self) -> dict[str, float]:
        """Return what was tried and how well it predicts, without maps."""
        found = {name: getattr(self, name) for name in ("behind", "error", "accuracy")}
        return {**self.maker._asdict(), "loss": self.response.value, **found}


def settings_in_words(row: Mapping[str, Any]) -> str:
    """Say what makes a map.

    Examples
    --------
    >>> settings_in_words({"power": 0.5, "slope": 0.3, "regularization": 1.0})
    'power 0.5, slope 0.3, ridge 1'
    """
    return f"power {row['power']:g}, slope {row['slope']:g}, ridge {row['regularization']:.3g}"


def choice_in_words(choice: Sequence[Mapping[str, Any]], sample: str) -> str:
    """Say what was chosen, the first, and why; by a sample of answers, if one is named."""
    chosen, *others = choice
    told = f"{settings_in_words(chosen)}: chosen by unseen answers"
    if sample:
        told += f" of a sample ({sample})"
    if not others:
        return told
    # The first of the others predicts best, unless what was chosen does.
    best = others[0]
    if chosen["behind"] > 0:
        return (
            f"{told}; right more often (by {chosen['accuracy'] - best['accuracy']:.1%} of "
            f"them) than {settings_in_words(best)}, and behind its "
            f"log-likelihood by no more than {chosen['behind']:.4f} ± {chosen['error']:.4f}"
        )
    return (
        f"{told}; next best {settings_in_words(best)}, behind by {best['behind']:.4f} ± "
        f"{best['error']:.4f} in log-likelihood"
    )


def choose_maker(parts: Sequence[Part]) -> list[Judged]:
    """Try all that may make a map on the first part, the best of them on the others.

    Returns those, the chosen one first and then by how well they predict.
    """
    tried: list[Judged] = []
    nearby = RIDGES.index(1.0)
    for number, shape in enumerate(SHAPES):
        progress.step("" if number else "choosing the model")
        along = _along_ridges(parts[0], *shape, nearby)
        nearby = min(along, key=lambda place: _value(along[place]))
        tried += along.values()
    best = sorted(tried, key=_value)[:CONTENDERS]
    contenders = []
    for judged in best:
        progress.step()
        contenders.append(_on_all(judged, parts))
    contenders = compared(sorted(contenders, key=_value), parts)
    chosen = max((judged for judged in contenders if judged.on_par), key=lambda j: j.accuracy)
    return [chosen, *(judged for judged in contenders if judged is not chosen)]


def _value(judged: Judged) -> float:
    return judged.response.value


def _along_ridges(part: Part, power: float, slope: float, nearby: int) -> dict[int, Judged]:
    """Maps of one loss, by the places of their ridges: from one place to both sides of the best."""
    start = at_best_scale(part, Maker(power, slope, 0.0).loss)
    unit = len(start) / max(dot(start, start), TINY)
    found: dict[int, Judged] = {}
    wanted = [nearby]
    while wanted:
        place = wanted.pop()
        maker = Maker(power, slope, RIDGES[place] * unit)
        points, known = start, cast(Loss | Response, maker.loss)
        if found:
            neighbour = found[min(found, key=lambda other: abs(other - place))]
            points, known = neighbour.maps[0], neighbour.response
        points = fit_map(part, maker, points)
        response = fit_response([(part.judging, points)], known)
        found[place] = Judged(maker, [points], response)
        best = min(found, key=lambda other: _value(found[other]))
        wanted = [p for p in (best - 1, best + 1) if p in range(len(RIDGES)) and p not in found]
    return found


def at_best_scale(part: Part, loss: Loss) -> np.ndarray:
    """The start of a part, of the size that suits a loss."""
    start = beside(part.fitted.counts, part.start)
    return best_scale(part.fitted, loss, start) * start


def _as_large(part: Part, points: np.ndarray) -> np.ndarray:
    """The start of a part, as large as a map."""
    start = beside(part.fitted.counts, part.start)
    return math.sqrt(dot(points, points) / max(dot(start, start), TINY)) * start


def fit_map(part: Part, maker: Maker, points: np.ndarray) -> np.ndarray:
    """A map of a part, from given points."""
    ridge = maker.regularization
    return minimise(
        part.fitted, maker.loss, points, regularization=ridge, tol=TOL, max_iter=MAX_ITER
    ).points


def _on_all(judged: Judged, parts: Sequence[Part]) -> Judged:
    """Try on the other parts what was tried on the first."""
    if len(parts) == 1:
        return judged
    maker = judged.maker
    others = [fit_map(part, maker, _as_large(part, judged.maps[0])) for part in parts[1:]]
    maps = judged.maps + others
    seen = [(part.judging, points) for part, points in zip(parts, maps, strict=True)]
    return judged._replace(maps=maps, response=fit_response(seen, judged.response))


def compared(contenders: list[Judged], parts: Sequence[Part]) -> list[Judged]:
    """Hold each against the first, which predicts best, answer by answer."""
    best = unseen_losses(contenders[0], parts)
    found = []
    for judged in contenders:
        losses = unseen_losses(judged, parts)
        excess = [mine - least for mine, least in zip(losses, best, strict=True)]
        behind, error = mean_of_answers(excess, parts)
        accuracy, _ = mean_of_answers(rightly_predicted(judged, parts), parts)
        found.append(judged._replace(accuracy=accuracy, behind=behind, error=error))
    return found


def mean_of_answers(of_rows: Sequence[np.ndarray], parts: Sequence[Part]) -> tuple[float, float]:
    """Mean over the rows that parts are judged by, and its error, from the spread of answers."""
    sums = []
    total = 0.0
    for values, part in zip(of_rows, parts, strict=True):
        weight = part.others._weights
        sums.append(np.bincount(part.others.groups("answer"), weight * values))
        total += weight.sum()
    by_answer = np.concatenate(sums)
    error = np.sqrt(((by_answer - by_answer.mean()) ** 2).sum()) / total
    return float(by_answer.sum() / total), float(error)


def rightly_predicted(judged: Judged, parts: Sequence[Part]) -> list[np.ndarray]:
    """Which rows to be judged by are predicted rightly, in each part."""
    return [
        correct(on_host(points), part.others.rows)
        for part, points in zip(parts, judged.maps, strict=True)
    ]


def unseen_losses(judged: Judged, parts: Sequence[Part]) -> list[np.ndarray]:
    """Minus the log-likelihood of each answer to be judged by, in each part."""
    loss, found = judged.response.loss, []
    for part, points in zip(parts, judged.maps, strict=True):
        anchor, near, far = part.others.rows.T
        scaled = judged.response.scale * on_host(points)
        found.append(
            loss.penalty.value(
                loss.argument(
                    pair_distances(scaled, anchor, near), pair_distances(scaled, anchor, far)
                ),
                *loss.penalty_shape,
            )
        )
    return found
