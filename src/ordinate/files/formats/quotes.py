"""Fields in quotes that hold line breaks, told from rows that stray quotes put into one field."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ordinate.files.formats.errors import ReadError

# Cells of the rows within a field that the same columns have elsewhere: with so many they are rows.
ENOUGH = 3
ADVICE = "remove the quote if it is astray, and write one that belongs to the text twice"


class LongField(NamedTuple):
    """A field that goes on over several lines, from ``line`` to ``last``."""

    line: int
    last: int


class Breaks(NamedTuple):
    """What line breaks in quotes came to.

    Attributes
    ----------
    note : str
        How many there are and where; empty where there are none.
    like_rows : dict of str to str
        Cells that read as the rows of the table would, cut at other places, and their lines: they
        may be texts, but not names.
    """

    note: str
    like_rows: dict[str, str]


class _Cell(NamedTuple):
    """A cell of several lines: the place of its column and row, and its text."""

    row: int
    column: int
    text: str


def check_quotes(
    shown: str, content: bytes, delimiter: str, data: pa.Table, n_above: int
) -> Breaks:
    """Raise if quotes hide rows; else tell of the fields that hold line breaks.

    ``data`` is what was read from the content, ``n_above`` the number of lines cut off before it.
    """
    cells = sorted(_cells_of_several_lines(data))
    if not cells:
        # The last field may be open all the same.
        begin = content.rstrip(b"\r\n").rfind(b"\n") + 1
        n_above += content.count(b"\n", 0, begin)
        list(long_fields(shown, content[begin:], delimiter, n_above))
        return Breaks("", {})
    fields = list(long_fields(shown, content, delimiter, n_above))
    found = [
        (field, cell)
        for field, cell in zip(fields, cells, strict=True)
        if _is_like_rows(cell, delimiter, data.num_columns)
    ]
    known = _known_cells(data, delimiter, [cell for _, cell in found])
    for field, cell in found:
        if known[cell] >= ENOUGH:
            raise ReadError(
                f"{shown}, line {field.line}: the quotes that open here and close on line "
                f"{field.last} hold rows of {data.num_columns} fields; {ADVICE}. If that is a "
                "text, replace its line breaks by blanks"
            )
    n, first = len(fields), fields[0]
    note = (
        f"{n:,} {'field' if n == 1 else 'fields'} in quotes {'holds' if n == 1 else 'hold'} line "
        f"breaks; the first stands on lines {first.line} to {first.last}"
    )
    return Breaks(note, {cell.text.strip(): f"line {field.line}" for field, cell in found})


def long_fields(shown: str, content: bytes, delimiter: str, n_above: int) -> Iterator[LongField]:
    """Yield the fields in quotes that hold line breaks, or raise where a quote has no end."""
    mark = re.escape(delimiter.encode())
    # A quote opens a field where nothing but the end of another is before it.
    opening = rb'"(?<![^\r\n%s]")' % mark
    within = rb'"(?<=[^\r\n%s]")' % mark
    on_one_line = opening + rb'[^"\n]*+(?:""[^"\n]*+)*+"'
    others = re.compile(rb'(?:[^"]++|%s|%s)*+' % (on_one_line, within))
    long = re.compile(rb'"[^"]*+(?:""[^"]*+)*+("?)')
    line, counted, stop = 1 + n_above, 0, 0
    while (start := others.match(content, stop).end()) < len(content):  # type: ignore[union-attr]
        field = long.match(content, start)
        stop = field.end()  # type: ignore[union-attr]
        line += content.count(b"\n", counted, start)
        counted = start
        if not field[1]:  # type: ignore[index]
            raise ReadError(
                f"{shown}, line {line}: a quote is opened here and never closed, or the file is "
                f"cut off; {ADVICE}"
            )
        last = line + content.count(b"\n", start, stop)
        after = content[stop : stop + 1].decode(errors="replace")
        if after not in ("", "\r", "\n", delimiter):
            raise ReadError(
                f"{shown}, line {line}: a quote is opened here, and the next one, on line {last}, "
                f"stands before {after!r} and so closes nothing; {ADVICE}"
            )
        yield LongField(line, last)


def _cells_of_several_lines(data: pa.Table) -> Iterator[_Cell]:
    for k, column in enumerate(data.columns):
        rows = pc.indices_nonzero(pc.match_substring(column, "\n"))
        for row, text in zip(rows.to_pylist(), column.take(rows).to_pylist(), strict=True):
            yield _Cell(row, k, text)


def _is_like_rows(cell: _Cell, delimiter: str, n_columns: int) -> bool:
    """Tell whether a cell ends one row and begins another, with nothing but whole rows between."""
    first, *between, last = cell.text.split("\n")
    return (
        first.count(delimiter) == n_columns - 1 - cell.column
        and last.count(delimiter) == cell.column
        and {line.count(delimiter) for line in between if line.strip()} <= {n_columns - 1}
    )


def _known_cells(data: pa.Table, delimiter: str, found: list[_Cell]) -> dict[_Cell, int]:
    """Return how many fields of the rows within cells other rows have in the same columns."""
    inside: dict[_Cell, list[tuple[int, str]]] = {}
    for cell in found:
        first, *rest = [line.rstrip("\r").split(delimiter) for line in cell.text.split("\n")]
        fields = list(enumerate(first, cell.column))[1:]
        for line in rest:
            fields += enumerate(line)
        inside[cell] = [(k, field) for k, field in fields if field]
    seen = []
    for k, column in enumerate(data.columns if found else []):
        wanted = {field for fields in inside.values() for place, field in fields if place == k}
        known = column.filter(pc.is_in(column, pa.array(sorted(wanted), pa.string())))
        seen.append({*known.unique().to_pylist()})
    return {cell: sum(f in seen[k] for k, f in fields) for cell, fields in inside.items()}
