"""The fast layout: pairs (near, far) in the order of their anchors or answers, as compact numbers.

Two forms. A folder of arrays is what a disk reads fastest:

    pairs.npy        (m, 2) unsigned integers of 8, 16 or 32 bits
    starts.npy       (n_items + 1,): the rows of anchor i are starts[i] to starts[i + 1]
    weight.npy       (m,), where rows have weights
    answer.npy       (m,), where they have answers: which one each came from
    participant.npy  (m,), where it is known who answered: an index into the participants' labels
    anchor.npy       (m,), in the order of answers alone; starts.npy then only counts
    about.json       order, numbers of rows and items, labels, checksums of all arrays and its own

A Parquet file with the columns anchor, near, far is what other programs read: its row groups begin
where long columns begin, and about.json stands in its metadata. A checksum of the footer, which
other programs do not look at, stands before it.

All but the rows is checked as it is opened. Rows are checked in stretches of a million at most,
each when it is first read: nothing is summed that has not been checked.
"""

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.files.formats.arrow_files import arrow_file
from ordinate.files.formats.errors import ReadError
from ordinate.files.ondisk.files import Fingerprint, fingerprint, read_into, reading
from ordinate.files.ondisk.footer import footer_is_sealed
from ordinate.files.ondisk.layout import (
    COLUMNS,
    HEADER,
    STARTS,
    About,
    checksum,
    described,
    npy_header,
)

ABOUT = "about.json"
KEY = b"ordinate"
STRETCH = 1 << 20  # rows, at most, that share a checksum or a row group
ARRAYS = ("pairs", "starts", "anchor", *COLUMNS)


class GroupedFile(ABC):
    """Rows in the fast layout, any of which can be read.

    Attributes
    ----------
    path : Path
    files : Fingerprint
    about : About
    starts : ndarray of int64, shape (n_items + 1,)
    """

    path: Path
    files: Fingerprint
    about: About
    starts: np.ndarray

    def __len__(self) -> int:
        return self.about.n_rows

    def read(self, start: int, into: dict[str, np.ndarray]) -> None:
        """Fill arrays by their names, from row ``start`` on, and check what is read first."""
        stored = {}
        for name, array in into.items():
            same = array.dtype == np.dtype(self.about.types[name])
            stored[name] = array if same else np.empty(array.shape, self.about.types[name])
            self._fetch(name, start, stored[name])
        for names in self.about.checksums:
            if not stored.keys().isdisjoint(names):
                self._check(names, start, stored)
        for name, array in into.items():
            if array is not stored[name]:
                array[:] = stored[name]

    def anchors(self, start: int, stop: int) -> np.ndarray:
        """Return the anchors of rows: as they are stored, or as their starts tell."""
        if self.about.order == "anchor":
            return anchors_between(self.starts, start, stop)
        anchors = np.empty(stop - start, np.uint32)
        self.read(start, {"anchor": anchors})
        return anchors

    @abstractmethod
    def _fetch(self, name: str, start: int, array: np.ndarray) -> None:
        """Fill an array with rows as they are stored."""

    def _begin(self, starts: np.ndarray) -> None:
        """Take the starts of the anchors if they fit; no stretch of rows is checked yet."""
        expected = self.about.checksums.get(("starts",))
        if (
            (starts[0], starts[-1]) != (0, len(self))
            or (np.diff(starts) < 0).any()
            or (expected is not None and expected != [checksum(starts)])
        ):
            raise ValueError("the numbers of rows of the anchors do not fit their checksum")
        self.starts, self._bounds = starts, np.array(self.about.bounds)
        self._sound = {
            names: np.zeros(len(sums), bool) for names, sums in self.about.checksums.items()
        }

    def _check(self, names: tuple[str, ...], start: int, stored: dict[str, np.ndarray]) -> None:
        """Compare the checksums of the stretches that rows lie in; of some only a part was read."""
        stop = start + len(next(iter(stored.values())))
        first = int(np.searchsorted(self._bounds, start, side="right")) - 1
        for i in range(first, int(np.searchsorted(self._bounds, stop))):
            if self._sound[names][i]:
                continue
            low, high = int(self._bounds[i]), int(self._bounds[i + 1])
            if start <= low and high <= stop and stored.keys() >= set(names):
                arrays = [stored[name][low - start : high - start] for name in names]
            else:
                arrays = [self._stored(name, low, high) for name in names]
            if checksum(*arrays) != self.about.checksums[names][i]:
                raise ReadError(
                    f"{self.path} is corrupt: {' and '.join(names)} of rows {low:,} to {high:,} do "
                    "not fit their checksum. Convert the source again"
                )
            self._sound[names][i] = True

    def _stored(self, name: str, low: int, high: int) -> np.ndarray:
        array = np.empty(self.about.shape(name, high - low), self.about.types[name])
        self._fetch(name, low, array)
        return array


class FolderFile(GroupedFile):
    """The folder of arrays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path):
            _refuse_missing(path, [ABOUT])
            self.about = described((path / ABOUT).read_bytes())
            arrays = [*self.about.types, "starts"]
            _refuse_missing(path, [f"{name}.npy" for name in arrays])
            for name in set(ARRAYS) - set(arrays):
                if (path / f"{name}.npy").exists():
                    raise ValueError(f"{name}.npy is there, but {ABOUT} does not mention it")
            for name in arrays:
                self._check_header(name)
            starts = np.empty(self.about.n_items + 1, STARTS)
            read_into(path / "starts.npy", starts, HEADER)
            self._begin(starts)
        self.files = fingerprint([path / ABOUT, *(path / f"{name}.npy" for name in arrays)])

    def _check_header(self, name: str) -> None:
        about, file = self.about, self.path / f"{name}.npy"
        kind = about.types.get(name, STARTS)
        shape = about.shape(name, about.n_items + 1 if name == "starts" else about.n_rows)
        header = npy_header(shape, kind)
        size = HEADER + int(np.prod(shape)) * np.dtype(kind).itemsize
        with file.open("rb") as opened:
            # NumPy wrote that of layout 1, in its own way.
            known = (about.version, name) == (1, "starts") or opened.read(HEADER) == header
        if not known or file.stat().st_size != size:
            raise ReadError(
                f"{file} is truncated or corrupt: it should hold {shape[0]:,} rows in {size:,} "
                f"bytes with the header that belongs to them, and has {file.stat().st_size:,} bytes"
            )

    def _fetch(self, name: str, start: int, array: np.ndarray) -> None:
        width = array.itemsize * (array.shape[1] if array.ndim > 1 else 1)
        read_into(self.path / f"{name}.npy", array, HEADER + start * width)


def _refuse_missing(folder: Path, names: list[str]) -> None:
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise ReadError(
            f"{folder} is incomplete: {', '.join(missing)} is missing. Copy all files of "
            "a folder in the fast layout, or convert the source again"
        )


class ParquetFile(GroupedFile):
    """The Parquet file."""

    def __init__(self, path: Path, metadata: Any, sealed: bool) -> None:
        self.path, self.metadata, self.files = path, metadata, fingerprint([path])
        with reading(path):
            sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
            bounds = np.cumsum([0, *sizes]).tolist()
            self.about = described(
                metadata.metadata[KEY],
                n_rows=metadata.num_rows,
                bounds=bounds,
                dtype="<u4",
                checksums=None,
            )
            if self.about.bounds != bounds or sealed != (self.about.version > 1):
                raise ValueError(
                    "its footer is not the one that ordinate wrote: if another program wrote it, "
                    "leave out the metadata 'ordinate', which belong to the file that was read"
                )
            self._local = threading.local()
            self._begin(self._find_starts())

    def _find_starts(self) -> np.ndarray:
        """Count the rows of anchors; most groups have one, and say so in their statistics."""
        counts, last = np.zeros(self.about.n_items, np.int64), 0
        for g, n_rows in enumerate(np.diff(self.about.bounds)):
            known = self.metadata.row_group(g).column(0).statistics
            if known is not None and known.has_min_max and known.min == known.max:
                anchors, sizes = np.array([known.min]), np.array([n_rows])
                in_order = True
            else:
                column = self._group(g, ["anchor"]).column(0).to_numpy()
                anchors, sizes = np.unique(column, return_counts=True)
                in_order = bool((column[1:] >= column[:-1]).all())
            if self.about.order == "anchor" and (not in_order or anchors[0] < last):
                raise ValueError("the anchors are not in order")
            if anchors[-1] >= len(counts):
                raise ValueError(f"it has {len(counts):,} items, but an anchor {anchors[-1]:,}")
            counts[anchors] += sizes
            last = anchors[-1]
        return np.concatenate([[0], np.cumsum(counts)])

    def _group(self, group: int, columns: list[str]) -> Any:
        """Read a row group, by a file that this thread alone uses."""
        import pyarrow.parquet as pq

        if not hasattr(self._local, "file"):
            self._local.file = pq.ParquetFile(
                arrow_file(self.path),
                metadata=self.metadata,
                page_checksum_verification=not self.about.checksums,
            )
        found = self._local.file.read_row_group(group, columns=columns, use_threads=False)
        if len(found) != self.about.bounds[group + 1] - self.about.bounds[group]:
            raise ReadError(f"{self.path} is truncated: row group {group} is incomplete")
        return found

    def _fetch(self, name: str, start: int, array: np.ndarray) -> None:
        names, stop = ["near", "far"] if name == "pairs" else [name], start + len(array)
        targets = array.T if array.ndim > 1 else [array]
        group = int(np.searchsorted(self._bounds, start, side="right")) - 1
        with reading(self.path):
            while group < len(self._bounds) - 1 and self._bounds[group] < stop:
                table = self._group(group, names)
                first = self._bounds[group]
                low, high = max(start, first), min(stop, self._bounds[group + 1])
                for column, target in zip(names, targets, strict=True):
                    here = table.column(column).slice(low - first, high - low)
                    target[low - start : high - start] = here.to_numpy()
                group += 1


def anchors_between(starts: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Anchors of rows in their order, where those of each anchor start."""
    first, last = np.searchsorted(starts, [start, stop - 1], side="right")
    bounds = np.clip(starts[first - 1 : last + 1], start, stop)
    return np.repeat(np.arange(first - 1, last, dtype=np.uint32), np.diff(bounds))


def open_grouped(path: Path) -> GroupedFile | None:
    """Open a file of the fast layout; None if it is something else."""
    if path.is_dir():
        # An about.json, or an array, alone may be anybody's.
        names = (ABOUT, "pairs.npy", "starts.npy")
        found = sum((path / name).is_file() for name in names)
        return FolderFile(path) if found > 1 else None
    if path.suffix.lower() not in (".parquet", ".pq") or not path.exists():
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(path):
        sealed = footer_is_sealed(path)
    try:
        metadata = pq.read_metadata(arrow_file(path))
    except (pa.ArrowException, OSError, ValueError):
        return None  # nobody's, since it is no Parquet file: readers know what to say
    ours = sealed or KEY in (metadata.metadata or {})
    return ParquetFile(path, metadata, sealed) if ours else None
