"""Plain triplets: anchor, near, far, with optional weight, participant and answer."""

from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa

from ordinate._base.messages import Message, Option
from ordinate.data.labels import encode
from ordinate.data.numbering import distinct, numbered
from ordinate.data.rows import LARGEST_ID, count_items
from ordinate.data.triplets import Triplets
from ordinate.files.formats.cells import TRUE
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.names import ANSWER, WEIGHT, WIDE_PLAIN
from ordinate.files.formats.table import Table
from ordinate.files.readers._layout import (
    Layout,
    Options,
    extras,
    first_row_is_data,
    participants,
    three_bare_columns,
)

ROLES = {"anchor": ("anchor",), "near": ("near", "positive"), "far": ("far", "negative")}
RESPONSE = ("response", "choice", "winner")
# Responses that agree with near and far.
AS_IT_STANDS = (*TRUE, "+1", "1.0", "near", "nearer", "first", "left", "")
# What three columns without names may be, in words.
BARE = tuple(ROLES), "anchor, near, far"


def matches(table: Table) -> bool:
    """Three columns by name, or three columns of a file without names."""
    return table.has(ROLES) or three_bare_columns(table)


def parse(table: Table, options: Options) -> Triplets:
    """Read rows (anchor, near, far); an array of integers is used where it lies."""
    if table.array is not None:
        return _array(table, table.array, options.first_id or 0)
    if table.header is None:
        first_row_is_data(table, BARE)
    places = table.places(ROLES)
    numbers = _numbers(table, places, options)
    if numbers is None:
        items = table.distinct_items(places)
        _weigh_response(table, options, places)
    weight, answer = table.column(WEIGHT), table.column(ANSWER)
    if weight is not None:
        weight = table.numbers(weight, "the weight")
        table.refuse(
            ~(weight > 0),
            lambda i: f"the weight is {weight[i]}, not positive",
            "remove those rows",
        )
    if answer is not None:
        answer = _answers(table)
    if numbers is not None:
        return Triplets(
            numbered(numbers.ravel()).reshape(-1, 3),
            items=distinct(numbers.ravel()),
            participant=participants(table),
            weight=weight,
            answer=answer,
        )
    return Triplets.from_columns(
        *items.columns(),
        **extras(table, items, options),
        weight=weight,
        answer=answer,
    )


def _numbers(table: Table, places: list[int], options: Options) -> np.ndarray | None:
    """Return columns of integers as such, which is far quicker than as labels; else None."""
    columns = [table.data.column(place) for place in places]
    if options.first_id is not None or table.index(RESPONSE) is not None:
        return None
    if not all(pa.types.is_integer(column.type) for column in columns):
        return None
    if not table.together("complete", not any(c.null_count for c in columns), and_):
        return None
    numbers = np.column_stack([column.cast(pa.int64()).to_numpy() for column in columns])
    kept = table.refuse_repeated(numbers, lambda i: numbers[i].tolist())
    return numbers if kept is None else numbers[kept]


def _answers(table: Table) -> Any:
    """Return the answer that each row came from; each of several files may count from 1."""
    found = table.items(table.places({"answer": ANSWER}), exact=True)
    table.refuse(found.codes[:, 0] < 0, lambda i: "the answer has no id", "give it one")
    names = np.array([*found.names, None], object)[found.codes[:, 0]]
    if table.files is not None:
        names = list(zip(table.files.of(table.rows).tolist(), names, strict=True))
    codes, named = encode({"answer": names})
    if table.board is not None:
        table.board.answer_names = named.tolist()
    return codes[:, 0]


def _weigh_response(table: Table, options: Options, places: list[int]) -> None:
    """Ask about a response beside near and far, unless it says that all rows are as they stand."""
    place = table.index(RESPONSE)
    if place is None or table.header is None:
        return
    name = table.header[place]
    said = table.items([*places, place])
    stands = bool(table.among(table.data.column(place), AS_IT_STANDS).all())
    stands = table.together("stands", stands, and_)
    same = table.together("near", bool((said.codes[:, 3] == said.codes[:, 1]).all()), and_)
    if stands or same or options.layout == "plain":
        table.notes.append(f"the column {name} is not read: near and far say who is nearer")
        return
    anchor, near, far = (table.header[k] for k in places)
    columns = {"anchor": anchor, "first": near, "second": far, "response": name}
    raise ReadError(
        f"{table.path}: {near} and {far} say who is nearer, and so does {name}, which does not "
        "say that all rows are as they stand",
        Remedy({"columns": columns}, f"if {name} tells which of the two is nearer"),
        Remedy({"layout": "plain"}, f"to leave {name} unread"),
    )


def _array(table: Table, array: np.ndarray, first_id: int) -> Triplets:
    """Take the rows of an array as they lie, without a copy where ids count from 0."""
    least = table.together("least", int(array.min()), min, lambda n: min(n, first_id))
    if least < first_id:
        raise ReadError(
            Message(
                f"{table.path}: ", Option("first_id"), f" is {first_id}, but ids begin at {least}"
            )
        )
    kept = table.refuse_repeated(array, lambda i: array[i].tolist())
    array = array if kept is None else array[kept]
    if first_id == 0:
        n_items = None if table.board is None else _check_ids(table, array)
        return Triplets(array, n_items=n_items, participant=participants(table))
    labels = range(first_id, table.together("last", int(array.max()), max) + 1)
    return Triplets(array - first_id, items=labels, participant=participants(table))


def _check_ids(table: Table, array: np.ndarray) -> int:
    """Raise if ids of all blocks are too large for their rows; a block may hold any of the rest."""
    largest = int(array.max())
    table.together(
        "largest",
        (largest, len(array)),
        lambda a, b: (max(a[0], b[0]), a[1] + b[1]),
        lambda said: None if said[0] < 1_000_000 else count_items(*said) and None,
    )
    return LARGEST_ID + 1


LAYOUT = Layout(
    "plain",
    "anchor, near, far; optional weight, participant, answer",
    matches,
    parse,
    (ROLES,),
    (WIDE_PLAIN,),
    "if the second is nearer to the first than the third",
)
