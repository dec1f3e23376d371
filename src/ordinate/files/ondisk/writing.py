"""Writing the fast layout, from rows in any order, in bounded memory."""

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ordinate._base.memory import in_words
from ordinate._base.messages import Message, Option
from ordinate._base.writing import whole_file, whole_folder
from ordinate.data.rows import group_by_anchor
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
from ordinate.kernels import backends

LONG = STRETCH // 16  # rows of one anchor that begin a stretch of their own
MOST_FILES = 256  # that are open at the same time while sorting, about
# Of the memory limit, what a row that is sorted may take, and one that waits to be written: the
# first is there up to four times, the second three times, as measured with what Python takes.
SORTED, WAITING = 8, 16
LEAST = 1 << 16  # rows that can be sorted, and written, within any limit

Rows = tuple[np.ndarray, dict[str, np.ndarray]]  # triplets (k, 3), and columns (k,) by name


class Whole(NamedTuple):
    """What all rows have in common.

    Attributes
    ----------
    n_items : int
    labels : list or None
        Of the items.
    columns : tuple of str
        What goes with the rows: some of weight, answer, participant.
    participants : collection of labels
        It may grow until all rows are written.
    memory_limit : int
        Bytes that sorting and writing them may take.
    held : int
        Bytes of the limit that was given which labels take besides.
    """

    n_items: int
    labels: list | None
    columns: tuple[str, ...] = ()
    participants: Collection = ()
    memory_limit: int = 1 << 30
    held: int = 0

    @property
    def most_rows(self) -> int:
        """Rows that are sorted at a time."""
        return max(self.memory_limit // (SORTED * record_type(self.columns).itemsize), 1)


class Writer(ABC):
    """Takes rows in the order of their anchors; subclasses write a stretch of them."""

    ids: str  # how ids are stored

    def __init__(self, path: Path, whole: Whole) -> None:
        self.path, self.whole = path, whole
        row_bytes = WAITING * record_type(whole.columns).itemsize
        self._stretch = min(max(whole.memory_limit // row_bytes, LEAST), STRETCH)
        _check_labels(whole.labels or [], "items")
        self.counts = np.zeros(whole.n_items, np.int64)
        self._bounds = [0]
        self._checksums: dict[tuple[str, ...], list[int]] = {
            (name,): [] for name in ("pairs", *whole.columns)
        }
        self._waiting: list[Rows] = []
        self._n_waiting = 0

    def add(self, rows: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        """Take rows that follow those before; they are written in stretches."""
        anchors = rows[:, 0]
        begins = np.concatenate([[0], np.flatnonzero(anchors[1:] != anchors[:-1]) + 1, [len(rows)]])
        lengths = np.diff(begins)
        self.counts[anchors[begins[:-1]]] += lengths
        # The last anchor's rows may go on for long.
        cuts = {int(at) for at in [*begins[:-1][lengths >= LONG], begins[-2]]}
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
        stretch = {
            "pairs": np.concatenate([rows[:, 1:] for rows, _ in self._waiting]).astype(self.ids)
        }
        for name in self.whole.columns:
            column = np.concatenate([columns[name] for _, columns in self._waiting])
            stretch[name] = column.astype(COLUMNS[name], copy=False)
        for name, array in stretch.items():
            self._checksums[(name,)].append(checksum(array))
        self._bounds.append(self._bounds[-1] + self._n_waiting)
        self._write(np.concatenate([rows[:, 0] for rows, _ in self._waiting]), stretch)
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
            types={"pairs": self.ids} | {name: COLUMNS[name] for name in whole.columns},
            bounds=self._bounds,
            checksums=self._checksums | {("starts",): [checksum(starts)]},
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


class FolderWriter(Writer):
    """Writes the folder of arrays."""

    def __init__(self, path: Path, whole: Whole) -> None:
        super().__init__(path, whole)
        self.ids = smallest(whole.n_items)
        path.mkdir(exist_ok=True)
        self._open = ExitStack()
        self._files = {}
        for name in ("pairs", *whole.columns):
            self._files[name] = self._open.enter_context((path / f"{name}.npy").open("wb"))
            self._files[name].write(bytes(HEADER))

    def _write(self, anchors: np.ndarray, stretch: dict[str, np.ndarray]) -> None:
        for name, array in stretch.items():
            self._files[name].write(array.data.cast("B"))

    def close(self) -> None:
        """Write headers, the starts of anchors and the description."""
        super().close()
        starts = self._starts()
        about = self._about(starts)
        for name, file in self._files.items():
            file.seek(0)
            file.write(npy_header(about.shape(name, about.n_rows), about.types[name]))
            file.flush()
            os.fsync(file.fileno())  # a disk may only now say that it is full
        self._open.close()
        header = npy_header(starts.shape, STARTS)
        (self.path / "starts.npy").write_bytes(header + starts.tobytes())
        (self.path / ABOUT).write_bytes(about.text())

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
        columns = [anchors.astype(self.ids), near, far, *stretch.values()]
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
    """Write rows that come in the order of their anchors."""
    writer = (ParquetWriter if is_parquet(target) else FolderWriter)(target, whole)
    try:
        for rows, columns in blocks:
            writer.add(rows, columns)
        writer.close()
    finally:
        writer.abandon()


def record_type(columns: Iterable[str]) -> np.dtype:
    """Return the type of a row and what goes with it, in the files that are sorted."""
    return np.dtype([("row", "<i4", 3), *((name, COLUMNS[name]) for name in columns)])


def records_of(rows: np.ndarray, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Put rows and columns together."""
    records = np.empty(len(rows), record_type(columns))
    records["row"] = rows
    for name, column in columns.items():
        records[name] = column
    return records


def rows_of(records: np.ndarray) -> Rows:
    """Take rows and columns apart again."""
    names = records.dtype.names or ()
    columns = {name: np.ascontiguousarray(records[name]) for name in names}
    return columns.pop("row"), columns


def sort_by_anchor(
    blocks: Iterable[Rows], counts: np.ndarray, folder: Path, whole: Whole
) -> Iterator[Rows]:
    """Yield all rows in the order of their anchors, within the memory limit.

    An external counting sort. ``counts`` (n_items,) tells how to cut the anchors into ranges that
    are small enough; the rows of each range go to a file of its own, and each file is sorted in
    memory. An anchor that is too large for that needs no sorting. The sort is stable.
    """
    backend, n_items, most_rows = backends.load(), len(counts), whole.most_rows
    least_rows = int(counts.sum()) // MOST_FILES
    if least_rows > max(most_rows, LEAST):
        enough = -(-(least_rows * whole.memory_limit // most_rows + whole.held) >> 20)
        raise MemoryError(
            Message(
                f"{counts.sum():,} rows are too many to be sorted within a memory limit of "
                f"{in_words(whole.memory_limit + whole.held)}: allow more, as in ",
                Option("memory_limit", f"{enough}MiB"),
            )
        )
    bounds = ranges(counts, max(most_rows, least_rows))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".ordinate-sort-") as name:
        files = [Path(name) / str(i) for i in range(len(bounds) - 1)]
        kind = _distribute(blocks, files, bounds, n_items)
        for i, file in enumerate(files):
            one_anchor = bounds[i + 1] - bounds[i] == 1
            for rows, columns in read_spool(file, kind, most_rows if one_anchor else -1):
                if one_anchor:
                    yield rows, columns
                    continue
                grouped, _, sorted_columns = group_by_anchor(
                    rows, n_items, backend, tuple(columns.values())
                )
                yield grouped, dict(zip(columns, sorted_columns, strict=True))
            file.unlink()


def _distribute(
    blocks: Iterable[Rows], files: list[Path], bounds: np.ndarray, n_items: int
) -> np.dtype:
    """Append the rows of each range of anchors to its file; return what a row is there."""
    backend, kind = backends.load(), record_type(())
    with ExitStack() as stack:
        outs = [stack.enter_context(file.open("wb")) for file in files]
        for rows, columns in blocks:
            grouped, starts, sorted_columns = group_by_anchor(
                rows.view(np.int32), n_items, backend, tuple(columns.values())
            )
            records = records_of(grouped, dict(zip(columns, sorted_columns, strict=True)))
            kind = records.dtype
            for i, out in enumerate(outs):
                part = slice(starts[bounds[i]], starts[bounds[i + 1]])
                out.write(records[part].view(np.uint8).data)
    return kind


def ranges(counts: np.ndarray, most_rows: int) -> np.ndarray:
    """Cut anchors into ranges of at most ``most_rows`` rows, or of one anchor."""
    ends = np.cumsum(counts)
    bounds = [0]
    while bounds[-1] < len(counts):
        reached = ends[bounds[-1] - 1] if bounds[-1] else 0
        stop = int(np.searchsorted(ends, reached + most_rows, side="right"))
        bounds.append(max(stop, bounds[-1] + 1))
    return np.array(bounds)


def until_out_of_order(blocks: Iterator[Rows], rest: list[Iterator[Rows]]) -> Iterator[Rows]:
    """Yield blocks as long as the anchors are in order; what is left goes to ``rest``."""
    last = -1
    for rows, columns in blocks:
        anchors = rows[:, 0]
        if anchors[0] < last or (anchors[1:] < anchors[:-1]).any():
            rest.append(chain([(rows, columns)], blocks))
            return
        yield rows, columns
        last = anchors[-1]


def write_spool(path: Path, blocks: Iterable[Rows], n_items: int) -> np.ndarray:
    """Write rows to a file as they come, and count those of each anchor."""
    counts = np.zeros(n_items, np.int64)
    with path.open("wb") as file:
        for rows, columns in blocks:
            file.write(records_of(rows, columns).view(np.uint8).data)
            counts += np.bincount(rows[:, 0], minlength=n_items)
    return counts


def read_spool(path: Path, kind: np.dtype, most_rows: int) -> Iterator[Rows]:
    """Yield the rows of a file of records, so many at a time; all at once if that is -1."""
    n_rows, at = path.stat().st_size // kind.itemsize, 0
    most_rows = n_rows if most_rows < 0 else min(most_rows, n_rows)  # memory is taken for all
    while at < n_rows:
        found = rows_of(np.fromfile(path, kind, most_rows, offset=at * kind.itemsize))
        at += len(found[0])
        yield found
