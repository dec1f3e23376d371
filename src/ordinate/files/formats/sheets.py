"""Workbooks of Excel: a sheet is read as the text that one sees in it."""

import datetime
import io
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from ordinate._base.messages import some
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.packed import refuse_too_large, unpacked_size
from ordinate.files.formats.table import Table
from ordinate.files.formats.text import MOST_ABOVE

MOST_ROWS = 1 << 20  # of a sheet, in every Excel
CELL = 16  # bytes that a cell counts for; it takes a few times as much
ERRORS = ("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!")
# Beyond this, whole floats are no ids, and not all whole numbers are floats.
EXACT = 1e15


def read_workbook(shown: str, content: bytes, choice: str | None) -> Table:
    """Read the sheet chosen, or the only one that is not empty."""
    import openpyxl

    refuse_too_large(shown, unpacked_size(content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions, which are not read
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if not sheets:
            raise ReadError(f"{shown} holds no sheet that can be read; save it again, or as CSV")
        if choice is not None and choice not in sheets:
            raise ReadError(f"{shown} has no sheet {choice!r}; its sheets are {list(sheets)}")
        names = [choice] if choice is not None else [n for n, s in sheets.items() if _filled(s)]
        tables = [name for name in names if _is_table(sheets[name])]
        others = [name for name in names if len(tables) == 1 and name not in tables]
        names = tables if others else names
        if len(names) > 1:
            raise ReadError(
                f"{shown} has {len(names)} sheets that are not empty: {some(names)}",
                *(Remedy({"table": name}) for name in names[:5]),
            )
        if not names:
            raise ReadError(f"{shown}: the file is empty, in each of its sheets {list(sheets)}")
        table = _read_sheet(shown, names[0], _rows(shown, sheets[names[0]]))
        if others:
            table.notes.append(f"only sheet {names[0]!r} is a table; not read: {some(others)}")
        return table


def _rows(shown: str, sheet: Any) -> Iterator[tuple[int, tuple]]:
    """Yield the rows that are not empty, with their numbers."""
    # Sheets may claim all the columns and rows that there can be.
    sheet.reset_dimensions()
    cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:
            raise ReadError(f"{shown} is damaged: sheet {sheet.title!r} has too many rows")
        if any(cell is not None and cell != "" for cell in row):
            cells += len(row)
            if number % 1024 == 0:
                refuse_too_large(shown, CELL * cells)
            yield number, row


def _filled(sheet: Any) -> bool:
    return next(_rows("", sheet), None) is not None


def _is_table(sheet: Any) -> bool:
    """Tell whether one of the first rows has three cells, as questions have."""
    return any(_n_filled(row) > 2 for _, row in islice(_rows("", sheet), MOST_ABOVE + 1))


def _n_filled(row: Iterable) -> int:
    return sum(cell is not None and cell != "" for cell in row)


def _read_sheet(shown: str, title: str, rows: Iterator[tuple[int, tuple]]) -> Table:
    numbers, cells = [], []
    odd: Counter[str] = Counter()
    date = ""
    for number, row in rows:
        numbers.append(number)
        cells.append([_text(cell) for cell in row])
        for cell in row:
            if isinstance(cell, (datetime.date, datetime.time)):
                odd["date"] += 1
                date = date or _text(cell)
            elif cell in ERRORS:
                odd["error"] += 1
    if not cells:
        raise ReadError(f"{shown}: sheet {title!r} is empty")
    # Titles fill one cell above the table.
    n_above = next((k for k, row in enumerate(cells[:MOST_ABOVE]) if _n_filled(row) > 1), 0)
    n_above = n_above if _n_filled(cells[n_above]) > 2 else 0
    above = [next(filter(None, row))[:60] for row in cells[:n_above]]
    numbers, cells = numbers[n_above:], cells[n_above:]
    width = max(map(len, cells))
    columns = [[row[k] if k < len(row) else "" for row in cells] for k in range(width)]
    filled = [k for k, column in enumerate(columns) if any(column)]
    columns = columns[filled[0] : filled[-1] + 1] if filled else []
    data = pa.table({f"f{k}": pa.array(column, pa.string()) for k, column in enumerate(columns)})

    def place(row: int) -> str:
        return f"row {numbers[row]} of sheet {title!r}"

    table = Table(shown, data, None, place, text=True, undecided=True)
    table.header = [column[0].strip() for column in columns]
    if above:
        table.notes.append(f"not read, since the table begins below: {above}")
    if odd["date"]:
        table.notes.append(f"{odd['date']:,} cells are dates or times, read as text like {date}")
    if odd["error"]:
        table.notes.append(f"{odd['error']:,} cells hold an error such as #N/A, and count as empty")
    return table


def _text(cell: Any) -> str:
    """Return a cell as text; whole numbers, which Excel has as floats, without a point.

    >>> [_text(cell) for cell in (None, 3.0, 0.5, True, datetime.datetime(2024, 3, 1))]
    ['', '3', '0.5', 'TRUE', '2024-03-01']
    """
    if cell is None or cell in ERRORS:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    return str(cell)
