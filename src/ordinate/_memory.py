"""How much memory there is."""

import os
import re
from pathlib import Path


def available_memory() -> int:
    """Bytes that this process can still take, as the system and its container tell."""
    found = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        lines = dict(line.split(":") for line in meminfo.read_text().splitlines())
        found.append(1024 * int(lines["MemAvailable"].split()[0]))
    else:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    limit, used = (Path("/sys/fs/cgroup") / f"memory.{name}" for name in ("max", "current"))
    if limit.exists() and limit.read_text().strip() != "max":
        found.append(int(limit.read_text()) - int(used.read_text()))
    return max(min(found), 0)


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
    """Return a limit of memory in bytes, or raise; None is half of what there is.

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
    except ValueError:
        size = 0
    if size <= 0:
        raise ValueError(
            f"memory_limit must be a number of bytes, or a text like '4GiB' or '500MB'; "
            f"got {limit!r}"
        )
    return size
