"""Triplets in memory, and the passes over them that a map needs."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from types import ModuleType
from typing import Any

import numpy as np

from ordinate import backends
from ordinate._parallel import blocks, in_order, n_threads, run
from ordinate.backends import numpy_
from ordinate.losses import Loss
from ordinate.rows import read_only
from ordinate.triplets import Triplets

# Each part has sums of its own for all items, and costs some of Python's time.
MOST_PARTS = 8
SMALL_PART = 1 << 16  # of triplets with a map
BLOCK = 1 << 22  # rows that are handed out at a time
MOST_COPIES = 4  # blocks that are copied at the same time, each to pinned memory
CONNECTING = 10  # rows per item that should connect all items
NO_WEIGHT = np.empty(0)


class MapPasses(ABC):
    """The passes over triplets that a map needs, by the kernels of a backend."""

    backend: ModuleType

    def loss(self, points: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
        """Value and gradient (n, d) of a loss, summed over all triplets."""
        sums = self._sum(self.backend.loss_sums, points, loss)
        return sums[0], sums[1]

    def curvature(self, points: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products."""
        sums = self._sum(self.backend.curvature_sums, points, loss)
        return sums[0], sums[1]

    def similarity(self, vectors: np.ndarray) -> np.ndarray:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""
        return self._sum(lambda *arguments: (self.backend.similarity_sums(*arguments),), vectors)[0]

    @abstractmethod
    def _sum(self, kernel: Callable[..., tuple], points: np.ndarray, *arguments: Any) -> tuple:
        """Add up a kernel's results over all triplets."""


class TripletStore(MapPasses):
    """Triplets in memory and the passes over them that a map needs.

    Parameters
    ----------
    rows : ndarray of int32, shape (m, 3)
    weight : ndarray, shape (m,) or empty
        How often each row was observed; empty counts each once.
    n_items : int
    backend : module
    whole : store of triplets, optional
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
        whole: Any = None,
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
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return len(self.weight) > 0

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

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: two arrays (n,)."""
        count = self.backend.count_mentions
        return reduce(
            np.add,
            run(lambda part: count(self.rows[part], self.n_items), self._parts(self.n_items)),
        )

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        n_occurring = int(np.count_nonzero(self.counts.sum(axis=0)))
        # A few rows connect all items, as a rule.
        for rows in (self.sample(CONNECTING * self.n_items).rows, self.rows):
            ends = np.concatenate([rows[:, :2], rows[:, 1:]])
            n_parts = numpy_.count_parts(ends, self.n_items, n_occurring)
            if n_parts == 1:
                break
        return n_parts

    def each_block(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> Iterator[Any]:
        """Yield a function's result for all rows and weights, in blocks; it runs ahead."""

        def call(part: slice) -> Any:
            return function(self.rows[part], self.weight[part] if self.weighted else self.weight)

        workers = min(n_threads(), MOST_COPIES)
        return in_order(call, blocks(len(self), BLOCK), workers=workers, ahead=workers)

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
        return blocks(len(self), part_length(len(self), size))

    def _count_pass(self, share: float) -> None:
        self.n_passes += share
        if self.whole is not None:
            self.whole._count_pass(share * len(self) / len(self.whole))


def part_length(n_rows: int, size: int) -> int:
    """Rows of a part, which is long beside the ``size`` of its sums."""
    return max(SMALL_PART, 4 * size, -(-n_rows // MOST_PARTS))
