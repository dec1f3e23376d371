"""Consistency: the error of LOE goes to 0 with the number of triplets (the paper's appendix)."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.simulate import sample_points
from ordinate.estimators import LOE
from ordinate.study.experiments._frame import (
    Cell,
    Experiment,
    Row,
    Verdict,
    about_landmarks,
    error_of,
    figure,
    lines,
    mean_by,
    n_log_n,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N = 100
BUDGETS = {
    "quick": {2: [10, 50, 200, 400], 10: [100, 500, 2000]},
    "paper": {2: [10, 25, 50, 100, 200, 300, 400], 10: [100, 250, 500, 1000, 1500, 2000]},
}
METHODS: dict[str, Callable[[int, int], tuple[int, dict[str, Any]]]] = {
    "LOE, d+3 landmarks": lambda d, m: (d + 3, {"recovery": "edm"}),
    "LOE": lambda d, m: (n_landmarks(N, d, m), {}),
}


def cells(scale: str) -> list[Cell]:
    """Budgets for two dimensions and ten, normal and uniform points."""
    trials = {"quick": 5, "paper": 30}[scale]
    return [
        {"d": d, "c": c, "distribution": distribution, "trial": trial}
        for d, budgets in BUDGETS[scale].items()
        for distribution in ("normal", "uniform")
        for c in budgets
        for trial in range(trials)
    ]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Errors of LOE as the paper has it, and by default."""
    d, m, seed = cell["d"], n_log_n(N, cell["c"]), cell["trial"]
    points = sample_points(N, d, distribution=cell["distribution"], random_state=seed)
    rows = []
    for name, settings in METHODS.items():
        l, options = settings(d, m)
        model = LOE(d, **options).fit(about_landmarks(points, m, l, seed))
        rows.append({**cell, "method": name, "error": error_of(model.embedding_, points)})
    return rows


def draw(rows: list[Row]) -> "Figure":
    """Error against c, a panel per dimension and distribution."""
    panels = list(dict.fromkeys((r["d"], r["distribution"]) for r in rows))
    made, axes = figure(len(panels), columns=2)
    for panel, (d, distribution) in zip(axes, panels, strict=True):
        chosen = [r for r in rows if (r["d"], r["distribution"]) == (d, distribution)]
        lines(panel, chosen, "c", "error", "method")
        panel.set(title=f"n = {N}, d = {d}, {distribution}", ylabel="relative Procrustes error")
        panel.set(ylim=(0, min(1.5, panel.get_ylim()[1])))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """The error falls towards 0; medians, since d + 3 random landmarks may lie badly."""
    error = mean_by(rows, "d", "distribution", "method", "c", value="error", middle=np.median)
    verdicts = []
    for d, distribution, method in dict.fromkeys(key[:3] for key in error):
        c, found = np.array(
            [(k[3], v[0]) for k, v in error.items() if k[:3] == (d, distribution, method)]
        ).T
        slope = np.polyfit(np.log(c[-3:]), np.log(found[-3:]), 1)[0]
        verdicts.append(
            Verdict(
                f"error goes to 0: d = {d}, {distribution}, {method}",
                f"median {found[0]:.3f} at c = {c[0]:.0f}, {found[-1]:.3f} at c = {c[-1]:.0f}; "
                f"like m to the power {slope:.2f} in the end",
                bool(found[-1] < found[0] / 2 and slope < -0.1),
            )
        )
    return verdicts


EXPERIMENT = Experiment(
    "consistency",
    "Consistency of LOE",
    f"n = {N}, m = c n log n. The paper: the error goes to 0 as m grows.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 20.0 * n_log_n(N, cell["c"]) + 1e6,
    triplets=lambda cell: n_log_n(N, cell["c"]),
)
