"""A file as blocks of rows, each a table, for files that are not to be in memory as a whole."""

import gzip
import re
import zipfile
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from ordinate._base.memory import available_memory, in_words
from ordinate.files.formats.arrow_files import arrow_file, largest_batch
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.files import encoding_of
from ordinate.files.formats.folder import names_within, readable_files
from ordinate.files.formats.quotes import check_quotes
from ordinate.files.formats.table import Files, Table
from ordinate.files.formats.text import (
    SAMPLE_BYTES,
    TextForm,
    begin_text,
    line_of,
    parse_text,
    row_from_0,
    single_blanks,
    typed,
    unequal_line,
)
from ordinate.files.formats.variables import array_header, array_table

CHUNK = 1 << 20  # bytes that are read at a time
HEAD = 4 * SAMPLE_BYTES  # bytes that show how a text is written
FIRST_LINES = 4  # that the first block has at least: names, and two lines that Qualtrics adds
LONGEST_LINE = 1 << 23  # bytes; Arrow reads none that are half as long
READ_AHEAD = 1 << 20  # bytes of a column that Parquet's reader holds
# Bytes of memory that reading takes, about, as measured: for each byte of a text and of other
# formats, each row and each cell of a table, and each row of an array.
TEXT, OTHER, ROW, CELL, ARRAY_ROW = 13, 12, 150, 20, 60

Tables = Callable[[int], Iterator[Table]]


class Blocks(NamedTuple):
    """A file that can be read block by block, or not.

    Attributes
    ----------
    files : list of Path
    needed : int
        Bytes of memory that it takes, about, to read the file as a whole.
    tables : function of int, or None
        Yields tables that take about so many bytes of memory to read; None where all rows are
        needed at once, and ``why`` says why.
    why : str
    least : int
        Bytes of memory that blocks of any size take besides.
    """

    files: list[Path]
    needed: int
    tables: Tables | None
    why: str = ""
    least: int = 0


def open_blocks(path: Path) -> Blocks:
    """Look at the first bytes of a file, or at the files of a folder."""
    if path.is_dir():
        return _folder(path)
    with path.open("rb") as file:
        head = file.read(HEAD)
    size = path.stat().st_size
    if head[:4] == b"PAR1":
        return _parquet(path)
    if head[:6] == b"ARROW1":
        return _arrow(path)
    if head[:4] == b"\xff\xff\xff\xff":
        return Blocks([path], OTHER * size, None, "a stream of Arrow's")
    if head[:6] == b"\x93NUMPY":
        return _npy(path)
    packed = head[:2] == b"\x1f\x8b"
    if packed:
        with gzip.open(path) as file:
            head = file.read(HEAD)
        size = _unpacked_size(path)
    inner = re.sub(r"\.gz$", "", path.name.lower())
    if head[:2] == b"PK":
        if not packed:
            with zipfile.ZipFile(path) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
        return Blocks([path], OTHER * size, None, "a workbook or zip file")
    if head.lstrip()[:1] in (b"{", b"[") or inner.endswith((".json", ".jsonl", ".ndjson")):
        return Blocks([path], OTHER * size, None, "JSON")
    if b"\0" in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return Blocks([path], OTHER * size, None, "in this format")
    return Blocks([path], TEXT * size, TextBlocks(path, packed).tables)


# Text


def _chunks(path: Path, packed: bool) -> Iterator[bytes]:
    with gzip.open(path) if packed else path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _unpacked_size(path: Path) -> int:
    """Return the size of what a file unpacks to, as far as that matters."""
    size, free = 0, available_memory()
    for chunk in _chunks(path, packed=True):
        size += len(chunk)
        if TEXT * size > free:
            break
    return size


def _decoded(path: Path, packed: bool, encoding: str, newline: bytes) -> Iterator[bytes]:
    """Yield text in UTF-8, whose lines end with a line feed."""
    decoder = getincrementaldecoder(encoding)()
    for k, chunk in enumerate(chain(_chunks(path, packed), [b""])):
        if k == 0 and encoding == "cp1252":
            chunk = chunk.removeprefix(BOM_UTF8)  # of a file that is no UTF-8 any more
        yield decoder.decode(chunk, final=not chunk).encode().replace(newline, b"\n")


def _lines(shown: str, chunks: Iterator[bytes], size: int, n_lines: int = 1) -> Iterator[bytes]:
    """Yield whole lines, about ``size`` bytes at a time, and at first so many lines at least."""
    waiting: list[bytes] = []
    n_waiting = 0
    for chunk in chunks:
        while chunk:
            # The end of a line beyond the size, if it is in this chunk.
            end = chunk.find(b"\n", max(size - n_waiting - 1, 0)) + 1
            waiting.append(chunk[:end] if end else chunk)
            n_waiting += len(waiting[-1])
            chunk = chunk[end:] if end else b""
            if end and sum(piece.count(b"\n") for piece in waiting) >= n_lines:
                yield b"".join(waiting)
                waiting, n_waiting, n_lines = [], 0, 1
            if n_waiting > size + LONGEST_LINE:
                raise ReadError(
                    f"{shown}: a line has more than {in_words(LONGEST_LINE)}. Is it a text table? "
                    "Its rows must be lines"
                )
    if n_waiting:
        yield b"".join(waiting)


class TextBlocks:
    """Text whose rows are lines; what holds for the whole of it is found once."""

    def __init__(self, path: Path, packed: bool) -> None:
        self.path, self.packed = path, packed

    @cached_property
    def _encoding(self) -> tuple[str, list[str]]:
        return encoding_of(str(self.path), _chunks(self.path, self.packed))

    @cached_property
    def _newline(self) -> bytes:
        """Excel for Macintosh ends lines in its own way."""
        text = _decoded(self.path, self.packed, self._encoding[0], b"\n")
        return b"\n" if any(b"\n" in chunk for chunk in text) else b"\r"

    def _decoded(self) -> Iterator[bytes]:
        return _decoded(self.path, self.packed, self._encoding[0], self._newline)

    @cached_property
    def _form(self) -> tuple[TextForm, bytes, int, bool]:
        """How the table is written, its repaired head, bytes of the head, and if quotes occur."""
        head = next(_lines(str(self.path), self._decoded(), HEAD), b"")
        if not head.strip():
            raise ReadError(f"{self.path}: the file is empty")
        last, quoted = head, False
        for chunk in _after(self._decoded(), len(head)):
            last = chunk.rstrip(b"\r\n")[-8:] or last
            quoted = quoted or b'"' in chunk
        form, begun = begin_text(str(self.path), head, last)
        return form, begun, len(head), quoted or b'"' in begun

    def tables(self, n_bytes: int) -> Iterator[Table]:
        """Yield blocks of lines as tables."""
        form, begun, n_head, quoted = self._form
        body = chain([begun], _after(self._decoded(), n_head))
        line, n_rows = form.n_above, 0
        pieces = _lines(str(self.path), body, max(n_bytes // TEXT, 1), FIRST_LINES)
        for k, lines in enumerate(pieces):
            content = single_blanks(lines, form.delimiter, quoted)
            table = _text_table(str(self.path), content, form, k, line, n_rows)
            table.notes += [*self._encoding[1], *form.notes]
            if k == 0 and table.data.num_rows:
                header = [cell.strip() for cell in table.cells(0, range(form.n_columns))]
            yield replace(table, header=header if n_rows or table.data.num_rows else None)
            n_rows += table.data.num_rows
            line += _n_lines(lines)


def _n_lines(content: bytes) -> int:
    return content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")


def _after(chunks: Iterator[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield what follows the first bytes."""
    for chunk in chunks:
        yield chunk[n_bytes:]
        n_bytes = max(n_bytes - len(chunk), 0)


def _text_table(
    shown: str, content: bytes, form: TextForm, block: int, line: int, start: int
) -> Table:
    """Read the lines of a block that follows so many lines and rows of the file."""
    quoted = b'"' in content
    try:
        data, n_bad = parse_text(shown, content, form, n_above=line, inside=block > 0)
    except ReadError as error:  # a field in quotes may go on in the next block
        raise NotByLineError from error
    if data.num_columns != form.n_columns:
        raise ReadError(f"{shown}: line 1 is too long, or its quotes do not match")
    if quoted and data.num_rows + n_bad != sum(map(bool, content.splitlines())):
        raise NotByLineError
    if quoted:
        check_quotes(shown, content, form.delimiter, data, line)
    bad_lines = (line + unequal_line(content, form), n_bad, form) if n_bad else None

    def place(row: int) -> str:
        here = line_of(content, form.delimiter, lambda i, cells: i == row - start)
        return f"line {line + here}"

    return Table(
        shown,
        data,
        None,
        place,
        text=True,
        undecided=True,
        delimiter=form.delimiter,
        rows=np.arange(start, start + data.num_rows),
        block=block,
        bad_lines=bad_lines,
    )


class NotByLineError(Exception):
    """Fields in quotes hold line breaks, so that blocks of lines are not blocks of rows."""


# Tables with types


def _numbered(tables: Iterator[Table]) -> Iterator[Table]:
    """Tell blocks where in the file they stand."""
    start = 0
    for k, table in enumerate(tables):
        n_rows = table.data.num_rows
        yield replace(table, rows=np.arange(start, start + n_rows), block=k)
        start += n_rows


def _row_bytes(schema: pa.Schema) -> int:
    """Return the memory that it takes, about, to read a row."""
    return ROW + CELL * len(schema.names)


def _parquet(path: Path) -> Blocks:
    metadata = pq.read_metadata(arrow_file(path))
    row_bytes = _row_bytes(metadata.schema.to_arrow_schema())

    def tables(n_bytes: int) -> Iterator[Table]:
        # Unbuffered, a column of a large row group would be read as a whole.
        with arrow_file(path) as source:
            file = pq.ParquetFile(source, buffer_size=READ_AHEAD, page_checksum_verification=True)
            for batch in file.iter_batches(max(n_bytes // row_bytes, 1)):
                yield typed(str(path), pa.Table.from_batches([batch]))

    needed = row_bytes * metadata.num_rows
    return Blocks([path], needed, lambda n_bytes: _numbered(tables(n_bytes)))


def _arrow(path: Path) -> Blocks:
    """Cut the batches of a file; a batch is in memory as a whole."""
    with arrow_file(path) as source:
        n_rows = pa.dataset.IpcFileFormat().make_fragment(source).count_rows()
    with arrow_file(path) as source:
        file = pa.ipc.open_file(source)
        n_batches, row_bytes = file.num_record_batches, _row_bytes(file.schema)

    def tables(n_bytes: int) -> Iterator[Table]:
        with arrow_file(path) as source:
            file = pa.ipc.open_file(source)
            for k in range(n_batches):
                batch = file.get_batch(k)
                batch.validate(full=True)
                for start in range(0, len(batch), max(n_bytes // row_bytes, 1)):
                    part = batch.slice(start, max(n_bytes // row_bytes, 1))
                    yield typed(str(path), pa.Table.from_batches([part]))

    return Blocks(
        [path],
        row_bytes * n_rows,
        lambda n_bytes: _numbered(tables(n_bytes)),
        least=largest_batch(path),
    )


def _npy(path: Path) -> Blocks:
    shape, fortran, dtype, offset = array_header(path)
    if len(shape) != 2 or dtype.hasobject or fortran or not shape[0]:
        return Blocks(
            [path],
            OTHER * path.stat().st_size,
            None,
            "an array column by column, or of another form",
        )
    numbers = dtype.kind in "iu" and shape[1] == 3
    row_bytes = ARRAY_ROW if numbers else ROW + CELL * shape[1] + dtype.itemsize * shape[1]

    def tables(n_bytes: int) -> Iterator[Table]:
        n_rows = max(n_bytes // row_bytes, 1)
        with path.open("rb") as file:
            file.seek(offset)
            for start in range(0, shape[0], n_rows):
                n = min(n_rows, shape[0] - start)
                array = np.fromfile(file, dtype, n * shape[1])
                if len(array) < n * shape[1]:
                    raise ReadError(f"{path} cannot be read: it is cut off")
                yield array_table(str(path), array.reshape(n, shape[1]))

    return Blocks([path], row_bytes * shape[0], lambda n_bytes: _numbered(tables(n_bytes)))


# Folders


def _folder(path: Path) -> Blocks:
    """Read Parquet files with the same columns as one; other files are needed at once."""
    files, notes = readable_files(path)
    each = [open_blocks(file) for file in files]
    needed = sum(blocks.needed for blocks in each)
    parquet = all(file.suffix.lower() in (".parquet", ".pq") for file in files)
    schemas = [pq.read_schema(arrow_file(file)) for file in files] if parquet else []
    if len(each) == 1 and each[0].tables is not None:
        return each[0]._replace(tables=lambda n_bytes: _noting(each[0].tables, n_bytes, notes))
    if not schemas or any(not schema.equals(schemas[0]) for schema in schemas):
        return Blocks(files, needed, None, "a folder of files")
    starts = np.cumsum([0, *(pq.read_metadata(arrow_file(file)).num_rows for file in files)])[:-1]
    found = Files(names_within(path, files), starts)

    def place(row: int) -> str:
        k = int(found.of(np.array([row]))[0])
        return f"{found.names[k]}, {row_from_0(row - int(starts[k]))}"

    def tables(n_bytes: int) -> Iterator[Table]:
        inside = (table for blocks in each if blocks.tables for table in blocks.tables(n_bytes))
        for table in _numbered(inside):
            yield replace(table, path=str(path), files=found, place=place, notes=[*notes])

    return Blocks(files, needed, tables)


def _noting(tables: Tables | None, n_bytes: int, notes: list[str]) -> Iterator[Table]:
    for table in tables(n_bytes) if tables else ():
        table.notes[:0] = notes
        yield table
