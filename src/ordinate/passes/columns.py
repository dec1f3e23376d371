"""Comparisons with landmarks in memory, and the passes over them that their scores need."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ordinate._base.memory import available_memory
from ordinate._base.threads import blocks, in_order, n_threads, run
from ordinate.data.rows import read_only
from ordinate.data.triplets import Triplets
from ordinate.kernels import backends
from ordinate.kernels.noise import Noise
from ordinate.passes.adding import added
from ordinate.passes.contract import HostColumns, Result
from ordinate.passes.sampling import Runs
from ordinate.passes.triplets import MOST_COPIES, NO_WEIGHT

# Each part has sums of its own for all items, and costs some of Python's time.
MOST_PARTS = 8
SMALLEST_PART = 1 << 19  # of a column
BLOCK = 1 << 22  # rows that are handed out at a time
# Scores and sums of as many items are beyond caches: rows are sorted into tiles of items, whose
# scores and sums, of two tiles at a time, are within them (8 MiB: of the last level).
MANY_ITEMS = 1 << 21
TILE = 1 << 19
MOST_TILES = 128  # to a side: more are more places to write to than a sort can keep at hand

Product = Callable[[Mapping[int, np.ndarray]], dict[int, np.ndarray]]  # of each with a matrix
Kernel = Callable[..., np.ndarray]  # of a backend, pairs, weights and what a column is asked with


class ColumnPasses(ABC):
    """What stores of columns share that compute by NumPy or numba.

    They differ in how a kernel is summed over the pairs of some columns.
    """

    n_items: int
    sizes: np.ndarray

    def __len__(self) -> int:
        return len(self.sizes)

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        sums = self._sum(count_sums, dict.fromkeys(range(len(self)), (self.n_items,)))
        far, near = np.stack(list(sums.values()), axis=1)
        return far, near

    @abstractmethod
    def sample(self, size: int) -> HostColumns:
        """Take about ``size`` pairs of each column, in runs spread evenly over its rows."""

    def counts_and_sample(self, size: int) -> tuple[tuple[np.ndarray, np.ndarray], HostColumns]:
        """Return ``counts()`` and ``sample(size)``."""
        return self.counts(), self.sample(size)

    def gradient(self, scores: Mapping[int, np.ndarray], noise: Noise) -> dict[int, np.ndarray]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        return self._sum(score_sums, {i: (x, noise) for i, x in scores.items()})

    def information(self, scores: Mapping[int, np.ndarray], noise: Noise) -> dict[int, np.ndarray]:
        """Diagonal of the expected curvature of the log-likelihood, of some columns."""
        ones = np.ones(self.n_items)
        return self._sum(coupling_sums, {i: (x, noise, ones) for i, x in scores.items()})

    def coupling(self, scores: Mapping[int, np.ndarray], noise: Noise) -> Product:
        """Return the pass v -> C v, C the coupling of items in the curvature of some columns."""
        return lambda values: self._sum(
            coupling_sums, {i: (scores[i], noise, v) for i, v in values.items()}
        )

    @abstractmethod
    def _sum(self, kernel: Kernel, arguments: Mapping[int, tuple]) -> dict[int, np.ndarray]:
        """Add up ``kernel(backend, pairs, weight, *arguments[i])`` over the parts of columns i."""


class MemoryColumns(ColumnPasses):
    """Comparisons of several landmarks in memory: per landmark, pairs (near, far) of items.

    Parameters
    ----------
    pairs : sequence of ndarray, each of shape (m_i, 2)
        The pairs of each column.
    weights : sequence of ndarray, each of shape (m_i,) or empty
        How often each pair was observed; empty counts each once.
    n_items : int
    backend : module
    """

    def __init__(
        self,
        pairs: Sequence[np.ndarray],
        weights: Sequence[np.ndarray],
        n_items: int,
        backend: ModuleType,
    ) -> None:
        # Unsigned ids need no test for negative ones inside the kernels.
        self.pairs = [column.view(np.uint32) for column in pairs]
        self.weights = list(weights)
        self.n_items = n_items
        self.backend = backend
        self.sizes = np.array([len(column) for column in pairs])

    @classmethod
    def from_triplets(
        cls, triplets: Triplets, landmarks: np.ndarray, backend: str = "auto"
    ) -> "MemoryColumns":
        """Take the rows whose anchor is a landmark; the rows of each stay where they are."""
        grouped, starts = triplets.grouped(backend=backend)
        parts = [slice(starts[i], starts[i + 1]) for i in landmarks]
        weight = grouped.weight
        return cls(
            [grouped.rows[part, 1:] for part in parts],
            [NO_WEIGHT if weight is None else weight[part] for part in parts],
            triplets.n_items,
            backends.load(backend),
        )

    def in_tiles(self) -> "MemoryColumns":
        """Return a copy sorted into tiles of items: by that of the near item, then of the far one.

        Where that does not pay, since items are fewer or memory is short, the columns themselves.
        """
        n_bytes = int(self.sizes.sum()) * (8 + 8 * self.weighted)
        if self.n_items < MANY_ITEMS or n_bytes > available_memory() / 2:
            return self
        shift = (max(TILE, -(-self.n_items // MOST_TILES)) - 1).bit_length()
        n_tiles = (self.n_items - 1 >> shift) + 1

        def sort(i: int) -> tuple[np.ndarray, np.ndarray]:
            pairs, weight = np.empty((self.sizes[i], 2), np.uint32), np.empty_like(self.weights[i])
            self.backend.scatter_by_tile(
                self.pairs[i], self.weights[i], shift, n_tiles, pairs, weight
            )
            return read_only(pairs), weight

        pairs, weights = zip(*run(sort, range(len(self))), strict=True)
        return MemoryColumns(pairs, weights, self.n_items, self.backend)

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return any(map(len, self.weights))

    def sample(self, size: int) -> "MemoryColumns":
        """Take about ``size`` pairs of each column, in runs spread evenly over its rows."""
        taken = run(lambda i: self._taken(i, size), range(len(self)))
        pairs, weights = zip(*taken, strict=True)
        return MemoryColumns(pairs, weights, self.n_items, self.backend)

    def counts_and_sample(self, size: int) -> tuple[tuple[np.ndarray, np.ndarray], "MemoryColumns"]:
        """Return ``counts()`` and ``sample(size)``.

        Columns of one part each are counted and sampled one by one: the rows of one that has just
        been counted are still in a cache.
        """
        if any(len(column_parts(rows, self.n_items)) > 1 for rows in self.sizes):
            return self.counts(), self.sample(size)
        far, near = np.empty((2, len(self), self.n_items))

        def count_and_take(i: int) -> tuple[np.ndarray, np.ndarray]:
            far[i], near[i] = self._sum(count_sums, {i: (self.n_items,)})[i]
            return self._taken(i, size)

        taken = run(count_and_take, range(len(self)))
        pairs, weights = zip(*taken, strict=True)
        return (far, near), MemoryColumns(pairs, weights, self.n_items, self.backend)

    def _taken(self, column: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs and weights of a sample of a column."""
        pairs, weight = self.pairs[column], self.weights[column]
        runs = Runs.of(len(pairs), size)
        # A pair as one number of 64 bits is copied in one go.
        pairs = runs.take(pairs.view(np.uint64)).view(np.uint32)
        return pairs, runs.take(weight) if len(weight) else weight

    def coupling(self, scores: Mapping[int, np.ndarray], noise: Noise) -> Product:
        """Return the pass v -> C v; the pairs' curvatures are worked out once."""
        kernel = self.backend.pair_information
        curvatures = list(self.weights)
        for i, found in zip(
            scores,
            run(lambda i: kernel(self.pairs[i], self.weights[i], scores[i], noise), scores),
            strict=True,
        ):
            curvatures[i] = found
        curved = MemoryColumns(self.pairs, curvatures, self.n_items, self.backend)
        return lambda values: curved._sum(neighbour_sums, {i: (v,) for i, v in values.items()})

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares.

        ``n_compared`` (n_columns,) is the number of those items: a column is left as soon as they
        hang together.
        """
        count = self.backend.count_parts
        parts = run(lambda i: count(self.pairs[i], self.n_items, n_compared[i]), range(len(self)))
        return np.array(parts)

    def each_block(
        self, column: int, function: Callable[[np.ndarray, np.ndarray], Result]
    ) -> Iterator[Result]:
        """Yield a function's result for a column's pairs and weights, in blocks; it runs ahead."""
        pairs, weight = self.pairs[column], self.weights[column]
        workers = min(n_threads(), MOST_COPIES)
        return in_order(
            lambda part: function(pairs[part], weight[part]),  # no weights stay none
            blocks(len(pairs), BLOCK) or [slice(0, 0)],
            workers=workers,
            ahead=workers,
        )

    def _sum(self, kernel: Kernel, arguments: Mapping[int, tuple]) -> dict[int, np.ndarray]:
        parts = {i: column_parts(self.sizes[i], self.n_items) for i in arguments}

        def add(task: tuple[int, slice]) -> np.ndarray:
            i, part = task
            return kernel(self.backend, self.pairs[i][part], self.weights[i][part], *arguments[i])

        done = iter(run(add, [(i, part) for i in arguments for part in parts[i]]))
        return {i: added([next(done) for _ in parts[i]]) for i in arguments}


def count_sums(
    backend: ModuleType, pairs: np.ndarray, weight: np.ndarray, n_items: int
) -> np.ndarray:
    """How often each item was far, and near: (2, n_items)."""
    # Ones are counted in whole numbers, as small as hold their sum.
    dtype: Any = np.float64 if len(weight) or len(pairs) >= 1 << 32 else np.uint32
    return np.array(backend.count_sums(pairs, weight, n_items, dtype), np.float64)


def score_sums(
    backend: ModuleType, pairs: np.ndarray, weight: np.ndarray, scores: np.ndarray, noise: int
) -> np.ndarray:
    """Gradient of the log-likelihood of the scores (n_items,) of a column."""
    return backend.score_sums(pairs, weight, scores, noise)


def coupling_sums(
    backend: ModuleType,
    pairs: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
    noise: int,
    values: np.ndarray,
) -> np.ndarray:
    """Per item, the sum of its opponents' values (n_items,) times the pairs' curvatures."""
    curvature = backend.pair_information(pairs, weight, scores, noise)
    return backend.neighbour_sums(pairs, curvature, values)


def neighbour_sums(
    backend: ModuleType, pairs: np.ndarray, weight: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Per item, the sum of its opponents' values (n_items,) times the pairs' weights."""
    return backend.neighbour_sums(pairs, weight, values)


def column_parts(size: int, n_items: int) -> list[slice]:
    """Cut a column into even parts, long beside the sums of all items; an empty one is one part."""
    n_parts = min(max(round(size / max(SMALLEST_PART, 8 * n_items)), 1), MOST_PARTS)
    return blocks(int(size), max(-(-int(size) // n_parts), 1)) or [slice(0, 0)]
