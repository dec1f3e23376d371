"""Comparisons and triplets in host memory that a device takes block by block, for every pass.

For data larger than the device's memory. Blocks go by way of two pinned buffers in turn, so that
one is sent while the kernel works on the other.
"""

import operator
from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from typing import Any

import numpy as np

from ordinate._device import torch_device
from ordinate._optional import require
from ordinate._parallel import blocks
from ordinate.losses import Loss
from ordinate.noise import Noise
from ordinate.stores.columns import Columns
from ordinate.stores.device import DeviceColumns, DeviceTriplets
from ordinate.stores.triplets import TripletStore
from ordinate.triplets import Triplets

Tensor = Any
BLOCK = 1 << 24  # rows that are sent at a time


class BlockedTriplets:
    """Triplets with the passes of ``DeviceTriplets``, sent anew for each.

    Parameters
    ----------
    triplets : Triplets
    device : str
    precision : {"single", "double"}
    """

    def __init__(self, triplets: Triplets, device: str, precision: str = "double") -> None:
        self._host = TripletStore.from_triplets(triplets)
        self._device, self._precision = device, precision
        self.n_items = triplets.n_items

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
        torch = require("torch", extra="gpu")
        return torch.from_numpy(self._host.counts).double().to(torch_device(self._device))

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        return self._host.n_parts()

    def sample(self, size: int, random_state: Any = 0) -> "BlockedTriplets | DeviceTriplets":
        """Take about ``size`` triplets, drawn at random, to the device."""
        sample = self._host.sample(size, random_state)
        if sample is self._host:
            return self
        taken = next(self._send(sample))
        taken._count_pass = sample._count_pass  # type: ignore[method-assign]
        return taken

    def loss(self, points: Tensor, loss: Loss) -> tuple[float, Tensor]:
        """Value and gradient (n, d) of a loss, summed over all triplets."""
        return self._sum(lambda block: block.loss(points, loss))

    def curvature(self, points: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products."""
        return self._sum(lambda block: block.curvature(points, loss))

    def similarity(self, vectors: Tensor) -> Tensor:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""
        return self._sum(lambda block: (block.similarity(vectors),))[0]

    def _sum(self, kernel: Any) -> Any:
        self._host._count_pass(1.0)
        sums = [kernel(block) for block in self._send(self._host, BLOCK)]
        return tuple(reduce(operator.add, parts) for parts in zip(*sums, strict=True))

    def _send(self, store: TripletStore, size: int | None = None) -> Iterator[DeviceTriplets]:
        """Yield the rows of a store on the device, in blocks of a size, or at once."""
        rows = store.rows.view(np.int32)
        for pieces in _sent((rows, store.weight), len(store), self._device, size or len(store)):
            ids, weight = pieces
            yield DeviceTriplets(ids.T.contiguous(), weight, self.n_items, self._precision)


class BlockedColumns:
    """Columns with the passes that rankings need, sent to a device anew for each.

    Parameters
    ----------
    columns : Columns
        In host memory.
    device : str
    """

    def __init__(self, columns: Columns, device: str) -> None:
        self._host, self._device = columns, device
        self.n_items, self.sizes = columns.n_items, columns.sizes

    @classmethod
    def from_triplets(
        cls, triplets: Triplets, landmarks: np.ndarray, device: str, backend: str = "auto"
    ) -> "BlockedColumns":
        """Take the rows whose anchor is a landmark."""
        return cls(Columns.from_triplets(triplets, landmarks, backend), device)

    def __len__(self) -> int:
        return len(self._host)

    def sample(self, size: int) -> DeviceColumns:
        """Take about ``size`` pairs of each column to the device."""
        sample = self._host.sample(size)
        columns = [
            next(self._send(sample, i, max(int(sample.sizes[i]), 1))) for i in range(len(self))
        ]
        torch = require("torch", extra="gpu")
        return DeviceColumns(
            torch.cat([column.pairs for column in columns]),
            torch.cat([column.weight for column in columns]),
            sample.sizes,
            self.n_items,
        )

    def counts(self, dtype: type = np.float64) -> tuple[Tensor, Tensor]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        torch = require("torch", extra="gpu")
        sums = [
            self._sum(i, lambda block: torch.cat(block.counts(dtype))) for i in range(len(self))
        ]
        both = torch.stack(sums)
        return both[:, 0], both[:, 1]

    def gradient(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        return {
            i: self._sum(i, lambda block, at=at: block.gradient({0: at}, noise)[0])
            for i, at in scores.items()
        }

    def information(self, column: int, scores: Tensor, noise: Noise) -> Tensor:
        """Diagonal of the expected curvature of a column's log-likelihood at its scores (n,)."""
        return self._sum(column, lambda block: block.information(0, scores, noise))

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares."""
        return self._host.n_parts(n_compared)

    def _sum(self, column: int, kernel: Any) -> Tensor:
        return reduce(operator.add, map(kernel, self._send(self._host, column, BLOCK)))

    def _send(self, columns: Columns, i: int, size: int) -> Iterator[DeviceColumns]:
        arrays = (columns.pairs[i].view(np.int32), columns.weights[i])
        for pairs, weight in _sent(arrays, int(columns.sizes[i]), self._device, size):
            yield DeviceColumns(pairs, weight, [len(pairs)], self.n_items)


def _sent(
    arrays: tuple[np.ndarray, np.ndarray], n_rows: int, device: str, size: int
) -> Iterator[tuple[Tensor, ...]]:
    """Yield blocks of both arrays on the device; the next is on its way while one is worked on."""
    torch = require("torch", extra="gpu")
    where = torch_device(device)
    if where.type != "cuda":
        for part in blocks(n_rows, size):
            # A copy, since torch warns of arrays that must not be written to.
            yield tuple(torch.from_numpy(np.array(array[part])) for array in arrays)
        return
    stream = torch.cuda.Stream(where)

    def send(part: slice) -> tuple[Tensor, ...]:
        with torch.cuda.stream(stream):
            return tuple(
                torch.from_numpy(np.ascontiguousarray(array[part]))
                .pin_memory()
                .to(where, non_blocking=True)
                for array in arrays
            )

    parts = blocks(n_rows, size)
    coming = send(parts[0])
    for k in range(len(parts)):
        torch.cuda.current_stream(where).wait_stream(stream)
        block = coming
        for tensor in block:
            tensor.record_stream(torch.cuda.current_stream(where))
        if k + 1 < len(parts):
            coming = send(parts[k + 1])
        yield block
