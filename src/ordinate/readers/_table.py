"""A file as a table: columns found by their names, rows dropped with a note or refused by line."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING = ("", "na", "n/a", "nan", "null", "none")
TRUE, FALSE = ("1", "true", "yes", "t", "y"), ("", "0", "false", "no", "f", "n")
# Whole numbers as programs write them, also "7.0" from columns that had gaps; "007" is text.
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))(?:\.0+)?")

Roles = Mapping[str, Sequence[str]]


class ReadError(ValueError):
    """A file cannot be read as it stands; the message says where, why and what to do."""


class Items(NamedTuple):
    """Columns of items: codes into the names, -1 where a cell is empty."""

    codes: np.ndarray
    names: list

    def columns(self) -> list[pa.DictionaryArray]:
        """Return the columns as labels."""
        names = pa.array(self.names)
        return [
            pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)
            for codes in self.codes.T
        ]

    def row(self, i: int) -> list:
        """Return the labels of a row."""
        return [self.names[code] for code in self.codes[i] if code >= 0]


class Files(NamedTuple):
    """The files of a folder: their names, and the row that each begins with, all rows counted."""

    names: list[str]
    starts: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the place among the names of the file that each row came from."""
        return np.searchsorted(self.starts, rows, side="right") - 1


@dataclass
class Table:
    """Columns of a file.

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
    text : bool
        Cells are text whose numbers are not yet told from labels.
    array : ndarray or None
        The whole file, where it is one array of integers.
    rows : ndarray of int
        The rows of the file that are still in use.
    notes : list of str
    files : Files or None
        Where the rows came from, if from several files.
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

    def __post_init__(self) -> None:
        if not len(self.rows):
            self.rows = np.arange(self.data.num_rows)

    def named(self) -> "Table":
        """Take the first line of a text file as the names of its columns."""
        if not self.undecided:
            return self
        return replace(self, data=self.data.slice(1), rows=self.rows[1:], undecided=False)

    def bare(self) -> "Table":
        """Take the first line of a text file as data."""
        return replace(self, header=None, undecided=False) if self.undecided else self

    def mapped(self, columns: Mapping[str, str | int]) -> "Table":
        """Keep the columns a mapping names, or counts from 0, and call them by its roles."""
        counted = all(isinstance(column, int) for column in columns.values())
        table = self.bare() if counted else self.named()
        places = []
        for role, column in columns.items():
            place = column if isinstance(column, int) else table._index([column])
            if place is None or not -1 < place < table.data.num_columns:
                raise ReadError(
                    f"{self.path}: there is no column {column!r} for {role}; the columns are "
                    f"{self.shown_header()}. Names and numbers (from 0, for a file without a "
                    "header) cannot be mixed in columns="
                )
            places.append(place)
        names = [normal(role) for role in columns]
        data = table.data.select(places).rename_columns(names)
        return replace(table, data=data, header=names, array=None)

    def shown_header(self) -> str:
        """Return the names of the columns for messages, cut where there are very many."""
        names = [name[:40] for name in (self.header or self.data.column_names)]
        return f"{names[:25]}{' ...' if len(names) > 25 else ''}"

    def _index(self, names: Sequence[str]) -> int | None:
        header = self.header or []
        for name in names:
            exact = [i for i, own in enumerate(header) if own == name]
            found = exact or [i for i, own in enumerate(header) if normal(own) == normal(name)]
            if len(found) > 1:
                raise ReadError(f"{self.path}: column {name!r} occurs twice; rename one of them")
            if found:
                return found[0]
        return None

    def column(self, names: Sequence[str]) -> pa.ChunkedArray | None:
        """Return the column that has the first of these names, or None."""
        place = self._index(names)
        return None if place is None else self.data.column(place)

    def has(self, roles: Roles) -> bool:
        """Tell whether there is a column for each role."""
        return all(self._index(names) is not None for names in roles.values())

    def places(self, roles: Roles) -> list[int]:
        """Return the places of the columns of these roles; those of a bare file by position."""
        if self.header is None:
            return list(range(len(roles)))
        found = [self._index(names) for names in roles.values()]
        return [place for place in found if place is not None]

    def series(self, stems: Sequence[str]) -> list[int]:
        """Return the places of numbered columns, stem_1 and so on, or of a column of lists."""
        for stem in stems:
            numbered: dict[int, int] = {}
            for i, name in enumerate(self.header or []):
                number = re.fullmatch(rf"{stem}_?(\d{{1,4}})", normal(name))
                if number and numbered.setdefault(int(number[1]), i) != i:
                    raise ReadError(f"{self.path}: column {name!r} occurs twice; rename one")
            if numbered:
                return [numbered[number] for number in sorted(numbered)]
            place = self._index([stem])
            if place is not None and is_list(self.data.schema.types[place]):
                return self._spread(place, stem)
        return []

    def _spread(self, place: int, stem: str) -> list[int]:
        """Put the entries of a column of lists into numbered columns of their own."""
        lists = self.data.column(place).to_pylist()
        width = max((len(entry or []) for entry in lists), default=0)
        start = self.data.num_columns
        for k in range(width):
            cells = [entry[k] if entry and k < len(entry) else None for entry in lists]
            self.data = self.data.append_column(f"{stem}_{k + 1}", pa.array(cells))
        self.header = self.data.column_names
        return list(range(start, start + width))

    def drop(self, mask: Any, why: str) -> None:
        """Leave out the rows of a mask, and note how many and why."""
        mask = np.asarray(mask, bool)
        if mask.any():
            self.notes.append(f"{mask.sum():,} of {len(mask):,} rows dropped: {why}")
            self.data = self.data.filter(pa.array(~mask))
            self.rows = self.rows[~mask]
            self.array = None
        if not len(self.rows):
            raise ReadError(f"{self.path}: no row is left. {'; '.join(self.notes)}")

    def refuse(self, mask: Any, describe: Callable[[int], str], remedy: str) -> None:
        """Raise if any row is bad, naming the first."""
        mask = np.asarray(mask, bool)
        if mask.any():
            first = int(mask.argmax())
            raise ReadError(
                f"{self.path}, {self.place(int(self.rows[first]))}: {describe(first)} "
                f"({mask.sum():,} such rows of {len(mask):,}); {remedy}"
            )

    def words(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the cells of a column as trimmed text, missing ones empty."""
        values, codes = _distinct([column])
        return np.array([*(str(value).strip() for value in values), ""], object)[codes]

    def among(self, column: pa.ChunkedArray, allowed: Sequence[str]) -> np.ndarray:
        """Tell which cells are one of some words in lower case; missing cells are empty words."""
        values, codes = _distinct([column])
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
            "write 1 or 0, or say with columns= which columns to read",
        )
        return true

    def numbers(self, column: pa.ChunkedArray, what: str) -> np.ndarray:
        """Return a column as floats, NaN where missing."""
        try:
            floats = plain_column(column).cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            floats = np.array([_number(word) for word in self.words(column)])
        self.refuse(
            np.isinf(floats),
            lambda i: f"{what} is {column[i].as_py()!r}, not a number",
            "repair or remove those rows",
        )
        return floats

    def drop_missing(self, place: int, shown: Sequence[int], what: str = "answer") -> None:
        """Drop rows whose answer is empty or NA, unless an item shown has that very name."""
        missing = self.among(self.data.column(place), MISSING)
        if missing.any():
            words = self.words(self.data.column(place))
            for other in shown:
                missing &= (words != self.words(self.data.column(other))) | (words == "")
            self.drop(missing, f"the {what} is missing")

    def items(self, places: Sequence[int], *, gaps: bool = False) -> Items:
        """Read columns of items; unless gaps are allowed, every cell must name one."""
        values, codes = _distinct([self.data.column(place) for place in places])
        names, order = self._names(values)
        codes = np.append(order, -1)[codes].reshape(len(places), -1).T
        if not gaps:
            self.refuse(
                (codes < 0).any(axis=1),
                lambda i: f"an item has no name in {self.cells(i, places)}",
                "give the item a name or remove those rows",
            )
        used = np.bincount(codes.ravel() + 1, minlength=len(names) + 1)[1:] > 0
        renumbered = np.append(np.cumsum(used) - 1, -1)
        return Items(renumbered[codes], [name for name, u in zip(names, used, strict=True) if u])

    def distinct_items(self, places: Sequence[int], picked: Sequence[int] = ()) -> Items:
        """Read columns of items that must differ within a row, then those picked among them."""
        items = self.items([*places, *picked])
        shown = np.sort(items.codes[:, : len(places)], axis=1)
        self.refuse(
            (shown[:, 1:] == shown[:, :-1]).any(axis=1),
            lambda i: f"{items.row(i)[: len(places)]} names an item twice",
            "the items of a row must differ: repair or remove those rows",
        )
        return items

    def cells(self, i: int, places: Sequence[int]) -> list:
        """Return cells of a row as they stand."""
        return [self.data.column(place)[i].as_py() for place in places]

    def _names(self, values: list) -> tuple[list, np.ndarray]:
        """Return the labels of cells, and the label of each cell, -1 for none.

        Numbers among text become integers where every label is one; text is trimmed.
        """
        if self.text:
            quoted = [v for v in values if v[:1].isspace() and v.lstrip()[:1] == '"']
            if quoted:
                raise ReadError(
                    f"{self.path}: a quote follows a blank in {quoted[0]!r}, so that it does not "
                    "count as a quote; remove the blank after the delimiter"
                )
        words = [v.strip() if isinstance(v, str) else v for v in values]
        if self.text:
            whole = [WHOLE.fullmatch(word) for word in words if word]
            if all(whole):
                words = [int(WHOLE.fullmatch(word)[1]) if word else "" for word in words]  # type: ignore[index]
        names: dict = {}
        order = np.array(
            [-1 if w == "" or w is None else names.setdefault(w, len(names)) for w in words], int
        )
        return list(names), order


def is_list(kind: pa.DataType) -> bool:
    """Tell whether the cells of a column are lists."""
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def normal(name: str) -> str:
    """Return a column's name in lower case, with single underscores between words.

    >>> normal("Response.Time..s.")
    'response_time_s'
    """
    return re.sub(r"[^0-9a-z]+", "_", str(name).strip().lower()).strip("_") or str(name).strip()


def _number(word: str) -> float:
    """Return a finite number, NaN for none, infinity for what is no number."""
    if word.lower() in MISSING:
        return np.nan
    try:
        value = float(word)
    except ValueError:
        return np.inf
    return value if np.isfinite(value) else np.inf


def _distinct(columns: Iterable[pa.ChunkedArray]) -> tuple[list, np.ndarray]:
    """Return the distinct cells of columns, and the index of each cell; -1 where it is null."""
    plain = [plain_column(column) for column in columns]
    if len({column.type for column in plain}) > 1:
        plain = [column.cast(pa.string()) for column in plain]
    chunks = [chunk for column in plain for chunk in column.chunks if len(chunk)]
    encoded = pa.chunked_array(chunks).dictionary_encode().unify_dictionaries()
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return encoded.chunk(0).dictionary.to_pylist(), np.concatenate(codes)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text or integers; whole floats become integers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_column(column.cast(kind.value_type))
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
        whole = pc.all(pc.equal(column, pc.floor(column))).as_py()
        return column.cast(pa.int64() if whole in (True, None) else pa.string())
    if str(kind) in ("string", "large_string", "string_view"):
        return column.cast(pa.string())
    raise ReadError(f"a column holds {kind} values; text and numbers can be read")
