"""Fits on a cluster of processes on this machine, against threads and streams: docs/cluster.md.

Each line is written as soon as it is known. ``--n 20000`` is a short run.
"""

import argparse
import resource
import sys
import tempfile
import time

import numpy as np
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


def cluster_of(n_workers: int) -> LocalCluster:
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    return LocalCluster(n_workers=n_workers, memory_limit="5GiB", silence_logs=50, **options)


def timed(function, *arguments) -> float:
    return best_time(lambda: function(*arguments))


def resident(n: int, c: int, landmarks: int, n_workers: int) -> None:
    """LOE and a pass of STE, data in memory: threads of one process against workers."""
    heading(f"n = {n:,}, c = {c}, {landmarks} landmarks, in memory")
    points = sample_points(n, 2, random_state=0)
    m = round(c * n * np.log(n))
    table = sample_triplets(points, m, design="landmarks", landmarks=landmarks, random_state=0)
    loss = losses.get("ste")
    print("| | comparisons | LOE, s | a pass of STE, s |\n|---|---|---|---|", flush=True)
    with threads(n_workers):
        here = timed(LOE().fit, table), timed(store_of(table).loss, points, loss)
    print(f"| {n_workers} threads | {m / 1e6:.0f} M | {here[0]:.2f} | {here[1]:.3f} |", flush=True)
    with tempfile.TemporaryDirectory() as folder, cluster_of(n_workers) as cluster:
        ondisk.write([table], f"{folder}/set")
        del table
        with Client(cluster) as client:
            triplets = ondisk.open_triplets(f"{folder}/set", client=client)
            loe = timed(LOE().fit, triplets)
            triplets = ondisk.open_triplets(f"{folder}/set", client=client)
            there = loe, timed(store_of(triplets).loss, points, loss)
    print(
        f"| {n_workers} workers | {m / 1e6:.0f} M | {there[0]:.2f} ({there[0] / here[0]:.2f}) "
        f"| {there[1]:.3f} ({there[1] / here[1]:.2f}) |",
        flush=True,
    )


def from_files(n: int, c: int, n_workers: int) -> None:
    """LOE from a file in the fast layout: streamed by one process against read by workers."""
    heading(f"n = {n:,}, c = {c}, from a file")
    points = sample_points(n, 2, random_state=0)
    m = round(c * n * np.log(n))
    with tempfile.TemporaryDirectory() as folder:
        made = iter_triplets(points, m, design="landmarks", landmarks=5, random_state=0)
        ondisk.write(made, f"{folder}/set")
        print(
            "| | comparisons | LOE, s | peak of this process, GiB |\n|---|---|---|---|", flush=True
        )
        with cluster_of(n_workers) as cluster, Client(cluster) as client:
            began = time.perf_counter()
            LOE().fit(ondisk.open_triplets(f"{folder}/set", client=client))
            there = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"| {n_workers} workers | {m / 1e6:.0f} M | {there:.1f} | {peak:.2f} |", flush=True)
        with threads(n_workers):
            began = time.perf_counter()
            LOE().fit(ondisk.open_triplets(f"{folder}/set", memory_limit="3.5GiB"))
            here = time.perf_counter() - began
        print(f"| streamed | {m / 1e6:.0f} M | {here:.1f} ({there / here:.2f}) | |", flush=True)


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
    parser.add_argument("--parts", nargs="+", default=["overhead", "resident", "files"])
    chosen = parser.parse_args()
    for number in chosen.workers:
        if "overhead" in chosen.parts:
            overhead([2, 8, 20, 100], number)
        if "resident" in chosen.parts:
            resident(chosen.n, chosen.c, chosen.landmarks, number)
        if "files" in chosen.parts:
            from_files(10 * chosen.n, chosen.c // 4, number)
