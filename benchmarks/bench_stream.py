"""Fits from a file against fits in memory: time, peak memory; formats against a bare read.

Every fit runs in a process of its own. Cold runs drop the page cache first, which needs root; where
that is not allowed they say so. ``--folder`` needs 8 bytes of disk per comparison.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _measure import heading, memory_now, peak_memory
from sklearn.base import clone

from ordinate import LOE, STE, ondisk, procrustes_error, sample_points, simulate
from ordinate._base.memory import available_memory

GIB = 2**30


def drop_cache() -> bool:
    """Empty the page cache, if the system lets us."""
    try:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("1")
    except OSError:
        return False
    return True


def make(path: Path, n: int, m: int, **design) -> None:
    if not path.exists():
        pieces = simulate.iter_triplets(
            sample_points(n, 2, random_state=0), m, random_state=0, **design
        )
        began = time.perf_counter()
        ondisk.write(pieces, path)
        took = time.perf_counter() - began
        print(
            f"written {path.name}: {m / 1e6:,.0f} M comparisons, {m / took / 1e6:.0f} M / s",
            flush=True,
        )


def fit(path: Path, method: str, limit: str | None) -> None:
    """Run in a process of its own: one fit from the file, or from memory if there is no limit."""
    model = {"LOE": LOE(verbose=1), "STE": STE(random_state=0, verbose=1)}[method]
    n = ondisk.open_triplets(path).n_items
    small = simulate.sample_triplets(
        sample_points(1000, 2, random_state=0),
        2_000_000,
        design="landmarks",
        landmarks=5,
        random_state=0,
    )
    with tempfile.TemporaryDirectory() as folder:  # compiles, or loads what is compiled
        ondisk.write([small], f"{folder}/small")
        for data in (small, ondisk.open_triplets(f"{folder}/small", memory_limit="20MB")):
            clone(model).set_params(verbose=0).fit(data)
    data = ondisk.open_triplets(path, memory_limit=limit)
    if limit is None:
        data = data.load()
    memory_now()
    began, cpu = time.perf_counter(), time.process_time()
    model.fit(data)
    seconds = time.perf_counter() - began
    error = procrustes_error(model.embedding_, sample_points(n, 2, random_state=0), relative=True)
    result = {
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        "peak": peak_memory() / GIB,
        "passes": model.n_passes_,
        "error": error,
        "m": len(data),
    }
    print(json.dumps(result))


def row(name: str, path: Path, method: str, limit: str | None, known: tuple | None) -> tuple:
    """Print a row of the table; returns the time per comparison, by the clock and of processors."""
    if name.endswith("cold") and not drop_cache():
        name += " (cache not dropped)"
    command = [sys.executable, __file__, "--fit", str(path), "--method", method]
    done = subprocess.run(
        command + (["--limit", limit] if limit else []),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    r = json.loads(done.stdout.splitlines()[-1])
    each, cpu = (r[kind] / r["m"] * 1e9 for kind in ("seconds", "cpu"))
    ratios = "|" if known is None else f"{each / known[0]:.2f} | {cpu / known[1]:.2f}"
    print(
        f"| {path.name} | {method} | {name} | {r['m'] / 1e6:,.0f} M | {r['seconds']:.1f} "
        f"| {each:.1f} | {cpu:.1f} | {ratios} | {r['passes']:.1f} | {r['peak']:.2f} "
        f"| {r['error']:.3f} |",
        flush=True,
    )
    return each, cpu


def fits(folder: Path, cs: list[int], n: int) -> None:
    limits = {"LOE": "3.5GiB", "STE": "2GiB"}  # less than the smallest set takes in memory
    heading(f"From a file against in memory, LOE at n = {n:,}, STE at {n // 10:,}, d = 2; {limits}")
    sets = []
    for c in cs:
        sets.append((folder / f"loe-c{c}", "LOE"))
        make(sets[-1][0], n, round(c * n * np.log(n)), design="landmarks", landmarks=5)
    sets += [(folder / "loe-c50.parquet", "LOE"), (folder / "ste", "STE")]
    make(sets[-2][0], n, round(50 * n * np.log(n)), design="landmarks", landmarks=5)
    make(sets[-1][0], n // 10, round(100 * n), design="uniform")
    print(
        "| set | method | rows | comparisons | s | ns / comparison | of processors "
        "| times in memory | of processors | passes | peak GiB | error |"
    )
    print("|---" * 12 + "|")
    known = {
        method: row("in memory", path, method, None, None) for path, method in (sets[0], sets[-1])
    }
    for path, method in sets:
        limit = limits[method]
        row("from disk, cold", path, method, limit, known[method])
        if sum(file.stat().st_size for file in [path, *path.glob("*")]) < available_memory() / 2:
            row("from disk, warm", path, method, limit, known[method])


def formats(folder: Path) -> None:
    """Time to read and decode pairs (near, far) of random ids below a million, per row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    heading("Reading and decoding 2^25 pairs, nanoseconds per pair")
    m = 1 << 25
    near, far = np.random.default_rng(0).integers(1_000_000, size=(2, m), dtype=np.uint32)
    table = pa.table({"near": near, "far": far})
    pairs = folder / "pairs.npy"
    np.save(pairs, np.column_stack([near, far]))
    buffers = [np.empty((1 << 20, 2), np.uint32) for _ in range(2)]

    def bare(blocks: range, thread: int) -> None:
        with pairs.open("rb", buffering=0) as file:
            for block in blocks:
                file.seek(128 + block * 8 * (1 << 20))
                file.readinto(memoryview(buffers[thread]).cast("B"))

    arrow = folder / "pairs.arrow"
    with pa.OSFile(str(arrow), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=1 << 20)

    def ipc(blocks: range, thread: int) -> None:
        with pa.OSFile(str(arrow)) as source:
            file = pa.ipc.open_file(source)
            for block in blocks:
                file.get_batch(block)

    parquet = folder / "pairs.parquet"

    def decode(blocks: range, thread: int) -> None:
        file = pq.ParquetFile(parquet)
        for block in blocks:
            file.read_row_group(block, use_threads=False)

    split = {"near": "BYTE_STREAM_SPLIT", "far": "BYTE_STREAM_SPLIT"}
    delta = {"near": "DELTA_BINARY_PACKED", "far": "DELTA_BINARY_PACKED"}
    print("| format | bytes / pair | warm, 1 thread | warm, 2 threads | cold, 2 threads |")
    print("|---|---|---|---|---|")
    _timed("array, bare read", pairs, bare, m)
    _timed("Arrow IPC", arrow, ipc, m)
    for name, options in {
        "Parquet plain": {"compression": "none", "data_page_size": 8 << 20},
        "Parquet plain, small pages": {"compression": "none"},
        "Parquet byte-stream-split, lz4": {"compression": "lz4", "column_encoding": split},
        "Parquet byte-stream-split, zstd": {"compression": "zstd", "column_encoding": split},
        "Parquet delta": {"compression": "none", "column_encoding": delta},
    }.items():
        pq.write_table(table, parquet, row_group_size=1 << 20, use_dictionary=False, **options)
        _timed(name, parquet, decode, m)
    for path in (pairs, arrow, parquet):
        path.unlink()


def _timed(name: str, path: Path, read, m: int) -> None:
    blocks = m >> 20

    def both() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: read(range(i, blocks, 2), i), range(2)))

    def best(function, cold: bool = False) -> float:
        times = []
        for _ in range(3):
            if cold:
                drop_cache()
            began = time.perf_counter()
            function()
            times.append(time.perf_counter() - began)
        return min(times) / m * 1e9

    warm, two, cold = best(lambda: read(range(blocks), 0)), best(both), best(both, cold=True)
    print(
        f"| {name} | {path.stat().st_size / m:.1f} | {warm:.2f} | {two:.2f} | {cold:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", help="where to keep the sets; by default a temporary folder")
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--c", type=int, nargs="+", default=[50])
    parser.add_argument("--fit")
    parser.add_argument("--method")
    parser.add_argument("--limit")
    chosen = parser.parse_args()
    if chosen.fit:
        fit(Path(chosen.fit), chosen.method, chosen.limit)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(chosen.folder or temporary)
            formats(folder)
            fits(folder, chosen.c, chosen.n)
