"""Read answers from the files people have: the format and the layout are found, not guessed.

A format is how a table is written (CSV, Parquet, ...), a layout what its columns mean. Each layout
is a module here and one entry of :data:`LAYOUTS`.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ordinate._base.checks import check_choice
from ordinate._base.messages import Message, Option, message_of
from ordinate.data.triplets import Triplets
from ordinate.files.formats.board import NoRowsLeft
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.files import is_pipe
from ordinate.files.formats.folder import load
from ordinate.files.formats.names import WEIGHT
from ordinate.files.formats.table import DROPPABLE, Table
from ordinate.files.ondisk.files import sha256_of
from ordinate.files.ondisk.grouped import open_grouped
from ordinate.files.ondisk.unsorted import fast_triplets
from ordinate.files.readers import (
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
from ordinate.files.readers._choice import ITEM, PLACES
from ordinate.files.readers._cleaning import as_marks, clean
from ordinate.files.readers._find import check_roles, find
from ordinate.files.readers._layout import Layout, Options, note_files, take_carried
from ordinate.files.readers._spellings import (
    alike_notes,
    refuse_rows_as_names,
    refuse_two_spellings,
)

for _public in (ReadError, Remedy):
    _public.__module__ = __name__  # where users find it

__all__ = ["LAYOUTS", "Layout", "ReadError", "Reading", "Remedy", "read"]

FAST = "fast"  # the layout of ordinate.ondisk, which is none of the following
IS_FAST = "is in the fast layout, whose rows are triplets already"

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


class Reading(NamedTuple):
    """What was read from a file.

    Attributes
    ----------
    triplets : Triplets
        With labels, and answers, participants and weights where the file has them.
    layout : str
        The layout that was found; "fast" is that of :mod:`ordinate.ondisk`.
    n_rows : int
        Rows of data in the file.
    n_used : int
        Rows that gave triplets; the notes tell about the others.
    notes : list of str
        What was dropped or left unread, how much of it and why.
    sha256 : str
        Of the bytes that were read, as they lie in the file; of several files that of the lines
        which ``sha256sum`` prints for them.
    groups : ndarray, shape (m,), or None
        The group of each triplet, if a column of groups was asked for; None where it names none.
    """

    triplets: Triplets
    layout: str
    n_rows: int
    n_used: int
    notes: list[str]
    sha256: str = ""
    groups: np.ndarray | None = None

    @property
    def example(self) -> str:
        """The first triplet in words: held against the file, it shows whether near is near."""
        return self.triplets.example


def read(
    path: str | os.PathLike,
    *,
    layout: str = "auto",
    columns: Mapping[str, str | int] | None = None,
    first_id: int | None = None,
    odd: str | None = None,
    response: str | Mapping[Any, str] | None = None,
    drop: str | Iterable[str] = (),
    only: Mapping[str, Any] | None = None,
    checks: Mapping[str, Any] | None = None,
    keep_checks: bool = False,
    exclude_participants: Iterable[Any] = (),
    min_response_time: float | None = None,
    merge_labels: bool = False,
    table: str | None = None,
    groups: str | None = None,
) -> Reading:
    r"""Read triplets from a file of any layout in :data:`LAYOUTS`, or from a folder of such files.

    CSV, TSV and text separated by semicolons, bars or blanks; Parquet, Feather, Arrow, JSON and
    JSON lines; .xlsx, .mat, .npy and .npz; each also within gzip or zip.

    Parameters
    ----------
    path : str or path
        A file, or a folder whose files have the same columns, or either in the fast layout, to
        which no option applies; a pipe, or "-" for standard input, which are read into memory,
        once. Where no column names the participants, each of several files is a participant of
        its own.
    layout : str
        The name of a layout, or "auto" to find it from the columns.
    columns : mapping of str to str or int, optional
        Which column has which role, such as ``{"anchor": "head", "near": "winner",
        "far": "loser"}``, and participant, answer, weight, response_time where wanted; roles that
        are not named are found by the names of the columns. Numbers count the columns from 0; the
        first line is then data, unless it surely has names, as is noted. ``*`` stands for the
        number of a question, where a row holds several: ``{"response": "*_Q3"}`` has ``1_Q3``,
        ``2_Q3``, ...
    first_id : int, optional
        Integer ids count from this number, and ids in between that never occur are items too. By
        default integers in text and tables are labels, so that there is no item but those named;
        in .npy arrays they count from 0.
    odd : {"first", "middle", "last"}, optional
        Where the odd one stands in three columns without names.
    response : mapping or "item", optional
        What the answers mean: for each code "first", "second" or "third", the place of the item
        that it picks, as in ``{"f": "first", "j": "second"}``; "item" if answers name the item.
        By default what is plain is read, and anything else asked about.
    drop : str or iterable of {"repeated", "unanswered", "unnamed"}
        Rows to leave out, where they would stop the file: those that name an item twice, whose
        answer is none of the items or codes, or in which an item has no name.
    only : mapping, optional
        The rows to read, where a file has others as well: for a column its value, or several, as
        in ``{"task": "triplet"}``; ``""`` where it is empty.
    checks : mapping, optional
        What marks check trials, which are dropped: for a column a value, or several, as in
        ``{"sampleAlg": "check"}``. By default they are found where a column is named for them or
        has such words.
    keep_checks : bool
        Keep the check trials that the file marks.
    exclude_participants : iterable
        Participants whose answers are dropped.
    min_response_time : float, optional
        Answers faster than this, in the unit of the file, are dropped.
    merge_labels : bool
        Labels that differ only by case, by blanks, by .0 or by what cannot be seen name one item,
        which is named as it is where it first occurs. By default they name different items, and a
        note tells of them.
    table : str, optional
        Which one, in a file that holds several: the sheet of a workbook, the variable of a .mat or
        .npz file (``"data.rows"`` for a field of a struct), the file within a zip file.
    groups : str, optional
        A column that names the group or condition of each answer, to be had as ``groups`` beside
        the triplets, for :func:`ordinate.compare_groups`; "participant" stands for the
        participants, however the file names them.

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
    given = {name: value for name, value in locals().items() if name != "path"}
    how = how_to_read(**given)
    grouped = None if is_pipe(path) else open_grouped(Path(path))
    if grouped is not None:
        usual = read.__kwdefaults__ or {}
        changed = {name: value for name, value in given.items() if value != usual[name]}
        refuse_options(f"{path} {IS_FAST}", changed)
        sha256 = sha256_of(grouped.path, grouped.files)
        triplets = fast_triplets(grouped).load()
        return Reading(triplets, FAST, len(triplets), len(triplets), [], sha256)
    return read_table(load(path, table), how)


class How(NamedTuple):
    """What was asked of :func:`read`, checked."""

    options: Options
    columns: Mapping[str, str | int]
    drops: tuple[str, ...]
    merges: bool
    table: str | None


def how_to_read(
    *,
    layout: str = "auto",
    columns: Mapping[str, str | int] | None = None,
    odd: str | None = None,
    response: str | Mapping[Any, str] | None = None,
    drop: str | Iterable[str] = (),
    only: Mapping[str, Any] | None = None,
    checks: Mapping[str, Any] | None = None,
    exclude_participants: Iterable[Any] = (),
    merge_labels: bool = False,
    table: str | None = None,
    **others: Any,
) -> How:
    """Check the options of :func:`read`."""
    check_choice("layout", layout, ["auto", *(entry.name for entry in LAYOUTS)])
    if odd is not None:
        check_choice("odd", odd, odd_one_out.POSITIONS)
    if isinstance(exclude_participants, str):
        exclude_participants = (exclude_participants,)
    columns = dict(columns or {})
    check_roles(columns, LAYOUTS)
    options = Options(
        layout=layout,
        odd=odd,
        response=_response(response),
        checks=as_marks("checks", checks),
        only=as_marks("only", only),
        exclude_participants=tuple(exclude_participants),
        **others,
    )
    return How(options, columns, _kinds(drop), merge_labels, table)


def read_table(table: Table, how: How) -> Reading:
    """Read a table, or a block of one: what holds for all rows is asked of all blocks."""
    table.drops, table.merges, options = how.drops, how.merges, how.options
    table.group_by = options.groups
    if table.array is not None and options.first_id is None:
        least = table.together("first id", int(table.array.min()), min)
        options = replace(options, first_id=_first_position(table.path, least))
    try:
        table, found = find(table, LAYOUTS, options, how.columns)
        n_rows = len(table.rows)
        if not n_rows and table.board is None:
            raise ReadError(f"{table.path}: there are column names, but no rows")
        if not n_rows:
            raise NoRowsLeft(0)
        try:
            clean(table, found, options)
            triplets = found.parse(table, options)
            groups = take_carried(table, triplets)
            refuse_rows_as_names(table, triplets)
        except NoRowsLeft:
            raise NoRowsLeft(n_rows) from None
        refuse_two_spellings(table, triplets)
        if options.response is not None and not table.has_answers:
            raise ReadError(
                Message(
                    f"{table.path}: in layout {found.name} no column of answers is read, so that ",
                    Option("response", ...),
                    " has nothing to explain: leave it out, or name another layout",
                )
            )
        if triplets.weight is None and table.column(WEIGHT) is not None:
            table.notes.append(f"the column weight is not read in layout {found.name}")
        note_files(table)
        if table.board is None:
            table.notes += alike_notes(triplets.items, table.merged)
        else:
            table.board.merged = table.merged
    except ReadError:
        raise
    # What checks of triplets say of the file, and Arrow of cells that it cannot compare or convert.
    except (ValueError, pa.ArrowException) as error:
        raise ReadError(Message(f"{table.path}: ", message_of(error))) from error
    n_used = len(table.rows)
    return Reading(triplets, found.name, n_rows, n_used, table.notes, table.sha256, groups)


def refuse_options(what: str, given: Iterable[str]) -> None:
    """Raise if options were given, by these names, that ``what`` leaves nothing to do for."""
    if given:
        names = Message.joined(", ", (Message(Option(name)) for name in given))
        raise ValueError(Message(f"{what}: ", names, " cannot apply to it; leave that out"))


def _first_position(path: str, least: int) -> int:
    """Return 0, where the positions in an array count from, or raise if it never occurs."""
    if least < 0:
        raise ReadError(f"{path}: ids of an array are positions from 0, but one is {least}")
    if least > 0:
        raise ReadError(
            f"{path}: ids of an array are positions, but 0 never occurs (they begin at {least})",
            Remedy({"first_id": 1}, "if they count from 1"),
            Remedy({"first_id": 0}, "if the first item is in no row"),
        )
    return 0


def _response(response: Any) -> str | dict[Any, str] | None:
    """Check what answers mean."""
    if response is None or response == ITEM:
        return response
    if not isinstance(response, Mapping) or not response:
        raise ValueError(
            Message(
                Option("response"),
                f" must be {ITEM!r} or say what each code means, as in "
                f"{{'f': 'first', 'j': 'second'}}; got {response!r}",
            )
        )
    for place in response.values():
        check_choice(Message("what ", Option("response"), " says of a code"), place, PLACES)
    return dict(response)


def _kinds(drop: str | Iterable[str]) -> tuple[str, ...]:
    """Check which rows are to be dropped."""
    kinds = (drop,) if isinstance(drop, str) else tuple(drop)
    for kind in kinds:
        check_choice("drop", kind, tuple(DROPPABLE))
    return tuple(dict.fromkeys(kinds))
