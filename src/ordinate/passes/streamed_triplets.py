"""Triplets that are read from a file anew for every pass that a map needs."""

from collections.abc import Callable, Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from ordinate._base.threads import in_order
from ordinate.data.answers import independent_answers
from ordinate.data.rows import read_only
from ordinate.data.triplets import Triplets
from ordinate.files.ondisk.handles import Block, TripletFile
from ordinate.kernels import backends
from ordinate.passes.adding import added, added_by_parts
from ordinate.passes.contract import EACH_ROW, Answers, Result
from ordinate.passes.sampling import sampled_rows
from ordinate.passes.triplets import NO_WEIGHT, MemoryTriplets, TripletPasses, part_length

INDEX = 16  # bytes of a sampled row besides its own, while it is drawn
KEPT = 4  # a sample is kept if as many would take the room that one may


class StreamedTriplets(TripletPasses):
    """Triplets in a file, with the passes of ``MemoryTriplets``.

    Sums are those of ``MemoryTriplets`` to rounding: bit for bit where its parts are no longer than
    a block. Samples are the same rows, but never larger than a share of the memory limit.

    Parameters
    ----------
    file : TripletFile
    backend : module
    by_answer : bool
        ``curvature`` takes the rows of an answer together, which must lie so in the file.

    Attributes
    ----------
    n_passes : float
        Passes over all triplets that summed something.
    """

    def __init__(self, file: TripletFile, backend: ModuleType, by_answer: bool = False) -> None:
        super().__init__(file.n_items)
        self.file, self.backend, self.by_answer = file, backend, by_answer
        self._samples: dict[int, MemoryTriplets] = {}

    @classmethod
    def from_triplets(
        cls, triplets: TripletFile, backend: str = "auto", by: str = "row"
    ) -> "StreamedTriplets":
        """Read the rows where they lie; by answer, if those of each lie together."""
        return cls(triplets, backends.load(backend), by == "answer" and triplets.by_answer)

    def __len__(self) -> int:
        return len(self.file)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.file.weighted

    @cached_property
    def total(self) -> float:
        """Number of answers: rows counted by their weight."""
        if not self.weighted:
            return float(len(self))
        return float(sum(self._read(lambda block: block.weight.sum())))

    def sample(self, size: int) -> "StreamedTriplets | MemoryTriplets":
        """Take about ``size`` rows into memory, one at random from each of consecutive stretches.

        At most as many as a share of the memory limit has room for. To draw a sample takes a pass:
        small ones are kept, since steps ask for the same one again and again. Whole answers, where
        the rows of each are taken together.
        """
        if size in self._samples:
            return self._samples[size]
        most = int(self.file.sample_bytes(np.inf)) // (self.file.row_bytes + INDEX)
        draw = self._some_answers if self.by_answer else self._some_rows
        found = draw(size, most)
        if found is None:
            return self
        if KEPT * len(found) <= most:
            self._samples[size] = found
        return found

    def _some_rows(self, size: int, most: int) -> MemoryTriplets | None:
        chosen = sampled_rows(len(self), size, NO_WEIGHT, most)
        if chosen is None:
            return None
        rows = np.empty((len(chosen), 3), np.uint32)
        weight = np.empty(len(chosen) * self.weighted)

        def take(block: Block) -> None:
            low, high = np.searchsorted(chosen, [block.start, block.start + len(block.rows)])
            here = chosen[low:high] - block.start
            rows[low:high] = block.rows[here]
            if self.weighted:
                weight[low:high] = block.weight[here]

        for _ in self._read(take):
            pass
        return MemoryTriplets(rows, weight, self.n_items, self.backend, self)

    def _some_answers(self, size: int, most: int) -> MemoryTriplets | None:
        share = self._n_answers / len(self)
        chosen = sampled_rows(
            self._n_answers, int(size * share), NO_WEIGHT, max(int(most * share), 1)
        )
        if chosen is None:
            return None
        taken, first = [], 0
        for rows, number, weight in self._numbered():
            here = np.isin(number + first, chosen)
            taken.append((rows[here], number[here] + first, weight[here[: len(weight)]]))
            first += int(number[-1]) + 1
        rows, number, weight = map(np.concatenate, zip(*taken, strict=True))
        answers = Answers(number)
        return MemoryTriplets(rows, weight, self.n_items, self.backend, self, answers)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: two arrays (n,)."""
        count = self.backend.count_mentions
        return added(self._read(lambda block: count(block.rows, self.n_items)))

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        n_parts = int(np.count_nonzero(self.counts.sum(axis=0)))
        parent = np.arange(self.n_items, dtype=np.uint32)
        for block in self.file.blocks():
            for ends in (block.rows[:, :2], block.rows[:, 1:]):
                n_parts = self.backend.join_parts(ends, parent, n_parts)
            self.file.buffers.give(block.rows)
            if n_parts == 1:
                break
        return n_parts

    def each_block(self, function: Callable[[np.ndarray, np.ndarray], Result]) -> Iterator[Result]:
        """Yield a function's result for all rows and weights, in blocks; it runs ahead."""
        return self._read(lambda block: function(block.rows, block.weight))

    @cached_property
    def _n_answers(self) -> int:
        return sum(int(number[-1]) + 1 for _, number, _ in self._numbered())

    def _numbered(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, numbers of their answers and weights, in whole answers numbered from 0."""
        for rows, answer, weight in self.file.whole_answers():
            if self.weighted:  # votes against each other are cast by different people
                given = {"answer": answer, "weight": weight}
                table = Triplets(rows.view(np.int32), n_items=self.n_items, **given)
                number = independent_answers(table)
            else:
                number = np.cumsum(np.diff(answer, prepend=answer[:1]) > 0)
            yield read_only(rows), number, weight

    def _by_answer(self, kernel: str, points: np.ndarray, *arguments: Any) -> Any:
        if not self.by_answer:
            return super()._by_answer(kernel, points, *arguments)
        self.count_pass()
        points, sums = np.ascontiguousarray(points), getattr(self.backend, kernel)

        def compute(block: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Any:
            rows, number, weight = block
            return sums(rows, weight, points, *arguments, number, EACH_ROW.one_voter)

        workers = self.file.workers
        return added(in_order(compute, self._numbered(), workers=workers, ahead=workers))

    def _sum(self, kernel: str, points: np.ndarray, *arguments: Any) -> Any:
        points, sums = np.ascontiguousarray(points), getattr(self.backend, kernel)
        return added_by_parts(
            self._read(
                lambda block: (block.last, sums(block.rows, block.weight, points, *arguments)),
                part_length(len(self), points.size),
            )
        )

    def _read(
        self, function: Callable[[Block], Result], part_rows: int | None = None
    ) -> Iterator[Result]:
        """Yield a function's result for every block, in order; it runs on all threads."""

        def compute(block: Block) -> Result:
            # Read-only like those of a table, so that kernels are compiled for one kind of array.
            result = function(block._replace(rows=read_only(block.rows)))
            self.file.buffers.give(block.rows)
            return result

        blocks, workers = self.file.blocks(part_rows), self.file.workers
        return in_order(compute, blocks, workers=workers, ahead=workers)
