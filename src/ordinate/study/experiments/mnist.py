"""MNIST: clusters of digits from noisy comparisons (the paper's figures 3a and 3b)."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.simulate import sample_triplets
from ordinate.data.triplets import Triplets
from ordinate.estimators import GNMDS, LOE, STE
from ordinate.evaluation.metrics import purity
from ordinate.files.datasets import load_mnist
from ordinate.study.experiments._frame import (
    PASSES,
    Cell,
    Experiment,
    Row,
    Verdict,
    figure,
    lines,
    mean_by,
    n_log_n,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

D, C, WRONG, EPSILON = 5, 200, 0.15, 0.5
DIGITS = Path("digits")  # stands for scikit-learn's digits, where MNIST cannot be had


def cells(scale: str) -> list[Cell]:
    """The paper's numbers of digits."""
    numbers, trials = {"quick": ([100, 300], 2), "paper": ([100, 500, 1000], 5)}[scale]
    return [{"n": n, "trial": trial} for n in numbers for trial in range(trials)]


def load(data: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and classes of the digits: MNIST's, or by name scikit-learn's."""
    if data == DIGITS:
        from sklearn.datasets import load_digits

        digits = load_digits()
        return digits.data, digits.target
    found = load_mnist(data)
    return found.images.reshape(len(found.images), -1).astype(float), found.labels


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Time and purity of four methods with the same number of answers."""
    from sklearn.metrics.pairwise import euclidean_distances

    n, seed = cell["n"], cell["trial"]
    pixels, classes = load(data)
    chosen = np.random.default_rng(seed).choice(len(pixels), n, replace=False)
    E = euclidean_distances(pixels[chosen], squared=True)
    m = n_log_n(n, C)

    def ask(m: int, seed: int, **design: Any) -> Triplets:
        return sample_triplets(
            squared_distances=E, n_triplets=m, noise=WRONG, random_state=seed, **design
        )

    about = round(EPSILON * m)
    every, rest = ask(m, seed), ask(m - about, seed + 1)
    half, whole = (
        ask(k, seed + 2, design="landmarks", landmarks=n_landmarks(n, D, k)) for k in (about, m)
    )
    fits = {
        "LOE-STE": lambda: STE(D, init="loe").fit(rest, init_triplets=half),
        "STE, cold": lambda: STE(D, init="random", random_state=seed).fit(every),
        "STE, spectral": lambda: STE(D, init="spectral", random_state=seed).fit(every),
        "LOE": lambda: LOE(D).fit(whole),
        "GNMDS, cold": lambda: GNMDS(D, init="random", random_state=seed, tol=1e-3).fit(every),
    }
    fits["LOE"]()  # the first fit of a process loads kernels
    rows = []
    for name, fit in fits.items():
        began = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - began
        rows.append(
            {
                **cell,
                "data": "digits" if data == DIGITS else "MNIST",
                "method": name,
                "seconds": seconds,
                "purity": purity(clusters(model.embedding_, seed), classes[chosen]),
            }
        )
    return rows


def clusters(points: np.ndarray, seed: int) -> np.ndarray:
    """Ten clusters as the paper makes them: 5 replicates, at most 100 iterations."""
    from sklearn.cluster import KMeans

    return KMeans(10, n_init=5, max_iter=100, random_state=seed).fit_predict(points)


def draw(rows: list[Row]) -> "Figure":
    """Time and purity against n."""
    made, axes = figure(2)
    lines(axes[0], rows, "n", "seconds", "method")
    axes[0].set(yscale="log", title=f"{rows[0]['data']}, d = {D}")
    lines(axes[1], rows, "n", "purity", "method")
    axes[1].set(ylim=(0, 1))
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """LOE-STE is faster than STE, with a slight loss of purity."""
    n = max(r["n"] for r in rows)
    seconds = mean_by(rows, "method", "n", value="seconds")
    pure = mean_by(rows, "method", "n", value="purity")
    warm, cold = seconds["LOE-STE", n][0], seconds["STE, cold", n][0]
    loss = pure["STE, cold", n][0] - pure["LOE-STE", n][0]
    return [
        Verdict(
            f"LOE-STE is faster than STE, n = {n:,}",
            f"{warm:.2f} s against {cold:.2f} s (ours from the spectral start: "
            f"{seconds['STE, spectral', n][0]:.2f} s)",
            warm < cold,
        ),
        Verdict(
            f"with a slight loss of purity, n = {n:,}",
            f"{pure['LOE-STE', n][0]:.3f} against {pure['STE, cold', n][0]:.3f}",
            loss < 0.05,
        ),
    ]


EXPERIMENT = Experiment(
    "mnist",
    "Clusters of handwritten digits",
    "200 n log n answers from pixel distances, 15 % of them wrong; d = 5; k-means. The paper: "
    "LOE-STE is faster than STE with a slight loss of purity.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 5.0 * PASSES * n_log_n(cell["n"], C),
    triplets=lambda cell: 3.0 * n_log_n(cell["n"], C),
    needs_data="MNIST",
)
