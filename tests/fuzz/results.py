"""Commands that write, two results of each, and whether what is there is one of them, whole."""

import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz.known import meaning
from fuzz.scratch import scratch
from fuzz.shell import Command
from ordinate import readers

OLD, NEW = "old", "new"
SCRATCH = ".ordinate-"  # how scratch folders of ordinate are called
RECORDS = ("embedding.csv", "model.json", "run.json")
FILES = (*RECORDS, "embedding.png", "embedding.svg", "report.html")
# How files end that have come to their end.
ENDS = {
    **{".png": b"IEND\xaeB`\x82", ".svg": b"</svg>\n", ".html": b"</html>\n", ".json": b"}\n"},
    **{".csv": b"\n", ".pdf": b"%%EOF\n"},
}


class Kind(NamedTuple):
    """A command that writes: its arguments, with {} for old or new, and what it writes."""

    arguments: str
    target: str
    content: Callable[[Path], object]


def _file(path: Path) -> object:
    return path.read_bytes()


def _triplets(path: Path) -> object:
    return meaning(readers.read(path).triplets)


def _complete(path: Path) -> object:
    """Files that have a date in them are compared with nothing but their end."""
    if not path.read_bytes().endswith(ENDS[path.suffix]):
        raise ValueError("it is cut off")
    return path.suffix


def _run_folder(path: Path, files: tuple[str, ...] = FILES) -> object:
    """The map; all other files must be there, and complete."""
    for name in files:
        content = (path / name).read_bytes()
        if not content.rstrip().endswith(ENDS[Path(name).suffix].rstrip()):
            raise ValueError(f"{name} is cut off")
    return (path / "embedding.csv").read_bytes(), (path / "model.json").read_bytes()


def map_and_record(path: Path) -> object:
    """The map; its record must be there, but no figure."""
    return _run_folder(path, RECORDS)


KINDS = (
    Kind("fit {}.csv -o map --folds 0 -q", "map", _run_folder),
    Kind("convert {}.csv -o fast --fast", "fast", _triplets),
    Kind("convert {}.csv -o fast.parquet --fast", "fast.parquet", _triplets),
    Kind("convert {}.csv -o table.csv", "table.csv", _file),
    Kind("convert {}.csv -o table.feather", "table.feather", _triplets),
    Kind("simulate --n 40 --c 5 --noise {noise} -o sim.csv", "sim.csv", _file),
    Kind("simulate --n 40 --c 5 --noise {noise} -o sim", "sim", _triplets),
    Kind("plot {}-map.csv -o map.png", "map.png", _file),
    Kind("plot {}-map.csv -o map.pdf", "map.pdf", _complete),
    Kind("export {}-map.csv -o distances.csv", "distances.csv", _file),
)


class Made(NamedTuple):
    """Both results of a command, and how long it takes."""

    old: object
    new: object
    seconds: float


def arguments(kind: Kind, which: str) -> list[str]:
    """The arguments of a command that replaces what is there."""
    noise = "btl" if which == OLD else "none"
    return [*kind.arguments.format(which, noise=noise).split(), "--force"]


def begin(kind: Kind, folder: Path) -> Made:
    """Fill a folder with what the command reads, and with the old result."""
    made, source = _both(KINDS.index(kind))
    for path in source.iterdir():
        if path.is_dir():
            shutil.copytree(path, folder / path.name)
        else:
            shutil.copy(path, folder / path.name)
    return made


@cache
def _both(number: int) -> tuple[Made, Path]:
    """Make both results, once in a process."""
    kind, folder = KINDS[number], scratch() / f"kind-{number}"
    folder.mkdir(exist_ok=True)
    for which in (OLD, NEW):
        rng = Random(which)
        items = [f"{which}{k}" for k in range(8)]
        rows = [rng.sample(items, 3) for _ in range(300)]
        lines = ["anchor,near,far", *(",".join(row) for row in rows)]
        (folder / f"{which}.csv").write_text("".join(f"{line}\n" for line in lines))
        points = [f"{label},{rng.random()},{rng.random()}\n" for label in items]
        (folder / f"{which}-map.csv").write_text("label,dim1,dim2\n" + "".join(points))
    contents, seconds = {}, 0.0
    for which in (NEW, OLD):
        began = time.monotonic()
        done = Command(arguments(kind, which), folder).done()
        seconds = time.monotonic() - began
        if done.code:
            raise RuntimeError(f"{arguments(kind, which)} ends in {done.code}: {done.err}")
        contents[which] = kind.content(folder / kind.target)
    return Made(contents[OLD], contents[NEW], seconds), folder


def which_is_there(
    kind: Kind, folder: Path, made: Made, content: Callable[[Path], object] | None = None
) -> tuple[str, list[str]]:
    """Tell which result is there, and what is wrong with it or with the folder around it."""
    known = {path.name for path in _both(KINDS.index(kind))[1].iterdir()}
    others = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in known and not path.name.startswith(SCRATCH)
    )
    problems = [f"beside the result there is {others}"] if others else []
    target = folder / kind.target
    if not target.exists():
        return "", [*problems, f"{target.name} is gone"]
    try:
        found = (content or kind.content)(target)
    except Exception as error:
        return "", [*problems, f"{target.name} is half written: {type(error).__name__}: {error}"]
    if found == made.new:
        return NEW, problems
    if found == made.old:
        return OLD, problems
    return "", [*problems, f"{target.name} is neither the old nor the new result"]


def left_over(folder: Path) -> list[str]:
    """Scratch folders."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(SCRATCH))
