"""Writing files and folders whole or not at all: to a temporary name, then renamed."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of ``path`` when all went well."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def check_replaceable(path: str | os.PathLike, force: bool, own: Collection[str]) -> None:
    """Raise if a folder exists and may not be replaced."""
    path = Path(path)
    if not path.exists():
        return
    if not force:
        raise FileExistsError(f"{path} exists: --force replaces it, -o names another")
    if not path.is_dir():
        raise FileExistsError(f"{path} is a file: name a folder")
    others = sorted({entry.name for entry in path.iterdir()} - set(own))
    if others:
        raise FileExistsError(
            f"{path} holds other things too ({', '.join(others[:3])}), which --force does not "
            "replace: name another folder"
        )


@contextmanager
def whole_folder(
    path: str | os.PathLike, *, force: bool = False, own: Collection[str] = ()
) -> Iterator[Path]:
    """Yield an empty folder to fill, which takes the place of ``path`` when all went well.

    A folder that is there already is replaced with ``force``, if it holds nothing but files with
    the names of ``own``, and stays as it was if anything fails.
    """
    path = Path(path).resolve()
    check_replaceable(path, force, own)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    before = path.with_name(f".{path.name}.{os.getpid()}.before")
    partial.mkdir()
    try:
        yield partial
        if path.exists():
            path.rename(before)
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if before.exists():
            if not path.exists():
                before.rename(path)
            shutil.rmtree(before, ignore_errors=True)
