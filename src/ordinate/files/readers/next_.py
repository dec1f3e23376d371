"""The CSV that NEXT writes: Center, Left, Right, Answer, Participant ID."""

from ordinate.data.triplets import Triplets
from ordinate.files.formats.table import Table
from ordinate.files.readers._layout import Layout, Options
from ordinate.files.readers.response import by_winner

ROLES = {"anchor": ("center",), "first": ("left",), "second": ("right",)}
WINNER = {"winner": ("answer",)}


def matches(table: Table) -> bool:
    """The four columns, by name."""
    return table.has({**ROLES, **WINNER})


def parse(table: Table, options: Options) -> Triplets:
    """Read the answer as the nearer of left and right."""
    return by_winner(table, options, ROLES, WINNER)


LAYOUT = Layout(
    "next",
    "NEXT's CSV: Center, Left, Right, Answer, Participant ID",
    matches,
    parse,
    ({**ROLES, **WINNER},),
)
