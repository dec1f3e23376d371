"""Triplets in the order in which they came, and their copy in the fast layout.

They lie in arrays, each in a file, which are read again for every pass.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate.files.ondisk.files import check_space, fingerprint, read_into
from ordinate.files.ondisk.grouped import FolderFile
from ordinate.files.ondisk.handles import Block, GroupedTriplets, Part, TripletFile
from ordinate.files.ondisk.sorting import Rows, Whole, record_type, sort_by_anchor
from ordinate.files.ondisk.writing import write_grouped

LABEL = 300  # bytes that a label takes, about, while rows are sorted


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


class PlainTriplets(TripletFile):
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

    def grouped(self, *, backend: str = "auto") -> tuple[GroupedTriplets, np.ndarray]:
        """Write the rows in the order of their anchors to a temporary folder, once."""
        return self._sorted, self._sorted.starts

    @cached_property
    def _sorted(self) -> GroupedTriplets:
        folder = Path(tempfile.mkdtemp(prefix="ordinate-"))
        try:
            regroup(self, folder / "grouped")
            copy = GroupedTriplets(FolderFile(folder / "grouped"), memory_limit=self.memory_limit)
        except BaseException:
            shutil.rmtree(folder)
            raise
        # Not with this object: a fit may hold on to the copy alone.
        weakref.finalize(copy, shutil.rmtree, folder, ignore_errors=True)
        return copy


def regroup(stored: TripletFile, target: Path) -> None:
    """Write triplets in the fast layout; those in another order are sorted, in bounded memory."""
    labels = None if stored._items is None else stored._items.tolist()
    people = stored.participants or ()
    # Labels are in memory besides, and again as they are written.
    held = LABEL * (len(labels or ()) + len(people))
    room = max(stored.memory_limit - held, 1)
    whole = Whole(stored.n_items, labels, stored.columns, people, room, held)
    width = record_type(stored.columns).itemsize
    # The result, and while sorting all rows besides.
    check_space(target.parent, (width + (not stored.in_order) * width) * len(stored))
    rows = all_rows(stored)
    if not stored.in_order:
        rows = sort_by_anchor(rows, stored.anchor_counts, target.parent, whole)
    write_grouped(target, rows, whole)


def all_rows(stored: TripletFile) -> Iterator[Rows]:
    """Yield all rows, with all that goes with them."""
    for block in stored.blocks(whole=True):
        yield block.rows, block.columns
        stored.buffers.give(block.rows)
