"""columns=: columns called by their roles, and several questions in one row taken apart."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ordinate._base.messages import Message, Option
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.table import Table, squeezed

Columns = Mapping[str, str | int]


def mapped(table: Table, columns: Columns) -> Table:
    """Call the columns that a mapping names, or counts from 0, by its roles; the others stay."""
    counted = all(isinstance(column, int) for column in columns.values())
    table = table.bare() if counted else table.named()
    patterns = {r: str(c) for r, c in columns.items() if "*" in str(c) and _place(table, c) is None}
    if patterns:
        table = _unfolded(table, patterns)
        columns = {role: role if role in patterns else column for role, column in columns.items()}
    places = {role: _place(table, column) for role, column in columns.items()}
    for role, place in places.items():
        if place is None or not -1 < place < table.data.num_columns:
            raise ReadError(
                Message(
                    f"{table.path}: there is no column {columns[role]!r} for {role}; the columns "
                    f"are {table.shown_header()}. Names and numbers (from 0, for a file without a "
                    "header) cannot be mixed in ",
                    Option("columns", ...),
                )
            )
    taken = {squeezed(role) for role in columns}
    others = [i for i in range(table.data.num_columns) if i not in places.values()]
    own = table.header or table.data.column_names
    names = [
        *columns,
        *(f"{own[i]} (not read)" if squeezed(own[i]) in taken else own[i] for i in others),
    ]
    data = table.data.select([*places.values(), *others]).rename_columns(names)
    origin = {role: table.origin.get(own[place], own[place]) for role, place in places.items()}  # type: ignore[index]
    origin = {**table.origin, **origin}
    return replace(table, data=data, header=names, array=None, origin=origin)


def _place(table: Table, column: str | int) -> int | None:
    """Return the place of a column; MTurk's prefixes may have been taken off its name."""
    if isinstance(column, int):
        return column
    return table.index([column, without_prefix(column)])


def without_prefix(name: str) -> str:
    """Return the name of a column of MTurk's without Input. or Answer."""
    return re.sub(r"(?i)^(input|answer)\.", "", name)


def numbered_stems(header: Iterable[str]) -> dict[str, dict[int, str]]:
    """Return the columns that differ in a number alone, by their name with * for the number.

    >>> numbered_stems(["1_Q3", "2_Q3", "age"])
    {'*_Q3': {1: '1_Q3', 2: '2_Q3'}}
    """
    found: dict[str, dict[int, str]] = {}
    for name in header:
        for number in re.finditer(r"\d{1,4}", name):
            stem = f"{name[: number.start()]}*{name[number.end() :]}"
            found.setdefault(stem, {})[int(number[0])] = name
    return {stem: columns for stem, columns in found.items() if len(columns) > 1}


def _unfolded(table: Table, patterns: Mapping[str, str]) -> Table:
    """Return a table with a row for each question, where columns are numbered by question."""
    stems = numbered_stems(table.header or [])
    series = {}
    for role, pattern in patterns.items():
        pattern = pattern if pattern in stems else without_prefix(pattern)
        found = [columns for stem, columns in stems.items() if squeezed(stem) == squeezed(pattern)]
        exact = stems.get(pattern) or (found[0] if len(found) == 1 else None)
        if exact is None:
            raise ReadError(
                f"{table.path}: no numbered columns {pattern!r} for {role}; there are {list(stems)}"
            )
        series[role] = exact
    numbers = sorted(set.intersection(*(set(columns) for columns in series.values())))
    if not numbers:
        raise ReadError(
            f"{table.path}: the columns {list(patterns.values())} have no number in common"
        )
    used = {name for columns in series.values() for name in columns.values()}
    header = table.header or []
    fixed = [i for i, name in enumerate(header) if name not in used]
    names = [*(header[i] for i in fixed), *series]
    parts = [
        table.data.select(
            [*fixed, *(header.index(columns[number]) for columns in series.values())]
        ).rename_columns([f"{k}" for k in range(len(names))])
        for number in numbers
    ]
    data = pa.concat_tables(parts, promote_options="permissive").rename_columns(names)
    # The questions of a row follow each other, whatever other rows there are.
    data = data.take(np.arange(len(data)).reshape(len(numbers), -1).T.ravel())
    table.notes.append(
        f"each row holds {len(numbers)} questions, numbered {numbers[0]} to {numbers[-1]}"
    )
    origin = {role: pattern.replace("*", "") for role, pattern in patterns.items()}
    rows = np.repeat(table.rows, len(numbers))
    return replace(table, data=data, header=names, rows=rows, array=None, origin=origin)
