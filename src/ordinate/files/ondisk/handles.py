"""Triplets in a file, as estimators see them: rows in blocks, read anew for every pass."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.memory import memory_size
from ordinate._base.threads import blocks, in_order, n_threads, sub_blocks
from ordinate.data.rows import bad_row
from ordinate.data.triplets import Triplets
from ordinate.files.ondisk.files import Fingerprint, check_space, check_unchanged
from ordinate.files.ondisk.grouped import GroupedFile
from ordinate.files.ondisk.writing import Rows, sort_by_anchor, write_grouped
from ordinate.kernels import backends

BLOCK = 1 << 22  # rows that are read and summed at a time
SMALLEST_BLOCK = 1 << 12
READERS = 2
TYPICAL = 2  # threads that the memory limit should have room for
SAMPLE_SHARE = 4  # of the memory limit, that a sample may take
ROW = 12  # bytes
WEIGHT = 8
NO_WEIGHT = np.empty(0)

Part = tuple[slice, bool]  # rows of a block, and whether it is the last of its part


class Block(NamedTuple):
    """Consecutive rows (k, 3) of uint32 from ``start`` on, and their weights (k,) or nothing.

    ``last`` says that a part ends with them.
    """

    start: int
    rows: np.ndarray
    weight: np.ndarray
    last: bool


class Buffers:
    """Memory that is used again: touching new memory takes longer than filling it."""

    def __init__(self) -> None:
        self._free: deque[np.ndarray] = deque()

    def take(self, n_rows: int, width: int, most_rows: int) -> np.ndarray:
        """Return an array (n_rows, width) of uint32 in memory that nobody uses."""
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = np.empty(3 * most_rows, np.uint32)
        return buffer[: n_rows * width].reshape(n_rows, width)

    def give(self, array: np.ndarray) -> None:
        """Take back memory that is no longer looked at."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        self._free.append(array)


class TripletFile(ABC):
    """Triplets in a file, which :func:`ordinate.ondisk.open_triplets` opens.

    Estimators take it like a table: they load it if it fits, and otherwise read it again for every
    pass.

    Parameters
    ----------
    path : Path
    files : Fingerprint
    weighted : bool
    memory_limit : int, str or None

    Attributes
    ----------
    n_items : int
    items : ndarray, shape (n_items,)
    memory_limit : int
        In bytes.
    """

    n_items: int
    _items: np.ndarray | None = None

    def __init__(self, path: Path, files: Fingerprint, weighted: bool, memory_limit: Any) -> None:
        self.path, self.files, self.weighted = path, files, weighted
        self.memory_limit = memory_size(memory_limit)
        self.buffers = Buffers()
        self.sound = False  # a whole pass has found nothing wrong

    @property
    def items(self) -> np.ndarray:
        """The name of each item; the ids themselves where no labels are known."""
        return np.arange(self.n_items) if self._items is None else self._items

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows, {self.n_items:,} items)"

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in memory, with its weight."""
        return ROW + WEIGHT * self.weighted

    @property
    def fits(self) -> bool:
        """Whether the rows, and a copy in the order of anchors, take half of the limit at most."""
        return 4 * self.row_bytes * len(self) <= self.memory_limit

    @cached_property
    def block_rows(self) -> int:
        """Rows that are read at a time: always the same, if the memory limit allows.

        The number of threads has no part in it, since sums of other blocks are rounded otherwise.
        """
        size = BLOCK
        while size > SMALLEST_BLOCK and self._bytes(size, TYPICAL) > self.memory_limit // 3:
            size //= 2
        return size

    @property
    def workers(self) -> int:
        """Threads that sum blocks: all, if the memory limit allows."""
        workers = n_threads()
        while workers > 1 and self._bytes(self.block_rows, workers) > self.memory_limit // 3:
            workers -= 1
        return workers

    def streaming_bytes(self) -> int:
        """Memory of the blocks that are read, wait or are summed at the same time."""
        return self._bytes(self.block_rows, self.workers)

    def _bytes(self, block_rows: int, workers: int) -> int:
        return (2 * READERS + 2 * workers + 2) * self.row_bytes * block_rows

    def sample_bytes(self, wanted: float) -> float:
        """Memory that a sample may take: at most a share of the limit."""
        return min(wanted, self.memory_limit / SAMPLE_SHARE)

    def blocks(self, part_rows: int | None = None) -> Iterator[Block]:
        """Yield all rows in order, read ahead on other threads.

        They are checked until a whole pass has found nothing wrong. Who has summed a block gives
        its rows back to ``buffers``.

        Parameters
        ----------
        part_rows : int, optional
            Parts of as many rows are cut into blocks one by one.
        """
        check_unchanged(self.files)
        parts = [
            (block, block.stop == part.stop)
            for part in blocks(len(self), part_rows or max(len(self), 1))
            for block in sub_blocks(part, self.block_rows)
        ]
        for block in self._read(parts):
            if not self.sound:
                self._check(block)
            yield block
        check_unchanged(self.files)
        self.sound = True

    def _check(self, block: Block) -> None:
        n_bad, at, _, _ = backends.load().scan_rows(block.rows.view(np.int32), self.n_items)
        if n_bad:
            what = bad_row(block.start + at, block.rows[at].tolist(), self.n_items)
            raise ValueError(f"{self.path}: {what}")
        bad = ~(np.isfinite(block.weight) & (block.weight > 0))
        if bad.any():
            at = int(bad.argmax())
            raise ValueError(
                f"{self.path}: weights must be positive and finite; row {block.start + at} has "
                f"{block.weight[at]}"
            )

    @abstractmethod
    def _read(self, parts: list[Part]) -> Iterator[Block]:
        """Yield the rows of each part."""

    @abstractmethod
    def grouped(self, *, backend: str = "auto") -> tuple["GroupedTriplets", np.ndarray]:
        """Return the triplets in the order of their anchors, and where each anchor starts."""

    @property
    @abstractmethod
    def in_order(self) -> bool:
        """Whether the rows are in the order of their anchors."""

    @property
    @abstractmethod
    def anchor_counts(self) -> np.ndarray:
        """How many rows each item is the anchor of: (n_items,)."""

    def needs_copy(self, *, by_anchor: bool) -> bool:
        """Whether streaming begins with a copy in the fast layout, in a temporary folder."""
        return False

    def quick(self) -> "TripletFile":
        """Return the triplets in a form that is decoded quickly."""
        return self

    def load(self) -> Triplets:
        """Read all rows into memory."""
        rows = np.empty((len(self), 3), np.int32)
        weight = np.empty(len(self)) if self.weighted else None
        for block in self.blocks():
            part = slice(block.start, block.start + len(block.rows))
            rows[part] = block.rows
            if weight is not None:
                weight[part] = block.weight
            self.buffers.give(block.rows)
        n_items = self.n_items if self._items is None else None
        return Triplets(rows, items=self._items, n_items=n_items, weight=weight)


class GroupedTriplets(TripletFile):
    """Triplets in the fast layout: the rows of every anchor lie together."""

    def __init__(
        self, file: GroupedFile, n_items: int | None = None, memory_limit: Any = None
    ) -> None:
        super().__init__(file.path, file.files, file.weighted, memory_limit)
        if n_items not in (None, file.n_items):
            raise ValueError(f"n_items is {n_items}, but {file.path} has {file.n_items} items")
        self.file, self.n_items, self.starts = file, file.n_items, file.starts
        if file.labels is not None:
            whole = all(isinstance(label, int) for label in file.labels)
            self._items = np.array(file.labels, np.int64 if whole else object)

    def __len__(self) -> int:
        return len(self.file)

    @property
    def fits(self) -> bool:
        """Whether the rows take half of the memory limit at most."""
        return 2 * self.row_bytes * len(self) <= self.memory_limit

    def grouped(self, *, backend: str = "auto") -> tuple["GroupedTriplets", np.ndarray]:
        """Return the triplets themselves, and where each anchor starts."""
        return self, self.starts

    @property
    def in_order(self) -> bool:
        """They always are."""
        return True

    @property
    def anchor_counts(self) -> np.ndarray:
        """How many rows each item is the anchor of: (n_items,)."""
        return np.diff(self.starts)

    def read_pairs(self, part: slice, *, verify: bool) -> tuple[np.ndarray, np.ndarray]:
        """Read pairs (k, 2) of near and far, and their weights or nothing."""
        size = part.stop - part.start
        pairs = self.buffers.take(size, 2, self.block_rows)
        weight = np.empty(size) if self.weighted else NO_WEIGHT
        self.file.read(part.start, part.stop, pairs, weight, verify)
        return pairs, weight

    def _read(self, parts: list[Part]) -> Iterator[Block]:
        def read(cut: Part) -> Block:
            part, last_block = cut
            pairs, weight = self.read_pairs(part, verify=not self.sound)
            rows = self.buffers.take(len(pairs), 3, self.block_rows)
            rows[:, 1:] = pairs
            self.buffers.give(pairs)
            first, last = np.searchsorted(self.starts, [part.start, part.stop - 1], side="right")
            bounds = np.clip(self.starts[first - 1 : last + 1], part.start, part.stop)
            rows[:, 0] = np.repeat(np.arange(first - 1, last, dtype=np.uint32), np.diff(bounds))
            return Block(part.start, rows, weight, last_block)

        return in_order(read, parts, workers=READERS, ahead=READERS)


def regroup(stored: TripletFile, target: Path, labels: list | None = None) -> None:
    """Write triplets in the fast layout; those in another order are sorted, in bounded memory.

    ``labels`` are for a file that holds ids.
    """
    if labels is None and stored._items is not None:
        labels = stored._items.tolist()
    rows = regrouped(stored, target.parent)
    write_grouped(target, rows, stored.n_items, labels, stored.weighted)


def regrouped(stored: TripletFile, folder: Path | None = None) -> Iterator[Rows]:
    """Yield all rows in the order of their anchors, with files in ``folder`` if need be."""

    def rows() -> Iterator[Rows]:
        for block in stored.blocks():
            yield block.rows, block.weight
            stored.buffers.give(block.rows)

    if folder is not None:
        # The result, and while sorting all rows besides.
        check_space(folder, (8 + (not stored.in_order) * stored.row_bytes) * len(stored))
    if stored.in_order or folder is None:
        return rows()
    most_rows = max(stored.memory_limit // (4 * stored.row_bytes), 1)
    return sort_by_anchor(rows(), stored.anchor_counts, folder, most_rows)
