"""Odd one out: three items, one of which does not belong."""

import numpy as np

from ordinate import answers
from ordinate.readers._layout import (
    THREE,
    Layout,
    Options,
    extras,
    first_row_is_data,
    image_paths,
    three_bare_columns,
)
from ordinate.readers._table import ReadError, Table
from ordinate.triplets import Triplets

ODD = {"odd": ("odd", "odd_one_out", "odd_one")}
KEPT = {
    "first": (*THREE["first"], "kept_a", "kept_1"),
    "second": (*THREE["second"], "kept_b", "kept_2"),
}
POSITIONS = {"first": 0, "middle": 1, "last": 2}


def matches(table: Table) -> bool:
    """A column for the odd one, or three columns of a file without names."""
    bare = three_bare_columns(table) and not image_paths(table)
    return (table.has(KEPT) and table.has(ODD)) or bare


def parse(table: Table, options: Options) -> Triplets:
    """Read the two that were kept and the odd one, or the three shown and the odd one."""
    if table.header is None:
        first_row_is_data(table)
        places = _positions(table, options.odd)
    elif table.has(THREE):
        return _among_three(table, options)
    else:
        places = table.places({**KEPT, **ODD})
        table.drop_missing(places[2], places[:2])
    items = table.distinct_items(places)
    return answers.odd_one_out(
        *items.columns(),
        **extras(table, items, options),
    )


def _among_three(table: Table, options: Options) -> Triplets:
    shown, (picked,) = table.places(THREE), table.places(ODD)
    table.drop_missing(picked, shown)
    items = table.distinct_items(shown, [picked])
    is_odd = items.codes[:, :3] == items.codes[:, 3:]
    table.refuse(
        ~is_odd.any(axis=1),
        lambda i: f"the odd one is {items.row(i)[3]!r}, not one of {items.row(i)[:3]}",
        "repair or remove those rows",
    )
    kept = items.codes[:, :3][~is_odd].reshape(-1, 2)
    columns = items._replace(codes=np.column_stack([kept, items.codes[:, 3]])).columns()
    return answers.odd_one_out(
        *columns,
        **extras(table, items, options),
    )


def _positions(table: Table, odd: str | None) -> list[int]:
    if odd is None:
        raise ReadError(
            f"{table.path}: the columns have no names, so that the odd one may be any. Say "
            "odd='last' (as in THINGS), odd='first' or odd='middle'"
        )
    place = POSITIONS[odd]
    return [*(i for i in range(3) if i != place), place]


LAYOUT = Layout(
    "odd_one_out",
    "two items kept (or three shown) and the odd one; or three columns and odd=",
    matches,
    parse,
    ({**KEPT, **ODD}, {**THREE, **ODD}),
)
