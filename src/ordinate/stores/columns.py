"""Comparisons with landmarks in memory, and the passes over them that rankings need."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

from ordinate import backends
from ordinate._parallel import blocks, in_order, n_threads, run
from ordinate.noise import Noise
from ordinate.stores.triplets import MOST_COPIES, NO_WEIGHT
from ordinate.triplets import Triplets

# Each part has sums of its own for all items, and costs some of Python's time.
MOST_PARTS = 8
SMALLEST_PART = 1 << 19  # of a column
BLOCK = 1 << 22  # rows after which kernels move their sums to double precision
RUN = 16  # rows that are sampled together, being read together


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

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return any(map(len, self.weights))

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
                self.pairs[i][part], self._weight(i, part), scores[i], noise
            ),
        )
        return dict(zip(scores, sums, strict=True))

    def weighted_by_information(self, scores: np.ndarray, noise: Noise) -> "Columns":
        """Weight each pair by the curvature it adds to the log-likelihood of scores (l, n)."""
        kernel = self.backend.pair_information
        weights = run(
            lambda i: kernel(self.pairs[i], self.weights[i], scores[i], noise),
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

    def each_block(
        self, column: int, function: Callable[[np.ndarray, np.ndarray], Any]
    ) -> Iterator[Any]:
        """Yield a function's result for a column's pairs and weights, in blocks; it runs ahead."""
        pairs, workers = self.pairs[column], min(n_threads(), MOST_COPIES)
        return in_order(
            lambda part: function(pairs[part], self._weight(column, part)),
            blocks(len(pairs), BLOCK),
            workers=workers,
            ahead=workers,
        )

    def _weight(self, column: int, part: slice) -> np.ndarray:
        weight = self.weights[column]
        return weight[part] if len(weight) else weight

    def _sum(self, columns: Any, kernel: Callable[[int, slice], np.ndarray]) -> list[np.ndarray]:
        """Add up a kernel's results over the parts of each column."""
        columns = list(columns)
        parts = {i: column_parts(self.sizes[i], self.n_items) for i in columns}
        tasks = [(i, part) for i in columns for part in parts[i]]
        done = iter(run(lambda task: kernel(*task), tasks))
        return [reduce(np.add, [next(done) for _ in parts[i]]) for i in columns]


def column_parts(size: int, n_items: int) -> list[slice]:
    """Cut a column into parts that are long beside the sums of all items.

    Long parts are whole blocks, so that a column that is read block by block has the same sums.
    """
    length = max(SMALLEST_PART, 8 * n_items, -(-int(size) // MOST_PARTS))
    if length > BLOCK:
        length = -(-length // BLOCK) * BLOCK
    return blocks(int(size), length)
