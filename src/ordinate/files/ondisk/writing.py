"""Writing the fast layout, from rows in its order, in bounded memory."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ordinate._base.writing import whole_file, whole_folder
from ordinate.files.formats.arrow_files import arrow_file
from ordinate.files.ondisk.footer import seal_footer
from ordinate.files.ondisk.grouped import ABOUT, KEY, STRETCH
from ordinate.files.ondisk.layout import (
    COLUMNS,
    HEADER,
    LABELS,
    STARTS,
    About,
    checksum,
    npy_header,
)
from ordinate.files.ondisk.sorting import LEAST, Rows, Whole, record_type

LONG = STRETCH // 16  # rows of one anchor that begin a stretch of their own
# Of the memory limit, what a row that waits to be written may take: it is there three times, as
# measured with what Python takes.
WAITING = 16


class Writer(ABC):
    """Takes rows in the order of the layout; subclasses write a stretch of them."""

    ids: str  # how ids are stored

    def __init__(self, path: Path, whole: Whole) -> None:
        self.path, self.whole = path, whole
        row_bytes = WAITING * record_type(whole.columns).itemsize
        self._stretch = min(max(whole.memory_limit // row_bytes, LEAST), STRETCH)
        _check_labels(whole.labels or [], "items")
        self.counts = np.zeros(whole.n_items, np.int64)
        self._bounds = [0]
        self._by_anchor = whole.order == "anchor"
        self._arrays = ("pairs", *(() if self._by_anchor else ("anchor",)), *whole.columns)
        self._checksums: dict[tuple[str, ...], list[int]] = {(name,): [] for name in self._arrays}
        self._waiting: list[Rows] = []
        self._n_waiting = 0

    def add(self, rows: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        """Take rows that follow those before; they are written in stretches."""
        anchors = rows[:, 0]
        begins = np.concatenate([[0], np.flatnonzero(anchors[1:] != anchors[:-1]) + 1, [len(rows)]])
        lengths = np.diff(begins)
        np.add.at(self.counts, anchors[begins[:-1]], lengths)
        # The last anchor's rows may go on for long.
        long = [*begins[:-1][lengths >= LONG], begins[-2]] if self._by_anchor else []
        cuts = {int(at) for at in long}
        if self._waiting and self._waiting[-1][0][-1, 0] == anchors[0]:
            cuts.discard(0)
        start = 0
        for stop in [*sorted(cuts - {0}), len(rows)]:
            if start in cuts:
                self._flush()
            while start < stop:
                end = min(stop, start + self._stretch - self._n_waiting)
                part = slice(start, end)
                self._waiting.append((rows[part], {n: columns[n][part] for n in columns}))
                self._n_waiting += end - start
                if self._n_waiting == self._stretch:
                    self._flush()
                start = end
        # The arrays may be used again by who gave them.
        self._waiting = [
            (rows.copy(), {name: column.copy() for name, column in columns.items()})
            for rows, columns in self._waiting
        ]

    def close(self) -> None:
        """Write what is left, and what is known of the whole."""
        self._flush()

    @abstractmethod
    def abandon(self) -> None:
        """Let go of open files."""

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = np.concatenate([rows for rows, _ in self._waiting]).astype(self.ids)
        stretch = {"pairs": np.ascontiguousarray(rows[:, 1:])}
        if not self._by_anchor:
            stretch["anchor"] = np.ascontiguousarray(rows[:, 0])
        for name in self.whole.columns:
            column = np.concatenate([columns[name] for _, columns in self._waiting])
            stretch[name] = column.astype(COLUMNS[name], copy=False)
        for name, array in stretch.items():
            self._checksums[(name,)].append(checksum(array))
        self._bounds.append(self._bounds[-1] + self._n_waiting)
        self._write(rows[:, 0], stretch)
        self._waiting, self._n_waiting = [], 0

    @abstractmethod
    def _write(self, anchors: np.ndarray, stretch: dict[str, np.ndarray]) -> None:
        """Write rows that share checksums or a row group."""

    def _about(self, starts: np.ndarray) -> About:
        whole = self.whole
        participants = list(whole.participants) if "participant" in whole.columns else None
        _check_labels(participants or [], "participants")
        return About(
            n_items=whole.n_items,
            n_rows=self._bounds[-1],
            labels=whole.labels,
            participants=participants,
            types={name: COLUMNS.get(name, self.ids) for name in self._arrays},
            bounds=self._bounds,
            checksums=self._checksums | {("starts",): [checksum(starts)]},
            order=whole.order,
        )

    def _starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(STARTS)


def _check_labels(labels: list, of_what: str) -> None:
    kinds = {type(label) for label in labels} - LABELS
    if kinds:
        raise ValueError(
            f"the fast layout keeps labels that are texts or numbers; {of_what} are of type "
            f"{kinds.pop().__name__}: turn them into texts first"
        )


class Written(NamedTuple):
    """What is known of rows that were written as a part of the whole.

    Attributes
    ----------
    bounds : list of int
        Where stretches end, counted from the part's first row.
    checksums : dict of tuple of str to list of int
        Of each stretch.
    """

    bounds: list[int]
    checksums: dict[tuple[str, ...], list[int]]


class FolderWriter(Writer):
    """Writes the folder of arrays; or a part of the rows, into one that another has begun.

    Parameters
    ----------
    path : Path
    whole : Whole
    first : int, optional
        Row of the whole that the part begins with.
    """

    def __init__(self, path: Path, whole: Whole, first: int | None = None) -> None:
        super().__init__(path, whole)
        self.ids = smallest(whole.n_items)
        if first is None:
            path.mkdir(exist_ok=True)
        self._open = ExitStack()
        self._files = {}
        for name in self._arrays:
            file = (path / f"{name}.npy").open("wb" if first is None else "r+b")
            self._files[name] = self._open.enter_context(file)
            width = np.dtype(COLUMNS.get(name, self.ids)).itemsize * (1 + (name == "pairs"))
            file.seek(HEADER + (first or 0) * width)

    def _write(self, anchors: np.ndarray, stretch: dict[str, np.ndarray]) -> None:
        for name, array in stretch.items():
            self._files[name].write(array.data.cast("B"))

    def close_part(self) -> Written:
        """Write what is left of a part, and tell what was written."""
        super().close()
        self._put_on_disk()
        return Written(self._bounds[1:], self._checksums)

    def take(self, part: Written) -> None:
        """Take note of a part that follows what was written before."""
        first = self._bounds[-1]
        self._bounds += [first + bound for bound in part.bounds]
        for names, sums in part.checksums.items():
            self._checksums[names] += sums

    def close(self) -> None:
        """Write headers, the starts of anchors and the description."""
        super().close()
        starts = self._starts()
        about = self._about(starts)
        for name, file in self._files.items():
            file.seek(0)
            file.write(npy_header(about.shape(name, about.n_rows), about.types[name]))
        self._put_on_disk()
        header = npy_header(starts.shape, STARTS)
        (self.path / "starts.npy").write_bytes(header + starts.tobytes())
        (self.path / ABOUT).write_bytes(about.text())

    def _put_on_disk(self) -> None:
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())  # a disk may only now say that it is full
        self._open.close()

    def abandon(self) -> None:
        """Let go of open files."""
        self._open.close()


class ParquetWriter(Writer):
    """Writes the Parquet file."""

    ids = "<u4"

    def __init__(self, path: Path, whole: Whole) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(path, whole)
        types = dict.fromkeys(("anchor", "near", "far"), self.ids)
        types |= {name: COLUMNS[name] for name in whole.columns}
        self._schema = pa.schema(
            [pa.field(name, pa.from_numpy_dtype(types[name]), nullable=False) for name in types]
        )
        # Random ids do not compress; large plain pages are decoded fastest.
        self._file = arrow_file(path, "wb")
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="none",
            use_dictionary=["anchor"],
            write_statistics=["anchor"],
            write_page_checksum=True,
            data_page_size=4 * STRETCH,
        )

    def _write(self, anchors: np.ndarray, stretch: dict[str, np.ndarray]) -> None:
        import pyarrow as pa

        near, far = np.ascontiguousarray(stretch.pop("pairs").T)
        stretch.pop("anchor", None)
        columns = [anchors, near, far, *stretch.values()]
        self._writer.write_table(
            pa.table(columns, schema=self._schema), row_group_size=max(len(anchors), 1)
        )

    def close(self) -> None:
        """Write the description and the footer."""
        super().close()
        self._writer.add_key_value_metadata({KEY: self._about(self._starts()).text()})
        self.abandon()
        seal_footer(self.path)
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Let go of the open file."""
        self._writer.close()
        self._file.close()


def smallest(n_items: int) -> str:
    """Return the smallest unsigned integer that holds every id."""
    return "|u1" if n_items <= 1 << 8 else "<u2" if n_items <= 1 << 16 else "<u4"


def whole_target(target: Path, force: bool) -> AbstractContextManager[Path]:
    """Return what yields a name to write the fast layout to: that of a file, or of a folder."""
    return (whole_file if is_parquet(target) else whole_folder)(target, force=force)


def is_parquet(target: Path) -> bool:
    """Tell whether a Parquet file is meant, rather than a folder of arrays."""
    return target.suffix.lower() in (".parquet", ".pq")


def write_grouped(target: Path, blocks: Iterable[Rows], whole: Whole) -> None:
    """Write rows that come in the order of the layout."""
    writer = (ParquetWriter if is_parquet(target) else FolderWriter)(target, whole)
    try:
        for rows, columns in blocks:
            writer.add(rows, columns)
        writer.close()
    finally:
        writer.abandon()
