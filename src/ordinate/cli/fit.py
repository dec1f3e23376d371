"""The command ``fit``: from raw file to labelled coordinates, figure and report."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate.cli import _shell as shell
from ordinate.cli.data import read_answers
from ordinate.cli.maps import Colour, Images, Items, find_looks

JUDGED = "--folds 0 judges nothing"
STREAMED = "streamed, being larger than memory"


@shell.command
def fit(
    file: shell.File,
    dimensions: Annotated[
        int, typer.Option("--dimensions", "-d", help="Dimensions of the map.", min=1)
    ] = 2,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default FILE-map."),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, or one of `ordinate methods`.")] = "auto",
    layout: shell.LayoutName = "auto",
    columns: shell.Columns = None,
    first_id: shell.FirstId = None,
    odd: shell.Odd = None,
    positive: shell.Positive = None,
    keep_checks: shell.KeepChecks = False,
    exclude_participants: shell.Excluded = None,
    min_response_time: shell.MinTime = None,
    images: Images = None,
    items: Items = None,
    colour: Colour = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    folds: Annotated[
        int | None,
        typer.Option(help=f"Parts that answers are held out in, to judge the map; {JUDGED}."),
    ] = None,
    noise: Annotated[str | None, typer.Option(help="btl or thurstone, for ste and loe.")] = None,
    regularization: Annotated[
        float | None, typer.Option(help="Ridge, against few answers per item.", min=0)
    ] = None,
    starts: Annotated[
        int | None, typer.Option(help="Starts to try; the best map is kept.", min=1)
    ] = None,
    tol: Annotated[float | None, typer.Option(help="Where to stop; smaller is stricter.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto: where to compute.")] = None,
    memory_limit: shell.MemoryLimit = None,
    seed: shell.Seed = 0,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Read answers, check them, fit a map, and write coordinates, figures and a report.

    The folder gets `embedding.csv` (label, coordinates, triplets and accuracy per item),
    `embedding.png` and `.svg`, `report.html` (interactive, opens offline) and `run.json` (every
    setting, versions, input hash, timings, what was dropped and why). Accuracy is that on answers
    the map has not seen.

    ```
    ordinate fit responses.csv
    ordinate fit letters.csv -d 3 -o letters-3d --method tste
    ordinate fit answers.csv --images pictures/ --items items.csv --colour kind
    ```
    """
    from ordinate.backends.compiling import compile_beside

    folder = file.with_name(f"{file.name.split('.')[0]}-map") if output is None else output
    if folder.exists() and not force:
        raise shell.CommandError(
            f"{folder} exists: --force replaces it, -o names another", shell.UNWRITABLE
        )
    end_compiling = compile_beside()
    from ordinate import analysis, methods, storage
    from ordinate._writing import whole_folder
    from ordinate.advice import problems
    from ordinate.run_folder import Story, fingerprint, write_run

    total = 7 + (analysis.FOLDS if folds is None else folds)
    with shell.stages(total, quiet) as stages:
        stages.begin("reading")
        stored = storage.find(file) if layout == "auto" and columns is None else None
        if stored is not None and memory_limit is not None:
            stored = storage.open_triplets(file, memory_limit=memory_limit)
        streamed = stored is not None and not stored.fits
        if streamed:
            triplets: Any = stored
            notes = [f"{STREAMED}: no answers were held out, and the data check was left out"]
            found: list = []
            summary: Any = analysis.Brief(len(triplets), triplets.n_items)
            source = {"layout": "fast", "rows": len(triplets), "rows used": len(triplets)}
        else:
            reading = read_answers(
                file,
                layout,
                columns,
                first_id,
                odd,
                positive,
                keep_checks,
                exclude_participants,
                min_response_time,
            )
            triplets, notes = reading.triplets, reading.notes
            stages.begin("checking")
            found = problems(triplets, notes)
            summary = triplets.summarise()
            source = {
                "layout": reading.layout,
                "rows": reading.n_rows,
                "rows used": reading.n_used,
            }
        looks = find_looks([str(label) for label in triplets.labels], images, items, colour)
        choice = methods.choose(
            triplets,
            dimensions,
            method,
            noise=noise,
            regularization=regularization,
            n_starts=starts,
            tol=tol,
            device=device,
            random_state=seed,
        )
        end_compiling()
        if streamed:
            stages.begin("the map, streamed")
            result = analysis.analyse_stored(choice.estimator, triplets)
        else:
            result = analysis.analyse(
                choice.estimator, triplets, folds=folds, random_state=seed, tell=stages.begin
            )
        stages.begin("hash of the input")
        source = {"file": str(file), "sha256": fingerprint(file)} | source
        story = Story(
            title=title or file.name,
            method=choice.name,
            reason=choice.reason,
            settings=plain(choice.estimator.get_params(deep=False)) | {"folds": folds},
            source=source,
            notes=notes,
            problems=found,
            summary=summary,
            seconds=stages.seconds,
            command=shlex.join(["ordinate", *sys.argv[1:]]),
        )
        with whole_folder(folder, force=force) as partial:
            record = write_run(partial, result, story, looks, stages.begin)
    report(folder, record, result.warnings, quiet, as_json)


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as values that JSON knows."""
    known = (str, int, float, bool, type(None))
    return {name: v if isinstance(v, known) else repr(v) for name, v in settings.items()}


def report(
    folder: Path, record: dict[str, Any], warned: list[str], quiet: bool, as_json: bool
) -> None:
    """Say what came out: the record as JSON, or a few lines."""
    import json

    if as_json:
        typer.echo(json.dumps({"output": str(folder), **record}, indent=2, ensure_ascii=False))
        return
    for note in record["dropped"]:
        shell.say(f"note: {note}", quiet)
    for problem in record["problems"]:
        if problem["severity"] != "note":
            shell.say(f"{problem['severity']}: {problem['what']} ({problem['remedy']})", quiet)
    for warning in warned:
        shell.say(f"warning: {warning}", quiet)
    if quiet:
        return
    held_out, result = record["held_out"], record["result"]
    d = result["n_components"]
    typer.echo(
        f"{result['n_items']:,} items in {d} dimension{'s' * (d > 1)} by "
        f"{record['method']} ({record['why']})"
    )
    if held_out is not None:
        typer.echo(
            f"held-out accuracy {held_out['accuracy']:.1%} ± {held_out['error']:.1%} "
            f"({held_out['how']})"
        )
    typer.echo(f"{folder}/: embedding.csv, embedding.png, embedding.svg, report.html, run.json")
