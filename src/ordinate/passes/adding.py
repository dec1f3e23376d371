"""Adding up what kernels return, in one tree whose shape depends on the number of terms alone.

Neighbours are added, then sums of neighbours, and so on; who has none waits. Wherever the terms are
added, on one machine or on many, the sum is the same, bit for bit.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any


def in_tree(add: Callable[[Any, Any], Any], terms: Iterable[Any]) -> Any:
    """Combine terms that come one by one, as the tree has it; few of them wait at a time.

    Examples
    --------
    >>> in_tree(lambda left, right: f"({left}{right})", "abcdefg")
    '(((ab)(cd))((ef)g))'
    """
    waiting: list[Any] = []  # sums of 2^k terms each, the largest first
    for n, term in enumerate(terms):
        while n & 1:
            term, n = add(waiting.pop(), term), n >> 1
        waiting.append(term)
    total = waiting.pop()
    while waiting:
        total = add(waiting.pop(), total)
    return total


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
