"""The command ``reproduce``: the paper's experiments, one by one."""

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate._base.messages import Message, message_of
from ordinate.cli import _shell as shell
from ordinate.cli._before_fit import check_device


@shell.command
def reproduce(
    name: Annotated[str, typer.Argument(help="The experiment; `list` shows them all.")],
    scale: Annotated[
        str, typer.Option(help="quick (under a minute) or paper (the paper's setting).")
    ] = "quick",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder; by default reproduce-NAME.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Local file or folder of the data that it needs; `digits` for scikit-learn's."
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Most trials of each setting.", min=1)] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only runs with this setting, as in n=20000; may be repeated."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda or auto: where experiments with massive data fit.")
    ] = None,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Reproduce an experiment: results, figure, and a verdict.

    ```
    ordinate reproduce list
    ordinate reproduce scaling
    ordinate reproduce scaling --scale paper -o scaling/
    ordinate reproduce mnist --data digits
    ```
    """
    from ordinate._base.checks import check_choice
    from ordinate._base.writing import check_replaceable
    from ordinate.study.experiments import EXPERIMENTS
    from ordinate.study.experiments._frame import SCALES

    if name == "list":
        for experiment in EXPERIMENTS.values():
            shell.answer(f"{experiment.name:<12} {experiment.claim}")
        return
    check_choice("the experiment", name, EXPERIMENTS)
    check_choice("scale", scale, SCALES)
    folder = Path(f"reproduce-{name}") if output is None else output
    check_replaceable(folder, force)
    experiment = EXPERIMENTS[name]
    cells = experiment.cells(scale)
    if trials is not None:
        cells = [cell for cell in cells if cell["trial"] < trials]
    cells = choose_cells(cells, only or [])
    if device is not None:
        if not experiment.on_device:
            able = ", ".join(name for name, known in EXPERIMENTS.items() if known.on_device)
            raise shell.CommandError(
                f"--device is for the experiments {able}; {name} runs on the CPU", shell.WRONG_USE
            )
        check_device(device)
        cells = [{**cell, "device": device} for cell in cells]
    announce(experiment, cells, quiet)
    began = time.perf_counter()
    rows: list[dict] = []
    try:
        run(experiment, cells, data, rows, quiet)
    except BaseException:
        keep(rows, folder)
        raise
    write(experiment, rows, scale, folder, force, time.perf_counter() - began)


def choose_cells(cells: list[dict], only: list[str]) -> list[dict]:
    """Keep the cells with one of the values asked for, of each setting that is named."""
    wanted: dict[str, set[str]] = {}
    for text in only:
        key, _, value = text.partition("=")
        wanted.setdefault(key.strip(), set()).add(value.strip())
    kept = [
        cell
        for cell in cells
        if all(str(cell.get(key)) in values for key, values in wanted.items())
    ]
    if not kept:
        known = ", ".join(f"{key}={value}" for key, value in cells[0].items())
        raise shell.CommandError(f"--only leaves no runs; a run is {known}", shell.WRONG_USE)
    return kept


def announce(experiment: Any, cells: list[dict], quiet: bool) -> None:
    """Say what it will take, and refuse what does not fit."""
    from ordinate._base.memory import available_memory
    from ordinate.study.experiments._frame import BYTES, pace

    seconds = pace() * sum(experiment.passes(cell) for cell in cells)
    memory = BYTES * max(experiment.triplets(cell) for cell in cells) + 2**28
    shell.say(
        f"{experiment.title}: {len(cells)} runs, about {duration(seconds)} and "
        f"{memory / 2**30:.1f} GiB of memory",
        quiet,
    )
    if memory > available_memory():
        raise shell.CommandError(
            f"that is more memory than the {available_memory() / 2**30:.1f} GiB that are free; try "
            "--scale quick",
            shell.WRONG_USE,
        )


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run(
    experiment: Any, cells: list[dict], data: Path | None, rows: list[dict], quiet: bool
) -> None:
    """Measure all cells, adding to the rows."""
    from ordinate.files.datasets import DownloadError

    with shell.stages(len(cells), quiet) as stages:
        for cell in cells:
            stages.begin(", ".join(f"{key} {value}" for key, value in cell.items()))
            try:
                rows += experiment.measure(cell, data)
            except DownloadError as error:
                if experiment.needs_data != "MNIST":
                    raise
                offer = "; --data digits takes scikit-learn's digits in place of MNIST"
                raise DownloadError(Message(message_of(error), offer)) from None


def keep(rows: list[dict], folder: Path) -> None:
    """Keep what was measured before an interruption, which may have taken hours."""
    from ordinate.study.experiments._frame import write_rows

    if rows:
        path = folder.with_name(f"{folder.name}-partial.csv")
        write_rows(path, rows)
        shell.say(f"the results so far are in {path}")


def write(
    experiment: Any, rows: list[dict], scale: str, folder: Path, force: bool, seconds: float
) -> None:
    """Write results, figure and page, and show the verdicts."""
    from ordinate._base.writing import whole_folder
    from ordinate.figures.plotting import save
    from ordinate.study.experiments._frame import page, picture, write_rows

    verdicts = experiment.judge(rows)
    command = shlex.join(["ordinate", *sys.argv[1:]])
    with whole_folder(folder, force=force) as partial:
        write_rows(partial / "results.csv", rows)
        drawn = picture(experiment, rows)
        save(drawn, partial / "figure.png", dpi=150)
        save(drawn, partial / "figure.svg")
        text = page(experiment, rows, scale, seconds, command)
        (partial / "README.md").write_text(text, encoding="utf-8")
    words = {True: "holds", False: "DOES NOT HOLD", None: "not decided at this scale"}
    for verdict in verdicts:
        shell.answer(f"{words[verdict.holds]}: {verdict.claim}: {verdict.ours}")
    shell.answer(f"{folder}/: README.md, results.csv, figure.png, figure.svg")
