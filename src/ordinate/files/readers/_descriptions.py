"""Lines that are no answers, or may be none: descriptions, the names again, tests of a survey."""

from operator import add, and_, or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate._base.messages import Message, Option
from ordinate.files.formats.cells import is_missing
from ordinate.files.formats.table import Table, squeezed

SHOWN, ENOUGH = 10, 3  # rows that show what columns hold, and the fewest that do
SEVERAL = 2  # columns that must show it: in one, a single row may be odd
SHORTEST = 3  # letters of a name that does not occur in others by chance
# What Qualtrics and MTurk call rows that are tests or of no use, by column, in lower case.
DOUBTFUL = {
    "AssignmentStatus": ("rejected",),
    "Status": ("survey preview", "survey test", "spam"),
    "DistributionChannel": ("preview",),
}
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
    """Drop rows that are the names of the columns again, as files put together have them.

    In another order, they would give all rows below them another meaning, and are refused.
    """
    names = [name.strip() for name in table.own_names or []]
    words = {name for name in names if name and _is_word(name)}  # a number may be an item
    if not words:
        return
    known = pa.array(words, pa.string())
    n_equal, n_known = np.zeros((2, table.data.num_rows), int)
    n_possible = 0
    for name, column in zip(names, table.data.columns, strict=False):
        if name in words and column.type == pa.string():
            cells = pc.utf8_trim_whitespace(column)
            n_equal += pc.equal(cells, name).fill_null(False).to_numpy()
            n_known += pc.is_in(cells, value_set=known).to_numpy()
            n_possible += 1
    many = max(NAMES, n_possible / 2)
    table.refuse(
        (n_known >= many) & (n_equal < many),
        lambda i: (
            f"{[str(cell)[:40] for cell in table.cells(i, range(len(names)))][:25]} are "
            "names of columns in another order than in line 1"
        ),
        "put what follows into a file of its own",
    )
    table.drop(n_equal >= many, "they repeat the names of the columns")


def note_doubtful(table: Table) -> None:
    """Note rows that a platform marks as not to be used; whether they are, is the user's choice."""
    for name, values in DOUBTFUL.items():
        column = table.column([name])
        if column is None:
            continue
        n_rows = table.together(f"doubtful {name}", int(table.among(column, values).sum()), add)
        if n_rows:
            told = f"{n_rows:,} rows whose {name} is {' or '.join(map(repr, values))} are used; "
            table.notes.append(Message(told, Option("only", ...), " tells which rows to use"))


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
