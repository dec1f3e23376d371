"""Odd one out: three items, one of which does not belong."""

import numpy as np

from ordinate._base.messages import Message, Option
from ordinate.data import answers
from ordinate.data.triplets import Triplets
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.item_columns import Items, distinct_items_of
from ordinate.files.formats.names import THREE, wide_three
from ordinate.files.formats.table import Roles, Table
from ordinate.files.readers._choice import chosen
from ordinate.files.readers._layout import (
    Layout,
    Options,
    extras,
    first_row_is_data,
    three_bare_columns,
)

ODD = {"odd": ("odd", "odd_one_out", "odd_one", "odd_item", "oddball", "most_different")}
KEPT = {
    "first": (*THREE["first"], "kept_a", "kept_1"),
    "second": (*THREE["second"], "kept_b", "kept_2"),
}
POSITIONS = {"first": 0, "middle": 1, "last": 2}
# What three columns without names may be, in words.
BARE = {
    "last": (("first", "second", "odd"), "two items and the odd one"),
    "first": (("odd", "first", "second"), "the odd one and two items"),
    "middle": (("first", "odd", "second"), "the odd one between two items"),
}
ODD_REMEDIES = (
    Remedy({"odd": "last"}, "if the last is the odd one, as in THINGS"),
    Remedy({"odd": "first"}, "if the first is"),
    Remedy({"odd": "middle"}, "if the middle one is"),
)


def matches(table: Table) -> bool:
    """A column for the odd one, or three columns of a file without names."""
    named = table.has({**KEPT, **ODD}) or table.has({**THREE, **ODD})
    return named or three_bare_columns(table)


def parse(table: Table, options: Options) -> Triplets:
    """Read the two that were kept and the odd one, or the three shown and the odd one."""
    if "odd" in table.origin and options.odd is not None:
        table.notes.append("the odd one is in the column that is named for it")
    elif table.header is not None and options.odd is not None:
        raise ReadError(
            Message(
                f"{table.path}: ",
                Option("odd", ...),
                " is for three columns without names, but the columns are "
                f"{table.shown_header()}; leave it out, or name the odd one in ",
                Option("columns", ...),
            )
        )
    if table.header is None:
        first_row_is_data(table, *(way for odd, way in BARE.items() if options.odd in (None, odd)))
        items = distinct_items_of(table, _order(table, options.odd))
    elif table.has({**THREE, **ODD}):
        items = one_of_three(table, options, ODD)
    else:
        items = distinct_items_of(table, table.places({**KEPT, **ODD}), answer=2)
    return answers.odd_one_out(*items.columns(), **extras(table, items, options))


def one_of_three(table: Table, options: Options, role: Roles) -> Items:
    """Read three items and the one picked, and return the two others and that one."""
    (picked,) = table.places(role)
    items, position = chosen(table, options, table.places(THREE), picked)
    is_picked = np.arange(3) == position[:, None]
    others = items.codes[~is_picked].reshape(-1, 2)
    return items._replace(codes=np.column_stack([others, items.codes[is_picked]]))


def _order(table: Table, odd: str | None) -> list[int]:
    """Return the places of three columns without names, that of the odd one last."""
    if odd is None:
        raise ReadError(
            f"{table.path}: the columns have no names, so that the odd one may be any",
            *ODD_REMEDIES,
        )
    place = POSITIONS[odd]
    return [*(i for i in range(3) if i != place), place]


LAYOUT = Layout(
    "odd_one_out",
    Message(
        "two items kept (or three shown) and the odd one, by name or place; or three columns and ",
        Option("odd", ...),
    ),
    matches,
    parse,
    ({**THREE, **ODD}, {**KEPT, **ODD}),
    (wide_three(ODD),),
    "if the answer is the odd one of the three",
)
