"""Triplets and columns in partitions on a cluster, and the passes over them.

A pass is a map over partitions, with the same kernels as everywhere, and a sum in the tree of
:mod:`ordinate._base.trees`: workers come and go, and the sum stays the same, bit for bit. It is
that of the stores in memory where their parts are the partitions.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ordinate._base.cluster import Delayed
from ordinate.files.cluster import PartitionedTriplets
from ordinate.files.cluster.partitions import Neighbours, Rows, writeable
from ordinate.kernels import backends
from ordinate.passes.adding import added, total_of
from ordinate.passes.columns import ColumnPasses, Kernel, MemoryColumns, column_parts
from ordinate.passes.sampling import Runs, sampled_rows
from ordinate.passes.triplets import NO_WEIGHT, MemoryTriplets, TripletPasses

MOST_HERE = 1 << 22  # rows of a sample that are brought here


class ClusterTriplets(TripletPasses):
    """Triplets on a cluster, with the passes of ``MemoryTriplets``.

    Samples are the same rows, and are brought here.

    Parameters
    ----------
    triplets : PartitionedTriplets
    backend : {"auto", "numba", "numpy"}
    """

    def __init__(self, triplets: PartitionedTriplets, backend: str = "auto") -> None:
        super().__init__(triplets.n_items)
        self._triplets, self._backend = triplets, backend
        self._cluster = triplets.cluster
        self._samples: dict[int, MemoryTriplets] = {}

    @classmethod
    def from_triplets(
        cls, triplets: PartitionedTriplets, backend: str = "auto"
    ) -> "ClusterTriplets":
        """Leave the rows where they are."""
        return cls(triplets, backend)

    def __len__(self) -> int:
        return len(self._triplets)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self._triplets.weighted

    @property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: (2, n)."""
        return self._triplets.counts

    @cached_property
    def total(self) -> float:
        """Number of answers: rows counted by their weight."""
        return self._summed(_weight, ()) if self.weighted else float(len(self))

    def sample(self, size: int) -> "ClusterTriplets | MemoryTriplets":
        """Take about ``size`` rows, one at random from each of consecutive stretches.

        At most as many as a share of the memory limit of this process has room for.
        """
        most = int(self._triplets.sample_bytes(np.inf)) // self._triplets.row_bytes
        chosen = sampled_rows(len(self), size, NO_WEIGHT, max(most, 1))
        if chosen is None:
            return self
        if size not in self._samples:
            rows, weight = self._triplets.rows_at(chosen)
            backend = backends.load(self._backend)
            found = MemoryTriplets(rows, weight, self.n_items, backend, self)
            if len(found) > MOST_HERE:
                return found
            self._samples[size] = found
        return self._samples[size]

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        n_occurring = int(np.count_nonzero(self.counts.sum(axis=0)))
        call, n = self._cluster.call, self.n_items
        forests = [call(_forest, part, n) for part in self._triplets.partitions]
        joined = self._cluster.in_tree(_Joining(n), forests)
        return n_occurring - len(self._cluster.results([joined], "parts")[0])

    def _sum(self, kernel: str, points: np.ndarray, *arguments: Any) -> Any:
        asked = kernel, self._backend, np.ascontiguousarray(points), *arguments
        return self._summed(_kernel_sums, asked, f"pass {self.n_passes:.0f}")

    def _summed(self, function: Callable[..., Any], asked: tuple, what: str = "a pass") -> Any:
        shared = self._cluster.share(asked)
        summed = _Summed(function)
        sums = [self._cluster.call(summed, group, shared) for group in self._triplets.groups]
        return self._cluster.results([self._cluster.in_tree(total_of, sums)], what)[0]


class _Summed:
    """A function of a partition and of what is asked, summed over neighbours."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__ = function, function.__name__

    def __call__(self, group: Rows | Neighbours, asked: tuple) -> Any:
        parts = group if isinstance(group, Neighbours) else [group]
        given = [*map(writeable, asked)]
        return added(self.function(part, *given) for part in parts)


def _kernel_sums(part: Rows, kernel: str, backend: str, *given: Any) -> Any:
    return getattr(backends.load(backend), kernel)(*Rows.of(*part), *given)


def _weight(part: Rows) -> float:
    return float(part.weight.sum())


def _forest(part: Rows, n_items: int) -> np.ndarray:
    """Return few pairs (k, 2) that connect the items that rows connect; in no circle."""
    return _spanning([part.rows[:, :2], part.rows[:, 1:]], n_items)


class _Joining:
    """Joins the forests of two partitions."""

    __name__ = "joined_forests"

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items

    def __call__(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return _spanning([one, other], self.n_items)


def _spanning(pairs: Sequence[np.ndarray], n_items: int) -> np.ndarray:
    parent = np.arange(n_items, dtype=np.uint32)
    for ends in pairs:
        backends.load().join_parts(np.ascontiguousarray(ends), parent, n_items)
    joined = np.flatnonzero(parent != np.arange(n_items, dtype=np.uint32))
    return np.column_stack([joined.astype(np.uint32), parent[joined]])


class ClusterColumns(ColumnPasses):
    """Columns of landmarks on a cluster, with the passes of ``MemoryColumns``.

    The same parts are summed in the same tree: sums are those of ``MemoryColumns``, bit for bit.

    Parameters
    ----------
    triplets : PartitionedTriplets
    landmarks : ndarray of int, shape (n_columns,)
    backend : {"auto", "numba", "numpy"}
    """

    def __init__(
        self, triplets: PartitionedTriplets, landmarks: np.ndarray, backend: str = "auto"
    ) -> None:
        self._triplets, self._backend, self._cluster = triplets, backend, triplets.cluster
        self.n_items, self.weighted = triplets.n_items, triplets.weighted
        self.sizes = triplets.anchor_counts[landmarks]
        self.cuts = [column_parts(size, self.n_items) for size in self.sizes]
        self.whole, self.parts = triplets.columns_of(landmarks, self.cuts)

    @classmethod
    def from_triplets(
        cls, triplets: PartitionedTriplets, landmarks: np.ndarray, backend: str = "auto"
    ) -> "ClusterColumns":
        """Bring the pairs of each landmark together, on the workers."""
        return cls(triplets, landmarks, backend)

    def sample(self, size: int) -> MemoryColumns:
        """Take the pairs that ``MemoryColumns.sample`` takes, and bring them here."""
        runs = [Runs.of(n_rows, size) for n_rows in self.sizes]
        tasks, places, whose = [], [], []
        for i, (parts, cuts) in enumerate(zip(self.parts, self.cuts, strict=True)):
            for part, cut in zip(parts, cuts, strict=True):
                place, rows = runs[i].between(cut.start, cut.stop)
                tasks.append(self._cluster.call(_taken, part, rows))
                places.append(place)
                whose.append(i)
        pairs = [np.empty((chosen.n_rows, 2), np.uint32) for chosen in runs]
        weights = [np.empty(chosen.n_rows * self.weighted) for chosen in runs]
        found = self._cluster.results(tasks, "a sample")
        for i, place, part in zip(whose, places, found, strict=True):
            pairs[i][place] = part.rows
            if self.weighted:
                weights[i][place] = part.weight
        return MemoryColumns(pairs, weights, self.n_items, backends.load(self._backend))

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares."""
        call, n = self._cluster.call, self.n_items
        tasks = [
            self._cluster.in_tree(_Joining(n), [call(_pair_forest, part, n) for part in column])
            for column in self.parts
        ]
        return n_compared - [len(forest) for forest in self._cluster.results(tasks, "parts")]

    def _sum(self, kernel: Kernel, arguments: Mapping[int, tuple]) -> dict[int, np.ndarray]:
        def total(i: int) -> Delayed:
            shared = self._cluster.share((kernel, self._backend, arguments[i]))
            sums = [self._cluster.call(_column_sums, part, shared) for part in self.parts[i]]
            return self._cluster.in_tree(total_of, sums)

        found = self._cluster.results([total(i) for i in arguments], "a pass")
        return dict(zip(arguments, found, strict=True))


def _column_sums(part: Rows, asked: tuple[Kernel, str, tuple]) -> np.ndarray:
    kernel, backend, arguments = asked
    return kernel(backends.load(backend), *Rows.of(*part), *map(writeable, arguments))


def _pair_forest(part: Rows, n_items: int) -> np.ndarray:
    return _spanning([part.rows], n_items)


def _taken(part: Rows, rows: slice | np.ndarray) -> Rows:
    return part.taken(rows)
