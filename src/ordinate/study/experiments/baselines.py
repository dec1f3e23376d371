"""Kernel forms against non-convex ones: the paper's appendix."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ordinate.estimators import GNMDSKer, STEKer, STEProj
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
    track,
    uniform,
)
from ordinate.study.experiments._protocols import cold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = {"STE-Ker": STEKer, "STE-Proj": STEProj, "GNMDS-Ker": GNMDSKer}


def cells(scale: str) -> list[Cell]:
    """One n; the kernel forms get as many steps as show where they go."""
    n, c, steps = {"quick": (150, 100, 15), "paper": (1000, 200, 30)}[scale]
    return [{"n": n, "d": 2, "c": c, "steps": steps, "trial": 0}]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Errors against time of all five."""
    n, d, seed = cell["n"], cell["d"], cell["trial"]
    points, triplets = uniform(n, d, n_log_n(n, cell["c"]), seed)
    runs = cold(points, triplets, seed)
    with warnings.catch_warnings():
        # They are stopped long before they converge: that is the point.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, form in FORMS.items():
            runs[name] = track(form(d, max_iter=cell["steps"]), points, triplets)
    end = max(runs["STE, cold"].seconds, runs["GNMDS, cold"].seconds)
    rows = []
    for name, run in runs.items():
        rows += steps_of(run, **cell, method=name)
        rows[-1]["error when the others have converged"] = min(
            (error for seconds, error in run.curve if seconds <= end), default=run.curve[0][1]
        )
    return rows


def draw(rows: list[Row]) -> "Figure":
    """Error against time."""
    made, axes = figure(1)
    curves(axes[0], of_kind(rows, "step"))
    axes[0].set(title=f"n = {rows[0]['n']:,}, d = 2, c = {rows[0]['c']}", ylim=(0, 1.05))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """Kernel forms have barely moved by the time that the non-convex ones have converged."""
    ends = of_kind(rows, "end")
    then = mean_by(ends, "method", value="error when the others have converged")
    end = mean_by(ends, "method", value="error")
    converged = max(r["seconds"] for r in ends if r["method"] in ("STE, cold", "GNMDS, cold"))
    large = rows[0]["n"] >= 1000
    verdicts = []
    for name in FORMS:
        twin = f"{name.split('-')[0]}, cold"
        behind = then[name,][0] / end[twin,][0]
        verdicts.append(
            Verdict(
                f"{name} barely moves by the time the others converge",
                f"its error is {then[name,][0]:.3f} after {converged:.2f} s, when "
                f"{twin.split(',')[0]} has {end[twin,][0]:.3f}",
                bool(behind > 2) if large and np.isfinite(behind) else None,
            )
        )
    return verdicts


EXPERIMENT = Experiment(
    "baselines",
    "Kernel forms of the baselines",
    "d = 2, m = c n log n. The paper, n = 1000: kernel forms barely make progress by the time the "
    "non-convex ones converge.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: (
        (2.0 * PASSES + 300 * cell["steps"] + cell["steps"] * (cell["n"] / 100) ** 3)
        * n_log_n(cell["n"], cell["c"])
    ),
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], cell["c"]),
)
