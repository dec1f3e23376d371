"""Triplets that are read from a file anew for every pass that a map needs."""

import operator
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from types import ModuleType
from typing import Any

import numpy as np

from ordinate import backends
from ordinate._parallel import in_order
from ordinate.rows import read_only
from ordinate.storage.stored import Block, StoredTriplets
from ordinate.stores.triplets import NO_WEIGHT, MapPasses, TripletStore, part_length

INDEX = 16  # bytes of a sampled row besides its own, while it is drawn
KEPT = 4  # a sample is kept if as many would take the room that one may


class StreamedTriplets(MapPasses):
    """Triplets in a file, with the passes of ``TripletStore``.

    Sums are those of ``TripletStore`` to rounding: bit for bit where its parts are no longer than a
    block. Samples are the same rows, but never larger than a share of the memory limit.

    Parameters
    ----------
    stored : StoredTriplets
    backend : module

    Attributes
    ----------
    n_passes : float
        Passes over all triplets that summed something.
    """

    def __init__(self, stored: StoredTriplets, backend: ModuleType) -> None:
        self.stored, self.backend = stored, backend
        self.n_items = stored.n_items
        self.n_passes = 0.0
        self._samples: dict[int, TripletStore] = {}

    @classmethod
    def from_triplets(cls, triplets: StoredTriplets, backend: str = "auto") -> "StreamedTriplets":
        """Read the rows where they lie; those that are slow to decode are converted once."""
        return cls(triplets.quick(), backends.load(backend))

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.stored.weighted

    @cached_property
    def total(self) -> float:
        """Number of answers: rows counted by their weight."""
        if not self.stored.weighted:
            return float(len(self))
        return float(sum(self._pass(lambda block: block.weight.sum())))

    def sample(self, size: int, random_state: Any = 0) -> "StreamedTriplets | TripletStore":
        """Take about ``size`` rows, drawn at random from consecutive stretches of equal length."""
        step = len(self) // max(size, 1)
        if step <= 1:
            return self
        most = int(self.stored.sample_bytes(np.inf)) // (self.stored.row_bytes + INDEX)
        step = max(step, -(-len(self) // most))
        if random_state == 0 and step in self._samples:
            return self._samples[step]
        chosen = np.random.default_rng(random_state).integers(step, size=len(self) // step)
        chosen += np.arange(0, len(self) - step + 1, step)
        rows = np.empty((len(chosen), 3), np.uint32)
        weight = np.empty(len(chosen)) if self.stored.weighted else NO_WEIGHT

        def take(block: Block) -> None:
            low, high = np.searchsorted(chosen, [block.start, block.start + len(block.rows)])
            here = chosen[low:high] - block.start
            rows[low:high] = block.rows[here]
            if len(weight):
                weight[low:high] = block.weight[here]

        for _ in self._pass(take):
            pass
        found = TripletStore(rows, weight, self.n_items, self.backend, self)
        if random_state == 0 and KEPT * len(found) <= most:
            self._samples[step] = found
        return found

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: two arrays (n,)."""
        count = self.backend.count_mentions
        return reduce(np.add, self._pass(lambda block: count(block.rows, self.n_items)))

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        n_parts = int(np.count_nonzero(self.counts.sum(axis=0)))
        parent = np.arange(self.n_items, dtype=np.uint32)
        for block in self.stored.blocks():
            for ends in (block.rows[:, :2], block.rows[:, 1:]):
                n_parts = self.backend.join_parts(ends, parent, n_parts)
            self.stored.buffers.give(block.rows)
            if n_parts == 1:
                break
        return n_parts

    def each_block(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> Iterator[Any]:
        """Yield a function's result for all rows and weights, in blocks; it runs ahead."""
        return self._pass(lambda block: function(block.rows, block.weight))

    def _sum(self, kernel: Callable[..., tuple], points: np.ndarray, *arguments: Any) -> tuple:
        """Add up a kernel's results over the blocks of a part, and over the parts."""
        self._count_pass(1.0)
        points = np.ascontiguousarray(points)
        part_rows = part_length(len(self), points.size)

        def add(block: Block) -> tuple[bool, tuple]:
            return block.last, kernel(block.rows, block.weight, points, *arguments)

        total: tuple | None = None
        part: tuple | None = None
        for last, sums in self._pass(add, part_rows):
            part = sums if part is None else tuple(map(operator.iadd, part, sums))
            if last:
                total = part if total is None else tuple(map(operator.iadd, total, part))
                part = None
        return total or ()

    def _pass(self, kernel: Callable[[Block], Any], part_rows: int | None = None) -> Iterator[Any]:
        """Yield a kernel's result for every block, in order; kernels run on all threads."""

        def compute(block: Block) -> Any:
            # Read-only like those of a table, so that kernels are compiled for one kind of array.
            result = kernel(block._replace(rows=read_only(block.rows)))
            self.stored.buffers.give(block.rows)
            return result

        blocks = self.stored.blocks(part_rows)
        workers = self.stored.workers
        return in_order(compute, blocks, workers=workers, ahead=workers)

    def _count_pass(self, share: float) -> None:
        self.n_passes += share
