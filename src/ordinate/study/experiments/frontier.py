"""Time against error of everything that there is, on uniform triplets and on landmark triplets."""

import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.triplets import Triplets
from ordinate.estimators import LOE, SOE, STE
from ordinate.figures.drawing import COLOURS
from ordinate.study.experiments._frame import (
    PASSES,
    Cell,
    Experiment,
    Row,
    Verdict,
    about_landmarks,
    error_of,
    figure,
    mean_by,
    n_log_n,
    track,
    uniform,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cells(scale: str) -> list[Cell]:
    """One n on both designs."""
    n, c, trials = {"quick": (500, 50, 1), "paper": (1000, 200, 3)}[scale]
    return [
        {"n": n, "d": 2, "c": c, "design": design, "trial": trial}
        for design in ("uniform", "landmarks")
        for trial in range(trials)
    ]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Time and error, the latter with the best scale, since SOE has none."""
    n, d, seed = cell["n"], cell["d"], cell["trial"]
    m = n_log_n(n, cell["c"])
    points, triplets = uniform(n, d, m, seed)
    if cell["design"] == "landmarks":
        triplets = about_landmarks(points, m, n_landmarks(n, d, m), seed)
    models: dict[str, Any] = {
        "STE": STE(d, random_state=seed),
        "SOE": SOE(d, random_state=seed),
        "STE, strict": STE(d, tol=1e-8, random_state=seed),
    }
    if cell["design"] == "landmarks":
        models |= {"LOE": LOE(d), "LOE, finished": STE(d, init=LOE(d))}
    rows = []
    for name, model in models.items():
        model.fit(triplets)  # loads kernels
        run = track(model, points, triplets)
        rows.append({**cell, "method": name, "seconds": run.seconds, "error": run.error})
        rows[-1]["scaled"] = _scaled(model.embedding_, points)
    return rows + [{**cell, **row} for row in _cblearn(triplets, points, seed)]


def _scaled(found: np.ndarray, points: np.ndarray) -> float:
    from ordinate.evaluation.metrics import procrustes_error

    return procrustes_error(found, points, scale=True, relative=True)


def _cblearn(triplets: Triplets, points: np.ndarray, seed: int) -> list[Row]:
    """Cblearn's STE and SOE, where it is installed."""
    if find_spec("cblearn") is None:
        return []
    from cblearn import embedding

    d = points.shape[1]
    rows = []
    for name, model in {
        "cblearn STE": embedding.STE(d, random_state=seed),
        "cblearn SOE": embedding.SOE(d, n_init=1, random_state=seed),
    }.items():
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(triplets.rows, n_objects=len(points))
        seconds = time.perf_counter() - began
        found = model.embedding_
        row = {"method": name, "seconds": seconds, "error": error_of(found, points)}
        rows.append({**row, "scaled": _scaled(found, points)})
    return rows


def draw(rows: list[Row]) -> "Figure":
    """A point per run."""
    made, axes = figure(2, columns=2)
    names = list(dict.fromkeys(r["method"] for r in rows))
    for panel, design in zip(axes, ("uniform", "landmarks"), strict=True):
        for colour, name in zip(COLOURS, names, strict=False):
            chosen = [r for r in rows if r["method"] == name and r["design"] == design]
            if chosen:
                x, y = [r["seconds"] for r in chosen], [r["scaled"] for r in chosen]
                marker = "s" if name.startswith("cblearn") else "o"
                panel.scatter(x, y, color=colour, label=name, s=22, marker=marker)
        panel.set(xscale="log", xlabel="seconds", ylabel="relative error, best scale")
        panel.set(title=f"{design} triplets", ylim=(0, None))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """Ours are as accurate and faster."""
    seconds = mean_by(rows, "design", "method", value="seconds")
    error = mean_by(rows, "design", "method", value="scaled")
    verdicts: list[Verdict] = []
    for design in dict.fromkeys(r["design"] for r in rows):
        for name in ("STE", "SOE"):
            ours, peer = (design, name), (design, f"cblearn {name}")
            if peer not in seconds:
                told = f"{seconds[ours][0]:.3f} s, error {error[ours][0]:.4f}; no cblearn here"
                verdicts.append(Verdict(f"our {name} dominates, {design}", told, None))
                continue
            verdicts.append(
                Verdict(
                    f"our {name} dominates cblearn's, {design}",
                    f"{seconds[ours][0]:.3f} s against {seconds[peer][0]:.2f} s, error "
                    f"{error[ours][0]:.4f} against {error[peer][0]:.4f}",
                    seconds[ours][0] < seconds[peer][0] and error[ours][0] < 1.02 * error[peer][0],
                )
            )
    alone, finished = ("landmarks", "LOE"), ("landmarks", "LOE, finished")
    if alone not in seconds:
        return verdicts
    verdicts.append(
        Verdict(
            "LOE is the fastest on landmark triplets, and finishing costs little",
            f"LOE {seconds[alone][0]:.3f} s, error {error[alone][0]:.4f}; finished "
            f"{seconds[finished][0]:.3f} s, error {error[finished][0]:.4f}",
            seconds[alone][0] < seconds[finished][0],
        )
    )
    return verdicts


EXPERIMENT = Experiment(
    "frontier",
    "Time against error",
    "Ours: time and error of LOE, LOE finished, STE and SOE, and of cblearn 0.4's STE and SOE "
    "where it is installed.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: (
        (5.0 * PASSES + (find_spec("cblearn") is not None) * 5000) * n_log_n(cell["n"], cell["c"])
    ),
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], cell["c"]),
)
