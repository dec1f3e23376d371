"""Lines among the answers that are none: descriptions below the names, and the names again."""

from operator import and_, or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate.files.formats.cells import is_missing
from ordinate.files.formats.table import Table, squeezed

SHOWN, ENOUGH = 10, 3  # rows that show what columns hold, and the fewest that do
SEVERAL = 2  # columns that must show it: in one, a single row may be odd
SHORTEST = 3  # letters of a name that does not occur in others by chance
NAMES = 3  # cells that are the names of their columns, and no answer


def without_descriptions(table: Table) -> Table:
    """Drop a line below the names that describes the columns, as surveys write it, with a note.

    That it does, must be plain: all of it is words, and in several columns either numbers alone
    follow, or the words hold the column's own name and none of the line occurs again. A line that
    is not so sure is kept; where it is a description, the data check finds items apart from all
    others.
    """
    first = table.first_rows(1 + SHOWN) if table.header and table.array is None else []
    if len(first) <= ENOUGH:
        return table
    line = ["" if is_missing(cell) else str(cell).strip() for cell in first[0]]
    if any(cell and not _is_word(cell) for cell in line):
        return table
    below = table.without(1)
    numbers = [k for k, cell in enumerate(line) if cell and _are_numbers(r[k] for r in first[1:])]
    names = [k for k, cell in enumerate(line) if _holds(cell, (table.header or [])[k])]
    if len(numbers) >= SEVERAL:
        own = np.array([_are_numbers(below.data.column(k).unique().to_pylist()) for k in numbers])
        described = table.together("numbers below", own, and_, lambda said: said.sum() >= SEVERAL)
    elif len(names) >= SEVERAL:
        again = any(_occurs(below.data.column(k), cell) for k, cell in enumerate(line) if cell)
        described = not table.together("described again", again, or_)
    else:
        return table
    if not described:
        return table
    below.notes.append(
        f"the line below the names, {line[:25]}, describes the columns, and is no answer"
    )
    return below


def drop_names_again(table: Table) -> None:
    """Drop rows that are the names of the columns again, as files put together have them."""
    names = table.own_names
    if names is None:
        return
    n_equal = np.zeros(table.data.num_rows, int)
    n_possible = 0
    for name, column in zip(names, table.data.columns, strict=False):
        if name.strip() and column.type == pa.string():
            n_equal += (
                pc.equal(pc.utf8_trim_whitespace(column), name.strip()).fill_null(False).to_numpy()
            )
            n_possible += 1
    table.drop(n_equal >= max(NAMES, n_possible / 2), "they repeat the names of the columns")


def _is_word(cell: object) -> bool:
    try:
        float(str(cell).replace(",", "."))
    except ValueError:
        return True
    return False


def _are_numbers(cells: object) -> bool:
    """Tell whether all cells that say something are numbers, and there are such."""
    said = [cell for cell in cells if not is_missing(cell)]  # type: ignore[attr-defined]
    return bool(said) and not any(map(_is_word, said))


def _holds(cell: str, name: str) -> bool:
    """Tell whether words hold a name, and more."""
    short = squeezed(name)
    return len(short) >= SHORTEST and short in squeezed(cell) and short != squeezed(cell)


def _occurs(column: pa.ChunkedArray, cell: str) -> bool:
    if column.type != pa.string():
        return True  # nobody knows, so it is kept
    return bool(pc.any(pc.equal(pc.utf8_trim_whitespace(column), cell)).as_py())
