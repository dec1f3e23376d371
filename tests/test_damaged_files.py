"""Files that are damaged, or hold what is no label: a message each, whichever way they are read."""

import datetime
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather
from test_cli import run  # noqa: F401

from ordinate._base.memory import memory_size
from ordinate.files.inputs import open_source

SMALL = 3000  # bytes of memory, for which 300 rows are too many

# Reads each file both ways, in a process that may come to its end by it.
READS = f"""
import sys, warnings
from pathlib import Path
from ordinate.files import streaming
from ordinate.files.formats import blocks
from ordinate.files.inputs import open_source
warnings.simplefilter("ignore")
streaming.LEAST = 0
blocks.largest_batch = lambda path: 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    for limit in (None, {SMALL}):
        print(path.name, limit, end=" ", flush=True)
        try:
            found = open_source(path, memory_limit=limit)
            found.stored.grouped() if found.stored else found.load()
            print("read", flush=True)
        except (OSError, ValueError, MemoryError) as error:
            print("refused", flush=True)
"""


def answers(kind="text"):
    """A table of 300 rows about 12 items."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(12)[:3] for _ in range(300)])
    labels = np.array([f"item {i} {'x' * (i % 7)}" for i in range(12)])
    columns = dict(zip(("anchor", "near", "far"), rows.T, strict=True))
    if kind != "numbers":
        columns = {name: pa.array(labels[ids]) for name, ids in columns.items()}
    if kind == "dictionary":
        columns = {name: column.dictionary_encode() for name, column in columns.items()}
    return pa.table(columns)


@pytest.mark.parametrize("kind", ["text", "dictionary", "numbers"])
def test_damaged_arrow_files_never_end_the_process(kind, tmp_path):
    """Offsets of texts and indices into dictionaries point anywhere, once they are damaged."""
    whole = tmp_path / "whole.feather"
    feather.write_feather(answers(kind), whole, compression="uncompressed")
    content, rng = whole.read_bytes(), np.random.default_rng(0)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "000.feather").write_bytes(content)
    for i in range(1, 80):
        damaged = bytearray(content)
        for at in rng.integers(len(content), size=3):
            damaged[at] = rng.integers(256)
        (tmp_path / "set" / f"{i:03}.feather").write_bytes(damaged)
    ended = subprocess.run(
        [sys.executable, "-c", READS, tmp_path / "set"], capture_output=True, text=True, check=False
    )
    told = ended.stdout.splitlines()
    assert ended.returncode == 0, (told[-1:], ended.stderr[-500:])
    assert told[:2] == ["000.feather None read", f"000.feather {SMALL} read"]
    assert len(told) == 160


@pytest.mark.parametrize(
    ("at", "value"),
    [(6, b"\x09"), (8, b"\xff\xff"), (11, b"[[[[[["), (12, b"\xff"), (61, b"9" * 14), (20, b"(")],
)
@pytest.mark.parametrize("limit", [None, SMALL])
def test_damaged_headers_of_arrays_are_refused(at, value, limit, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.tile([[0, 1, 2], [1, 0, 2]], (500, 1)))
    content = bytearray(path.read_bytes())
    content[at : at + len(value)] = value
    path.write_bytes(content)
    with pytest.raises((OSError, ValueError), match=r"x\.npy.*(cannot be read|truncated)"):
        open_source(path, memory_limit=limit)


@pytest.mark.parametrize("limit", [None, SMALL])
@pytest.mark.parametrize("days", [False, True])
def test_dates_are_no_labels(days, limit, tmp_path):
    dates = [datetime.datetime(2020, 1, 1 + i) for i in range(3)]
    kind = pa.date32() if days else pa.timestamp("us")
    columns = {
        name: pa.array([dates[k], dates[k - 1]] * 200).cast(kind)
        for k, name in enumerate(("anchor", "near", "far"))
    }
    feather.write_feather(pa.table(columns), tmp_path / "x.feather")
    with pytest.raises((OSError, ValueError), match="values; text and numbers can be read: make"):
        open_source(tmp_path / "x.feather", memory_limit=limit)


@pytest.mark.parametrize("limit", ["9" * 400, "9" * 400 + "GiB", 10**400, "1e400", "inf", "nan"])
def test_endless_memory_limits_are_refused(limit, run, tmp_path):  # noqa: F811
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
        memory_size(limit)
    np.save("x.npy", [[0, 1, 2]])
    result = run("convert", "x.npy", "-o", "y", "--fast", "--memory-limit", limit, code=2)
    assert "--memory-limit must be a number of bytes" in result.stderr
