"""Commands about maps: plot, score, export."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ordinate._base.messages import counted, some
from ordinate.cli import _shell as shell
from ordinate.cli._appearance import PLAIN, LookOptions, find_appearance
from ordinate.cli.data import AS_FOUND, ReadingOptions, open_answers, refuse_output

Embedding = Annotated[Path, typer.Argument(help="A map: embedding.csv, or the folder of `fit`.")]


@shell.command
def plot(
    embedding: Embedding,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="PNG, TIFF, SVG, PDF or EPS file; by default the map's name with .png.",
        ),
    ] = None,
    looks: LookOptions = PLAIN,
    title: Annotated[str | None, typer.Option(help="Title above the map.")] = None,
    caption: Annotated[str | None, typer.Option(help="Text below the map.")] = None,
    width: Annotated[str, typer.Option(help="column, page or a width in mm.")] = "page",
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Draw a map, with labels, pictures or colours.

    ```
    ordinate plot out/embedding.csv -o map.pdf --width column
    ordinate plot answers-map -o kinds.png --items items.csv --colour kind --images pictures/
    ```
    """
    from ordinate.figures.figure_files import check_ending
    from ordinate.figures.plotting import plot_map, save

    embedding = inside(embedding)
    path = embedding.with_suffix(".png") if output is None else output
    refuse_output(path, force, inputs=[embedding])
    check_ending(path)
    drawing = looks.drawing()
    found = _read(embedding)
    covariance, doubt = _covariance(embedding, found, looks.ellipses, quiet)
    appearance = find_appearance(found.labels, looks, found.columns, quiet)
    with shell.warnings_as_notes(quiet):
        figure = plot_map(
            found.points,
            found.labels,
            names=appearance.names,
            images=appearance.images,
            colour=appearance.colour,
            colour_name=appearance.colour_name,
            title=title,
            caption=caption,
            width=float(width) if width.replace(".", "", 1).isdigit() else width,
            covariance=covariance,
            doubt=doubt,
            **drawing,
        )
    save(figure, path)
    shell.say(f"{path}", quiet)


@shell.command
def score(
    embedding: Embedding,
    file: shell.File,
    reading: ReadingOptions = AS_FOUND,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Tell how many answers a map gets right, beside chance.

    It is told if the map was made from these answers. Those about items that are not on the map are
    left out and counted. The standard error allows for rows of one answer depending on each other.
    Where the model beside the map, in `model.json`, gives answers probabilities, it tells how
    likely the answers are, and by how much those probabilities differ from the shares that came
    true.

    ```
    ordinate score out/embedding.csv new-answers.csv
    ```
    """
    import numpy as np

    from ordinate.data.labels import places
    from ordinate.evaluation.metrics import (
        CHANCE,
        as_plain,
        correct,
        drawn_at_random,
        judge_fully,
    )

    embedding = inside(embedding)
    found = _read(embedding)
    source = open_answers(file, reading)
    sha256, triplets = source.sha256, source.load()
    rows = places(map(str, triplets.items), found.labels)
    ids = rows[triplets.rows]
    known = (ids >= 0).all(axis=1)
    unknown = [str(label) for label in triplets.items[rows < 0]]
    if not known.any():
        raise shell.CommandError(
            f"every answer in {file} names an item that is not in {embedding}: {some(unknown)}",
            shell.UNREADABLE,
        )
    drawn = drawn_at_random(triplets)
    fair = known if drawn is None or not (known & drawn).any() else known & drawn
    judged = judge_fully(correct(found.points, ids[known]), triplets[known])
    shown = as_plain(judged)
    origin = _origin(embedding, file, sha256)
    record = {
        "accuracy": judged.accuracy,
        "error": judged.error,
        "chance": CHANCE,
        "triplets": judged.n_triplets,
        "answers": judged.n_answers,
        "ceiling": shown["ceiling"],
        "three_way": shown["three_way"],
        "by_source": shown["by_source"],
        "without_place": int(np.isnan(found.points).any(axis=1)[ids[known]].any(axis=1).sum()),
        "left_out": int((~known).sum()),
        "unknown_items": unknown,
        "same_file": origin.same_file,
        **_probabilities(embedding, ids[fair], triplets[fair]),
    }
    if as_json:
        shell.answer_json(record, indent=None)
        return
    _tell_score(record)
    shell.answer(origin.told)


def _probabilities(embedding: Path, ids: Any, triplets: Any) -> dict[str, float | None]:
    """How likely the answers are by the model beside a map, if it says so; ids are rows of it."""
    from ordinate.data.triplets import Triplets
    from ordinate.estimators.saving import MODEL, load
    from ordinate.evaluation.metrics import judge_probabilities
    from ordinate.files.maps import MAPS

    unknown: dict[str, float | None] = {"log_likelihood": None, "calibration_error": None}
    if embedding.name not in MAPS or not (embedding.parent / MODEL).exists():
        return unknown
    try:
        model = load(embedding.parent)
    except ValueError as error:
        shell.say(f"note: no probabilities are known: {shell.told(error)}", quiet=False)
        return unknown
    if not hasattr(model, "predict_proba"):
        return unknown
    asked = Triplets(ids, items=model.items_)
    likelihood, curve = judge_probabilities(model.predict_proba(asked)[:, 1], triplets)
    return {"log_likelihood": likelihood, "calibration_error": curve.error}


def _tell_score(record: dict[str, Any]) -> None:
    from ordinate.evaluation.metrics import by_source_in_words, in_words, three_way_in_words

    accuracy = in_words(record)
    of = "" if record["answers"] == record["triplets"] else f" of {record['answers']:,} answers"
    shell.answer(f"{accuracy} of {record['triplets']:,} triplets{of} agree with the map")
    if record["by_source"] is not None:
        shell.answer(f"this is the accuracy of {by_source_in_words(record)}")
    if record["log_likelihood"] is not None:
        shell.answer(
            f"log-likelihood {record['log_likelihood']:.4f} per triplet; expected calibration "
            f"error {record['calibration_error']:.1%}, the mean difference between probabilities "
            "and the shares that came true"
        )
    if record["three_way"]:
        shell.answer(f"answers: {three_way_in_words(record)}")
    if record["without_place"]:
        shell.answer(
            f"{record['without_place']:,} of them name items without a place, and count as half "
            "right"
        )
    if record["left_out"]:
        items = record["unknown_items"]
        shell.answer(
            f"{counted(record['left_out'], 'more triplet was', 'more triplets were')} left out, "
            f"since {counted(len(items), 'item is', 'items are')} not on the map: {some(items)}"
        )


class Origin(NamedTuple):
    """Whether a map was made from the file at hand, None if that is unknown, and how to say so."""

    same_file: bool | None
    told: str


def _origin(embedding: Path, file: Path, sha256: str) -> Origin:
    """Compare a file with the one that the record beside a map names as its source."""
    from ordinate.evaluation.metrics import in_words
    from ordinate.study.record import read_record

    record = read_record(embedding)
    source = None if record is None else record["input"].get("sha256")
    if record is None or source is None:
        return Origin(
            None,
            f"note: there is no run.json of {embedding.name} beside it, so it is not known whether "
            "the map was made from these answers; if it was, this is not its accuracy on new ones",
        )
    if source != sha256:
        return Origin(
            False,
            f"the map was made from a file other than {file.name}; whether they share some "
            "answers is not known",
        )
    held_out = record.get("held_out")
    instead = ""
    if held_out is not None:
        accuracy = in_words(held_out)
        instead = f", which is {accuracy} according to run.json"
    return Origin(
        True,
        f"warning: the map was made from the answers in {file.name}: this tells how well it fits "
        f"them, not its accuracy on new ones{instead}",
    )


@shell.command
def export(
    embedding: Embedding,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.")] = Path(
        "distances.csv"
    ),
    large: Annotated[
        bool, typer.Option("--large", help="Write the file even if it is very large.")
    ] = False,
    defuse: shell.Defuse = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Write the distances between all items as a CSV table.

    Labels are in the first row and the first column; distances of items without a place are NA. In
    R: `as.dist(as.matrix(read.csv("distances.csv", row.names = 1, check.names = FALSE)))`.

    ```
    ordinate export answers-map -o distances.csv
    ```
    """
    from ordinate.files.maps import write_distances

    embedding = inside(embedding)
    refuse_output(output, force, inputs=[embedding])
    found = _read(embedding)
    write_distances(output, found.labels, found.points, large=large, defuse=defuse)
    shell.say(f"{output}", quiet)


def _covariance(
    embedding: Path, found: Any, ellipses: bool | None, quiet: bool
) -> tuple[Any, str | None]:
    """Return the covariances to draw, of the model beside a map, and why they may be wrong."""
    import warnings

    from ordinate.estimators.saving import MODEL, load
    from ordinate.figures.error_marks import doubt_of
    from ordinate.files.maps import MAPS

    if ellipses is False:
        return None, None
    required, doubt = bool(ellipses), None
    try:
        if embedding.name not in MAPS or not (embedding.parent / MODEL).exists():
            raise ValueError(f"there is no {MODEL} of {embedding.name} beside it, as fit leaves it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a changed table: that is told below
            model = load(embedding.parent)
        if (
            getattr(model, "_covariance", None) is None
            and (embedding.parent / "covariance.npy").exists()
        ):
            raise ValueError(f"{embedding} has other standard errors than covariance.npy beside it")
        covariance = model._uncertain_map()[1]
        if not _belongs(covariance, found):
            raise ValueError(f"{embedding} has other standard errors than covariance.npy beside it")
        doubt = doubt_of(model)
        if doubt is not None and not required:
            raise ValueError(f"they are not to be trusted: {doubt}. --ellipses draws them still")
    except (AttributeError, ValueError) as error:
        if required:
            raise shell.CommandError(f"--ellipses: {shell.told(error)}", shell.UNREADABLE) from None
        if isinstance(error, ValueError) and (embedding.parent / "covariance.npy").exists():
            shell.say(f"note: no ellipses are drawn: {shell.told(error)}", quiet)
        return None, doubt
    return covariance, doubt


def _belongs(covariance: Any, found: Any) -> bool:
    """Whether covariances are those of a table: its rows may have been sorted or changed since."""
    import numpy as np

    from ordinate.evaluation.uncertainty import standard_errors

    columns = [found.columns.get(f"se{k}") for k in range(1, found.points.shape[1] + 1)]
    if any(column is None for column in columns):
        return False
    table = np.array(columns, dtype=float).T
    return np.allclose(table, standard_errors(covariance), rtol=1e-6, equal_nan=True)


def inside(path: Path) -> Path:
    """Return the map in a folder that ``fit`` made; any other path as it is."""
    from ordinate.files.maps import map_in

    return map_in(path)


def _read(path: Path) -> Any:
    from ordinate.files.maps import read_map

    try:
        return read_map(path)
    except ValueError as error:
        raise shell.CommandError(shell.told(error), shell.UNREADABLE) from None
