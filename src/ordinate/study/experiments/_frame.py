"""What experiments share: cells, rows, verdicts; tracking a fit; figures; the page."""

import csv
import os
import platform
import time
from collections.abc import Callable, Iterable
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate._base.writing import whole_file
from ordinate.algorithms.optimise import Step
from ordinate.data.simulate import sample_points, sample_triplets
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.evaluation.metrics import procrustes_error, triplet_error
from ordinate.figures.drawing import COLOURS
from ordinate.passes import MemoryTriplets
from ordinate.study.record import versions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALES = ("quick", "paper")
BYTES = 12  # of a triplet
PASSES = 40  # over the triplets that a cold baseline takes, about

Cell = dict[str, Any]
Row = dict[str, Any]


class Verdict(NamedTuple):
    """A claim, what was measured, and whether it holds; None where the scale cannot tell."""

    claim: str
    ours: str
    holds: bool | None


class Experiment(NamedTuple):
    """What to run and how to judge it.

    Attributes
    ----------
    name, title : str
    claim : str
        What the paper says, or what we ask.
    cells : function of the scale, "quick" or "paper"
        Settings of the runs.
    measure : function of a cell and a data path (or None)
        Returns rows of results.
    draw : function of all rows
    judge : function of all rows
    passes : function of a cell
        About how many triplets are read in all; what the estimate of time is made of.
    triplets : function of a cell
        About how many triplets are in memory at once.
    needs_data : str or None
        The name of the public data that it needs.
    table : function of all rows, or None
        Lines of a table of all results for the page, its heading first.
    on_device : bool
        Whether its fits run on the "device" of a cell.
    """

    name: str
    title: str
    claim: str
    cells: Callable[[str], list[Cell]]
    measure: Callable[[Cell, Path | None], list[Row]]
    draw: Callable[[list[Row]], "Figure"]
    judge: Callable[[list[Row]], list[Verdict]]
    passes: Callable[[Cell], float]
    triplets: Callable[[Cell], float]
    needs_data: str | None = None
    table: Callable[[list[Row]], list[list[str]]] | None = None
    on_device: bool = False


def n_log_n(n: int, c: float) -> int:
    """The paper's budget of triplets."""
    return round(c * n * np.log(n))


def uniform(n: int, d: int, m: int, seed: int) -> tuple[np.ndarray, Triplets]:
    """Points, and uniform triplets about them."""
    points = sample_points(n, d, random_state=seed)
    return points, sample_triplets(points, m, random_state=seed + 1000)


def about_landmarks(points: np.ndarray, m: int, l: int, seed: int) -> Triplets:
    """Triplets about random landmarks."""
    return sample_triplets(points, m, design="landmarks", landmarks=l, random_state=seed + 2000)


class Tracked(NamedTuple):
    """A fitted model, its seconds, its final errors, and rows of seconds and error on the way."""

    model: Embedder
    seconds: float
    error: float
    wrong: float
    curve: list[tuple[float, float]]

    def reached(self, error: float) -> float:
        """Seconds until an error was reached; infinity if it never was."""
        return next((at for at, found in self.curve if found <= error), np.inf)


def track(model: Embedder, points: np.ndarray, *args: Any, **kwargs: Any) -> Tracked:
    """Fit, noting the error at every step; the clock stands still while errors are computed."""
    curve: list[tuple[float, float]] = []
    paused = 0.0
    began = time.perf_counter()

    def note(step: Step) -> None:
        nonlocal paused
        here = time.perf_counter()
        curve.append((here - began - paused, error_of(step.embedding, points)))
        paused += time.perf_counter() - here

    if "callback" in model.get_params():  # LOE has no steps
        model.set_params(callback=note)
    model.fit(*args, **kwargs)
    seconds = time.perf_counter() - began - paused
    error = error_of(model.embedding_, points)
    wrong = triplet_error(model.embedding_, truth=points, random_state=0)
    return Tracked(model, seconds, error, wrong, [*curve, (seconds, error)])


def error_of(found: np.ndarray, points: np.ndarray) -> float:
    """Relative Procrustes error; a map of single points counts as wholly wrong."""
    return procrustes_error(np.nan_to_num(found), points, relative=True)


def pace() -> float:
    """Seconds that one triplet takes in a gradient pass on this machine."""
    from ordinate.kernels import losses

    points, triplets = uniform(1000, 2, 400_000, 0)
    store = MemoryTriplets.from_triplets(triplets)
    store.loss(points, losses.get("ste"))
    began = time.perf_counter()
    store.loss(points, losses.get("ste"))
    # Larger sets miss the caches: about three times as long.
    return 3 * (time.perf_counter() - began) / len(triplets)


def mean_by(
    rows: Iterable[Row], *keys: str, value: str, middle: Callable = np.mean
) -> dict[tuple, tuple[float, float]]:
    """Mean (or median) and standard deviation of a value for each combination of keys, in order."""
    groups: dict[tuple, list[float]] = {}
    for row in rows:
        if row.get(value) is not None:
            groups.setdefault(tuple(row[key] for key in keys), []).append(float(row[value]))
    return {key: (float(middle(v)), float(np.std(v))) for key, v in groups.items()}


def read_rows(path: Path) -> list[Row]:
    """Read what :func:`write_rows` wrote; what is empty is left out."""

    def value(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    with open(path, newline="", encoding="utf-8") as file:
        return [{k: value(v) for k, v in row.items() if v} for row in csv.DictReader(file)]


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write tidy results; columns that a row lacks are empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def figure(n_panels: int, columns: int | None = None) -> tuple["Figure", list["Axes"]]:
    """A figure of panels in the width of a page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(n_panels, columns or 3)
    n_rows = -(-n_panels // columns)
    made = Figure(figsize=(3.4 * columns, 2.9 * n_rows), layout="constrained")
    FigureCanvasAgg(made)
    axes = [made.add_subplot(n_rows, columns, k + 1) for k in range(n_panels)]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25, linewidth=0.5)
    return made, axes


def picture(experiment: Experiment, rows: list[Row]) -> "Figure":
    """Draw an experiment, with one legend below for all panels."""
    made = experiment.draw(rows)
    named: dict[str, Any] = {}
    for panel in made.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if named:
        made.legend(
            named.values(),
            named,
            loc="outside lower center",
            ncols=min(len(named), 3 if len(made.axes) < 3 else 5),
            fontsize=7,
            frameon=False,
        )
    return made


def lines(
    axes: "Axes",
    rows: Iterable[Row],
    x: str,
    y: str,
    by: str,
    *,
    marker: str = "o",
) -> None:
    """Draw the mean of y against x for each value of ``by``, with a band of one deviation."""
    rows = list(rows)
    means = mean_by(rows, by, x, value=y)
    styles = cycle(("-", "--", "-.", ":"))  # lines that lie on each other are both seen
    # All names count, so that one without values here does not shift the colours of others.
    for colour, name in zip(_cycle(), dict.fromkeys(row[by] for row in rows), strict=False):
        style, found = next(styles), [(k[1], *v) for k, v in means.items() if k[0] == name]
        if not found:
            continue
        at, middle, spread = np.array(sorted(found), dtype=float).T
        axes.plot(at, middle, style, marker=marker, ms=3.5, color=colour, label=str(name))
        axes.fill_between(at, middle - spread, middle + spread, color=colour, alpha=0.15, lw=0)
    axes.set(xlabel=x, ylabel=y)


def curves(axes: "Axes", rows: Iterable[Row], *, by: str = "method") -> None:
    """Draw error against time, a line per run, coloured by method."""
    rows = list(rows)
    for colour, name in zip(_cycle(), dict.fromkeys(row[by] for row in rows), strict=False):
        runs = dict.fromkeys(row["trial"] for row in rows if row[by] == name)
        for k, trial in enumerate(runs):
            steps = [r for r in rows if r[by] == name and r["trial"] == trial]
            axes.plot(
                [step["seconds"] for step in steps],
                [step["error"] for step in steps],
                color=colour,
                linewidth=1.2,
                marker="o" if len(steps) < 3 else None,
                markersize=4,
                label=None if k else name,
            )
    axes.set(xscale="log", xlabel="seconds", ylabel="relative Procrustes error")


def steps_of(run: Tracked, **labels: Any) -> list[Row]:
    """Rows of a tracked fit: kind "step" on the way, kind "end" for the result."""
    steps = [{**labels, "kind": "step", "seconds": s, "error": e} for s, e in run.curve]
    return [
        *steps,
        {**labels, "kind": "end", "seconds": run.seconds, "error": run.error, "wrong": run.wrong},
    ]


def of_kind(rows: Iterable[Row], kind: str) -> list[Row]:
    """Rows of a kind."""
    return [row for row in rows if row.get("kind") == kind]


def page(experiment: Experiment, rows: list[Row], scale: str, seconds: float, command: str) -> str:
    """The results as a short Markdown page."""
    words = {True: "holds", False: "does not hold", None: "not decided at this scale"}
    verdicts = [[v.claim, v.ours, words[v.holds]] for v in experiment.judge(rows)]
    results = [] if experiment.table is None else [*_table(experiment.table(rows)), ""]
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    return "\n".join(
        [
            f"# {experiment.title}",
            "",
            experiment.claim,
            "",
            *_table([["claim", "measured", "verdict"], *verdicts]),
            "",
            *results,
            f"![{experiment.title}](figure.png)",
            "",
            f"`{command}` took {seconds:.0f} s at scale {scale} on {machine()}; {packages}. "
            "All results: [results.csv](results.csv).",
            "",
        ]
    )


def _table(lines: list[list[str]]) -> list[str]:
    """A table in Markdown, its heading first."""
    heading, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return [heading, "|---" * len(lines[0]) + "|", *rest]


def machine() -> str:
    """The processor in words."""
    info = Path("/proc/cpuinfo")
    names = [
        line.split(":")[1].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def _cycle() -> Iterable[str]:
    return [*COLOURS, *COLOURS]
