"""A file that cannot be read as it stands: what is wrong, and what settles it, as data."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ordinate._base.messages import readable

FOR_READER = "ordinate.readers.read(path, ...).triplets"


class Remedy(NamedTuple):
    """Options of :func:`ordinate.readers.read` that settle a question, and when they do.

    Attributes
    ----------
    options : mapping of str to value
        Such as ``{"layout": "plain"}``.
    when : str
        What must be true of the file, or what the options do; may be empty.
    """

    options: Mapping[str, Any]
    when: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{given} {self.when}".strip()


class ReadError(ValueError):
    """A file cannot be read as it stands; the message says where, why and what to do.

    Attributes
    ----------
    what : str
        Where and why.
    remedies : tuple of Remedy
        The options that would settle it, each on its own; often none.
    for_reader : bool
        Whoever meets the error cannot give the options, but :func:`ordinate.readers.read` takes
        them.
    """

    for_reader = False

    def __init__(self, what: str, *remedies: Remedy) -> None:
        super().__init__(what, *remedies)
        self.what = what
        self.remedies = remedies

    def __str__(self) -> str:
        if not self.remedies:
            return readable(self.what)
        ways = "; or ".join(map(str, self.remedies))
        if self.for_reader:
            return readable(f"{self.what}. Give {FOR_READER} instead of the path, with {ways}")
        return readable(f"{self.what}. Say {ways}")
