"""Where cases are written: in memory where the system has a place for that."""

import tempfile
from functools import cache
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
_held: list[tempfile.TemporaryDirectory] = []


@cache
def scratch() -> Path:
    """A folder that goes away with this process."""
    _held.append(new_folder())
    return Path(_held[0].name)


def new_folder() -> tempfile.TemporaryDirectory:
    """A folder for one case or one process."""
    return tempfile.TemporaryDirectory(
        prefix="ordinate-fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None
    )
