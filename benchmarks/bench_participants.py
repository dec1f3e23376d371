"""Participants weighed by how often they guess: unseen answers with and without, and maps.

``bench_participants.py [DIR] [--folds 5] [--parts simulated weighed differences] [--sets NAMES]
[--methods ste ordinal]``, DIR holding published sets that say who answered. Each
answer is predicted by maps of the other folds; differences are paired by answer, positive where
weighing predicts better. "planted": every fifth participant's answers are replaced by guesses; the
answers of the others judge. Then the test of individual differences. Without DIR there is the
simulation alone: 40 items, 30 participants, 6 of whom guess.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from _measure import heading
from bench_people import difference

from ordinate import (
    STE,
    OrdinalEmbedding,
    ParticipantEmbedding,
    TripletKFold,
    Triplets,
    individual_differences,
    procrustes_error,
    readers,
    sample_points,
    sample_triplets,
)

SETS = {
    "letters_latin": "letters_latin/trials.csv",
    "next_eggs300": "next_eggs300/responses.csv",
}
ESTIMATORS = {"ste": STE, "ordinal": OrdinalEmbedding}
PARTS = ("simulated", "weighed", "differences")
PEOPLE = 30


def simulated(seed: int, n_guessing: int, each: int) -> tuple[np.ndarray, Triplets]:
    """Answers of 30 people, the first of whom guess; squared distances of 2 on average."""
    points = 2**0.5 * sample_points(40, random_state=seed)
    who = np.repeat(np.arange(PEOPLE), each)
    rows = sample_triplets(points, len(who), random_state=seed + 1000).rows.copy()
    guesses = sample_triplets(points, len(who), noise=0.5, random_state=seed + 2000).rows
    rows[who < n_guessing] = guesses[who < n_guessing]
    return points, Triplets(rows, participant=who, n_items=40)


def simulation(n_guessing: int, each: int, n_seeds: int) -> None:
    found = []
    for seed in range(n_seeds):
        points, triplets = simulated(seed, n_guessing, each)
        weighed = ParticipantEmbedding(STE(random_state=0), random_state=0).fit(triplets)
        plain = STE(random_state=0).fit(triplets)
        careful = STE(random_state=0).fit(triplets[triplets.participant >= n_guessing])
        at_chance = weighed.participants_.at_chance
        errors = [
            procrustes_error(model.embedding_, points, scale=True, relative=True)
            for model in (plain, weighed, careful)
        ]
        right = (at_chance < n_guessing).sum()
        found.append([*errors, right, len(at_chance) - right])
    plain, weighed, careful, right, wrong = np.mean(found, axis=0)
    print(
        f"| {n_guessing} | {each} | {plain:.3f} | {weighed:.3f} | {careful:.3f} | {right:.1f} | "
        f"{wrong:.2f} |",
        flush=True,
    )


def planted(triplets: Triplets) -> Triplets:
    """Every fifth participant's answers are guesses: of three items, or of two."""
    generator = np.random.default_rng(0)
    answer = triplets.groups("answer")
    rows = triplets.rows.copy()
    guessed = triplets.participant % 5 == 0
    if answer.max() + 1 == len(rows):
        turned = guessed & (generator.random(len(rows)) < 0.5)
        rows[turned] = rows[turned][:, [0, 2, 1]]
    else:  # (a, b, odd), (b, a, odd): any of the three may be odd
        first = np.flatnonzero(guessed)[::2]
        a, b, odd = generator.permuted(rows[first], axis=1).T
        rows[first], rows[first + 1] = np.column_stack([a, b, odd]), np.column_stack([b, a, odd])
    names = triplets.participant_labels[triplets.participant]
    return Triplets(rows, items=triplets.items, answer=triplets.answer, participant=names)


def cell(name: str, method: str, triplets: Triplets, judging: np.ndarray, folds: int) -> None:
    loss, right = np.full((2, 2, len(triplets)), np.nan)
    base = ESTIMATORS[method](2, random_state=0)
    for train, test in TripletKFold(folds, random_state=0).split(triplets):
        for k, estimator in enumerate((base, ParticipantEmbedding(base, random_state=0))):
            given = estimator.fit(triplets[train]).predict_proba(triplets[test])[:, 1]
            loss[k, test], right[k, test] = -np.log(given), (1 + np.sign(given - 0.5)) / 2
    judged = triplets[judging]
    by, error = difference(loss[0, judging], loss[1, judging], judged)
    more, its_error = difference(right[1, judging], right[0, judging], judged)
    print(
        f"| {name} | {method} | {-loss[0, judging].mean():.4f} | {-loss[1, judging].mean():.4f} | "
        f"{by:+.4f} ± {error:.4f} | {right[0, judging].mean():.4f} | {more:+.4f} ± "
        f"{its_error:.4f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(ESTIMATORS), choices=ESTIMATORS)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heading("Participants who guess")
    if "simulated" in given.parts:
        print(
            "| guessing | answers each | map error: plain | weighed | of the others alone "
            "| found | wrongly |\n|---|---|---|---|---|---|---|"
        )
        for n_guessing, each in ((6, 60), (6, 150), (6, 300), (0, 150)):
            simulation(n_guessing, each, given.seeds)
    if given.data is None:
        return
    sets = {name: readers.read(given.data / SETS[name]).triplets for name in given.sets}
    if "weighed" in given.parts:
        print(
            "\n| set | method | log-likelihood: plain | weighed | gain | accuracy: plain | gain |\n"
            "|---|---|---|---|---|---|---|"
        )
        for name, triplets in sets.items():
            everyone, others = np.ones(len(triplets), bool), triplets.participant % 5 != 0
            for method in given.methods:
                cell(name, method, triplets, everyone, given.folds)
                cell(f"{name}, planted", method, planted(triplets), others, given.folds)
    if "differences" in given.parts:
        for name, triplets in sets.items():
            found = individual_differences(STE(2, random_state=0), triplets)
            print(f"\n{name}: {found}", flush=True)


if __name__ == "__main__":
    main()
