"""Our maps against cblearn 0.4's: the same triplets, the same loss, in the same run.

cblearn needs NumPy 1, so it has an environment of its own: ``make peers``. Losses of both maps are
evaluated by our kernels, errors against the truth where there is one (with the best scale where
the loss has none of its own). Both run on all cores with their default starts; cblearn's SOE from
one start instead of ten. ``--people SETS`` predicts people's answers instead, those of one fold of
five: our default against each of cblearn's methods, as bench_people.py has it.
"""

import argparse
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from _measure import heading
from bench_people import SETS, difference
from sklearn.base import clone

from ordinate import (
    CKL,
    GNMDS,
    SOE,
    STE,
    TSTE,
    OrdinalEmbedding,
    Triplets,
    procrustes_error,
    sample_points,
)
from ordinate import sample_triplets as sample
from ordinate.data.folds import shuffled_folds
from ordinate.evaluation.metrics import correct
from ordinate.passes import MemoryTriplets


def methods(d: int) -> dict:
    from cblearn import embedding as cb

    return {
        "STE": (STE(d, n_init=1), cb.STE(d)),
        "t-STE": (TSTE(d, n_init=1), cb.TSTE(d)),
        "CKL": (CKL(d, mu=0.05, n_init=1), cb.CKL(d, mu=0.05)),
        "GNMDS": (GNMDS(d, n_init=1), cb.GNMDS(d)),
        "SOE": (SOE(d, margin=0.1, n_init=1), cb.SOE(d, margin=0.1, n_init=1)),
    }


def seconds_of(fit) -> float:
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began


def compare(title: str, rows: np.ndarray, truth: np.ndarray | None, names: list[str]) -> None:
    n = int(rows.max()) + 1
    triplets = Triplets(rows, n_items=n)
    store = MemoryTriplets.from_triplets(triplets)
    print(f"\n{title}: {n:,} items, {len(rows):,} triplets\n")
    print(
        "| loss | ours, s | strict, s | cblearn, s | ratio | loss | strict | cblearn | error | "
        "cblearn | passes |\n|" + "---|" * 11
    )
    for name, (ours, peer) in methods(2).items():
        if name not in names:
            continue
        strict = clone(ours).set_params(tol=1e-7, max_iter=2000, random_state=0)
        ours.set_params(random_state=0).fit(triplets)
        fast = np.median([seconds_of(lambda o=ours: o.fit(triplets)) for _ in range(3)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exact = seconds_of(lambda s=strict: s.fit(triplets))
            slow = seconds_of(lambda p=peer: p.set_params(random_state=0).fit(rows, n_objects=n))
        maps = [model.embedding_ for model in (ours, strict, peer)]
        values = [store.loss(X, ours._loss(2))[0] / len(rows) for X in maps]
        scaled = name != "STE"
        errors = ["-", "-"]
        if truth is not None:
            errors = [
                f"{procrustes_error(X, truth, relative=True, scale=scaled):.4f}" for X in maps[::2]
            ]
        print(
            f"| {name} | {fast:.3f} | {exact:.3f} | {slow:.2f} | {slow / fast:.0f}x | "
            f"{values[0]:.6f} | {values[1]:.6f} | {values[2]:.6f} | {errors[0]} | {errors[1]} | "
            f"{ours.n_passes_:.1f} |",
            flush=True,
        )


def simulated(n: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    points = sample_points(n, 2, random_state=0)
    return sample(points, round(c * n * np.log(n)), random_state=1).rows, points


def people(name: str, triplets: Triplets, d: int, names: list[str]) -> None:
    """Predict the answers of one fold: differences are paired by answer."""
    fold = shuffled_folds(triplets.groups("answer"), np.full(5, 1 / 5), 0)
    train, test = triplets[fold != 0], triplets[fold == 0]
    ours = correct(OrdinalEmbedding(d, random_state=0).fit(train).embedding_, test.rows)
    for method in names:
        peer = methods(d)[method][1].set_params(random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = seconds_of(lambda p=peer: p.fit(train.rows, n_objects=triplets.n_items))
        theirs = correct(peer.embedding_, test.rows)
        by, error = difference(ours, theirs, test)
        print(
            f"| {name} | {d} | {ours.mean():.4f} | {method} | {theirs.mean():.4f} | {by:+.4f} | "
            f"{by / max(error, 1e-12):+.1f} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="also n = 1e4: cblearn takes an hour")
    parser.add_argument("--losses", nargs="+", default=["STE", "t-STE", "CKL", "GNMDS", "SOE"])
    parser.add_argument("--data", type=Path, help="folder with food100/ and material/ (optional)")
    parser.add_argument("--people", nargs="+", choices=SETS, help="of DATA, one fold of each")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5])
    arguments = parser.parse_args()
    heading(f"against cblearn {version('cblearn')}")
    if arguments.people:
        print("| set | d | ours | cblearn's | | difference | in SE | its s |\n|" + "---|" * 8)
        for name in arguments.people:
            for d in arguments.dimensions:
                people(name, SETS[name](arguments.data), d, arguments.losses)
        sys.exit()
    if arguments.data:
        for folder, file in (("food100", "triplets_all.npy"), ("material", "triplets_train.npy")):
            compare(folder, np.load(arguments.data / folder / file), None, arguments.losses)
    compare("n = 1000, c = 200", *simulated(1000, 200), arguments.losses)
    if arguments.large:
        compare("n = 10,000, c = 20", *simulated(10_000, 20), arguments.losses)
