"""The parts, what each holds, and how many cases they have."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz import commands, corrupted, disks, kills, known, mutated, ways

Check = Callable[[Random, Path], list[str]]


class Part(NamedTuple):
    """Cases of one kind.

    Attributes
    ----------
    check : function
        Makes a case in a folder, and returns what is wrong.
    about : str
        What must hold, in a line.
    n_cases : int
        Of a full run.
    seconds : float
        That a short run spends on it.
    limit : float
        Seconds after which a case hangs.
    """

    check: Check
    about: str
    n_cases: int
    seconds: float
    limit: float = 30


PARTS = {
    "known": Part(known.check, "what is read is what the file says, or it is refused", 8000, 24),
    "mutated": Part(mutated.check, "rows are used, told of, or refused", 8000, 24),
    "ways": Part(ways.check, "streamed or as a whole, files say the same", 2000, 12),
    "corrupted": Part(corrupted.check, "damage to our own files is noticed", 2000, 8),
    "commands": Part(commands.check, "commands end in an answer or a message", 500, 12, 120),
    "kills": Part(kills.check, "a kill leaves the old result or the new", 200, 16, 120),
    "disks": Part(disks.check, "full disks and closed folders leave what was there", 100, 8, 120),
}
