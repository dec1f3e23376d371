"""Whole commands: in processes of their own, most of them forked where all imports are done."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz.scratch import new_folder, scratch

COLD = 0.05  # the share of commands that begin as users' do; the others save two seconds of imports
SOON = 0.001
LONGEST = 280.0  # seconds; less than a case may take, so that it is the command that is named
WARM: tuple[str, ...] = ("fuzz.warm",)  # imported before commands are forked; none for none
PROGRAM: tuple[str, ...] = (sys.executable, "-m", "ordinate")
_numbers = count()


class Done(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


class Command:
    """A command that runs.

    Parameters
    ----------
    arguments : list of str
    folder : Path
        Where it runs.
    cold : bool
        As a new process, instead of one that has all imports.
    file_size : int, optional
        The largest file that it may write.
    """

    def __init__(
        self, arguments: list[str], folder: Path, *, cold: bool = False, file_size: int = 0
    ) -> None:
        number = next(_numbers)
        self.out, self.err = (scratch() / f"{number}.{what}" for what in ("out", "err"))
        self.began = time.monotonic()
        if cold or not WARM:
            with self.out.open("wb") as out, self.err.open("wb") as err:
                self._process = subprocess.Popen(
                    [*PROGRAM, *arguments],
                    cwd=folder,
                    stdout=out,
                    stderr=err,
                    preexec_fn=lambda: _limit(file_size),
                )
            self.pid, self._code = self._process.pid, self._process.poll
            return
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(WARM))
        child = context.Process(
            target=_run, args=(arguments, str(folder), str(self.out), str(self.err), file_size)
        )
        child.start()
        self._child = child
        assert child.pid is not None
        self.pid, self._code = child.pid, lambda: child.exitcode

    def kill(self, number: int) -> None:
        """Send a signal; it may have ended already."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, until: Callable[[], bool] = lambda: False) -> bool:
        """Wait for the end, or for something else; tell whether it was the end."""
        while self._code() is None:
            if until():
                return False
            if time.monotonic() - self.began > LONGEST:
                self.kill(signal.SIGKILL)
                raise TimeoutError(f"no end after {LONGEST:.0f} s")
            time.sleep(SOON)
        return True

    def done(self) -> Done:
        """Wait, and return how it ended."""
        self.wait()
        code = self._code()
        texts = (
            path.read_text(errors="replace") if path.exists() else ""
            for path in (self.out, self.err)
        )
        return Done(-1 if code is None else code, *texts)


def run(rng: Random, arguments: list[str], folder: Path, *, file_size: int = 0) -> Done:
    """Run a command to its end."""
    return Command(arguments, folder, cold=rng.random() < COLD, file_size=file_size).done()


def compile_kernels() -> None:
    """Fill the cache of kernels by a fit, so that no case waits until they are compiled."""
    with new_folder() as folder:
        rows = "a,b,c\nb,c,d\nc,d,a\nd,a,b\n" * 20
        Path(folder, "answers.csv").write_text("anchor,near,far\n" + rows)
        words = ["fit", "answers.csv", "-o", "map", "--folds", "0", "-q"]
        subprocess.run([*PROGRAM, *words], cwd=folder, check=True, stderr=subprocess.DEVNULL)


def _run(arguments: list[str], folder: str, out: str, err: str, file_size: int) -> None:
    """In the child: become the command."""
    from ordinate.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for path, number in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    os.chdir(folder)
    sys.argv = ["ordinate", *arguments]
    _limit(file_size)
    main()


def _limit(file_size: int) -> None:
    import resource

    if file_size:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, hard))
