"""The parts, each the function ``check`` of a module, and how many cases they have."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import NamedTuple

Check = Callable[[Random, Path], list[str]]  # makes a case in a folder; returns what is wrong


class Part(NamedTuple):
    """Cases of one kind.

    Attributes
    ----------
    about : str
        What must hold, in a line.
    n_cases : int
        Of a full run.
    seconds : float
        That a short run spends on it.
    limit : float
        Seconds after which a case hangs.
    """

    about: str
    n_cases: int
    seconds: float
    limit: float = 30


# Commands take seconds; on a machine that others use, or while kernels are compiled, minutes.
LONG = 300

PARTS = {
    "known": Part("what is read is what the file says, or it is refused", 8000, 20),
    "mutated": Part("rows are used, told of, or refused", 8000, 20),
    "ways": Part("streamed or as a whole, files say the same", 2000, 10),
    "corrupted": Part("damage to our own files is noticed", 2000, 8, 120),
    "commands": Part("commands end in an answer or a message", 500, 12, LONG),
    "kills": Part("a kill leaves the old result or the new", 200, 16, LONG),
    "disks": Part("full disks and closed folders leave what was there", 100, 8, LONG),
    "planted": Part("for the tests of all this", 0, 0, 3),
}


def check_of(part: str) -> Check:
    """Return what makes and judges the cases of a part; others are not imported."""
    return import_module(f"fuzz.{part}").check
