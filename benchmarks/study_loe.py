"""The studies behind LOE's defaults: recovery, number of landmarks, ridge.

Prints the Markdown tables of docs/loe.md. Errors are relative Procrustes errors without scaling.
"""

import argparse

import numpy as np
from _measure import heading

from ordinate import LOE, procrustes_error, sample_points, sample_triplets
from ordinate.algorithms import ranking as ranking_module


def error(n, d, c, landmarks, seed, distribution="normal", **options) -> float:
    points = sample_points(n, d, distribution=distribution, random_state=seed)
    triplets = sample_triplets(
        points,
        round(c * n * np.log(n)),
        design="landmarks",
        landmarks=landmarks,
        random_state=1000 + seed,
    )
    model = LOE(d, landmarks=np.unique(triplets.rows[:, 0]), **options).fit(triplets)
    return procrustes_error(model.embedding_, points, relative=True)


def cell(errors: list[float]) -> str:
    return f"{np.mean(errors):.3f} ({np.max(errors):.3f})"


def recoveries() -> None:
    heading("Recovery and number of landmarks: mean error (worst)")
    print("| n | d | c | seeds | landmarks | comparisons per item and column | edm | lift | auto |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n, d, c, seeds, numbers in [
        (10_000, 2, 200, 10, (5, 8, 12, 24, 40, 80)),
        (10_000, 2, 50, 10, (5, 8, 12, 24, 40)),
        (10_000, 3, 100, 5, (6, 14, 32, 60)),
        (20_000, 10, 200, 3, (13, 20, 40, 88, 160)),
        (100, 2, 200, 20, (5, 12, 24)),
        (100, 10, 1000, 10, (13, 28)),
    ]:
        for landmarks in numbers:
            found = [
                cell([error(n, d, c, landmarks, s, recovery=recovery) for s in range(seeds)])
                for recovery in ("edm", "lift", "auto")
            ]
            per_item = 2 * c * np.log(n) / landmarks
            print(
                f"| {n:,} | {d} | {c} | {seeds} | {landmarks} | {per_item:.0f} | "
                + " | ".join(found)
                + " |",
                flush=True,
            )


def ridges() -> None:
    heading("Ridge: mean error for lambda = a / variance of the scores")
    factors = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0)
    print("| n | d | c | landmarks | per item | " + " | ".join(f"a = {a}" for a in factors) + " |")
    print("|---|---|---|---|---|" + "---|" * len(factors))
    default = ranking_module.RIDGE
    for n, d, c, landmarks, seeds, distribution in [
        (100, 2, 10, 12, 20, "normal"),
        (100, 2, 50, 12, 20, "normal"),
        (100, 2, 200, 12, 20, "uniform"),
        (100, 10, 200, 28, 6, "normal"),
        (2_000, 2, 5, 20, 6, "normal"),
        (2_000, 2, 10, 20, 6, "normal"),
        (2_000, 2, 50, 20, 6, "normal"),
        (10_000, 2, 200, 40, 3, "normal"),
        (10_000, 10, 100, 40, 2, "normal"),
    ]:
        found = []
        for factor in factors:
            ranking_module.RIDGE = factor
            runs = [error(n, d, c, landmarks, s, distribution) for s in range(seeds)]
            found.append(f"{np.mean(runs):.3f}")
        per_item = 2 * c * np.log(n) / landmarks
        print(
            f"| {n:,} | {d} | {c} {distribution} | {landmarks} | {per_item:.0f} | "
            + " | ".join(found)
            + " |",
            flush=True,
        )
    ranking_module.RIDGE = default


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", choices=["recovery", "ridge"])
    chosen = parser.parse_args().study
    if chosen != "ridge":
        recoveries()
    if chosen != "recovery":
        ridges()
