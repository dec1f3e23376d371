"""Files through the command line: an answer that is right, or a message and an exit code."""

import csv
import json
import shlex
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.feather
import pyarrow.parquet

from fuzz.features import make_sheet
from fuzz.formats import Written, write
from fuzz.known import dropped, meaning, told
from fuzz.mutated import damaged
from fuzz.sheets import Truth
from fuzz.shell import Done, run
from ordinate import readers
from ordinate.cli._shell import as_command_line

WRONG_USE, UNREADABLE = 2, 3
LONGEST_MESSAGE = 20_000  # characters; labels may have 1,600


def check(rng: Random, folder: Path) -> list[str]:
    """Run a command on a file, sound or damaged, and return what is wrong with how it ends."""
    folder = folder / "case"
    folder.mkdir()
    written = write(rng, make_sheet(rng), folder)
    how = damaged(rng, written)[0] if rng.random() < 0.4 else ""
    before = {*folder.iterdir()}
    command, target = rng.choice(COMMANDS)
    options = shlex.split(as_command_line(written.sheet.options))
    arguments = [*command.split(), written.path.name, *options]
    if target:
        arguments += ["-o", target]
    done = run(rng, arguments, folder)
    case = f"{shlex.join(arguments)[:200]} ({told(written)}{f', {how}' if how else ''})"
    problems = ended(done, allowed=(UNREADABLE, WRONG_USE) if how or not written.sheet.sure else ())
    new = {path.name for path in {*folder.iterdir()} - before}
    if new != ({target} if target and not done.code else set()):
        problems.append(f"it left {sorted(new)}, with exit code {done.code}")
    elif not problems and not done.code:
        problems = _judge(command, folder / target, done, None if how else written)
    return [f"{case}: {problem}" for problem in problems]


def ended(done: Done, allowed: tuple[int, ...]) -> list[str]:
    """Return what is wrong with the end of a command: code, or the lack of a message."""
    problems = []
    if done.code not in (0, *allowed):
        problems.append(f"exit code {done.code}: {done.err[-300:]}")
    if "Traceback" in done.err + done.out:
        problems.append(f"a traceback: {done.err[-300:]}")
    if done.code > 0 and "error: " not in done.err and "Error" not in done.err:
        problems.append(f"exit code {done.code} without a message")
    if len(done.err) > LONGEST_MESSAGE:
        problems.append(f"a message of {len(done.err):,} characters")
    return problems


def _judge(command: str, target: Path, done: Done, written: Written | None) -> list[str]:
    """Hold the output against what the file says, where that is known."""
    if command.startswith("check"):
        record = json.loads(done.out)
        lost = record["rows"] - record["rows_used"] - dropped(record["notes"])
        return [f"{lost} rows are not accounted for: {record['notes']}"] if lost else []
    if command.startswith("fit"):
        files = {path.name for path in target.iterdir()}
        missing = {"embedding.csv", "model.json", "run.json", "report.html"} - files
        return [f"{sorted(missing)} are missing"] if missing else []
    if written is None or not written.sheet.sure:
        return []
    truth = written.sheet.truth()
    fast = "--fast" in command
    found = meaning(readers.read(target).triplets) if fast else _table(target)
    if fast and "not kept" in done.err:
        truth, found = rows_alone(truth), rows_alone(found)
    if found == truth:
        return []
    extra, lost = [*(found - truth)][:2], [*(truth - found)][:2]
    return [f"written as {extra} in place of {lost}: {done.err[-300:]}"]


def _table(path: Path) -> Truth:
    """Read a table that was written, by other means than readers."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    elif path.suffix == ".parquet":
        rows = pyarrow.parquet.read_table(path).to_pylist()
    else:
        rows = pyarrow.feather.read_table(path).to_pylist()
    groups: dict[Any, list] = {}
    for i, row in enumerate(rows):
        one = (str(row["anchor"]), str(row["near"]), str(row["far"]), float(row.get("weight", 1)))
        groups.setdefault((str(row.get("participant", "")), row.get("answer", i)), []).append(one)
    return Counter((who, tuple(sorted(group))) for (who, _), group in groups.items())


def rows_alone(truth: Truth) -> Truth:
    """The triplets, without participants and answers."""
    found: Counter = Counter()
    for (_, triplets), times in truth.items():
        for triplet in triplets:
            found[triplet] += times
    return found


COMMANDS = (
    ("check --json", ""),
    ("check --json", ""),
    ("convert", "out.csv"),
    ("convert", "out.parquet"),
    ("convert", "out.feather"),
    ("convert --fast", "fast"),
    ("convert --fast", "fast.parquet"),
    ("fit --folds 0 -q", "map"),
)
