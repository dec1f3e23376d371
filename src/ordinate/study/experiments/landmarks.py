"""How many landmarks: the trade-off that the paper leaves open."""

from pathlib import Path
from typing import TYPE_CHECKING

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.simulate import sample_points
from ordinate.study.experiments._frame import (
    Cell,
    Experiment,
    Row,
    Verdict,
    figure,
    lines,
    mean_by,
    n_log_n,
)
from ordinate.study.experiments._protocols import loe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECOVERIES = ("edm", "auto")
ENOUGH = 8  # comparisons per item and column, with which items hang together


def cells(scale: str) -> list[Cell]:
    """From d + 3 landmarks up, at a fixed number of triplets."""
    n, c, trials = {"quick": (2000, 50, 1), "paper": (10_000, 200, 5)}[scale]
    numbers = {2: [5, 8, 12, 20, 40, 80], 3: [6, 10, 16, 32, 64], 10: [13, 20, 40, 80, 160]}
    return [
        {"n": n, "d": d, "c": c, "landmarks": l, "trial": trial}
        for d, counts in numbers.items()
        for l in counts
        if 2 * n_log_n(n, c) >= ENOUGH * l * n
        for trial in range(trials)
    ]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Errors of both recoveries."""
    points = sample_points(cell["n"], cell["d"], random_state=cell["trial"])
    m = n_log_n(cell["n"], cell["c"])
    rows = []
    for recovery in RECOVERIES:
        run = loe(points, m, cell["landmarks"], cell["trial"], recovery=recovery)
        rows.append({**cell, "recovery": recovery, "error": run.error, "seconds": run.seconds})
    return rows


def draw(rows: list[Row]) -> "Figure":
    """Error against landmarks, a panel per dimension."""
    dimensions = list(dict.fromkeys(r["d"] for r in rows))
    made, axes = figure(len(dimensions))
    for panel, d in zip(axes, dimensions, strict=True):
        chosen = [r for r in rows if r["d"] == d]
        lines(panel, chosen, "landmarks", "error", "recovery")
        panel.set(title=f"d = {d}", xscale="log", ylabel="relative Procrustes error")
        counts = sorted({r["landmarks"] for r in chosen})
        panel.set_xticks(counts, [str(count) for count in counts])
        panel.minorticks_off()
        panel.set(ylim=(0, None))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """More landmarks than d + 3 pay, and the rule is near the best."""
    error = mean_by(rows, "d", "recovery", "landmarks", value="error")
    decided = len({r["trial"] for r in rows}) >= 3
    verdicts = []
    for d in dict.fromkeys(r["d"] for r in rows):
        found = {key[2]: value[0] for key, value in error.items() if key[:2] == (d, "auto")}
        best = min(found, key=lambda l: found[l])
        few = min(found)
        rule = n_landmarks(rows[0]["n"], d, n_log_n(rows[0]["n"], rows[0]["c"]))
        near = min(found, key=lambda l: abs(l - rule))
        verdicts.append(
            Verdict(
                f"more landmarks than d + 3 pay at the same number of triplets, d = {d}",
                f"{found[few]:.3f} with {few}, {found[best]:.3f} with {best}; by the rule ({rule}) "
                f"about {found[near]:.3f}",
                bool(found[best] < 0.9 * found[few]) if decided else None,
            )
        )
        paper = error[d, "edm", best][0]
        verdicts.append(
            Verdict(
                f"lifting is better than Algorithm 1, d = {d}",
                f"{found[best]:.3f} against {paper:.3f} with {best} landmarks",
                bool(found[best] <= paper) if decided else None,
            )
        )
    return verdicts


EXPERIMENT = Experiment(
    "landmarks",
    "How many landmarks",
    "Ours: error against the number of landmarks at a fixed number of triplets, by the paper's "
    "Algorithm 1 (edm) and by default (auto).",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 20.0 * n_log_n(cell["n"], cell["c"]) + 3e7,
    triplets=lambda cell: n_log_n(cell["n"], cell["c"]),
)
