"""Stores: where the triplets live, and what runs a pass over them.

A pass adds up a kernel's result over fixed parts of the rows, in a fixed order: the sums are the
same, bit for bit, on any number of threads.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from types import ModuleType
from typing import Any

import numpy as np

from ordinate import backends
from ordinate._parallel import blocks, run
from ordinate.losses import Loss
from ordinate.noise import Noise
from ordinate.rows import read_only
from ordinate.triplets import Triplets

# Each part has sums of its own for all items, and costs some of Python's time.
MOST_PARTS = 8
SMALLEST_PART = 1 << 19  # of a column
SMALL_PART = 1 << 16  # of triplets with a map, which take longer each
RUN = 16  # rows that are sampled together, being read together
NO_WEIGHT = np.empty(0)


class TripletStore:
    """Triplets in memory and the passes over them that a map needs.

    Parameters
    ----------
    rows : ndarray of int32, shape (m, 3)
    weight : ndarray, shape (m,) or empty
        How often each row was observed; empty counts each once.
    n_items : int
    backend : module
    whole : TripletStore, optional
        The store that this one is a sample of.

    Attributes
    ----------
    n_passes : float
        Passes so far, those over samples counted by their share of the rows.
    """

    def __init__(
        self,
        rows: np.ndarray,
        weight: np.ndarray,
        n_items: int,
        backend: ModuleType,
        whole: "TripletStore | None" = None,
    ) -> None:
        # Read-only like those of a table, so that kernels are compiled for one kind of array.
        self.rows = read_only(rows.view(np.uint32))
        self.weight = weight
        self.n_items = n_items
        self.backend = backend
        self.whole = whole
        self.n_passes = 0.0

    @classmethod
    def from_triplets(cls, triplets: Triplets, backend: str = "auto") -> "TripletStore":
        """Use the rows of a table where they lie."""
        weight = NO_WEIGHT if triplets.weight is None else triplets.weight
        return cls(triplets.rows, weight, triplets.n_items, backends.load(backend))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def total(self) -> float:
        """Number of answers: rows counted by their weight."""
        return float(self.weight.sum()) if len(self.weight) else float(len(self.rows))

    def sample(self, size: int, random_state: Any = 0) -> "TripletStore":
        """Take about ``size`` rows, drawn at random from consecutive stretches of equal length."""
        step = len(self) // max(size, 1)
        if step <= 1:
            return self
        starts = np.arange(0, len(self) - step + 1, step)
        chosen = starts + np.random.default_rng(random_state).integers(step, size=len(starts))
        weight = self.weight[chosen] if len(self.weight) else self.weight
        return TripletStore(self.rows[chosen], weight, self.n_items, self.backend, self)

    def loss(self, points: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
        """Value and gradient (n, d) of a loss, summed over all triplets."""
        sums = self._sum(self.backend.loss_sums, points, *loss.codes)
        return sums[0], sums[1]

    def curvature(self, points: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products."""
        sums = self._sum(self.backend.curvature_sums, points, *loss.codes)
        return sums[0], sums[1]

    def similarity(self, vectors: np.ndarray) -> np.ndarray:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""
        return self._sum(lambda *arguments: (self.backend.similarity_sums(*arguments),), vectors)[0]

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: two arrays (n,)."""

        def count(part: slice) -> np.ndarray:
            rows = self.rows[part]
            anchor = self.backend.count_anchors(rows.view(np.int32), self.n_items)
            pairs = self.backend.count_sums(rows[:, 1:], NO_WEIGHT, self.n_items, np.float64)
            return np.array([anchor, pairs[0] + pairs[1]])

        return reduce(np.add, run(count, self._parts(self.n_items)))

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        n_occurring = int(np.count_nonzero(self.counts.sum(axis=0)))
        count = self.backend.count_parts
        # The near items alone connect all others, as a rule.
        n_parts = count(self.rows[:, :2], self.n_items, n_occurring)
        if n_parts == 1:
            return 1
        ends = np.concatenate([self.rows[:, :2], self.rows[:, 1:]])
        return count(ends, self.n_items, n_occurring)

    def _sum(self, kernel: Callable[..., tuple], points: np.ndarray, *arguments: Any) -> tuple:
        self._count_pass(1.0)
        points = np.ascontiguousarray(points)

        def add(part: slice) -> tuple:
            weight = self.weight[part] if len(self.weight) else self.weight
            return kernel(self.rows[part], weight, points, *arguments)

        sums = run(add, self._parts(points.size))
        return tuple(reduce(operator.add, parts) for parts in zip(*sums, strict=True))

    def _parts(self, size: int) -> list[slice]:
        """Cut the rows into parts that are long beside the ``size`` of their sums."""
        return blocks(len(self), max(SMALL_PART, 4 * size, -(-len(self) // MOST_PARTS)))

    def _count_pass(self, share: float) -> None:
        self.n_passes += share
        if self.whole is not None:
            self.whole._count_pass(share * len(self) / len(self.whole))


class Columns:
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
    ) -> "Columns":
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

    def __len__(self) -> int:
        return len(self.pairs)

    def sample(self, size: int) -> "Columns":
        """Take about ``size`` pairs of each column, in runs spread evenly over its rows."""

        def take(array: np.ndarray) -> np.ndarray:
            step = len(array) * RUN // max(size, RUN)
            if step <= RUN:
                return array
            n_runs = len(array) // step
            runs = array[: n_runs * step].reshape(n_runs, step, *array.shape[1:])
            middle = (step - RUN) // 2
            return runs[:, middle : middle + RUN].reshape(n_runs * RUN, *array.shape[1:])

        # A pair as one number of 64 bits is copied in one go.
        pairs = run(lambda column: take(column.view(np.uint64)).view(np.uint32), self.pairs)
        return Columns(
            pairs,
            [take(weight) if len(weight) else weight for weight in self.weights],
            self.n_items,
            self.backend,
        )

    def counts(self, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        sums = self._sum(
            range(len(self)),
            lambda i, part: np.array(
                self.backend.count_sums(
                    self.pairs[i][part], self._weight(i, part), self.n_items, dtype
                )
            ),
        )
        return np.array([far for far, _ in sums]), np.array([near for _, near in sums])

    def gradient(self, scores: Mapping[int, np.ndarray], noise: Noise) -> dict[int, np.ndarray]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        sums = self._sum(
            scores,
            lambda i, part: self.backend.score_sums(
                self.pairs[i][part], self._weight(i, part), scores[i], noise.code
            ),
        )
        return dict(zip(scores, sums, strict=True))

    def weighted_by_information(self, scores: np.ndarray, noise: Noise) -> "Columns":
        """Weight each pair by the curvature it adds to the log-likelihood of scores (l, n)."""
        kernel = self.backend.pair_information
        weights = run(
            lambda i: kernel(self.pairs[i], self.weights[i], scores[i], noise.code),
            range(len(self)),
        )
        return Columns(self.pairs, weights, self.n_items, self.backend)

    def information(self, column: int, scores: np.ndarray, noise: Noise) -> np.ndarray:
        """Diagonal of the expected curvature of a column's log-likelihood at its scores (n,)."""
        alone = Columns(
            [self.pairs[column]], [self.weights[column]], self.n_items, self.backend
        ).weighted_by_information(scores[None], noise)
        return alone.neighbour_sums(np.ones((1, self.n_items)))[0]

    def neighbour_sums(self, values: np.ndarray) -> np.ndarray:
        """Per column and item, the sum of the opponents' values (l, n) times the pairs' weights."""
        kernel = self.backend.neighbour_sums
        return np.array(
            self._sum(
                range(len(self)),
                lambda i, part: kernel(self.pairs[i][part], self.weights[i][part], values[i]),
            )
        )

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares.

        ``n_compared`` (n_columns,) is the number of those items: a column is left as soon as they
        hang together.
        """
        count = self.backend.count_parts
        parts = run(lambda i: count(self.pairs[i], self.n_items, n_compared[i]), range(len(self)))
        return np.array(parts)

    def _weight(self, column: int, part: slice) -> np.ndarray:
        weight = self.weights[column]
        return weight[part] if len(weight) else weight

    def _sum(self, columns: Any, kernel: Callable[[int, slice], np.ndarray]) -> list[np.ndarray]:
        """Add up a kernel's results over the parts of each column."""
        columns = list(columns)
        least = max(SMALLEST_PART, 8 * self.n_items)
        parts = {
            i: blocks(self.sizes[i], max(least, -(-self.sizes[i] // MOST_PARTS))) for i in columns
        }
        tasks = [(i, part) for i in columns for part in parts[i]]
        done = iter(run(lambda task: kernel(*task), tasks))
        return [reduce(np.add, [next(done) for _ in parts[i]]) for i in columns]
