"""Read answers from the files people have: the format and the layout are found, not guessed.

A format is how a table is written (CSV, Parquet, ...), a layout what its columns mean. Each layout
is a module here and one entry of :data:`LAYOUTS`.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ordinate._checks import check_choice
from ordinate.readers import (
    food100,
    most_central,
    next_,
    odd_one_out,
    plain,
    ranking,
    response,
    salmon,
    selection,
    votes,
)
from ordinate.readers._folder import load
from ordinate.readers._layout import (
    WEIGHT,
    Layout,
    Options,
    check_roles,
    clean,
    may_be_header,
    note_files,
    three_bare_columns,
)
from ordinate.readers._missing import best_fits
from ordinate.readers._table import ReadError, Table
from ordinate.readers._text import NO_COLUMNS
from ordinate.triplets import Triplets

ReadError.__module__ = __name__  # where users find it

__all__ = ["LAYOUTS", "Layout", "ReadError", "Reading", "read"]

LAYOUTS: tuple[Layout, ...] = (
    plain.LAYOUT,
    response.LAYOUT,
    salmon.LAYOUT,
    next_.LAYOUT,
    odd_one_out.LAYOUT,
    most_central.LAYOUT,
    food100.LAYOUT,
    votes.LAYOUT,
    selection.LAYOUT,
    ranking.LAYOUT,
)

# What settles the meaning of three columns without names.
CHOICES = {
    "plain": "layout='plain' if they are anchor, near, far",
    "odd_one_out": "odd='last' (as in THINGS), odd='first' or odd='middle' if one is the odd one",
}


class Reading(NamedTuple):
    """What was read from a file.

    Attributes
    ----------
    triplets : Triplets
        With labels, and answers, participants and weights where the file has them.
    layout : str
        The layout that was found.
    n_rows : int
        Rows of data in the file.
    n_used : int
        Rows that gave triplets; the notes tell about the others.
    notes : list of str
        What was dropped or left unread, how much of it and why.
    """

    triplets: Triplets
    layout: str
    n_rows: int
    n_used: int
    notes: list[str]


def read(
    path: str | os.PathLike,
    *,
    layout: str = "auto",
    columns: Mapping[str, str | int] | None = None,
    first_id: int | None = None,
    odd: str | None = None,
    positive: str | None = None,
    keep_checks: bool = False,
    exclude_participants: Iterable[Any] = (),
    min_response_time: float | None = None,
    table: str | None = None,
) -> Reading:
    r"""Read triplets from a file of any layout in :data:`LAYOUTS`, or from a folder of such files.

    CSV, TSV and text separated by semicolons, bars or blanks; Parquet, Feather, Arrow, JSON and
    JSON lines; .xlsx, .mat, .npy and .npz; each also within gzip or zip.

    Parameters
    ----------
    path : str or path
        A file, or a folder whose files have the same columns. Where no column names the
        participants, each of several files is a participant of its own.
    layout : str
        The name of a layout, or "auto" to find it from the columns.
    columns : mapping of str to str or int, optional
        Which column has which role, such as ``{"anchor": "head", "near": "winner",
        "far": "loser"}``, and participant, answer, weight, response_time where wanted. Numbers
        count the columns of a file without a header from 0. Other columns are not read.
    first_id : int, optional
        Integer ids count from this number, and ids in between that never occur are items too. By
        default integers in text and tables are labels, so that there is no item but those named;
        in .npy arrays they count from 0.
    odd : {"first", "middle", "last"}, optional
        Where the odd one stands in three columns without names.
    positive : {"first", "second"}, optional
        Which item a response of +1 calls nearer.
    keep_checks : bool
        Keep the check trials that the file marks.
    exclude_participants : iterable
        Participants whose answers are dropped.
    min_response_time : float, optional
        Answers faster than this, in the unit of the file, are dropped.
    table : str, optional
        Which one, in a file that holds several: the sheet of a workbook, the variable of a .mat or
        .npz file (``"data.rows"`` for a field of a struct), the file within a zip file.

    Returns
    -------
    Reading

    Raises
    ------
    ReadError
        A ``ValueError`` that names the file, the first bad line and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ordinate import readers
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("kept_a,kept_b,odd_one_out\ncat,lynx,cod\ncod,eel,NA\n")
    >>> reading = readers.read(path)
    >>> reading.layout, reading.triplets
    ('odd_one_out', Triplets(2 rows, 3 items, 1 answers))
    >>> reading.notes
    ['1 of 2 rows dropped: the answer is missing']
    """
    check_choice("layout", layout, ["auto", *(entry.name for entry in LAYOUTS)])
    if odd is not None:
        check_choice("odd", odd, odd_one_out.POSITIONS)
    if positive is not None:
        check_choice("positive", positive, ("first", "second"))
    if isinstance(exclude_participants, str):
        exclude_participants = (exclude_participants,)
    check_roles(columns or ())
    options = Options(
        first_id, odd, positive, keep_checks, tuple(exclude_participants), min_response_time
    )
    return _read(load(path, table), layout, columns, options)


def _read(
    table: Table, layout: str, columns: Mapping[str, str | int] | None, options: Options
) -> Reading:
    if table.array is not None and options.first_id is None:
        options = replace(options, first_id=_first_position(table.path, int(table.array.min())))
    try:
        table = table.mapped(columns) if columns else table
        table, found = _find(table, layout, options.odd, bool(columns))
        n_rows = len(table.rows)
        clean(table, options)
        triplets = found.parse(table, options)
        if triplets.weight is None and table.column(WEIGHT) is not None:
            table.notes.append(f"the column weight is not read in layout {found.name}")
        note_files(table)
    except ReadError:
        raise
    # The last is pyarrow's word for values that it cannot compare or convert.
    except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
        raise ReadError(f"{table.path}: {error}") from error
    return Reading(triplets, found.name, n_rows, len(table.rows), table.notes)


def _first_position(path: str, least: int) -> int:
    """Return 0, where the positions in an array count from, or raise if it never occurs."""
    if least < 0:
        raise ReadError(f"{path}: ids of an array are positions from 0, but one is {least}")
    if least > 0:
        raise ReadError(
            f"{path}: ids of an array are positions, but 0 never occurs (they begin at {least}). "
            "Say first_id=1 if they count from 1, first_id=0 if the first item is in no row"
        )
    return 0


def _find(table: Table, layout: str, odd: str | None, mapped: bool) -> tuple[Table, Layout]:
    """Return the layout, and the table with its first line taken as names or as data."""
    allowed = [entry for entry in LAYOUTS if layout in ("auto", entry.name)]
    if odd is not None and layout == "auto":
        allowed = [odd_one_out.LAYOUT]
    elif table.array is not None and layout == "auto":
        allowed = [plain.LAYOUT]  # as everywhere: an array of ids is (anchor, near, far)
    for candidate in (table.named(), table.bare()):
        found = [entry for entry in allowed if entry.matches(candidate)]
        if not found and candidate.header is not None:
            _refuse_incomplete(table, allowed, mapped)
        if len(found) == 1:
            if not len(candidate.rows):
                raise ReadError(f"{table.path}: there are column names, but no rows")
            return candidate, found[0]
        if found:
            ways = "; ".join(CHOICES.get(e.name, f"layout={e.name!r}") for e in found)
            raise ReadError(f"{table.path}: the columns can be read in several ways. Say {ways}")
    if table.text and table.data.num_columns < 3:
        raise ReadError(f"{table.path}: {NO_COLUMNS}. The columns are {table.shown_header()}")
    wanted = allowed[0].description if len(allowed) == 1 else "any known layout"
    raise ReadError(
        f"{table.path}: the columns {table.shown_header()} do not fit {wanted}. Say "
        "columns={'anchor': ..., 'near': ..., 'far': ...} to name yours, by name or by number "
        "from 0; ordinate.readers.LAYOUTS lists what is known"
    )


def _refuse_incomplete(table: Table, allowed: list[Layout], mapped: bool) -> None:
    """Raise if the header names most columns of a layout, and say which are missing."""
    bare = table.bare()
    if three_bare_columns(bare) and not may_be_header(bare):
        return
    fits = best_fits(table.header or [], allowed)
    if fits:
        told = "; or ".join(fit.describe(mapped) for fit in fits)
        raise ReadError(f"{table.path}: the columns {told}")
