"""How much memory there is."""

import ctypes
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ordinate._base.messages import Message, Option

CGROUPS = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Bytes that this process can still take, according to the system and its container."""
    import psutil

    return max(min([psutil.virtual_memory().available, *_left_in_container()]), 0)


def _left_in_container(
    root: Path = CGROUPS, mine: Path = Path("/proc/self/cgroup")
) -> Iterator[int]:
    """Yield what is left of each limit that Linux sets for this process: containers, batch jobs.

    A limit holds for all groups within a group, so each is looked at up to the root. What files
    take of a group's memory is given back when it is needed, and does not count.
    """
    if not mine.exists():
        return
    for line in mine.read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds == "":  # version 2
            top, names = root, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):  # version 1
            top = root / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # Within a container the path is often that outside of it: then only the root is there.
        group = top / path.strip("/")
        for folder in (group, *group.parents):
            limit, used = (folder / name for name in names[:2])
            if limit.exists() and limit.read_text().strip() != "max":
                files = re.search(rf"^{names[2]} (\d+)$", _text(folder / "memory.stat"), re.M)
                cached = int(files[1]) if files else 0
                yield int(limit.read_text()) - int(used.read_text()) + cached
            if folder == top:
                break


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def give_back() -> None:
    """Return memory that is no longer used to the system, where that can be asked for."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # of GNU's library, which keeps what was in small pieces


def in_words(n_bytes: float) -> str:
    """Return a size for a message.

    Examples
    --------
    >>> in_words(3.5 * 2**30), in_words(123_456)
    ('3.5 GiB', '120.6 KiB')
    """
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def memory_size(limit: int | str | None) -> int:
    """Return a memory limit in bytes, or raise; None is half of what is free.

    Examples
    --------
    >>> memory_size("4GiB"), memory_size("500 MB"), memory_size(1024)
    (4294967296, 500000000, 1024)
    """
    if limit is None:
        return available_memory() // 2
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
    found = re.fullmatch(r"\s*([0-9.]+)\s*(|[kmg]i?)b?\s*", str(limit).lower())
    try:
        size = int(float(found[1]) * units[found[2]]) if found else 0
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise ValueError(
            Message(
                Option("memory_limit"),
                f" must be a number of bytes, or text such as '4GiB' or '500MB'; got {limit!r}",
            )
        )
    return size
