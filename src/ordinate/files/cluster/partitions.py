"""What workers do with a partition: read it, give ids to its labels, check it, cut it.

A partition that is made anew, since a worker was lost or has no room for it, is the same as before.
"""

import os
import socket
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_integers, check_weights
from ordinate._base.optional import require
from ordinate.data.columns import COLUMNS, is_table
from ordinate.data.folds import in_sample
from ordinate.data.labels import encode, label_array, labels_in
from ordinate.data.rows import bad_row, group_by_anchor, read_only
from ordinate.files.formats.errors import ReadError
from ordinate.files.ondisk.files import check_unchanged, reading
from ordinate.files.ondisk.grouped import GroupedFile, open_grouped
from ordinate.files.ondisk.handles import NO_WEIGHT
from ordinate.kernels import backends


class Rows(NamedTuple):
    """Triplets (k, 3) of uint32, or pairs (k, 2) of a landmark; and weights (k,), or nothing."""

    rows: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, weight: np.ndarray = NO_WEIGHT) -> "Rows":
        """Take arrays as kernels know them, which are compiled for one kind."""
        return cls(read_only(rows), writeable(weight))

    def taken(self, chosen: Any) -> "Rows":
        """Return some of the rows."""
        return Rows(self.rows[chosen], self.weight[chosen] if len(self.weight) else self.weight)


class Neighbours(tuple[Rows, ...]):
    """Consecutive partitions, each as it is."""

    __slots__ = ()

    @classmethod
    def of(cls, *parts: Rows) -> "Neighbours":
        """Put partitions together, which keep their arrays."""
        return cls(parts)


def writeable(value: Any) -> Any:
    """Return a copy of an array that a message has brought, which must not be written to."""
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return value.copy()
    return value


class RowGroups(NamedTuple):
    """Consecutive row groups of a Parquet file, anywhere that fsspec reaches."""

    path: str
    groups: tuple[int, ...]
    columns: tuple[str, ...]
    seal: int  # of the file that the client opened

    def __str__(self) -> str:
        first, last = self.groups[0], self.groups[-1]
        which = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self.path}, {which}"

    def read(self) -> Any:
        """Read them, one by one, into a table of Arrow."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        fsspec = require("fsspec", extra="dask")
        tables = []
        for group in self.groups:
            try:
                with fsspec.open(self.path, "rb") as file:
                    opened = pq.ParquetFile(file)
                    if seal_of(file) != self.seal:
                        raise ValueError("it is another file than the one that was opened")
                    found = opened.read_row_group(
                        group, columns=list(self.columns), use_threads=False
                    )
            except Exception as error:  # decoders raise errors of many kinds at broken files
                raise ReadError(
                    f"row group {group} of {self.path} cannot be read on "
                    f"{socket.gethostname()}; is it truncated or corrupt, or not there? ({error})"
                ) from error
            tables.append(found)
        return pa.concat_tables(tables)


def seal_of(file: Any) -> int:
    """Return a checksum of a Parquet file's footer, which says what lies where."""
    file.seek(-8, os.SEEK_END)
    n_bytes = int.from_bytes(file.read(4), "little")
    file.seek(-8 - n_bytes, os.SEEK_END)
    return zlib.crc32(file.read(n_bytes))


def read_groups(groups: RowGroups) -> Any:
    """Read row groups into one table."""
    return groups.read()


def size_of(table: Any) -> int:
    """Count the rows of a partition."""
    return len(table)


def labels_of(table: Any, where: str) -> np.ndarray:
    """Find the labels of a partition.

    An array: of a list, Dask sends every label by itself, which takes long.
    """
    with naming(where):
        columns = {name: table[name] for name in COLUMNS} if len(table) else {}
        found = labels_in(columns)
        if "" in found and hasattr(table, "column_names"):  # of a file
            raise ReadError(f"{where}: an item has no name: give it one, or remove its rows")
        return label_array(found)


def either(labels: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return what is among some labels or others, each once."""
    return label_array(dict.fromkeys([*labels.tolist(), *more.tolist()]))


def largest_of(table: Any, where: str) -> int:
    """Find the largest id of a partition."""
    with naming(where):
        rows = _ids(table)
        return int(rows.max()) if len(rows) else -1


def coded(table: Any, where: str, labels: np.ndarray | None, n_items: int) -> Rows:
    """Give ids to a partition's labels, and check its rows; without labels they are ids."""
    with naming(where):
        weight = NO_WEIGHT
        if not is_table(table):
            rows = _ids(table)
        else:
            columns = {name: table[name] for name in COLUMNS}
            if labels is None:
                rows = np.column_stack([_ids(column) for column in columns.values()])
            else:
                rows = encode(columns, labels.tolist())[0]
            if "weight" in getattr(table, "column_names", table.columns):
                weight = check_weights(np.asarray(table["weight"], float))
        return sound(Rows.of(np.ascontiguousarray(rows, np.int64), weight), n_items)


def sound(part: Rows, n_items: int) -> Rows:
    """Return rows of uint32, or raise at one that is no triplet."""
    n_bad, at, _, _ = backends.load().scan_rows(part.rows, n_items)
    if n_bad:
        what = bad_row(at, part.rows[at].tolist(), n_items)
        raise ValueError(f"{what} ({n_bad:,} bad rows of {len(part.rows):,}; rows count from 0)")
    return Rows.of(part.rows.astype(np.uint32), part.weight)


def _ids(array: Any) -> np.ndarray:
    return check_integers("triplets", np.asarray(array))


class naming:  # noqa: N801  # as a statement reads
    """Say in errors which partition is at fault."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, KeyError):
            raise ReadError(f"{self.where}: there is no column {error}") from error
        for kind in (ValueError, TypeError):
            if isinstance(error, kind) and not isinstance(error, ReadError):
                raise kind(f"{self.where}: {error}") from error


# The fast layout


class Stretch(NamedTuple):
    """Rows of a file in the fast layout that workers see under the same path."""

    path: str
    seal: int  # of the description of the file that the client opened
    start: int
    stop: int

    @classmethod
    def of(cls, file: GroupedFile, part: slice) -> "Stretch":
        """Take rows of a file that is open here."""
        return cls(str(file.path), zlib.crc32(file.about.text()), part.start, part.stop)

    def triplets(self) -> Rows:
        """Read rows (k, 3), and check them."""
        part, file = self.pairs(), opened(self.path, self.seal)
        anchors = file.anchors(self.start, self.stop)
        rows = np.column_stack([anchors, part.rows]).view(np.int32)
        with naming(f"{self.path}, rows {self.start:,} to {self.stop:,}"):
            return sound(Rows(rows, part.weight), file.about.n_items)

    def pairs(self) -> Rows:
        """Read pairs (k, 2) of near and far."""
        file = opened(self.path, self.seal)
        check_unchanged(file.files)
        n_rows = self.stop - self.start
        into: dict[str, np.ndarray] = {"pairs": np.empty((n_rows, 2), np.uint32)}
        if "weight" in file.about.types:
            into["weight"] = np.empty(n_rows)
        file.read(self.start, into)
        return Rows.of(into["pairs"], into.get("weight", NO_WEIGHT))


def opened(path: str, seal: int) -> GroupedFile:
    """Open a file of the fast layout, once in each process, if it is the one that is meant."""
    place = Path(path)
    return _opened(path, seal, place.stat().st_mtime_ns if place.exists() else 0)


@lru_cache(maxsize=8)
def _opened(path: str, seal: int, _: int) -> GroupedFile:
    with reading(Path(path)):
        file = open_grouped(Path(path))
    if file is None or zlib.crc32(file.about.text()) != seal:
        raise ReadError(
            f"{path} is another file on {socket.gethostname()} than where it was opened, or not "
            "there: workers must see the same files under the same path"
        )
    return file


def read_triplets(where: Stretch) -> Rows:
    """Read rows (k, 3), and check them."""
    return where.triplets()


def read_pairs(where: Stretch) -> Rows:
    """Read pairs (k, 2) of near and far."""
    return where.pairs()


# Cutting


class ByLandmark(NamedTuple):
    """Pairs of a partition whose anchor is a landmark, those of each together."""

    pairs: Rows
    starts: np.ndarray  # (l + 1,)


def by_landmark(part: Rows, landmarks: np.ndarray, n_items: int) -> ByLandmark:
    """Bring the pairs of each landmark together; they keep their order."""
    number = np.full(n_items, len(landmarks), np.uint32)
    number[landmarks] = np.arange(len(landmarks))
    anchor = number[part.rows[:, 0]]
    mine = anchor < len(landmarks)
    rows = part.rows[mine]
    rows[:, 0] = anchor[mine]
    weights = (part.weight[mine],) if len(part.weight) else ()
    if not len(rows):
        return ByLandmark(Rows.of(rows[:, 1:], *weights), np.zeros(len(landmarks) + 1, np.int64))
    rows, starts, columns = group_by_anchor(
        rows.view(np.int32), len(landmarks), backends.load(), weights
    )
    pairs = np.ascontiguousarray(rows[:, 1:]).view(np.uint32)
    return ByLandmark(Rows.of(pairs, *columns), starts)


def sizes_of(part: ByLandmark) -> np.ndarray:
    """How many pairs each landmark has."""
    return np.diff(part.starts)


def cut(part: ByLandmark, landmark: int, start: int, stop: int) -> Rows:
    """Take some pairs of a landmark."""
    first = int(part.starts[landmark])
    return part.pairs.taken(slice(first + start, first + stop))


def joined(*parts: Rows) -> Rows:
    """Put rows one after the other."""
    if len(parts) == 1:
        return Rows.of(*parts[0])
    return Rows.of(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def rows_at(part: Rows, chosen: np.ndarray) -> Rows:
    """Take some rows of a partition."""
    return part.taken(chosen)


def rows_between(part: Rows, start: int, stop: int) -> Rows:
    """Take consecutive rows of a partition."""
    return part.taken(slice(start, stop))


def sampled(part: Rows, first: int, share: float, seed: int) -> Rows:
    """Take a share of the rows, by their numbers among all rows; ``first`` is that of the first."""
    numbers = np.arange(first, first + len(part.rows))
    return part.taken(in_sample(numbers, share, seed))
