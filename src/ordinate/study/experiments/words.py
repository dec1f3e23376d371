"""Words: maps of hundreds of thousands of words from noisy comparisons with landmarks."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.simulate import sample_triplets
from ordinate.data.triplets import Triplets
from ordinate.estimators import LOE, STE, TSTE
from ordinate.figures.colour_keys import legend
from ordinate.figures.drawing import read_column
from ordinate.figures.fonts import printable
from ordinate.figures.panels import Scene, draw_panel, style_of
from ordinate.files.datasets import load_words
from ordinate.study.experiments._frame import (
    Cell,
    Experiment,
    Row,
    Verdict,
    figure,
    n_log_n,
    of_kind,
)
from ordinate.study.experiments._known_words import KNOWN
from ordinate.study.experiments._massive import (
    QUERIES,
    STEPS,
    Makers,
    ask_landmarks,
    maps_of,
    nearest,
    shared,
    table,
    wrong_order,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C, CLEAR = 50, 12.0  # the budget's factor; answers are this clear, about a fifth of them wrong
SHOWN, FIRST = 200, 100  # words on the drawn map; the most frequent are little words
ENOUGH = 50  # known words for a map of them; fewer in files of other languages
BOUND = "SVD of the vectors"
READ = {  # how often answers are read, about
    "LOE": 4,
    "LOE, finished": 30,
    "STE": 30,
    "LOE, finished to the end": 200,
    "STE, to the end": 200,
    BOUND: 1,
}


def cells(scale: str) -> list[Cell]:
    """More and more words in ten dimensions, and more dimensions of ten thousand."""
    settings = {
        "quick": [(1000, 5), (2000, 5)],
        "paper": [
            (10_000, 10),
            (10_000, 20),
            (10_000, 50),
            (30_000, 10),
            (100_000, 10),
            (341_479, 10),
        ],
    }[scale]
    return [
        {"n": n, "d": d, "method": method, "drawn": k == 0 and method == "LOE", "trial": 0}
        for k, (n, d) in enumerate(settings)
        for method in READ
    ]


class Asked(NamedTuple):
    """Words, answers about landmarks among them, and what maps are judged by."""

    words: list[str]
    vectors: np.ndarray
    answers: Triplets
    n_landmarks: int
    queries: np.ndarray
    nearest: np.ndarray  # to each query
    far: np.ndarray  # squared distances from each query


@lru_cache(maxsize=1)
def ask(data: Path | None, n: int, d: int, seed: int) -> Asked:
    """Ask about landmarks by cosine: squared distances between vectors of length 1."""
    words, vectors = load_words(data, n)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    rng = np.random.default_rng(seed)
    m = n_log_n(n, C)
    landmarks = np.sort(rng.choice(n, n_landmarks(n, d, m), replace=False))
    columns = CLEAR * (2 - 2 * vectors[landmarks] @ vectors.T)
    answers = ask_landmarks(columns, landmarks, m, "btl", seed)
    queries = rng.choice(n, min(QUERIES, n // 2), replace=False)
    far = 2 - 2 * vectors[queries] @ vectors.T
    return Asked(words, vectors, answers, len(landmarks), queries, nearest(vectors, queries), far)


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Time, memory, wrong orders and neighbours of a method, or of the vectors' own SVD."""
    from sklearn.decomposition import TruncatedSVD

    n, d, seed, device = cell["n"], cell["d"], cell["trial"], cell.get("device")
    asked = ask(data, n, d, seed)  # once for all methods
    makers: Makers = {
        "LOE": LOE(d, device=device),
        "LOE, finished": STE(d, device=device, init="loe", max_iter=STEPS),
        "STE": STE(d, device=device, init="spectral", max_iter=STEPS, random_state=seed),
        "LOE, finished to the end": STE(d, device=device, init="loe"),
        "STE, to the end": STE(d, device=device, init="spectral", random_state=seed),
        BOUND: lambda: TruncatedSVD(d, random_state=seed).fit_transform(asked.vectors),
    }
    ((row, found),) = maps_of({cell["method"]: makers[cell["method"]]}, asked.answers, d)
    row |= {**cell, "landmarks": asked.n_landmarks}
    row["wrong"] = wrong_order(found, asked.queries, asked.far, seed)
    row["neighbours"] = shared(nearest(found, asked.queries), asked.nearest)
    return [row, *(places(asked.words, asked.vectors, seed) if cell["drawn"] else [])]


def places(words: list[str], vectors: np.ndarray, seed: int) -> list[Row]:
    """A map of well-known words in the plane, by t-STE, to be looked at; else of common ones."""
    row_of = {word: k for k, word in enumerate(words)}
    kinds = {row_of[w]: kind for kind, group in KNOWN.items() for w in group if w in row_of}
    if len(kinds) >= ENOUGH:
        chosen = np.array(list(kinds))
    else:
        kinds = {}
        letters = [k for k, word in enumerate(words) if word.isalpha() and len(word) > 2]
        chosen = np.array(letters[FIRST : FIRST + SHOWN])
    asked = sample_triplets(np.sqrt(CLEAR) * vectors[chosen], 300 * len(chosen), random_state=seed)
    found = TSTE(2, random_state=seed).fit(asked).embedding_
    return [
        {"kind": "place", "label": words[k], "sort": kinds.get(k), "x": float(x), "y": float(y)}
        for k, (x, y) in zip(chosen.tolist(), found, strict=True)
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
        draw_words(made, shown)
        axes = [made.add_axes((x, 0.07, 0.38, 0.17)) for x in (0.08, 0.57)]
    d = min(r["d"] for r in ends)
    for panel, value, label in zip(
        axes, ("neighbours", "seconds"), ("true ten neighbours found", "seconds"), strict=True
    ):
        for name in READ:
            line = sorted((r["n"], r[value]) for r in ends if r["method"] == name and r["d"] == d)
            if not line:  # left out by --only
                continue
            panel.plot([n for n, _ in line], [v for _, v in line], "o-", ms=3.5, label=name)
        panel.set(xscale="log", xlabel=f"words, d = {d}", ylabel=label)
        panel.spines[["top", "right"]].set_visible(False)
    axes[1].set(yscale="log")
    axes[0].set(ylim=(0, None))
    return made


def draw_words(made: "Figure", shown: list[Row]) -> None:
    """Draw words at their places, in the colours of what they are about."""
    kinds = [r.get("sort") for r in shown]
    column = read_column("", kinds, len(shown)) if any(kinds) else None
    scene = Scene(
        X=np.array([(r["x"], r["y"]) for r in shown]),
        labels=[printable(str(r["label"])) for r in shown],
        images={},
        column=column,
        font_size=7,
        radius=1.6,
    )
    left_out = draw_panel(made, scene, (0, 1), (0.01, 0.33, 0.98, 0.64)).labels
    note = f", {left_out} without room for their labels" if left_out else ""
    sort = "well-known" if column else "common"
    title = f"{len(shown)} {sort} words placed by noisy comparisons alone{note}"
    made.axes[0].set_title(title, size=11)
    if column:
        colour_of = {name: style_of(code, column)[0] for code, name in enumerate(column.names)}
        colours = {r["label"]: colour_of[r["sort"]] for r in shown}
        for text in made.axes[0].texts:
            text.set_color(colours[text.get_text()])
        key = legend(made, scene, column, 9.0)
        key.set_loc("upper center")
        key.set_bbox_to_anchor((0.5, 0.325), made.transFigure)


def judge(rows: list[Row]) -> list[Verdict]:
    """LOE's order of pairs in every cell against that of the bound, and of chance."""
    ends = of_kind(rows, "end")
    verdicts = []
    for n, d in dict.fromkeys((r["n"], r["d"]) for r in ends):
        at = {r["method"]: r for r in ends if (r["n"], r["d"]) == (n, d)}
        if not {"LOE", BOUND} <= set(at):  # left out by --only
            continue
        verdicts.append(
            Verdict(
                f"{n:,} words, d = {d}: LOE orders most pairs as the vectors do",
                f"{at['LOE']['wrong']:.1%} are in the wrong order; of the SVD's own map, "
                f"{at[BOUND]['wrong']:.1%}",
                at["LOE"]["wrong"] < 0.5 * (0.5 + at[BOUND]["wrong"]),
            )
        )
    return verdicts


def results(rows: list[Row]) -> list[list[str]]:
    """Every method in every cell."""
    return table(
        of_kind(rows, "end"),
        {"words": lambda r: f"{r['n']:,}", "d": lambda r: str(r["d"])},
        {"pairs in the wrong order": "wrong", "of the true ten neighbours": "neighbours"},
    )


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
    passes=lambda cell: READ[cell["method"]] * cell["d"] / 2 * n_log_n(cell["n"], C),
    triplets=lambda cell: 3.0 * n_log_n(cell["n"], C),
    needs_data="vectors of words",
    table=results,
    on_device=True,
)
