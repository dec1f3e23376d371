"""Peak memory of converting a file within a limit, as a child process sees it.

    python benchmarks/bench_memory.py --rows 3_000_000 --limit 100MB

Each file is read, and written in the fast layout, by a process of its own; what the libraries and
kernels take is measured before, on a small file, and left out. Peaks are told as multiples of the
limit and of the file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from ordinate._base.memory import in_words, memory_size

CHILD = """
import json, re, sys, tempfile, time
from pathlib import Path
from ordinate import ondisk
from ordinate.files.inputs import open_source

def peak():
    # What resource tells begins with the peak of the process that started this one.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])

def convert(path, limit):
    triplets = open_source(path, memory_limit=limit).triplets
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(triplets, ondisk.TripletFile):
            ondisk.convert(triplets, f"{folder}/fast")
        else:
            ondisk.write([triplets], f"{folder}/fast", memory_limit=limit)

with tempfile.TemporaryDirectory() as folder:
    ondisk.convert(sys.argv[2], f"{folder}/fast", memory_limit="1MB")  # in blocks, if it is small
before, began = peak(), time.perf_counter()
convert(sys.argv[1], sys.argv[3])
print(json.dumps({"peak": peak() - before, "s": time.perf_counter() - began}))
"""


def main() -> None:
    """Write files of several formats, and convert each within the limit and without one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--limit", default="100MB")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = rng.integers(0, options.items, (options.rows, 3))
    rows[:, 1] = (rows[:, 0] + 1 + rows[:, 1] % (options.items - 2)) % options.items
    rows = rows[(rows[:, 2] != rows[:, 0]) & (rows[:, 2] != rows[:, 1])]
    names = np.array([f"item_{k:06}" for k in range(options.items)])
    roles = ("anchor", "near", "far")
    numbers = pa.table(dict(zip(roles, rows.T, strict=True)))
    text = pa.table({role: names[ids] for role, ids in zip(roles, rows.T, strict=True)})
    print("| file | size | limit | peak / limit | peak / size | s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for kind, table in (("numbers", numbers), ("text", text)):
            for ending in ("csv", "parquet", "feather", "npy"):
                if (kind, ending) == ("text", "npy"):
                    continue
                large, small = (Path(name) / f"{kind}-{n}.{ending}" for n in ("large", "small"))
                save(table, large)
                save(table.slice(0, 200), small)
                for limit in (options.limit, "100GB"):
                    report(large, small, limit)


def save(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the name tells."""
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(table, path)
    else:
        np.save(path, np.column_stack([column.to_numpy() for column in table.columns]))


def report(path: Path, small: Path, limit: str) -> None:
    """Convert a file in a process of its own, and print a row of the table."""
    command = [sys.executable, "-c", CHILD, str(path), str(small), limit]
    said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    size, peak = path.stat().st_size, said["peak"]
    print(
        f"| {path.stem.removesuffix('-large')}{path.suffix} | {in_words(size)} | {limit} "
        f"| {peak / memory_size(limit):.2f} | {peak / size:.1f} | {said['s']:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s in all")
