"""Combining many terms in one tree whose shape depends on their number alone.

Neighbours are combined, then what came of neighbours, and so on; who has none waits. Wherever terms
are added, on one machine or on many, their sum is the same, bit for bit.
"""

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
