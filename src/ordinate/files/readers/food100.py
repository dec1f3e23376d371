"""The layout of food100: three image paths a line, ``anchor; near; far``, without a header."""

from ordinate.data.triplets import Triplets
from ordinate.files.formats.table import Table
from ordinate.files.readers import plain
from ordinate.files.readers._layout import Layout, Options, image_paths, three_bare_columns

FOLDER = "images/"


def matches(table: Table) -> bool:
    """Three image paths between semicolons."""
    return three_bare_columns(table) and table.delimiter == ";" and image_paths(table)


def is_food100(table: Table) -> bool:
    """Tell whether the paths are written as in food100's own file."""
    first, *others = table.cells(0, range(table.data.num_columns))
    return first.startswith(FOLDER) and all(cell.startswith(f" {FOLDER}") for cell in others)


def parse(table: Table, options: Options) -> Triplets:
    """Read plain rows, and warn of what the file does not tell."""
    table.notes.append(
        "the file does not tell which rows come from one screen, that is from one answer: accuracy "
        "on held-out rows flatters the map"
    )
    return plain.parse(table, options)


LAYOUT = Layout("food100", "anchor; near; far: paths images/..., no header", matches, parse)
