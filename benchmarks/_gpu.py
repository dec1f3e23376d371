"""What the GPU's scripts share: the machine in words, times, data made on the device."""

import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import torch
    import triton

    if not torch.cuda.is_available():
        raise ImportError("torch sees no GPU")
except ImportError as error:
    print(f"nothing to measure without a GPU: {error}")
    sys.exit(0)

import ordinate
from ordinate import sample_points
from ordinate.passes import DeviceColumns, DeviceTriplets

BLOCK = 1 << 26  # rows that are made at a time


def heading(title: str) -> None:
    """Print a title and what the figures below were measured on."""
    print(f"\n## {title}\n")
    print(
        f"{torch.cuda.get_device_name()}; Python {platform.python_version()}, "
        f"torch {torch.__version__}, triton {triton.__version__}, numpy {np.__version__}, "
        f"ordinate {ordinate.__version__}\n",
        flush=True,
    )


def median_time(function: Callable[[], Any], repeats: int = 7) -> float:
    """Seconds of a run, the median of several after two that do not count."""
    times = []
    for _ in range(repeats + 2):
        torch.cuda.synchronize()
        began = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return float(np.median(times[2:]))


def read_time(rows: Any) -> float:
    """Seconds of one bare read of the rows on the device: what no pass can beat."""
    words = rows.view(-1)[: rows.numel() // 2 * 2].view(torch.int64)
    return median_time(lambda: words.sum())


def landmark_columns(n: int, c: float, l: int, seed: int = 0, d: int = 2) -> tuple:
    """Points on the host, landmarks, and c n log n comparisons with them made on the device."""
    points, generator = _start(n, d, seed)
    landmarks = np.sort(np.random.default_rng(seed).choice(n, l, replace=False))
    size = round(c * n * np.log(n)) // l
    pairs = torch.empty((l * size, 2), dtype=torch.int32, device="cuda")
    for column, landmark in enumerate(landmarks.tolist()):
        distance = ((points - points[landmark]) ** 2).sum(dim=1)
        mine = pairs[column * size : (column + 1) * size]
        for start in range(0, size, BLOCK):
            part = mine[start : start + BLOCK]
            a, b = _others(torch.full((len(part),), landmark, device="cuda"), n, generator)
            part.copy_(_answered(a, b, distance[b] - distance[a], generator))
    empty = torch.empty(0, dtype=torch.float64, device="cuda")
    return points.cpu().numpy(), landmarks, DeviceColumns(pairs, empty, [size] * l, n)


def uniform_triplets(n: int, m: int, d: int = 2, seed: int = 0) -> tuple:
    """Points on the host, and uniform triplets about them made on the device."""
    points, generator = _start(n, d, seed)
    ids = torch.empty((3, m), dtype=torch.int32, device="cuda")
    for start in range(0, m, BLOCK):
        part = ids[:, start : start + BLOCK]
        anchor = torch.randint(n, (part.shape[1],), generator=generator, device="cuda")
        a, b = _others(anchor, n, generator)
        to = [((points[anchor] - points[other]) ** 2).sum(dim=1) for other in (a, b)]
        part[0] = anchor
        part[1:] = _answered(a, b, to[1] - to[0], generator).T
    empty = torch.empty(0, dtype=torch.float64, device="cuda")
    return points.cpu().numpy(), DeviceTriplets(ids, empty, n, "single")


def _start(n: int, d: int, seed: int) -> tuple:
    points = torch.from_numpy(sample_points(n, d, random_state=seed)).cuda()
    return points, torch.Generator("cuda").manual_seed(seed)


def _others(item: Any, n: int, generator: Any) -> tuple:
    """Two items that differ from one and from each other."""
    a = torch.randint(1, n, item.shape, generator=generator, device="cuda")
    b = torch.randint(1, n - 1, item.shape, generator=generator, device="cuda")
    b += b >= a
    return (item + a) % n, (item + b) % n


def _answered(a: Any, b: Any, farther: Any, generator: Any) -> Any:
    """Pairs (near, far); b is ``farther`` by that much, in squared distance."""
    b_far = torch.rand(a.shape, generator=generator, device="cuda") < torch.sigmoid(farther)
    return torch.stack([torch.where(b_far, a, b), torch.where(b_far, b, a)], 1)
