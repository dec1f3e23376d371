"""MATLAB's files up to version 7.2, read by their published format.

SciPy's reader takes the process down with it when a file is damaged; here every length is checked.
"""

import io
import zlib
from math import prod
from typing import Any

import numpy as np

from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.packed import CHUNK, refuse_too_large

VERSIONS = (b"MATLAB 5.0", b"MATLAB 7.3")
HEADER = 128  # bytes before the variables
MATRIX, COMPRESSED, UTF8 = 14, 15, 16
TYPES = {
    **{1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"},
    **{16: "u1", 17: "u2", 18: "u4"},
}
CELL, STRUCT, CHAR, OPAQUE = 1, 2, 4, 17
NUMBERS = range(6, 16)  # classes of arrays of numbers
COMPLEX = 8  # a flag


def is_mat(name: str, content: bytes) -> bool:
    """Tell MATLAB's files, the oldest of which begin with nothing of their own."""
    return content[:10] in VERSIONS or (name.lower().endswith(".mat") and b"\0" in content[:20])


def variables(shown: str, content: bytes) -> dict[str, Any]:
    """Return arrays of numbers or text, dicts of the fields of structs, None for objects."""
    if content[:10] == VERSIONS[1] or content[512:516] == b"\x89HDF":
        raise ReadError(
            f"{shown} is a MATLAB file of version 7.3, which is not read; in MATLAB, load it and "
            "save(..., '-v7') what it holds, or write a table with writetable"
        )
    if content[:10] != VERSIONS[0]:
        from scipy.io import loadmat

        old = loadmat(io.BytesIO(content))
        return {name: _simple(value) for name, value in old.items() if not name.startswith("__")}
    parts = _Parts(content, "big" if content[126:128] == b"MI" else "little", HEADER)
    found = {}
    while not parts.ended:
        kind, part = parts.next()
        if kind == COMPRESSED:
            kind, part = _Parts(_inflate(shown, part), parts.order).next()
        if kind == MATRIX:
            name, value = _matrix(_Parts(part, parts.order))
            if name:  # what has none belongs to objects
                found[name] = value
    return found


class _Parts:
    """The parts of a piece of a file, one after the other: the type and the bytes of each."""

    def __init__(self, content: bytes, order: Any, start: int = 0) -> None:
        self.content, self.order, self.place = content, order, start

    @property
    def ended(self) -> bool:
        return self.place >= len(self.content)

    def next(self) -> tuple[int, bytes]:
        """Return the next part; a short one shares the eight bytes of its own description."""
        first, second = self._number(0), self._number(4)
        length, kind = divmod(first, 1 << 16)
        start, after = self.place + 4, self.place + 8
        if not length:
            kind, length, start = first, second, self.place + 8
            after = start + length + (0 if kind == COMPRESSED else -length % 8)
        if start + length > len(self.content):
            raise ValueError(f"{length:,} bytes are expected at byte {start:,}, fewer are there")
        self.place = after
        return kind, self.content[start : start + length]

    def array(self) -> np.ndarray:
        """Return the next part as numbers."""
        kind, part = self.next()
        if kind not in TYPES:
            raise ValueError(f"a part of type {kind} is no array of numbers")
        dtype = np.dtype(TYPES[kind]).newbyteorder(">" if self.order == "big" else "<")
        return np.frombuffer(part, dtype).astype(dtype.newbyteorder("="), copy=False)

    def text(self) -> str:
        """Return the next part as text."""
        kind, part = self.next()
        if kind in (1, 2, UTF8):
            return part.decode("utf-8" if kind == UTF8 else "latin-1")
        endian = "be" if self.order == "big" else "le"
        return part.decode(f"utf-32-{endian}" if kind == 18 else f"utf-16-{endian}")

    def _number(self, offset: int) -> int:
        found = self.content[self.place + offset : self.place + offset + 4]
        if len(found) < 4:
            raise ValueError("it ends within a variable")
        return int.from_bytes(found, self.order)


def _matrix(parts: _Parts) -> tuple[str, Any]:
    """Return name and value of a variable."""
    if parts.ended:
        return "", np.empty((0, 0))
    flags = int(parts.array()[0])
    kind = flags & 255
    if kind == OPAQUE:
        return parts.text(), None
    shape = [int(k) for k in parts.array()]
    name = parts.text()
    if min(shape, default=0) < 0:
        raise ValueError(f"{name!r} cannot have the shape {shape}")
    if kind == CELL:
        return name, _cells([_next_value(parts) for _ in range(prod(shape))], shape)
    if kind == STRUCT:
        return name, _struct(parts, prod(shape))
    if kind == CHAR:
        return name, _lines(parts.text(), shape)
    if kind in NUMBERS and not flags >> 8 & COMPLEX:
        return name, _simple(parts.array().reshape(shape, order="F"))
    return name, None


def _next_value(parts: _Parts) -> Any:
    kind, part = parts.next()
    if kind != MATRIX:
        raise ValueError(f"a part of type {kind} stands where a value is expected")
    return _matrix(_Parts(part, parts.order))[1]


def _struct(parts: _Parts, n: int) -> dict[str, Any]:
    """Return the fields of one struct as they are; those of several as columns."""
    length = max(int(parts.array()[0]), 1)
    joined = parts.next()[1]
    pieces = [joined[k : k + length] for k in range(0, len(joined), length)]
    names = [piece.split(b"\0")[0].decode() for piece in pieces]
    rows = [[_next_value(parts) for _ in names] for _ in range(n if names else 0)]
    if n == 1 and rows:
        return dict(zip(names, rows[0], strict=True))
    return {name: _cells([row[k] for row in rows], [n, 1]) for k, name in enumerate(names)}


def _cells(values: list, shape: list[int]) -> np.ndarray | None:
    """Return a cell array as one of numbers or text; empty cells are empty text."""
    if not all(isinstance(value, np.ndarray) and value.size < 2 for value in values):
        return None
    plain = [value.item() if value.size else "" for value in values]
    if not all(isinstance(value, (int, float)) for value in plain):
        plain = [str(value) for value in plain]
    return np.array(plain).reshape(shape, order="F")


def _lines(text: str, shape: list[int]) -> np.ndarray:
    """Return the rows of an array of characters, which are padded with blanks."""
    if len(shape) != 2 or shape[0] * shape[1] != len(text) or not text:
        return np.array([text.strip()] if text else [])
    rows = [text[k :: shape[0]].strip() for k in range(shape[0])]
    return np.array(rows)


def _simple(value: Any) -> Any:
    """Return whole floats as integers, and None for what is neither numbers nor text."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else "O"  # or a sparse matrix
    if kind == "U":
        return np.char.strip(value)
    if kind == "f" and (np.abs(value) < 2**53).all() and (value == value.round()).all():
        return value.astype(np.int64)  # MATLAB's numbers are floats by nature
    return value if kind in "biuf" else None


def _inflate(shown: str, packed: bytes) -> bytes:
    inflate, chunks, size = zlib.decompressobj(), [], 0
    while packed:
        chunks.append(inflate.decompress(packed, CHUNK))
        size += len(chunks[-1])
        packed = inflate.unconsumed_tail
        refuse_too_large(shown, size)
    if not inflate.eof:
        raise ValueError("it ends within a variable")
    return b"".join(chunks)
