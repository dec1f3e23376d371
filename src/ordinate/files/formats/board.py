"""What the blocks of a file say together, where a reader needs to know it of all rows.

A reader is written once, for a table. Where what it does next depends on all rows (do all labels
look like numbers? which answers occur?), it calls :meth:`Table.together` with what its own rows
say. A file that is read as a whole is one block, and that is the answer. A larger file comes in
blocks, which go through the reader one after the other, several times: each time with what all
blocks said the time before. The answer to the first question is right after one pass, that to the
second, which depends on it, after two, and so on; once a pass has used the answers that it ends
with, every block was read as the whole file would have been.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

Join = Callable[[Any, Any], Any]
Use = Callable[[Any], Any]


class NoRowsLeft(Exception):  # noqa: N818, since it is no error
    """A block has no rows left, while others have: there is nothing more to ask of it.

    As it leaves the readers, it has the number of rows that the block had.
    """


class Board:
    """Where blocks write what they say, and read what all of them said."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Any] = {}
        self._said: dict[tuple[str, int], Any] = {}
        self._used: dict[tuple[str, int], tuple[Any, Use]] = {}
        self._times: Counter[str] = Counter()
        self.steady = True  # all blocks of this pass were given the same answers
        self.refused = False  # a block of this pass was, and says why for all
        # What the block at hand calls its answers, in order; None where they are only counted.
        self.answer_names: list | None = None
        # Spellings that became one, by the first of them.
        self.merged: dict[str, set[str]] = {}

    def begin_pass(self) -> None:
        """Forget what the last pass assumed, and know what it found."""
        self._known, self._said, self._used = self._said, {}, {}
        self.steady, self.refused = True, False

    def begin_block(self) -> None:
        """Count questions of the same name anew."""
        self._times.clear()
        self.answer_names = None

    def ask(self, what: str, own: Any, join: Join, use: Use) -> Any:
        """Add what a block says, and return what all said, as far as that is known."""
        key = what, self._times[what]
        self._times[what] += 1
        self._said[key] = join(self._said[key], own) if key in self._said else own
        answer = use(self._known[key] if key in self._known else self._said[key])
        if key in self._used and self._used[key][0] != answer:
            self.steady = False
        self._used.setdefault(key, (answer, use))
        return answer

    def settled(self) -> bool:
        """Tell whether every answer given in this pass is what all blocks said in it."""
        return self.steady and all(
            use(self._said[key]) == answer for key, (answer, use) in self._used.items()
        )
