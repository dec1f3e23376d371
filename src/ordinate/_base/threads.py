"""Threads: how many there are, and running tasks on them.

Kernels release Python's global lock, so plain threads are enough. No result may depend on how many
there are: tasks write to places of their own, and sums are combined in the order of the tasks. A
process that is forked off starts threads of its own.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from itertools import count, pairwise
from threading import Event, Lock, local
from typing import Any, TypeVar

from ordinate._base.arrays import namespace

Task = TypeVar("Task")
Result = TypeVar("Result")

_chosen: int | None = None
_pool: tuple[int, ThreadPoolExecutor] | None = None
_handing_out = Lock()  # tasks to the pool, which another thread must not end meanwhile
_blas: tuple[int, Any] | None = None
_inside = local()
_NEVER = Event()


def n_threads() -> int:
    """Return the number of threads in use.

    That is what :func:`threads` says, else the environment variable ``ORDINATE_THREADS``, else the
    number of cores this process may run on. A task of :func:`run` has one, its own.
    """
    if getattr(_inside, "a_task", False):
        return 1
    if _chosen is not None:
        return _chosen
    said = os.environ.get("ORDINATE_THREADS")
    if said is not None:
        return _positive(said, "ORDINATE_THREADS")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Use this many threads inside a ``with`` block.

    Examples
    --------
    >>> import ordinate
    >>> with ordinate.threads(1):
    ...     points = ordinate.sample_points(10, random_state=0)
    """
    global _chosen
    before, _chosen = _chosen, _positive(number, "threads")
    try:
        yield
    finally:
        _chosen = before


@contextmanager
def one_thread() -> Iterator[None]:
    """Use this thread alone inside a ``with`` block; other threads go on as they are."""
    before, _inside.a_task = getattr(_inside, "a_task", False), True
    try:
        yield
    finally:
        _inside.a_task = before


def run(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Call ``function`` on every task, on all threads; results are in the order of the tasks."""
    tasks = list(tasks)
    if getattr(_inside, "unwanted", _NEVER).is_set():
        raise KeyboardInterrupt
    # A task that runs tasks of its own does so itself: waiting for its own pool would block it.
    if n_threads() == 1 or len(tasks) <= 1:
        return [function(task) for task in tasks]
    unwanted = Event()

    def call(context: Context, task: Task) -> Result:
        _inside.unwanted = unwanted
        with one_thread():
            return context.run(function, task)

    try:
        # In the context of the caller: those who listen to it listen to all tasks.
        contexts = [copy_context() for _ in tasks]
        with _handing_out:
            results = _executor(n_threads()).map(call, contexts, tasks)
        return list(results)
    except BaseException as error:
        unwanted.set()  # a long task, which runs others, ends with the next of them
        if isinstance(error, KeyboardInterrupt):
            # A thread that was just being started is not among those that Python ends when it
            # exits: it would wait for that one, and that one for tasks, forever.
            with _handing_out:
                _end_pool()
        raise


def in_order(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int, ahead: int
) -> Iterator[Result]:
    """Yield ``function`` of every task, in the order of the tasks, on threads of their own.

    At most ``ahead`` tasks are begun or waiting beyond the result that is wanted next: that bounds
    the memory where results are large and tasks without end.
    """
    pool = ThreadPoolExecutor(workers)
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def elsewhere(function: Callable[[], Result]) -> Result:
    """Call a function on a thread of its own.

    Some libraries take over signals while they are called from the main thread: Arrow does while it
    reads text, and loses those that come at the end.
    """
    (result,) = in_order(lambda _: function(), [None], workers=1, ahead=0)
    return result


def ahead(results: Iterator[Result], depth: int) -> Iterator[Result]:
    """Yield what an iterator does, which runs ahead by ``depth`` on a thread of its own."""
    end = object()
    for result in in_order(lambda _: next(results, end), count(), workers=1, ahead=depth):
        if result is end:
            return
        yield result  # type: ignore[misc]


def _executor(workers: int) -> ThreadPoolExecutor:
    """Return the pool of this many threads, made once: starting threads costs a millisecond."""
    global _pool
    if _pool is None or _pool[0] != workers:
        _end_pool()
        _pool = (workers, ThreadPoolExecutor(workers))
    return _pool[1]


def _end_pool() -> None:
    """Let the threads of the pool end when their tasks are done."""
    global _pool
    if _pool is not None:
        _pool[1].shutdown(wait=False)
        _pool = None


def _forget_pool() -> None:
    """Leave the pool to the process that has its threads; one that was forked off has none."""
    global _pool, _handing_out
    _pool, _handing_out = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep the threads of NumPy's linear algebra out of the way inside a ``with`` block.

    After each of its small problems they would spin for a while on cores that kernels need; and
    results would depend on their number.
    """
    global _blas
    from threadpoolctl import ThreadpoolController

    # Looking through all libraries takes milliseconds: only when some may have been added.
    if _blas is None or _blas[0] != len(sys.modules):
        _blas = (len(sys.modules), ThreadpoolController())
    with _blas[1].limit(limits=1, user_api="blas"):
        yield


def blocks(n_rows: int, size: int) -> list[slice]:
    """Cut ``n_rows`` rows into consecutive slices of ``size`` rows, the last one shorter."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def sub_blocks(part: slice, size: int) -> list[slice]:
    """Cut a slice into consecutive slices of ``size`` rows, the last one shorter."""
    return [slice(at, min(at + size, part.stop)) for at in range(part.start, part.stop, size)]


def whole_groups(parts: list[slice], group: Any) -> list[slice]:
    """Move the ends of consecutive slices back to where a group of rows begins.

    ``group`` (m,), an array of NumPy or torch, has the number of each row's group, in order; where
    it is empty, slices stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> whole_groups(blocks(6, 2), np.array([0, 1, 1, 1, 2, 2]))
    [slice(0, 1, None), slice(1, 4, None), slice(4, 6, None)]
    """
    if not len(group):
        return parts
    find = namespace(group).searchsorted
    firsts = (int(find(group, group[part.start : part.start + 1])[0]) for part in parts)
    ends = [*dict.fromkeys(firsts), parts[-1].stop]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _positive(number: object, name: str) -> int:
    try:
        value = int(str(number))
    except ValueError:
        value = 0
    if value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
    return value
