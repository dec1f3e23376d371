"""Triplets in a file, as estimators see them: rows in blocks, read anew for every pass."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_weights
from ordinate._base.memory import memory_size
from ordinate._base.threads import blocks, in_order, n_threads, sub_blocks
from ordinate.data.folds import in_sample
from ordinate.data.labels import label_array
from ordinate.data.rows import bad_row
from ordinate.data.triplets import Triplets
from ordinate.files.formats.errors import ReadError
from ordinate.files.ondisk.files import Fingerprint, check_unchanged
from ordinate.files.ondisk.grouped import GroupedFile
from ordinate.files.ondisk.layout import COLUMNS
from ordinate.kernels import backends

BLOCK = 1 << 22  # rows that are read and summed at a time
SMALLEST_BLOCK = 1 << 12
READERS = 2
TYPICAL = 2  # threads that the memory limit should have room for
SAMPLE_SHARE = 4  # of the memory limit, that a sample may take
ROW = 12  # bytes
SIZES = {name: np.dtype(kind).itemsize for name, kind in COLUMNS.items()}
NO_WEIGHT = np.empty(0)

Part = tuple[slice, bool]  # rows of a block, and whether it is the last of its part


class Block(NamedTuple):
    """Consecutive rows (k, 3) of uint32 from ``start`` on, and columns (k,) that go with them.

    ``last`` says that a part ends with them.
    """

    start: int
    rows: np.ndarray
    columns: dict[str, np.ndarray]
    last: bool

    @property
    def weight(self) -> np.ndarray:
        """Weights (k,), or nothing."""
        return self.columns.get("weight", NO_WEIGHT)


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
    columns : tuple of str
        What goes with the rows: some of weight, answer, participant.
    memory_limit : int, str or None

    Attributes
    ----------
    n_items : int
    items : ndarray, shape (n_items,)
    participants : list or None
        Labels of those to whom the column ``participant`` refers.
    memory_limit : int
        In bytes.
    source : Fingerprint
        The files that the triplets came from, where ``files`` are a copy.
    is_grouped : bool
        They are in the fast layout, in the order of anchors; else :meth:`grouped` makes a copy.
    by_answer : bool
        The rows are in the order of answers, which they name: those of each lie together.
    """

    is_grouped = False
    by_answer = False
    n_items: int
    participants: list | None = None
    _items: np.ndarray | None = None

    def __init__(
        self, path: Path, files: Fingerprint, columns: tuple[str, ...], memory_limit: Any
    ) -> None:
        self.path, self.files, self.columns = path, files, columns
        self.source = files
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
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return "weight" in self.columns

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in memory with its weight, which is all that passes read."""
        return ROW + SIZES["weight"] * self.weighted

    @property
    def loaded_bytes(self) -> int:
        """Bytes of all rows in memory, with all that goes with them."""
        return (ROW + sum(SIZES[name] for name in self.columns)) * len(self)

    @cached_property
    def n_answers(self) -> int:
        """How many answers the rows came from; as many as rows, if those are not together."""
        if not self.by_answer:
            return len(self)
        return sum(
            1 + int(np.count_nonzero(np.diff(answer))) for _, answer, _ in self.whole_answers()
        )

    @property
    def fitting_bytes(self) -> int:
        """The least limit of which the rows, and a copy in the order of anchors, take half."""
        return 4 * self.loaded_bytes

    @property
    def fits(self) -> bool:
        """Whether the memory limit allows for all rows at once."""
        return self.fitting_bytes <= self.memory_limit

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

    def blocks(
        self, part_rows: int | None = None, *, columns: tuple[str, ...] | None = None
    ) -> Iterator[Block]:
        """Yield all rows in order, read ahead on other threads.

        They are checked until a whole pass has found nothing wrong. Who has summed a block gives
        its rows back to ``buffers``.

        Parameters
        ----------
        part_rows : int, optional
            Parts of as many rows are cut into blocks one by one.
        columns : tuple of str, optional
            What goes along; by default the weight, where there is one.
        """
        check_unchanged(self.files)
        parts = [
            (block, block.stop == part.stop)
            for part in blocks(len(self), part_rows or max(len(self), 1))
            for block in sub_blocks(part, self.block_rows)
        ]
        read = partial(self._read, columns=self._weight if columns is None else columns)
        for block in in_order(read, parts, workers=READERS, ahead=READERS):
            if not self.sound:
                self._check(block)
            yield block
        check_unchanged(self.files)
        self.sound = True

    @property
    def _weight(self) -> tuple[str, ...]:
        return ("weight",) if self.weighted else ()

    def whole_answers(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, the number of each one's answer, and weights or nothing, in whole answers.

        Of a file ``by_answer``: what a block has of its last answer goes along with the next.
        """
        held: list[np.ndarray] = []
        for block in self.blocks(columns=("answer", *self._weight)):
            found = [block.rows, block.columns["answer"], block.weight]
            held = held or [array[:0] for array in found]
            here = [np.concatenate(parts) for parts in zip(held, found, strict=True)]
            self.buffers.give(block.rows)
            rows, answer, weight = here
            if (answer[1:] < answer[:-1]).any():
                raise ReadError(
                    f"{self.path} says that its rows are in the order of their answers, and they "
                    "are not: convert the source again"
                )
            last = int(np.searchsorted(answer, answer[-1]))
            if last:
                yield rows[:last], answer[:last], weight[:last]
            held = [array[last:] for array in here]
        if held:
            yield held[0], held[1], held[2]

    def _check(self, block: Block) -> None:
        n_bad, at, _, _ = backends.load().scan_rows(block.rows.view(np.int32), self.n_items)
        if n_bad:
            what = bad_row(block.start + at, block.rows[at].tolist(), self.n_items)
            raise ValueError(f"{self.path}: {what}")
        check_weights(block.weight, where=f"{self.path}: ", first_row=block.start)

    @abstractmethod
    def _read(self, part: Part, columns: tuple[str, ...]) -> Block:
        """Return the rows of a part, with some of the columns."""

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

    def load(self) -> Triplets:
        """Read all rows into memory, with all that goes with them."""
        rows = np.empty((len(self), 3), np.int32)
        columns = {name: np.empty(len(self), COLUMNS[name]) for name in self.columns}
        for block in self.blocks(columns=self.columns):
            part = slice(block.start, block.start + len(block.rows))
            rows[part] = block.rows
            for name, column in block.columns.items():
                columns[name][part] = column
            self.buffers.give(block.rows)
        people = columns.pop("participant", None)
        loaded = self._table(rows, columns)
        if people is not None:
            labels = label_array(self.participants or ())
            if not 0 <= people.min() <= people.max() < len(labels):
                raise ValueError(
                    f"{self.path} has numbers of participants that it does not know: convert the "
                    "source again"
                )
            loaded.participant, loaded.participant_labels = people, labels
        return loaded

    def sample(self, n_rows: int, seed: int) -> Triplets:
        """Read a sample of whole answers, of about so many rows; participants stay behind.

        Each row is an answer of its own where the file does not say which belong together.
        """
        names = [name for name in self.columns if name != "participant"]
        found: list[list[np.ndarray]] = []
        for block in self.blocks(columns=self.columns):
            answers = block.columns.get("answer")
            if answers is None:
                answers = np.arange(block.start, block.start + len(block.rows))
            taken = in_sample(answers, n_rows / len(self), seed)
            columns = [block.columns[name] for name in names]
            found.append([column[taken] for column in (block.rows, *columns)])
            self.buffers.give(block.rows)
        rows, *columns = map(np.concatenate, zip(*found, strict=True))
        if not len(rows):
            raise ValueError(
                f"a sample of {n_rows:,} of {len(self):,} rows holds no answer: answers of "
                f"{self.path} have too many rows each. Raise the memory limit"
            )
        return self._table(rows.view(np.int32), dict(zip(names, columns, strict=True)))

    def _table(self, rows: np.ndarray, columns: dict[str, np.ndarray]) -> Triplets:
        n_items = self.n_items if self._items is None else None
        return Triplets(rows, items=self._items, n_items=n_items, **columns)


class FastTriplets(TripletFile):
    """Triplets in the fast layout."""

    def __init__(
        self, file: GroupedFile, n_items: int | None = None, memory_limit: Any = None
    ) -> None:
        about = file.about
        super().__init__(file.path, file.files, about.columns, memory_limit)
        if n_items not in (None, about.n_items):
            raise ValueError(f"n_items is {n_items}, but {file.path} has {about.n_items} items")
        self.file, self.n_items, self.starts = file, about.n_items, file.starts
        self.participants = about.participants
        if about.labels is not None:
            self._items = label_array(about.labels)

    def __len__(self) -> int:
        return len(self.file)

    @property
    def in_order(self) -> bool:
        """Whether the rows are in the order of their anchors."""
        return self.file.about.order == "anchor"

    @property
    def anchor_counts(self) -> np.ndarray:
        """How many rows each item is the anchor of: (n_items,)."""
        return np.diff(self.starts)

    def _read_part(
        self, part: slice, names: tuple[str, ...]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        size = part.stop - part.start
        pairs = self.buffers.take(size, 2, self.block_rows)
        columns = {name: np.empty(size, COLUMNS[name]) for name in names}
        self.file.read(part.start, {"pairs": pairs, **columns})
        return pairs, columns

    def _read(self, part: Part, columns: tuple[str, ...]) -> Block:
        cut, ends_part = part
        pairs, found = self._read_part(cut, columns)
        rows = self.buffers.take(len(pairs), 3, self.block_rows)
        rows[:, 1:] = pairs
        self.buffers.give(pairs)
        rows[:, 0] = self.file.anchors(cut.start, cut.stop)
        return Block(cut.start, rows, found, ends_part)


class GroupedTriplets(FastTriplets):
    """Triplets in the fast layout, in the order of their anchors: those of each lie together."""

    is_grouped = True

    @property
    def fitting_bytes(self) -> int:
        """The least limit of which the rows take half: no copy is needed."""
        return 2 * self.loaded_bytes

    def grouped(self, *, backend: str = "auto") -> tuple["GroupedTriplets", np.ndarray]:
        """Return the triplets themselves, and where each anchor starts."""
        return self, self.starts

    def read_pairs(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Read pairs (k, 2) of near and far, and their weights or nothing."""
        pairs, columns = self._read_part(part, self._weight)
        return pairs, columns.get("weight", NO_WEIGHT)
