"""What to ask next: the error of maps against the number of answers, for three ways of asking.

``bench_asking.py [--items 30 60 300] [--dimensions 2 5] [--clearness clear middling noisy]
[--noise btl power] [--seeds 20]`` simulates people who answer with noise. *active* is
``ordinate.asking.next_questions``, *random* draws uniformly, and *salmon* draws an anchor at random
and asks about the pair whose answer tells most about where the anchor lies, given the answers about
it so far and every item's place as a candidate. All see the same first answers, and maps are fitted
in the same way. Errors are relative Procrustes errors, scaled; the table has their means, and
the answers that active questions need for the error that random ones reach in the end.

``bench_asking.py --time`` prints the time of a batch.
"""

import argparse
import time
import warnings
from functools import partial
from itertools import product

import numpy as np
from _measure import best_time, heading
from scipy.special import entr

from ordinate import (
    STE,
    PowerEmbedding,
    Triplets,
    asking,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.asking.designs import draw_questions
from ordinate.data.simulate import pair_distances
from ordinate.kernels import losses

SCALES = {"clear": 10.0, "middling": 3.0, "noisy": 1.0}  # of points at a mean squared distance of 1
MARKS = (3, 5, 7, 10, 13, 20, 30, 40)  # answers per coordinate
FIRST = 3
WAYS = ("random", "salmon", "active")
POWER = (0.5, 4.0, 0.05)  # exponent, slope and lapse rate of the power family


class Crowd:
    """People who know the truth and answer with noise."""

    def __init__(self, n: int, d: int, scale: float, noise: str, seed: int) -> None:
        self.points = scale * sample_points(n, d, random_state=seed)
        self.loss = losses.get("ste")
        if noise == "power":
            power, slope, lapse = POWER
            self.loss = losses.get("power", power=power, slope=slope, lapse=lapse)
        self.rng = np.random.default_rng([seed, 1])

    def answer(self, questions: np.ndarray) -> np.ndarray:
        """Return the questions with the item that is called nearer in the second place."""
        anchor, first, second = questions.T
        near = pair_distances(self.points, anchor, first)
        far = pair_distances(self.points, anchor, second)
        says_first = self.rng.random(len(questions)) < self.loss.probability(near, far)
        return np.where(says_first[:, None], questions, questions[:, [0, 2, 1]])


def fit(crowd: Crowd, rows: np.ndarray, before: STE | PowerEmbedding | None):
    """Fit a map with the crowd's own model, from where the last one ended.

    The ridge is that of a normal prior whose variance is the map's own, errors included.
    """
    n, d = crowd.points.shape
    if before is None:
        ridge, init = 1.0, "auto"
    else:
        spread = (before.embedding_**2).sum() + np.trace(before.covariance_, axis1=1, axis2=2).sum()
        ridge, init = n * d / spread, before.embedding_
    options = {"regularization": ridge, "init": init, "random_state": 0}
    if crowd.loss.name == "power":
        power, slope, lapse = POWER
        model = PowerEmbedding(d, power=power, slope=slope, lapse=lapse, **options)
    else:
        model = STE(d, **options)
    return model.fit(Triplets(rows, n_items=n))


def by_salmon(model, loss, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw anchors; ask of each the pair that tells most about which item's place is its own."""
    points, n = model.embedding_, len(model.embedding_)
    distance = ((points[:, None] - points) ** 2).sum(axis=2)
    by_anchor = [rows[rows[:, 0] == anchor, 1:] for anchor in range(n)]
    asked = []
    for anchor in rng.integers(n, size=size):
        near, far = by_anchor[anchor].T
        logarithm = -loss.penalty.value(
            loss.argument(distance[:, near], distance[:, far]), *loss.penalty_shape
        ).sum(axis=1)
        belief = np.exp(logarithm - logarithm.max())
        belief /= belief.sum()
        pairs = draw_questions(n, 40, rng)[:, 1:]
        pairs = pairs[(pairs != anchor).all(axis=1)]
        first = loss.probability(distance[:, pairs[:, 0]], distance[:, pairs[:, 1]])
        mean = belief @ first
        gain = entr(mean) + entr(1 - mean) - belief @ (entr(first) + entr(1 - first))
        asked.append([anchor, *pairs[gain.argmax()]])
    return np.array(asked)


def errors(n: int, d: int, clearness: str, noise: str, seed: int) -> dict[str, list[float]]:
    """Relative errors at every mark, for each way of asking."""
    found: dict[str, list[float]] = {}
    for way in WAYS:
        crowd = Crowd(n, d, SCALES[clearness], noise, seed)
        rng = np.random.default_rng([seed, 2])
        rows = crowd.answer(draw_questions(n, FIRST * d * n, rng))
        model = fit(crowd, rows, None)
        found[way] = []
        for mark in MARKS:
            while len(rows) < mark * d * n:
                size = min(2 * n, mark * d * n - len(rows))
                if way == "active":
                    questions = asking.next_questions(model, size, random_state=rng)
                elif way == "salmon":
                    questions = by_salmon(model, crowd.loss, rows, size, rng)
                else:
                    questions = draw_questions(n, size, rng)
                rows = np.concatenate([rows, crowd.answer(questions)])
                model = fit(crowd, rows, model)
            error = procrustes_error(model.embedding_, crowd.points, scale=True, relative=True)
            found[way].append(error)
    return found


def needed(active: np.ndarray, goal: float) -> float:
    """Answers per coordinate at which mean errors fall to a goal, on a line between marks."""
    below = np.flatnonzero(active <= goal)
    if len(below) == 0:
        return np.inf
    k = int(below[0])
    if k == 0:
        return MARKS[0]
    share = np.log(active[k - 1] / goal) / np.log(active[k - 1] / active[k])
    return MARKS[k - 1] * (MARKS[k] / MARKS[k - 1]) ** share


def table(given: argparse.Namespace) -> None:
    heading("The next questions: relative errors by answers per coordinate")
    print("| n | d | answers | noise | asked |", " | ".join(map(str, MARKS)), "| needed | worst |")
    print("|---|---|---|---|---|" + "---|" * (len(MARKS) + 2))
    for cell in product(given.items, given.dimensions, given.clearness, given.noise):
        runs = [errors(*cell, seed) for seed in range(given.seeds)]
        all_errors = {way: np.array([run[way] for run in runs]) for way in WAYS}
        goal = all_errors["random"].mean(axis=0)[-1]
        for way in WAYS:
            mean = all_errors[way].mean(axis=0)
            worse = all_errors[way] - 1.05 * all_errors["random"]
            error = worse.std(axis=0, ddof=1) / np.sqrt(len(runs))
            shown = " | ".join(f"{value:.3f}" for value in mean)
            n, d, clearness, noise = cell
            print(
                f"| {n} | {d} | {clearness} | {noise} | {way} | {shown} | "
                f"{needed(mean, goal):.1f} | {(worse.mean(axis=0) / error).max():+.1f} SE |",
                flush=True,
            )
    print(
        f"\n{given.seeds} seeds. needed: answers per coordinate for the error of random ones at "
        f"{MARKS[-1]}. worst: by how many standard errors the error exceeds 1.05 times that of "
        "random questions, at any number of answers."
    )


def times() -> None:
    heading("Time of a batch")
    print("| n | questions | s | covariances, s |")
    print("|---|---|---|---|")
    for n, size in ((300, 600), (100_000, 20_000)):
        points = 3 * sample_points(n, 2, random_state=0)
        triplets = sample_triplets(points, 40 * n, random_state=0)
        model = STE(random_state=0).fit(triplets)
        began = time.perf_counter()
        model.covariance_  # noqa: B018 - found on demand
        once = time.perf_counter() - began
        took = best_time(partial(asking.next_questions, model, size, random_state=0))
        print(f"| {n:,} | {size:,} | {took:.3f} | {once:.3f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", nargs="+", type=int, default=[30, 60, 300])
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--clearness", nargs="+", default=list(SCALES), choices=SCALES)
    parser.add_argument("--noise", nargs="+", default=["btl", "power"], choices=["btl", "power"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--time", action="store_true", help="time of a batch instead")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    times() if arguments.time else table(arguments)
