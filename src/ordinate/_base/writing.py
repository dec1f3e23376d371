"""Writing files and folders whole or not at all: under another name, then renamed.

What was there before stays until the new is complete. A folder is replaced only if ordinate wrote
everything in it, according to a mark inside it.
"""

import ctypes
import errno
import json
import os
import secrets
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ordinate._base.messages import Message, Option, some

MARK = ".ordinate"  # in every folder written here: the names of its entries
ROOM = 4096  # bytes that are kept free for the mark
SCRATCH = ".ordinate-"
LEFT = 60  # seconds after which a scratch folder that nobody holds was left behind
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_remaining: set[Path] = set()  # scratch folders of this process


@contextmanager
def whole_file(path: str | os.PathLike, *, force: bool = True) -> Iterator[Path]:
    """Yield a name to write a file to, which becomes ``path`` when all went well.

    Raises
    ------
    FileExistsError
        There is already a file, and ``force`` is not given; or a folder. If it appeared in the
        meantime, the message says where the result is.
    """
    path = resolved(path)
    _refuse_folder(path)
    _refuse_existing(path, force)
    with _scratch(path) as scratch:
        new = scratch / path.name
        yield new
        if force:
            new.replace(path)
        else:
            _put_if_free(new, path)


def write_json(path: str | os.PathLike, record: Any) -> None:
    """Write plain values, none of them NaN; halves of characters become escapes of JSON."""
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(path) as new:
        new.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


@contextmanager
def whole_folder(
    path: str | os.PathLike, *, force: bool = False, checked: bool = False
) -> Iterator[Path]:
    """Yield an empty folder to fill, which becomes ``path`` when all went well.

    Work that went before is not lost if :func:`check_replaceable` allowed it and ``checked`` says
    so: whatever is at ``path`` by now is met at the end, when the result can be kept elsewhere.

    Raises
    ------
    FileExistsError
        As for :func:`whole_file`; and if a folder holds files that ordinate did not write.
    """
    path = resolved(path)
    if not checked:
        check_replaceable(path, force)
    with _scratch(path) as scratch:
        new, before, room = scratch / "new" / path.name, scratch / "before", scratch / "room"
        new.mkdir(parents=True)
        room.write_bytes(bytes(ROOM))
        yield new
        room.unlink()  # the disk may be full by now, and the mark needs some
        _mark(new)
        if force and path.exists():
            _put_in_place_of(path, new, before)
        else:
            _put_if_free(new, path)


def check_replaceable(path: str | os.PathLike, force: bool, *, folder: bool = True) -> None:
    """Raise if a folder, or a file, cannot be written, or if what exists may not be replaced."""
    path, real = Path(path), resolved(path)
    check_writable(real)
    if folder and path.exists():
        _refuse_foreign(path)
    elif not folder:
        _refuse_folder(path)
    _refuse_existing(path, force)  # at last: what is said of force is then true


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder: name a file")


def _refuse_foreign(path: Path) -> None:
    """Raise if what exists is no folder that ordinate wrote, or cannot be moved."""
    if not path.is_dir():
        raise FileExistsError(f"{path} is a file: name a folder")
    if os.path.ismount(path):
        raise FileExistsError(
            f"{path} is a mount point, which cannot be replaced: name another folder"
        )
    if Path.cwd().is_relative_to(path.resolve()):
        raise FileExistsError(f"{path} is or holds the folder you are in: name another folder")
    foreign = sorted(_foreign(path))
    if foreign:
        raise FileExistsError(
            f"{path} holds files that ordinate did not write ({some(foreign, 3)}), which are never "
            "replaced: name another folder"
        )


def resolved(path: str | os.PathLike) -> Path:
    """Follow symbolic links to where a file or folder is, or would be."""
    try:
        return Path(path).resolve()
    except (RuntimeError, OSError) as error:  # RuntimeError up to Python 3.12
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            raise
        raise FileExistsError(
            f"{path} is a symbolic link that leads back to itself: name another"
        ) from None


def _refuse_existing(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise FileExistsError(
            Message(f"{path} exists: ", Option("force", True), " replaces it; or name another")
        )


class DiskFullError(OSError):
    """There is too little room, and what to do about it."""


class TooLittleRoomError(DiskFullError):
    """There would be, which is known before anything is written: how much is needed is said."""


@contextmanager
def complaining_of_a_full_disk(target: Path) -> Iterator[None]:
    """Say what to do if the disk fills up."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or isinstance(error, TooLittleRoomError):
            raise
        raise DiskFullError(
            error.errno,
            f"the disk is full ({os.strerror(error.errno)}): {target} could not be written, and "
            "nothing is left of it. Free some space or write elsewhere",
        ) from error


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """Make a folder beside ``path`` that nobody else has, and whose name nobody can guess."""
    with complaining_of_a_full_disk(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            scratch = Scratch(path.parent)
        except OSError as error:
            raise _unwritable(path.parent, error) from error
        with scratch:
            _tell_of_scratch_left_in(path.parent)
            yield scratch.path


class Scratch:
    """A folder that is removed in the end, whenever an interruption comes; a context.

    Removal is arranged before the folder is made, and stays so until it is done: if it is cut
    short, it is done with this object, or at the end of the process.

    Parameters
    ----------
    parent : Path, optional
        Where it is made; where the system keeps what is temporary, if not given.
    """

    def __init__(self, parent: Path | None = None) -> None:
        prefix = SCRATCH
        if parent is None:
            parent, prefix = Path(tempfile.gettempdir()), SCRATCH.removeprefix(".")
        self.path = parent / f"{prefix}{secrets.token_hex(8)}"
        self._has_owner = False
        _remaining.add(self.path)
        self._removal = weakref.finalize(self, _remove_at_last, self.path)
        self.path.mkdir(mode=0o700)
        self._lock = _lock(self.path)

    def keep_for(self, owner: object) -> None:
        """Remove it with an owner, instead of at the end of the context."""
        weakref.finalize(owner, self._remove_at_last)
        self._has_owner = True

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *_: object) -> None:
        if not self._has_owner:
            self._remove()

    def _remove(self) -> None:
        _remove(self.path)
        _remaining.discard(self.path)
        self._removal.detach()
        _unlock(self._lock)

    def _remove_at_last(self) -> None:
        if self._removal.alive:
            self._removal()
            _unlock(self._lock)


def remove_scratch() -> None:
    """Remove all scratch folders that there still are, before a process ends abruptly."""
    for folder in list(_remaining):
        _remove_at_last(folder)


def _remove_at_last(folder: Path) -> None:
    """Remove what an interruption left; another one comes too late."""
    if folder not in _remaining:
        return
    try:
        _remove(folder)
    except KeyboardInterrupt:
        _remove(folder)
    except OSError as error:  # such as a file that is open, on some systems
        warnings.warn(f"{folder} cannot be removed ({error}): delete it", stacklevel=2)
    _remaining.discard(folder)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_remaining.clear)


def _remove(folder: Path) -> None:
    """Remove a folder with all that is in it, protected folders too; or what is left of it."""
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:  # what a worker of Dask had there, who removes it, too
        _remove(folder)
    except PermissionError:
        for inside, _, _ in os.walk(folder):
            os.chmod(inside, 0o700)
        shutil.rmtree(folder)


def _lock(folder: Path) -> int | None:
    """Lock a folder for as long as this process lives; None where that cannot be."""
    try:
        import fcntl

        opened = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def _unlock(opened: int | None) -> None:
    if opened is not None:
        os.close(opened)


def _tell_of_scratch_left_in(folder: Path) -> None:
    """Warn of scratch folders of processes that were killed.

    They are not removed: where folders cannot be exchanged in one step, one may hold a result.
    """
    left = []
    for path in folder.glob(f"{SCRATCH}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT and (lock := _lock(path)) is not None:
                _unlock(lock)
                left.append(path.name)
    if left:
        warnings.warn(
            f"{folder} holds what commands left that were killed while they wrote: {some(left)}; "
            "delete it, unless you miss a result, which may be in it",
            stacklevel=4,
        )


def check_writable(path: Path) -> None:
    """Raise if nothing can be written beside ``path``, or where its folder would be made."""
    folder = next((parent for parent in path.parents if parent.exists()), path)
    try:
        with Scratch(folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> OSError:
    why = error.strerror or str(error)
    return type(error)(
        error.errno, f"nothing can be written to {folder} ({why}): name another folder"
    )


def _put_in_place_of(path: Path, new: Path, before: Path) -> None:
    """Give a folder a name that is taken; what has the name comes back if that fails.

    In one step where the system can: there is no moment at which a kill leaves neither.
    """
    old = before
    try:
        if _swap(new, path):
            old = new
        else:
            with suppress(FileNotFoundError):  # another process has just taken it away
                path.rename(old)
        if old.exists():
            # Once more, now that nobody can add anything to it.
            _refuse_foreign(old)
        if old is before:
            _put_if_free(new, path)
    except BaseException as error:
        if old.exists() and not _swap(old, path) and not path.exists():
            old.rename(path)
        if isinstance(error, FileExistsError) and new.exists():
            raise _kept(new, path, "was changed") from error
        raise


def _swap(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, and tell whether that was possible."""
    try:
        rename = ctypes.CDLL(None).renameat2  # Linux alone has it
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _put_if_free(new: Path, path: Path) -> None:
    """Rename, unless something appeared meanwhile: that stays, and the result is kept elsewhere."""
    try:
        if new.is_dir():
            new.rename(path)  # which fails on a folder that holds something, and on a file
        else:
            os.link(new, path)  # which fails where there is something, as a rename does not
    except OSError as error:
        if not path.exists():
            new.rename(path)  # a disk that has no links
            return
        raise _kept(new, path, "appeared") from error


def _kept(new: Path, path: Path, happened: str) -> FileExistsError:
    """Move a result to a name of its own, and return the error that tells it."""
    kept = Path(tempfile.mkdtemp(dir=path.parent, prefix=f"{path.name[:40]}-")) / path.name
    new.rename(kept)
    return FileExistsError(
        f"{path} {happened} in the meantime, and stays as it is: the result is in {kept}"
    )


def _entries(folder: Path) -> set[str]:
    """Names of what is in a folder; a folder in place of one of our files is not ours."""
    return {f"{entry.name}{'/' * _is_folder(entry)}" for entry in folder.iterdir()} - {MARK}


def missing_from(folder: Path) -> list[str]:
    """Names of what was written to a folder here, and is no longer in it."""
    return sorted(_marked(folder) - _entries(folder)) if folder.is_dir() else []


def _mark(folder: Path) -> None:
    """Write down what is in a folder, and in the folders in it."""
    names = sorted(_entries(folder))
    for name in names:
        if name.endswith("/"):
            _mark(folder / name)
    (folder / MARK).write_text("".join(f"{name}\n" for name in names))


def _foreign(folder: Path) -> set[str]:
    """Names of what was not written here, in a folder and in the folders in it."""
    entries, marked = _entries(folder), _marked(folder)
    found = entries - marked
    for name in entries & marked:
        if name.endswith("/"):
            found |= {f"{name}{inner}" for inner in _foreign(folder / name)}
    return found


def _is_folder(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink()


def _marked(folder: Path) -> set[str]:
    """Names of what was written to a folder here."""
    mark = folder / MARK
    return set(mark.read_text().splitlines()) if mark.is_file() else set()
