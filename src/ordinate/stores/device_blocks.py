"""Comparisons and triplets in the host's memory, or in a file, that a device takes block by block.

For data larger than the device's memory: they are sent anew for every pass.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from ordinate._device import torch_device
from ordinate._optional import require
from ordinate.losses import Loss
from ordinate.noise import Noise
from ordinate.stores.columns import Columns
from ordinate.stores.device import DeviceColumns, DeviceTriplets
from ordinate.stores.sending import sent
from ordinate.stores.streamed_columns import StreamedColumns
from ordinate.stores.streamed_triplets import StreamedTriplets
from ordinate.stores.triplets import TripletStore

Tensor = Any


class BlockedTriplets:
    """Triplets with the passes of ``DeviceTriplets``, sent anew for each.

    Parameters
    ----------
    host : TripletStore or StreamedTriplets
    device : str
    precision : {"single", "double"}
    """

    def __init__(
        self, host: TripletStore | StreamedTriplets, device: str, precision: str = "double"
    ) -> None:
        self._host, self._device, self._precision = host, device, precision
        self.n_items = host.n_items
        self._sample: tuple[int, DeviceTriplets] | None = None

    def __len__(self) -> int:
        return len(self._host)

    @property
    def n_passes(self) -> float:
        """Passes so far, those over samples counted by their share of the triplets."""
        return self._host.n_passes

    @property
    def total(self) -> float:
        """Number of answers: triplets counted by their weight."""
        return self._host.total

    @cached_property
    def counts(self) -> Tensor:
        """How many triplets each item occurs in, as an anchor and otherwise: (2, n)."""
        return self._sum(lambda block: (block.counts,))[0]

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        return self._host.n_parts()

    def sample(self, size: int, random_state: Any = 0) -> "BlockedTriplets | DeviceTriplets":
        """Take about ``size`` triplets, drawn at random from every block, to the device."""
        step = len(self) // max(size, 1)
        if step <= 1:
            return self
        # Steps ask for the same sample again and again.
        if random_state == 0 and self._sample is not None and self._sample[0] == step:
            return self._sample[1]
        torch, generator = require("torch", extra="gpu"), np.random.default_rng(random_state)
        some = (block.sample(len(block) // step, generator) for block in self._blocks())
        # Not the samples themselves: they hold on to their blocks.
        ids, weights = zip(*((part.ids, part.weight) for part in some), strict=True)
        found = DeviceTriplets(
            torch.cat(ids, dim=1),
            torch.cat(weights),
            self.n_items,
            self._precision,
            self,
        )
        self._sample = (step, found) if random_state == 0 else None
        return found

    def loss(self, points: Tensor, loss: Loss) -> tuple[float, Tensor]:
        """Value and gradient (n, d) of a loss, summed over all triplets."""
        self._count_pass(1.0)
        return self._sum(lambda block: block.loss(points, loss))

    def curvature(self, points: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products."""
        self._count_pass(1.0)
        return self._sum(lambda block: block.curvature(points, loss))

    def similarity(self, vectors: Tensor) -> Tensor:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""
        self._count_pass(1.0)
        return self._sum(lambda block: (block.similarity(vectors),))[0]

    def _sum(self, kernel: Callable[[DeviceTriplets], tuple]) -> Any:
        sums = map(kernel, self._blocks())
        return reduce(lambda total, more: tuple(map(operator.add, total, more)), sums)

    def _blocks(self) -> Iterator[DeviceTriplets]:
        for rows, weight in sent(self._host.each_block, self._device):
            yield DeviceTriplets(rows.T.contiguous(), weight, self.n_items, self._precision)

    def _count_pass(self, share: float) -> None:
        self._host._count_pass(share)


class BlockedColumns:
    """Columns with the passes that rankings need, sent to a device anew for each.

    Parameters
    ----------
    host : Columns or StreamedColumns
    device : str
    """

    def __init__(self, host: Columns | StreamedColumns, device: str) -> None:
        self._host, self._device = host, device
        self.n_items, self.sizes = host.n_items, host.sizes

    def __len__(self) -> int:
        return len(self._host)

    def sample(self, size: int) -> DeviceColumns:
        """Take about ``size`` pairs of each column to the device."""
        return DeviceColumns.of(self._host.sample(size), self._device)

    def counts(self, dtype: type = np.float64) -> tuple[Tensor, Tensor]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        torch = require("torch", extra="gpu")
        if isinstance(self._host, StreamedColumns):  # counts while the sample is read
            where = torch_device(self._device)
            far, near = (torch.from_numpy(counts).to(where) for counts in self._host.counts())
            return far, near
        every = range(len(self))
        sums = [self._sum(i, lambda block: torch.cat(block.counts(dtype))) for i in every]
        far, near = torch.stack(sums, dim=1)
        return far, near

    def gradient(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""

        def of(i: int) -> Tensor:
            return self._sum(i, lambda block: block.gradient({0: scores[i]}, noise)[0])

        return {i: of(i) for i in scores}

    def information(self, column: int, scores: Tensor, noise: Noise) -> Tensor:
        """Diagonal of the expected curvature of a column's log-likelihood at its scores (n,)."""
        return self._sum(column, lambda block: block.information(0, scores, noise))

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares."""
        if isinstance(self._host, StreamedColumns):  # reads no more than it must
            return self._host.n_parts(n_compared)
        few = self.sample(round(self.n_items * np.log(self.n_items)))
        n_parts = few.n_parts(n_compared)
        return n_parts if (n_parts <= 1).all() else self._host.n_parts(n_compared)

    def _sum(self, column: int, kernel: Callable[[DeviceColumns], Tensor]) -> Tensor:
        return reduce(operator.add, map(kernel, self._blocks(column)))

    def _blocks(self, column: int) -> Iterator[DeviceColumns]:
        for pairs, weight in sent(partial(self._host.each_block, column), self._device):
            yield DeviceColumns(pairs, weight, [len(pairs)], self.n_items)
