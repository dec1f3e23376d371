"""Most central: of three items, the one between the others."""

from ordinate.data import answers
from ordinate.data.triplets import Triplets
from ordinate.files.formats.names import THREE, wide_three
from ordinate.files.formats.table import Table
from ordinate.files.readers._layout import Layout, Options, extras
from ordinate.files.readers.odd_one_out import one_of_three

CENTRE = {
    "centre": ("centre", "center", "chosen_center", "chosen_centre", "most_central", "central")
}


def matches(table: Table) -> bool:
    """Three items and the one chosen, by name."""
    return table.has({**THREE, **CENTRE})


def parse(table: Table, options: Options) -> Triplets:
    """Read the three shown and the one chosen."""
    items = one_of_three(table, options, CENTRE)
    first, second, centre = items.columns()
    return answers.most_central(first, second, centre, centre, **extras(table, items, options))


LAYOUT = Layout(
    "most_central",
    "three items and the chosen centre",
    matches,
    parse,
    ({**THREE, **CENTRE},),
    (wide_three(CENTRE),),
    "if the answer is the one between the two others",
)
