"""Triplets in memory, and the passes over them that a map needs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from ordinate._base.threads import blocks, in_order, n_threads, run, whole_groups
from ordinate.data.rows import read_only
from ordinate.data.triplets import Triplets
from ordinate.kernels import backends
from ordinate.kernels.backends import numpy_
from ordinate.kernels.losses import Loss
from ordinate.passes.adding import added
from ordinate.passes.contract import EACH_ROW, Answers, Array, Result
from ordinate.passes.sampling import sampled_answers

# Each part has sums of its own for all items, and costs some of Python's time.
MOST_PARTS = 8
SMALL_PART = 1 << 16  # of triplets with a map
BLOCK = 1 << 22  # rows that are handed out at a time
MOST_COPIES = 4  # blocks that are copied at the same time, each to pinned memory
CONNECTING = 10  # rows per item that should connect all items
COLLAPSING = 0.7  # share of the rows that is left, from which sorting them pays
NO_WEIGHT = np.empty(0)


class TripletPasses(ABC):
    """What all stores of triplets share: they differ in how a kernel is summed over all rows.

    Parameters
    ----------
    n_items : int
    whole : TripletPasses, optional
        The store that this one is a sample of.
    """

    answers: Answers = EACH_ROW

    def __init__(self, n_items: int, whole: "TripletPasses | None" = None) -> None:
        self.n_items, self.whole = n_items, whole
        self.n_passes = 0.0

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    def loss(self, points: Array, loss: Loss) -> tuple[float, Array]:
        """Value and gradient (n, d) of a loss, summed over all triplets."""
        return self._pass("loss_sums", self._precise(points), loss)

    def curvature(self, points: Array, loss: Loss) -> tuple[Array, Array]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products."""
        return self._by_answer("curvature_sums", self._precise(points), loss)

    def left_out(self, points: Array, loss: Loss, inverse: Array, scales: Array) -> Array:
        """Loss (k,) of answers in maps that were fitted without them, multiplied by scales (k,)."""
        return self._by_answer("left_out_sums", self._precise(points), loss, inverse, scales)

    def shape(self, points: Array, loss: Loss) -> tuple[float, Array, Array, Array]:
        """Value, gradient (n, d), gradient (k,) in the shape numbers, their information (k, k)."""
        return self._pass("shape_sums", self._precise(points), loss)

    def similarity(self, vectors: Array) -> Array:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""
        return self._pass("similarity_sums", vectors)

    def _by_answer(self, kernel: str, points: Array, *arguments: Any) -> Any:
        """Run a pass whose kernel takes the rows of an answer together, where they are known."""
        return self._pass(kernel, points, *arguments)

    def _pass(self, kernel: str, points: Array, *arguments: Any) -> Any:
        self.count_pass()
        return self._sum(kernel, points, *arguments)

    @abstractmethod
    def _sum(self, kernel: str, points: Array, *arguments: Any) -> Any:
        """Add up a kernel's results over all rows; the backend has it by this name."""

    def _precise(self, points: Array) -> Array:
        """Return points in the precision of a loss's terms."""
        return points

    def count_pass(self, share: float = 1.0) -> None:
        """Count a pass, or a share of one; of the store that this is a sample of, too."""
        self.n_passes += share
        if self.whole is not None:
            self.whole.count_pass(share * len(self) / len(self.whole))


class MemoryTriplets(TripletPasses):
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
    answers : Answers, optional
        Which rows ``curvature`` takes for one answer.

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
        whole: TripletPasses | None = None,
        answers: Answers = EACH_ROW,
    ) -> None:
        super().__init__(n_items, whole)
        self.answers = answers
        # Read-only like those of a table, so that kernels are compiled for one kind of array.
        self.rows = read_only(rows.view(np.uint32))
        self.weight = weight
        self.backend = backend

    @classmethod
    def from_triplets(
        cls, triplets: Triplets, backend: str = "auto", by: str = "row"
    ) -> "MemoryTriplets":
        """Use the rows of a table where they lie; by answer or participant, those of each together.

        Where they are not, that takes a copy.
        """
        rows, weight = triplets.rows, NO_WEIGHT if triplets.weight is None else triplets.weight
        answers = EACH_ROW
        if by == "participant" or (by == "answer" and triplets.answer is not None):
            number = triplets.groups(by)
            if (number[1:] < number[:-1]).any():
                order = np.argsort(number, kind="stable")
                number, rows = number[order], rows[order]
                weight = weight[order] if len(weight) else weight
            answers = Answers(number, one_voter=by == "participant")
        return cls(rows, weight, triplets.n_items, backends.load(backend), answers=answers)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return len(self.weight) > 0

    @property
    def total(self) -> float:
        """Number of answers: rows counted by their weight."""
        return float(self.weight.sum()) if self.weighted else float(len(self.rows))

    def sample(self, size: int) -> "MemoryTriplets":
        """Take about ``size`` rows, one at random from each of consecutive stretches.

        Whole answers, where the rows of each are known.
        """
        chosen = sampled_answers(self.answers.number, len(self), size, self.rows)
        if chosen is None:
            return self
        weight = self.weight[chosen] if self.weighted else self.weight
        answers = self.answers.taken(chosen)
        return MemoryTriplets(self.rows[chosen], weight, self.n_items, self.backend, self, answers)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each item occurs in, as an anchor and otherwise: two arrays (n,)."""
        count = self.backend.count_mentions
        return added(
            run(lambda part: count(self.rows[part], self.n_items), self._parts(self.n_items))
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

    def each_block(self, function: Callable[[np.ndarray, np.ndarray], Result]) -> Iterator[Result]:
        """Yield a function's result for all rows and weights, in blocks; it runs ahead."""
        workers = min(n_threads(), MOST_COPIES)
        return in_order(
            lambda part: function(self.rows[part], self.weight[part]),  # no weights stay none
            blocks(len(self), BLOCK),
            workers=workers,
            ahead=workers,
        )

    def _by_answer(self, kernel: str, points: np.ndarray, *arguments: Any) -> Any:
        self.count_pass()
        points, sums = np.ascontiguousarray(points), getattr(self.backend, kernel)
        number, one_voter = self.answers

        def part_sums(part: slice) -> Any:
            given = self.rows[part], self.weight[part], points, *arguments
            return sums(*given, number[part], one_voter)  # no numbers stay none

        return added(run(part_sums, whole_groups(self._parts(points.size), number)))

    def _sum(self, kernel: str, points: np.ndarray, *arguments: Any) -> Any:
        points, sums = np.ascontiguousarray(points), getattr(self.backend, kernel)
        return added(
            run(
                lambda part: sums(self.rows[part], self.weight[part], points, *arguments),
                self._parts(points.size),
            )
        )

    def _parts(self, size: int) -> list[slice]:
        """Cut the rows into parts that are long beside the ``size`` of their sums."""
        return blocks(len(self), part_length(len(self), size))


def part_length(n_rows: int, size: int) -> int:
    """Rows of a part, which is long beside the ``size`` of its sums."""
    return max(SMALL_PART, 4 * size, -(-n_rows // MOST_PARTS))


def collapsed(store: MemoryTriplets) -> MemoryTriplets:
    """Take equal rows once, by their weight; the store itself where that spares few rows."""
    n = store.n_items
    if n**3 >= 2**63:
        return store
    anchor, near, far = store.rows.T.astype(np.int64)
    keys, times = np.unique((anchor * n + near) * n + far, return_counts=True)
    if len(keys) > COLLAPSING * len(store):
        return store
    rows = np.column_stack([keys // n**2, keys // n % n, keys % n]).astype(np.int32)
    if store.weighted:
        at = np.searchsorted(keys, (anchor * n + near) * n + far)
        times = np.bincount(at, store.weight, len(keys))
    return MemoryTriplets(rows, times.astype(float), n, store.backend, store)
