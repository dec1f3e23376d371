"""How well unseen answers are predicted, and whether that is any better than chance."""

import warnings
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ordinate._base import progress
from ordinate._base.checks import check_whole, random_generator
from ordinate._base.messages import Message, Option
from ordinate._base.threads import run, single_threaded_blas
from ordinate.data.advice import DIMENSIONS, Problem
from ordinate.data.summary import Ceiling, ceiling
from ordinate.data.triplets import Triplets
from ordinate.evaluation.metrics import (
    CHANCE,
    Accuracy,
    BySource,
    Calibration,
    beside_chance,
    correct,
    drawn_at_random,
    judge,
    judge_apart,
    judge_probabilities,
)
from ordinate.evaluation.splits import TripletKFold
from ordinate.evaluation.three_way import ThreeWay, three_way

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

MANY = 2_000_000  # triplets above which one tenth is held out, once
FOLDS = 5
SHARE = 10  # of many triplets, one in so many is held out
# Triplets above which one fifth is held out, once, where each fit makes a choice of its own.
MANY_TO_CHOOSE_BY = 20_000
# Triplets up to which maps are made side by side, each on one thread: a pass over so few leaves the
# others idle.
FEW = 200_000

BETTER = "better than chance"
NO_BETTER = "no better than chance"
TOO_FEW = "too few answers to tell"
# Standard errors from chance that chance alone seldom reaches. Maps of two parts of the answers
# predict each other's part, right or wrong together: for answers by chance that doubles the
# variance at most.
SURE, DOUBLED = 2.0, 2.0**0.5
WRONG = 0.3  # share of answers, of data that are sound but no more than that


class HeldOut(NamedTuple):
    """Accuracy on answers that the map was not fitted to.

    Attributes
    ----------
    accuracy : float
    error : float
        Its standard error, from the spread between answers.
    n_triplets, n_answers : int
        What was predicted, each answer by a map fitted without it.
    chance : float
        The share that tossing a coin gets right.
    verdict : str
        "better than chance", "no better than chance" or "too few answers to tell".
    how : str
    log_likelihood : float or None
        Of a triplet, on average; None where the estimator has no probabilities.
    calibration : Calibration or None
        How far the probabilities of the likelier answers can be taken at their word.
    ceiling : Ceiling or None
        What any map can reach, where questions were asked more than once.
    three_way : ThreeWay or None
        How often the map picks the same of three items, where that was asked.
    by_source : BySource or None
        Where some questions were chosen by a map: the accuracy on those drawn at random, of which
        all of the above is then but the verdict, and on chosen ones.
    n_maps : int
        How many were fitted, each without the answers that it predicts.
    """

    accuracy: float
    error: float
    n_triplets: int
    n_answers: int
    chance: float
    verdict: str
    how: str
    log_likelihood: float | None = None
    calibration: Calibration | None = None
    ceiling: Ceiling | None = None
    three_way: ThreeWay | None = None
    by_source: BySource | None = None
    n_maps: int = 0

    def __str__(self) -> str:
        return beside_chance(self.accuracy, self.error, self.ceiling and self.ceiling.high)

    def problems(self) -> list[Problem]:
        """Return what the verdict means for readers of the map; nothing if all is well."""
        if self.verdict == NO_BETTER:
            return [
                Problem(
                    "error",
                    f"unseen answers are predicted no better than chance: {self}",
                    "do not read this map; check that the columns mean what you think, and look "
                    "for participants who guess",
                )
            ]
        if self.verdict == TOO_FEW:
            return [
                Problem(
                    "warning",
                    f"unseen answers are predicted at {self}: too few answers to distinguish that "
                    "from chance",
                    "do not read this map yet; collect more answers, or ask about fewer items",
                )
            ]
        return []


def hold_out(
    estimator: "Embedder",
    triplets: Triplets,
    *,
    folds: int | None = None,
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> tuple[HeldOut | None, np.ndarray]:
    """Predict answers by maps that were made without them; see :func:`analyse`.

    Returns the judgement, None if there are no folds, and which triplets were predicted rightly,
    NaN where that is not known.
    """
    unit = "row" if triplets.answer is None else "answer"
    n_answers = int(triplets.groups("answer").max()) + 1
    plan = _plan(folds, len(triplets), n_answers, unit, estimator._chooses)
    if not plan.n_fits:
        return None, np.full(len(triplets), np.nan)
    n_steps = 1 + plan.n_fits * (1 + estimator._n_steps(triplets.n_items))
    progress.expect(n_steps)
    generator = random_generator(random_state)
    tell("held-out answers")
    predicted, given = _predictions(estimator, triplets, plan, generator)
    found = _judge_known(predicted, triplets)
    known = np.isfinite(predicted)
    drawn = drawn_at_random(triplets)
    apart = None
    if drawn is not None:
        apart = judge_apart(predicted[known], triplets[known], drawn[known])
    # A map is judged by questions drawn at random, if there are any.
    fair = known & drawn if drawn is not None and (known & drawn).any() else known
    likelihood, curve = None, None
    if given is not None:
        told = fair & np.isfinite(given)
        likelihood, curve = judge_probabilities(given[told], triplets[told])

    def of_sound_answers() -> Accuracy:
        progress.expect(n_steps)
        tell("what sound answers to these questions would give")
        d = estimator.n_components
        d = DIMENSIONS if isinstance(d, Iterable) else d  # where it is yet to be chosen
        sound = _sound_answers(triplets, d, generator)
        return _judge_known(_predictions(estimator, sound, plan, generator)[0], sound)

    verdict = _verdict(found, of_sound_answers)
    shown = judge(predicted[fair], triplets[fair])
    asked = triplets if drawn is None or not drawn.any() else triplets[drawn]
    held_out = HeldOut(
        shown.accuracy,
        shown.error,
        shown.n_triplets,
        shown.n_answers,
        CHANCE,
        verdict,
        plan.how,
        likelihood,
        curve,
        ceiling(asked._agreement),
        three_way(predicted[fair], triplets[fair]),
        apart,
        plan.n_fits,
    )
    return held_out, predicted


class _Plan(NamedTuple):
    """How many fits judge the map, of how many parts, and how to say so."""

    n_fits: int
    n_parts: int
    how: str


def _plan(folds: int | None, n_rows: int, n_answers: int, unit: str, chooses: bool) -> _Plan:
    """Plan the fits; rows are units where answers are unknown."""
    if folds is None and n_rows > MANY:
        return _Plan(1, SHARE, f"one tenth of the {unit}s are predicted by a map of the rest")
    if folds is None and chooses and n_rows > MANY_TO_CHOOSE_BY:
        how = f"one fifth of the {unit}s are predicted by a map of the rest, which chose by itself"
        return _Plan(1, FOLDS, how)
    if folds is None:
        n_folds = min(FOLDS, n_answers) if n_answers > 1 else 0
    else:
        n_folds = check_whole("folds", folds, least=0, most=max(n_answers, 2))
        if n_folds == 1:
            rule = " must be 0, or at least 2: one part leaves nothing to fit"
            raise ValueError(Message(Option("folds"), rule))
    how = f"each {unit} is predicted by a map of the others, in {n_folds} parts"
    return _Plan(n_folds, n_folds, how)


def _predictions(
    estimator: "Embedder",
    triplets: Triplets,
    plan: _Plan,
    random_state: Any,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Which triplets maps get right that were made without their answers, and how likely they were.

    NaN where no such map was made; None in place of probabilities where the estimator has none.
    """
    splits = TripletKFold(plan.n_parts, random_state=random_state).split(triplets)
    parts = list(islice(splits, plan.n_fits))

    def predict(number: int) -> tuple[np.ndarray, np.ndarray | None]:
        progress.step(f"map {number + 1} of {plan.n_fits}")
        train, test = parts[number]
        model = clone(estimator).fit(triplets[train])
        likely = None
        if hasattr(model, "predict_proba"):
            likely = model.predict_proba(triplets[test])[:, 1]
        return correct(model.embedding_, triplets.rows[test]), likely

    side_by_side = len(triplets) <= FEW and estimator._runs_beside_others
    with warnings.catch_warnings(), single_threaded_blas():
        warnings.simplefilter("ignore")  # the fit to all triplets warns of the same
        found = list((run if side_by_side else map)(predict, range(plan.n_fits)))
    predicted, given = np.full((2, len(triplets)), np.nan)
    for (_, test), (right, likely) in zip(parts, found, strict=True):
        predicted[test] = right
        given[test] = np.nan if likely is None else likely
    return predicted, None if found[0][1] is None else given


def _judge_known(predicted: np.ndarray, triplets: Triplets) -> Accuracy:
    known = np.isfinite(predicted)
    return judge(predicted[known], triplets[known])


def _beats_chance(found: Accuracy) -> bool:
    return found.accuracy - CHANCE > SURE * DOUBLED * found.chance_error


def _verdict(found: Accuracy, of_sound_answers: Callable[[], Accuracy]) -> str:
    """Whether answers were predicted better than by a coin, as far as so many can tell.

    Few answers about many items cannot be predicted however sound they are. So the same questions
    are answered again, soundly: where that would have shown, and has not, there is nothing to show.
    """
    if _beats_chance(found):
        return BETTER
    sound = of_sound_answers()
    short = sound.accuracy - found.accuracy > SURE * np.hypot(sound.error, found.chance_error)
    return NO_BETTER if short and _beats_chance(sound) else TOO_FEW


def _sound_answers(triplets: Triplets, n_components: int, generator: Any) -> Triplets:
    """Answer the same questions by points at random, ``WRONG`` of the answers the other way."""
    points = generator.normal(size=(triplets.n_items, n_components))
    answer = triplets.groups("answer")
    wrong = generator.random(int(answer.max()) + 1) < WRONG
    return triplets.answered((correct(points, triplets.rows) > CHANCE) != wrong[answer])
