"""Progress of long computations: whoever computes tells each step, whoever shows them listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Who shows progress."""

    def expect(self, n_steps: int) -> None:
        """Learn of steps to come, beside those that are known of."""

    def step(self, what: str) -> None:
        """Learn that a step begins; what it is, or nothing if it goes on with the last."""

    def note(self, what: str) -> None:
        """Learn what is being done within a step."""


_listener: ContextVar[Listener | None] = ContextVar("who shows progress", default=None)


@contextmanager
def shown_by(listener: Listener) -> Iterator[None]:
    """Let someone listen for the time being."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def expect(n_steps: int) -> None:
    """Announce steps before the first of them."""
    if (listener := _listener.get()) is not None:
        listener.expect(n_steps)


def step(what: str = "") -> None:
    """Begin a step that was announced."""
    if (listener := _listener.get()) is not None:
        listener.step(what)


def note(what: str) -> None:
    """Say what is being done, within a step or without one."""
    if (listener := _listener.get()) is not None:
        listener.note(what)
