"""Comparisons and triplets that stay on a device, and the passes over them.

They answer what :class:`Columns` and :class:`TripletStore` do, with torch tensors on that device.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from itertools import chain, pairwise
from types import ModuleType
from typing import Any

import numpy as np

from ordinate import backends
from ordinate._device import torch_device
from ordinate._optional import require
from ordinate.losses import Loss
from ordinate.noise import Noise
from ordinate.stores.columns import RUN, Columns
from ordinate.stores.sending import fill, sent
from ordinate.stores.streamed_columns import StreamedColumns
from ordinate.stores.streamed_triplets import StreamedTriplets
from ordinate.stores.triplets import TripletStore

Tensor = Any


class DeviceColumns:
    """Comparisons of several landmarks on a device: per landmark, pairs (near, far) of items.

    Parameters
    ----------
    pairs : tensor of int32, shape (M, 2)
        The pairs of all columns, one column after the other.
    weight : tensor, shape (M,) or empty
        How often each pair was observed; empty counts each once.
    sizes : array-like of int
        The number of pairs of each column.
    n_items : int
    """

    def __init__(self, pairs: Tensor, weight: Tensor, sizes: Any, n_items: int) -> None:
        self.pairs = pairs
        self.weight = weight
        self.sizes = np.asarray(sizes)
        self.n_items = n_items
        ends = [0, *np.cumsum(self.sizes).tolist()]
        self.ranges = list(pairwise(ends))

    @classmethod
    def of(cls, host: Columns | StreamedColumns, device: str) -> "DeviceColumns":
        """Send columns to a device."""
        torch, where = require("torch", extra="gpu"), torch_device(device)
        size = int(host.sizes.sum())
        pairs = torch.empty((size, 2), dtype=torch.int32, device=where)
        weight = torch.empty(size * host.weighted, dtype=torch.float64, device=where)
        columns = (sent(partial(host.each_block, i), device) for i in range(len(host)))
        fill((pairs, weight), chain.from_iterable(columns))
        return cls(pairs, weight, host.sizes, host.n_items)

    def __len__(self) -> int:
        return len(self.sizes)

    def sample(self, size: int) -> "DeviceColumns":
        """Take about ``size`` pairs of each column, in runs spread evenly over its rows."""
        chosen = []
        for start, stop in self.ranges:
            step = (stop - start) * RUN // max(size, RUN)
            n_runs = (stop - start) // step if step > RUN else 1
            length, step = (RUN, step) if step > RUN else (stop - start, stop - start)
            first = start + (step - length) // 2
            chosen.append((first, n_runs, step, length))

        def take(array: Tensor) -> Tensor:
            torch = require("torch", extra="gpu")
            return torch.cat(
                [
                    array[first:]
                    .as_strided(
                        (n_runs, length, *array.shape[1:]),
                        (step * array.stride(0), *array.stride()),
                        array[first:].storage_offset(),
                    )
                    .reshape(n_runs * length, *array.shape[1:])
                    for first, n_runs, step, length in chosen
                ]
            )

        weight = take(self.weight) if len(self.weight) else self.weight
        sizes = [n_runs * length for _, n_runs, _, length in chosen]
        return DeviceColumns(take(self.pairs), weight, sizes, self.n_items)

    def counts(self, dtype: type = np.float64) -> tuple[Tensor, Tensor]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        counts = self._kernels.count_sums(self.pairs, self.weight, self.ranges, self.n_items)
        return counts[0], counts[1]

    def gradient(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        stacked = require("torch", extra="gpu").stack(list(scores.values()))
        ranges = [self.ranges[i] for i in scores]
        sums = self._kernels.score_sums(self.pairs, self.weight, ranges, stacked, noise)
        return dict(zip(scores, sums, strict=True))

    def weighted_by_information(self, scores: Tensor, noise: Noise) -> "DeviceColumns":
        """Weight each pair by the curvature it adds to the log-likelihood of scores (l, n)."""
        kernel = self._kernels.pair_information
        weight = kernel(self.pairs, self.weight, self.ranges, scores, noise)
        return DeviceColumns(self.pairs, weight, self.sizes, self.n_items)

    def information(self, column: int, scores: Tensor, noise: Noise) -> Tensor:
        """Diagonal of the expected curvature of a column's log-likelihood at its scores (n,)."""
        at = slice(*self.ranges[column])
        alone = DeviceColumns(
            self.pairs[at], self.weight[at], self.sizes[[column]], self.n_items
        ).weighted_by_information(scores[None], noise)
        return alone.neighbour_sums(scores.new_ones((1, self.n_items)))[0]

    def neighbour_sums(self, values: Tensor) -> Tensor:
        """Per column and item, the sum of the opponents' values (l, n) times the pairs' weights."""
        return self._kernels.neighbour_sums(self.pairs, self.weight, self.ranges, values)

    def n_parts(self, n_compared: np.ndarray) -> np.ndarray:
        """Count the connected parts of the items that each column compares.

        ``n_compared`` (n_columns,) is the number of those items.
        """
        torch = require("torch", extra="gpu")
        kernel = self._kernels.connect
        item = torch.arange(self.n_items, dtype=torch.int32, device=self.pairs.device)
        label = item.repeat(len(self), 1)
        # A sample connects all items, as a rule: of log n pairs for each, drawn at random, the
        # chance that one is missed is about 1 / n.
        for store in (self.sample(round(self.n_items * np.log(self.n_items))), self):
            while kernel(store.pairs, store.ranges, label):
                _shorten(label)
            n_parts = (label == item).sum(dim=1).cpu().numpy() - self.n_items + n_compared
            if (n_parts <= 1).all():
                break
        return n_parts

    @property
    def _kernels(self) -> ModuleType:
        return backends.load_for(self.pairs)


class DeviceTriplets:
    """Triplets on a device and the passes over them that a map needs.

    Parameters
    ----------
    ids : tensor of int32, shape (3, m)
        Anchors, near items and far items.
    weight : tensor, shape (m,) or empty
        How often each triplet was observed; empty counts each once.
    n_items : int
    precision : {"single", "double"}
        Of the terms that a loss adds up; sums of values are always double.
    whole : store of triplets, optional
        The store that this one is a sample of.

    Attributes
    ----------
    n_passes : float
        Passes so far, those over samples counted by their share of the triplets.
    """

    def __init__(
        self,
        ids: Tensor,
        weight: Tensor,
        n_items: int,
        precision: str = "double",
        whole: Any = None,
    ) -> None:
        self.ids = ids
        self.weight = weight
        self.n_items = n_items
        self.precision = precision
        self.whole = whole
        self.n_passes = 0.0

    @classmethod
    def of(
        cls,
        host: TripletStore | StreamedTriplets,
        device: str,
        precision: str = "double",
        whole: Any = None,
    ) -> "DeviceTriplets":
        """Send triplets to a device."""
        torch, where = require("torch", extra="gpu"), torch_device(device)
        ids = torch.empty((3, len(host)), dtype=torch.int32, device=where)
        weight = torch.empty(len(host) * host.weighted, dtype=torch.float64, device=where)
        fill((ids.T, weight), sent(host.each_block, device))
        return cls(ids, weight, host.n_items, precision, whole)

    def __len__(self) -> int:
        return self.ids.shape[1]

    @property
    def total(self) -> float:
        """Number of answers: triplets counted by their weight."""
        return float(self.weight.sum()) if len(self.weight) else float(len(self))

    def sample(self, size: int, random_state: Any = 0) -> "DeviceTriplets":
        """Take about ``size`` triplets, drawn at random from stretches of equal length."""
        step = len(self) // max(size, 1)
        if step <= 1:
            return self
        torch, device = require("torch", extra="gpu"), self.ids.device
        starts = torch.arange(0, len(self) - step + 1, step, device=device)
        seed = int(np.random.default_rng(random_state).integers(1 << 62))
        generator = torch.Generator(device).manual_seed(seed)
        shift = torch.randint(step, starts.shape, generator=generator, device=device)
        chosen = starts + shift
        weight = self.weight[chosen] if len(self.weight) else self.weight
        return DeviceTriplets(self.ids[:, chosen], weight, self.n_items, self.precision, self)

    def loss(self, points: Tensor, loss: Loss) -> tuple[float, Tensor]:
        """Value and gradient (n, d) of a loss, summed over all triplets."""
        kernel = self._kernels.loss_sums
        self._count_pass(1.0)
        return kernel(self.ids, self.weight, self._precise(points), loss)

    def curvature(self, points: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        """Blocks (n, d, d) of a loss's curvature, and of its gradients' outer products."""
        kernel = self._kernels.curvature_sums
        self._count_pass(1.0)
        return kernel(self.ids, self.weight, self._precise(points), loss)

    def similarity(self, vectors: Tensor) -> Tensor:
        """Product of S + S' with vectors (n, k), S_ij = times j was far from i minus near."""
        self._count_pass(1.0)
        return self._kernels.similarity_sums(self.ids, self.weight, vectors)

    @cached_property
    def counts(self) -> Tensor:
        """How many triplets each item occurs in, as an anchor and otherwise: (2, n)."""
        torch = require("torch", extra="gpu")
        anchor, near, far = (torch.bincount(ids, minlength=self.n_items) for ids in self.ids)
        return torch.stack([anchor, near + far]).double()

    def n_parts(self) -> int:
        """Count the connected parts of the items that occur."""
        ends = self.ids[:2].T.contiguous()
        n_occurring = np.array([int((self.counts.sum(dim=0) > 0).sum())])
        empty = self.weight[:0]
        n_parts = DeviceColumns(ends, empty, [len(ends)], self.n_items).n_parts(n_occurring)
        if n_parts[0] > 1:
            # The near items alone connect all others, as a rule; here the far ones must help.
            ends = require("torch", extra="gpu").cat([ends, self.ids[1:].T])
            n_parts = DeviceColumns(ends, empty, [len(ends)], self.n_items).n_parts(n_occurring)
        return int(n_parts[0])

    def _precise(self, points: Tensor) -> Tensor:
        return (points.float() if self.precision == "single" else points.double()).contiguous()

    @property
    def _kernels(self) -> ModuleType:
        return backends.load_for(self.ids)

    def _count_pass(self, share: float) -> None:
        self.n_passes += share
        if self.whole is not None:
            self.whole._count_pass(share * len(self) / len(self.whole))


def _shorten(label: Tensor) -> None:
    """Follow the labels of labels to their ends."""
    torch = require("torch", extra="gpu")
    while True:
        further = label
        for _ in range(4):  # to ask whether all are there takes longer
            further = further.gather(1, further.long())
        if torch.equal(further, label):
            return
        label.copy_(further)


def has_room(device: str, n_bytes: float) -> bool:
    """Whether a device has as much memory free, and as much again for the work."""
    if device == "torch-cpu":
        return True
    return 2 * n_bytes <= require("torch", extra="gpu").cuda.mem_get_info(device)[0]
