"""Warm starts: the paper's figures 2a and 2b."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ordinate.study.experiments._frame import (
    PASSES,
    Cell,
    Experiment,
    Row,
    Verdict,
    curves,
    figure,
    mean_by,
    n_log_n,
    of_kind,
    steps_of,
    uniform,
)
from ordinate.study.experiments._protocols import cold, spectral, warm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WARM = "LOE-STE"


def cells(scale: str) -> list[Cell]:
    """The paper's two settings, three trials each."""
    settings = {
        "quick": [(4000, 2, 50, 0.3), (1500, 10, 100, 0.2)],
        "paper": [(100_000, 2, 50, 0.3), (20_000, 10, 200, 0.2)],
    }
    trials = {"quick": 1, "paper": 3}[scale]
    return [
        {"n": n, "d": d, "c": c, "epsilon": epsilon, "trial": trial}
        for n, d, c, epsilon in settings[scale]
        for trial in range(trials)
    ]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """LOE-STE and the baselines, with the same number of triplets each."""
    n, d, seed = cell["n"], cell["d"], cell["trial"]
    m = n_log_n(n, cell["c"])
    points, triplets = uniform(n, d, m, seed)
    runs = {WARM: warm(points, m, cell["epsilon"], seed)}
    runs |= cold(points, triplets, seed) | {"STE, spectral": spectral(points, triplets, seed)}
    target = 1.1 * max(run.error for name, run in runs.items() if "GNMDS" not in name)
    rows = []
    for name, run in runs.items():
        rows += steps_of(run, **cell, method=name)
        reached = run.reached(target)
        rows[-1]["to a low error"] = reached if np.isfinite(reached) else None
    return rows


def draw(rows: list[Row]) -> "Figure":
    """Error against time, a panel per setting."""
    settings = list(dict.fromkeys((r["n"], r["d"], r["c"]) for r in rows))
    made, axes = figure(len(settings))
    for panel, (n, d, c) in zip(axes, settings, strict=True):
        chosen = [r for r in of_kind(rows, "step") if (r["n"], r["d"], r["c"]) == (n, d, c)]
        curves(panel, chosen)
        panel.set(title=f"n = {n:,}, d = {d}, c = {c}", ylim=(0, 1.05))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """LOE-STE reaches a low error sooner, and its final error is competitive."""
    ends = of_kind(rows, "end")
    to = mean_by(ends, "n", "d", "method", value="to a low error")
    error = mean_by(ends, "n", "d", "method", value="error")
    verdicts = []
    for n, d in dict.fromkeys((r["n"], r["d"]) for r in ends):
        sooner, later = to[n, d, WARM][0], to[n, d, "STE, cold"][0]
        spectral_too = to[n, d, "STE, spectral"][0]
        verdicts.append(
            Verdict(
                f"LOE-STE reaches a low error much sooner than STE, n = {n:,}, d = {d}",
                f"{sooner:.2f} s against {later:.2f} s (ours from the spectral start: "
                f"{spectral_too:.2f} s)",
                sooner < later,
            )
        )
        ratio = error[n, d, WARM][0] / error[n, d, "STE, cold"][0]
        verdicts.append(
            Verdict(
                f"its final error is competitive, n = {n:,}, d = {d}",
                f"{error[n, d, WARM][0]:.4f} against {error[n, d, 'STE, cold'][0]:.4f}; it uses "
                "the landmark triplets for the start alone",
                ratio < 1.3,
            )
        )
    return verdicts


EXPERIMENT = Experiment(
    "warm-start",
    "LOE as a start for STE",
    "A share epsilon of the triplets about landmarks for LOE, the rest uniform for STE. The paper: "
    "LOE-STE reaches low errors much sooner, and its final error is competitive.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: (1 + cell["d"] / 3) * 2 * PASSES * n_log_n(cell["n"], cell["c"]),
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], cell["c"]),
)
