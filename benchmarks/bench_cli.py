"""From process start to written files: ``ordinate fit`` on 100,000 triplets, first and later.

``--against DIR`` runs another version in turn with this one: an unpacked archive of it, with its
``src``. Both times are given: by the clock, and of the processors, children included. A second
table says where the time of a later run goes.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from _measure import heading

METHODS = {"default": [], "--method ste": ["--method", "ste"]}
DRAWING = "matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"
CACHES = "NUMBA_CACHE_DIR", "MPLCONFIGDIR"
LEAST = 0.05  # seconds that give a library a line of its own


class Took(NamedTuple):
    """Seconds by the clock, and of the processors."""

    clock: float
    processors: float


def ordinate(source: Path | None, *arguments: object, caches: Path | None = None) -> Took:
    """Run a command of this version, or of the one in a folder, with its caches in a folder."""
    env = environment(caches)
    if source is not None:
        env["PYTHONPATH"] = str(source / "src")
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-P", "-m", "ordinate", *map(str, arguments), "-q"]
    subprocess.run(command, env=env, check=True)
    took, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return Took(took, user + after.children_system - before.children_system)


def environment(caches: Path | None) -> dict[str, str]:
    """Variables for a command whose caches are in a folder; Python keeps what it has compiled."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return env | ({} if caches is None else dict.fromkeys(CACHES, str(caches)))


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


def parts(folder: Path, options: list[str]) -> Counter[str]:
    """Seconds that a run's imports take, and the stages of one that has imported what draws."""
    fit = ["fit", str(folder / "answers.csv"), "-o", str(folder / "map"), "--force", "-q", *options]
    run = {"env": environment(folder), "check": True, "capture_output": True, "text": True}
    command = [sys.executable, "-P", "-X", "importtime", "-m", "ordinate", *fit]
    libraries: Counter[str] = Counter()
    for line in subprocess.run(command, **run).stderr.splitlines():
        if found := re.fullmatch(r"import time: +(\d+) \| +\d+ \| +(\w+)\S*", line):
            libraries[found[2]] += int(found[1]) / 1e6
    code = f"import {', '.join(DRAWING)}; from ordinate.__main__ import main; main()"
    subprocess.run([sys.executable, "-P", "-c", code, *fit], **run)
    record = json.loads((folder / "map" / "run.json").read_text(encoding="utf-8"))
    took: Counter[str] = Counter()
    for name, seconds in libraries.most_common():
        took[f"import of {name if seconds >= LEAST else 'all else'}"] += seconds
    for stage, seconds in record["seconds"].items():
        took[stage] += seconds
    return took


def parts_table(folder: Path, options: list[str], repeats: int) -> None:
    parts(folder, options)  # which fills the caches
    runs = [parts(folder, options) for _ in range(repeats)]
    print(f"\n| {shlex.join(options)}, later | best of {repeats} |\n|---|---|")
    for name in min(runs, key=Counter.total):
        print(f"| {name} | {min(run[name] for run in runs if name in run):.2f} s |")


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
        parts_table(Path(name), METHODS["--method ste"], given.repeats)
