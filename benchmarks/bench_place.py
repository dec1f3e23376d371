"""New items and more answers: placed against fitted anew, in error and in time.

``bench_place.py [--known 1000] [--new 1000] [--repeats 3]``. A map of known items is fitted to 100
answers per coordinate, and new ones are placed on it by 20 d answers each. Errors are root mean
squares over new items after the known ones were aligned with the truth; ratios are of one run.
"""

import argparse
import time
import warnings

import numpy as np
from _measure import best_time, heading
from sklearn.base import clone

from ordinate import STE, TSTE, OrdinalEmbedding, Triplets, sample_points, sample_triplets

PER_COORDINATE = 100  # answers about known items
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
    U, _, V = np.linalg.svd(ours[:known].T @ goal[:known])
    return float(np.sqrt(((ours @ U @ V - goal)[known:] ** 2).sum(axis=1).mean()))


def places(known: int, new: int, repeats: int) -> None:
    print(
        "| d | new item is | method | seconds | placed: error | fitted anew: error | ratio | weak |"
        "\n|---|---|---|---|---|---|---|---|"
    )
    for d in (2, 5):
        truth = sample_points(known + new, d, random_state=d)
        answers = sample_triplets(truth[:known], PER_COORDINATE * known * d, random_state=d)
        for method in (STE(d, random_state=0), TSTE(d, random_state=0)):
            model = clone(method).fit(answers)
            for as_anchor in (True, False):
                rows = about_new(truth, known, as_anchor, d)
                seconds = best_time(lambda m=model, r=rows: m.place(r), repeats)
                placed = model.place(rows)
                full = clone(method).fit(np.concatenate([answers.rows, rows]))
                ours = error(np.concatenate([model.embedding_, placed.points]), truth, known)
                theirs = error(full.embedding_, truth, known)
                print(
                    f"| {d} | {'the anchor' if as_anchor else 'anything'} | "
                    f"{type(method).__name__} | {seconds:.2f} | {ours:.3f} | {theirs:.3f} | "
                    f"{ours / theirs:.2f} | {placed.weak.mean():.0%} |",
                    flush=True,
                )


def streams(repeats: int) -> None:
    print(
        "\n| method | items | triplets | more | all at once, s | partial_fit, s | ratio "
        "| loss above |\n|---|---|---|---|---|---|---|---|"
    )
    for method, n, m, more in (
        (STE(random_state=0), 100, 20_000, 200),
        (TSTE(random_state=0), 100, 20_000, 200),
        (OrdinalEmbedding(random_state=0), 100, 20_000, 200),
        (STE(random_state=0), 1_000, 500_000, 5_000),
        (STE(random_state=0), 5_000, 2_000_000, 20_000),
    ):
        triplets = sample_triplets(sample_points(n, random_state=0), m + more, random_state=1)
        first, last = Triplets(triplets.rows[:m], n_items=n), triplets[m:]
        at_once, later, above = [], [], 0.0
        for _ in range(repeats):
            model = clone(method).fit(first)
            began = time.perf_counter()
            full = clone(method).fit(triplets)
            at_once.append(time.perf_counter() - began)
            began = time.perf_counter()
            model.partial_fit(last)
            later.append(time.perf_counter() - began)
            above = model.history_[-1] - full.history_[-1]
        print(
            f"| {type(method).__name__} | {n:,} | {m:,} | {more:,} | {min(at_once):.2f} | "
            f"{min(later):.3f} | {min(at_once) / min(later):.0f} | {above:+.1e} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--known", type=int, default=1000)
    parser.add_argument("--new", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heading(f"{given.new:,} new items on a map of {given.known:,}")
    places(given.known, given.new, given.repeats)
    streams(given.repeats)


if __name__ == "__main__":
    main()
