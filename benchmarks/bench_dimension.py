"""How often the number of dimensions is found, by how many answers there are.

``bench_dimension.py [--dimensions 1 2 3 5] [--answers 100 5] [--items 60] [--runs 20]``: answers of
people who err as Bradley, Terry and Luce have it, about normal points; dimensions 1 to 6 are tried.
Run k has seed k. The times are those of the whole choice, over that of a plain STE fit in the true
dimension.
"""

import argparse
import time

import numpy as np
from _measure import heading

from ordinate import STE, choose_dimension, sample_points, sample_triplets


def run(d: int, n: int, answers: int, seed: int) -> tuple[int | None, float, float]:
    """What is found, the time over that of STE, and seconds."""
    points = sample_points(n, d, random_state=seed)
    triplets = sample_triplets(points, answers * n * d, random_state=1000 + seed)
    began = time.perf_counter()
    STE(d, random_state=seed).fit(triplets)
    plain = time.perf_counter() - began
    began = time.perf_counter()
    found = choose_dimension(triplets, random_state=seed).n_components
    seconds = time.perf_counter() - began
    return found, seconds / plain, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[1, 2, 3, 5])
    parser.add_argument("--answers", nargs="+", type=int, default=[100, 5], help="per coordinate")
    parser.add_argument("--items", nargs="+", type=int, default=[60])
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    heading("The number of dimensions")
    print(
        "| items | dimensions | answers per coordinate | found | too few | wrong | time / STE | s |"
        "\n|---|---|---|---|---|---|---|---|"
    )
    for n in given.items:
        for d in given.dimensions:
            for answers in given.answers:
                runs = [run(d, n, answers, seed) for seed in range(given.runs)]
                found = [row[0] for row in runs]
                wrong = sorted(k for k in found if k not in (d, None))
                print(
                    f"| {n} | {d} | {answers} | {found.count(d)} | {found.count(None)} | "
                    f"{len(wrong)}{f': {wrong}' if wrong else ''} | "
                    f"{np.median([row[1] for row in runs]):.0f} | "
                    f"{np.median([row[2] for row in runs]):.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
