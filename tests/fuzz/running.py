"""Cases in processes of their own, so that a crash, a hang or a runaway is a failure like others."""

import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable
from multiprocessing.connection import wait
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz.parts import PARTS, Check, check_of
from fuzz.scratch import HOME, be_alone, new_folder

WORKERS = max(2, os.cpu_count() or 2)
MOST_MEMORY = 512 << 20  # bytes that one case may take; no file is larger than 200 kB
ROOM = 4 << 30  # after which memory is refused, so that a runaway ends
MOST_CASES = 1000  # after which a process makes room for another: Arrow keeps addresses it once had


class Failure(NamedTuple):
    """A case and what is wrong with it."""

    case: str
    problem: str


class Result(NamedTuple):
    """What became of a part."""

    part: str
    n_cases: int
    seconds: float
    failures: list[Failure]


def names(part: str, seed: int, n: int) -> list[str]:
    """Return the names of cases, from which they are made."""
    return [f"{part}:{seed}:{number}" for number in range(n)]


def run_case(name: str) -> list[str]:
    """Run a case, and return what is wrong."""
    check = check_of(name.split(":")[0])
    before = _peak()
    with new_folder() as folder:
        problems = examine(check, Random(name), Path(folder))
    grown = _peak() - before
    if grown > MOST_MEMORY:
        problems.append(f"it took {grown >> 20} MiB of memory")
    return problems


def examine(check: Check, rng: Random, folder: Path) -> list[str]:
    """Return what a check finds; an error that it does not expect is a finding, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return check(rng, folder)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = str(error).split("\n")[0][:200]
            where = f"{Path(place.filename).name}, line {place.lineno}"
            return [f"{type(error).__name__} in {where}: {what}"]


class Pool:
    """A process for each processor, in which cases are run; a context."""

    def __enter__(self) -> "Pool":
        # What killed processes leave behind goes away with it.
        self._home = new_folder()
        os.environ[HOME] = self._home.name
        self._workers = [_Worker() for _ in range(WORKERS)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        del os.environ[HOME]
        self._home.cleanup()

    def run(self, part: str, cases: Iterable[str], seconds: float = float("inf")) -> Result:
        """Run cases of a part until there are no more of them, or no time."""
        began = time.monotonic()
        left = iter(cases)
        failures: list[Failure] = []
        n_done = 0
        busy = [worker for worker in self._workers if worker.take(left)]
        while busy:
            ready = wait([worker.pipe for worker in busy], timeout=1)
            for worker in busy:
                problems = worker.result(worker.pipe in ready, PARTS[part].limit)
                if problems is not None:
                    n_done += 1
                    failures += [Failure(worker.case, problem) for problem in problems]
                    worker.case = ""
            if time.monotonic() - began > seconds:
                left = iter(())
            busy = [worker for worker in busy if worker.case or worker.take(left)]
        return Result(part, n_done, time.monotonic() - began, failures)


class _Worker:
    """A process that runs one case after the other; a new one after a crash or a hang."""

    case = ""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,))
        self.process.start()
        other.close()
        self.is_ready = self.stopped = False
        self.n_taken = 0

    def take(self, cases: Iterable[str]) -> bool:
        """Begin the next case, and tell whether there was one."""
        self.case = next(iter(cases), "")
        if self.case and self.n_taken == MOST_CASES:
            self.end()
            self.stopped = True
        if self.case and self.stopped:
            self._start()
        if self.case:
            self.is_ready = self.is_ready or self.pipe.recv()  # imports take no case's time
            self.began = time.monotonic()
            self.n_taken += 1
            self.pipe.send(self.case)
        return bool(self.case)

    def result(self, ready: bool, limit: float) -> list[str] | None:
        """Return what is wrong with the case at hand, or None while it runs."""
        if ready:
            try:
                return self.pipe.recv()
            except (EOFError, ConnectionError):
                self.process.join()
                return self._again(f"the process ended with {_ending(self.process.exitcode)}")
        if time.monotonic() - self.began > limit:
            self.process.kill()
            self.process.join()
            return self._again(f"it hangs: no result after {limit:.0f} s")
        return None

    def _again(self, problem: str) -> list[str]:
        self.pipe.close()
        self.stopped = True  # another one is started for the next case
        return [problem]

    def end(self) -> None:
        """End the process; it has nothing left to do."""
        self.pipe.close()
        self.process.join(5)
        slow = self.process.is_alive()
        if slow:
            self.process.kill()
        self.process.join()
        if self.process.exitcode and not slow and not self.stopped:
            ending = _ending(self.process.exitcode)
            print(f"note: a process ended with {ending} after all of its cases", flush=True)


def _serve(pipe: multiprocessing.connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    be_alone()
    soft = _size() + ROOM
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (soft, resource.getrlimit(resource.RLIMIT_AS)[1]))
    pipe.send(True)
    while True:
        try:
            pipe.send(run_case(pipe.recv()))
        except EOFError:
            return


def _peak() -> int:
    """The most memory in use so far, in bytes."""
    if sys.platform == "linux":  # where ru_maxrss is that of the parent, if that had more
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _size() -> int:
    """Addresses in use, in bytes."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _ending(code: int | None) -> str:
    return signal.Signals(-code).name if code and code < 0 else f"exit code {code}"
