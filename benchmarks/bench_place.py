"""New items and more answers: placed against fitted anew, in error and in time.

``bench_place.py [--known 1000] [--new 1000] [--repeats 3] [--parts placed added]``. A map of known
items is fitted to 100 answers per coordinate, and new ones are placed on it by 20 d answers each.
Errors are root mean squares over new items after the known ones were aligned with the truth, scale
included. Seconds are those of processors too, of all threads together, since other work may take
the time of a clock.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from _measure import heading
from sklearn.base import clone

from ordinate import (
    STE,
    TSTE,
    OrdinalEmbedding,
    Triplets,
    procrustes_error,
    sample_points,
    sample_triplets,
)

PER_COORDINATE = 100  # answers about known items
PARTS = ("placed", "added")
ABOUT_NEW = 20  # answers about a new one, per coordinate


def about_new(truth: np.ndarray, known: int, as_anchor: bool, seed: int) -> np.ndarray:
    """Answers about each new item and two known ones, by BTL."""
    rng = np.random.default_rng(seed)
    d = truth.shape[1]
    item = np.repeat(np.arange(known, len(truth)), ABOUT_NEW * d)
    one = rng.integers(known, size=len(item))
    other = (one + 1 + rng.integers(known - 1, size=len(item))) % known
    rows = np.column_stack([item, one, other])
    if not as_anchor:
        role = rng.integers(3, size=len(rows))
        rows = np.take_along_axis(rows, (np.arange(3) - role[:, None]) % 3, axis=1)
    near, far = (((truth[rows[:, 0]] - truth[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    turned = rng.random(len(rows)) > 1 / (1 + np.exp(near - far))
    rows[turned] = rows[turned][:, [0, 2, 1]]
    return rows


def error(points: np.ndarray, truth: np.ndarray, known: int) -> float:
    """Root mean square of new items' errors, the known ones aligned."""
    ours, goal = points - points[:known].mean(axis=0), truth - truth[:known].mean(axis=0)
    U, values, V = np.linalg.svd(ours[:known].T @ goal[:known])
    scale = values.sum() / (ours[:known] ** 2).sum()
    return float(np.sqrt(((scale * ours @ U @ V - goal)[known:] ** 2).sum(axis=1).mean()))


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock and of processors, and the result."""
    clock, processors = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - clock, time.process_time() - processors, result


def places(known: int, new: int, repeats: int) -> None:
    print(
        "| d | new item is | method | seconds | of processors | placed: error | fitted anew: error "
        "| ratio | weak |\n|---|---|---|---|---|---|---|---|---|"
    )
    for d in (2, 5):
        truth = sample_points(known + new, d, random_state=d)
        answers = sample_triplets(truth[:known], PER_COORDINATE * known * d, random_state=d)
        for method in (STE(d, random_state=0), TSTE(d, random_state=0)):
            model = clone(method).fit(answers)
            for as_anchor in (True, False):
                rows = about_new(truth, known, as_anchor, d)
                model.place(rows[:100])  # compiled now, if it was not
                tries = [timed(partial(model.place, rows)) for _ in range(repeats)]
                clock, processors = np.min([one[:2] for one in tries], axis=0)
                placed = tries[0][2]
                full = clone(method).fit(np.concatenate([answers.rows, rows]))
                ours = error(np.concatenate([model.embedding_, placed.points]), truth, known)
                theirs = error(full.embedding_, truth, known)
                print(
                    f"| {d} | {'the anchor' if as_anchor else 'anything'} | "
                    f"{type(method).__name__} | {clock:.2f} | {processors:.2f} | {ours:.3f} | "
                    f"{theirs:.3f} | {ours / theirs:.2f} | {placed.weak.mean():.0%} |",
                    flush=True,
                )


def streams(repeats: int) -> None:
    print(
        "\n| method | items | triplets | more | all at once, s | partial_fit, s | ratio "
        "| of processors | loss above | maps differ by |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for method, n, m in (
        (STE(random_state=0), 100, 20_000),
        (TSTE(random_state=0), 100, 20_000),
        (OrdinalEmbedding(random_state=0), 100, 20_000),
        (STE(random_state=0), 1_000, 500_000),
        (STE(random_state=0), 5_000, 2_000_000),
    ):
        for more in (100, m // 100):
            triplets = sample_triplets(sample_points(n, random_state=0), m + more, random_state=1)
            first, last = Triplets(triplets.rows[:m], n_items=n), triplets[m:]
            model = clone(method).fit(first)
            at_once, later = [], []
            for _ in range(repeats):
                at_once.append(timed(partial(clone(method).fit, triplets)))
                later.append(timed(partial(copy(model).partial_fit, last)))
            full, streamed = at_once[0][2], later[0][2]
            slow, fast = (np.min([one[:2] for one in each], axis=0) for each in (at_once, later))
            # A fit that chooses its loss may choose another one.
            same = getattr(full, "maker_", 0) == getattr(streamed, "maker_", 0)
            above = f"{streamed.history_[-1] - full.history_[-1]:+.0e}" if same else "another loss"
            apart = procrustes_error(
                streamed.embedding_, full.embedding_, scale=True, relative=True
            )
            print(
                f"| {type(method).__name__} | {n:,} | {m:,} | {more:,} | "
                f"{slow[0]:.2f} | {fast[0]:.3f} | {slow[0] / fast[0]:.0f} | "
                f"{slow[1] / fast[1]:.0f} | {above} | {apart:.4f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--known", type=int, default=1000)
    parser.add_argument("--new", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heading(f"{given.new:,} new items on a map of {given.known:,}")
    if "placed" in given.parts:
        places(given.known, given.new, given.repeats)
    if "added" in given.parts:
        streams(given.repeats)


if __name__ == "__main__":
    main()
