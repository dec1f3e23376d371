"""A checksum of a Parquet file's footer.

The footer is found from the file's end, so that a checksum can stand before it, where no program
looks for anything. Parquet has checksums of pages alone, and its library ends the process at some
damaged footers.
"""

import os
import zlib
from pathlib import Path
from typing import BinaryIO

MARK = b"ordinate"
SIZE = len(MARK) + 8  # bytes of the mark and the checksum
END = 8  # bytes of the footer's length and of Parquet's own mark


def seal_footer(path: Path) -> None:
    """Put the checksum of its footer into a Parquet file."""
    with path.open("r+b") as file:
        footer = _footer(file)
        file.seek(-len(footer), os.SEEK_END)
        file.write(_seal(footer) + footer)


def footer_is_sealed(path: Path) -> bool:
    """Whether a Parquet file's footer has a checksum; ValueError if that does not fit."""
    with path.open("rb") as file:
        footer = _footer(file)
        file.seek(-min(len(footer) + SIZE, file.tell()), os.SEEK_END)
        seal = file.read(SIZE)
    if seal.startswith(MARK) and seal != _seal(footer):
        raise ValueError("its footer does not fit its checksum")
    return seal.startswith(MARK)


def _footer(file: BinaryIO) -> bytes:
    """Return the footer, its length and Parquet's mark; nothing if there is no such length."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - END, 0))
    length = int.from_bytes(file.read(4), "little") + END
    if length > size:
        return b""
    file.seek(-length, os.SEEK_END)
    return file.read()


def _seal(footer: bytes) -> bytes:
    return MARK + b"%08x" % zlib.crc32(footer)
