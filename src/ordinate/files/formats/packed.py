"""Files within files: gzip and zip are undone, as far as memory reaches."""

import gzip
import io
import re
import zipfile

from ordinate._base.memory import available_memory, in_words
from ordinate._base.messages import some
from ordinate.files.formats.errors import ReadError, Remedy

LAYERS = 3  # a zip file may hold itself
SHARE = 4  # bytes that reading takes, about, for each byte of a file
CHUNK = 1 << 22
OTHER_OFFICE = ("content.xml", "word/document.xml", "ppt/presentation.xml", "xl/workbook.bin")


def unpack(
    shown: str, name: str, content: bytes, choice: str | None
) -> tuple[str, bytes, str | None]:
    """Undo gzip and zip; return name and content of what is inside, and a choice not yet made."""
    for _ in range(LAYERS):
        if content[:2] == b"\x1f\x8b":
            name, content = re.sub(r"\.gz$", "", name), _gunzip(shown, content)
        elif is_zip(content) and not (is_workbook(content) or is_npz(content)):
            name, content, choice = _member(shown, content, choice)
        else:
            return name, content, choice
    raise ReadError(f"{shown} is packed more than {LAYERS} times over; unpack it first")


def refuse_too_large(shown: str, n_bytes: int) -> None:
    """Raise if what a file or a pipe holds cannot be read with the memory there is."""
    free = available_memory()
    if SHARE * n_bytes > free:
        raise ReadError(
            f"{shown} holds {in_words(n_bytes)} or more; reading that takes about {SHARE} "
            f"times as much memory, and {in_words(free)} are free. If that is no mistake, save "
            "the columns and rows that are needed in a file, or use a larger machine"
        )


def is_zip(content: bytes) -> bool:
    """Tell zip files by their first bytes."""
    return content[:4] in (b"PK\x03\x04", b"PK\x05\x06")


def is_workbook(content: bytes) -> bool:
    """Tell whether a file is a workbook of Excel."""
    return is_zip(content) and any(name.startswith("xl/worksheets/") for name in _names(content))


def is_npz(content: bytes) -> bool:
    """Tell whether a file is what ``numpy.savez`` writes."""
    names = _names(content) if is_zip(content) else []
    return bool(names) and all(name.endswith(".npy") for name in names)


def unpacked_size(content: bytes) -> int:
    """Return the size of all that a zip file holds; it cannot hold more than it says."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def _names(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [
            entry.filename
            for entry in archive.infolist()
            if not entry.is_dir()
            and not entry.filename.startswith("__MACOSX/")
            and not entry.filename.rsplit("/", 1)[-1].startswith(".")
        ]


def _gunzip(shown: str, content: bytes) -> bytes:
    chunks, size = [], 0
    with gzip.open(io.BytesIO(content)) as file:
        while chunk := file.read(CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            refuse_too_large(shown, size)
    return b"".join(chunks)


def _member(shown: str, content: bytes, choice: str | None) -> tuple[str, bytes, str | None]:
    """Return name and content of the one file of a zip file, or of the one chosen."""
    names = _names(content)
    if any(name in names for name in OTHER_OFFICE):
        raise ReadError(f"{shown} is a document of another program; save its table as .xlsx or CSV")
    if choice in names:
        name, choice = str(choice), None
    elif len(names) == 1:
        (name,) = names  # the choice may be of a sheet within
    else:
        wanted = "" if choice is None else f", none of them {choice!r}"
        raise ReadError(
            f"{shown} holds {len(names)} files, {some(names)}{wanted}; if they belong together, "
            "unpack them, and give the folder to read them as one",
            *(Remedy({"table": name}) for name in names[:5]),
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        refuse_too_large(shown, archive.getinfo(name).file_size)
        return name, archive.read(name), choice
