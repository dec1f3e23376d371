"""Whether the starts that race by default find the lowest loss, and what that costs.

For each set, loss and number of dimensions: the best of many random starts, one plain fit from the
spectral start, and the default; losses per answer above the lowest, and time over the plain fit.
``--data DIR`` names a folder with the published sets, as in the table below; without it, simulated
answers are taken. ``--reference FILE`` keeps the lowest losses of random starts from one run to the
next. The default may end lower. With one seed it is lucky or not: ``--seeds`` are averaged over.
Times are the processor's, on one thread: others may use the machine meanwhile.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _measure import heading

import ordinate
from ordinate import CKL, GNMDS, SOE, STE, TSTE, Triplets, sample_points, sample_triplets

METHODS = {"ste": STE, "tste": TSTE, "ckl": CKL, "gnmds": GNMDS, "soe": SOE}
CLOSE = 1e-4  # of the lowest loss, per answer
PUBLISHED: dict[str, tuple[str, dict]] = {
    "cars60": ("cars60/survey_data.csv", {"layout": "most_central"}),
    "next_eggs300": ("next_eggs300/responses.csv", {}),
    "letters_latin": ("letters_latin/trials.csv", {"layout": "odd_one_out"}),
    "material": ("material/triplets_train.npy", {}),
    "food100": ("food100/triplets_all.npy", {}),
    "things_sample": ("things_sample/odd_one_out.txt", {"layout": "odd_one_out", "odd": "last"}),
}


def simulated() -> dict[str, Callable[[], Triplets]]:
    """Answers that are few, wrong, about groups, and about a circle."""
    rng = np.random.default_rng(0)
    groups = 3 * rng.normal(size=(8, 6))[rng.integers(8, size=100)] + rng.normal(size=(100, 6)) / 3
    angle = 2 * np.pi * rng.random(60)
    circle = 2 * np.column_stack([np.cos(angle), np.sin(angle)])

    def answers(points: np.ndarray, n_rows: int, wrong: float = 0.0) -> Triplets:
        triplets = sample_triplets(points, n_rows, random_state=1)
        return triplets.answered(np.random.default_rng(2).random(n_rows) >= wrong)

    sets = {
        "few": lambda: answers(sample_points(100, 2, random_state=0), 2000),
        "wrong": lambda: answers(sample_points(80, 3, random_state=0), 20_000, wrong=0.2),
        "groups": lambda: answers(groups / 2, 30_000, wrong=0.05),
        "circle": lambda: answers(circle, 6000),
    }
    for kind in range(10):
        points, n_rows, wrong = of_any_kind(kind)
        sets[f"kind {kind}"] = lambda given=(points, n_rows, wrong): answers(*given)
    return sets


def of_any_kind(seed: int) -> tuple[np.ndarray, int, float]:
    """Items of one of five shapes in two to eight dimensions, how many answers, how many wrong."""
    rng = np.random.default_rng(1000 + seed)
    n, d = int(rng.integers(40, 160)), int(rng.integers(2, 9))
    points = rng.normal(size=(n, d))
    if seed % 5 == 1:  # groups
        points = 2 * rng.normal(size=(6, d))[rng.integers(6, size=n)] + points / 2
    elif seed % 5 == 2:  # a sphere
        points /= np.linalg.norm(points, axis=1)[:, None]
    elif seed % 5 == 3:  # some far out
        points = rng.standard_t(3, size=(n, d))
    elif seed % 5 == 4:  # a tree
        for item in range(1, n):
            points[item] += points[rng.integers(item)]
    points *= 2 / np.sqrt(points.var(axis=0).sum())
    n_rows = min(int(rng.choice([8, 15, 30, 60]) * n * min(d, 4)), 12_000)
    return points, n_rows, float(rng.choice([0, 0.05, 0.15]))


def published(folder: Path) -> dict[str, Callable[[], Triplets]]:
    """The sets of a folder."""

    def read(path: str, options: dict) -> Triplets:
        if path.endswith(".npy"):
            return ordinate.as_triplets(np.load(folder / path))
        return ordinate.readers.read(folder / path, **options).triplets

    return {name: (lambda at=at: read(*at)) for name, at in PUBLISHED.items()}


def fit(method: type, d: int, triplets: Triplets, **options) -> tuple[float, float, object]:
    """Return the loss, the seconds and the model of a fit."""
    with ordinate.threads(1):
        began = time.process_time()
        model = method(d, **options).fit(triplets)
        return model.loss_, time.process_time() - began, model


def cell(
    method: type, d: int, triplets: Triplets, n_starts: int, n_seeds: int, known: float | None
) -> dict:
    """Measure one set, loss and number of dimensions."""
    plain = {"init": "spectral", "n_init": 1, "random_state": 0}
    fit(method, d, triplets, **plain, max_iter=2)  # compiles
    fit(method, d, triplets, random_state=0, max_iter=2)
    lowest = known
    if lowest is None:
        random = {"init": "random", "n_init": 1}
        found = [fit(method, d, triplets, **random, random_state=k)[0] for k in range(n_starts)]
        lowest = min(found)
    plain_runs = [fit(method, d, triplets, **plain) for _ in range(3)]
    ours = [fit(method, d, triplets, random_state=seed) for seed in range(n_seeds)]
    seconds = np.array([run[1] for run in ours]) / float(np.median([run[1] for run in plain_runs]))
    return {
        "lowest": lowest,
        "plain": plain_runs[0][0] - lowest,
        "ours": np.array([run[0] for run in ours]) - lowest,
        "times": seconds,
        "starts": ", ".join(dict.fromkeys(run[2].init_.name for run in ours)),
        "agree": " ".join(f"{sum(e.agrees for e in m.starts_)}/{len(m.starts_)}" for *_, m in ours),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--losses", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--dimensions", nargs="*", type=int, default=[2, 3, 5])
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--reference", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = simulated() if options.data is None else published(options.data)
    known = {}
    if options.reference is not None and options.reference.exists():
        known = json.loads(options.reference.read_text())
    heading(f"Starts, against the best of {options.starts} random ones; losses per answer")
    print("| set | d | loss | lowest | plain | default | close | times | at most | start | agree |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    cells = []
    for name in options.sets or sets:
        triplets = sets[name]()
        for d in options.dimensions:
            for loss in options.losses:
                key = f"{name} {d} {loss} {options.starts}"
                row = cell(
                    METHODS[loss], d, triplets, options.starts, options.seeds, known.get(key)
                )
                known[key] = row["lowest"]
                cells.append(row)
                print(
                    f"| {name} | {d} | {loss} | {row['lowest']:.5f} | {row['plain']:+.5f} | "
                    f"{row['ours'].mean():+.5f} | {(row['ours'] <= CLOSE).mean():.2f} | "
                    f"{row['times'].mean():.1f} | {row['times'].max():.1f} | {row['starts']} | "
                    f"{row['agree']} |",
                    flush=True,
                )
                if options.reference is not None:
                    options.reference.write_text(json.dumps(known, indent=1))
    close = np.mean([(row["ours"] <= CLOSE).mean() for row in cells])
    often = np.mean([(row["ours"] <= CLOSE).mean() > 0.5 for row in cells])
    plain = np.mean([row["plain"] <= CLOSE for row in cells])
    times = np.concatenate([row["times"] for row in cells])
    print(
        f"\nWithin {CLOSE:g} of the lowest: {close:.0%} of fits, {often:.0%} of {len(cells)} cells "
        f"with most seeds, {plain:.0%} of plain fits; time {np.median(times):.1f} plain fits "
        f"(median), {max(times):.1f} at most."
    )


if __name__ == "__main__":
    main()
