"""Compiling on several cores, the first time that a loss is used on a machine.

Compiled kernels are kept on disk. The first time, those that take longest are left to processes of
their own while this one reads the data; this one then finds them on the disk.
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
    """Processes that compile the kernels of a loss; they end with the ``with`` block, or before.

    There are none if the kernels are on the disk already or cannot be kept there, without numba, on
    one thread, or for a name that is not a loss's.

    Parameters
    ----------
    name : str
        Of the loss.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: list[subprocess.Popen] = []
        self.left: list[str] = []
        load()  # warns if there is no numba
        if n_threads() == 1 or name not in losses.NAMES or not _is_missing(name):
            return
        kernels = ["loss_sums", *["shape_part"] * bool(losses.get(name).shape)]
        self.left = ["curvature_sums", *kernels[n_threads() - 1 :]]
        for kernel in kernels[: n_threads() - 1]:
            code = f"from {__name__} import compile_beside; compile_beside({kernel!r}, {name!r})"
            # -P: what lies in the current folder, such as a numpy.py, is never imported.
            command, no = [sys.executable, "-P", "-c", code], subprocess.DEVNULL
            try:
                child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=no, stderr=no)
            except OSError:
                return  # no process can be had: kernels are compiled here, when they are called
            self.children.append(child)

    def wait(self) -> None:
        """Compile the other kernels that a map needs, and wait for these."""
        if self.children:
            rows, weight, points = _tiny()
            load().similarity_sums(rows, weight, points.astype(np.float32))
            for kernel in self.left:
                _compile(kernel, self.name)
        for child in self.children:
            child.wait()  # if it failed, the kernel is compiled here, when it is called

    def __enter__(self) -> "CompilingBeside":
        return self

    def __exit__(self, *_: Any) -> None:
        for child in self.children:
            child.kill()
            child.communicate()


def compile_beside(kernel: str, name: str) -> None:
    """Compile a kernel of a loss, unless the process that wants it ends before."""
    Thread(target=_end_with_parent, daemon=True).start()
    _compile(kernel, name)


def _compile(kernel: str, name: str) -> None:
    getattr(load("numba"), kernel)(*_tiny(), losses.get(name))


def _is_missing(name: str) -> bool:
    """Whether the kernels of a loss should be on the disk and are not."""
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
