"""Comparisons and triplets that stay on a device, and the passes over them.

They answer what :class:`MemoryColumns` and :class:`MemoryTriplets` do, with torch tensors on that
device.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import chain, pairwise
from types import ModuleType
from typing import Any

import numpy as np

from ordinate._base.device import TORCH_CPU, torch_device
from ordinate._base.optional import require
from ordinate.kernels import backends
from ordinate.kernels.noise import Noise
from ordinate.passes.contract import EACH_ROW, Answers, HostColumns, HostTriplets
from ordinate.passes.sampling import Runs, sampled_answers
from ordinate.passes.sending import fill, sent
from ordinate.passes.triplets import TripletPasses

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
    def of(cls, host: HostColumns, device: str) -> "DeviceColumns":
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

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return len(self.weight) > 0

    def sample(self, size: int) -> "DeviceColumns":
        """Take about ``size`` pairs of each column, in runs spread evenly over its rows."""
        torch = require("torch", extra="gpu")
        runs = [Runs.of(n_rows, size) for n_rows in self.sizes]

        def take(array: Tensor) -> Tensor:
            ranges = zip(runs, self.ranges, strict=True)
            return torch.cat([chosen.take(array[start:stop]) for chosen, (start, stop) in ranges])

        weight = take(self.weight) if self.weighted else self.weight
        return DeviceColumns(
            take(self.pairs), weight, [chosen.n_rows for chosen in runs], self.n_items
        )

    def counts(self) -> tuple[Tensor, Tensor]:
        """Count how often each item was far, and near: two arrays (n_columns, n_items)."""
        counts = self._kernels.count_sums(self.pairs, self.weight, self.ranges, self.n_items)
        return counts[0], counts[1]

    def counts_and_sample(self, size: int) -> tuple[tuple[Tensor, Tensor], "DeviceColumns"]:
        """Return ``counts()`` and ``sample(size)``."""
        return self.counts(), self.sample(size)

    def gradient(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        stacked = require("torch", extra="gpu").stack(list(scores.values()))
        ranges = [self.ranges[i] for i in scores]
        sums = self._kernels.score_sums(self.pairs, self.weight, ranges, stacked, noise)
        return dict(zip(scores, sums, strict=True))

    def information(self, scores: Mapping[int, Tensor], noise: Noise) -> dict[int, Tensor]:
        """Diagonal of the expected curvature of the log-likelihood, of some columns."""

        def of(i: int, x: Tensor) -> Tensor:
            return self.coupling({i: x}, noise)({i: x.new_ones(self.n_items)})[i]

        return {i: of(i, x) for i, x in scores.items()}

    def coupling(
        self, scores: Mapping[int, Tensor], noise: Noise
    ) -> Callable[[Mapping[int, Tensor]], dict[int, Tensor]]:
        """Return the pass v -> C v; the pairs' curvatures are worked out once."""
        kernels, stack = self._kernels, require("torch", extra="gpu").stack
        store, at = self._only(list(scores)), stack(list(scores.values()))
        curvature = kernels.pair_information(store.pairs, store.weight, store.ranges, at, noise)

        def multiply(values: Mapping[int, Tensor]) -> dict[int, Tensor]:
            stacked = stack([values[i] for i in scores])
            sums = kernels.neighbour_sums(store.pairs, curvature, store.ranges, stacked)
            return dict(zip(scores, sums, strict=True))

        return multiply

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

    def _only(self, columns: list[int]) -> "DeviceColumns":
        """Some of the columns; without a copy if all of them, or one."""
        if columns == list(range(len(self))):
            return self
        cat, at = require("torch", extra="gpu").cat, [slice(*self.ranges[i]) for i in columns]
        pairs, weight = (
            array[at[0]] if len(at) == 1 else cat([array[part] for part in at])
            for array in (self.pairs, self.weight)
        )
        return DeviceColumns(pairs, weight, self.sizes[columns], self.n_items)

    @property
    def _kernels(self) -> ModuleType:
        return backends.load_for(self.pairs)


class DeviceTriplets(TripletPasses):
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
    answers : Answers, optional
        Which triplets ``curvature`` takes for one answer.

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
        whole: TripletPasses | None = None,
        answers: Answers = EACH_ROW,
    ) -> None:
        super().__init__(n_items, whole)
        self.answers = answers
        self.ids = ids
        self.weight = weight
        self.precision = precision

    @classmethod
    def of(
        cls,
        host: HostTriplets,
        device: str,
        precision: str = "double",
        whole: TripletPasses | None = None,
    ) -> "DeviceTriplets":
        """Send triplets to a device."""
        torch, where = require("torch", extra="gpu"), torch_device(device)
        ids = torch.empty((3, len(host)), dtype=torch.int32, device=where)
        weight = torch.empty(len(host) * host.weighted, dtype=torch.float64, device=where)
        fill((ids.T, weight), sent(host.each_block, device))
        number, one_voter = host.answers
        answers = Answers(torch.from_numpy(number).to(where), one_voter)
        return cls(ids, weight, host.n_items, precision, whole, answers)

    def __len__(self) -> int:
        return self.ids.shape[1]

    @property
    def weighted(self) -> bool:
        """Whether triplets have weights."""
        return len(self.weight) > 0

    @property
    def total(self) -> float:
        """Number of answers: triplets counted by their weight."""
        return float(self.weight.sum()) if self.weighted else float(len(self))

    def sample(self, size: int) -> "DeviceTriplets":
        """Take about ``size`` triplets, one at random from each of consecutive stretches.

        Whole answers, where the triplets of each are known.
        """
        chosen = sampled_answers(self.answers.number, len(self), size, self.ids)
        if chosen is None:
            return self
        weight = self.weight[chosen] if self.weighted else self.weight
        answers = self.answers.taken(chosen)
        return DeviceTriplets(
            self.ids[:, chosen], weight, self.n_items, self.precision, self, answers
        )

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

    def _by_answer(self, kernel: str, points: Tensor, *arguments: Any) -> Any:
        return self._pass(kernel, points, *arguments, *self.answers)

    def _sum(self, kernel: str, points: Tensor, *arguments: Any) -> Any:
        sums = getattr(backends.load_for(self.ids), kernel)
        return sums(self.ids, self.weight, points, *arguments)

    def _precise(self, points: Tensor) -> Tensor:
        return precise(points, self.precision)


def precise(points: Tensor, precision: str) -> Tensor:
    """Return points in single or double precision, row by row."""
    return (points.float() if precision == "single" else points.double()).contiguous()


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
    if device == TORCH_CPU:
        return True
    return 2 * n_bytes <= require("torch", extra="gpu").cuda.mem_get_info(device)[0]
