"""The command ``fit``: from raw file to labelled coordinates, figure and report."""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ordinate.cli import _shell as shell
from ordinate.cli import people
from ordinate.cli._appearance import find_appearance
from ordinate.cli.data import ReadingOptions, open_answers
from ordinate.cli.further import SENTENCES, FurtherOptions, look_further
from ordinate.cli.maps import (
    Colour,
    Ellipses,
    ImageAlpha,
    Images,
    ImageSize,
    Items,
    KeepWhite,
    Labels,
    Name,
    drawing_of,
)

FILES = (
    *("embedding.csv", "embedding.png", "embedding.svg", "dimensions.png", "dimensions.svg"),
    *("participants.csv", "participants.png", "participants.svg", "axes.csv"),
    *("covariance.npy", "model.json", "report.html", "run.json"),
    *("groups.csv", "groups.png", "groups.svg", "groups"),
)
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
    layout: shell.LayoutName = "auto",
    columns: shell.Columns = None,
    first_id: shell.FirstId = None,
    odd: shell.Odd = None,
    response: shell.Response = None,
    drop: shell.Drop = None,
    only: shell.Only = None,
    checks: shell.Checks = None,
    keep_checks: shell.KeepChecks = False,
    exclude_participants: shell.Excluded = None,
    min_response_time: shell.MinTime = None,
    merge_labels: shell.MergeLabels = False,
    table: shell.TableName = None,
    images: Images = None,
    items: Items = None,
    colour: Colour = None,
    name: Name = None,
    labels: Labels = "auto",
    image_size: ImageSize = None,
    image_alpha: ImageAlpha = 1.0,
    keep_white: KeepWhite = False,
    ellipses: Ellipses = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Parts held out in turn, to judge the map; 0 to judge nothing.", min=0),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="Column of groups: also a map of each, and whether they differ."),
    ] = None,
    halves: Annotated[
        int | None,
        typer.Option(help="Cut the answers in two so often: are maps of halves alike?", min=1),
    ] = None,
    halves_by: Annotated[
        str, typer.Option(help="What --halves deals to a half: answer or participant.")
    ] = "answer",
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
    """Read answers, check them, fit a map, and write coordinates, figures and a report.

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
    target = find_target(file, output, force)
    check_device(device)
    wanted = read_dimensions(dimensions)
    drawing = drawing_of(labels, image_size, image_alpha, keep_white, ellipses)
    compiling = begin_compiling(method, noise, device, quiet)
    from ordinate._base.writing import whole_folder
    from ordinate.estimators import methods
    from ordinate.estimators.participants import ParticipantEmbedding
    from ordinate.study.run_folder import Story, write_run

    options = ReadingOptions.of(locals())
    more = FurtherOptions.of(locals())
    with (
        compiling,
        shell.cluster(cluster, quiet) as client,
        shell.stages(
            AROUND + more.n_stages + exclude_chance + individual_differences, quiet
        ) as stages,
    ):
        stages.begin("reading")
        if client is None:
            source = read_and_check(file, options, wanted if isinstance(wanted, int) else None)
        else:
            source = open_on_workers(file, options, client)
        triplets = source.triplets
        named = [str(label) for label in triplets.items]
        appearance = find_appearance(named, images, items, colour, name, quiet=quiet)
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
        check_ellipses(ellipses, choice)
        more.check(choice.estimator)
        compiling.wait()
        estimator, screened, differing = choice.estimator, None, None
        asked_of_people = {
            "--weigh-participants": weigh_participants,
            "--exclude-chance": exclude_chance,
            "--individual-differences": individual_differences,
        }
        people.check_people(source, estimator, asked_of_people)
        if exclude_chance:
            source, screened = people.without_guessers(source, estimator, seed, stages.begin)
        if weigh_participants:
            estimator = ParticipantEmbedding(estimator, random_state=seed)
        result = analysed(source, estimator, folds, seed, stages.begin)
        further = look_further(source, result.model, more, stages.begin)
        if individual_differences:
            differing = people.differences(result, source, seed, stages.begin)
        result.participants[:] = people.listed(result.participants, screened, weigh_participants)
        used = {
            "folds": sum(stage.startswith("held-out") for stage in stages.seconds),
            "device": result.model.device_,
            "random_state": seed,
            "weigh_participants": weigh_participants,
            "exclude_chance": exclude_chance,
            "individual_differences": individual_differences,
        }
        story = Story(
            title=title or target.name,
            method=choice.name,
            reason=shell.spelled(choice.reason),
            settings=plain(choice.estimator.get_params(deep=False)) | used,
            source=source.origin,
            notes=source.notes,
            problems=source.problems,
            summary=source.summary,
            seconds=stages.seconds,
            command=shlex.join(["ordinate", *sys.argv[1:]]),
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
            further.write(partial, triplets, story, appearance, stages.begin, defuse=defuse)
    report(target.folder, record, result.warnings, quiet, as_json)
    if unwritten:
        raise shell.CommandError(
            f"the disk is full, and the {' and the '.join(unwritten)} could not be written; the "
            f"map is in {target.folder}, with its model and record. Free some space and draw it "
            "with `ordinate plot`, or fit again with --force",
            shell.UNWRITABLE,
        )


class Target(NamedTuple):
    """Where results go, and what the answers are called."""

    folder: Path
    name: str


def find_target(file: Path, output: Path | None, force: bool) -> Target:
    """Find a folder for the results before anything is read, and refuse one that is taken."""
    from ordinate._base.endings import stem
    from ordinate._base.writing import check_replaceable
    from ordinate.files.formats.files import is_pipe, path_in_words

    if is_pipe(file) and output is None:
        raise shell.CommandError(
            f"what comes through {path_in_words(file)} has no name to give to the results: "
            "say where they go with --output",
            shell.WRONG_USE,
        )
    named = file if file.name not in ("", "..") else file.resolve()
    folder = named.with_name(f"{stem(named.name)}-map") if output is None else output
    if file.exists() and folder.exists() and file.resolve().is_relative_to(folder.resolve()):
        raise shell.CommandError(f"{folder} holds the input: name another", shell.UNWRITABLE)
    check_replaceable(folder, force)
    return Target(folder, path_in_words(file) if is_pipe(file) else named.name)


def check_device(device: str | None) -> None:
    """Refuse what is no device before anything is read."""
    if device is not None and not re.fullmatch(r"cpu|auto|cuda(:\d+)?", device):
        raise shell.CommandError(
            f"--device must be cpu, cuda, cuda:<number> or auto; got {device}", shell.WRONG_USE
        )


def check_ellipses(ellipses: bool | None, choice: Any) -> None:
    """Refuse ellipses of a method that cannot tell how sure its map is, before it is fitted."""
    if ellipses and not hasattr(type(choice.estimator), "covariance_"):
        raise shell.CommandError(
            f"--ellipses: method {choice.name} cannot tell how sure its map is; leave that out, or "
            "take a method with probabilities, such as ste (in Python, ordinate.bootstrap tells "
            "it of any method)",
            shell.WRONG_USE,
        )


def begin_compiling(method: str, noise: str | None, device: str | None, quiet: bool) -> Any:
    """Begin to compile what the method needs, while the file is read."""
    from ordinate.kernels.backends.compiling import CompilingBeside

    loss = {"auto": "power" if noise is None else "ste", "ordinal": "power"}.get(method, method)
    if loss == "ste" and noise == "thurstone":
        loss = "probit"
    with shell.warnings_as_notes(quiet):
        return CompilingBeside(loss if device in (None, "cpu") else "")


def read_dimensions(text: str) -> int | str | list[int]:
    """Read a number of dimensions; or several, as 1-6 or 2,3,5 or auto, to choose among."""
    if text == "auto":
        return text
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high:
            raise shell.CommandError(
                f"--dimensions must be a number from 1, or several to choose among, as 1-6 or "
                f"2,3,5, or auto, which is 1-6; got {text}",
                shell.WRONG_USE,
            )
        found += range(low, high + 1)
    return found[0] if text.strip().isdigit() else found


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
    from ordinate.files.ondisk import open_triplets
    from ordinate.files.readers import refuse_options

    refuse_options("workers read the columns anchor, near and far as they are", options.reading())
    url = re.sub(r"^(\w{2,}):/+", r"\1://", str(file))  # a path has one slash
    stored = open_triplets(url, client=client, memory_limit=options.memory_limit)
    origin = {
        "file": url,
        "sha256": "",
        "layout": "cluster",
        "rows": len(stored),
        "rows used": len(stored),
    }
    note = "on a cluster: no answers were held out, and the data check was left out"
    unchecked = Problem("note", "the data were not checked", "they are on a cluster")
    brief = Brief(len(stored), stored.n_items)
    return Checked(stored, True, [note], [unchecked], brief, origin)


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


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as values that JSON knows; a callback is none."""
    known = (str, int, float, bool, type(None))
    return {
        name: v if isinstance(v, known) else repr(v)
        for name, v in settings.items()
        if name != "callback"
    }


def report(
    folder: Path, record: dict[str, Any], warned: list[str], quiet: bool, as_json: bool
) -> None:
    """Say what came out: the record as JSON, or a few lines."""
    from ordinate.evaluation.metrics import in_words, three_way_in_words

    if as_json:
        shell.answer_json({"output": str(folder), **record})
        return
    for note in record["dropped"]:
        shell.say(f"note: {note}", quiet)
    for problem in record["problems"]:
        if problem["severity"] != "note":
            shell.say(f"{problem['severity']}: {problem['what']} ({problem['remedy']})", quiet)
    for warning in warned:
        shell.say(f"warning: {shell.spelled(warning)}", quiet)
    if quiet:
        return
    if record["input"].get("the first says"):
        shell.answer(f"the first answer was read as: {record['input']['the first says']}")
    held_out, result = record["held_out"], record["result"]
    d = result["n_components"]
    shell.answer(
        f"{result['n_items']:,} items in {d} dimension{'s' * (d > 1)} by "
        f"{record['method']} ({record['why']})"
    )
    if record["choice"] is not None:
        shell.answer(record["choice"]["told"])
    if record["dimension"] is not None and record["dimension"]["n_components"] is not None:
        shell.answer(record["dimension"]["told"])
    if record["participants"] is not None:
        shell.answer(record["participants"]["told"])
    if record["individual_differences"] is not None:
        shell.answer(record["individual_differences"]["told"])
    if held_out is not None:
        accuracy = in_words(held_out)
        shell.answer(f"held-out accuracy {accuracy}: {held_out['verdict']}; {held_out['how']}")
        if held_out["log_likelihood"] is not None:
            shell.answer(
                f"held-out log-likelihood {held_out['log_likelihood']:.4f} per triplet; expected "
                f"calibration error {held_out['calibration']['error']:.1%}"
            )
        if held_out["three_way"]:
            shell.answer(f"held-out answers: {three_way_in_words(held_out)}")
    if record["uncertainty"] is not None:
        shell.answer(f"how sure: {record['uncertainty']['told']}")
    if result["covariance"] is not None:
        shell.answer(f"standard errors {result['covariance']}")
    for name in SENTENCES:
        if name in record:
            shell.answer(record[name]["sentence"])
    written = [name for name in FILES if (folder / name).exists()]
    shell.answer(f"{folder}/: {', '.join(written)}")
