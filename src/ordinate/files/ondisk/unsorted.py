"""Triplets in the order in which they came, and their copy in the fast layout.

They lie in arrays, each in a file, which are read again for every pass.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.writing import Scratch
from ordinate.files.ondisk.files import check_space, fingerprint, read_into
from ordinate.files.ondisk.grouped import FolderFile, GroupedFile
from ordinate.files.ondisk.handles import (
    Block,
    FastTriplets,
    GroupedTriplets,
    Part,
    TripletFile,
)
from ordinate.files.ondisk.sorting import Rows, Whole, record_type, sort_by_anchor, sort_by_answer
from ordinate.files.ondisk.writing import write_grouped

PIECE = 1 << 16  # answers that are looked at together


class Numbers(NamedTuple):
    """An array in a file, row by row, after some bytes of something else."""

    path: Path
    dtype: np.dtype
    width: int = 1
    offset: int = 0

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from ``start`` to ``stop``."""
        array = np.empty((stop - start, self.width), self.dtype)
        read_into(self.path, array, self._place(start))
        return array

    def fill(self, start: int, rows: np.ndarray) -> None:
        """Fill an array of uint32 with the rows from ``start`` on."""
        if self.dtype in (np.int32, np.uint32):
            read_into(self.path, rows, self._place(start))
        else:
            rows[:] = self.read(start, start + len(rows))

    def _place(self, row: int) -> int:
        return self.offset + row * self.width * self.dtype.itemsize


class UngroupedTriplets(TripletFile):
    """Triplets that are copied before their anchors can be read one by one."""

    def grouped(self, *, backend: str = "auto") -> tuple[GroupedTriplets, np.ndarray]:
        """Write the rows in the order of their anchors to a temporary folder, once."""
        return self._sorted, self._sorted.starts

    @cached_property
    def _sorted(self) -> GroupedTriplets:
        with Scratch() as scratch:
            folder = scratch.path / "grouped"
            regroup(self, folder)
            copy = GroupedTriplets(FolderFile(folder), memory_limit=self.memory_limit)
            scratch.keep_for(copy)  # not for this object: a fit may hold on to the copy alone
        return copy


class TripletsByAnswer(FastTriplets, UngroupedTriplets):
    """Triplets in the fast layout, in the order of their answers: the rows of each lie together."""

    by_answer = True


def fast_triplets(
    file: GroupedFile, n_items: int | None = None, memory_limit: Any = None
) -> FastTriplets:
    """Return the handle of a file in the fast layout, in whichever order it is."""
    handle = TripletsByAnswer if file.about.order == "answer" else GroupedTriplets
    return handle(file, n_items, memory_limit)


class PlainTriplets(UngroupedTriplets):
    """Triplets in arrays, in any order.

    Parameters
    ----------
    path : Path
        The file that they were read from.
    arrays : dict of str to Numbers
        ``rows``, ids from 0; and ``weight``, ``answer`` and ``participant`` where there are such.
    anchor_counts : ndarray, shape (n_items,)
    ordered : bool
        The anchors never fall.
    items : ndarray or None
    participants : list or None
        Their labels.
    memory_limit : int, str or None
    """

    def __init__(
        self,
        path: Path,
        arrays: dict[str, Numbers],
        anchor_counts: np.ndarray,
        ordered: bool,
        items: np.ndarray | None = None,
        participants: list | None = None,
        memory_limit: Any = None,
    ) -> None:
        files = fingerprint(array.path for array in arrays.values())
        columns = tuple(name for name in arrays if name != "rows")
        super().__init__(path, files, columns, memory_limit)
        self.arrays, self._items, self.participants = arrays, items, participants
        self.n_items, self._counts, self._ordered = len(anchor_counts), anchor_counts, ordered

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def in_order(self) -> bool:
        """Whether the rows are in the order of their anchors."""
        return self._ordered

    @cached_property
    def by_answer(self) -> bool:  # type: ignore[override]
        """Whether the rows of each answer lie together, in the order of answers."""
        if "answer" not in self.columns:
            return False
        last = np.iinfo(np.int64).min
        for start in range(0, len(self), PIECE):
            answer = self.arrays["answer"].read(start, min(start + PIECE, len(self)))[:, 0]
            if answer[0] < last or (answer[1:] < answer[:-1]).any():
                return False
            last = answer[-1]
        return True

    @property
    def anchor_counts(self) -> np.ndarray:
        """How many rows each item is the anchor of: (n_items,)."""
        return self._counts

    def _read(self, part: Part, columns: tuple[str, ...]) -> Block:
        cut, ends_part = part
        rows = self.buffers.take(cut.stop - cut.start, 3, self.block_rows)
        self.arrays["rows"].fill(cut.start, rows)
        found = {name: self.arrays[name].read(cut.start, cut.stop)[:, 0] for name in columns}
        return Block(cut.start, rows, found, ends_part)


def regroup(stored: TripletFile, target: Path, order: str = "anchor") -> None:
    """Write triplets in the fast layout; those in another order are sorted, in bounded memory."""
    labels = None if stored._items is None else stored._items.tolist()
    people = stored.participants or ()
    whole = Whole.within(
        stored.memory_limit, stored.n_items, labels, stored.columns, people, order=order
    )
    is_sorted = stored.in_order if order == "anchor" else stored.by_answer
    width = record_type(stored.columns).itemsize
    # The result, and while sorting all rows besides.
    check_space(target.parent, (width + (not is_sorted) * width) * len(stored))
    rows = all_rows(stored)
    if not is_sorted and order == "anchor":
        rows = sort_by_anchor(rows, stored.anchor_counts, target.parent, whole)
    elif not is_sorted:
        rows = sort_by_answer(rows, len(stored), target.parent, whole)
    write_grouped(target, rows, whole)


def all_rows(stored: TripletFile) -> Iterator[Rows]:
    """Yield all rows, with all that goes with them."""
    for block in stored.blocks(columns=stored.columns):
        yield block.rows, block.columns
        stored.buffers.give(block.rows)
