"""What benchmarks share: the machine in words, best times, a bare read of the rows, memory."""

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from ordinate._base.threads import blocks, n_threads, run


def heading(title: str) -> None:
    """Print a title and what the figures below were measured on."""
    names = ["numpy", "scipy", "scikit-learn", "numba", "ordinate"]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"\n## {title}\n")
    print(
        f"{_processor()}, {n_threads()} threads; Python {platform.python_version()}, {versions}\n"
    )


def best_time(function: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of the fastest of several runs, after one that does not count."""
    function()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def read_time(rows: np.ndarray) -> float:
    """Seconds of one bare read of the rows on all threads: what no pass can beat."""
    parts = blocks(len(rows), -(-len(rows) // 8))
    return best_time(lambda: run(lambda part: _read(rows[part]), parts), repeats=5)


def memory_now() -> float:
    """Bytes of memory that this process holds; forgets the peak so far."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak_memory() -> float:
    """Bytes of memory that this process has held at most since :func:`memory_now`."""
    return _status("VmHWM")


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return float(line.split()[1]) * 1024
    raise RuntimeError(f"this system does not tell {field}")


@njit(nogil=True, cache=True)
def _read(rows):
    total = 0
    for row in range(rows.shape[0]):
        total += rows[row, 0] + rows[row, 1] + rows[row, 2]
    return total


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.split(':')[1].strip()} ({os.cpu_count()} cores)"
    return platform.processor() or platform.machine()
