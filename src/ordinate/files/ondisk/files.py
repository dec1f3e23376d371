"""Files that must not change while they are read."""

import errno
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ordinate._base.hashing import sha256_of_file, sha256_of_several
from ordinate._base.memory import in_words
from ordinate._base.writing import SCRATCH, TooLittleRoomError
from ordinate.files.formats.errors import ReadError

Fingerprint = dict[Path, tuple[int, int, int]]


def fingerprint(paths: Iterable[Path]) -> Fingerprint:
    """Size, time of change and place on the disk of each file."""
    found = {path: path.stat() for path in paths}
    return {path: (it.st_size, it.st_mtime_ns, it.st_ino) for path, it in found.items()}


def check_unchanged(before: Fingerprint) -> None:
    """Raise if a file is not what it was when it was opened."""
    for path, known in before.items():
        if not path.exists() or fingerprint([path])[path] != known:
            raise ReadError(
                f"{path} changed, or went away, since it was opened: sums over two different files "
                "mean nothing. Open it again once it no longer changes"
            )


def sha256_of(path: Path, files: Fingerprint) -> str:
    """Return the SHA-256 of a file, or of a folder's files, and raise if they have changed."""
    if path.is_dir():
        found = {file.relative_to(path).as_posix(): sha256_of_file(file) for file in files}
        sha256 = sha256_of_several(found)
    else:
        sha256 = sha256_of_file(path)
    check_unchanged(files)
    return sha256


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what libraries say about a bad file into one kind of error."""
    try:
        yield
    except (ReadError, MemoryError):
        raise
    # Decoders raise errors of many kinds at broken files, with more or less to say.
    except Exception as error:
        raise ReadError(f"{path} cannot be read; is it truncated or corrupt? ({error})") from error


def check_space(folder: Path, needed: float) -> None:
    """Raise if a folder's disk has less room than is needed."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        # Not a scratch folder, which nobody has heard of.
        folder = next(each for each in (folder, *folder.parents) if SCRATCH not in str(each))
        raise TooLittleRoomError(
            errno.ENOSPC,
            f"{in_words(needed)} of disk are needed in {folder}, but only {in_words(free)} are "
            "free: free some space or name another folder",
        )


def read_into(path: Path, array: np.ndarray, offset: int) -> None:
    """Fill an array from a file; a file that ends too early is an error, never zeros.

    Not by a memory map: one whose file shrinks ends the process.
    """
    if array.size == 0:
        return
    view = array.data.cast("B")
    with path.open("rb", buffering=0) as file:
        file.seek(offset)
        done = 0
        while done < len(view):
            got = file.readinto(view[done:])
            if not got:
                raise ReadError(f"{path} is truncated: it ends after {offset + done:,} bytes")
            done += got
