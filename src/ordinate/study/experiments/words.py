"""Words: maps of hundreds of thousands of words from noisy comparisons with landmarks."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.simulate import sample_triplets
from ordinate.estimators import LOE, STE, TSTE
from ordinate.figures.fonts import printable
from ordinate.figures.panels import Scene, draw_panel
from ordinate.files.datasets import load_words
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
from ordinate.study.experiments._massive import (
    QUERIES,
    Makers,
    ask_landmarks,
    maps_of,
    nearest,
    shared,
    wrong_order,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C, CLEAR = 50, 12.0  # the budget's factor; answers are this clear, about a fifth of them wrong
SHOWN, FIRST = 250, 100  # words on the drawn map; the most frequent are little words
METHODS = ("LOE", "LOE, finished", "STE")
BOUND = "SVD of the vectors"


def cells(scale: str) -> list[Cell]:
    """More and more words in ten dimensions, and more dimensions of ten thousand."""
    settings = {
        "quick": [(1000, 5), (2000, 5)],
        "paper": [
            (10_000, 10),
            (30_000, 10),
            (100_000, 10),
            (341_479, 10),
            (10_000, 20),
            (10_000, 50),
        ],
    }[scale]
    return [{"n": n, "d": d, "drawn": k == 0, "trial": 0} for k, (n, d) in enumerate(settings)]


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Time, memory, wrong orders and neighbours of three methods, and of the vectors' own SVD."""
    from sklearn.decomposition import TruncatedSVD

    n, d, seed = cell["n"], cell["d"], cell["trial"]
    words, vectors = load_words(data, n)
    # Cosine distances, as squared distances between vectors of length 1.
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    rng = np.random.default_rng(seed)
    m = n_log_n(n, C)
    landmarks = np.sort(rng.choice(n, n_landmarks(n, d, m), replace=False))
    answers = ask_landmarks(
        CLEAR * (2 - 2 * vectors[landmarks] @ vectors.T), landmarks, m, "btl", seed
    )
    queries = rng.choice(n, min(QUERIES, n // 2), replace=False)
    truth, far = nearest(vectors, queries), 2 - 2 * vectors[queries] @ vectors.T

    makers: Makers = {
        "LOE": LOE(d),
        "LOE, finished": STE(d, init="loe"),
        "STE": STE(d, init="spectral", random_state=seed),
        BOUND: lambda: TruncatedSVD(d, random_state=seed).fit_transform(vectors),
    }
    rows: list[Row] = []
    for row, found in maps_of(makers, answers, d):
        row |= {**cell, "landmarks": len(landmarks)}
        row["wrong"] = wrong_order(found, queries, far, seed)
        row["neighbours"] = shared(nearest(found, queries), truth)
        rows.append(row)
    return rows + (places(words, vectors, seed) if cell["drawn"] else [])


def places(words: list[str], vectors: np.ndarray, seed: int) -> list[Row]:
    """A map of common words in the plane, by t-STE, to be looked at."""
    letters = [k for k, word in enumerate(words) if word.isalpha() and len(word) > 2]
    chosen = np.array(letters[FIRST : FIRST + SHOWN])
    asked = sample_triplets(np.sqrt(CLEAR) * vectors[chosen], 300 * len(chosen), random_state=seed)
    found = TSTE(2, random_state=seed).fit(asked).embedding_
    return [
        {"kind": "place", "label": words[k], "x": float(x), "y": float(y)}
        for k, (x, y) in zip(chosen, found, strict=True)
    ]


def draw(rows: list[Row]) -> "Figure":
    """The map with its words; below, neighbours found and seconds against n."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ends, shown = of_kind(rows, "end"), of_kind(rows, "place")
    if not shown:
        made, axes = figure(2)
    else:
        made = Figure(figsize=(10, 12), dpi=150)
        FigureCanvasAgg(made)
        scene = Scene(
            X=np.array([(r["x"], r["y"]) for r in shown]),
            labels=[printable(str(r["label"])) for r in shown],
            images={},
            column=None,
            font_size=6,
            radius=1.5,
        )
        left_out = draw_panel(made, scene, (0, 1), (0.01, 0.3, 0.98, 0.68)).labels
        note = f", {left_out} without room for its label" if left_out else ""
        made.axes[0].set_title(f"{len(shown)} common words by t-STE{note}", size=10)
        axes = [made.add_axes((x, 0.06, 0.38, 0.19)) for x in (0.08, 0.57)]
    d = min(r["d"] for r in ends)
    for panel, value, label in zip(
        axes, ("neighbours", "seconds"), ("true ten neighbours found", "seconds"), strict=True
    ):
        for name in (*METHODS, BOUND):
            line = sorted((r["n"], r[value]) for r in ends if r["method"] == name and r["d"] == d)
            panel.plot(*zip(*line, strict=True), "o-", markersize=3.5, label=name)
        panel.set(xscale="log", xlabel=f"words, d = {d}", ylabel=label)
        panel.spines[["top", "right"]].set_visible(False)
    axes[1].set(yscale="log")
    axes[0].set(ylim=(0, None))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """Every cell as a line; LOE against STE and against the bound at the largest n."""
    ends = of_kind(rows, "end")
    verdicts = []
    for n, d in dict.fromkeys((r["n"], r["d"]) for r in ends):
        at = {r["method"]: r for r in ends if (r["n"], r["d"]) == (n, d)}
        told = "; ".join(
            f"{name} {r['wrong']:.1%} wrong, {r['neighbours']:.1%} of neighbours, "
            f"{r['seconds']:.1f} s"
            for name, r in at.items()
        )
        verdicts.append(
            Verdict(
                f"{n:,} words, d = {d}: LOE orders most pairs as the vectors do",
                f"{told}; peak {max(r['peak_gib'] for r in at.values()):.1f} GiB",
                at["LOE"]["wrong"] < 0.5 * (0.5 + at[BOUND]["wrong"]),
            )
        )
    return verdicts


EXPERIMENT = Experiment(
    "words",
    "Words",
    "Vectors of words, 50 n log n noisy answers about landmarks by cosine. The paper names "
    "such data as future work; we ask what LOE, LOE finished by STE, and STE recover, against the "
    "truncated SVD of the vectors.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 2.0 * PASSES * cell["d"] / 2 * n_log_n(cell["n"], C),
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], C),
    needs_data="vectors of words",
)
