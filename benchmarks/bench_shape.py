"""How often intervals of exponent, power and lapse cover the truth, and how good the maps are.

``bench_shape.py [--runs 20] [--first 0] [--n 60] [-d 2] [--per-coordinate 100] [--models NAMES]
[--maps-only]``. Run k has seed k, from the first one named on; ``--maps-only`` leaves out the
intervals, which take most of the time. Answers are simulated by members of the power family, by a
limit of it (constant flips: infinitely steep) and by one model outside (Thurstone's, of which no
interval can be right or wrong). Errors of maps are relative to those of maps fitted with the true
model: STE and PowerEmbedding as simulated, and SOE for flips, which has none.
"""

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from _measure import heading

from ordinate import (
    SOE,
    STE,
    OrdinalEmbedding,
    Power,
    PowerEmbedding,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.estimators.base import Embedder

HALF = {"power": 0.5, "slope": 1.0, "lapse": 0.05}


class Model(NamedTuple):
    """How answers are simulated, on maps of which size, what fits them, and the true numbers."""

    noise: Any
    size: float
    right: Embedder
    truth: dict[str, float]


MODELS = {
    "btl": Model("btl", 1.0, STE(), {"exponent": 1.0, "power": 1.0, "lapse": 0.0}),
    "power": Model(Power(**HALF), 3.0, PowerEmbedding(**HALF), {"power": 0.5, "lapse": 0.05}),
    "flips": Model(0.1, 1.0, SOE(), {"lapse": 0.2}),
    "thurstone": Model("thurstone", 1.0, STE(noise="thurstone"), {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--maps-only", action="store_true", help="no intervals")
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("-d", type=int, default=2)
    parser.add_argument("--per-coordinate", type=int, default=100)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    heading(
        f"{options.runs} runs, {options.n} items in {options.d} dimensions, "
        f"{options.per_coordinate} answers per coordinate"
    )
    for name in options.models:
        measure(name, MODELS[name], options)


def measure(name: str, model: Model, options: argparse.Namespace) -> None:
    n, d = options.n, options.d
    truth = {} if options.maps_only else model.truth
    covered: dict[str, list[bool]] = {number: [] for number in truth}
    widths: dict[str, list[float]] = {number: [] for number in truth}
    ratios, seconds = [], []
    for seed in range(options.first, options.first + options.runs):
        points = model.size * sample_points(n, d, random_state=seed)
        m = options.per_coordinate * n * d
        triplets = sample_triplets(points, m, noise=model.noise, random_state=seed + 100)
        ours = OrdinalEmbedding(d, random_state=seed).fit(triplets)
        right = model.right.set_params(n_components=d, random_state=seed).fit(triplets)
        errors = [
            procrustes_error(fitted.embedding_, points, scale=True, relative=True)
            for fitted in (ours, right)
        ]
        ratios.append(errors[0] / errors[1])
        if truth:
            began = time.perf_counter()
            found = ours.response_intervals(triplets)
            seconds.append(time.perf_counter() - began)
            for number, true in truth.items():
                covered[number].append(found[number].low <= true <= found[number].high)
                widths[number].append(found[number].high - found[number].low)
    told = "; ".join(
        f"{number} {truth[number]:g} in {sum(covered[number])} of {options.runs} (median "
        f"width {np.median(widths[number]):.3f})"
        for number in covered
    )
    took = f"; {np.median(seconds):.1f} s each" if seconds else ""
    print(
        f"{name:10} map's error over that of the true model {np.mean(ratios):.3f} "
        f"(worst {max(ratios):.3f}){'; ' * bool(told)}{told}{took}",
        flush=True,
    )


if __name__ == "__main__":
    main()
