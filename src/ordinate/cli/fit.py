"""The command ``fit``: from raw file to labelled coordinates, figure and report."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ordinate.cli import _shell as shell
from ordinate.cli import people
from ordinate.cli._after_fit import check_written, plain, report, story_of
from ordinate.cli._appearance import PLAIN, LookOptions, find_appearance
from ordinate.cli._before_fit import (
    begin_compiling,
    check_device,
    check_ellipses,
    check_method,
    find_target,
    read_dimensions,
)
from ordinate.cli.data import AS_FOUND, ReadingOptions, open_answers, open_for_workers, url_of
from ordinate.cli.further import NOTHING_MORE, FurtherOptions, look_further

AROUND = 4  # stages: reading before the fits; figure, report and record after them


@shell.command
def fit(
    file: shell.File,
    dimensions: Annotated[
        str,
        typer.Option(
            "--dimensions", "-d", help="Dimensions of the map; auto or 1-6 lets answers choose."
        ),
    ] = "2",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default FILE-map."),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, or one of `ordinate methods`.")] = "auto",
    reading: ReadingOptions = AS_FOUND,
    looks: LookOptions = PLAIN,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Parts held out in turn, to judge the map; 0 to judge nothing.", min=0),
    ] = None,
    more: FurtherOptions = NOTHING_MORE,
    noise: Annotated[str | None, typer.Option(help="btl or thurstone, for ste and loe.")] = None,
    regularization: Annotated[
        float | None, typer.Option(help="Ridge, for few answers per item.", min=0)
    ] = None,
    starts: Annotated[
        int | None, typer.Option(help="Starts to try; the best map is kept.", min=1)
    ] = None,
    tol: Annotated[float | None, typer.Option(help="When to stop; smaller is stricter.")] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="Largest number of steps; not for loe.", min=1)
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto: where to compute.")] = None,
    weigh_participants: Annotated[
        bool, typer.Option("--weigh-participants", help="Participants who guess count less.")
    ] = False,
    exclude_chance: Annotated[
        bool,
        typer.Option("--exclude-chance", help="Leave out participants no better than chance."),
    ] = False,
    individual_differences: Annotated[
        bool,
        typer.Option(
            "--individual-differences",
            help="Test whether participants stretch the map's axes, each in their own way.",
        ),
    ] = False,
    memory_limit: shell.MemoryLimit = None,
    cluster: shell.ClusterAt = None,
    seed: shell.Seed = 0,
    defuse: shell.Defuse = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Fit a map, and write coordinates, figures and a report.

    The folder gets `embedding.csv` (label, coordinates, triplets and accuracy per item),
    `embedding.png` and `.svg`, `report.html` (interactive, opens offline), `run.json` (every
    setting, versions, input hash, timings, what was dropped and why) and `model.json` (for
    `ordinate.load`). Accuracy is measured on answers that the map has not seen.

    ```
    ordinate fit responses.csv
    ordinate fit letters.csv -d 3 -o letters-3d --method tste
    ordinate fit letters.csv -d auto
    ordinate fit answers.csv --images pictures/ --items items.csv --colour kind --name title
    ordinate fit answers.csv --groups condition
    ordinate fit answers.csv --halves 20 --halves-by participant
    ordinate fit participants/
    ordinate fit answers.csv --exclude-chance --weigh-participants
    unzip -p study.zip answers.csv | ordinate fit - -o study-map
    ordinate fit big/ --method loe --cluster tcp://host:8786
    ```
    """
    check_method(method)
    check_device(device)
    target = find_target(file, output, force)
    wanted = read_dimensions(dimensions)
    drawing = looks.drawing()
    compiling = begin_compiling(method, noise, device, quiet)
    from ordinate._base.writing import whole_folder
    from ordinate.estimators import methods
    from ordinate.estimators.participants import ParticipantEmbedding
    from ordinate.study.run_folder import write_run

    reading = reading._replace(groups=more.groups, memory_limit=memory_limit)
    more = more._replace(folds=folds, seed=seed, quiet=quiet).understood()
    with (
        compiling,
        shell.cluster(cluster, quiet) as client,
        shell.stages(
            AROUND + more.n_stages + exclude_chance + individual_differences, quiet
        ) as stages,
    ):
        stages.begin("reading")
        if client is None:
            source = read_and_check(file, reading, wanted if isinstance(wanted, int) else None)
        else:
            source = open_on_workers(file, reading, client)
        triplets = source.triplets
        named = [str(label) for label in triplets.items]
        appearance = find_appearance(named, looks, quiet=quiet)
        appearance = appearance._replace(drawing=drawing)
        choice = methods.choose(
            triplets,
            wanted,
            method,
            noise=noise,
            regularization=regularization,
            n_init=starts,
            tol=tol,
            max_iter=max_iter,
            device=device,
            random_state=seed,
        )
        check_ellipses(looks.ellipses, choice)
        more.check(source, choice.estimator)
        compiling.wait()
        estimator, screened, differing = choice.estimator, None, None
        asked_of_people = {
            "weigh_participants": weigh_participants,
            "exclude_chance": exclude_chance,
            "individual_differences": individual_differences,
        }
        people.check_people(source, estimator, asked_of_people)
        if exclude_chance:
            source, screened = people.without_guessers(source, estimator, seed, stages.begin)
        if weigh_participants:
            estimator = ParticipantEmbedding(estimator, random_state=seed)
        result = analysed(source, estimator, folds, seed, stages.begin)
        further = look_further(source, result, more, stages.begin)
        if individual_differences:
            differing = people.differences(result, source, seed, stages.begin)
        result.participants[:] = people.listed(result.participants, screened, weigh_participants)
        used = {
            "folds": result.held_out.n_maps if result.held_out else 0,
            "device": result.model.device_,
            "random_state": seed,
            **asked_of_people,
        }
        story = story_of(
            source,
            choice,
            title or target.name,
            settings=plain(choice.estimator.get_params(deep=False)) | used,
            seconds=stages.seconds,
            more=further.records,
            differences=differing,
        )
        with (
            whole_folder(target.folder, force=force, checked=True) as partial,
            shell.warnings_as_notes(quiet),
        ):
            record, unwritten = write_run(
                partial, result, story, appearance, stages.begin, defuse=defuse
            )
            unwritten += further.write(
                partial, source.triplets, story, appearance, stages.begin, defuse=defuse
            )
    report(target.folder, record, result.warnings, quiet, as_json)
    check_written(target.folder, unwritten)


class Checked(NamedTuple):
    """What a file holds, read into memory or to be streamed, and what the data check says."""

    triplets: Any
    streamed: bool
    notes: list[str]
    problems: list
    summary: Any
    origin: dict[str, Any]
    groups: Any = None


def read_and_check(file: Path, options: ReadingOptions, dimensions: int | None) -> Checked:
    """Read and check a file; one that is larger than memory is only opened."""
    from ordinate.data.advice import DIMENSIONS, Problem, problems
    from ordinate.data.summary import Brief

    source = open_answers(file, options, stream=True)
    origin = {
        "file": str(file),
        "sha256": source.sha256,
        "layout": source.layout,
        "rows": source.n_rows,
        "rows used": source.n_used,
    }
    stored = source.stored
    if stored is not None:
        note = "larger than memory: no answers were held out, and the data check was left out"
        unchecked = Problem("note", "the data were not checked", "the file is larger than memory")
        brief = Brief(source.n_rows, stored.n_items)
        return Checked(stored, True, [*source.notes, note], [unchecked], brief, origin)
    triplets = source.load()
    found = problems(triplets, source.notes, dimensions or DIMENSIONS)
    origin["the first says"] = source.example
    summary = triplets.summarise()
    return Checked(triplets, False, source.notes, found, summary, origin, source.groups)


def open_on_workers(file: Path, options: ReadingOptions, client: Any) -> Checked:
    """Open what the workers of a cluster are to read."""
    from ordinate.data.advice import Problem
    from ordinate.data.summary import Brief

    notes: list[str] = []
    with shell.warnings_kept(notes):
        stored = open_for_workers(file, options, client)
    origin = {
        "file": url_of(file),
        "sha256": "",
        "layout": "cluster",
        "rows": len(stored),
        "rows used": len(stored),
    }
    note = "on a cluster: no answers were held out, and the data check was left out"
    unchecked = Problem("note", "the data were not checked", "they are on a cluster")
    brief = Brief(len(stored), stored.n_items)
    return Checked(stored, True, [*notes, note], [unchecked], brief, origin)


def analysed(
    source: Checked, estimator: Any, folds: int | None, seed: int, tell: Callable[[str], None]
) -> Any:
    """Fit the map, and judge it by answers held out where the data are in memory."""
    from ordinate.evaluation import analysis

    if not source.streamed:
        return analysis.analyse(
            estimator, source.triplets, folds=folds, random_state=seed, tell=tell
        )
    if folds:
        raise shell.CommandError(
            f"no answers can be held out of {source.triplets.path.name}, which is not in memory: "
            "leave --folds out, or take less data or more memory",
            shell.WRONG_USE,
        )
    return analysis.analyse_stored(estimator, source.triplets, tell=tell)
