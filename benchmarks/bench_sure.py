"""What it takes to know how sure a map is: time in passes over the triplets, and memory.

``--quick`` takes a tenth of the items and triplets.
"""

import argparse
import tracemalloc

import numpy as np
from _measure import best_time, heading

from ordinate import STE, sample_points, sample_triplets
from ordinate.algorithms.covariance import covariances, honest_scale
from ordinate.kernels import losses
from ordinate.passes import store_of


def likelihood(n: int, d: int, c: float) -> None:
    """Time of a pass that sums the loss, and of covariances, on the same rows."""
    m = round(c * n * np.log(n))
    points = sample_points(n, d, random_state=0)
    triplets = sample_triplets(points, m, random_state=1)
    store, loss = store_of(triplets), losses.get("ste")
    model = STE(d, init=points, max_iter=1, tol=1e9).fit(triplets)
    tracemalloc.start()
    model.covariance()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one = best_time(lambda: store.loss(points, loss))
    curvature = best_time(lambda: store.curvature(points, loss))
    scale = best_time(lambda: honest_scale(store, points, loss))
    every = best_time(
        lambda: covariances(store, points, loss, 0.0, honest_scale(store, points, loss))
    )
    print(
        f"| {n:,} | {d} | {m:,} | {one:.3f} | {curvature / one:.2f} | {scale / one:.2f} | "
        f"{every / one:.2f} | {peak / 8 / n / d**2:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of items and triplets")
    share = 10 if parser.parse_args().quick else 1
    heading("How sure a map is")
    print(
        "| n | d | triplets | a pass, s | curvature, passes | scale, passes | covariances, "
        "passes | memory, numbers per item and d^2 |\n|---|---|---|---|---|---|---|---|"
    )
    likelihood(100_000 // share, 2, 20)
    likelihood(20_000 // share, 5, 20)
