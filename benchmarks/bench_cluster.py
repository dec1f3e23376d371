"""Fits on a cluster of processes on this machine, against threads and streams: docs/cluster.md.

Each line is written as soon as it is known. ``--n 20000`` is a short run.
"""

import argparse
import resource
import sys
import tempfile
import time
from functools import partial

import numpy as np
import pyarrow.parquet as pq
from _measure import best_time, heading

try:
    import dask.array as da
    from distributed import Client, LocalCluster
except ImportError as error:
    print(f"nothing to measure without Dask: {error}")
    sys.exit(0)

from ordinate import LOE, ondisk, sample_points
from ordinate._base.threads import threads
from ordinate.data.simulate import iter_triplets, sample_triplets
from ordinate.files.cluster import of_collection
from ordinate.kernels import losses
from ordinate.passes import store_of


def cluster_of(n_workers: int, memory: str = "5GiB") -> LocalCluster:
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    return LocalCluster(n_workers=n_workers, memory_limit=memory, silence_logs=50, **options)


def timed(function, *arguments) -> float:
    return best_time(lambda: function(*arguments))


def in_turn(*functions, client: Client, times: int = 5) -> np.ndarray:
    """Best seconds of each function by the clock, and of all processors: (2, n_functions).

    They are called in turn, so that whatever else runs on the machine disturbs them all; by
    processor time, it hardly does.
    """
    found = [[cost(function, client) for function in functions] for _ in range(1 + times)]
    return np.min(found[1:], axis=0).T


def cost(function, client: Client) -> tuple[float, float]:
    """Seconds by the clock, and of the processors of this process and all workers."""
    busy, began = processor_time(client), time.perf_counter()
    function()
    took = time.perf_counter() - began
    return took, processor_time(client) - busy


def processor_time(client: Client) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def seconds(function) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def peak_of_workers(client: Client) -> float:
    """GiB that the largest worker took."""
    peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return max(peaks.values()) / 2**20


def resident(n: int, c: int, landmarks: int, n_workers: int) -> None:
    """LOE and a pass of STE, data in memory: threads of one process against workers."""
    heading(f"n = {n:,}, c = {c}, {landmarks} landmarks, in memory")
    points = sample_points(n, 2, random_state=0)
    m = round(c * n * np.log(n))
    table = sample_triplets(points, m, design="landmarks", landmarks=landmarks, random_state=0)
    loss = losses.get("ste")
    print("| | comparisons | LOE, s | of processors | a pass of STE, s | of processors |")
    print("|---|---|---|---|---|---|", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster_of(n_workers) as cluster,
        Client(cluster) as client,
        threads(n_workers),
    ):
        ondisk.write([table], f"{folder}/set")
        stored = [table, ondisk.open_triplets(f"{folder}/set", client=client)]
        passes = [partial(store_of(each).loss, points, loss) for each in stored]
        ste = in_turn(*passes, client=client)
        loe = in_turn(*(partial(LOE().fit, each) for each in stored), client=client, times=3)
    for k, where in enumerate(("threads", "workers")):
        times = "".join(f" {one[k]:.2f} ({one[k] / one[0]:.2f}) |" for one in (*loe, *ste))
        print(f"| {n_workers} {where} | {m / 1e6:.0f} M |{times}", flush=True)


def from_files(n: int, c: int, n_workers: int, memory: str) -> None:
    """LOE from a file in the fast layout: streamed by one process against read by workers."""
    heading(f"n = {n:,}, c = {c}, from a file, workers of {memory}")
    points = sample_points(n, 2, random_state=0)
    m = round(c * n * np.log(n))
    with tempfile.TemporaryDirectory() as folder:
        made = iter_triplets(points, m, design="landmarks", landmarks=5, random_state=0)
        ondisk.write(made, f"{folder}/set")
        print("| | comparisons | LOE, s | peak here, GiB | of a worker |", flush=True)
        print("|---|---|---|---|---|", flush=True)
        with cluster_of(n_workers, memory) as cluster, Client(cluster) as client:
            there = seconds(lambda: LOE().fit(ondisk.open_triplets(f"{folder}/set", client=client)))
            peaks = (
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                peak_of_workers(client),
            )
        told = " | ".join(f"{peak:.2f}" for peak in peaks)
        print(f"| {n_workers} workers | {m / 1e6:.0f} M | {there:.1f} | {told} |", flush=True)
        with threads(n_workers):
            streamed = ondisk.open_triplets(f"{folder}/set", memory_limit="3.5GiB")
            here = seconds(lambda: LOE().fit(streamed))
        print(f"| streamed | {m / 1e6:.0f} M | {here:.1f} ({there / here:.2f}) | | |", flush=True)


def converting(n: int, c: int, n_workers: int) -> None:
    """Row groups in any order into the fast layout: by one process against by workers."""
    heading(f"n = {n:,}, c = {c}, converted")
    points = sample_points(n, 2, random_state=0)
    m = round(c * n * np.log(n))
    with tempfile.TemporaryDirectory() as folder, cluster_of(n_workers) as cluster:
        table = sample_triplets(points, m, random_state=0)
        pq.write_table(table.to_arrow(), f"{folder}/set.parquet", row_group_size=1 << 20)
        del table
        with Client(cluster) as client, threads(n_workers):

            def convert(**where) -> None:
                ondisk.convert(f"{folder}/set.parquet", f"{folder}/fast", force=True, **where)

            there = partial(convert, client=client)
            times = in_turn(convert, there, client=client, times=2)
    print("| | triplets | s | of processors |\n|---|---|---|---|")
    for where, (took, busy) in zip(("one process", f"{n_workers} workers"), times.T, strict=True):
        print(f"| {where} | {m / 1e6:.0f} M | {took:.1f} | {busy:.1f} |", flush=True)


def overhead(counts: list[int], n_workers: int) -> None:
    """A pass over hardly any rows: what partitions cost, and what coordinates do.

    Processor time is that of the client and the scheduler, which share this process.
    """
    heading(f"Overhead of a pass, {n_workers} workers")
    rows = np.tile([[0, 1, 2], [1, 2, 0]], (500, 1))
    loss = losses.get("ste")
    print("| items | partitions | ms / pass | of processor |\n|---|---|---|---|", flush=True)
    with cluster_of(n_workers) as cluster, Client(cluster) as client:
        for n, parts in [*((1000, count) for count in counts), (100_000, 8), (1_000_000, 8)]:
            data = da.from_array(rows, chunks=(-(-len(rows) // parts), 3))
            store = store_of(of_collection(data, n_items=n, client=client))
            points = sample_points(n, 2, random_state=0)
            taken, began = timed(store.loss, points, loss), time.process_time()
            store.loss(points, loss)
            busy = time.process_time() - began
            print(f"| {n:,} | {parts} | {1000 * taken:.0f} | {1000 * busy:.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--c", type=int, default=200)
    parser.add_argument("--landmarks", type=int, default=24)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--memory", default="5GiB")
    parser.add_argument("--parts", nargs="+", default=["overhead", "resident", "files", "convert"])
    chosen = parser.parse_args()
    for number in chosen.workers:
        if "overhead" in chosen.parts:
            overhead([2, 8, 20, 100], number)
        if "resident" in chosen.parts:
            resident(chosen.n, chosen.c, chosen.landmarks, number)
        if "files" in chosen.parts:
            from_files(10 * chosen.n, chosen.c // 4, number, chosen.memory)
        if "convert" in chosen.parts:
            converting(chosen.n, chosen.c // 4, number)
