"""What Arrow's own functions do not tell, or cannot do, with files."""

import os
import struct
from pathlib import Path

import pyarrow as pa

MARK = 8  # bytes before the first message of a file
BATCH, DICTIONARY = 3, 2  # kinds of messages that hold rows, as the format numbers them


def arrow_file(path: Path, mode: str = "rb") -> pa.NativeFile:
    """Open a file by the bytes of its name, which Arrow's readers and writers want to be UTF-8."""
    return pa.OSFile(os.fsencode(path), mode)


def largest_batch(path: Path) -> int:
    """Return the bytes that the largest batch of an Arrow file takes, unpacked if it is packed.

    All dictionaries are added, since they are held while batches are read.
    """
    batches, dictionaries = [0], 0
    with pa.memory_map(os.fsencode(path)) as file:
        file.seek(MARK)
        while True:
            try:
                message = pa.ipc.read_message(file)
            except EOFError:
                return max(batches) + dictionaries
            held = _Table.root(message.metadata.to_pybytes())
            kind, inner = held.number(1, "<B"), held.table(2)
            if kind == DICTIONARY:
                dictionaries += _held_bytes(inner.table(1), message.body)
            elif kind == BATCH:
                batches.append(_held_bytes(inner, message.body))


def _held_bytes(batch: "_Table", body: pa.Buffer) -> int:
    """Return the bytes of a batch as it lies in the file, and unpacked if that is another thing."""
    if not batch.has(3):  # it is not packed
        return body.size
    sizes = [
        # A packed buffer begins with its size before; -1 says that it was not worth it.
        struct.unpack("<q", body[start : start + 8].to_pybytes())[0] if length else 0
        for start, length in batch.pairs(2)
    ]
    lengths = [length for _, length in batch.pairs(2)]
    return body.size + sum(max(pair) for pair in zip(sizes, lengths, strict=True))


class _Table:
    """A table of FlatBuffers, in which the headers of Arrow's messages are written."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    @classmethod
    def root(cls, content: bytes) -> "_Table":
        return cls(content, struct.unpack_from("<I", content)[0])

    def _place(self, field: int) -> int:
        """Where a field is, or 0 if it is not there."""
        places = self._at - struct.unpack_from("<i", self._content, self._at)[0]
        if 4 + 2 * field >= struct.unpack_from("<H", self._content, places)[0]:
            return 0
        offset = struct.unpack_from("<H", self._content, places + 4 + 2 * field)[0]
        return self._at + offset if offset else 0

    def has(self, field: int) -> bool:
        return self._place(field) > 0

    def number(self, field: int, kind: str) -> int:
        return (
            struct.unpack_from(kind, self._content, self._place(field))[0] if self.has(field) else 0
        )

    def table(self, field: int) -> "_Table":
        return _Table(self._content, self._pointed(field))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Return a vector of pairs of long integers."""
        at = self._pointed(field)
        n = struct.unpack_from("<I", self._content, at)[0]
        return list(struct.iter_unpack("<qq", self._content[at + 4 : at + 4 + 16 * n]))

    def _pointed(self, field: int) -> int:
        place = self._place(field)
        return place + struct.unpack_from("<I", self._content, place)[0]
