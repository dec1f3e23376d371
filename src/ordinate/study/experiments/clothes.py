"""Clothes and digits: all 70,000 pictures of Fashion-MNIST, or of MNIST, from noisy comparisons."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.estimators import LOE, STE
from ordinate.evaluation.metrics import purity
from ordinate.figures.drawing import COLOURS
from ordinate.files.datasets import FASHION, load_fashion
from ordinate.study.experiments._frame import (
    PASSES,
    Cell,
    Experiment,
    Row,
    Verdict,
    figure,
    n_log_n,
    of_kind,
)
from ordinate.study.experiments._massive import STEPS, Makers, ask_landmarks, frame, maps_of, table
from ordinate.study.experiments.mnist import DIGITS, WRONG, clusters, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C, DRAWN = 50, 10_000
BOUND = "SVD of the pixels"
CLOTHES = (
    *("T-shirt", "trousers", "pullover", "dress", "coat"),
    *("sandal", "shirt", "trainer", "bag", "ankle boot"),
)


def cells(scale: str) -> list[Cell]:
    """The paper's d = 5, and 10."""
    numbers = {"quick": [1500], "paper": [70_000]}[scale]
    return [{"n": n, "d": d, "trial": 0} for n in numbers for d in (5, 10)]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Time and purity of LOE and LOE finished, and purity of the pixels' own SVD."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.metrics.pairwise import euclidean_distances

    n, d, seed, device = cell["n"], cell["d"], cell["trial"], cell.get("device")
    if data == DIGITS:
        pixels, kinds = load(data)
    else:
        images, kinds = load_fashion(FASHION if data is None else data)
        pixels = images.reshape(len(images), -1)
    # Only Fashion-MNIST has as many pictures of every kind: in its place, digits are digits.
    names = CLOTHES if (np.bincount(kinds, minlength=10) == 7000).all() else range(10)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(pixels), min(n, len(pixels)), replace=False)
    pixels, kinds, n = pixels[chosen].astype(np.float32), kinds[chosen], len(chosen)
    m = n_log_n(n, C)
    landmarks = np.sort(rng.choice(n, n_landmarks(n, d, m), replace=False))
    columns = euclidean_distances(pixels[landmarks], pixels, squared=True)
    answers = ask_landmarks(columns, landmarks, m, WRONG, seed)
    centred = pixels - pixels.mean(axis=0)
    makers: Makers = {
        "LOE": LOE(d, device=device),
        "LOE, finished": STE(d, device=device, init="loe", max_iter=STEPS),
        BOUND: lambda: TruncatedSVD(d, random_state=seed).fit_transform(centred),
    }
    rows: list[Row] = []
    for row, found in maps_of(makers, answers, d):
        row |= {**cell, "landmarks": len(landmarks)}
        row["purity"] = purity(clusters(found, seed), kinds)
        rows.append(row)
        if row["method"] == "LOE":
            _, _, axes = np.linalg.svd(found - found.mean(axis=0), full_matrices=False)
            flat = (found - found.mean(axis=0)) @ axes[:2].T
            rows += [
                {"kind": "place", "d": d, "x": x, "y": y, "sort": names[kinds[k]]}
                for k, (x, y) in enumerate(flat[:DRAWN].tolist())
            ]
    return rows


def draw(rows: list[Row]) -> "Figure":
    """LOE's maps along their two main axes, coloured by kind."""
    numbers = list(dict.fromkeys(r["d"] for r in rows))
    made, axes = figure(len(numbers))
    made.set_size_inches(4.6 * len(numbers), 5.0)
    for panel, d in zip(axes, numbers, strict=True):
        places = [r for r in of_kind(rows, "place") if r["d"] == d]
        for colour, sort in zip(COLOURS, sorted({r["sort"] for r in places}), strict=False):
            at = [(r["x"], r["y"]) for r in places if r["sort"] == sort]
            panel.scatter(
                *zip(*at, strict=True),
                color=colour,
                s=min(12.0, 20_000 / len(places)),
                linewidths=0,
                rasterized=True,
            )
            panel.scatter([], [], color=colour, s=25, label=str(sort))  # larger, for the legend
        told = frame(panel, np.array([(r["x"], r["y"]) for r in places]))
        head = f"LOE, d = {d}: two main axes, {len(places):,} pictures"
        panel.set_title("\n".join([head, *told]), size=9)
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """Purity close to that of the pixels themselves."""
    ends = of_kind(rows, "end")
    verdicts = []
    for n, d in dict.fromkeys((r["n"], r["d"]) for r in ends):
        at = {r["method"]: r for r in ends if (r["n"], r["d"]) == (n, d)}
        verdicts.append(
            Verdict(
                f"{n:,} pictures, d = {d}: clusters as pure as those of the pixels, but for .05",
                f"{at['LOE']['purity']:.3f} against {at[BOUND]['purity']:.3f}",
                at["LOE"]["purity"] > at[BOUND]["purity"] - 0.05,
            )
        )
    return verdicts


def results(rows: list[Row]) -> list[list[str]]:
    """Every method in every cell."""
    return table(
        of_kind(rows, "end"),
        {"pictures": lambda r: f"{r['n']:,}", "d": lambda r: str(r["d"])},
        {"purity": "purity"},
    )


EXPERIMENT = Experiment(
    "clothes",
    "Seventy thousand pictures",
    "All pictures of Fashion-MNIST, or of MNIST by --data; 50 n log n answers about landmarks, by "
    "pixel distances, 15 % of them wrong; k-means. Ours: are clusters of LOE's map as pure as "
    "those of the pixels' SVD?",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 1.0 * PASSES * n_log_n(cell["n"], C),
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], C),
    needs_data="Fashion-MNIST",
    table=results,
    on_device=True,
)
