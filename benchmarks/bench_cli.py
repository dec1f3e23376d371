"""From process start to written files: ``ordinate fit`` on 100,000 triplets, first and later."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _measure import heading


def seconds(folder: Path, name: str, caches: Path) -> float:
    """Time of one run of the command, with its caches in a folder."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(caches), "MPLCONFIGDIR": str(caches)}
    command = [sys.executable, "-m", "ordinate", "fit", folder / "answers.csv", "-o", folder / name]
    began = time.perf_counter()
    subprocess.run([*command, "-q"], env=env, check=True)
    return time.perf_counter() - began


def bare() -> float:
    """Time to start Python and import what the command needs and does not write itself."""
    code = "import numba, sklearn.base, pyarrow.csv, matplotlib.figure"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    heading("ordinate fit, 100,000 triplets, 200 items")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulate = [sys.executable, "-m", "ordinate", "simulate", "--n", "200"]
        simulate += ["--triplets", "100000", "-o", str(folder / "answers.csv"), "-q"]
        subprocess.run(simulate, check=True)
        imports = min(bare() for _ in range(3))
        first = [seconds(folder, f"first{k}", folder / f"caches{k}") for k in range(3)]
        later = [seconds(folder, f"later{k}", folder / "caches0") for k in range(3)]
        print(f"first ever (nothing compiled, no fonts known): {min(first):.2f} s")
        print(f"later: {min(later):.2f} s, {min(later) / imports:.1f}x the bare imports")
