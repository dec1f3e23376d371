"""Comparisons and triplets in the host's memory, or in a file, that a device takes block by block.

For data larger than the device's memory: they are sent anew for every pass.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from ordinate._base.device import torch_device
from ordinate._base.optional import require
from ordinate.kernels.noise import Noise
from ordinate.passes.adding import added
from ordinate.passes.contract import HostColumns, HostTriplets
from ordinate.passes.device import DeviceColumns, DeviceTriplets, precise
from ordinate.passes.sending import sent
from ordinate.passes.triplets import TripletPasses

Tensor = Any


class SentTriplets(TripletPasses):
    """Triplets with the passes of ``DeviceTriplets``, sent anew for each.

    Parameters
    ----------
    host : MemoryTriplets or StreamedTriplets
    device : str
    precision : {"single", "double"}
    """

    def __init__(self, host: HostTriplets, device: str, precision: str = "double") -> None:
        super().__init__(host.n_items)
        self._host, self._device, self._precision = host, device, precision

    def __len__(self) -> int:
        return len(self._host)

    @property
    def weighted(self) -> bool:
        """Whether triplets have weights."""
        return self._host.weighted

    @property
    def total(self) -> float:
        """Number of answers: triplets counted by their weight."""
        return self._host.total

    @cached_property
    def counts(self) -> Tensor:
        """How many triplets each item occurs in, as an anchor and otherwise: (2, n)."""
        return added(block.counts for block in self._blocks())

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        return self._host.n_parts()

    def sample(self, size: int) -> "SentTriplets | DeviceTriplets":
        """Take the rows that the host's store takes, to the device."""
        few = self._host.sample(size)
        if few is self._host:
            return self
        return DeviceTriplets.of(few, self._device, self._precision, self)

    def _sum(self, kernel: str, points: Tensor, *arguments: Any) -> Any:
        return added(block._sum(kernel, points, *arguments) for block in self._blocks())

    def _precise(self, points: Tensor) -> Tensor:
        return precise(points, self._precision)

    def _blocks(self) -> Iterator[DeviceTriplets]:
        for rows, weight in sent(self._host.each_block, self._device):
            yield DeviceTriplets(rows.T.contiguous(), weight, self.n_items, self._precision)


class SentColumns:
    """Columns with the passes that scores need, sent to a device anew for each.

    Parameters
    ----------
    host : MemoryColumns or StreamedColumns
    device : str
    """

    def __init__(self, host: HostColumns, device: str) -> None:
        self._host, self._device = host, device
        self.n_items, self.sizes = host.n_items, host.sizes

    def __len__(self) -> int:
        return len(self._host)

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return self._host.weighted

    def sample(self, size: int) -> DeviceColumns:
        """Take the pairs that the host's store takes, to the device."""
        return DeviceColumns.of(self._host.sample(size), self._device)

    def counts(self) -> tuple[Tensor, Tensor]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        return self._to_device(self._host.counts())

    def counts_and_sample(self, size: int) -> tuple[tuple[Tensor, Tensor], DeviceColumns]:
        """Return ``counts()`` and ``sample(size)``, in one pass of the host."""
        counts, few = self._host.counts_and_sample(size)
        return self._to_device(counts), DeviceColumns.of(few, self._device)

    def gradient(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""

        def of(i: int, x: Tensor) -> Tensor:
            return self._sum(i, lambda block: block.gradient({0: x}, noise)[0])

        return {i: of(i, x) for i, x in scores.items()}

    def information(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Diagonal of the expected curvature of the log-likelihood, of some columns."""

        def of(i: int, x: Tensor) -> Tensor:
            return self._sum(i, lambda block: block.information({0: x}, noise)[0])

        return {i: of(i, x) for i, x in scores.items()}

    def coupling(
        self, scores: Mapping[int, Tensor], noise: Noise
    ) -> Callable[[Mapping[int, Tensor]], dict[int, Tensor]]:
        """Return the pass v -> C v, C the coupling of items in the curvature of some columns."""

        def multiply(i: int, v: Tensor) -> Tensor:
            return self._sum(i, lambda block: block.coupling({0: scores[i]}, noise)({0: v})[0])

        return lambda values: {i: multiply(i, v) for i, v in values.items()}

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares."""
        return self._host.n_parts(n_compared)

    def _to_device(self, arrays: tuple[np.ndarray, ...]) -> Any:
        torch, where = require("torch", extra="gpu"), torch_device(self._device)
        return tuple(torch.from_numpy(array).to(where) for array in arrays)

    def _sum(self, column: int, kernel: Callable[[DeviceColumns], Tensor]) -> Tensor:
        return added(map(kernel, self._blocks(column)))

    def _blocks(self, column: int) -> Iterator[DeviceColumns]:
        for pairs, weight in sent(partial(self._host.each_block, column), self._device):
            yield DeviceColumns(pairs, weight, [len(pairs)], self.n_items)
