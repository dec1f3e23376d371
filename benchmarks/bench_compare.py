"""How often two maps of one population are said to differ, and an item that moved is named.

``bench_compare.py [--cells 60,2,40 ...] [--runs 200] [--moved 1.0] [--answers] [--odd]``: a cell is
a number of items, of dimensions, and of answers per coordinate of each map. Answers err as Bradley,
Terry and Luce have it, about normal points of standard deviation sqrt(1 / (2 d)) an axis; in a
quarter as many more runs, one item of the second population is elsewhere by ``--moved`` times the
typical distance from the middle. ``--answers`` deals answers anew in place of asking covariances;
``--odd`` asks for the odd one of three, two triplets an answer. Run k has seed k, counted
from ``--first-seed``.
"""

import argparse
import time

import numpy as np
from _measure import heading

from ordinate import STE, Triplets, answers, compare, sample_points, sample_triplets

CELLS = ["30,2,40", "60,2,20", "60,2,40", "60,2,200", "200,2,40", "60,5,40", "60,1,40"]
MOVED_ITEM = 3


def odd_ones(points: np.ndarray, m: int, seed: int) -> Triplets:
    """Of three items at random, the one that does not belong: a softmax of the pairs' distances."""
    generator = np.random.default_rng(seed)
    three = generator.random((m, len(points))).argpartition(3, axis=1)[:, :3]
    pairs = [three[:, [1, 2]], three[:, [0, 2]], three[:, [0, 1]]]
    scores = [
        -((points[i] - points[j]) ** 2).sum(axis=1) + generator.gumbel(size=m)
        for i, j in (pair.T for pair in pairs)
    ]
    odd = np.argmax(scores, axis=0)
    kept = np.stack(pairs, axis=1)[np.arange(m), odd]
    return answers.odd_one_out(*kept.T, three[np.arange(m), odd], items=range(len(points)))


def run(cell: tuple[int, int, int], seed: int, moved: float, given: argparse.Namespace) -> tuple:
    """Whether maps differ, and which items moved, as far as anyone can tell."""
    n, d, k = cell
    first = sample_points(n, d, random_state=seed)
    second = first.copy()
    direction = np.random.default_rng(seed).normal(size=d)
    second[MOVED_ITEM] += moved * 0.5**0.5 * direction / np.linalg.norm(direction)
    ask = odd_ones if given.odd else lambda p, m, s: sample_triplets(p, m, random_state=s)
    sets = [ask(p, k * n * d, 10_000 + 2 * seed + j) for j, p in enumerate((first, second))]
    estimator = STE(d, random_state=0, init=first, n_init=1)
    if given.answers:
        found = compare(
            estimator, None, answers=sets, n_permutations=given.permutations, random_state=seed
        )
    else:
        found = compare(*(STE(**estimator.get_params()).fit(each) for each in sets))
    return found.differ, found.moved.tolist(), found.error, found.dispersion or np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--moved", type=float, default=1.0)
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--permutations", type=int, default=39)
    given = parser.parse_args()
    heading("Two maps: one population, and one item that moved")
    print(
        "| items | dimensions | answers per coordinate | apart | dispersion | false alarms | "
        "items named wrongly | moved: differ | moved: named | it alone | s |"
        "\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for text in given.cells:
        n, d, k = map(int, text.split(","))
        began = time.perf_counter()
        seeds = range(given.first_seed, given.first_seed + given.runs)
        same = [run((n, d, k), seed, 0.0, given) for seed in seeds]
        other = [run((n, d, k), seed, given.moved, given) for seed in seeds[: given.runs // 4]]
        print(
            f"| {n} | {d} | {k} | {np.mean([row[2] for row in same]):.2f} | "
            f"{np.mean([row[3] for row in same]):.2f} | "
            f"{np.mean([row[0] for row in same]):.1%} | "
            f"{np.mean([bool(row[1]) for row in same]):.1%} | "
            f"{np.mean([row[0] for row in other]):.0%} | "
            f"{np.mean([MOVED_ITEM in row[1] for row in other]):.0%} | "
            f"{np.mean([row[1] == [MOVED_ITEM] for row in other]):.0%} | "
            f"{time.perf_counter() - began:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
