"""How often ellipses of 95 % hold the truth: simulated answers, models fitted from the truth.

A fit begins at the truth, so that local optima, another matter, play no part. The map is laid over
the truth by the rotation, shift and scale that bring the two closest, and its covariances with it.
``--runs`` is the number of runs with 60 items; with more there are fewer.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from ordinate import LOE, STE, Power, PowerEmbedding, Triplets, sample_points, sample_triplets

HUMAN = {"power": 0.5, "slope": 1.0, "lapse": 0.02}
LEAST = 5  # comparisons of a score, on average: LOE refuses fewer than four


def laid_over(
    points: np.ndarray, covariance: np.ndarray, truth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Errors (n, d) of a map that is laid over the truth, and its covariances there."""
    X, Y = points - points.mean(axis=0), truth - truth.mean(axis=0)
    U, S, Vt = np.linalg.svd(X.T @ Y)
    turn = S.sum() / (X**2).sum() * U @ Vt
    return X @ turn - Y, turn.T @ covariance @ turn


def odd_one_out(truth: np.ndarray, n_answers: int, seed: int) -> Triplets:
    """Answers that pick a pair of three with probability in proportion to exp(-distance^2)."""
    rng = np.random.default_rng(seed)
    n = len(truth)
    i, j, k = (rng.integers(n - left, size=n_answers) for left in range(3))
    j += j >= i  # all different: the second of the n - 1 others, the third of the n - 2
    low, high = np.minimum(i, j), np.maximum(i, j)
    k += k >= low
    k += k >= high
    three = np.column_stack([i, j, k])
    pairs = three[:, [1, 2, 0]], three[:, [2, 0, 1]]  # the pair without the first, second, third
    away = ((truth[pairs[0]] - truth[pairs[1]]) ** 2).sum(axis=2)
    odd = (rng.gumbel(size=away.shape) - away).argmax(axis=1)[:, None]
    i, j, k = (np.take_along_axis(items, odd, axis=1)[:, 0] for items in (*pairs, three))
    rows = np.stack([np.column_stack([i, j, k]), np.column_stack([j, i, k])], axis=1)
    return Triplets(
        rows.reshape(-1, 3), n_items=len(truth), answer=np.repeat(np.arange(n_answers), 2)
    )


class Case(NamedTuple):
    """People, questions, and the model that is fitted."""

    name: str
    size: float
    ask: Callable[[np.ndarray, int, int], Triplets]
    fit: Callable[[Triplets, np.ndarray], Any]


def about_landmarks(
    truth: np.ndarray, m: int, seed: int, of_a_score: int = 0, noise: Any = "btl"
) -> Triplets:
    """Ask about 8 d + 8 landmarks, or so few that a score comes from enough comparisons."""
    n, d = truth.shape
    landmarks = min(8 * d + 8, 2 * m // (of_a_score * n)) if of_a_score else 8 * d + 8
    return sample_triplets(
        truth, m, noise=noise, design="landmarks", landmarks=landmarks, random_state=seed
    )


def ste(triplets: Triplets, truth: np.ndarray) -> STE:
    """Fit STE from the truth."""
    return STE(truth.shape[1], init=truth).fit(triplets)


def loe(triplets: Triplets, truth: np.ndarray) -> LOE:
    """Fit LOE."""
    return LOE(truth.shape[1]).fit(triplets)


CASES = [
    Case("STE", 1, lambda x, m, s: sample_triplets(x, m, random_state=s), ste),
    Case("STE, landmarks", 1, about_landmarks, ste),
    Case(
        "power",
        3,
        lambda x, m, s: sample_triplets(x, m, noise=Power(**HUMAN), random_state=s),
        lambda t, x: PowerEmbedding(x.shape[1], init=x, **HUMAN).fit(t),
    ),
    Case("STE, odd one out", 1, odd_one_out, ste),
    Case("LOE", 1, lambda x, m, s: about_landmarks(x, m, s, LEAST), loe),
    Case("LOE of power", 3, lambda x, m, s: about_landmarks(x, m, s, LEAST, Power(**HUMAN)), loe),
]


def cells(items: list[int]) -> Iterator[tuple[int, int, int]]:
    """Items, dimensions and answers per coordinate."""
    for n in items:
        for d in (1, 2, 5):
            tried = (10, 20, 40, 200) if n == 60 else (40, 200)
            yield from ((n, d, each) for each in tried)


def main(items: list[int], runs: int, least: int, only: str | None) -> None:
    """Print the table."""
    print(
        "| model | n | d | answers per coordinate | 95 % ellipses hold | rms error over "
        "predicted | runs | doubted |\n|---|---|---|---|---|---|---|---|"
    )
    for case in CASES if only is None else [case for case in CASES if case.name == only]:
        for n, d, each in cells(items):
            n_runs = max(runs * 60 // n, least)
            held, error, expected, doubted = [], 0.0, 0.0, 0
            for seed in range(n_runs):
                truth = case.size * sample_points(n, d, random_state=seed)
                model = case.fit(case.ask(truth, each * n * d, 1000 + seed), truth)
                there = np.isfinite(model.embedding_).all(axis=1)
                E, C = laid_over(model.embedding_[there], model.covariance_[there], truth[there])
                held.append((E * np.linalg.solve(C, E[:, :, None])[:, :, 0]).sum(axis=1))
                error += (E**2).sum()
                expected += np.trace(C, axis1=1, axis2=2).sum()
                doubted += model.covariance_doubt_ is not None
            share = (np.concatenate(held) <= chi2.ppf(0.95, d)).mean()
            print(
                f"| {case.name} | {n:,} | {d} | {each} | {share:.1%} | "
                f"{np.sqrt(error / expected):.2f} | {n_runs} | {doubted} |",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[60, 200, 2000])
    parser.add_argument("--runs", type=int, default=10, help="with 60 items; fewer with more")
    parser.add_argument("--least", type=int, default=1, help="runs, with any number of items")
    parser.add_argument("--only", help="one of the models")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    main(arguments.items, arguments.runs, arguments.least, arguments.only)
