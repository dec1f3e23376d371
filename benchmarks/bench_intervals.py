"""What maps say about distances and comparisons, held against the truth of simulated answers.

``bench_intervals.py [--items 60] [--dimensions 2] [--answers 40] [--runs 12]``; answers are those
per coordinate.
"""

import argparse
from itertools import pairwise

import numpy as np
from _measure import heading

from ordinate import STE, sample_points, sample_triplets

PAIRS = 150  # of each map
BINS = (0.5, 0.7, 0.9, 0.99, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--dimensions", type=int, default=2)
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--runs", type=int, default=12)
    given = parser.parse_args()
    n, d = given.items, given.dimensions
    rng = np.random.default_rng(0)
    held, chances, true = [], [], []
    for seed in range(given.runs):
        points = sample_points(n, d, random_state=seed)
        triplets = sample_triplets(points, given.answers * n * d, random_state=seed)
        model = STE(d, init=points).fit(triplets)
        for _ in range(PAIRS):
            a, b, c = rng.choice(n, 3, replace=False)
            near, far = (np.linalg.norm(points[a] - points[k]) for k in (b, c))
            found, chance = model.distance_interval(a, b), model.closer(a, b, c)
            held.append(found.low <= near <= found.high)
            chances.append(max(chance, 1 - chance))
            true.append((near < far) == (chance > 0.5))
    heading(f"Distances and comparisons: n = {n}, d = {d}, {given.answers} answers per coordinate")
    print(f"{np.mean(held):.1%} of {len(held):,} intervals of 95 % hold the true distance\n")
    print("| probability | comparisons | on average | came true |\n|---|---|---|---|")
    chances, true = np.array(chances), np.array(true)
    for low, high in pairwise(BINS):
        here = (chances >= low) & ((chances < high) | (high == 1))
        shares = f"{chances[here].mean():.1%} | {true[here].mean():.1%}"
        print(f"| {low:.0%} to {high:.0%} | {here.sum()} | {shares} |")


if __name__ == "__main__":
    main()
