"""A first survey of a plain file: how many rows and items there are, and which labels."""

from typing import NamedTuple

import numpy as np

from ordinate.data.labels import label_array
from ordinate.data.rows import LARGEST_ID, bad_row, count_items
from ordinate.files.ondisk.plain import Batch, PlainFile

LARGEST_LABEL = 1 << 28  # number up to which labels are looked up in a table


class Survey(NamedTuple):
    """What a first pass tells about a file.

    Attributes
    ----------
    n_rows : int
    counts : ndarray of int64, shape (n_items,)
        Rows of each anchor.
    in_order : bool
        The anchors never fall.
    labels : ndarray or None
        None where the numbers in the file are ids.
    codes : ndarray or None
        The id of each number, where labels are numbers of moderate size.
    """

    n_rows: int
    counts: np.ndarray
    in_order: bool
    labels: np.ndarray | None = None
    codes: np.ndarray | None = None

    def encode(self, batch: Batch, start: int) -> list[np.ndarray]:
        """Return the columns of a batch that begins at row ``start`` as ids, or raise."""
        if self.labels is None:
            check_range(batch, start, len(self.counts))
            return batch.columns
        if self.codes is not None:
            check_range(batch, start, len(self.codes))
            return [self.codes[column] for column in batch.columns]
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array(self.labels.tolist())
        return [
            pc.index_in(pa.array(column).cast(known.type), value_set=known).to_numpy()
            for column in batch.columns
        ]


def check_range(batch: Batch, start: int, n_items: int) -> None:
    """Raise if an id of a batch that begins at row ``start`` is not in ``0..n_items-1``."""
    if not batch.numbers:
        raise TypeError("integer ids from 0 are expected, but there are labels of another kind")
    for column in batch.columns:
        if len(column) and (column.min() < 0 or column.max() >= n_items):
            at = int(((column < 0) | (column >= n_items)).argmax())
            row = [int(column[at]) for column in batch.columns]
            raise ValueError(bad_row(start + at, row, n_items))


def survey_of(file: PlainFile, n_items: int | None) -> Survey:
    """Read a file once, or twice if its labels are texts.

    Numbers are ids if the format or ``n_items`` says so, or if they are 0 to n - 1 without a gap.
    """
    found = _survey_ids(file, n_items)
    if found is None:
        found = _survey_labels(file)
    if found.n_rows == 0:
        raise ValueError(f"there are no triplets in {file.path}")
    return found


def _survey_ids(file: PlainFile, n_items: int | None) -> Survey | None:
    """Count numbers as ids; None if they are texts, or too large or too small for that."""
    ids = file.ids or n_items is not None
    counts, seen = np.zeros(n_items or 0, np.int64), np.zeros(0, bool)
    n_rows, last, in_order = 0, -1, True
    for batch in file.batches():
        if len(batch.columns[0]) == 0:
            continue
        if not ids and not _moderate(batch):
            return None
        check_range(batch, n_rows, n_items or LARGEST_ID + 1)
        if n_items is None:
            largest = int(max(column.max() for column in batch.columns))
            if ids:
                count_items(largest, file.n_bytes // 12)
            counts = _grown(counts, largest + 1)
            seen = _grown(seen, largest + 1)
        anchors = batch.columns[0]
        counts += np.bincount(anchors, minlength=len(counts))
        if not ids:
            for column in batch.columns:
                seen[column] = True
        in_order, last = in_order and _ordered(anchors, last), int(anchors[-1])
        n_rows += len(anchors)
    if ids or seen.all():
        return Survey(n_rows, counts, in_order)
    labels = np.flatnonzero(seen)
    return Survey(n_rows, counts[labels], in_order, labels, np.cumsum(seen, dtype=np.int32) - 1)


def _survey_labels(file: PlainFile) -> Survey:
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct: set = set()
    for batch in file.batches():
        for column in batch.columns:
            distinct.update(pc.unique(pa.array(column)).to_pylist())
    kinds = {type(label).__name__ for label in distinct}
    if len(kinds) > 1:
        raise TypeError(f"labels must be of one kind; those in {file.path} are {sorted(kinds)}")
    labels = label_array(sorted(distinct))
    found = Survey(0, np.zeros(len(labels), np.int64), True, labels)
    n_rows, last, in_order = 0, -1, True
    for batch in file.batches():
        anchors = found.encode(batch, n_rows)[0]
        if len(anchors):
            found.counts[:] += np.bincount(anchors, minlength=len(labels))
            in_order, last = in_order and _ordered(anchors, last), int(anchors[-1])
            n_rows += len(anchors)
    return found._replace(n_rows=n_rows, in_order=in_order)


def _moderate(batch: Batch) -> bool:
    return batch.numbers and all(
        column.min() >= 0 and column.max() < LARGEST_LABEL for column in batch.columns
    )


def _ordered(anchors: np.ndarray, last: int) -> bool:
    return bool(anchors[0] >= last and (anchors[1:] >= anchors[:-1]).all())


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    if len(array) >= size:
        return array
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown
