"""Clusters of Dask: connecting to them, whether they match, and tasks on their workers.

A value that tasks need goes to the cluster as a task of its own. Nothing is scattered: what a
worker held is made again, by others, if it is lost.
"""

import ctypes
import logging
import multiprocessing
import os
import platform
import pydoc
import re
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ordinate._base import progress
from ordinate._base.messages import Message, Option
from ordinate._base.optional import require
from ordinate._base.threads import blocks, one_thread
from ordinate._base.trees import in_tree
from ordinate._base.writing import Scratch

Delayed = Any  # a task that is yet to run, or the value of one that has
NEEDED = ("ordinate",)
SAME_DIGITS = ("python", "numpy", "numba")
ANSWERING = 10  # seconds in which a scheduler must answer
PATIENCE = 60  # seconds in which a cluster must have a worker
NEIGHBOURS = 8  # that a task combines; a power of two, so that they are a branch of the tree
UNLIMITED = 1 << 34  # bytes that a worker without a limit is taken to have
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc
GIVEN_BACK, MAPPED = 1 << 27, 1 << 25  # bytes: free at the end of a heap, of an array; at least
SHARE = 0.4  # of a worker's memory that triplets may take; Dask writes to disk from 0.6

_checked: "weakref.WeakSet[Any]" = weakref.WeakSet()  # clients whose workers match


class Cluster:
    """The workers of a client of Dask.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current one.
    """

    def __init__(self, client: Any = None) -> None:
        distributed = require("distributed", extra="dask")
        try:
            self.client = client or distributed.get_client()
        except ValueError:
            raise ValueError(
                "triplets on a cluster need a client of it: make one before, as in "
                "dask.distributed.Client('tcp://host:8786'), or Client(n_workers=4) on this machine"
            ) from None
        if not isinstance(self.client, distributed.Client) or self.client.asynchronous:
            raise TypeError(
                "client must be a distributed.Client that is not asynchronous, as in "
                f"Client('tcp://host:8786'); got {self.client!r}"
            )
        self._refuse_closed()
        if self.client not in _checked:
            check_workers(self.client)
            _checked.add(self.client)

    def _refuse_closed(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise ValueError(
                "the client of the cluster is closed: make another, and open the triplets with it"
            )

    def share(self, value: Any) -> Delayed:
        """Return a value as a task: one worker gets it, and others get it from that one."""
        delayed = require("dask", extra="dask").delayed
        return delayed(_itself, pure=False)(delayed(value, traverse=False, pure=False))

    def call(self, function: Callable[..., Any], *arguments: Any) -> Delayed:
        """Return the task ``function(*arguments)``, of one thread; arguments may be tasks.

        Each by itself: of those in a list Dask forgets what they are made of.
        """
        return require("dask", extra="dask").delayed(_Alone(function), pure=False)(*arguments)

    def in_tree(self, function: Callable[[Any, Any], Any], tasks: list[Delayed]) -> Delayed:
        """Return the task that combines results of tasks, in the one tree that is used here.

        A task combines several neighbours: each costs the scheduler about a millisecond.
        """
        together = _Together(function)
        while len(tasks) > 1:
            cut = blocks(len(tasks), NEIGHBOURS)
            tasks = [self.call(together, *tasks[part]) for part in cut]
        return tasks[0]

    def kept(self, tasks: list[Delayed]) -> list[Delayed]:
        """Run tasks, whose results stay on the workers as long as they are wanted.

        What they are made of may be let go afterwards; not before, since the scheduler takes note
        of new tasks later than of what is no longer wanted.
        """
        distributed = require("distributed", extra="dask")
        with _large_values():
            found = list(self.client.persist(tasks))
        with _let_go_if_interrupted(distributed.futures_of(found)):
            distributed.wait(found)
        return found

    def results(self, tasks: list[Delayed], what: str = "") -> list[Any]:
        """Run tasks, and bring their results here."""
        if what:
            progress.note(what)
        with _large_values():
            futures = self.client.compute(tasks)
        with _let_go_if_interrupted(futures):
            return self.client.gather(futures)

    def has_room(self, n_bytes: float) -> bool:
        """Whether the memory of all workers has room for so much data."""
        return n_bytes <= SHARE * sum(memory for memory, _ in self._workers())

    @property
    def n_workers(self) -> int:
        """How many workers there are now."""
        return len(self._workers())

    @property
    def n_threads(self) -> int:
        """How many threads they have together."""
        return sum(n_threads for _, n_threads in self._workers())

    @property
    def bytes_per_task(self) -> int:
        """Bytes of data that each task may hold, where every thread of a worker runs one."""
        return int(SHARE * min(memory / n_threads for memory, n_threads in self._workers()))

    def _workers(self) -> list[tuple[float, int]]:
        """Memory and threads of each worker, as the scheduler knows them."""
        self._refuse_closed()
        found = self.client.scheduler_info(n_workers=-1)["workers"].values()
        if not found:  # all of them may be about to come back
            wait_for_worker(self.client)
            found = self.client.scheduler_info(n_workers=-1)["workers"].values()
        # A worker without a limit has all that its machine has, which only it can tell.
        return [(worker["memory_limit"] or UNLIMITED, worker["nthreads"]) for worker in found]


class _Together:
    """A function of two terms, made one of several by the tree."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function, self.__name__ = function, function.__name__

    def __call__(self, *terms: Any) -> Any:
        return in_tree(self.function, terms)


class _Alone:
    """A function that uses no other thread than its own, since each has a worker's thread."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__ = function, function.__name__

    def __call__(self, *arguments: Any) -> Any:
        _limit_linear_algebra()
        _keep_freed_memory()
        with one_thread():
            return self.function(*arguments)


@cache
def _limit_linear_algebra() -> Any:
    """Keep NumPy's linear algebra to one thread, too, for as long as the worker lives."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, "blas")


@cache
def _keep_freed_memory() -> None:
    """Let arrays come from memory that the process has, for as long as the worker lives.

    Dask's nannies have it given back at once, and malloc maps every array anew: the system then
    takes as long to provide the memory as kernels do to fill it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt  # glibc has it
    except (AttributeError, OSError, TypeError):
        return
    for option, n_bytes in ((M_TRIM_THRESHOLD, GIVEN_BACK), (M_MMAP_THRESHOLD, MAPPED)):
        mallopt(option, n_bytes)


def _itself(value: Any) -> Any:
    return value


@contextmanager
def _large_values() -> Iterator[None]:
    """Dask warns of tasks that hold much; a map's coordinates must go with each pass."""
    config = require("dask", extra="dask").config
    with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        yield


@contextmanager
def _let_go_if_interrupted(futures: list[Any]) -> Iterator[None]:
    """Have the cluster end tasks that nobody waits for, though a traceback may hold on to them."""
    try:
        yield
    except KeyboardInterrupt:
        for future in futures:
            future.release()
        raise


def wait_for_worker(client: Any) -> None:
    """Wait until there is a worker, or raise."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise ValueError(
            f"the cluster at {client.scheduler.address} has had no workers for {PATIENCE} seconds: "
            f"start some, as in `dask worker {client.scheduler.address}`"
        ) from None


def check_workers(client: Any) -> None:
    """Raise or warn, before anything is done, where workers do not match this process."""
    wait_for_worker(client)
    needed = _differing(client, NEEDED)
    if needed:
        raise ValueError(f"client and workers must have the same ordinate: {'; '.join(needed)}")
    others = _differing(client, SAME_DIGITS)
    if others:
        warnings.warn(
            "client and workers differ, and so may the last digits of results: "
            f"{'; '.join(others)}",
            UserWarning,
            stacklevel=3,
        )


def _differing(client: Any, names: tuple[str, ...]) -> list[str]:
    """Say which of some versions are others on workers than here."""
    found = []
    for name in names:
        # Functions that workers have without ordinate.
        ask: tuple[Any, ...] = (pydoc.locate, f"{name}.__version__")
        if name == "python":
            ask = (platform.python_version,)
        here = ask[0](*ask[1:])
        there: dict[str, list[str]] = {}
        for worker, version in client.run(*ask, on_error="return").items():
            if version != here:
                known = version if isinstance(version, str) else "missing"
                there.setdefault(known, []).append(worker)
        for known, workers in there.items():
            more = f" and {len(workers) - 2} more" if len(workers) > 2 else ""
            found.append(
                f"{name} is {here or 'missing'} here, and {known} on {', '.join(workers[:2])}{more}"
            )
    return found


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """Yield a client of the cluster at an address, or of workers that are started here.

    Parameters
    ----------
    where : str
        As in "tcp://host:8786", or "local:4" for four processes of one thread on this machine.
    """
    local = re.fullmatch(r"local:([1-9]\d{0,3})", where)
    if local is None and not re.fullmatch(r"\w+://.+:\d+", where):
        raise ValueError(
            Message(
                Option("cluster"),
                f" must be the address of a scheduler, as in tcp://host:8786, or local:4 for four "
                f"workers on this machine; got {where}",
            )
        )
    config = require("dask", extra="dask").config
    with Scratch() as scratch, config.set({"temporary-directory": str(scratch.path)}):
        try:
            client = _client(where, local and int(local[1]))
            try:
                yield client
            except Exception:
                client.close()
                raise
            client.close()
        except KeyboardInterrupt:
            # No farewells: they take seconds, and another interruption would cut them short.
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _client(where: str, n_workers: int | None) -> Any:
    """Connect to a scheduler, or start one here."""
    distributed = require("distributed", extra="dask")
    # It would tell of tasks that an interruption ends.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        if n_workers is None:
            return distributed.Client(where, timeout=ANSWERING)
        # The process that removes semaphores after an interruption would tell of them.
        told = (os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker")
        os.environ["PYTHONWARNINGS"] = ",".join(filter(None, told))
        return distributed.Client(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",  # any that is free: it is shown
            silence_logs=logging.ERROR,
        )
    except OSError as error:
        raise ValueError(
            f"no scheduler answers at {where} ({error}): start one, as in `dask scheduler`"
        ) from None
