"""A file as a table: columns found by their names, rows dropped with a note or refused by line."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import and_
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ordinate._base.messages import Message
from ordinate.files.formats.board import Board, Join, NoRowsLeft, Use
from ordinate.files.formats.cells import (
    FALSE,
    TRUE,
    distinct,
    is_list,
    normal,
    number,
    plain_cells,
)
from ordinate.files.formats.errors import ReadError, Remedy

Roles = Mapping[str, Sequence[str]]

# Rows that stop a file unless drop= names them, and the note that counts them then.
DROPPABLE = {
    "repeated": "an item is named twice",
    "unanswered": "the answer is none of those that are allowed",
    "unnamed": "an item has no name",
}


class Files(NamedTuple):
    """The files of a folder: their names, and the row that each begins with, all rows counted."""

    names: list[str]
    starts: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the place among the names of the file that each row came from."""
        return np.searchsorted(self.starts, rows, side="right") - 1


def add_counts(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Add counts that belong together, one by one."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


@dataclass
class Table:
    """Columns of a file, or of a block of its rows.

    Attributes
    ----------
    path : str
    data : pyarrow.Table
    header : list of str or None
        Names of the columns.
    undecided : bool
        The first line, which is also the header here, may be names or data.
    place : function of int
        Where a row stands in the file, in words.
    delimiter : str
        Between the fields of a text.
    text : bool
        Cells are text whose numbers are not yet told from labels.
    array : ndarray or None
        The whole file, where it is one array of integers.
    rows : ndarray of int
        The rows of the file that are still in use.
    notes : list of str
    files : Files or None
        Where the rows came from, if from several files.
    drops : tuple of str
        The kinds of :data:`DROPPABLE` rows to leave out.
    own_names : list of str or None
        The names of the columns as line 1 of a text has them.
    origin : dict of str to str
        What the file calls the columns that are called by their roles.
    has_answers : bool
        A column of answers was read, to which response= applies.
    board : Board or None
        What the blocks of a file say together; None where the file is read as a whole.
    block : int
        Which block this is; the first begins with the first line.
    bad_lines : tuple or None
        The first line of a block of text with more or fewer fields than the table, how many there
        are, and how the text is written.
    n_drops : int
        How often rows were dropped.
    merges : bool
        Labels that differ in trifles alone name one item.
    merged : dict of str to set of str
        The spellings that became one, by the first of them.
    sha256 : str
        Of the bytes that were read, packed or not.
    like_rows : dict of str to str
        Cells of several lines that stray quotes may have made of rows, and where they begin.
    group_by : str or None
        A column that names groups of answers, to be told beside the triplets.
    carried : tuple or None
        What is told of each row: who answered, the group, and why it was asked.
    """

    path: str
    data: pa.Table
    header: list[str] | None
    place: Callable[[int], str]
    text: bool = False
    undecided: bool = False
    delimiter: str = ""
    array: np.ndarray | None = None
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    notes: list[str] = field(default_factory=list)
    files: Files | None = None
    drops: tuple[str, ...] = ()
    own_names: list[str] | None = None
    origin: dict[str, str] = field(default_factory=dict)
    has_answers: bool = False
    board: Board | None = None
    block: int = 0
    bad_lines: tuple[int, int, Any] | None = None
    n_drops: int = 0
    merges: bool = False
    merged: dict[str, set[str]] = field(default_factory=dict)
    sha256: str = ""
    like_rows: dict[str, str] = field(default_factory=dict)
    group_by: str | None = None
    carried: tuple[Any, np.ndarray | None, np.ndarray | None] | None = None

    def __post_init__(self) -> None:
        if not len(self.rows):
            self.rows = np.arange(self.data.num_rows)

    def together(self, what: str, own: Any, join: Join, use: Use = lambda said: said) -> Any:
        """Return what the rows of a file say; in a block, what those of all blocks do.

        ``own`` is what the rows here say, ``join`` puts it together with what others say, and
        ``use`` is as much of that as matters: while it stays the same, no block is read again.
        """
        return use(own) if self.board is None else self.board.ask(what, own, join, use)

    def named(self) -> "Table":
        """Take the first line of a text file as the names of its columns."""
        if not self.undecided:
            return self
        return replace(self.without(1), undecided=False, own_names=self.header)

    def without(self, n_lines: int) -> "Table":
        """Return the rows below the first lines of the file."""
        n = 0 if self.block else n_lines
        return replace(self, data=self.data.slice(n), rows=self.rows[n:])

    def bare(self) -> "Table":
        """Take the first line of a text file as data."""
        return replace(self, header=None, undecided=False) if self.undecided else self

    def shown_header(self) -> str:
        """Return the names of the columns for messages, cut where there are very many."""
        bare = self.header is None
        cells = self.first_rows(1)[0] if bare else self.header or []
        names = [str(name)[:40] for name in cells[:25]]
        without = f"without names, {len(cells)} of them, such as " if bare else ""
        return f"{without}{names}{' ...' if len(cells) > 25 else ''}"

    def names_of(self, places: Sequence[int]) -> list[str]:
        """Return the names of columns as the file has them."""
        own = self.header or self.data.column_names
        return [self.origin.get(own[place], own[place]) for place in places]

    def index(self, names: Sequence[str]) -> int | None:
        """Return the place of the column that has the first of these names, or None."""
        exact, squashed = _places(tuple(self.header or ()))
        for name in names:
            found = exact.get(name) or squashed.get(squeezed(name), [])
            if len(found) > 1:
                raise ReadError(f"{self.path}: column {name!r} occurs twice; rename one of them")
            if found:
                return found[0]
        return None

    def column(self, names: Sequence[str]) -> pa.ChunkedArray | None:
        """Return the column that has the first of these names, or None."""
        place = self.index(names)
        return None if place is None else self.data.column(place)

    def has(self, roles: Roles) -> bool:
        """Tell whether there is a column for each role, a different one for each."""
        return self.found(roles) is not None

    def found(self, roles: Roles) -> dict[str, int] | None:
        """Return the place of each role's column, or None where one is missing or serves two."""
        places = {role: self.index(names) for role, names in roles.items()}
        distinct_places = {place for place in places.values() if place is not None}
        return places if len(distinct_places) == len(roles) else None  # type: ignore[return-value]

    def places(self, roles: Roles) -> list[int]:
        """Return the places of the columns of these roles; those of a bare file by position."""
        if self.header is None:
            return list(range(len(roles)))
        found = [self.index(names) for names in roles.values()]
        return [place for place in found if place is not None]

    def series(self, stems: Sequence[str]) -> list[int]:
        """Return the places of numbered columns, stem_1 and so on, or of a column of lists."""
        for stem in stems:
            numbered: dict[int, int] = {}
            for i, name in enumerate(self.header or []):
                counted = re.fullmatch(rf"{stem}_?(\d{{1,4}})", normal(name))
                if counted and numbered.setdefault(int(counted[1]), i) != i:
                    raise ReadError(f"{self.path}: column {name!r} occurs twice; rename one")
            if numbered:
                return [numbered[count] for count in sorted(numbered)]
            place = self.index([stem])
            if place is not None and is_list(self.data.schema.types[place]):
                kind = self.data.schema.types[place].value_type
                return self.spread(place, self.data.column(place).to_pylist(), kind)
        return []

    def spread(self, place: int, lists: list, kind: pa.DataType) -> list[int]:
        """Put the entries of lists, one a row, into numbered columns of their own."""
        stem = (self.header or [])[place]
        width = max((len(entry or []) for entry in lists), default=0)
        width = self.together("longest list", width, max)
        start = self.data.num_columns
        for k in range(width):
            cells = [entry[k] if entry and k < len(entry) else None for entry in lists]
            self.data = self.data.append_column(f"{stem}_{k + 1}", pa.array(cells, kind))
        self.header = [*(self.header or []), *self.data.column_names[start:]]
        return list(range(start, start + width))

    def drop(self, mask: Any, why: str) -> None:
        """Leave out the rows of a mask, and note how many and why."""
        mask = np.asarray(mask, bool)
        n_dropped, n_rows = self.together(
            "dropped", (int(mask.sum()), len(mask)), add_counts, lambda n: n if n[0] else (0, 0)
        )
        if not n_dropped:
            return
        self.notes.append(Message(f"{n_dropped:,} of {n_rows:,} rows dropped: ", why))
        self.n_drops += 1
        self.data = self.data.filter(pa.array(~mask))
        self.rows = self.rows[~mask]
        self.array = None
        if n_dropped == n_rows:
            told = Message.joined("; ", self.notes)
            raise ReadError(Message(f"{self.path}: no row is left. ", told))
        if not len(self.rows):
            raise NoRowsLeft

    def refuse(
        self, mask: Any, describe: Callable[[int], str], advice: str, *, kind: str = ""
    ) -> np.ndarray | None:
        """Raise if any row is bad, naming the first; or drop those rows if that was asked for.

        Returns the mask of the rows kept, None for all of them.
        """
        mask = np.asarray(mask, bool)
        if kind in self.drops:
            before = self.n_drops
            self.drop(mask, DROPPABLE[kind])
            return None if self.n_drops == before else ~mask
        first = int(mask.argmax()) if mask.any() else None
        own = None if first is None else self._where(first, describe)
        where, n_bad, n_rows = self.together(
            "refused",
            (own, int(mask.sum()), len(mask)),
            lambda one, other: (one[0] or other[0], *add_counts(one[1:], other[1:])),
            lambda said: said if said[1] else (None, 0, 0),
        )
        if not n_bad:
            return None
        remedy = Remedy({"drop": (*self.drops, kind)}, "to leave them out")
        raise ReadError(
            f"{where} ({n_bad:,} such rows of {n_rows:,}); {advice}",
            *([remedy] if kind else []),
        )

    def _where(self, i: int, describe: Callable[[int], str]) -> str:
        return f"{self.path}, {self.place(int(self.rows[i]))}: {describe(i)}"

    def distinct(self, columns: Iterable[pa.ChunkedArray]) -> tuple[list, np.ndarray]:
        """Return the distinct cells of columns, and the index of each cell; -1 where it is null."""
        return distinct(columns, lambda own: self.together("whole numbers", own, and_))

    def words(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the cells of a column as trimmed text, missing ones empty."""
        values, codes = self.distinct([column])
        return np.array([*(str(value).strip() for value in values), ""], object)[codes]

    def among(self, column: pa.ChunkedArray, allowed: Sequence[str]) -> np.ndarray:
        """Tell which cells are one of some words in lower case; missing cells are empty words."""
        values, codes = self.distinct([column])
        known = [str(value).strip().lower() in allowed for value in values]
        return np.array([*known, "" in allowed])[codes]

    def flags(self, names: Sequence[str]) -> np.ndarray | None:
        """Return a column of yes and no as a mask, or None if there is no such column."""
        column = self.column(names)
        if column is None:
            return None
        true = self.among(column, TRUE)
        self.refuse(
            ~true & ~self.among(column, FALSE),
            lambda i: f"{names[0]} is {column[i].as_py()!r}, neither yes nor no",
            "write 1 or 0",
        )
        return true

    def numbers(self, column: pa.ChunkedArray, what: str) -> np.ndarray:
        """Return a column as floats, NaN where missing."""
        try:
            floats = plain_cells(column).cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            floats = np.array([number(word) for word in self.words(column)])
        self.refuse(
            np.isinf(floats),
            lambda i: f"{what} is {column[i].as_py()!r}, not a number{_point(column[i].as_py())}",
            "repair or remove those rows",
        )
        return floats

    def cells(self, i: int, places: Sequence[int]) -> list:
        """Return cells of a row as they stand."""
        return [self.data.column(place)[i].as_py() for place in places]

    def first_rows(self, n: int) -> list[list]:
        """Return all cells of the first rows of the file."""
        places = range(self.data.num_columns)
        own = [self.cells(i, places) for i in range(min(n, len(self.rows)))]
        return self.together(f"first {n}", own, lambda one, other: (one + other)[:n])

    def first_cells(self, column: pa.ChunkedArray, n: int) -> list:
        """Return the first cells of a column of the file."""
        own = column.slice(0, n).to_pylist()
        return self.together(f"first {n}", own, lambda one, other: (one + other)[:n])


def _point(cell: str) -> str:
    """Return advice about a number with a decimal comma; nothing about other cells."""
    comma = re.fullmatch(r"\s*([+-]?\d*),(\d+)\s*", cell)
    return f": write {comma[1]}.{comma[2]}, with a decimal point" if comma else ""


@lru_cache(maxsize=16)
def _places(header: tuple[str, ...]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return the places of names, exactly as they are and as they are compared."""
    exact: dict[str, list[int]] = {}
    squashed: dict[str, list[int]] = {}
    for i, name in enumerate(header):
        exact.setdefault(name, []).append(i)
        squashed.setdefault(squeezed(name), []).append(i)
    return exact, squashed


@lru_cache(maxsize=1 << 14)
def squeezed(name: str) -> str:
    """Return a column's name as it is compared, so that Worker.ID, worker_id and WorkerId agree."""
    return normal(name).replace("_", "")
