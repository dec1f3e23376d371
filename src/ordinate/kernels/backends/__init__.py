"""Kernels: what one block of triplets adds up to. They take plain arrays and know nothing else.

``numpy_`` is the plain truth; ``numba_`` has the same functions, compiled. Each pair is tested
against the other. ``torch_`` runs the plain ones on a device; ``triton_`` has those that pay
compiled for a GPU.
"""

import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ordinate._base.arrays import is_deterministic, is_tensor
from ordinate._base.checks import check_choice

NAMES = ("auto", "numba", "numpy")

_auto: ModuleType | None = None


def load(name: str = "auto") -> ModuleType:
    """Return a backend's module; "auto" is numba's, or NumPy's, with a warning, without numba."""
    check_choice("backend", name, NAMES)
    if name != "auto":
        return import_module(f"ordinate.kernels.backends.{name}_")
    global _auto
    if _auto is None:
        try:
            _auto = import_module("ordinate.kernels.backends.numba_")
        except ImportError as error:
            warnings.warn(
                f"numba could not be imported ({error}): ordinate uses its plain NumPy "
                "backend, which gives the same results more slowly",
                RuntimeWarning,
                stacklevel=2,
            )
            _auto = import_module("ordinate.kernels.backends.numpy_")
    return _auto


def load_for(x: Any, name: str = "auto") -> ModuleType:
    """Return the module whose kernels take arrays like x.

    For tensors on a GPU, Triton's, where it can be imported and sums may depend on the order of
    threads; torch's for others.
    """
    if not is_tensor(x):
        return load(name)
    compiled = x.is_cuda and not is_deterministic() and find_spec("triton") is not None
    return import_module(f"ordinate.kernels.backends.{'triton_' if compiled else 'torch_'}")
