"""The fast layout: pairs (near, far) in the order of their anchors, as compact numbers.

Two forms. A folder of arrays is what a disk reads fastest:

    pairs.npy    (m, 2) unsigned integers of 8, 16 or 32 bits
    starts.npy   (n_items + 1,): the rows of anchor i are starts[i] to starts[i + 1]
    weight.npy   (m,), where rows have weights
    about.json   rows, items, labels, checksums of stretches of pairs and weights

A Parquet file with the columns anchor, near, far is what other programs read: its row groups begin
where long columns begin, pages carry checksums, and the number of items and the labels stand in its
metadata.
"""

import json
import threading
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.files.ondisk.files import Fingerprint, fingerprint, read_into, reading

LAYOUT = "ordinate triplets grouped by anchor, 1"
ABOUT = "about.json"
ARRAYS = ("pairs.npy", "starts.npy")
KEY = b"ordinate"
STRETCH = 1 << 20  # rows, at most, that share a checksum or a row group


class GroupedFile(ABC):
    """Rows in the order of their anchors, any of which can be read.

    Attributes
    ----------
    path : Path
    files : Fingerprint
    n_items : int
    labels : list or None
    starts : ndarray of int64, shape (n_items + 1,)
    weighted : bool
    """

    path: Path
    files: Fingerprint
    n_items: int
    labels: list | None
    starts: np.ndarray
    weighted: bool

    def __len__(self) -> int:
        return int(self.starts[-1])

    @abstractmethod
    def read(
        self, start: int, stop: int, pairs: np.ndarray, weight: np.ndarray, verify: bool
    ) -> None:
        """Fill ``pairs`` (k, 2) of uint32 and, where rows have weights, ``weight`` (k,).

        ``verify`` compares checksums.
        """


class FolderFile(GroupedFile):
    """The folder of arrays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path):
            about = json.loads((path / ABOUT).read_text())
            if about.get("layout") != LAYOUT:
                raise ValueError(f"{path} has a layout that this version does not know")
            self.n_items, self.labels = about["n_items"], about["labels"]
            self.checksums, self.weighted = about["checksums"], about["weighted"]
            self.bounds = np.array(about["bounds"], np.int64)
            self._names = ["pairs", "weight"] if self.weighted else ["pairs"]
            self._offsets = {}
            self.starts = np.load(path / "starts.npy")
            n_rows = about["n_rows"]
            if (
                self.starts.shape != (self.n_items + 1,)
                or self.starts[0] != 0
                or self.starts[-1] != n_rows
                or (np.diff(self.starts) < 0).any()
                or checksum([self.starts]) != about["starts_checksum"]
            ):
                raise ValueError(f"{path}: starts.npy does not fit its checksum")
            self._dtype = np.dtype(about["dtype"])
            for name, width in self._widths.items():
                file = path / f"{name}.npy"
                self._offsets[name] = file.stat().st_size - n_rows * width
                with file.open("rb") as header:
                    np.lib.format.read_magic(header)
                    shape, _, _ = np.lib.format.read_array_header_1_0(header)
                    if self._offsets[name] != header.tell() or shape[0] != n_rows:
                        raise OSError(
                            f"{file} is truncated or corrupt: it should hold {n_rows:,} rows of "
                            f"{width} bytes, and has {file.stat().st_size:,} bytes"
                        )
        names = [*self._names, "starts"]
        self.files = fingerprint([path / ABOUT, *(path / f"{name}.npy" for name in names)])

    @property
    def _widths(self) -> dict[str, int]:
        return dict(zip(self._names, (2 * self._dtype.itemsize, 8), strict=False))

    def read(
        self, start: int, stop: int, pairs: np.ndarray, weight: np.ndarray, verify: bool
    ) -> None:
        """Fill ``pairs`` and ``weight``."""
        stored = pairs if self._dtype == pairs.dtype else np.empty(pairs.shape, self._dtype)
        arrays = [stored, weight] if self.weighted else [stored]
        for name, array in zip(self._names, arrays, strict=True):
            offset = self._offsets[name] + start * self._widths[name]
            read_into(self.path / f"{name}.npy", array, offset)
        if verify:
            self._verify(start, stop, arrays)
        if stored is not pairs:
            pairs[:] = stored

    def _verify(self, start: int, stop: int, arrays: list[np.ndarray]) -> None:
        """Compare the checksums of all stretches that lie at least partly between two rows."""
        first = int(np.searchsorted(self.bounds, start, side="right")) - 1
        while first < len(self.checksums) and self.bounds[first] < stop:
            low, high = int(self.bounds[first]), int(self.bounds[first + 1])
            if start <= low and high <= stop:
                stretch = [array[low - start : high - start] for array in arrays]
            else:
                stretch = self._stretch(low, high)
            if checksum(stretch) != self.checksums[first]:
                raise OSError(
                    f"{self.path} is corrupt: rows {low:,} to {high:,} do not fit their checksum"
                )
            first += 1

    def _stretch(self, start: int, stop: int) -> list[np.ndarray]:
        """Read rows as they are stored: pairs, and weights where there are any."""
        pairs = np.empty((stop - start, 2), self._dtype)
        stretch = [pairs, np.empty(stop - start)] if self.weighted else [pairs]
        for name, array in zip(self._names, stretch, strict=True):
            offset = self._offsets[name] + start * self._widths[name]
            read_into(self.path / f"{name}.npy", array, offset)
        return stretch


class ParquetFile(GroupedFile):
    """The Parquet file."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self.path = path
        with reading(path):
            self.metadata = pq.read_metadata(path)
            about = json.loads(self.metadata.metadata[KEY])
            self.files = fingerprint([path])
            self.n_items, self.labels = about["n_items"], about["labels"]
            self.weighted = about["weighted"]
            groups = range(self.metadata.num_row_groups)
            sizes = [self.metadata.row_group(g).num_rows for g in groups]
            self._bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            self._local = threading.local()
            self.starts = self._find_starts()

    def _find_starts(self) -> np.ndarray:
        """Count the rows of anchors; most groups have one, and say so in their statistics."""
        counts, last = np.zeros(self.n_items, np.int64), 0
        for g, n_rows in enumerate(np.diff(self._bounds)):
            known = self.metadata.row_group(g).column(0).statistics
            low, high = known.min, known.max
            if low < last or high >= self.n_items:
                raise ValueError(f"{self.path}: the anchors are not in order")
            if low == high:
                counts[low] += n_rows
            else:
                anchors = self._group(g, ["anchor"], True).column(0).to_numpy()
                if (anchors[1:] < anchors[:-1]).any():
                    raise ValueError(f"{self.path}: the anchors are not in order")
                counts[low : high + 1] += np.bincount(anchors - low, minlength=high - low + 1)
            last = high
        return np.concatenate([[0], np.cumsum(counts)])

    def _group(self, group: int, columns: list[str], verify: bool) -> Any:
        import pyarrow.parquet as pq

        # A file of its own for each thread; what is verified does not change later.
        name = "verifying" if verify else "plain"
        if not hasattr(self._local, name):
            file = pq.ParquetFile(
                self.path, metadata=self.metadata, page_checksum_verification=verify
            )
            setattr(self._local, name, file)
        found = getattr(self._local, name).read_row_group(group, columns=columns, use_threads=False)
        if len(found) != self._bounds[group + 1] - self._bounds[group]:
            raise OSError(f"{self.path} is truncated: row group {group} is incomplete")
        return found

    def read(
        self, start: int, stop: int, pairs: np.ndarray, weight: np.ndarray, verify: bool
    ) -> None:
        """Fill ``pairs`` and ``weight``."""
        names = ["near", "far", "weight"] if self.weighted else ["near", "far"]
        targets = [pairs[:, 0], pairs[:, 1], weight]
        first = int(np.searchsorted(self._bounds, start, side="right")) - 1
        with reading(self.path):
            while first < len(self._bounds) - 1 and self._bounds[first] < stop:
                table = self._group(first, names, verify)
                low, high = max(start, self._bounds[first]), min(stop, self._bounds[first + 1])
                for column, target in zip(table.columns, targets, strict=False):
                    here = column.slice(low - self._bounds[first], high - low)
                    target[low - start : high - start] = here.to_numpy()
                first += 1


def open_grouped(path: Path) -> GroupedFile | None:
    """Open a file of the fast layout; None if it is something else."""
    if path.is_dir():
        # An about.json alone may be anybody's.
        ours = (path / ABOUT).exists() and any((path / name).exists() for name in ARRAYS)
        return FolderFile(path) if ours else None
    if path.suffix.lower() not in (".parquet", ".pq") or not path.exists():
        return None
    import pyarrow.parquet as pq

    with reading(path):
        metadata = pq.read_metadata(path).metadata or {}
    if json.loads(metadata.get(KEY, b"{}")).get("layout") != LAYOUT:
        return None
    return ParquetFile(path)


def checksum(arrays: list[np.ndarray]) -> int:
    """CRC-32 of several arrays, one after the other."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return crc
