"""Adding up what kernels return, in the one tree of :mod:`ordinate._base.trees`."""

import operator
from collections.abc import Iterable
from typing import Any

from ordinate._base.trees import in_tree


def added(sums: Iterable[Any]) -> Any:
    """Add up numbers, arrays, or tuples of them.

    Arrays are added into others, which nobody else must hold.
    """
    return in_tree(_add, sums)


def added_by_parts(sums: Iterable[tuple[bool, Any]]) -> Any:
    """Add up the blocks of each part, and then the parts; each block says if it ends its part.

    So a part that is read in blocks is one term of the sum, as it is where it lies in memory.
    """
    return added(_parts(sums))


def _parts(sums: Iterable[tuple[bool, Any]]) -> Iterable[Any]:
    part = None
    for last, block in sums:
        part = block if part is None else _add(part, block)
        if last:
            yield part
            part = None


def total_of(total: Any, more: Any) -> Any:
    """Return the sum of two terms, which stay as they are."""
    if isinstance(total, tuple):
        return tuple(map(total_of, total, more))
    return total + more


def _add(total: Any, more: Any) -> Any:
    if isinstance(total, tuple):
        return tuple(map(_add, total, more))
    return operator.iadd(total, more)
