"""Damage to what ordinate wrote itself: noticed, or without consequence; never a crash."""

import json
import shutil
from functools import cache
from pathlib import Path
from random import Random

from pyarrow.csv import write_csv

from fuzz.features import LABELS, words
from fuzz.known import meaning
from fuzz.scratch import scratch
from fuzz.shell import Command
from ordinate import STE, Triplets, load, ondisk, readers
from ordinate.files.maps import read_map
from ordinate.study.record import read_record

# What may be raised at a damaged folder; an OSError with a number would be the system's.
REFUSALS = (ValueError, MemoryError, OSError)


def check(rng: Random, folder: Path) -> list[str]:
    """Damage a byte of a folder or file of our own; return what is wrong with how it is read."""
    kind = rng.choice(
        ["fast folder", "fast file", "folder by answer", "file by answer", "model", "run"]
    )
    labels = rng.choice(["words", "padded", "numbers from 0"])
    weighted = rng.random() < 0.5
    original = _made(kind, labels, weighted)
    copy = folder / original.name
    if original.is_dir():
        shutil.copytree(original, copy)
        files = sorted(file for file in copy.iterdir() if file.name != ".ordinate")
        path = rng.choice(files)
    else:
        shutil.copy(original, copy)
        path = copy
    how = _damage(rng, path)
    case = f"{kind} of {labels}{', weighted' * weighted}, {path.name}: {how}"
    judge = _map if kind in ("model", "run") else _fast
    return [f"{case}: {problem}" for problem in judge(original, copy)]


def _fast(original: Path, copy: Path) -> list[str]:
    """The fast layout has checksums: it is refused, or what it was."""
    before = meaning(readers.read(original).triplets)
    try:
        after = readers.read(copy)
    except REFUSALS:
        return []
    found = meaning(after.triplets)
    if found == before:
        return []
    extra, lost = [*(found - before)][:2], [*(before - found)][:2]
    return [f"read as {extra} in place of {lost}; notes {after.notes}"]


def _map(original: Path, copy: Path) -> list[str]:
    """Maps are tables that people may edit: they are read, or refused with a reason."""
    table = copy / "embedding.csv"
    for opened, damaged in ((load, copy), (read_map, table), (read_record, table)):
        try:
            opened(damaged)
        except REFUSALS as error:
            if not str(error).strip():
                return [f"{type(error).__name__} without a message"]
    return []


@cache
def _made(kind: str, labels: str, weighted: bool) -> Path:
    """Write a small one, once for each kind."""
    rng = Random(f"{kind}:{labels}:{weighted}")
    items = LABELS[labels][0](rng, 6)
    rows = [rng.sample(range(6), 3) for _ in range(40)]
    weight = [rng.randint(1, 5) for _ in rows] if weighted else None
    who = [rng.choice(words(Random(1), 3)) for _ in rows]
    answer = [rng.randrange(15) for _ in rows]
    triplets = Triplets(rows, items=items, weight=weight, participant=who, answer=answer)
    path = scratch() / f"{kind.replace(' ', '-')}-{labels.replace(' ', '-')}-{weighted}"
    if kind == "model":
        STE(random_state=0).fit(triplets).save(path)
        return path
    if kind == "run":
        answers = path.with_suffix(".csv")
        write_csv(triplets.to_arrow(), answers)
        arguments = ["fit", answers.name, "-o", path.name, "--folds", "0", "-q", "--force"]
        done = Command(arguments, scratch()).done()
        if done.code:
            raise RuntimeError(f"{arguments} ends in {done.code}: {done.err}")
        return path
    path = path.with_suffix(".parquet") if "file" in kind else path
    ondisk.write([triplets], path, order="answer" if "answer" in kind else "anchor")
    return path


def _damage(rng: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    kind = rng.choice(["flip", "flip", "byte", "digit", "cut", "insert", "key"])
    if kind == "flip":
        content[at] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        content[at] = rng.randrange(256)
    elif kind == "digit":
        digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()]
        at = rng.choice(digits or [at])
        content[at] = ord(rng.choice("0123456789-"))
    elif kind == "cut":
        del content[at:]
    elif kind == "insert":
        content[at:at] = rng.choice([b"\0", b'"', b",", b"9", b"\n"])
    elif path.suffix == ".json":
        about = json.loads(content)
        key = rng.choice(sorted(about))
        value = rng.choice([None, -1, 1e308, "x", [], {}, 10**30, about.pop(key)])
        if rng.random() < 0.7:
            about[key] = value
        content = bytearray(json.dumps(about).encode())
        path.write_bytes(content)
        return f"{key} changed"
    path.write_bytes(content)
    return f"{kind} at {at}"
