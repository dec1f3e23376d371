"""Plain files of triplets, read in batches from their beginning, however large they are."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_integers
from ordinate.files.ondisk.files import Fingerprint, fingerprint, read_into, reading

COLUMNS = ("anchor", "near", "far")
BATCH = 1 << 20  # rows that are decoded at a time
READ_AHEAD = 4 << 20  # bytes of a column that Parquet's reader holds


class Batch(NamedTuple):
    """Three columns, and the weight or None: integers as NumPy's arrays, texts as Arrow's."""

    columns: list[Any]
    weight: np.ndarray | None

    @property
    def numbers(self) -> bool:
        """Whether all three columns hold integers."""
        return all(isinstance(column, np.ndarray) for column in self.columns)


class PlainFile(NamedTuple):
    """A plain file, or a folder of Parquet files.

    Attributes
    ----------
    path : Path
    files : Fingerprint
    n_bytes : int
        Room that the rows take at most in memory.
    ids : bool
        The format has ids from 0; numbers in all others are labels, unless all occur.
    slow : bool
        Decoding takes longer than any pass.
    weighted : bool
    batches : function to an iterator of Batch
    """

    path: Path
    files: Fingerprint
    n_bytes: int
    ids: bool
    slow: bool
    weighted: bool
    batches: Callable[[], Iterator[Batch]]


def open_plain(path: Path) -> PlainFile:
    """Open a file by its suffix, or a folder of Parquet files."""
    with reading(path):
        if path.is_dir():
            return _parquet(path, sorted(path.glob("*.parquet")))
        if not path.exists():
            raise FileNotFoundError
        suffix = path.suffix.lower()
        if suffix == ".npy":
            return _npy(path)
        if suffix in (".parquet", ".pq"):
            return _parquet(path, [path])
        if suffix in (".arrow", ".feather", ".ipc"):
            return _arrow(path)
        if suffix in (".csv", ".tsv", ".gz"):
            return _csv(path)
    raise ValueError(
        f"{path} is none of the files that can be streamed: .parquet, .arrow, .npy, .csv or .tsv "
        "with the columns anchor, near and far, a folder of Parquet files, or what "
        "ordinate.ondisk.convert makes of them"
    )


def _npy(path: Path) -> PlainFile:
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read_header = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, fortran, dtype = read_header(file)
        offset = file.tell()
    if len(shape) != 2 or shape[1] != 3 or dtype.kind not in "iu" or fortran:
        raise ValueError(
            f"{path} must hold integers in an array of shape (m, 3), row by row; it holds {dtype} "
            f"of shape {shape}{', column by column' if fortran else ''}"
        )
    expected = offset + shape[0] * 3 * dtype.itemsize
    if path.stat().st_size < expected:
        raise OSError(
            f"{path} is truncated: {expected:,} bytes are expected, "
            f"{path.stat().st_size:,} are there"
        )

    def batches() -> Iterator[Batch]:
        for start in range(0, shape[0], BATCH):
            rows = np.empty((min(BATCH, shape[0] - start), 3), dtype)
            read_into(path, rows, offset + start * 3 * dtype.itemsize)
            yield Batch(list(rows.T), None)

    return PlainFile(path, fingerprint([path]), 12 * shape[0], True, False, False, batches)


def _parquet(path: Path, files: list[Path]) -> PlainFile:
    import pyarrow.parquet as pq

    if not files:
        raise FileNotFoundError(f"there is no Parquet file in the folder {path}")
    metadata = []
    for file in files:
        with reading(file):
            metadata.append(pq.read_metadata(file))
    names, weighted = _names(path, metadata[0].schema.to_arrow_schema().names)
    n_rows = sum(found.num_rows for found in metadata)

    def batches() -> Iterator[Batch]:
        seen = 0
        for file in files:
            with reading(file):
                # Unbuffered, a column of a large row group would be read as a whole.
                parquet = pq.ParquetFile(
                    file, buffer_size=READ_AHEAD, page_checksum_verification=True
                )
                for batch in parquet.iter_batches(BATCH, columns=names):
                    seen += len(batch)
                    yield _from_arrow(batch, names, weighted)
        if seen != n_rows:
            raise OSError(f"{path} should have {n_rows:,} rows; {seen:,} could be read")

    return PlainFile(path, fingerprint(files), 12 * n_rows, False, False, weighted, batches)


def _arrow(path: Path) -> PlainFile:
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        file = pa.ipc.open_file(source)
        names, weighted = _names(path, file.schema.names)
        n_batches = file.num_record_batches
        fields = [file.schema.names.index(name) for name in names]
    options = pa.ipc.IpcReadOptions(included_fields=fields)

    def batches() -> Iterator[Batch]:
        with reading(path), pa.OSFile(str(path)) as source:
            file = pa.ipc.open_file(source, options=options)
            for i in range(n_batches):
                batch = file.get_batch(i)
                batch.validate(full=True)
                for start in range(0, len(batch), BATCH):
                    yield _from_arrow(batch.slice(start, BATCH), names, weighted)

    size = path.stat().st_size
    return PlainFile(path, fingerprint([path]), 6 * size, False, False, weighted, batches)


def _csv(path: Path) -> PlainFile:
    from pyarrow import csv

    separator = "\t" if ".tsv" in path.suffixes else ","
    reader = csv.open_csv(path, parse_options=csv.ParseOptions(delimiter=separator))
    names, weighted = _names(path, reader.schema.names)
    del reader

    def batches() -> Iterator[Batch]:
        with reading(path):
            file = csv.open_csv(
                path,
                read_options=csv.ReadOptions(block_size=16 << 20),
                parse_options=csv.ParseOptions(delimiter=separator),
                convert_options=csv.ConvertOptions(include_columns=names),
            )
            for batch in file:
                yield _from_arrow(batch, names, weighted)

    # A row has at least three digits, two separators and an end.
    size = path.stat().st_size
    return PlainFile(path, fingerprint([path]), 2 * size, False, True, weighted, batches)


def _names(path: Path, names: list[str]) -> tuple[list[str], bool]:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ValueError(
            f"{path} needs the columns anchor, near and far; {missing} are missing among {names}"
        )
    weighted = "weight" in names
    return [*COLUMNS, "weight"] if weighted else list(COLUMNS), weighted


def _from_arrow(batch: Any, names: list[str], weighted: bool) -> Batch:
    import pyarrow as pa
    import pyarrow.compute as pc

    def plain(name: str) -> Any:
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            raise ValueError(f"{name} has missing values: drop or repair those rows")
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if name == "weight":
            return column.to_numpy(zero_copy_only=False).astype(float)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return check_integers(name, column.to_numpy(zero_copy_only=False))
        if str(column.type) not in ("string", "large_string", "string_view"):
            raise ValueError(
                f"a column holds {column.type} values; text and numbers can be read: "
                "make text of it"
            )
        column = column.cast(pa.string())
        if pc.any(pc.equal(pc.utf8_trim_whitespace(column), "")).as_py():
            raise ValueError(f"{name} is empty in some rows: drop or repair those rows")
        return column

    return Batch([plain(name) for name in COLUMNS], plain("weight") if weighted else None)
