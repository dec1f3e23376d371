"""Commands about data: check, convert, simulate."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ordinate._base.messages import some
from ordinate.cli import _shell as shell
from ordinate.cli import _values

if TYPE_CHECKING:
    from ordinate.files.inputs import Source

TEXTS = (".csv", ".tsv")
WORKING = 230  # bytes that a row takes to be checked, or written with its labels, as measured
COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write.")]


class ReadingOptions(NamedTuple):
    """How a file is to be read, as all commands ask for it; and what some of them add."""

    layout: Annotated[
        str, typer.Option(help="What the columns mean: see `ordinate check --help`.")
    ] = "auto"
    columns: Annotated[
        str | None,
        typer.Option(help="Columns by role, some or all, as in `anchor=head,far=loser`."),
    ] = None
    first_id: Annotated[
        int | None, typer.Option(help="Integer ids count from this number: 0 or 1.", min=0)
    ] = None
    odd: Annotated[
        str | None,
        typer.Option(help="Which of three unnamed columns is the odd one: first, middle or last."),
    ] = None
    response: Annotated[
        str | None,
        typer.Option(
            help="What answers mean, as in `f=first,j=second`; `item` if they name the item."
        ),
    ] = None
    drop: Annotated[
        str | None,
        typer.Option(help="Bad rows to leave out: repeated (an item twice), unanswered, unnamed."),
    ] = None
    only: Annotated[str | None, typer.Option(help="The rows to read, as in `task=triplet`.")] = None
    checks: Annotated[
        str | None, typer.Option(help="Values that mark check trials, as in `trial_type=catch`.")
    ] = None
    keep_checks: Annotated[
        bool, typer.Option("--keep-checks", help="Keep check trials that the file marks.")
    ] = False
    exclude_participants: Annotated[
        str | None, typer.Option(help="Participants to leave out, separated by commas.")
    ] = None
    min_response_time: Annotated[
        float | None, typer.Option(help="Leave out answers faster than this, in the file's unit.")
    ] = None
    merge_labels: Annotated[
        bool,
        typer.Option(
            "--merge-labels",
            help="Labels that differ only by case, blanks or invisible characters are one item.",
        ),
    ] = False
    table: Annotated[
        str | None,
        typer.Option(help="Which sheet, variable or file, where a file holds several tables."),
    ] = None
    groups: str | None = None
    memory_limit: str | None = None

    def given(self) -> dict[str, Any]:
        """Return what was said, as :func:`ordinate.readers.read` takes them."""
        given = {
            name: value
            for name, value, usual in zip(self._fields, self, AS_FOUND, strict=True)
            if value != usual and name != "memory_limit"
        }
        return {
            name: PARSERS[name](value) if name in PARSERS else value
            for name, value in given.items()
        }


AS_FOUND = ReadingOptions()
PARSERS: dict[str, Callable[[Any], Any]] = {
    "layout": lambda text: text.replace("-", "_"),
    "columns": _values.columns,
    "response": _values.response,
    "drop": _values.names,
    "only": partial(_values.marks, "--only"),
    "checks": partial(_values.marks, "--checks"),
    "exclude_participants": _values.names,
}


def open_answers(
    file: Path, options: ReadingOptions, *, stream: bool = False, working: int = 0
) -> "Source":
    """Take a file or a folder through the one door, with notes in the words of this place."""
    from ordinate.files.inputs import open_source

    limit = options.memory_limit
    working = working if limit else 0  # half of the free memory is no promise
    source = open_source(
        file, memory_limit=limit, stream=stream, working=working, **options.given()
    )
    return source._replace(notes=[shell.spelled(note) for note in source.notes])


def open_for_workers(file: Path, options: ReadingOptions, client: Any) -> Any:
    """Open what the workers of a cluster are to read."""
    from ordinate.files.ondisk import open_triplets
    from ordinate.files.readers import refuse_options

    refuse_options("workers read the columns anchor, near and far as they are", options.given())
    return open_triplets(url_of(file), client=client, memory_limit=options.memory_limit)


def url_of(file: Path) -> str:
    """Return a path as it was given: where it is a URL, with all slashes.

    >>> url_of(Path("s3://answers/set")), url_of(Path("file:///data/set")), url_of(Path("set"))
    ('s3://answers/set', 'file:///data/set', 'set')
    """
    text = re.sub(r"^(\w{2,}):/+", r"\1://", str(file))  # a path has one slash
    return text.replace("file://", "file:///", 1) if text.startswith("file://") else text


@shell.command
def check(
    file: shell.File,
    reading: ReadingOptions = AS_FOUND,
    memory_limit: shell.MemoryLimit = None,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Report what a file holds, and every problem with its remedy.

    Problems are told the worst first. The layout is found from the columns; if several fit, you
    are asked. Layouts, and the roles that --columns may name in them (the others are found; *
    stands for the number of a question if a row holds several):

    ```
    - plain: anchor, near, far
    - response: anchor, first, second, response, winner, farther
    - odd_one_out: first, second, third, odd
    - most_central: first, second, third, centre
    - votes: anchor, first, second, votes_first, votes_second
    - selection: query, shown_1, chosen_1, reference_1, n_select
    - ranking: query, rank_1, rank_2
    - salmon, next, food100: as these programs and that data set name them
    - any layout: participant, response_time, check, timeout, weight, answer
    ```

    ```
    ordinate check responses.csv
    ordinate check triplets.csv --columns anchor=head,near=winner,far=loser
    ordinate check things.txt --odd last
    ```
    """
    from ordinate.data.advice import problems

    reading = reading._replace(memory_limit=memory_limit)
    source = open_answers(file, reading, working=WORKING)
    triplets = source.load()
    found = problems(triplets, source.notes)
    summary = triplets.summarise()
    if as_json:
        record = {
            "file": str(file),
            "layout": source.layout,
            "rows": source.n_rows,
            "rows_used": source.n_used,
            "first_says": source.example,
            "notes": source.notes,
            "problems": [problem._asdict() for problem in found],
            "data": summary.as_dict(),
        }
        shell.answer_json(record)
        return
    shell.answer(f"{file}: {source.n_rows:,} rows, layout {source.layout}")
    shell.answer(f"the first says that {source.example}\n" if source.example else "")
    shell.answer(f"{summary}\n")
    for problem in found:
        typer.secho(f"{problem.severity}: ", fg=COLOURS[problem.severity], bold=True, nl=False)
        shell.answer(problem.what)
        if problem.remedy:
            shell.answer(f"    {problem.remedy}")
    if not found:
        typer.secho("no problems", fg="green")


@shell.command
def convert(
    file: shell.File,
    output: Output,
    reading: ReadingOptions = AS_FOUND,
    fast: Annotated[bool, typer.Option("--fast", help="Write the fast layout.")] = False,
    order: Annotated[
        str | None,
        typer.Option(help="Of the rows in the fast layout: anchor, the usual one, or answer."),
    ] = None,
    memory_limit: shell.MemoryLimit = None,
    cluster: shell.ClusterAt = None,
    defuse: shell.Defuse = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Turn any layout into plain triplets: anchor, near, far.

    The ending of the output sets the format: .parquet, .csv, .tsv or .feather. The fast layout, for
    files larger than memory, is a folder of arrays or a .parquet file, with compact ids and
    checksums of all that it holds. Its rows are grouped by anchor, which loe needs; or by answer,
    which tells how sure other maps of it are. The workers of a cluster write that folder.

    ```
    ordinate convert responses.csv -o triplets.parquet
    ordinate convert huge.csv -o huge --fast
    ordinate convert huge/ -o fast --cluster tcp://host:8786
    ordinate convert odd_one_out.csv -o huge --fast --order answer
    ```
    """
    from ordinate._base.checks import check_choice
    from ordinate.files import ondisk
    from ordinate.files.ondisk.layout import ORDERS
    from ordinate.files.ondisk.writing import is_parquet

    folder = (fast or cluster is not None) and not is_parquet(output)
    refuse_output(output, force, inputs=[file], folder=folder)
    refuse_defusing(defuse, output, fast or cluster is not None)
    if order is not None and not fast and cluster is None:
        raise shell.CommandError(
            "--order is that of the fast layout: give --fast, too, or leave it out",
            shell.WRONG_USE,
        )
    order = order or "anchor"
    check_choice("order", order, ORDERS)
    reading = reading._replace(memory_limit=memory_limit)
    if cluster is not None:
        with (
            shell.cluster(cluster, quiet) as client,
            shell.stages(1, quiet) as stages,
            shell.warnings_as_notes(quiet),
        ):
            stages.begin("converting")
            stored = open_for_workers(file, reading, client)
            ondisk.convert(stored, output, order=order, force=force)
        shell.say(f"{len(stored):,} triplets in {output}", quiet)
        return
    source = open_answers(file, reading, stream=fast, working=WORKING)
    for note in source.notes:
        shell.say(f"note: {note}", quiet)
    if fast and isinstance(source.triplets, ondisk.TripletFile):
        ondisk.convert(source.triplets, output, order=order, force=force)
        shell.say(f"{len(source.triplets):,} triplets in {output}", quiet)
        return
    triplets = source.load()
    if fast:
        if triplets.source is not None:
            shell.say("note: the fast layout has no column source, which is left out", quiet)
        ondisk.write([triplets], output, memory_limit=memory_limit, order=order, force=force)
    else:
        changed = write_table(output, triplets.to_arrow(), force, defuse=defuse)
        if changed:
            shell.say(f"note: ' was put before {some(changed)}, and stays when it is read", quiet)
    shell.say(f"{len(triplets):,} triplets in {output}", quiet)


@shell.command
def simulate(
    output: Output,
    n: Annotated[int, typer.Option("--n", help="Number of items.", min=3)] = 1000,
    d: Annotated[int, typer.Option("--d", "-d", help="Number of dimensions.", min=1)] = 2,
    c: Annotated[
        float, typer.Option("--c", help="Triplets as a multiple of n log n, as in the paper.")
    ] = 20.0,
    triplets: Annotated[
        int | None, typer.Option(help="Number of triplets, in place of --c.", min=1)
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(help="uniform or landmarks; by default uniform, unless --landmarks is given."),
    ] = None,
    landmarks: Annotated[
        int | None, typer.Option(help="Number of landmarks; by default what suits the triplets.")
    ] = None,
    noise: Annotated[
        str, typer.Option(help="btl, thurstone, power, none or a share of errors.")
    ] = "btl",
    power: Annotated[
        float | None,
        typer.Option(help="For --noise power: 1 compares squared distances, 0 their ratios."),
    ] = None,
    slope: Annotated[
        float | None, typer.Option(help="For --noise power: how clear answers are.")
    ] = None,
    lapse: Annotated[
        float | None, typer.Option(help="For --noise power: share of answers that are guesses.")
    ] = None,
    distribution: Annotated[str, typer.Option(help="normal or uniform points.")] = "normal",
    points: Annotated[
        Path | None, typer.Option(help="Also write the true map to this CSV file.")
    ] = None,
    seed: shell.Seed = 0,
    defuse: shell.Defuse = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Simulate noisy answers about random points.

    A .parquet file or a folder is streamed in the fast layout, however large it is.

    ```
    ordinate simulate --n 500 --c 50 -o answers.csv --points truth.csv
    ordinate simulate --n 1000000 --c 200 --design landmarks -o big.parquet
    ordinate simulate --noise power --power 0.5 --slope 4 --lapse 0.05 -o people.csv
    ```
    """
    import numpy as np

    from ordinate import n_landmarks
    from ordinate.data.simulate import iter_triplets, sample_points, sample_triplets
    from ordinate.files import ondisk
    from ordinate.files.maps import write_map

    refuse_output(output, force, inputs=[], folder=not output.suffix)
    refuse_defusing(defuse, output)
    if points is not None:
        refuse_output(points, force, inputs=[output])
    m = round(c * n * np.log(n)) if triplets is None else triplets
    truth = sample_points(n, d, distribution=distribution, random_state=seed)
    if design is None:
        design = "uniform" if landmarks is None else "landmarks"
    if design == "landmarks" and landmarks is None:
        landmarks = n_landmarks(n, d, m)
    model = _noise(noise, {"power": power, "slope": slope, "lapse": lapse})
    options: dict[str, Any] = {"noise": model, "design": design, "landmarks": landmarks}
    options["random_state"] = seed + 1
    if output.suffix in ("", ".parquet"):
        ondisk.write(iter_triplets(truth, m, **options), output, force=force)
    else:
        table = sample_triplets(truth, m, **options).to_arrow()
        write_table(output, table, force, defuse=defuse)
    shell.say(f"{m:,} triplets about {n:,} items in {output}", quiet)
    if points is not None:
        write_map(points, range(n), truth, {}, defuse=defuse)
        shell.say(f"the true map in {points}", quiet)


def _noise(text: str, shape: dict[str, float | None]) -> Any:
    """Return a noise model by its name, or the share of errors that the text says."""
    from ordinate.data.simulate import NOISES, Power

    given = {name: value for name, value in shape.items() if value is not None}
    if text == "power":
        return Power(**given)
    if given:
        raise shell.CommandError(
            f"--{' and --'.join(given)} can only go with --noise power; it is {text}",
            shell.WRONG_USE,
        )
    if text in NOISES:
        return text
    try:
        return float(text)
    except ValueError:
        raise shell.CommandError(
            f"--noise must be one of {', '.join(NOISES)} and power, or a share of errors, 0 to "
            f"0.5; got {text}",
            shell.WRONG_USE,
        ) from None


def refuse_output(path: Path, force: bool, inputs: list[Path], *, folder: bool = False) -> None:
    """Raise before the work if an output cannot be written, or is one of the other files."""
    from ordinate._base.writing import check_replaceable, resolved

    for other in inputs:
        if resolved(path) == resolved(other):
            raise shell.CommandError(
                f"{path} would overwrite another file of this command: name another",
                shell.UNWRITABLE,
            )
    check_replaceable(path, force, folder=folder)


def refuse_folder(path: Path, force: bool, inputs: list[Path]) -> None:
    """Raise before the work if a folder cannot be written, or if it holds what is read."""
    from ordinate._base.writing import check_replaceable, resolved

    refuse_file(path)
    for needed in inputs:
        if needed.exists() and resolved(needed).is_relative_to(resolved(path)):
            raise shell.CommandError(
                f"{path} holds {needed}, which is needed: name another", shell.UNWRITABLE
            )
    check_replaceable(path, force)


def refuse_file(folder: Path) -> None:
    """Raise if a name for a folder of results is that of a figure: it would not become one."""
    from ordinate._base.endings import IMAGES

    if folder.suffix.lower() in (*IMAGES, ".pdf", ".eps", ".html") and not folder.is_dir():
        raise shell.CommandError(
            f"--output names a folder, for all results, and {folder} is the name of a file: leave "
            f"{folder.suffix} out (`ordinate plot` draws a map in other formats)",
            shell.WRONG_USE,
        )


def refuse_defusing(defuse: bool, output: Path, fast: bool = False) -> None:
    """Raise if labels are to be defused in what no spreadsheet opens."""
    if defuse and (fast or output.suffix.lower() not in TEXTS):
        raise shell.CommandError(
            f"--defuse is for outputs that spreadsheets open, {' and '.join(TEXTS)}; got {output}",
            shell.WRONG_USE,
        )


def write_table(path: Path, table: Any, force: bool, *, defuse: bool = False) -> list[str]:
    """Write an Arrow table in the format that the ending names; return what was defused."""
    from pyarrow import csv, feather, parquet

    from ordinate._base.writing import whole_file
    from ordinate.files.maps import defused

    writers: dict[str, Any] = {
        ".parquet": parquet.write_table,
        ".csv": csv.write_csv,
        ".tsv": lambda t, p: csv.write_csv(t, p, csv.WriteOptions(delimiter="\t")),
        ".feather": feather.write_feather,
    }
    if path.suffix.lower() not in writers:
        raise shell.CommandError(
            f"{path}: the ending must be one of {', '.join(writers)}", shell.WRONG_USE
        )
    table, changed = defused(table) if defuse else (table, [])
    # Arrow takes open files where it refuses names that are not UTF-8.
    with whole_file(path, force=force) as partial, partial.open("wb") as file:
        writers[path.suffix.lower()](table, file)
    return changed
