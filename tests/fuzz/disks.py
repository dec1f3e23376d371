"""Full disks and folders that cannot be written to: a message, and what was there before."""

import os
import subprocess
from pathlib import Path
from random import Random

from fuzz.commands import ended
from fuzz.results import (
    KINDS,
    NEW,
    OLD,
    arguments,
    begin,
    left_over,
    map_and_record,
    which_is_there,
)
from fuzz.scratch import may_mount
from fuzz.shell import Command

UNWRITABLE = 4
UNDRAWN = "the map is in map, with its model and record"


def check(rng: Random, folder: Path) -> list[str]:
    """Run a command that writes to a disk that is full, or fills up, or cannot be written to."""
    folder = folder / "case"
    folder.mkdir()
    kind = rng.choice(KINDS)
    how = rng.choice(["full", "full", "limit", "closed"] if may_mount() else ["limit", "closed"])
    file_size = rng.choice([1_500, 4_000, 40_000]) if how == "limit" else 0
    mounted = how == "full" or (how == "closed" and may_mount())
    if mounted:
        _mount(folder, 4 << 20)
    try:
        made = begin(kind, folder)
        if how == "full":
            # Scratch files of a command would be small; what is free is a matter of pages.
            room = rng.choice([0, 4, 8, 16, 40, 100, 300]) << 10
            _mount(folder, _used(folder) + room, "remount")
        elif how == "closed":
            _close(folder, mounted)
        done = Command(arguments(kind, NEW), folder, file_size=file_size).done()
        case = f"ordinate {' '.join(arguments(kind, NEW))}, {how}, exit code {done.code}"
        problems = ended(done, allowed=(UNWRITABLE,))
        undrawn = UNDRAWN in done.err
        found, wrong = which_is_there(
            kind, folder, made, map_and_record if undrawn else kind.content
        )
        problems += wrong
        wanted = OLD if done.code and not undrawn else NEW
        if found and found != wanted and made.old != made.new:
            problems.append(f"the {found} result is there")
        if left_over(folder):
            problems.append(f"it leaves {left_over(folder)}")
        if how == "closed" and done.code == 0:
            problems.append("it ended well, and cannot have")
    finally:
        if mounted:
            subprocess.run(["umount", "-l", folder], check=True)
        else:
            folder.chmod(0o755)
    return [f"{case}: {problem}" for problem in problems]


def _mount(folder: Path, size: int, *options: str) -> None:
    told = ",".join([*options, f"size={size}"])
    subprocess.run(["mount", "-t", "tmpfs", "-o", told, "tmpfs", folder], check=True)


def _used(folder: Path) -> int:
    room = os.statvfs(folder)
    return (room.f_blocks - room.f_bfree) * room.f_bsize


def _close(folder: Path, mounted: bool) -> None:
    if mounted:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    else:
        folder.chmod(0o555)
