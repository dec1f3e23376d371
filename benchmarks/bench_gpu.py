"""The GPU: passes against a bare read of the same rows, whole fits, what determinism costs.

``python benchmarks/bench_gpu.py [name ...]``; without names, all. Data is made on the device.
"""

import cProfile
import pstats
import sys
import warnings

import numpy as np
from _gpu import heading, landmark_columns, median_time, read_time, torch, uniform_triplets

from ordinate import deterministic, procrustes_error
from ordinate._base.arrays import on_host
from ordinate.algorithms.landmark import loe_of_columns
from ordinate.algorithms.optimise import minimise
from ordinate.algorithms.scaling import principal_axes
from ordinate.algorithms.spectral import best_scale, spectral_start
from ordinate.kernels import backends, losses, noise
from ordinate.passes import (
    NO_WEIGHT,
    DeviceTriplets,
    MemoryColumns,
    MemoryTriplets,
    SentColumns,
    SentTriplets,
)

STE = losses.get("ste")


def fit_loe(columns, landmarks):
    """From resident comparisons to the map on the host."""
    found, _ = loe_of_columns(columns, landmarks, 2)
    return on_host(principal_axes(found.points))


def fit_ste(store):
    """From resident triplets to the map on the host."""
    start = spectral_start(store, 2, np.random.default_rng(0)).points
    found = minimise(store, STE, best_scale(store, STE, start) * start)
    return on_host(principal_axes(found.points)), found


def loe() -> None:
    heading("LOE, data resident, d = 2, 5 landmarks")
    print("| n | c | comparisons | fit ms | read ms | ratio | counts ms | gradient ms | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    btl = noise.get("btl")
    for n, c in ((10_000, 200), (100_000, 200), (1_000_000, 200)):
        points, landmarks, columns = landmark_columns(n, c, 5)
        seconds = median_time(lambda: fit_loe(columns, landmarks))  # noqa: B023
        read = read_time(columns.pairs)
        counts = median_time(columns.counts)
        scores = dict(enumerate(torch.randn((5, n), device="cuda")))
        gradient = median_time(lambda: columns.gradient(scores, btl))  # noqa: B023
        error = procrustes_error(fit_loe(columns, landmarks), points, relative=True)
        print(
            f"| {n:,} | {c} | {columns.sizes.sum() / 1e6:,.0f} M | {1e3 * seconds:.1f} "
            f"| {1e3 * read:.2f} | {seconds / read:.1f} | {1e3 * counts:.1f} "
            f"| {1e3 * gradient:.1f} | {error:.3f} |",
            flush=True,
        )


def passes() -> None:
    heading("One pass of a loss, uniform triplets, single precision")
    print("| loss | n | d | triplets | pass ms | read ms | ratio | share of bandwidth | ns each |")
    print("|---|---|---|---|---|---|---|---|---|")
    cases = [("ste", 1_000_000, 2, 1_000_000_000), ("ste", 100_000, 2, 230_000_000)]
    cases += [(name, 100_000, 2, 100_000_000) for name in losses.NAMES[1:]]
    cases += [("ste", 100_000, d, 100_000_000) for d in (3, 10)]
    last = None
    for name, n, d, m in cases:
        if last != (n, d, m):
            store = None  # so that its memory is free
            store = uniform_triplets(n, m, d)[1]
            read, last = read_time(store.ids), (n, d, m)
        points = torch.randn((n, d), device="cuda")
        loss = losses.get(name)
        seconds = median_time(lambda: store.loss(points, loss))  # noqa: B023
        print(
            f"| {name} | {n:,} | {d} | {m / 1e6:,.0f} M | {1e3 * seconds:.1f} | {1e3 * read:.2f} "
            f"| {seconds / read:.1f} | {read / seconds:.3f} | {1e9 * seconds / m:.3f} |",
            flush=True,
        )
    print(f"\na bare read moves {12 * m / read / 1e12:.2f} TB/s")


def ste() -> None:
    heading("STE from the spectral start, data resident, d = 2")
    print("| n | triplets | start ms | fit ms | steps | passes | converged | error |")
    print("|---|---|---|---|---|---|---|---|")
    for n, m in ((100_000, 230_000_000), (1_000_000, 1_000_000_000)):
        points, store = uniform_triplets(n, m)
        seconds = median_time(lambda: fit_ste(store), repeats=3)  # noqa: B023
        start = median_time(
            lambda: spectral_start(store, 2, np.random.default_rng(0)),  # noqa: B023
            repeats=3,
        )
        before = store.n_passes
        embedding, found = fit_ste(store)
        error = procrustes_error(embedding, points, relative=True)
        print(
            f"| {n:,} | {m / 1e6:,.0f} M | {1e3 * start:.0f} | {1e3 * seconds:.0f} "
            f"| {found.n_iter} | {store.n_passes - before:.1f} | {found.converged} "
            f"| {error:.3f} |",
            flush=True,
        )


def options() -> None:
    heading("What precision and determinism cost, n = 1e5")
    _, landmarks, columns = landmark_columns(100_000, 200, 5)
    quick = median_time(lambda: fit_loe(columns, landmarks), repeats=3)
    with deterministic():
        same = median_time(lambda: fit_loe(columns, landmarks), repeats=3)
    print(f"LOE, 230 M comparisons: {1e3 * quick:.0f} ms, deterministic {1e3 * same:.0f} ms")
    columns = None  # so that its memory is free
    store = uniform_triplets(100_000, 230_000_000)[1]
    double = DeviceTriplets(store.ids, store.weight, store.n_items, "double")
    at = torch.randn((100_000, 2), device="cuda")
    single = median_time(lambda: store.loss(at, STE))
    twice = median_time(lambda: double.loss(at, STE), repeats=3)
    with deterministic():
        same = median_time(lambda: store.loss(at, STE), repeats=3)
    print(
        f"STE pass, 230 M triplets: {1e3 * single:.1f} ms, in double precision "
        f"{1e3 * twice:.1f} ms, deterministic {1e3 * same:.0f} ms"
    )


def profile() -> None:
    """Where the time of a fit goes."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as watch

    for n in (100_000, 1_000_000):
        _, landmarks, columns = landmark_columns(n, 200, 5)
        fit_loe(columns, landmarks)
        torch.cuda.synchronize()
        with watch(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            fit_loe(columns, landmarks)
            torch.cuda.synchronize()
        table = seen.key_averages()
        with cProfile.Profile() as calls:
            fit_loe(columns, landmarks)
        pstats.Stats(calls).sort_stats("cumtime").print_stats(50)
        print(f"\nn = {n:,}\n", table.table(sort_by="self_cuda_time_total", row_limit=14))
        print(table.table(sort_by="self_cpu_time_total", row_limit=25))


def sent_in_blocks() -> None:
    heading("Data in the host's memory that is sent in blocks for every pass")
    buffer = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
    link = len(buffer) / median_time(lambda: buffer.to("cuda", non_blocking=True))
    print(f"pinned memory goes to the device at {link / 1e9:.1f} GB/s\n")
    print("| what | n | rows | GB | resident ms | sent ms | bare send ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")

    def row(what: str, n: int, m: int, size: int, resident: float, sent: float, passes: float):
        bare = passes * size / link
        print(
            f"| {what} | {n:,} | {m / 1e6:,.0f} M | {size / 1e9:.1f} | {1e3 * resident:.0f} "
            f"| {1e3 * sent:.0f} | {1e3 * bare:.0f} | {sent / bare:.2f} |",
            flush=True,
        )

    for n in (100_000, 1_000_000):
        _, landmarks, columns = landmark_columns(n, 200, 5)
        resident = median_time(lambda: fit_loe(columns, landmarks), repeats=3)  # noqa: B023
        pairs = columns.pairs.cpu().numpy()
        whole = fit_loe(columns, landmarks)
        columns = None  # so that its memory is free
        host = MemoryColumns(np.split(pairs, 5), [NO_WEIGHT] * 5, n, backends.load())
        blocked = SentColumns(host, "cuda:0")
        sent = median_time(lambda: fit_loe(blocked, landmarks), repeats=3)  # noqa: B023
        row("LOE fit", n, len(pairs), pairs.nbytes, resident, sent, passes=2)
        same = np.abs(fit_loe(blocked, landmarks) - whole).max()
        print(f"largest difference to the map of resident data: {same:.1e}", flush=True)
    for n, m in ((100_000, 230_000_000), (1_000_000, 1_000_000_000)):
        _, store = uniform_triplets(n, m)
        at = torch.randn((n, 2), device="cuda")
        resident = median_time(lambda: store.loss(at, STE), repeats=3)  # noqa: B023
        fit = median_time(lambda: fit_ste(store), repeats=1)  # noqa: B023
        rows = np.empty((m, 3), np.int32)
        for column, ids in zip(rows.T, store.ids, strict=True):
            column[:] = ids.cpu().numpy()
        store = None  # so that its memory is free
        blocked = SentTriplets(
            MemoryTriplets(rows, NO_WEIGHT, n, backends.load()), "cuda:0", "single"
        )
        sent = median_time(lambda: blocked.loss(at, STE), repeats=3)  # noqa: B023
        row("STE pass", n, m, rows.nbytes, resident, sent, passes=1)
        before = blocked.n_passes
        sent = median_time(lambda: fit_ste(blocked), repeats=1)  # noqa: B023
        passes = (blocked.n_passes - before) / 3
        row(f"STE fit, {passes:.1f} passes", n, m, rows.nbytes, fit, sent, passes)


ALL = {"loe": loe, "passes": passes, "ste": ste, "options": options, "blocks": sent_in_blocks}

if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # numba need not be there
    for name in sys.argv[1:] or ALL:
        {**ALL, "profile": profile}[name]()
        torch.cuda.empty_cache()
