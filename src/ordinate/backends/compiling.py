"""Compiling the kernels of maps on two cores, the first time that they are used on a machine.

Compiled kernels are kept on disk. The first time, the longest to compile is left to a process of
its own while this one goes on.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ordinate.backends import load


def compile_beside() -> Callable[[], None]:
    """Begin to compile what was never compiled here; return a function that ends it.

    Nothing is done where all is compiled already, or where there is no numba.
    """
    try:
        from ordinate.backends.numba_.maps import loss_sums
    except ImportError:
        return lambda: None
    if any(Path(loss_sums.stats.cache_path).glob("maps.loss_sums-*.nbi")):
        return lambda: None
    code = f"from {__name__} import compile_loss; compile_loss()"
    process = subprocess.Popen([sys.executable, "-c", code])

    def end() -> None:
        compile_others()
        process.wait()  # if it failed, the kernel is compiled here when it is called

    return end


def compile_loss() -> None:
    """Compile the kernel of losses for the kinds of arrays that stores hand it."""
    rows, weight, points = _tiny()
    load("numba").loss_sums(rows, weight, points, 0, 0.0, 0, 0.0)


def compile_others() -> None:
    """Compile the other kernels that a map needs."""
    backend = load("numba")
    rows, weight, points = _tiny()
    backend.count_mentions(rows, 3)
    backend.similarity_sums(rows, weight, points.astype(np.float32))
    backend.curvature_sums(rows, weight, points, 0, 0.0, 0, 0.0)


def _tiny() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.array([[0, 1, 2]], np.uint32)
    rows.flags.writeable = False
    return rows, np.empty(0), np.eye(3, 2)
