"""Most central: of three items, the one between the others."""

from ordinate import answers
from ordinate.readers._layout import THREE, Layout, Options, extras
from ordinate.readers._table import Table
from ordinate.triplets import Triplets

CENTRE = {
    "centre": ("centre", "center", "chosen_center", "chosen_centre", "most_central", "central")
}


def matches(table: Table) -> bool:
    """Three items and the one chosen, by name."""
    return table.has(THREE) and table.has(CENTRE)


def parse(table: Table, options: Options) -> Triplets:
    """Read the three shown and the one chosen."""
    shown, (picked,) = table.places(THREE), table.places(CENTRE)
    table.drop_missing(picked, shown)
    items = table.distinct_items(shown, [picked])
    table.refuse(
        ~(items.codes[:, :3] == items.codes[:, 3:]).any(axis=1),
        lambda i: f"the centre is {items.row(i)[3]!r}, not one of {items.row(i)[:3]}",
        "repair or remove those rows",
    )
    return answers.most_central(
        *items.columns(),
        **extras(table, items, options),
    )


LAYOUT = Layout(
    "most_central", "three items and the chosen centre", matches, parse, ({**THREE, **CENTRE},)
)
