"""Compiling on two cores, the first time that a loss is used on a machine.

Compiled kernels are kept on disk. The first time, the one that takes longest is left to a process
of its own while this one reads the data; this one then finds it on the disk.
"""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from ordinate._base.threads import n_threads
from ordinate.kernels import losses
from ordinate.kernels.backends import load


class CompilingBeside:
    """A process that compiles the kernel of a loss; it ends with the ``with`` block, or before.

    There is none if the kernel is on the disk already or cannot be kept there, without numba, on
    one thread, or for a name that is not a loss's.

    Parameters
    ----------
    name : str
        Of the loss.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.child: subprocess.Popen | None = None
        load()  # warns if there is no numba
        if n_threads() == 1 or name not in losses.NAMES or not _is_missing(name):
            return
        code = f"from {__name__} import compile_loss; compile_loss({name!r})"
        # -P: what lies in the current folder, such as a numpy.py, is never imported.
        command, no = [sys.executable, "-P", "-c", code], subprocess.DEVNULL
        try:
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=no, stderr=no)
        except OSError:
            return  # no process can be had: the kernel is compiled here, when it is called

    def wait(self) -> None:
        """Compile the other kernels that a map needs, and wait for this one."""
        if self.child is not None:
            rows, weight, points = _tiny()
            load().similarity_sums(rows, weight, points.astype(np.float32))
            load().curvature_sums(rows, weight, points, losses.get(self.name))
            self.child.wait()  # if it failed, the kernel is compiled here, when it is called

    def __enter__(self) -> "CompilingBeside":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.communicate()


def compile_loss(name: str) -> None:
    """Compile the kernel of a loss, unless the process that wants it ends before."""
    Thread(target=_end_with_parent, daemon=True).start()
    load("numba").loss_sums(*_tiny(), losses.get(name))


def _is_missing(name: str) -> bool:
    """Whether the kernel of a loss should be on the disk and is not."""
    try:
        from ordinate.kernels.backends.numba_.maps import loss_kernel
    except ImportError:
        return False
    kernel = loss_kernel(losses.get(name))
    cache = kernel.stats.cache_path
    return cache is not None and not any(Path(cache).glob(f"*{kernel.py_func.__qualname__}-*.nbi"))


def _end_with_parent() -> None:
    os.read(0, 1)  # returns when the other end of standard input is gone
    os._exit(1)


def _tiny() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, weights and points of the kinds that stores hand to kernels."""
    rows = np.array([[0, 1, 2]], np.uint32)
    rows.flags.writeable = False
    return rows, np.empty(0), np.eye(3, 2)
