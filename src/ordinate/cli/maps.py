"""Commands about maps: plot, score, export."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate.cli import _shell as shell
from ordinate.cli.data import Options, read_answers

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")

Embedding = Annotated[Path, typer.Argument(help="A map: embedding.csv, or the folder of `fit`.")]
Images = Annotated[
    Path | None, typer.Option(help="Folder with a picture per item, named by its label.")
]
Items = Annotated[
    Path | None, typer.Option(help="CSV about the items: a column label, and others.")
]
Colour = Annotated[
    str | None, typer.Option("--colour", "--color", help="Column to colour the items by.")
]

Labels = Annotated[
    str,
    typer.Option(help="Labels to draw: auto (those that have room), all, none, or how many."),
]
ImageSize = Annotated[float | None, typer.Option(help="Size of pictures in mm.")]
ImageAlpha = Annotated[
    float, typer.Option(help="1 for opaque pictures, less for transparent ones.")
]
KeepWhite = Annotated[
    bool, typer.Option("--keep-white", help="Keep white backgrounds of pictures.")
]


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
    images: Images = None,
    items: Items = None,
    colour: Colour = None,
    title: Annotated[str | None, typer.Option(help="Title above the map.")] = None,
    caption: Annotated[str | None, typer.Option(help="Text below the map.")] = None,
    width: Annotated[str, typer.Option(help="column, page or a number of mm.")] = "page",
    labels: Labels = "auto",
    image_size: ImageSize = None,
    image_alpha: ImageAlpha = 1.0,
    keep_white: KeepWhite = False,
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
    from ordinate.figure_files import check_ending
    from ordinate.plotting import plot_map, save

    embedding = inside(embedding)
    path = embedding.with_suffix(".png") if output is None else output
    if path.exists() and not force:
        raise shell.CommandError(
            f"{path} exists: -o names another, --force replaces it", shell.UNWRITABLE
        )
    check_ending(path)
    drawing = drawing_of(labels, image_size, image_alpha, keep_white)
    found = _read(embedding)
    looks = find_looks(found.labels, images, items, colour, found.columns)
    with shell.warnings_as_notes(quiet):
        figure = plot_map(
            found.points,
            found.labels,
            images=looks.images,
            colour=looks.colour,
            colour_name=looks.colour_name,
            title=title,
            caption=caption,
            width=float(width) if width.replace(".", "", 1).isdigit() else width,
            **drawing,
        )
    save(figure, path)
    shell.say(f"{path}", quiet)


@shell.command
def score(
    embedding: Embedding,
    file: shell.File,
    layout: shell.LayoutName = "auto",
    columns: shell.Columns = None,
    first_id: shell.FirstId = None,
    odd: shell.Odd = None,
    positive: shell.Positive = None,
    keep_checks: shell.KeepChecks = False,
    exclude_participants: shell.Excluded = None,
    min_response_time: shell.MinTime = None,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Tell how many answers a map gets right.

    ```
    ordinate score out/embedding.csv new-answers.csv
    ```
    """
    import numpy as np

    from ordinate.metrics import correct

    embedding = inside(embedding)
    found = _read(embedding)
    options = Options.of(locals())
    triplets = read_answers(file, options).triplets
    row_of = {label: row for row, label in enumerate(found.labels)}
    rows = np.array([row_of.get(str(label), -1) for label in triplets.labels])
    unknown = triplets.labels[rows < 0].tolist()
    if unknown:
        raise shell.CommandError(
            f"{len(unknown):,} items of {file} are not in {embedding}: {unknown[:10]}",
            shell.UNREADABLE,
        )
    right = correct(found.points, rows[triplets.rows])
    accuracy = float(np.average(right, weights=triplets.weight))
    nowhere = np.isnan(found.points).any(axis=1)
    unknown_rows = int(nowhere[rows[triplets.rows]].any(axis=1).sum())
    if as_json:
        record = {"accuracy": accuracy, "triplets": len(triplets), "without_place": unknown_rows}
        typer.echo(json.dumps(record))
        return
    typer.echo(f"{accuracy:.2%} of {len(triplets):,} triplets")
    if unknown_rows:
        typer.echo(f"{unknown_rows:,} of them name items without a place, and count half")


@shell.command
def export(
    embedding: Embedding,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.")] = Path(
        "distances.csv"
    ),
    large: Annotated[
        bool, typer.Option("--large", help="Write the file even if it is enormous.")
    ] = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Write the distances between all items as a CSV table, for R and others.

    Labels are in the first row and the first column; distances of items without a place are NA. In
    R: `as.dist(as.matrix(read.csv("distances.csv", row.names = 1, check.names = FALSE)))`.

    ```
    ordinate export answers-map -o distances.csv
    ```
    """
    from ordinate.map_files import write_distances

    if output.exists() and not force:
        raise shell.CommandError(
            f"{output} exists: -o names another, --force replaces it", shell.UNWRITABLE
        )
    found = _read(inside(embedding))
    write_distances(output, found.labels, found.points, large=large)
    shell.say(f"{output}", quiet)


def drawing_of(
    labels: str, image_size: float | None, image_alpha: float, keep_white: bool
) -> dict[str, Any]:
    """Return how to draw, as arguments of ``plot_map``, once it is known that it can be."""
    from ordinate.plotting import check_drawing

    show = int(labels) if labels.isdecimal() else labels
    check_drawing(show, image_size, image_alpha)
    return {
        "show_labels": show,
        "image_size": image_size,
        "image_alpha": image_alpha,
        "keep_white": keep_white,
    }


def inside(path: Path) -> Path:
    """Return the map in a folder that ``fit`` made; any other path as it is."""
    return path / "embedding.csv" if path.is_dir() else path


def find_looks(
    labels: list[str],
    images: Path | None,
    items: Path | None,
    colour: str | None,
    known: dict[str, list] | None = None,
) -> Any:
    """Find pictures and colours of items, by their labels."""
    from ordinate.run_folder import Looks

    columns = dict(known or {})
    if items is not None:
        columns |= _item_columns(items, labels)
    if colour is not None and colour not in columns:
        raise shell.CommandError(
            f"there is no column {colour!r} to colour by; --items names a CSV with a column label "
            f"and others. Known: {', '.join(columns) or 'none'}",
            shell.WRONG_USE,
        )
    if colour is not None and all(value is None for value in columns[colour]):
        raise shell.CommandError(f"the column {colour!r} has no values", shell.WRONG_USE)
    pictures = None if images is None else _pictures(images, labels)
    if pictures is not None and len(pictures) < len(labels):
        bare = [label for label in labels if label not in pictures]
        shell.say(
            f"note: pictures for {len(pictures):,} of {len(labels):,} items; none for {bare[:5]}"
        )
    return Looks(pictures, None if colour is None else columns[colour], colour)


def _pictures(folder: Path, labels: list[str]) -> dict[str, Path]:
    """Pictures whose name, with or without its ending, is a label or a label's last part."""
    if not folder.is_dir():
        raise shell.CommandError(f"--images {folder}: there is no such folder", shell.UNREADABLE)
    files = {p.name: p for p in sorted(folder.iterdir()) if p.suffix.lower() in PICTURES}
    files |= {p.stem: p for p in files.values()}
    found = {}
    for label in labels:
        last = Path(label)
        is_file = last.suffix.lower() in PICTURES
        for name in (label, last.name, last.stem) if is_file else (label, last.name):
            if name in files:
                found[label] = files[name]
                break
    for path in set(found.values()):
        _check_picture(path)
    if not found:
        raise shell.CommandError(
            f"--images {folder}: no picture there is named by a label, such as {labels[:3]}",
            shell.UNREADABLE,
        )
    return found


def _check_picture(path: Path) -> None:
    """Find out before a long fit whether a picture can be drawn."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            picture.verify()
    except Exception as error:
        raise shell.CommandError(f"{path} is not a picture: {error}", shell.UNREADABLE) from None


def _item_columns(path: Path, labels: list[str]) -> dict[str, list]:
    """Columns of a CSV about items, in the order of the labels."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        options = csv.ConvertOptions(column_types={"label": pa.string()})
        table = csv.read_csv(path, convert_options=options).to_pydict()
    except (OSError, pa.ArrowInvalid) as error:
        raise shell.CommandError(f"--items {path}: {error}", shell.UNREADABLE) from None
    if "label" not in table:
        raise shell.CommandError(
            f"--items {path} needs a column label; it has {', '.join(table)}", shell.UNREADABLE
        )
    names = table.pop("label")
    row_of = {label: row for row, label in enumerate(names)}
    if len(row_of) < len(names):
        raise shell.CommandError(
            f"--items {path}: some labels occur more than once", shell.UNREADABLE
        )
    missing = [label for label in labels if label not in row_of]
    if missing:
        raise shell.CommandError(
            f"--items {path} lacks {len(missing):,} items: {missing[:10]}", shell.UNREADABLE
        )
    rows = [row_of[label] for label in labels]
    return {name: [values[row] for row in rows] for name, values in table.items()}


def _read(path: Path) -> Any:
    from ordinate.map_files import read_map

    try:
        return read_map(path)
    except ValueError as error:
        raise shell.CommandError(str(error), shell.UNREADABLE) from None
