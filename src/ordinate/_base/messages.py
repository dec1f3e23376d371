"""Messages that name options as data: Python and the command line each spell them in their way."""

import re
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Any, NamedTuple

LONGEST_NAME = 60  # characters of a name in a message
LONGEST_WORD = 1000  # characters; paths are hardly ever longer
LONGEST = 5000  # of a message
LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
# What moves the cursor, changes colours or turns the order of letters around, and halves of
# characters, which cannot be written.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Option(NamedTuple):
    """An option that a message names.

    Attributes
    ----------
    name : str
        As a parameter in Python.
    value : Any
        The value that it should have; ``...`` for one that the reader has to choose, None for the
        option as such.

    Examples
    --------
    >>> print(Option("force", True), Option("columns", ...), Option("n_components"))
    force=True columns=... n_components
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"{self.name}={'...' if self.value is ... else repr(self.value)}"


class Either(NamedTuple):
    """Words that differ: what Python calls an estimator is a method on the command line.

    Examples
    --------
    >>> print(Either("STE", "--method ste"))
    STE
    """

    python: str
    command_line: str

    def __str__(self) -> str:
        return self.python


class Message(str):
    """A text that knows which of its words are options; it reads as Python spells them.

    Errors, warnings and notes may hold one in place of a text.

    Parameters
    ----------
    *parts : str, Option, Either or Message

    Examples
    --------
    >>> message = Message("it exists: ", Option("force", True), " replaces it")
    >>> print(message)
    it exists: force=True replaces it
    >>> message.spelled(lambda option: f"--{option.name}")
    'it exists: --force replaces it'
    """

    parts: tuple[str | Option | Either, ...]

    def __new__(cls, *parts: "str | Option | Either") -> "Message":
        """Join the parts; those of a message are taken over."""
        flat: list[str | Option | Either] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Message) else [part])
        new = super().__new__(cls, "".join(map(str, flat)))
        new.parts = tuple(flat)
        return new

    @classmethod
    def joined(cls, separator: str, texts: Iterable[str]) -> "Message":
        """Join texts, as :meth:`str.join` does, with the options in them."""
        return cls(*[part for text in texts for part in (separator, text)][1:])

    def spelled(self, spell: Callable[[Option], str]) -> str:
        """Return the text for the command line, with each option as ``spell`` writes it."""
        return "".join(
            spell(part)
            if isinstance(part, Option)
            else part.command_line
            if isinstance(part, Either)
            else part
            for part in self.parts
        )


def some(names: Collection[Any], most: int = 10) -> str:
    """Return names for a message, a few of many; long ones are cut, odd ones quoted.

    Examples
    --------
    >>> some(["a", "b", "c, d", "", 5], 4)
    "a, b, 'c, d', '' and 1 more"
    """
    shown = ", ".join(_shown(str(name)) for name in islice(names, most))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def counted(n: int, one: str, many: str = "") -> str:
    """Return how many, in words that go with the number; by default the plural ends in s.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "item"), counted(2, "item is", "items are")
    ('1 item', '1,200 items', '2 items are')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def _shown(name: str) -> str:
    """Return a name as it stands where it can be told from its neighbours."""
    cut = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
    plain = cut.isprintable() and cut.strip() == cut and cut and "," not in cut
    return cut if plain else repr(cut)


def readable(text: str) -> str:
    r"""Return a message fit for a terminal: no control characters, and no more than a screen.

    Labels and cells that messages quote may hold anything, and be of any length.

    Examples
    --------
    >>> print(readable("a\x1b[31m label of " + 70_000 * "x"))
    a\x1b[31m label of xxxxxxxxxxxxxxxxxxxx[69,960 characters]xxxxxxxxxxxxxxxxxxxx
    """
    text = LONG_WORD.sub(lambda found: _without_middle(found[0], 20), text)
    if len(text) > LONGEST:
        text = _without_middle(text, LONGEST // 2)
    return UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def _without_middle(text: str, kept: int) -> str:
    return f"{text[:kept]}[{len(text) - 2 * kept:,} characters]{text[-kept:]}"


def message_of(problem: BaseException) -> str:
    """Return what an error or a warning says; a message as such.

    Examples
    --------
    >>> message_of(ValueError(Message(Option("n_items"), " is missing"))).parts
    (Option(name='n_items', value=None), ' is missing')
    """
    first = problem.args[0] if len(problem.args) == 1 else None
    return first if isinstance(first, Message) else str(problem)
