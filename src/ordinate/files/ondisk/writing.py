"""Writing the fast layout, from rows in any order, in bounded memory."""

import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ordinate._base.writing import whole_file, whole_folder
from ordinate.data.rows import group_by_anchor
from ordinate.files.ondisk.grouped import ABOUT, KEY, LAYOUT, STRETCH, checksum
from ordinate.kernels import backends

LONG = STRETCH // 16  # rows of one anchor that begin a stretch of their own
MOST_FILES = 128  # that are open at the same time while sorting, about
HEADER = 128  # bytes of a .npy file before its data

Rows = tuple[np.ndarray, np.ndarray]  # triplets (k, 3), and weights (k,) or nothing


class Writer(ABC):
    """Takes rows in the order of their anchors; subclasses write a stretch of them."""

    def __init__(self, path: Path, n_items: int, labels: list | None, weighted: bool) -> None:
        self.path, self.n_items, self.labels, self.weighted = path, n_items, labels, weighted
        self.counts = np.zeros(n_items, np.int64)
        self._waiting: list[Rows] = []
        self._n_waiting = 0

    def add(self, rows: np.ndarray, weight: np.ndarray) -> None:
        """Take rows that follow those before; they are written in stretches."""
        anchors = rows[:, 0]
        begins = np.concatenate([[0], np.flatnonzero(anchors[1:] != anchors[:-1]) + 1, [len(rows)]])
        lengths = np.diff(begins)
        self.counts[anchors[begins[:-1]]] += lengths
        # The last anchor's rows may go on for long.
        cuts = {int(at) for at in [*begins[:-1][lengths >= LONG], begins[-2]]}
        if self._waiting and self._waiting[-1][0][-1, 0] == anchors[0]:
            cuts.discard(0)
        start = 0
        for stop in [*sorted(cuts - {0}), len(rows)]:
            if start in cuts:
                self._flush()
            while start < stop:
                end = min(stop, start + STRETCH - self._n_waiting)
                self._waiting.append((rows[start:end], weight[start:end]))
                self._n_waiting += end - start
                if self._n_waiting == STRETCH:
                    self._flush()
                start = end
        # The arrays may be used again by who gave them.
        self._waiting = [(rows.copy(), weight.copy()) for rows, weight in self._waiting]

    def close(self) -> None:
        """Write what is left, and what is known of the whole."""
        self._flush()

    @abstractmethod
    def abandon(self) -> None:
        """Let go of open files."""

    def _flush(self) -> None:
        if self._waiting:
            rows = np.concatenate([rows for rows, _ in self._waiting])
            self._stretch(rows, np.concatenate([weight for _, weight in self._waiting]))
        self._waiting, self._n_waiting = [], 0

    @abstractmethod
    def _stretch(self, rows: np.ndarray, weight: np.ndarray) -> None:
        """Write rows that share a checksum or a row group."""

    @property
    def _about(self) -> dict:
        return {
            "layout": LAYOUT,
            "n_items": self.n_items,
            "labels": self.labels,
            "weighted": self.weighted,
        }


class FolderWriter(Writer):
    """Writes the folder of arrays."""

    def __init__(self, path: Path, n_items: int, labels: list | None, weighted: bool) -> None:
        super().__init__(path, n_items, labels, weighted)
        self.dtype = np.dtype(f"<u{smallest(n_items)}")
        self._checksums: list[int] = []
        self._bounds = [0]
        path.mkdir(exist_ok=True)
        self._open = ExitStack()
        self._files = {}
        for name in ["pairs", "weight"] if weighted else ["pairs"]:
            self._files[name] = self._open.enter_context((path / f"{name}.npy").open("wb"))
            self._files[name].write(bytes(HEADER))

    def _stretch(self, rows: np.ndarray, weight: np.ndarray) -> None:
        stored = [rows[:, 1:].astype(self.dtype, order="C")]
        if self.weighted:
            stored.append(weight.astype("<f8"))
        for file, array in zip(self._files.values(), stored, strict=True):
            file.write(array.data.cast("B"))
        self._checksums.append(checksum(stored))
        self._bounds.append(self._bounds[-1] + len(rows))

    def close(self) -> None:
        """Write headers, the starts of anchors and the description."""
        super().close()
        n_rows = self._bounds[-1]
        shapes = {"pairs": ((n_rows, 2), self.dtype), "weight": ((n_rows,), np.dtype("<f8"))}
        for name, file in self._files.items():
            file.seek(0)
            file.write(npy_header(*shapes[name]))
            file.flush()
            os.fsync(file.fileno())  # a disk may only now say that it is full
        self._open.close()
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        np.save(self.path / "starts.npy", starts)
        about = self._about | {
            "n_rows": n_rows,
            "dtype": self.dtype.str,
            "bounds": self._bounds,
            "checksums": self._checksums,
            "starts_checksum": checksum([starts]),
        }
        (self.path / ABOUT).write_text(json.dumps(about))

    def abandon(self) -> None:
        """Let go of open files."""
        self._open.close()


class ParquetWriter(Writer):
    """Writes the Parquet file."""

    def __init__(self, path: Path, n_items: int, labels: list | None, weighted: bool) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(path, n_items, labels, weighted)
        fields = [(name, pa.uint32()) for name in ("anchor", "near", "far")]
        if weighted:
            fields.append(("weight", pa.float64()))
        self._schema = pa.schema(fields).with_metadata({KEY: json.dumps(self._about)})
        # Random ids do not compress; large plain pages are decoded fastest.
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="none",
            use_dictionary=["anchor"],
            write_statistics=["anchor"],
            write_page_checksum=True,
            data_page_size=4 * STRETCH,
        )

    def _stretch(self, rows: np.ndarray, weight: np.ndarray) -> None:
        import pyarrow as pa

        columns = [*np.ascontiguousarray(rows.T).view(np.uint32)]
        if self.weighted:
            columns.append(weight)
        self._writer.write_table(
            pa.table(columns, schema=self._schema), row_group_size=max(len(rows), 1)
        )

    def close(self) -> None:
        """Write the footer."""
        super().close()
        self._writer.close()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Let go of the open file."""
        self._writer.close()


def smallest(n_items: int) -> int:
    """Bytes of the smallest unsigned integer that holds every id."""
    return 1 if n_items <= 1 << 8 else 2 if n_items <= 1 << 16 else 4


def npy_header(shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    """Return the header of a .npy file, always of the same length."""
    text = str({"descr": dtype.str, "fortran_order": False, "shape": shape})
    magic = np.lib.format.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
    return magic + text.ljust(HEADER - 11).encode() + b"\n"


def whole_target(target: Path, force: bool) -> AbstractContextManager[Path]:
    """Return what yields a name to write the fast layout to: that of a file, or of a folder."""
    return (whole_file if is_parquet(target) else whole_folder)(target, force=force)


def is_parquet(target: Path) -> bool:
    """Tell whether a Parquet file is meant, rather than a folder of arrays."""
    return target.suffix.lower() in (".parquet", ".pq")


def write_grouped(
    target: Path, blocks: Iterable[Rows], n_items: int, labels: list | None, weighted: bool
) -> None:
    """Write rows that come in the order of their anchors."""
    kind = ParquetWriter if is_parquet(target) else FolderWriter
    writer = kind(target, n_items, labels, weighted)
    try:
        for rows, weight in blocks:
            writer.add(rows, weight)
        writer.close()
    finally:
        writer.abandon()


def sort_by_anchor(
    blocks: Iterable[Rows], counts: np.ndarray, folder: Path, most_rows: int
) -> Iterator[Rows]:
    """Yield all rows in the order of their anchors, holding at most about ``most_rows``.

    An external counting sort. ``counts`` (n_items,) tells how to cut the anchors into ranges that
    are small enough; the rows of each range go to a file of its own, and each file is sorted in
    memory. An anchor that is too large for that needs no sorting. The sort is stable.
    """
    backend, n_items = backends.load(), len(counts)
    bounds = ranges(counts, max(most_rows, int(counts.sum()) // MOST_FILES))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".ordinate-sort-") as name:
        files = [Path(name) / str(i) for i in range(len(bounds) - 1)]
        weighted = _distribute(blocks, files, bounds, n_items)
        for i, file in enumerate(files):
            n_rows = file.stat().st_size // 12
            one_anchor = bounds[i + 1] - bounds[i] == 1
            size = most_rows if one_anchor else max(n_rows, 1)
            for at in range(0, n_rows, size):
                rows = np.fromfile(file, np.int32, 3 * size, offset=12 * at).reshape(-1, 3)
                columns: tuple[np.ndarray, ...] = ()
                if weighted:
                    columns = (np.fromfile(_weights_of(file), float, size, offset=8 * at),)
                if not one_anchor:
                    rows, _, columns = group_by_anchor(rows, n_items, backend, columns)
                yield rows, columns[0] if columns else np.empty(0)
            file.unlink()


def _distribute(
    blocks: Iterable[Rows], files: list[Path], bounds: np.ndarray, n_items: int
) -> bool:
    """Append the rows of each range of anchors to its file; return whether there are weights."""
    backend = backends.load()
    with ExitStack() as stack:
        outs = [stack.enter_context(file.open("wb")) for file in files]
        weight_outs: list[Any] = []
        for rows, weight in blocks:
            grouped, starts, columns = group_by_anchor(
                rows.view(np.int32), n_items, backend, (weight,) if len(weight) else ()
            )
            if columns and not weight_outs:
                weight_outs = [stack.enter_context(_weights_of(file).open("wb")) for file in files]
            for i, out in enumerate(outs):
                part = slice(starts[bounds[i]], starts[bounds[i + 1]])
                out.write(grouped[part].reshape(-1).data)
                if columns:
                    weight_outs[i].write(np.ascontiguousarray(columns[0][part]).data)
    return bool(weight_outs)


def _weights_of(file: Path) -> Path:
    return file.with_suffix(".weight")


def ranges(counts: np.ndarray, most_rows: int) -> np.ndarray:
    """Cut anchors into ranges of at most ``most_rows`` rows, or of one anchor."""
    ends = np.cumsum(counts)
    bounds = [0]
    while bounds[-1] < len(counts):
        reached = ends[bounds[-1] - 1] if bounds[-1] else 0
        stop = int(np.searchsorted(ends, reached + most_rows, side="right"))
        bounds.append(max(stop, bounds[-1] + 1))
    return np.array(bounds)


def until_out_of_order(blocks: Iterator[Rows], rest: list[Iterator[Rows]]) -> Iterator[Rows]:
    """Yield blocks as long as the anchors are in order; what is left goes to ``rest``."""
    last = -1
    for rows, weight in blocks:
        anchors = rows[:, 0]
        if anchors[0] < last or (anchors[1:] < anchors[:-1]).any():
            rest.append(chain([(rows, weight)], blocks))
            return
        yield rows, weight
        last = anchors[-1]


def write_spool(path: Path, blocks: Iterable[Rows], weighted: bool) -> None:
    """Write rows as they come to an Arrow file."""
    import pyarrow as pa

    names = ["anchor", "near", "far", "weight"] if weighted else ["anchor", "near", "far"]
    schema = pa.schema(
        [(name, pa.float64() if name == "weight" else pa.uint32()) for name in names]
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
        for rows, weight in blocks:
            columns = [np.ascontiguousarray(column).view(np.uint32) for column in rows.T]
            file.write_batch(
                pa.record_batch([*columns, weight] if weighted else columns, schema=schema)
            )
