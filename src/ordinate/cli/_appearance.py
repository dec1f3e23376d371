"""How items look: pictures, columns and names that a user gives, matched with labels."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ordinate._base.endings import PICTURES
from ordinate._base.messages import some
from ordinate.cli import _shell as shell


class LookOptions(NamedTuple):
    """How a map is to look."""

    images: Annotated[
        Path | None, typer.Option(help="Folder with a picture of each item, named by its label.")
    ] = None
    items: Annotated[
        Path | None, typer.Option(help="File about the items: a column of labels, and any others.")
    ] = None
    colour: Annotated[
        str | None, typer.Option("--colour", "--color", help="Column to colour the items by.")
    ] = None
    name: Annotated[
        str | None,
        typer.Option(help="Column with the names to show; by default `name`, if there is one."),
    ] = None
    labels: Annotated[
        str,
        typer.Option(help="Labels to draw: auto (those that have room), all, none, or how many."),
    ] = "auto"
    image_size: Annotated[float | None, typer.Option(help="Size of pictures in mm.")] = None
    image_alpha: Annotated[
        float, typer.Option(help="1 for opaque pictures, less for transparent ones, above 0.")
    ] = 1.0
    keep_white: Annotated[
        bool, typer.Option("--keep-white", help="Keep white backgrounds of pictures.")
    ] = False
    ellipses: Annotated[
        bool | None,
        typer.Option(
            "--ellipses/--no-ellipses",
            help="Show how sure each place is; by default in 1 or 2 dimensions, up to 300 items.",
            show_default=False,
        ),
    ] = None

    def drawing(self) -> dict[str, Any]:
        """Return how to draw, as arguments of ``plot_map``, once it is known that it can be."""
        from ordinate.figures.plotting import check_drawing

        show = int(self.labels) if self.labels.isdecimal() else self.labels
        check_drawing(show, self.image_size, self.image_alpha)
        return {
            "show_labels": show,
            "image_size": self.image_size,
            "image_alpha": self.image_alpha,
            "keep_white": self.keep_white,
            "ellipses": self.ellipses,
        }


PLAIN = LookOptions()


def find_appearance(
    labels: list[str], looks: LookOptions, known: dict[str, list] | None = None, quiet: bool = False
) -> Any:
    """Find pictures, colours and names of items, by their labels."""
    from ordinate.study.story import Appearance

    columns = dict(known or {})
    if looks.items is not None:
        columns |= _item_columns(looks.items, labels, quiet)
    if looks.colour is not None:
        _column(columns, looks.colour, "to colour by")
    names = _names(columns, looks.name, labels, quiet)
    pictures = None if looks.images is None else _pictures(looks.images, labels)
    if pictures is not None and len(pictures) < len(labels):
        bare = [label for label in labels if label not in pictures]
        shell.say(
            f"note: pictures for {len(pictures):,} of {len(labels):,} items; none for "
            f"{some(bare, 5)}",
            quiet,
        )
    return Appearance(pictures, columns, looks.colour, names)


def _column(columns: dict[str, list], name: str, purpose: str) -> list:
    if name not in columns:
        raise shell.CommandError(
            f"there is no column {name!r} {purpose}; --items names a file with a column of labels "
            f"and others. Known: {', '.join(columns) or 'none'}",
            shell.WRONG_USE,
        )
    if all(value is None for value in columns[name]):
        raise shell.CommandError(f"the column {name!r} has no values", shell.WRONG_USE)
    return columns[name]


def _names(
    columns: dict[str, list], name: str | None, labels: list[str], quiet: bool
) -> list | None:
    """Names to show: of the column asked for, or of one called name; None to show labels."""
    from ordinate.files.items import display_names

    if name is None:
        known = [column for column in columns if column.strip().lower() == "name"]
        known = [column for column in known if any(columns[column])]
        if len(known) != 1:
            return None
        (name,) = known
        shell.say(f"note: items are shown by column {name!r}; --name label shows labels", quiet)
    elif name == "label":
        return None
    names = _column(columns, name, "with names")
    for note in display_names(labels, names)[1]:
        shell.say(f"note: {note}", quiet)
    return names


def _pictures(folder: Path, labels: list[str]) -> dict[str, Path]:
    """Pictures whose name, with or without its ending, is a label or a label's last part."""
    if not folder.is_dir():
        raise shell.CommandError(f"--images {folder}: there is no such folder", shell.UNREADABLE)
    found_there = (p for p in sorted(folder.iterdir()) if p.is_file())
    files = {p.name: p for p in found_there if p.suffix.lower() in PICTURES}
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
            f"--images {folder}: no picture there is named by a label ({some(labels, 3)})",
            shell.UNREADABLE,
        )
    return found


def _check_picture(path: Path) -> None:
    """Find out before a long fit whether a picture can be drawn."""
    from ordinate.figures.drawing import thumbnail

    try:
        thumbnail(path, 1)
    except Exception as error:
        raise shell.CommandError(f"{path} is not a picture: {error}", shell.UNREADABLE) from None


def _item_columns(path: Path, labels: list[str], quiet: bool) -> dict[str, list]:
    """Columns of a file about items, in the order of the labels."""
    from ordinate.files.items import read_items
    from ordinate.files.readers import ReadError

    try:
        found = read_items(path, labels)
    except ReadError as error:
        # One option chooses among tables, and that is for the answers.
        several = any("table" in remedy.options for remedy in error.remedies)
        remedy = "; save the one about items as a file of its own" if several else ""
        raise shell.CommandError(f"--items {error.what}{remedy}", shell.UNREADABLE) from None
    for note in found.notes:
        shell.say(f"note: --items {path}: {note}", quiet)
    return found.columns
