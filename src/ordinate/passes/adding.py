"""Adding up what kernels return."""

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any


def added(sums: Iterable[Any]) -> Any:
    """Add up numbers, arrays, or tuples of them, from the first to the last.

    Arrays are added into the first, which nobody else must hold.
    """
    return reduce(_add, sums)


def added_by_parts(sums: Iterable[tuple[bool, Any]]) -> Any:
    """Add up the blocks of each part, and then the parts; each block says if it ends its part.

    So a part that is read in blocks is one term of the sum, as it is where it lies in memory.
    """
    total = part = None
    for last, block in sums:
        part = block if part is None else _add(part, block)
        if last:
            total, part = part if total is None else _add(total, part), None
    return total


def _add(total: Any, more: Any) -> Any:
    if isinstance(total, tuple):
        return tuple(map(_add, total, more))
    return operator.iadd(total, more)
