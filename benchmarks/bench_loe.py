"""LOE: time against a bare read of the rows and against scipy, memory, growth with n."""

import argparse
import subprocess
import sys
import time

import numpy as np
from _measure import best_time, heading, memory_now, peak_memory, read_time
from scipy.optimize import minimize

from ordinate import LOE, procrustes_error, sample_points, sample_triplets
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.ranking import rank_columns
from ordinate.kernels import backends, noise
from ordinate.passes import MemoryColumns


def data(n: int, c: float, landmarks: int):
    points = sample_points(n, 2, random_state=0)
    m = round(c * n * np.log(n))
    return points, sample_triplets(
        points, m, design="landmarks", landmarks=landmarks, random_state=0
    )


def against_a_read() -> None:
    heading("A whole fit against one bare read of its rows, d = 2")
    print(
        "| n | c | landmarks | comparisons | fit s | read s | ratio | passes "
        "| ns / comparison | error |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for n, c, landmarks in [
        (10_000, 200, 5),
        (100_000, 200, 5),
        (100_000, 200, 24),
        (1_000_000, 60, 5),
    ]:
        points, triplets = data(n, c, landmarks)
        read = read_time(triplets.rows)
        seconds = best_time(lambda triplets=triplets: LOE().fit(triplets), repeats=2)
        model = LOE().fit(triplets)
        error = procrustes_error(model.embedding_, points, relative=True)
        m = len(triplets)
        print(
            f"| {n:,} | {c} | {landmarks} | {m / 1e6:.0f} M | {seconds:.2f} | {read:.3f} "
            f"| {seconds / read:.1f} | {model.n_passes_:.2f} | {seconds / m * 1e9:.1f} "
            f"| {error:.3f} |",
            flush=True,
        )


def by_landmarks(n_items: list[int]) -> None:
    heading("The same number of comparisons shared among more landmarks, d = 2, c = 200")
    print("| n | landmarks | comparisons per item | fit s | processor ns each | passes | error |")
    print("|---|---|---|---|---|---|---|")
    for n in n_items:
        for landmarks in (5, 12, 24, 40, 88, 160):
            points, triplets = data(n, 200, landmarks)
            m = len(triplets)
            seconds = processor = np.inf
            for _ in range(4):
                began = time.perf_counter(), time.process_time()
                model = LOE().fit(triplets)
                seconds = min(seconds, time.perf_counter() - began[0])
                processor = min(processor, time.process_time() - began[1])
            error = procrustes_error(model.embedding_, points, relative=True)
            print(
                f"| {n:,} | {landmarks} | {2 * m / n / landmarks:.0f} | {seconds:.2f} "
                f"| {processor / m * 1e9:.1f} | {model.n_passes_:.2f} | {error:.4f} |",
                flush=True,
            )


def growth() -> None:
    heading("Nanoseconds per comparison of one column, single passes")
    btl = noise.get("btl")
    print("| n | counts | gradient | sort into tiles | scores and sums of one thread |")
    print("|---|---|---|---|---|")
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        m = 120_000_000  # of ten million items, enough for two threads
        rng = np.random.default_rng(0)
        near = rng.integers(n, size=m, dtype=np.int32)
        pairs = np.column_stack([near, (near + rng.integers(1, n, size=m, dtype=np.int32)) % n])
        rows = MemoryColumns([pairs.astype(np.int32)], [np.empty(0)], n, backends.load())
        columns = rows.in_tiles()
        sorting = 0.0 if columns is rows else best_time(rows.in_tiles)
        scores = {0: rng.normal(size=n).astype(np.float32)}
        counts = best_time(lambda columns=columns: columns.counts())
        gradient = best_time(lambda columns=columns, scores=scores: columns.gradient(scores, btl))
        print(
            f"| {n:,} | {counts / m * 1e9:.2f} | {gradient / m * 1e9:.2f} "
            f"| {sorting / m * 1e9:.2f} | {8 * n / 2**20:.2f} MiB |"
        )


def against_scipy() -> None:
    heading("The rankings alone against scipy's L-BFGS, n = 1e4, c = 50, 5 landmarks")
    _, triplets = data(10_000, 50, 5)
    landmarks = np.unique(triplets.rows[:, 0])
    columns = MemoryColumns.from_triplets(triplets, landmarks)
    btl = noise.get("btl")
    with single_threaded_blas():
        exact = rank_columns(columns, btl, owners=landmarks, tol=1e-20).scores
        ours = rank_columns(columns, btl, owners=landmarks)
        seconds = best_time(lambda: rank_columns(columns, btl, owners=landmarks), repeats=10)
    statistical = np.sqrt(np.median(1 / np.delete(ours.information, landmarks, axis=0)))
    print(f"statistical error of a score: {statistical:.3f}\n")
    print("| solver | s | times ours | distance from the optimum |")
    print("|---|---|---|---|")
    print(f"| ordinate | {seconds:.3f} | 1 | {(ours.scores - exact).std():.4f} |")
    scores = np.empty_like(exact)
    began = time.perf_counter()
    for i, pairs in enumerate(columns.pairs):
        near, far = pairs.T.astype(np.int64)
        scores[:, i] = straightforward(near, far, 10_000, ours.regularization[i])
    took = time.perf_counter() - began
    scores[landmarks, range(5)] = 0
    print(f"| scipy L-BFGS-B | {took:.2f} | {took / seconds:.0f} | {(scores - exact).std():.4f} |")


def straightforward(near: np.ndarray, far: np.ndarray, n: int, ridge: float) -> np.ndarray:
    """Maximise the likelihood as one would write it down, with NumPy and scipy."""

    def cost(theta: np.ndarray) -> tuple[float, np.ndarray]:
        x = theta[far] - theta[near]
        pull = 1 / (1 + np.exp(x))
        gradient = np.bincount(near, pull, n) - np.bincount(far, pull, n)
        return np.log1p(np.exp(-x)).sum() + ridge / 2 * theta @ theta, gradient + ridge * theta

    return minimize(cost, np.zeros(n), jac=True, method="L-BFGS-B").x


def memory(shuffled: bool) -> None:
    """Run in a process of its own: peak memory of a fit beyond that of its data."""
    _, triplets = data(100_000, 200, 5)
    if shuffled:
        rows = triplets.rows.copy()
        # A reversal is the cheapest order that is not that of the anchors.
        triplets = type(triplets)(np.ascontiguousarray(rows[::-1]), n_items=triplets.n_items)
        del rows
    LOE().fit(triplets[::100])  # compiles
    before = memory_now()
    LOE().fit(triplets)
    print(f"{(peak_memory() - before) / triplets.rows.nbytes:.2f}")


def memories() -> None:
    heading("Peak memory of a fit beyond what was held before it, n = 1e5, c = 200, 5 landmarks")
    for name in ("ordered", "shuffled"):
        result = subprocess.run(
            [sys.executable, __file__, "--memory", name], capture_output=True, text=True, check=True
        )
        print(f"rows {name} by anchor: {result.stdout.strip()} times the rows' own memory")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", choices=["ordered", "shuffled"])
    parser.add_argument(
        "--landmarks", type=int, nargs="+", metavar="ITEMS", help="this table alone"
    )
    arguments = parser.parse_args()
    if arguments.memory:
        memory(arguments.memory == "shuffled")
    elif arguments.landmarks:
        by_landmarks(arguments.landmarks)
    else:
        against_a_read()
        by_landmarks([10_000, 100_000])
        growth()
        against_scipy()
        memories()
