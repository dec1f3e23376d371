"""STE from its starts: passes, time to reach the final error, warm starts, real data.

``--quick`` takes a tenth of the triplets; ``--data DIR`` adds the Food data (DIR/food100).
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _measure import heading

from ordinate import LOE, STE, align, n_landmarks, procrustes_error, sample_points
from ordinate import sample_triplets as sample
from ordinate.algorithms.optimise import Step


def timed_fit(model: STE, truth: np.ndarray, *args, **kwargs) -> dict:
    """Fit, noting time and error at every step; the clock stops while errors are computed."""
    track, paused = [], 0.0
    began = time.perf_counter()

    def note(step: Step) -> None:
        nonlocal paused
        here = time.perf_counter()
        error = procrustes_error(step.embedding, truth, relative=True)
        track.append((here - began - paused, error))
        paused += time.perf_counter() - here

    model.set_params(callback=note)
    model.fit(*args, **kwargs)
    total = time.perf_counter() - began - paused
    final = procrustes_error(model.embedding_, truth, relative=True)
    reached = next(seconds for seconds, error in track if error <= 1.05 * final)
    return {
        "start": model.init_.name,
        "start_error": track[0][1],
        "start_s": track[0][0],
        "reached_s": reached,
        "total_s": total,
        "error": final,
        "passes": model.n_passes_,
    }


def line(name: str, row: dict) -> None:
    print(
        f"| {name} | {row['start_s']:.2f} | {row['start_error']:.3f} | {row['reached_s']:.2f} | "
        f"{row['total_s']:.2f} | {row['error']:.4f} | {row['passes']:.1f} |",
        flush=True,
    )


HEAD = (
    "| method | start, s | its error | within 5 % of the end, s | total, s | error | passes |"
    "\n|---|---|---|---|---|---|---|"
)


def starts(n: int, d: int, c: float) -> None:
    m = round(c * n * np.log(n))
    print(f"\nUniform triplets, n = {n:,}, d = {d}, c = {c:g}: {m:,}\n\n{HEAD}")
    truth = sample_points(n, d, random_state=0)
    triplets = sample(truth, m, random_state=1)
    for start in ("spectral", "random"):
        line(f"STE, {start} start", timed_fit(STE(d, init=start, random_state=0), truth, triplets))


def warm_start(n: int, d: int, c: float, epsilon: float) -> None:
    """The paper's protocol: a share epsilon about landmarks for LOE, the rest uniform for STE."""
    m = round(c * n * np.log(n))
    print(f"\nWarm start, n = {n:,}, d = {d}, c = {c:g}, epsilon = {epsilon:g}: {m:,}\n\n{HEAD}")
    truth = sample_points(n, d, random_state=0)
    about = round(epsilon * m)
    landmark = sample(
        truth, about, design="landmarks", landmarks=n_landmarks(n, d, about), random_state=2
    )
    rest = sample(truth, m - about, random_state=3)
    model = STE(d, init="loe", random_state=0)
    line("LOE-STE", timed_fit(model, truth, rest, init_triplets=landmark))
    every = sample(truth, m, random_state=1)
    for start in ("random", "spectral"):
        line(f"STE, {start} start", timed_fit(STE(d, init=start, random_state=0), truth, every))


def finish(n: int, c: float, landmarks: int) -> None:
    m = round(c * n * np.log(n))
    truth = sample_points(n, 2, random_state=0)
    triplets = sample(truth, m, design="landmarks", landmarks=landmarks, random_state=1)
    alone = procrustes_error(LOE().fit(triplets).embedding_, truth, relative=True)
    print(
        f"\nFinishing LOE on its own {m:,} triplets, n = {n:,}, {landmarks} landmarks: LOE alone "
        f"{alone:.4f}\n\n{HEAD}"
    )
    line("LOE, finished", timed_fit(STE(init=LOE()), truth, triplets))


def food(folder: Path) -> None:
    rows = np.load(folder / "food100" / "triplets_all.npy")
    print(f"\nFood, {len(rows):,} triplets, d = 2, strict tolerance; median time of 30 runs\n")
    print("| start | time, s | passes | loss | aligned difference |\n|---|---|---|---|---|")
    expected = None
    for name, start in (
        ("spectral", "spectral"),
        ("LOE, 25 landmarks", LOE(landmarks=25)),
        ("random", "random"),
    ):
        seconds = []
        for seed in range(30):
            began = time.perf_counter()
            model = STE(init=start, tol=1e-7, random_state=seed).fit(rows)
            seconds.append(time.perf_counter() - began)
        found = model.embedding_
        expected = found if expected is None else expected
        apart = np.abs(align(found, expected) - expected).max()
        print(
            f"| {name} | {np.median(seconds):.3f} | {model.n_passes_:.1f} | {model.loss_:.6f} | "
            f"{apart:.1e} |",
            flush=True,
        )


FIRST = """
import time, numpy as np
from ordinate import STE
rows = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [3, 0, 1], [1, 3, 2]] * 200)
began = time.perf_counter(); STE(random_state=0, regularization=1).fit(rows)
first = time.perf_counter() - began
began = time.perf_counter(); STE(random_state=0, regularization=1).fit(rows)
print(f"{first - (time.perf_counter() - began):.2f}")
"""


def first_call() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(4)
    ]
    print(f"\nThe first fit of a process, with compiled code on disk, adds {', '.join(runs[1:])} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the triplets")
    parser.add_argument("--data", type=Path, help="folder with food100/ (optional)")
    arguments = parser.parse_args()
    share = 0.1 if arguments.quick else 1
    heading("Maps from any triplets")
    first_call()
    if arguments.data:
        food(arguments.data)
    starts(10_000, 2, 200 * share)
    finish(10_000, 200 * share, 40)
    warm_start(100_000, 2, 50 * share, 0.3)
    warm_start(20_000, 10, 200 * share, 0.2)
