"""Commands that are killed: the old result or the new one is there, whole, and nothing else."""

import signal
import time
from pathlib import Path
from random import Random

from fuzz.results import KINDS, NEW, arguments, begin, left_over, which_is_there
from fuzz.shell import COLD, Command

INTERRUPTED = 130
STEP = 0.03  # seconds, about, that the files of a result take to be written


def check(rng: Random, folder: Path) -> list[str]:
    """Kill a command at some time; then, now and then, let it run to its end."""
    folder = folder / "case"
    folder.mkdir()
    kind = rng.choice(KINDS)
    made = begin(kind, folder)
    wanted = arguments(kind, NEW)
    cold = rng.random() < COLD
    number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
    while_writing = rng.random() < 0.7
    delay = rng.random() * (STEP if while_writing else made.seconds)
    command = Command(wanted, folder, cold=cold)
    ended = command.wait(lambda: not while_writing or bool(left_over(folder)))
    if not ended:
        until = time.monotonic() + delay
        ended = command.wait(lambda: time.monotonic() > until)
    command.kill(number)
    done = command.done()
    when = f"{delay * 1000:.0f} ms after {'its first file' if while_writing else 'the start'}"
    case = f"ordinate {' '.join(wanted)}, {number.name} {when}, exit code {done.code}"
    found, problems = which_is_there(kind, folder, made)
    if done.code == 0 and found != NEW:
        problems.append("it ended well, but the new result is not there")
    if done.code not in (0, -number, INTERRUPTED):
        problems.append(f"it ends otherwise than by the signal: {done.err[-300:]}")
    if done.code == INTERRUPTED and left_over(folder):
        problems.append(f"an interruption leaves {left_over(folder)}")
    if not problems and rng.random() < 0.3:
        again = Command(wanted, folder).done()
        found, problems = which_is_there(kind, folder, made)
        if again.code or found != NEW:
            problems.append(f"the next run ends in {again.code}: {again.err[-300:]}")
    return [f"{case}: {problem}" for problem in problems]
