"""Bringing rows into the order of their anchors or answers, in bounded memory."""

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

MOST_FILES = 256  # that are open at the same time while sorting, about
SORTED = 8  # of the memory limit, what a row may take: it is there up to four times, as measured
LEAST = 1 << 16  # rows that can be sorted, and written, within any limit
LABEL = 300  # bytes that a label takes, about, while rows are sorted and written

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
    order : {"anchor", "answer"}
        In which they are written.
    """

    n_items: int
    labels: list | None
    columns: tuple[str, ...] = ()
    participants: Collection = ()
    memory_limit: int = 1 << 30
    held: int = 0
    order: str = "anchor"

    @classmethod
    def within(
        cls,
        memory_limit: int,
        n_items: int,
        labels: list | None,
        columns: tuple[str, ...],
        participants: Collection,
        *,
        order: str,
    ) -> "Whole":
        """Take from a limit what labels need, which are in memory and again as they are written."""
        if order == "answer" and "answer" not in columns:
            raise ValueError(
                Message(
                    "the rows do not say which answers they came from, so that they cannot be put "
                    "in their order: leave ",
                    Option("order", "answer"),
                    " out, or name the column of the answers, as in ",
                    Option("columns", {"answer": "trial"}),
                )
            )
        whole = cls(n_items, labels, columns, participants, memory_limit, order=order)
        held = whole.label_bytes
        return whole._replace(memory_limit=max(memory_limit - held, 1), held=held)

    @property
    def label_bytes(self) -> int:
        """What labels take, as many as are known by now."""
        return LABEL * (len(self.labels or ()) + len(self.participants))

    @property
    def most_rows(self) -> int:
        """Rows that are sorted at a time."""
        return max(self.memory_limit // (SORTED * record_type(self.columns).itemsize), 1)

    def rows_at_a_time(self, n_rows: int) -> int:
        """Rows of each file that is sorted, or an error where so many do not fit into memory."""
        least_rows = n_rows // MOST_FILES
        if least_rows <= max(self.most_rows, LEAST):
            return max(self.most_rows, least_rows)
        enough = -(-(least_rows * self.memory_limit // self.most_rows + self.held) >> 20)
        raise MemoryError(
            Message(
                f"{n_rows:,} rows are too many to be sorted within a memory limit of "
                f"{in_words(self.memory_limit + self.held)}: allow more, as in ",
                Option("memory_limit", f"{enough}MiB"),
            )
        )


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
    bounds = ranges(counts, whole.rows_at_a_time(int(counts.sum())))
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


def sort_by_answer(
    blocks: Iterable[Rows], n_rows: int, folder: Path, whole: Whole
) -> Iterator[Rows]:
    """Yield all rows in the order of their answers, within the memory limit.

    Numbers of answers may be any: runs of rows are sorted in memory, and then merged. The sort is
    stable.
    """
    kind = record_type(whole.columns)
    run_rows = min(whole.rows_at_a_time(n_rows), n_rows)  # memory is taken for all
    with tempfile.TemporaryDirectory(dir=folder, prefix=".ordinate-sort-") as name:
        files = _sorted_runs(blocks, Path(name), run_rows, kind)
        # Of all runs together, half as many rows: what is taken of them is there besides.
        runs = [_Run(file, kind, run_rows // (2 * len(files))) for file in files]
        for records in _merged(runs):
            yield rows_of(records)


def _sorted_runs(blocks: Iterable[Rows], folder: Path, n_rows: int, kind: np.dtype) -> list[Path]:
    """Write rows to files, so many to each, in the order of their answers."""
    files: list[Path] = []
    for run in _collected(blocks, n_rows, kind):
        files.append(folder / str(len(files)))
        records = run[np.argsort(run["answer"], kind="stable")]
        files[-1].write_bytes(records.view(np.uint8).data)
    return files


def _collected(blocks: Iterable[Rows], n_rows: int, kind: np.dtype) -> Iterator[np.ndarray]:
    """Yield rows as records, so many at a time."""
    run, filled = np.empty(n_rows, kind), 0
    for rows, columns in blocks:
        records = records_of(rows, columns)
        while len(records):
            part = records[: n_rows - filled]
            run[filled : filled + len(part)] = part
            filled, records = filled + len(part), records[len(part) :]
            if filled == n_rows:
                yield run
                filled = 0
    if filled:
        yield run[:filled]


class _Run:
    """A file of records in order, of which some are in memory."""

    def __init__(self, path: Path, kind: np.dtype, n_rows: int) -> None:
        self._pieces = _read_records(path, kind, max(n_rows, 1))
        self.here = np.empty(0, kind)
        self.ended = False
        self.read_on()

    def read_on(self) -> None:
        """Read a piece more."""
        piece = next(self._pieces, None)
        self.ended = piece is None
        if piece is not None:
            self.here = np.concatenate([self.here, piece])

    def take_below(self, answer: int | None) -> np.ndarray:
        """Take the records of answers below one, or all, and read on where none is left."""
        answers = self.here["answer"]
        n_taken = len(answers) if answer is None else int(np.searchsorted(answers, answer))
        taken, self.here = self.here[:n_taken], self.here[n_taken:]
        if not len(self.here) and not self.ended:
            self.read_on()
        return taken


def _merged(runs: list[_Run]) -> Iterator[np.ndarray]:
    """Yield the records of all runs in order."""
    while any(len(run.here) for run in runs):
        # What is below the last of each run that goes on is complete.
        ends = [int(run.here["answer"][-1]) for run in runs if not run.ended]
        below = min(ends, default=None)
        found = np.concatenate([run.take_below(below) for run in runs])
        if len(found):
            yield found[np.argsort(found["answer"], kind="stable")]
            continue
        for run in runs:
            if not run.ended and run.here["answer"][-1] == below:
                run.read_on()


def until_out_of_order(
    blocks: Iterator[Rows], rest: list[Iterator[Rows]], order: str
) -> Iterator[Rows]:
    """Yield blocks as long as they are in order; what is left goes to ``rest``."""
    last = np.iinfo(np.int64).min
    for rows, columns in blocks:
        keys = rows[:, 0] if order == "anchor" else columns["answer"]
        if keys[0] < last or (keys[1:] < keys[:-1]).any():
            rest.append(chain([(rows, columns)], blocks))
            return
        yield rows, columns
        last = int(keys[-1])


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
    return map(rows_of, _read_records(path, kind, most_rows))


def _read_records(path: Path, kind: np.dtype, most_rows: int) -> Iterator[np.ndarray]:
    n_rows, at = path.stat().st_size // kind.itemsize, 0
    most_rows = n_rows if most_rows < 0 else min(most_rows, n_rows)  # memory is taken for all
    while at < n_rows:
        found = np.fromfile(path, kind, most_rows, offset=at * kind.itemsize)
        at += len(found)
        yield found
