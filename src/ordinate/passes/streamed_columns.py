"""Comparisons with landmarks that are read from a file anew for every pass."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.threads import in_order, sub_blocks
from ordinate.data.rows import bad_row, read_only
from ordinate.files.ondisk.files import check_unchanged
from ordinate.files.ondisk.handles import READERS, GroupedTriplets
from ordinate.kernels import backends
from ordinate.passes.adding import added_by_parts
from ordinate.passes.columns import ColumnPasses, Kernel, MemoryColumns, column_parts, count_sums
from ordinate.passes.contract import Result
from ordinate.passes.sampling import Runs


class Task(NamedTuple):
    """A block of a column: where it begins in the column, and its rows in the file."""

    column: int
    start: int
    rows: slice
    last: bool  # of its part


class StreamedColumns(ColumnPasses):
    """Columns of landmarks in a file of the fast layout, with the passes of ``MemoryColumns``.

    The same parts are summed in the same order: where blocks are whole (the memory limit does not
    make them smaller), counts and gradients are those of ``MemoryColumns``, bit for bit, unless
    those are sorted into tiles.

    Parameters
    ----------
    file : GroupedTriplets
    landmarks : ndarray of int, shape (n_columns,)
    backend : module
    """

    def __init__(self, file: GroupedTriplets, landmarks: np.ndarray, backend: ModuleType) -> None:
        self.file, self.landmarks, self.backend = file, landmarks, backend
        self.n_items = file.n_items
        self.first = file.starts[landmarks]
        self.sizes = file.starts[landmarks + 1] - self.first
        self._sound: set[int] = set()

    @classmethod
    def from_triplets(
        cls, triplets: Any, landmarks: np.ndarray, backend: str = "auto"
    ) -> "StreamedColumns":
        """Take the rows whose anchor is a landmark; others are not read."""
        grouped, _ = triplets.grouped(backend=backend)
        return cls(grouped, landmarks, backends.load(backend))

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return self.file.weighted

    def sample(self, size: int) -> MemoryColumns:
        """Take the pairs that ``MemoryColumns.sample`` takes, into memory."""
        return self.counts_and_sample(size)[1]

    def counts_and_sample(self, size: int) -> tuple[tuple[np.ndarray, np.ndarray], MemoryColumns]:
        """Return ``counts()`` and ``sample(size)``, in one pass."""
        runs = [Runs.of(n_rows, size) for n_rows in self.sizes]
        pairs = [np.empty((chosen.n_rows, 2), np.uint32) for chosen in runs]
        weights = [np.empty(chosen.n_rows * self.weighted) for chosen in runs]
        counts = np.zeros((len(self), 2, self.n_items))

        def take(task: Task, block: np.ndarray, weight: np.ndarray) -> np.ndarray:
            i = task.column
            places, rows = runs[i].between(task.start, task.start + len(block))
            pairs[i][places] = block[rows]
            if len(weight):
                weights[i][places] = weight[rows]
            return count_sums(self.backend, block, weight, self.n_items)

        for task, sums in self._pass(range(len(self)), take):
            counts[task.column] += sums
        far, near = np.ascontiguousarray(counts.swapaxes(0, 1))
        return (far, near), MemoryColumns(pairs, weights, self.n_items, self.backend)

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares.

        A column is left as soon as its items hang together, mostly after a few blocks.
        """
        return np.array([self._n_parts_of(i, n) for i, n in enumerate(n_compared.tolist())])

    def each_block(
        self, column: int, function: Callable[[np.ndarray, np.ndarray], Result]
    ) -> Iterator[Result]:
        """Yield a function's result for a column's pairs and weights, in blocks; it runs ahead."""
        found = self._pass([column], lambda task, pairs, weight: function(pairs, weight))
        return (result for _, result in found)

    def _n_parts_of(self, column: int, n_parts: int) -> int:
        parent = np.arange(self.n_items, dtype=np.uint32)
        for task in self._tasks([column]):
            pairs, _ = self.file.read_pairs(task.rows)
            self._check(task, pairs)
            n_parts = self.backend.join_parts(pairs, parent, n_parts)
            self.file.buffers.give(pairs)
            if n_parts == 1:
                break
        return n_parts

    def _sum(self, kernel: Kernel, arguments: Mapping[int, tuple]) -> dict[int, np.ndarray]:
        def add(task: Task, pairs: np.ndarray, weight: np.ndarray) -> np.ndarray:
            return kernel(self.backend, pairs, weight, *arguments[task.column])

        by_column = groupby(self._pass(arguments, add), key=lambda done: done[0].column)
        return {
            i: added_by_parts((task.last, sums) for task, sums in blocks) for i, blocks in by_column
        }

    def _pass(
        self, columns: Iterable[int], function: Callable[[Task, np.ndarray, np.ndarray], Result]
    ) -> Iterator[tuple[Task, Result]]:
        """Yield a function's result for every block of some columns, in order.

        Readers fetch blocks ahead while the function runs on all threads.
        """
        check_unchanged(self.file.files)
        columns = list(columns)

        def read(task: Task) -> tuple[Task, np.ndarray, np.ndarray]:
            return task, *self.file.read_pairs(task.rows)

        def compute(block: tuple[Task, np.ndarray, np.ndarray]) -> tuple[Task, Result]:
            task, pairs, weight = block
            self._check(task, pairs)
            # Read-only like those of a table, so that kernels are compiled for one kind of array.
            result = function(task, read_only(pairs), weight)
            self.file.buffers.give(pairs)
            return task, result

        fetched = in_order(read, self._tasks(columns), workers=READERS, ahead=READERS)
        workers = self.file.workers
        yield from in_order(compute, fetched, workers=workers, ahead=workers)
        check_unchanged(self.file.files)
        self._sound.update(columns)

    def _tasks(self, columns: Iterable[int]) -> Iterator[Task]:
        for i in columns:
            first = int(self.first[i])
            for part in column_parts(self.sizes[i], self.n_items):
                for block in sub_blocks(part, self.file.block_rows) or [part]:
                    rows = slice(first + block.start, first + block.stop)
                    yield Task(i, block.start, rows, block.stop == part.stop)

    def _check(self, task: Task, pairs: np.ndarray) -> None:
        """Raise if a pair is no triplet with its landmark, unless that is known."""
        if task.column in self._sound:
            return
        anchor = int(self.landmarks[task.column])
        scan = self.backend.scan_pairs
        if scan(pairs, anchor, self.n_items):
            bad = [scan(pairs[at : at + 1], anchor, self.n_items) for at in range(len(pairs))]
            at = int(np.argmax(bad))
            row = [anchor, *pairs[at].tolist()]
            what = bad_row(task.rows.start + at, row, self.n_items)
            raise ValueError(f"{self.file.path}: {what}")
