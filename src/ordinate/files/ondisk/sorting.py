"""Bringing rows into the order of their anchors, in bounded memory."""

import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ordinate._base.memory import in_words
from ordinate._base.messages import Message, Option
from ordinate.data.rows import group_by_anchor
from ordinate.files.ondisk.layout import COLUMNS
from ordinate.kernels import backends

MOST_FILES = 256  # that are open at the same time, about
# Of the memory limit, what a row that is sorted may take: it is there up to four times, as measured
# with what Python takes.
SORTED = 8
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
