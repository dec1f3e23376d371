"""Defects on purpose: what :mod:`fuzz.running` must notice. No part of a run, but of its tests."""

import atexit
import os
import signal
import time
from pathlib import Path
from random import Random


def check(rng: Random, folder: Path) -> list[str]:
    """Misbehave in one of four ways, or at the very end."""
    if "ORDINATE_FUZZ_ABORT" in os.environ:
        atexit.register(os.abort)
        return []
    rng.choice([_crash, _hang, _grow, _raise])()
    return []


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang() -> None:
    time.sleep(60)


def _grow() -> None:
    bytearray(b"x") * (700 << 20)


def _raise() -> None:
    raise KeyError("a defect")
