"""The layout of food100: three image paths a line, ``anchor; near; far``, without a header."""

from ordinate.readers._layout import Layout, image_paths, three_bare_columns
from ordinate.readers._table import Table
from ordinate.readers.plain import parse


def matches(table: Table) -> bool:
    """Three image paths between semicolons."""
    return three_bare_columns(table) and table.delimiter == ";" and image_paths(table)


LAYOUT = Layout(
    "food100", "anchor; near; far: image paths between semicolons, no header", matches, parse
)
