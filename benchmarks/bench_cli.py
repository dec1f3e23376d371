"""From process start to written files: ``ordinate fit`` on 100,000 triplets, first and later.

``--against DIR`` runs another version in turn with this one: an unpacked archive of it, with its
``src``. Both times are given: by the clock, and of the processors, children included.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from _measure import heading

METHODS = {"default": [], "--method ste": ["--method", "ste"]}


class Took(NamedTuple):
    """Seconds by the clock, and of the processors."""

    clock: float
    processors: float


def ordinate(source: Path | None, *arguments: object, caches: Path | None = None) -> Took:
    """Run a command of this version, or of the one in a folder, with its caches in a folder."""
    env = dict(os.environ)
    if source is not None:
        env["PYTHONPATH"] = str(source / "src")
    if caches is not None:
        env |= {"NUMBA_CACHE_DIR": str(caches), "MPLCONFIGDIR": str(caches)}
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-P", "-m", "ordinate", *map(str, arguments), "-q"]
    subprocess.run(command, env=env, check=True)
    took, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return Took(took, user + after.children_system - before.children_system)


def best(runs: list[Took]) -> str:
    """Write the fastest of some runs, by either measure."""
    clock, processors = (min(times) for times in zip(*runs, strict=True))
    return f"{clock:.2f} s ({processors:.2f})"


def table(versions: dict[str, Path | None], folder: Path, repeats: int) -> None:
    print("| | first ever | later |\n|---|---|---|")
    for method, options in METHODS.items():
        first: dict[str, list[Took]] = {name: [] for name in versions}
        later: dict[str, list[Took]] = {name: [] for name in versions}
        for k in range(repeats):
            for name, source in versions.items():
                caches = folder / f"caches-{name}-{len(options)}-{k}"
                output = folder / f"map-{name}"
                fit = ("fit", folder / "answers.csv", "-o", output, "--force", *options)
                first[name].append(ordinate(source, *fit, caches=caches))
                later[name].append(ordinate(source, *fit, caches=caches))
        for name in versions:
            print(f"| {name}, {method} | {best(first[name])} | {best(later[name])} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the folder of another version")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    heading("ordinate fit, 100,000 triplets, 200 items: by the clock (of the processors)")
    versions = {"this": None} | ({} if given.against is None else {"other": given.against})
    with tempfile.TemporaryDirectory() as name:
        answers = ("--n", 200, "--triplets", 100_000, "-o", Path(name) / "answers.csv")
        ordinate(None, "simulate", *answers)
        table(versions, Path(name), given.repeats)
