"""Peak memory of converting a file within a limit, as a child process sees it.

    python benchmarks/bench_memory.py --rows 3_000_000 --limit 100MB

Each file is read, and written in the fast layout, by a process of its own; what the libraries and
kernels take is measured before, on a small file, and left out. The text with all columns has the
rows of its answers far apart, and is written in both orders of the fast layout.
"""

import argparse
import json
import re
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

def convert(path, limit, order):
    triplets = open_source(path, memory_limit=limit).triplets
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(triplets, ondisk.TripletFile):
            ondisk.convert(triplets, f"{folder}/fast", order=order)
        else:
            ondisk.write([triplets], f"{folder}/fast", memory_limit=limit, order=order)

with tempfile.TemporaryDirectory() as folder:
    ondisk.convert(sys.argv[2], f"{folder}/fast", memory_limit="1MB", order=sys.argv[4])
convert(sys.argv[2], "1GB", sys.argv[4])  # as a whole, and before that in blocks
before, began = peak(), time.perf_counter()
convert(sys.argv[1], *sys.argv[3:])
print(json.dumps({"peak": peak() - before, "s": time.perf_counter() - began}))
"""


def main() -> None:
    """Write files of several formats, and convert each within the limit and without one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--limit", nargs="+", default=["100MB", "100GB"])
    parser.add_argument("--endings", nargs="+", default=["csv", "parquet", "feather", "npy"])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = rng.integers(0, options.items, (options.rows, 3))
    rows[:, 1] = (rows[:, 0] + 1 + rows[:, 1] % (options.items - 2)) % options.items
    rows = rows[(rows[:, 2] != rows[:, 0]) & (rows[:, 2] != rows[:, 1])]
    names = np.array([f"item_{k:06}" for k in range(options.items)])
    roles = ("anchor", "near", "far")
    numbers = pa.table(dict(zip(roles, rows.T, strict=True)))
    text = pa.table({role: names[ids] for role, ids in zip(roles, rows.T, strict=True)})
    n_answers = len(rows) // 2
    all_columns = text.append_column("participant", pa.array(names[rows[:, 0] % 50]))
    all_columns = all_columns.append_column("answer", pa.array(np.arange(len(rows)) % n_answers))
    all_columns = all_columns.append_column("weight", pa.array(rng.integers(1, 9, len(rows))))
    print("| file | size | order | limit | peak | peak / size | s |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for kind, table in (("numbers", numbers), ("text", text), ("all-columns", all_columns)):
            for ending in options.endings:
                if kind != "numbers" and ending == "npy":
                    continue
                large, small = (Path(name) / f"{kind}-{n}.{ending}" for n in ("large", "small"))
                save(table, large)
                save(table.slice(0, 200), small)
                for order in ("anchor", "answer") if table is all_columns else ("anchor",):
                    for limit in options.limit:
                        report(large, small, limit, order)


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


def report(path: Path, small: Path, limit: str, order: str) -> None:
    """Convert a file in a process of its own, and print a row of the table."""
    command = [sys.executable, "-c", CHILD, str(path), str(small), limit, order]
    done = subprocess.run(command, capture_output=True, text=True)
    size = path.stat().st_size
    told = f"| {path.stem.removesuffix('-large')}{path.suffix} | {in_words(size)} | {order} "
    told += f"| {in_words(memory_size(limit))} "
    enough = re.search(r"memory_limit='(\w+)'", done.stderr)
    if done.returncode and enough:
        told += f"| refused: {enough[1]} would do | | |"
    else:
        done.check_returncode()
        said = json.loads(done.stdout)
        told += f"| {in_words(said['peak'])} | {said['peak'] / size:.1f} | {said['s']:.1f} |"
    print(told, flush=True)


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s in all")
