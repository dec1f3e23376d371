"""How well people's answers are predicted: the default against the best of the plain methods.

``bench_people.py DIR [--sets NAMES] [--dimensions 2 5] [--folds 5] [--starts 10]``, DIR holding the
published sets as their authors left them. Each answer is predicted by maps of the other folds;
differences are paired by answer. The plain methods get the best of ten starts each, and no ridge.
``--keep FOLDER`` keeps their predictions from one run to the next. Times are the processor's, over
those of STE by default (whose starts race) and from the spectral start alone.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _measure import heading
from sklearn.base import clone

from ordinate import CKL, GNMDS, SOE, STE, TSTE, OrdinalEmbedding, Triplets, readers
from ordinate.data.folds import shuffled_folds
from ordinate.estimators.base import Embedder
from ordinate.evaluation.metrics import correct


class Predicted(NamedTuple):
    """Of each row: whether it was predicted rightly, and minus its log-likelihood, or NaN."""

    right: np.ndarray
    loss: np.ndarray
    seconds: float


def food(folder: Path) -> Triplets:
    rows = np.load(folder / "food100/triplets_all.npy")
    return Triplets(rows, answer=np.load(folder / "food100/screen_of_triplets_all.npy"))


def material(folder: Path) -> Triplets:
    parts = [np.load(folder / f"material/triplets_{part}.npy") for part in ("train", "test")]
    return Triplets(np.concatenate(parts))


def file(name: str, **options) -> Callable[[Path], Triplets]:
    return lambda folder: readers.read(folder / name, **options).triplets


SETS = {
    "food100": food,
    "material": material,
    "letters_latin": file("letters_latin/trials.csv"),
    "cars60": file("cars60/survey_data.csv"),
    "next_eggs300": file("next_eggs300/responses.csv"),
    "things_sample": file("things_sample/odd_one_out.txt", odd="last"),
}
PLAIN = {"ste": STE, "tste": TSTE, "ckl": CKL, "gnmds": GNMDS, "soe": SOE}


def predict(estimator: Embedder, triplets: Triplets, fold: np.ndarray) -> Predicted:
    """Predict every row by a map of the other folds."""
    right, loss = np.full((2, len(triplets)), np.nan)
    began = time.process_time()
    for k in range(fold.max() + 1):
        test = np.flatnonzero(fold == k)
        model = clone(estimator).fit(triplets[fold != k])
        right[test] = correct(model.embedding_, triplets.rows[test])
        if hasattr(model, "predict_proba"):
            chance = model.predict_proba(triplets.rows[test])[:, 1]
            loss[test] = -np.log(np.maximum(chance, 1e-12))
    return Predicted(right, loss, time.process_time() - began)


def difference(ours: np.ndarray, theirs: np.ndarray, triplets: Triplets) -> tuple[float, float]:
    """Mean difference per row and its standard error, paired by answer."""
    answer = triplets.groups("answer")
    by_answer = np.bincount(answer, ours - theirs)
    size = np.bincount(answer)
    mean = by_answer.sum() / size.sum()
    return mean, float(np.sqrt(((by_answer - mean * size) ** 2).sum()) / size.sum())


def kept(file: Path | None, make: Callable[[], Predicted]) -> Predicted:
    """Take predictions from a file, or make them and keep them there."""
    if file is not None and file.exists():
        with np.load(file) as known:
            return Predicted(known["right"], known["loss"], float(known["seconds"]))
    made = make()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, **made._asdict())
    return made


def cell(
    name: str, triplets: Triplets, d: int, folds: int, starts: int, folder: Path | None
) -> dict:
    fold = shuffled_folds(triplets.groups("answer"), np.full(folds, 1 / folds), 0)
    plain = {}
    for method, estimator in PLAIN.items():
        file = folder and folder / f"{name}_{d}_{folds}_{starts}_{method}.npz"
        tried = estimator(d, n_init=starts, random_state=0)
        plain[method] = kept(file, lambda tried=tried: predict(tried, triplets, fold))
    for estimator in (OrdinalEmbedding(d, random_state=0), STE(d, random_state=0)):
        estimator.fit(triplets[: min(len(triplets), 1000)])  # compiles
    ours = predict(OrdinalEmbedding(d, random_state=0), triplets, fold)
    by_default = predict(STE(d, random_state=0), triplets, fold)
    one_start = predict(STE(d, init="spectral", n_init=1, random_state=0), triplets, fold)
    best = max(plain, key=lambda method: plain[method].right.mean())
    likeliest = min(("ste", "tste", "ckl"), key=lambda method: plain[method].loss.mean())
    by, error = difference(ours.right, plain[best].right, triplets)
    by_loss, loss_error = difference(ours.loss, plain[likeliest].loss, triplets)
    return {
        "set": name,
        "d": d,
        "accuracy": ours.right.mean(),
        "best": best,
        "best_accuracy": plain[best].right.mean(),
        "by": by,
        "errors": by / max(error, 1e-12),
        "log_likelihood": -ours.loss.mean(),
        "likeliest": likeliest,
        "its": -plain[likeliest].loss.mean(),
        "loss_errors": by_loss / max(loss_error, 1e-12),
        "times_ste": ours.seconds / by_default.seconds,
        "times_one_start": ours.seconds / one_start.seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="folder for the plain methods' predictions")
    parser.add_argument("--json", type=Path, help="append each cell to this file, a line each")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heading("People's answers: the default against the best plain method")
    print(
        "| set | d | accuracy | best plain | difference | in SE | log-likelihood "
        "| best of ste, tste, ckl | behind, in SE | time / STE | time / one start |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name in given.sets:
        triplets = SETS[name](given.data)
        for d in given.dimensions:
            row = cell(name, triplets, d, given.folds, given.starts, given.keep)
            print(
                f"| {name} | {d} | {row['accuracy']:.4f} | "
                f"{row['best']} {row['best_accuracy']:.4f} | "
                f"{row['by']:+.4f} | {row['errors']:+.2f} | {row['log_likelihood']:.4f} | "
                f"{row['likeliest']} {row['its']:.4f} | {row['loss_errors']:+.1f} | "
                f"{row['times_ste']:.0f} | {row['times_one_start']:.0f} |",
                flush=True,
            )
            if given.json:
                with given.json.open("a") as record:
                    record.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
