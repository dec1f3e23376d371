"""Plain triplets: anchor, near, far, with optional weight, participant and answer."""

import numpy as np

from ordinate.readers._layout import (
    Layout,
    Options,
    first_row_is_data,
    image_paths,
    labels,
    no_layout_names,
    participants,
)
from ordinate.readers._table import ReadError, Table
from ordinate.triplets import Triplets

ROLES = {"anchor": ("anchor",), "near": ("near", "positive"), "far": ("far", "negative")}
WEIGHT = ("weight",)
ANSWER = ("answer", "answer_id")


def matches(table: Table) -> bool:
    """Three columns by name, or three columns of a file without names."""
    return table.has(ROLES) or (no_layout_names(table) and not image_paths(table))


def parse(table: Table, options: Options) -> Triplets:
    """Read rows (anchor, near, far); an array of integers is used where it lies."""
    if table.array is not None:
        return _positions(table, table.array, options.first_id)
    if table.header is None:
        first_row_is_data(table)
    items = table.distinct_items(table.places(ROLES))
    weight, answer = table.column(WEIGHT), table.column(ANSWER)
    if weight is not None:
        weight = table.numbers(weight, "the weight")
        table.refuse(
            ~(weight > 0),
            lambda i: f"the weight is {weight[i]}, not positive",
            "remove those rows",
        )
    if answer is not None:
        answer = table.items(table.places({"answer": ANSWER})).columns()[0]
    return Triplets.from_columns(
        *items.columns(),
        labels=labels(items, options, table),
        participant=participants(table),
        weight=weight,
        answer=answer,
    )


def _positions(table: Table, array: np.ndarray, first_id: int | None) -> Triplets:
    """Take the integers of an array as positions, which count from 0 or from `first_id`."""
    least = int(array.min())
    if first_id is None and least != 0:
        raise ReadError(
            f"{table.path}: ids of an array are positions, but 0 never occurs (they begin at "
            f"{least}). Say first_id=1 if they count from 1, first_id=0 if the first item is in "
            "no row"
        )
    bad = (array[:, [0, 0, 1]] == array[:, [1, 2, 2]]).any(axis=1)
    table.refuse(bad, lambda i: f"{array[i].tolist()} names an item twice", "remove those rows")
    if not first_id:
        return Triplets(array)
    if least < first_id:
        raise ReadError(f"{table.path}: first_id is {first_id}, but ids begin at {least}")
    return Triplets(array - first_id, labels=range(first_id, int(array.max()) + 1))


LAYOUT = Layout("plain", "anchor, near, far; optional weight, participant, answer", matches, parse)
