"""Where cases are written: in memory where the system has a place for that."""

import ctypes
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

NEW_NAMESPACE = 0x00020000  # CLONE_NEWNS
IN_MEMORY = Path("/dev/shm")
HOME = "ORDINATE_FUZZ_HOME"  # a variable that names the folder of a run, for all its processes
_held: list[tempfile.TemporaryDirectory] = []


@cache
def scratch() -> Path:
    """A folder that goes away with this process."""
    _held.append(new_folder())
    return Path(_held[0].name)


def new_folder() -> tempfile.TemporaryDirectory:
    """A folder for one case or one process."""
    usual = IN_MEMORY if IN_MEMORY.is_dir() else None
    return tempfile.TemporaryDirectory(
        prefix="ordinate-fuzz-", dir=os.environ.get(HOME, usual), ignore_cleanup_errors=True
    )


def may_mount() -> bool:
    """Tell whether this process may mount disks, which root alone may."""
    return os.name == "posix" and os.geteuid() == 0 and Path("/proc/self/ns/mnt").exists()


def be_alone() -> None:
    """Let this process and its children have mounts of their own, which go away with them."""
    if may_mount() and ctypes.CDLL(None).unshare(NEW_NAMESPACE) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=False)
