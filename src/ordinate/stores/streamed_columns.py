"""Comparisons with landmarks that are read from a file anew for every pass."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ordinate import backends
from ordinate._parallel import in_order, sub_blocks
from ordinate.noise import Noise
from ordinate.rows import bad_row, read_only
from ordinate.storage.files import check_unchanged
from ordinate.storage.stored import READERS, GroupedTriplets
from ordinate.stores.columns import RUN, Columns, column_parts


class Task(NamedTuple):
    """A block of a column: where it begins in the column, and its rows in the file."""

    column: int
    start: int
    rows: slice
    last: bool  # of its part


class StreamedColumns:
    """Columns of landmarks in a file of the fast layout, with the passes of ``Columns``.

    The same parts are summed in the same order: where blocks are whole (the memory limit does not
    make them smaller), counts and gradients are those of ``Columns``, bit for bit.

    Parameters
    ----------
    stored : GroupedTriplets
    landmarks : ndarray of int, shape (n_columns,)
    backend : module
    """

    def __init__(self, stored: GroupedTriplets, landmarks: np.ndarray, backend: ModuleType) -> None:
        self.stored, self.landmarks, self.backend = stored, landmarks, backend
        self.n_items = stored.n_items
        self.first = stored.starts[landmarks]
        self.sizes = stored.starts[landmarks + 1] - self.first
        self._sound: set[int] = set()
        self._counts: tuple[np.ndarray, np.ndarray] | None = None
        self._at: tuple[np.ndarray, Noise] | None = None

    @classmethod
    def from_triplets(
        cls, triplets: Any, landmarks: np.ndarray, backend: str = "auto"
    ) -> "StreamedColumns":
        """Take the rows whose anchor is a landmark; others are not read."""
        grouped, _ = triplets.grouped(backend=backend)
        return cls(grouped, landmarks, backends.load(backend))

    def __len__(self) -> int:
        return len(self.landmarks)

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return self.stored.weighted

    def sample(self, size: int) -> Columns:
        """Take the pairs that ``Columns.sample`` takes, into memory; the same pass counts."""
        steps = [int(n) * RUN // max(size, RUN) for n in self.sizes]
        lengths = [
            int(n) if step <= RUN else int(n) // step * RUN
            for n, step in zip(self.sizes, steps, strict=True)
        ]
        pairs = [np.empty((length, 2), np.uint32) for length in lengths]
        weights = [np.empty(length if self.stored.weighted else 0) for length in lengths]
        far, near = np.zeros((2, len(self), self.n_items))
        # Single precision is exact for the ones of a block, and quicker.
        dtype = np.float64 if self.stored.weighted else np.float32

        def take(task: Task, block: np.ndarray, weight: np.ndarray) -> tuple:
            i, start = task.column, task.start
            low, high, rows = _sampled(steps[i], lengths[i], start, start + len(block))
            pairs[i][low:high] = block[rows - start]
            if len(weight):
                weights[i][low:high] = weight[rows - start]
            return self.backend.count_sums(block, weight, self.n_items, dtype)

        for task, sums in self._pass(range(len(self)), take):
            far[task.column] += sums[0]
            near[task.column] += sums[1]
        self._counts = far, near
        return Columns(pairs, weights, self.n_items, self.backend)

    def counts(self, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        if self._counts is None:
            self.sample(RUN)
        if self._counts is None:
            raise RuntimeError("the pass left no counts")
        return self._counts

    def gradient(self, scores: Mapping[int, np.ndarray], noise: Noise) -> dict[int, np.ndarray]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        return self._sum(
            scores,
            lambda task, pairs, weight: self.backend.score_sums(
                pairs, weight, scores[task.column], noise
            ),
        )

    def weighted_by_information(self, scores: np.ndarray, noise: Noise) -> "StreamedColumns":
        """Weight each pair by the curvature it adds to the log-likelihood of scores (l, n)."""
        weighted = StreamedColumns(self.stored, self.landmarks, self.backend)
        weighted._sound, weighted._at = self._sound, (scores, noise)
        return weighted

    def information(self, column: int, scores: np.ndarray, noise: Noise) -> np.ndarray:
        """Diagonal of the expected curvature of a column's log-likelihood at its scores (n,)."""
        alone = StreamedColumns(self.stored, self.landmarks[[column]], self.backend)
        weighted = alone.weighted_by_information(scores[None], noise)
        return weighted.neighbour_sums(np.ones((1, self.n_items)))[0]

    def neighbour_sums(self, values: np.ndarray) -> np.ndarray:
        """Per column and item, the sum of the opponents' values (l, n) times the pairs' weights."""

        def add(task: Task, pairs: np.ndarray, weight: np.ndarray) -> np.ndarray:
            if self._at is not None:
                scores, noise = self._at
                weight = self.backend.pair_information(pairs, weight, scores[task.column], noise)
            return self.backend.neighbour_sums(pairs, weight, values[task.column])

        return np.array(list(self._sum(range(len(self)), add).values()))

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares.

        A column is left as soon as its items hang together, mostly after a few blocks.
        """
        return np.array([self._n_parts_of(i, n) for i, n in enumerate(n_compared.tolist())])

    def each_block(
        self, column: int, function: Callable[[np.ndarray, np.ndarray], Any]
    ) -> Iterator[Any]:
        """Yield a function's result for a column's pairs and weights, in blocks; it runs ahead."""
        found = self._pass([column], lambda task, pairs, weight: function(pairs, weight))
        return (result for _, result in found)

    def _n_parts_of(self, column: int, n_parts: int) -> int:
        parent = np.arange(self.n_items, dtype=np.uint32)
        for task in self._tasks([column]):
            pairs, _ = self.stored.read_pairs(task.rows, verify=column not in self._sound)
            self._check(task, pairs)
            n_parts = self.backend.join_parts(pairs, parent, n_parts)
            self.stored.buffers.give(pairs)
            if n_parts == 1:
                break
        return n_parts

    def _sum(
        self, columns: Any, kernel: Callable[[Task, np.ndarray, np.ndarray], np.ndarray]
    ) -> dict[int, np.ndarray]:
        """Add up a kernel's results over the blocks of a part, and over the parts of a column."""
        totals: dict[int, np.ndarray] = {}
        part: np.ndarray | None = None
        for task, sums in self._pass(columns, kernel):
            part = sums if part is None else np.add(part, sums, out=part)
            if task.last:
                known = totals.get(task.column)
                totals[task.column] = part if known is None else np.add(known, part, out=known)
                part = None
        return totals

    def _pass(
        self, columns: Any, kernel: Callable[[Task, np.ndarray, np.ndarray], Any]
    ) -> Iterator:
        """Yield a kernel's result for every block of some columns, in order.

        Readers fetch blocks ahead while kernels run on all threads.
        """
        check_unchanged(self.stored.files)
        columns = list(columns)

        def read(task: Task) -> tuple[Task, np.ndarray, np.ndarray]:
            verify = task.column not in self._sound
            return task, *self.stored.read_pairs(task.rows, verify=verify)

        def compute(block: tuple[Task, np.ndarray, np.ndarray]) -> tuple[Task, Any]:
            task, pairs, weight = block
            self._check(task, pairs)
            # Read-only like those of a table, so that kernels are compiled for one kind of array.
            sums = kernel(task, read_only(pairs), weight)
            self.stored.buffers.give(pairs)
            return task, sums

        fetched = in_order(read, self._tasks(columns), workers=READERS, ahead=READERS)
        workers = self.stored.workers
        yield from in_order(compute, fetched, workers=workers, ahead=workers)
        check_unchanged(self.stored.files)
        self._sound.update(columns)

    def _tasks(self, columns: Any) -> Iterator[Task]:
        for i in columns:
            first = int(self.first[i])
            for part in column_parts(self.sizes[i], self.n_items):
                for block in sub_blocks(part, self.stored.block_rows):
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
            raise ValueError(f"{self.stored.path}: {what}")


def _sampled(step: int, length: int, start: int, stop: int) -> tuple[int, int, np.ndarray]:
    """Rows between two of a column that ``Columns.sample`` takes, and their places in the sample.

    The sample of this ``length`` has a run of rows in the middle of every ``step`` rows.
    """
    if step <= RUN:
        return start, stop, np.arange(start, stop)
    middle = (step - RUN) // 2
    first = max((start - middle) // step, 0)
    runs = np.arange(first, min((stop - middle - 1) // step + 1, length // RUN))
    rows = (runs[:, None] * step + middle + np.arange(RUN)).ravel()
    low, high = np.searchsorted(rows, [start, stop])
    return first * RUN + int(low), first * RUN + int(high), rows[low:high]
