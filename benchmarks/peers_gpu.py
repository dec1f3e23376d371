"""Our STE on a device against cblearn 0.4's torch backend on the same device and triplets.

``python benchmarks/peers_gpu.py cuda [n c]`` (or ``cpu``), where cblearn and torch are installed: n
items, c n log n triplets.
"""

import sys
import time

import numpy as np

from ordinate import sample_points
from ordinate.data.simulate import sample_triplets
from ordinate.evaluation.metrics import procrustes_error
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets


def main(device: str, n: int, c: float) -> None:
    import torch
    from cblearn import embedding

    from ordinate import STE

    truth = sample_points(n, 2, random_state=0)
    triplets = sample_triplets(truth, round(c * n * np.log(n)), random_state=1)
    store = MemoryTriplets.from_triplets(triplets)
    ours = STE(device=torch.device(device), n_init=1, random_state=0)
    peer = embedding.STE(2, backend="torch", device=device, random_state=0)
    ours.fit(triplets)  # compiles kernels, warms the device up
    print(f"\n{device}, n = {n:,}, {len(triplets):,} triplets\n")
    print("| | seconds | loss | error |\n|---|---|---|---|")
    seconds = {}
    for name, fit in {
        "ordinate": lambda: ours.fit(triplets),
        "cblearn": lambda: peer.fit(triplets.rows.astype(np.int64), n_objects=n),
    }.items():
        began = time.perf_counter()
        found = fit().embedding_
        seconds[name] = time.perf_counter() - began
        loss = store.loss(np.asarray(found, float), losses.get("ste"))[0] / len(triplets)
        error = procrustes_error(found, truth, relative=True)
        print(f"| {name} | {seconds[name]:.3f} | {loss:.6f} | {error:.4f} |", flush=True)
    print(f"\n{seconds['cblearn'] / seconds['ordinate']:.0f} times as fast")


if __name__ == "__main__":
    device, n, c = (sys.argv[1:] + ["cuda", "1000", "200"][len(sys.argv) - 1 :])[:3]
    main(device, int(n), float(c))
