"""Scaling in the number of items: the paper's figures 1a and 1b, and those of its appendix."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.study.experiments._frame import (
    PASSES,
    Cell,
    Experiment,
    Row,
    Verdict,
    curves,
    figure,
    lines,
    n_log_n,
    of_kind,
    steps_of,
    uniform,
)
from ordinate.study.experiments._protocols import cold, loe, spectral

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "LOE, d+3 landmarks"
OURS = "LOE"


def cells(scale: str) -> list[Cell]:
    """The paper's n, and three trials of each."""
    numbers = {"quick": [2000, 4000, 8000], "paper": [20_000, 40_000, 60_000, 80_000, 100_000]}
    trials = {"quick": 2, "paper": 3}[scale]
    c = {"quick": 50, "paper": 200}[scale]
    return [
        {"n": n, "d": 2, "c": c, "trial": trial} for n in numbers[scale] for trial in range(trials)
    ]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """LOE to its end, and the baselines with the time at which they reach LOE's error."""
    n, d, seed = cell["n"], cell["d"], cell["trial"]
    m = n_log_n(n, cell["c"])
    load_kernels(d, cell["c"])
    points, triplets = uniform(n, d, m, seed)
    runs = cold(points, triplets, seed) | {"STE, spectral": spectral(points, triplets, seed)}
    del triplets
    runs[PAPER] = loe(points, m, d + 3, seed, recovery="edm")
    runs[OURS] = loe(points, m, n_landmarks(n, d, m), seed)
    rows = []
    for name, run in runs.items():
        rows += steps_of(run, **cell, method=name)
        reached = {f"to {target}": run.reached(runs[target].error) for target in (PAPER, OURS)}
        rows[-1] |= {k: v if np.isfinite(v) else None for k, v in reached.items()}
    return rows


def load_kernels(d: int, c: float) -> None:
    """Fit all methods to little data: first fits load kernels, which is not what is measured."""
    points, triplets = uniform(500, d, 20_000, 0)
    cold(points, triplets, 0)
    spectral(points, triplets, 0)
    # Many comparisons per item, and few, have kernels of their own.
    loe(points, n_log_n(500, 4 * c), d + 3, 0, recovery="edm")
    loe(points, 20_000, d + 3, 0)


def draw(rows: list[Row]) -> "Figure":
    """Time against error at the largest n; time to LOE's error, and the errors, against n."""
    made, axes = figure(4, columns=2)
    largest = max(row["n"] for row in rows)
    curves(axes[0], [row for row in of_kind(rows, "step") if row["n"] == largest])
    axes[0].set(title=f"n = {largest:,}", ylim=(0, 1.05))
    ends = of_kind(rows, "end")
    to_loe = [r for r in ends if r["method"] != OURS]
    lines(axes[1], to_loe, "n", f"to {PAPER}", "method")
    axes[1].set(ylabel="seconds", yscale="log", title="time to LOE's error")
    lines(axes[2], ends, "n", "error", "method")
    axes[2].set(ylabel="relative Procrustes error", ylim=(0, None))
    lines(axes[3], ends, "n", "wrong", "method")
    axes[3].set(ylabel="triplet error", ylim=(0, None))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """Baselines take several times LOE's time, and more so for larger n; LOE is linear."""
    ends = of_kind(rows, "end")
    largest, smallest = max(r["n"] for r in ends), min(r["n"] for r in ends)
    # Medians, since one disturbed run would outweigh the others; never reaching it is infinity.
    runs: dict[tuple, list[float]] = {}
    for r in ends:
        runs.setdefault((r["method"], r["n"], "seconds"), []).append(r["seconds"])
        for target in (PAPER, OURS):
            reached = r.get(f"to {target}") or np.inf
            runs.setdefault((r["method"], r["n"], target), []).append(reached)
    median = {key: float(np.median(values)) for key, values in runs.items()}

    def compare(name: str, target: str) -> tuple[float, str]:
        """How many times LOE's time another takes to reach its error, and that in words."""
        to, time = median[name, largest, target], median[target, largest, "seconds"]
        never = sum(map(np.isinf, runs[name, largest, target]))
        missed = f"; never in {never} of {len(runs[name, largest, target])} trials"
        told = f"{to / time:.1f} times ({to:.2f} s against {time:.2f} s)"
        return to / time, told + missed * bool(never)

    verdicts = []
    for name in ("STE, cold", "GNMDS, cold"):
        ratio, told = compare(name, PAPER)
        claim = f"{name} needs about 6 times LOE's time to reach its error, n = {largest:,}"
        verdicts.append(Verdict(claim, told, ratio >= 3))
    if largest > smallest:
        gaps = [
            median["STE, cold", n, PAPER] - median[PAPER, n, "seconds"] for n in (smallest, largest)
        ]
        told = f"{gaps[0]:.2f} s at n = {smallest:,}, {gaps[1]:.2f} s at n = {largest:,}"
        verdicts.append(Verdict("the gap grows with n", told, gaps[1] > gaps[0] > 0))
        growth = np.log(median[PAPER, largest, "seconds"] / median[PAPER, smallest, "seconds"])
        slope = growth / np.log(n_log_n(largest, 1) / n_log_n(smallest, 1))
        told = f"it grows like m to the power {slope:.2f}"
        linear = bool(slope < 1.3) if largest > 20_000 else None
        verdicts.append(Verdict("LOE's time is linear in n and m", told, linear))
    for target in (PAPER, OURS):
        ratio, told = compare("STE, spectral", target)
        claim = f"ours: {target} is faster to its error than our STE from the spectral start"
        verdicts.append(Verdict(claim, told, ratio > 1))
    return verdicts


EXPERIMENT = Experiment(
    "scaling",
    "Scaling in the number of items",
    "d = 2, m = c n log n. The paper: baselines take about 6 times as long as LOE to reach its "
    "error at n = 100,000, and the gap grows; LOE's time is linear in n.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 2.5 * PASSES * n_log_n(cell["n"], cell["c"]),
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], cell["c"]),
)
