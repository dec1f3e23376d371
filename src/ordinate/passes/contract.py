"""What every store promises: the passes that algorithms ask for, wherever the triplets live.

A pass is a map over fixed parts of the rows and a sum of what each gives, in a fixed order. Parts
and order depend on the data alone, so that sums are the same, bit for bit, on any number of threads
(on a GPU inside :func:`ordinate.deterministic`). Arrays that go in and come out live where the
store computes: NumPy's, or tensors on its device; ``ordinate._base.arrays`` moves them.

Algorithms know these two protocols and nothing else of stores. ``tests/test_stores.py`` runs every
store through them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ordinate.kernels.backends.numpy_ import NO_ANSWER
from ordinate.kernels.losses import Loss
from ordinate.kernels.noise import Noise

Array = Any  # of NumPy or torch
Result = TypeVar("Result")


class Answers(NamedTuple):
    """Which rows belong together: the number (m,) of each row's answer, in order, or none.

    If ``one_voter``, the votes that a row's weight counts are of the same person.
    """

    number: Any
    one_voter: bool = False

    def taken(self, rows: Array) -> "Answers":
        """Return those of some rows, in their order."""
        return self._replace(number=self.number[rows]) if len(self.number) else self


EACH_ROW = Answers(NO_ANSWER)


class TripletStore(Protocol):
    """Triplets over ``n_items`` items and the passes over them that a map needs.

    Rows count by their weight in every sum; ``counts``, ``n_parts``, ``sample`` and the length are
    about rows.
    """

    @property
    def n_items(self) -> int:
        """Number of items n."""

    @property
    def weighted(self) -> bool:
        """Whether rows have weights; else each counts once."""

    @property
    def total(self) -> float:
        """Number of answers: rows counted by their weight."""

    @property
    def n_passes(self) -> float:
        """Passes so far that summed something over all rows; a sample's count by its share."""

    @property
    def counts(self) -> Array:
        """How many rows each item occurs in, as an anchor and otherwise: (2, n)."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def sample(self, size: int) -> "TripletStore":
        """Take about ``size`` rows, one at random from each of consecutive stretches.

        The same rows every time. The store itself where it has fewer than twice as many; fewer
        where the memory limit of a file leaves no room for them.
        """

    def loss(self, points: Array, loss: Loss) -> tuple[float, Array]:
        """Value and gradient (n, d) of a loss at points (n, d), summed over all triplets."""

    def curvature(self, points: Array, loss: Loss) -> tuple[Array, Array]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products.

        The gradients of an answer's rows are added up first, where the store knows ``answers``.
        """

    def left_out(self, points: Array, loss: Loss, inverse: Array, scales: Array) -> Array:
        """Loss (k,) of answers in maps that were fitted without them, multiplied by scales (k,).

        As one Newton step tells them; ``inverse`` (n, d, d) is that of the curvature's blocks.
        """

    def shape(self, points: Array, loss: Loss) -> tuple[float, Array, Array, Array]:
        """Value and gradient of a loss, as ``loss`` has them, and what its k shape numbers do.

        That is the gradient (k,) in them, link first, and, for a likelihood, their expected
        information (k, k) given the map: what the questions tell about them, whatever the answers.
        """

    def similarity(self, vectors: Array) -> Array:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""


class ColumnStore(Protocol):
    """Comparisons of several landmarks, pairs (near, far) each, and the passes that scores need.

    Pairs count by their weight in every sum; ``sizes``, ``sample`` and ``n_parts`` are about rows.
    A column may be empty: all of its sums are then 0.
    """

    @property
    def n_items(self) -> int:
        """Number of items n."""

    @property
    def sizes(self) -> np.ndarray:
        """The number of pairs of each column: (n_columns,)."""

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights; else each counts once."""

    def __len__(self) -> int:
        """Return the number of columns l."""

    def sample(self, size: int) -> "ColumnStore":
        """Take about ``size`` pairs of each column, in runs spread evenly over its rows.

        The same rows in every store, to where it computes: into memory, or to the device.
        """

    def counts(self) -> tuple[Array, Array]:
        """Count how often each item was far, and near: two arrays (l, n) in double precision."""

    def counts_and_sample(self, size: int) -> tuple[tuple[Array, Array], "ColumnStore"]:
        """Return ``counts()`` and ``sample(size)``, in one pass where rows must be fetched."""

    def gradient(self, scores: Mapping[int, Array], noise: Noise) -> dict[int, Array]:
        """Gradient (n,) of the log-likelihood of the scores (n,) of some columns."""

    def information(self, scores: Mapping[int, Array], noise: Noise) -> dict[int, Array]:
        """Diagonal (n,) of the expected curvature of the log-likelihood, of some columns."""

    def coupling(
        self, scores: Mapping[int, Array], noise: Noise
    ) -> Callable[[Mapping[int, Array]], dict[int, Array]]:
        """Return the pass v -> C v, for v (n,) and the coupling C of items, of some columns.

        C_jk is what the comparisons of j with k add to the expected curvature H at scores (n,):
        H = diag(C 1) - C.
        """

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares: (l,).

        ``n_compared`` (l,) is the number of those items.
        """


class HostTriplets(TripletStore, Protocol):
    """A store in the host's memory or in a file, whose rows can be sent to a device."""

    @property
    def answers(self) -> Answers:
        """Which rows are of one answer; each alone where that is not known."""

    def sample(self, size: int) -> "HostTriplets":
        """Take about ``size`` rows, into the host's memory."""

    def each_block(self, function: Callable[[np.ndarray, np.ndarray], Result]) -> Iterator[Result]:
        """Yield a function's result for all rows and weights, in blocks; it runs ahead."""


class HostColumns(ColumnStore, Protocol):
    """A store in the host's memory or in a file, whose pairs can be sent to a device."""

    def sample(self, size: int) -> "HostColumns":
        """Take about ``size`` pairs of each column, into the host's memory."""

    def counts_and_sample(self, size: int) -> tuple[tuple[Array, Array], "HostColumns"]:
        """Return ``counts()`` and ``sample(size)``, in one pass where rows must be fetched."""

    def each_block(
        self, column: int, function: Callable[[np.ndarray, np.ndarray], Result]
    ) -> Iterator[Result]:
        """Yield a function's result for a column's pairs and weights, in blocks; it runs ahead."""
