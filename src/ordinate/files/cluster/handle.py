"""Triplets on a cluster, as estimators see them: a file whose partitions only workers read."""

import operator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.cluster import Cluster, Delayed
from ordinate._base.threads import blocks
from ordinate.data.triplets import Triplets
from ordinate.files.cluster import partitions
from ordinate.files.cluster.partitions import Neighbours, Rows, Stretch
from ordinate.files.ondisk.grouped import GroupedFile
from ordinate.files.ondisk.handles import Block, Part, TripletFile
from ordinate.kernels import backends

PAIR = 8  # bytes
FOR_EACH = 4  # thread, groups of partitions at least, so that all are done at about the same time
Cuts = list[list[slice]]  # for each landmark, the rows of its parts


class Layout(NamedTuple):
    """What partitions hold.

    Attributes
    ----------
    sizes : ndarray of int, shape (n_partitions,)
    n_items : int
    items : ndarray or None
        Labels; None where rows hold ids.
    weighted : bool
    """

    sizes: np.ndarray
    n_items: int
    items: np.ndarray | None
    weighted: bool


class Columns(NamedTuple):
    """Tasks that return the pairs of each landmark: all of them, and those of each part."""

    whole: list[Delayed]
    parts: list[list[Delayed]]


class PartitionedTriplets(TripletFile):
    """Triplets in partitions on a cluster, which estimators take like a large file.

    Partitions stay in the memory of the workers where they fit, and are read or made anew for every
    pass where they do not. Which, and on how many workers, changes no result.

    Parameters
    ----------
    cluster : Cluster
    path : Path
        For messages.
    parts : list of tasks
        Each returns the :class:`.Rows` of a partition.
    layout : Layout
    memory_limit : int, str or None
        Of this process, not of workers.
    grouped_file : GroupedFile, optional
        The rows are those of this file, in the order of anchors, which all workers see.
    """

    is_grouped = True  # as far as anyone here is concerned: workers bring pairs together

    def __init__(
        self,
        cluster: Cluster,
        path: Path,
        parts: list[Delayed],
        layout: Layout,
        memory_limit: Any = None,
        grouped_file: GroupedFile | None = None,
    ) -> None:
        super().__init__(path, {}, ("weight",) if layout.weighted else (), memory_limit)
        self.cluster, self.sizes, self.grouped_file = cluster, layout.sizes, grouped_file
        self.n_items, self._items, self._parts = layout.n_items, layout.items, parts
        self.starts = np.concatenate([[0], np.cumsum(layout.sizes)])
        self._columns: tuple[bytes, Columns] = (b"", Columns([], []))

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def fits(self) -> bool:
        """They stay on the workers, whatever fits here."""
        return False

    def streaming_bytes(self) -> int:
        """Memory of blocks that are read here: none are."""
        return 0

    @cached_property
    def groups(self) -> list[Delayed]:
        """Tasks that return consecutive partitions, :class:`.Neighbours`, which workers keep.

        Each of these tasks has a cost of its own in every pass. Where partitions do not fit the
        memory of the workers, they are not kept, and alone.
        """
        if not self.cluster.has_room(self.row_bytes * len(self)):
            return self._parts
        cut = blocks(len(self._parts), self._n_neighbours)
        together = [self.cluster.call(Neighbours.of, *self._parts[part]) for part in cut]
        return self.cluster.kept(together)

    @cached_property
    def _n_neighbours(self) -> int:
        """A power of two, so that sums of neighbours are a branch of the tree."""
        each = len(self._parts) // (FOR_EACH * self.cluster.n_threads)
        return 1 << max(each.bit_length() - 1, 0)

    @cached_property
    def partitions(self) -> list[Delayed]:
        """Tasks that return the rows of each partition."""
        if self.groups is self._parts:
            return self._parts
        return [
            self.cluster.call(
                operator.getitem, self.groups[p // self._n_neighbours], p % self._n_neighbours
            )
            for p in range(len(self._parts))
        ]

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: (2, n)."""
        found = [self.cluster.call(count_mentions, part, self.n_items) for part in self.partitions]
        return self.cluster.results([self.cluster.in_tree(operator.add, found)], "counting")[0]

    @property
    def anchor_counts(self) -> np.ndarray:
        """How many rows each item is the anchor of: (n_items,)."""
        known = self.grouped_file
        return self.counts[0].astype(np.int64) if known is None else np.diff(known.starts)

    @property
    def in_order(self) -> bool:
        """Whether the rows are in the order of their anchors."""
        return self.grouped_file is not None

    def grouped(self, *, backend: str = "auto") -> tuple[Any, np.ndarray]:
        """Return the triplets themselves, and where each anchor would start in their order."""
        return self, np.concatenate([[0], np.cumsum(self.anchor_counts)])

    def columns_of(self, landmarks: np.ndarray, cuts: Cuts) -> Columns:
        """Tasks that return the pairs of landmarks, in the parts into which each is cut.

        The pairs of a landmark are in the order of the rows. Where they fit the memory of the
        workers, they are kept for the next fit, those of a landmark on one worker.
        """
        key = repr((landmarks.tolist(), cuts)).encode()
        if self._columns[0] != key:
            call = self.cluster.call
            if self.grouped_file is not None:
                parts = self._read_columns(self.grouped_file, landmarks, cuts)
            else:
                parts = self._gathered_columns(landmarks, cuts)
            whole = [call(partitions.joined, *own) for own in parts]
            n_rows = sum(part.stop - part.start for cut in cuts for part in cut)
            if self.cluster.has_room((PAIR + 8 * self.weighted) * n_rows):
                whole = self.cluster.kept(whole)
                parts = [
                    [call(partitions.rows_between, column, part.start, part.stop) for part in cut]
                    for column, cut in zip(whole, cuts, strict=True)
                ]
            self._columns = key, Columns(whole, parts)
        return self._columns[1]

    def _read_columns(
        self, file: GroupedFile, landmarks: np.ndarray, cuts: Cuts
    ) -> list[list[Delayed]]:
        def read(landmark: int, part: slice) -> Delayed:
            first = int(file.starts[landmark])
            where = Stretch.of(file, slice(first + part.start, first + part.stop))
            return self.cluster.call(partitions.read_pairs, where)

        return [[read(i, part) for part in cut] for i, cut in zip(landmarks, cuts, strict=True)]

    def _gathered_columns(self, landmarks: np.ndarray, cuts: Cuts) -> list[list[Delayed]]:
        call, shared = self.cluster.call, self.cluster.share(landmarks)
        split = [
            call(partitions.by_landmark, part, shared, self.n_items) for part in self.partitions
        ]
        split = self.cluster.kept(split)
        sizes = self.cluster.results([call(partitions.sizes_of, part) for part in split], "sorting")
        starts = np.concatenate([np.zeros((1, len(landmarks)), int), np.cumsum(sizes, axis=0)])

        def gathered(i: int, part: slice) -> Delayed:
            low = np.maximum(part.start, starts[:-1, i]) - starts[:-1, i]
            high = np.minimum(part.stop, starts[1:, i]) - starts[:-1, i]
            some = np.flatnonzero(low < high)
            pieces = [
                call(partitions.cut, split[p], i, int(low[p]), int(high[p]))
                for p in (some if len(some) else [0])  # of an empty column, no rows of the first
            ]
            return call(partitions.joined, *pieces)

        return [[gathered(i, part) for part in cut] for i, cut in enumerate(cuts)]

    def rows_at(self, chosen: np.ndarray) -> Rows:
        """Bring some rows here, by their numbers in increasing order."""
        bounds = np.searchsorted(chosen, self.starts)
        tasks = [
            self.cluster.call(partitions.rows_at, part, chosen[low:high] - first)
            for part, low, high, first in zip(
                self.partitions, bounds, bounds[1:], self.starts, strict=False
            )
            if low < high
        ]
        return partitions.joined(*self.cluster.results(tasks, "a sample"))

    def sample(self, n_rows: int, seed: int) -> Triplets:
        """Bring a sample of about so many rows here; each row is an answer of its own."""
        share = n_rows / len(self)
        tasks = [
            self.cluster.call(partitions.sampled, part, int(first), share, seed)
            for part, first in zip(self.partitions, self.starts, strict=False)
        ]
        rows, weight = partitions.joined(*self.cluster.results(tasks, "a sample"))
        return self._table(rows.view(np.int32), {"weight": weight} if self.weighted else {})

    def _read(self, part: Part, columns: tuple[str, ...]) -> Block:
        cut, ends_part = part
        first, last = np.searchsorted(self.starts, [cut.start, cut.stop - 1], side="right")
        tasks = []
        for p in range(first - 1, last):
            start = int(self.starts[p])
            low, high = max(cut.start - start, 0), min(cut.stop - start, int(self.sizes[p]))
            tasks.append(self.cluster.call(partitions.rows_between, self.partitions[p], low, high))
        found = partitions.joined(*self.cluster.results(tasks))
        rows = self.buffers.take(len(found.rows), 3, self.block_rows)
        rows[:] = found.rows
        return Block(cut.start, rows, {"weight": found.weight} if columns else {}, ends_part)


def count_mentions(part: Rows, n_items: int) -> np.ndarray:
    """How many rows each item occurs in, as an anchor and otherwise: (2, n)."""
    return backends.load().count_mentions(part.rows, n_items)
