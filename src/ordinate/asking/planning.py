"""How many answers a map needs: from what questions tell, and from simulated studies.

With many answers, the squared error of a map is the sum of its items' variances, the inverses of
what the questions tell about each place: it falls like one over the number of answers. With few
answers a map is worse than that, because what they say about one item is no better than what is
known about the others. How much worse is simulated: studies of few items, with people who answer as
they do in the pilot. Errors hardly depend on the number of items, given the answers per coordinate,
unless these are few and very noisy: then maps of more items are worse.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate._base.checks import check_number, check_whole, random_generator
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.optimise import minimise
from ordinate.algorithms.race import Race
from ordinate.algorithms.spectral import best_scale, spectral_start
from ordinate.algorithms.starts import Start
from ordinate.asking.designs import count_questions, numbered_questions
from ordinate.data.simulate import pair_distances, sample_points
from ordinate.data.triplets import Triplets
from ordinate.evaluation.metrics import procrustes_error
from ordinate.kernels.losses import Loss, power_family
from ordinate.passes import MemoryTriplets

SIMULATED = (5, 10, 20, 40, 80)  # answers per coordinate
TOLD = (200, 800)  # by the information of questions alone
MOST_ITEMS = 60  # in a simulated study
COORDINATES = 2000  # of all studies together, so that few items are simulated more often
N_STUDIES, MOST_STUDIES = 8, 24
FEW = 40  # answers per coordinate
SURE_ROWS = 1000  # questions that tell how sure answers are
CLEAR = 6.0  # standard deviation of z at which nearly all answers are sure
SIZES = np.geomspace(1e-3, 4, 100)  # over the truth's
TOL, MAX_ITER = 1e-2, 200  # of the descents, whose own error is then a hundredth of the maps'
INFORMED = 100  # questions per coordinate whose information is summed
POWER, SLOPE, LAPSE = 0.5, 4.0, 0.05  # how people answer, if no pilot tells


@dataclass(frozen=True)
class Plan:
    """How large the error of a map will be, by the number of answers.

    Attributes
    ----------
    n_items, n_components : int
    answers : ndarray of int
        Numbers of answers, rising.
    error : ndarray of float
        The expected error of the map for each, none above the one before: its distance from the
        truth, relative to the truth's size, after the best alignment and scaling.
    """

    n_items: int
    n_components: int
    answers: np.ndarray
    error: np.ndarray

    def error_of(self, n_answers: float) -> float:
        """Return the expected error of a map from so many answers.

        Of fewer answers than were simulated it is that of the fewest, which is too small.
        """
        at = math.log(check_number("n_answers", n_answers, above=0))
        found = np.interp(at, np.log(self.answers), np.log(self.error))
        beyond = max(at - math.log(self.answers[-1]), 0.0)  # where errors fall like the root
        return float(np.exp(found - beyond / 2))

    def answers_for(self, error: float) -> int | None:
        """Return how many answers a map with an error needs; None if fewer than were simulated."""
        error = check_number("error", error, above=0, below=1)
        if error >= self.error[0]:
            return None
        if error < self.error[-1]:
            return math.ceil(self.answers[-1] * (self.error[-1] / error) ** 2)
        found = np.interp(-math.log(error), -np.log(self.error), np.log(self.answers))
        return math.ceil(math.exp(found))


def plan_study(
    n_items: int,
    n_components: int = 2,
    *,
    pilot: Any = None,
    random_state: Any = 0,
) -> Plan:
    """Tell how the error of a map falls with the number of answers to random questions.

    Parameters
    ----------
    n_items, n_components : int
        Number of items n and of dimensions d.
    pilot : estimator, optional
        Fitted to answers of the same kind; people are then taken to answer as they did there. If
        none is given, as people who compare distances and guess one answer in twenty (power 1/2,
        slope 4, on a map with a mean squared distance of 9).
    random_state : int, Generator or None

    Returns
    -------
    Plan

    Examples
    --------
    >>> from ordinate.asking import plan_study
    >>> plan = plan_study(40, 2)
    >>> 1000 < plan.answers_for(0.1) < 4000
    True
    """
    n = check_whole("n_items", n_items, least=4)
    d = check_whole("n_components", n_components, most=n - 1)
    rng = random_generator(random_state)
    size = min(n, max(MOST_ITEMS, 4 * d))
    loss, spread = _answering(pilot, d)
    n_studies = min(max(COORDINATES // (size * d), N_STUDIES), MOST_STUDIES)
    maps = [sample_points(size, d, random_state=rng) for _ in range(n_studies)]
    maps = [points * (spread / _spread(points)) for points in maps]
    with single_threaded_blas():
        error = np.mean([_study(points, loss, rng) for points in maps], axis=0)
    return Plan(n, d, np.array([*SIMULATED, *TOLD]) * n * d, np.minimum.accumulate(error))


def _answering(pilot: Any, d: int) -> tuple[Loss, float]:
    """Return how people answer, and the size of the map on which they do."""
    if pilot is None:
        return power_family(POWER, SLOPE, LAPSE), 3.0
    spread = _spread(pilot.embedding_)
    if not spread > 0:
        raise ValueError("the pilot's map has all items in one place: ask more before you plan")
    return pilot._loss(d), spread


def _spread(points: np.ndarray) -> float:
    """Return the root mean square distance of two items of a map, each with itself included."""
    centred = points - np.nanmean(points, axis=0)
    return math.sqrt(2 * np.nanmean((centred**2).sum(axis=1)))


def _study(points: np.ndarray, loss: Loss, rng: np.random.Generator) -> np.ndarray:
    """Return the errors of maps of simulated answers, and then those that information tells."""
    n, d = points.shape
    options: dict[str, Any] = {"tol": TOL, "max_iter": MAX_ITER}
    square = float(points.var(axis=0).sum())
    first_ridge = d / (square * _clear_size(points, loss, rng) ** 2)
    errors = []
    for mark in SIMULATED:
        store = _answers(points, loss, round(mark * n * d), rng)
        start = spectral_start(store, d, rng).points
        start *= best_scale(store, loss, start)
        options["regularization"] = first_ridge
        if mark <= FEW:  # descents may end in poor maps, so that starts race, as they do in fits
            start = Race(store, loss, rng, **options).run(Start("spectral", start))[0].points
        first = minimise(store, loss, start, **options).points
        options["regularization"] = _ridge(store, loss, first, **options)
        found = minimise(store, loss, first, **options)
        errors.append(procrustes_error(found.points, points, scale=True, relative=True))
    ridge = d / square  # of the normal prior that the points come from
    store = _answers(points, loss, round(INFORMED * n * d), rng)
    per_mark = store.curvature(points, loss)[0] / INFORMED
    aligned = 1 - (1 + d * (d + 1) / 2) / (n * d)  # what moving, turning and scaling take away
    for mark in TOLD:
        variance = np.linalg.inv(mark * per_mark + ridge * np.eye(d))
        share = np.trace(variance, axis1=1, axis2=2).sum() / (n * square)
        errors.append(math.sqrt(aligned * share))
    return np.array(errors)


def _clear_size(points: np.ndarray, loss: Loss, rng: np.random.Generator) -> float:
    """Return the size, over the truth's, of a map on which nearly all answers would be sure.

    Who does not know the truth may begin with the prior of such a map. Where answers are never that
    sure, or only on far larger maps, it is the largest size that is tried.
    """
    near, far = _asked(points, SURE_ROWS, rng)[1:]
    spreads = [np.std(loss.argument(size**2 * near, size**2 * far)) for size in SIZES]
    return float(SIZES[min(int(np.searchsorted(spreads, CLEAR)), len(SIZES) - 1)])


def _ridge(
    store: MemoryTriplets, loss: Loss, points: np.ndarray, *, regularization: float, **_: Any
) -> float:
    """Return that of a normal prior as wide as a map and its errors."""
    n, d = points.shape
    variance = np.linalg.inv(store.curvature(points, loss)[0] + regularization * np.eye(d))
    return n * d / float(n * points.var(axis=0).sum() + np.trace(variance, axis1=1, axis2=2).sum())


def _asked(
    points: np.ndarray, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw questions, of which few items have some more than once, and their squared distances."""
    rows = numbered_questions(rng.integers(count_questions(len(points)), size=m), len(points))
    anchor, first, second = rows.T
    return rows, pair_distances(points, anchor, first), pair_distances(points, anchor, second)


def _answers(points: np.ndarray, loss: Loss, m: int, rng: np.random.Generator) -> MemoryTriplets:
    """Answer questions drawn at random."""
    rows, to_first, to_second = _asked(points, m, rng)
    says_first = rng.random(m) < loss.probability(to_first, to_second)
    answered = np.where(says_first[:, None], rows, rows[:, [0, 2, 1]])
    return MemoryTriplets.from_triplets(Triplets(answered, n_items=len(points)))
