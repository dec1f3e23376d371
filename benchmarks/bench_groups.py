"""How often groups of one population are said to differ, and of two.

``bench_groups.py [--cells 15,600,1,1,0 ...] [--runs 200] [--first-seed 0] [--moved 0.7]``: a cell
is a number of items, of answers in each of two groups, how many times as often each group is asked
about its half of the items, how large the map is, whose points have a mean square of half its
square, and how many people each group has (0: answers by nobody in particular). STE in two
dimensions, no ridge; people err as Bradley, Terry and Luce have it, and, where there are any, have
maps of their own. In a quarter as many more runs, three items of the second population are
elsewhere, each coordinate by ``--moved`` times the map's standard deviation.
"""

import argparse
import time
import warnings

import numpy as np
from _measure import heading

from ordinate import STE, Triplets, compare_groups, sample_points

CELLS = [
    "12,60,1,1,0",
    "12,60,1,3,0",
    "15,150,8,1,0",
    "12,150,4,3,0",
    "15,600,1,1,0",
    "15,600,1,1,6",
]
OWN = 0.3  # how far a person's map is from the population's, over its size


def answers(points: np.ndarray, m: int, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Answers about three items, drawn in proportion to how often each is ``wanted``."""
    drawn = (rng.gumbel(size=(m, len(points))) + np.log(wanted)).argpartition(-3, axis=1)[:, -3:]
    rows = rng.permuted(drawn, axis=1)
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    turned = rng.random(m) > 1 / (1 + np.exp(near - far))
    rows[turned] = rows[turned][:, [0, 2, 1]]
    return rows


def run(cell: list[float], seed: int, moved: float) -> tuple[bool, float]:
    """Whether two groups are said to differ, and the log-likelihood of a triplet by own maps."""
    n, m, uneven, size, people = (*map(int, cell[:2]), *cell[2:4], int(cell[4]))
    rng = np.random.default_rng(seed)
    truth = size * sample_points(n, 2, random_state=seed)
    tables = []
    for group in (0, 1):
        points = truth.copy()
        points[:3] += group * moved * size / 2 * rng.choice([-1, 1], size=(3, 2))
        wanted = np.where((np.arange(n) < n / 2) == (group == 0), uneven, 1.0)
        for _ in range(max(people, 1)):
            own = points + (OWN * size * rng.normal(size=points.shape) / 2 if people else 0.0)
            tables.append(answers(own, m // max(people, 1), wanted, rng))
    who = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    triplets = Triplets(np.concatenate(tables), n_items=n, participant=who if people else None)
    estimator = STE(2, init=truth, n_init=1)
    found = compare_groups(estimator, triplets, who // max(people, 1), folds=2, random_state=seed)
    return found.differ, np.mean([group.own for group in found.groups])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--moved", type=float, default=0.7)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heading("Two groups: of one population, and of two")
    print(
        "| items | answers each | asked unevenly | size | people | false alarms | told apart | "
        "log-likelihood by own maps | s |\n|---|---|---|---|---|---|---|---|---|"
    )
    for text in given.cells:
        cell = [float(number) for number in text.split(",")]
        began = time.perf_counter()
        seeds = range(given.first_seed, given.first_seed + given.runs)
        same = [run(cell, seed, 0.0) for seed in seeds]
        other = [run(cell, seed, given.moved) for seed in seeds[: given.runs // 4]]
        print(
            f"| {' | '.join(text.split(','))} | {np.mean([row[0] for row in same]):.1%} | "
            f"{np.mean([row[0] for row in other]):.0%} | {np.mean([row[1] for row in same]):.2f} | "
            f"{time.perf_counter() - began:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
