"""From a file to a table: formats are told by content, not by name."""

import hashlib
import io
import json
import os
import stat
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from ordinate.files.formats import sheets, variables
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.matlab import is_mat
from ordinate.files.formats.packed import CHUNK, is_npz, is_workbook, refuse_too_large, unpack
from ordinate.files.formats.table import Table
from ordinate.files.formats.text import JSON_LINES, read_json, read_text, typed

STANDARD_INPUT = "-"
KNOWN = "CSV, TSV, JSON, Parquet, Feather, Arrow, .xlsx, .mat, .npy and .npz"


def load(path: Any, choice: str | None = None) -> Table:
    """Read a file of any format, or raise :class:`ReadError` with one message.

    ``choice`` names one of the tables of a file that holds several.
    """
    shown = path_in_words(path)
    try:
        packed = _content(shown, Path(path))
        name, content, choice = unpack(shown, Path(path).name, packed, choice)
        if not content or content.isspace():
            raise ReadError(f"{shown}: the file is empty")
        table = _table(shown, name, content, choice)
        table.sha256 = hashlib.sha256(packed).hexdigest()
    except ReadError:
        raise
    except FileNotFoundError:
        raise ReadError(f"{shown}: there is no such file") from None
    # Decoders raise errors of many kinds at broken files: whatever they say, the file is at fault.
    except Exception as error:
        raise unreadable(shown, error) from error
    if table.data.num_rows == 0 or table.data.num_columns == 0:
        raise ReadError(f"{shown}: the file holds no rows")
    return table


def unreadable(shown: str, error: Exception) -> ReadError:
    """Return the error for a file that a decoder gave up on."""
    reason = str(error).split("\n")[0][:300] or type(error).__name__
    return ReadError(
        f"{shown} cannot be read: {reason}. Is it cut off, damaged or of another format?"
    )


def is_pipe(path: str | os.PathLike) -> bool:
    """Tell whether a path is a pipe, or ``-`` for standard input: it can be read but once."""
    if _is_standard_input(path):
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def path_in_words(path: str | os.PathLike) -> str:
    """Return a path for messages."""
    return "standard input" if _is_standard_input(path) else os.fspath(path)


def _is_standard_input(path: str | os.PathLike) -> bool:
    return os.fspath(path) == STANDARD_INPUT and not os.path.exists(path)


def _content(shown: str, path: Path) -> bytes:
    """Read a file as it is now, or what comes through a pipe, as far as memory reaches."""
    if not is_pipe(path):
        if path.exists() and not path.is_file():
            raise ReadError(f"{shown} is a device: save what it gives as a file first")
        return path.read_bytes()
    standard = _is_standard_input(path)
    if standard and sys.stdin.isatty():
        raise ReadError(f"nothing is sent to {shown}: name a file, or send one with a pipe")
    chunks, size = [], 0
    with nullcontext(sys.stdin.buffer) if standard else path.open("rb") as file:
        while chunk := file.read(CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            refuse_too_large(shown, size)
    return b"".join(chunks)


def _table(shown: str, name: str, content: bytes, choice: str | None) -> Table:
    """Read a file that may hold several tables, else one of a single table."""
    if is_workbook(content):
        return sheets.read_workbook(shown, content, choice)
    if is_npz(content):
        return variables.read_npz(shown, content, choice)
    if is_mat(name, content):
        return variables.read_mat(shown, content, choice)
    if choice is not None:
        raise ReadError(
            f"{shown} holds a single table, so that {choice!r} chooses nothing: leave it out"
        )
    return _single(shown, name, content)


def _single(shown: str, name: str, content: bytes) -> Table:
    if content[:4] == b"PAR1":
        return typed(shown, pa.parquet.read_table(pa.BufferReader(content)))
    if content[:6] == b"ARROW1" or content[:4] == b"FEA1":
        return typed(shown, pa.feather.read_table(pa.BufferReader(content)))
    if content[:4] == b"\xff\xff\xff\xff":
        return typed(shown, pa.ipc.open_stream(pa.BufferReader(content)).read_all())
    if content[:6] == b"\x93NUMPY":
        return variables.read_npy(shown, io.BytesIO(content))
    if content[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise ReadError(
            f"{shown} is a workbook with a password, or of Excel before 2007 (.xls); save it as "
            ".xlsx without a password, or as CSV"
        )
    content, notes = _utf8(shown, content)
    table = _text(shown, name, content)
    table.notes[:0] = notes
    return table


def _utf8(shown: str, content: bytes) -> tuple[bytes, list[str]]:
    """Return text in UTF-8 without a byte order mark, and a note where that is uncertain."""
    encoding, notes = encoding_of(shown, [content])
    if encoding == "utf-8-sig":
        return content.removeprefix(b"\xef\xbb\xbf"), notes
    return content.decode(encoding).encode(), notes


def encoding_of(shown: str, chunks: Iterable[bytes]) -> tuple[str, list[str]]:
    """Return the encoding of text that comes in pieces, and a note where that is uncertain."""
    pieces = chain(chunks, [b""])
    first = next(pieces)
    encoding = "utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    strict, lenient = getincrementaldecoder(encoding)(), getincrementaldecoder("utf-8")("ignore")
    n_lines, where, windows = 0, "", True
    for chunk in chain([first], pieces):
        try:
            text = lenient.decode(chunk) if where else strict.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            if encoding == "utf-16":
                raise
            line = n_lines + error.object.count(b"\n", 0, error.start) + 1
            where, text = f"line {line}: the text is not UTF-8", lenient.decode(error.object)
        if "\0" in text:
            raise ReadError(f"{shown} is a binary file of an unknown format; {KNOWN} can be read")
        n_lines += chunk.count(b"\n")
        # Beyond ASCII, text of Windows is hardly ever UTF-8; a damaged file still is, elsewhere.
        windows = windows and text.isascii() and (not where or _is_cp1252(chunk))
    if where and not windows:
        raise ReadError(f"{shown}, {where}; save it as UTF-8")
    if where:
        return "cp1252", [f"{where}, but of Windows; if letters are wrong, save it as UTF-8"]
    return encoding, []


def _is_cp1252(chunk: bytes) -> bool:
    try:
        chunk.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return True


def _text(shown: str, name: str, content: bytes) -> Table:
    if content.lstrip()[:1] in (b"{", b"["):
        try:
            return read_json(shown, name, content)
        except json.JSONDecodeError:
            if name.lower().endswith((".json", *JSON_LINES)):
                raise
    return read_text(shown, content)
