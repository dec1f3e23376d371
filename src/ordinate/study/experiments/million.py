"""A million items by LOE, streamed from a file where they are more than memory holds."""

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ordinate._base.memory import available_memory
from ordinate.data.simulate import iter_triplets, sample_points
from ordinate.estimators import LOE
from ordinate.files import ondisk
from ordinate.study.experiments._frame import (
    BYTES,
    Cell,
    Experiment,
    Row,
    Verdict,
    error_of,
    figure,
    n_log_n,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMIT = 3 << 30  # bytes of memory for a fit from a file


def cells(scale: str) -> list[Cell]:
    """LOE with d + 3 landmarks, as in the paper, and larger and larger n."""
    numbers, c = {"quick": ([20_000, 60_000], 20), "paper": ([100_000, 300_000, 1_000_000], 50)}[
        scale
    ]
    return [{"n": n, "d": 2, "c": c, "landmarks": 5, "trial": 0} for n in numbers]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Write the set to a file in a stream, and fit from there within a small limit of memory."""
    n, d, seed = cell["n"], cell["d"], cell["trial"]
    points = sample_points(n, d, random_state=seed)
    m = n_log_n(n, cell["c"])
    pieces = iter_triplets(
        points, m, design="landmarks", landmarks=cell["landmarks"], random_state=seed + 2000
    )
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        ondisk.write(pieces, Path(folder) / "set")
        writing = time.perf_counter() - began
        # Small sets are streamed too, so that all go the same way.
        limit = min(LIMIT, max(BYTES * m, 64 << 20), available_memory())
        stored = ondisk.open_triplets(Path(folder) / "set", memory_limit=limit)
        began = time.perf_counter()
        model = LOE(d).fit(stored)
        seconds = time.perf_counter() - began
    return [
        {
            **cell,
            "triplets": m,
            "streamed": not stored.fits,
            "writing": writing,
            "seconds": seconds,
            "nanoseconds per triplet": 1e9 * seconds / m,
            "passes": model.n_passes_,
            "error": error_of(model.embedding_, points),
        }
    ]


def draw(rows: list[Row]) -> "Figure":
    """Time, and error, against n."""
    made, axes = figure(2)
    n = [row["n"] for row in rows]
    axes[0].loglog(n, [row["seconds"] for row in rows], "o-")
    axes[0].set(xlabel="n", ylabel="seconds", title=f"LOE from a file, c = {rows[0]['c']}")
    axes[1].semilogx(n, [row["error"] for row in rows], "o-")
    axes[1].set(xlabel="n", ylabel="relative Procrustes error", ylim=(0, None))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """It is feasible, and the time per triplet stays about the same."""
    last, first = rows[-1], rows[0]
    growth = last["nanoseconds per triplet"] / first["nanoseconds per triplet"]
    where = "streamed" if last["streamed"] else "in memory"
    return [
        Verdict(
            "a map of a million items takes reasonable time",
            f"{last['n']:,} items, {last['triplets']:,} triplets, {where}: {last['seconds']:.1f} s"
            f", error {last['error']:.3f}",
            last["seconds"] < 600 if last["n"] >= 1_000_000 else None,
        ),
        Verdict(
            "time per triplet stays about the same",
            f"{first['nanoseconds per triplet']:.1f} ns at n = {first['n']:,}, "
            f"{last['nanoseconds per triplet']:.1f} ns at n = {last['n']:,}",
            growth < 5 if last["n"] >= 1_000_000 else None,
        ),
    ]


EXPERIMENT = Experiment(
    "million",
    "A million items",
    "LOE alone, d = 2, from a file. The paper: feasible in reasonable time, where baselines ran "
    "out of memory.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 12.0 * n_log_n(cell["n"], cell["c"]),
    triplets=lambda cell: min(n_log_n(cell["n"], cell["c"]), LIMIT / BYTES),
)
