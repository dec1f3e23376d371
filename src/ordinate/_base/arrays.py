"""Arrays of NumPy or torch: what lets one function run on the CPU and on a GPU.

Algorithms ask :func:`namespace` for the functions that both libraries call by the same name. What
they name differently is here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

INTEGER_BITS = 62  # of a sum in whole numbers

_deterministic = False


@contextmanager
def deterministic() -> Iterator[None]:
    """Make sums on a GPU the same, bit for bit, in every run inside a ``with`` block.

    A GPU adds up in whatever order its threads arrive. Inside the block it adds whole numbers,
    whose sum has no order, which is slower; on the CPU sums are always the same.

    Examples
    --------
    >>> import ordinate
    >>> with ordinate.deterministic():
    ...     model = ordinate.STE(device="auto")
    """
    global _deterministic
    before, _deterministic = _deterministic, True
    try:
        yield
    finally:
        _deterministic = before


def is_deterministic() -> bool:
    """Whether :func:`deterministic` is in force."""
    return _deterministic


def is_tensor(x: Any) -> bool:
    """Whether x is a torch tensor; torch need not be there to ask."""
    return type(x).__module__.partition(".")[0] == "torch"


def namespace(x: Any) -> Any:
    """Return torch for a tensor, NumPy for all else."""
    if not is_tensor(x):
        return np
    import torch

    return torch


def special(x: Any) -> ModuleType:
    """Return the special functions for x: those of scipy or of torch."""
    if is_tensor(x):
        return namespace(x).special
    import scipy.special

    return scipy.special


def on_host(x: Any) -> np.ndarray:
    """Return x as a NumPy array."""
    return x.cpu().numpy() if is_tensor(x) else np.asarray(x)


def beside(x: Any, values: Any) -> Any:
    """Return values as an array where x lives: of the same library, on the same device."""
    if not is_tensor(x):
        return on_host(values)
    if is_tensor(values):
        return values.to(x.device)
    # A copy, since torch warns of arrays that must not be written to. CUDA takes what is not in
    # pinned memory at once, so that there is no need to wait until the device has it.
    return namespace(x).from_numpy(np.array(values)).to(x.device, non_blocking=True)


def cast(x: Any, dtype: str) -> Any:
    """Return x in another type, given by the name that NumPy and torch share."""
    xp = namespace(x)
    return xp.asarray(x, dtype=getattr(xp, dtype))


def copy(x: Any) -> Any:
    """Return a copy of x."""
    return x.clone() if is_tensor(x) else x.copy()


def keep(x: Any, mask: Any, other: float = 0.0) -> Any:
    """Return x where the mask holds, and a number elsewhere.

    On a GPU, torch.where would send the number there each time.
    """
    return x.masked_fill(~mask, other) if is_tensor(x) else np.where(mask, x, other)


def inverse_of(x: Any) -> Any:
    """Return 1 / x where x is positive, else 0."""
    xp = namespace(x)
    return (x > 0) / xp.clip(x, xp.finfo(x.dtype).tiny, None)


def random_like(x: Any, seed: int = 0) -> Any:
    """Return numbers between 0 and 1 in the shape and type of x; each library has its own."""
    if not is_tensor(x):
        return np.random.default_rng(seed).random(x.shape, np.float32).astype(x.dtype)
    torch = namespace(x)
    generator = torch.Generator(x.device).manual_seed(seed)
    return torch.rand(x.shape, generator=generator, dtype=x.dtype, device=x.device)


def dot(x: Any, y: Any) -> float:
    """Sum of the products of all entries."""
    return float((x * y).sum()) if is_tensor(x) else float(np.vdot(x, y))


def row_dots(x: Any, y: Any) -> Any:
    """Sums of the products of entries, row by row: (k, 1) of (k, n)."""
    if is_tensor(x):
        return (x * y).sum(dim=1)[:, None]
    return np.matmul(x[:, None, :], y[:, :, None])[:, :, 0]  # by BLAS, without products in between


def add_at(total: Any, index: Any, change: Any) -> None:
    """Add each row of ``change`` to the row of ``total`` that ``index`` names."""
    if not is_tensor(total):
        # Column by column: several times faster than NumPy's own addition at indices.
        at, columns = np.asarray(index, np.intp), change.reshape(len(change), -1).T
        sums = [np.bincount(at, column, len(total)) for column in columns]
        total += np.stack(sums, axis=-1).reshape(total.shape).astype(total.dtype, copy=False)
    elif not (_deterministic and total.is_cuda):
        total.index_add_(0, index, change.to(total.dtype))
    else:
        total += _sum_in_integers(total, index, change)


def _sum_in_integers(total: Any, index: Any, change: Any) -> Any:
    """Return what :func:`add_at` adds, by sums of whole numbers: the same in any order."""
    torch = namespace(total)
    largest = float(change.abs().max()) if len(change) else 0.0
    # The unit is a power of two, as small as it can be without a sum running over.
    spent = int(np.frexp(largest * len(change))[1]) if largest > 0 else 0
    units = 2.0 ** (INTEGER_BITS - spent)
    whole = torch.zeros(total.shape, dtype=torch.int64, device=total.device)
    whole.index_add_(0, index, (change.double() * units).round().long())
    return (whole.double() / units).to(total.dtype)


def distinct_and_places(values: Any) -> tuple[Any, Any]:
    """Return the distinct values in order, and the place of each value among them.

    As ``unique`` of NumPy has it, but many times faster where equal values are near each other.
    """
    if is_tensor(values):
        return namespace(values).unique(values, return_inverse=True)
    order = np.argsort(values, kind="stable")  # which makes use of what is in order already
    ranked = values[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])[: len(values)]
    place = np.empty(len(values), np.intp)
    place[order] = np.cumsum(first) - 1
    return ranked[first], place


def count_in(index: Any, weight: Any, size: int) -> Any:
    """Sum of the weights at each of ``size`` indices, in double precision; None counts ones."""
    if not is_tensor(index):
        return np.bincount(index, weight, size) * 1.0
    torch = namespace(index)
    if weight is None:
        return torch.bincount(index, minlength=size).double()
    total = torch.zeros(size, dtype=torch.float64, device=index.device)
    add_at(total, index, weight)
    return total
