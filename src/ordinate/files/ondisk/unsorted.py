"""Triplets in a plain file, in any order, and their copy in the fast layout."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ordinate._base.checks import check_whole
from ordinate._base.threads import ahead
from ordinate.files.ondisk.files import check_space, check_unchanged
from ordinate.files.ondisk.grouped import FolderFile
from ordinate.files.ondisk.handles import READERS, Block, GroupedTriplets, Part, TripletFile
from ordinate.files.ondisk.layout import COLUMNS
from ordinate.files.ondisk.plain import PlainFile
from ordinate.files.ondisk.survey import Survey, survey_of
from ordinate.files.ondisk.writing import (
    Rows,
    Whole,
    record_type,
    sort_by_anchor,
    write_grouped,
)


class PlainTriplets(TripletFile):
    """Triplets in a plain file, in any order."""

    def __init__(self, file: PlainFile, n_items: int | None, memory_limit: Any = None) -> None:
        columns = ("weight",) if file.weighted else ()
        super().__init__(file.path, file.files, columns, memory_limit)
        self.file = file
        self._given = None if n_items is None else check_whole("n_items", n_items, least=3)

    @cached_property
    def survey(self) -> Survey:
        """Numbers of rows and items, anchors and labels, from a first reading of the file."""
        check_unchanged(self.files)
        return survey_of(self.file, self._given)

    def __len__(self) -> int:
        return self.survey.n_rows

    @property
    def n_items(self) -> int:  # type: ignore[override]
        """Number of items."""
        return len(self.survey.counts)

    @property
    def _items(self) -> np.ndarray | None:  # type: ignore[override]
        return self.survey.labels

    @property
    def in_order(self) -> bool:
        """Whether the rows are in the order of their anchors."""
        return self.survey.in_order

    @property
    def anchor_counts(self) -> np.ndarray:
        """How many rows each item is the anchor of: (n_items,)."""
        return self.survey.counts

    def _read(self, parts: list[Part], columns: tuple[str, ...]) -> Iterator[Block]:
        # One thread is enough to decode ahead: Arrow has threads of its own inside.
        return ahead(self._cut(parts, columns), READERS)

    def _cut(self, parts: list[Part], names: tuple[str, ...]) -> Iterator[Block]:
        """Cut the file's batches into blocks."""
        batches = self.file.batches()
        found: list[np.ndarray] = [np.empty(0)]
        at = 0
        for part, last in parts:
            size, filled = part.stop - part.start, 0
            rows = self.buffers.take(size, 3, self.block_rows)
            columns = {name: np.empty(size, COLUMNS[name]) for name in names}
            while filled < size:
                if at == len(found[0]):
                    batch = next(batches, None)
                    if batch is None:
                        raise OSError(f"{self.path} has fewer than its {len(self):,} rows")
                    ids = self.survey.encode(batch, part.start + filled)
                    found, at = [*ids, *(getattr(batch, name) for name in names)], 0
                n = min(size - filled, len(found[0]) - at)
                for target, values in zip([*rows.T, *columns.values()], found, strict=True):
                    target[filled : filled + n] = values[at : at + n]
                at, filled = at + n, filled + n
            yield Block(part.start, rows, columns, last)
        if at < len(found[0]) or next(batches, None) is not None:
            raise OSError(f"{self.path} has more than its {len(self):,} rows")

    def grouped(self, *, backend: str = "auto") -> tuple["GroupedTriplets", np.ndarray]:
        """Write the rows in the order of their anchors to a temporary folder, once."""
        return self._sorted, self._sorted.starts

    def needs_copy(self, *, by_anchor: bool) -> bool:
        """Whether rows are wanted by anchor, or take longer to decode than to sum."""
        return by_anchor or self.file.slow or self.survey.labels is not None

    def quick(self) -> TripletFile:
        """Return the triplets, or a copy in the fast layout."""
        return self._sorted if self.needs_copy(by_anchor=False) else self

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
    whole = Whole(stored.n_items, labels, stored.columns, stored.participants or ())
    width = record_type(stored.columns).itemsize
    # The result, and while sorting all rows besides.
    check_space(target.parent, (width + (not stored.in_order) * width) * len(stored))
    rows = all_rows(stored)
    if not stored.in_order:
        most_rows = max(stored.memory_limit // (4 * width), 1)
        rows = sort_by_anchor(rows, stored.anchor_counts, target.parent, most_rows)
    write_grouped(target, rows, whole)


def all_rows(stored: TripletFile) -> Iterator[Rows]:
    """Yield all rows, with all that goes with them."""
    for block in stored.blocks(whole=True):
        yield block.rows, block.columns
        stored.buffers.give(block.rows)
