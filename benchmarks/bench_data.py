"""Import, simulation, checking and grouping: rows per second, and the ratio to a bare read."""

import subprocess
import sys

import numpy as np
from _measure import best_time, heading, read_time

import ordinate
from ordinate import Triplets, sample_points, sample_triplets


def import_seconds(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    heading("Import")
    plain, ours = import_seconds("numpy"), import_seconds("numpy, ordinate")
    print(f"import numpy {plain:.3f} s; ordinate adds {ours - plain:.3f} s")

    heading("Rows of triplets, n = 1e5, d = 2")
    n, m = 100_000, 20_000_000
    points = sample_points(n, 2, random_state=0)
    triplets = sample_triplets(points, m, random_state=0)
    read = read_time(triplets.rows)
    shuffled_columns = Triplets(triplets.rows, n_items=n, weight=np.ones(m))
    tasks = {
        "bare read": None,
        "simulate, uniform": lambda: sample_triplets(points, m, random_state=0),
        "simulate, 24 landmarks": lambda: sample_triplets(
            points, m, design="landmarks", landmarks=24, random_state=0
        ),
        "check": lambda: Triplets(triplets.rows, n_items=n),
        "group by anchor": triplets.grouped,
        "group, with weights": shuffled_columns.grouped,
    }
    print("| task | threads | million rows / s | times a bare read |")
    print("|---|---|---|---|")
    for name, task in tasks.items():
        for threads in (1, 2):
            with ordinate.threads(threads):
                seconds = read_time(triplets.rows) if task is None else best_time(task)
            print(f"| {name} | {threads} | {m / seconds / 1e6:.0f} | {seconds / read:.1f} |")


if __name__ == "__main__":
    main()
