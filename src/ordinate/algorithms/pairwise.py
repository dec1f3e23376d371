"""Scores of items from pairwise comparisons: ranking as a tool of its own."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate._base.checks import check_length, check_regularization, check_weights
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.ranking import rank_columns
from ordinate.data.labels import encode
from ordinate.kernels import backends
from ordinate.kernels import noise as noise_models
from ordinate.kernels.noise import Noise
from ordinate.passes import NO_WEIGHT, MemoryColumns

EXACT_UP_TO = 1000  # items for which the whole curvature is inverted


@dataclass(frozen=True)
class Ranking:
    """Scores of items from pairwise comparisons.

    Attributes
    ----------
    items : ndarray, shape (n_items,)
    scores : ndarray, shape (n_items,)
        Mean zero: the probability that i beats j is f(score_i - score_j).
    standard_errors : ndarray, shape (n_items,)
        From the curvature of the log-likelihood at the scores, with respect to the mean of all.
        Up to 1000 items the whole curvature is inverted; beyond, only its diagonal, which is
        accurate where items are compared with many others.
    n_compared : ndarray, shape (n_items,)
    n_one_sided : int
        Items that won, or lost, all of their comparisons: on one side only the ridge bounds their
        scores.
    n_parts : int
        Connected parts of the compared items: only the ridge relates scores of different parts.
    regularization : float
    converged : bool
    n_passes : float
    """

    items: np.ndarray
    scores: np.ndarray
    standard_errors: np.ndarray
    n_compared: np.ndarray
    n_one_sided: int
    n_parts: int
    regularization: float
    converged: bool
    n_passes: float

    def to_arrow(self) -> Any:
        """Return a pyarrow Table of the items, best first."""
        import pyarrow as pa

        best_first = np.argsort(-self.scores, kind="stable")
        return pa.table(
            {
                "label": self.items[best_first],
                "score": self.scores[best_first],
                "standard_error": self.standard_errors[best_first],
                "n_compared": self.n_compared[best_first],
            }
        )


def rank_items(
    winner: Any,
    loser: Any,
    *,
    items: Iterable[Hashable] | None = None,
    weight: Any = None,
    noise: str = "btl",
    regularization: float | str = "auto",
    tol: float = 1e-12,
    backend: str = "auto",
) -> Ranking:
    """Scores of items from pairwise comparisons, with standard errors.

    Regularised maximum likelihood under the Bradley-Terry-Luce ("btl") or the Thurstone model.

    Parameters
    ----------
    winner, loser : sequence of labels, shape (m,)
        One comparison per entry.
    items : iterable of hashable, optional
        All labels; by default those that occur, sorted. Items never compared have score 0.
    weight : array-like, shape (m,), optional
        How often each comparison was observed.
    noise : {"btl", "thurstone"}
    regularization : float or "auto"
        The ridge lambda: ``lambda / 2`` times the sum of squared scores is taken off the
        log-likelihood. "auto" is 0.2 over the variance of the scores, and 0.05 if items mostly meet
        items like themselves; 0 is allowed.
    tol : float
        Error of the optimisation, as a share of the squared statistical error.
    backend : {"auto", "numba", "numpy"}

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from ordinate import rank_items
    >>> ranking = rank_items(list("aaabbc"), list("bbcaca"))
    >>> ranking.to_arrow()["label"].to_pylist()
    ['a', 'b', 'c']
    """
    check_regularization(regularization)
    codes, names = encode({"winner": winner, "loser": loser}, items)
    same = codes[:, 0] == codes[:, 1]
    if same.any():
        row = int(same.argmax())
        raise ValueError(
            f"row {row} compares {names.item(codes[row, 0])!r} with itself "
            f"({same.sum():,} such rows); drop those rows"
        )
    if len(codes) == 0:
        raise ValueError("there are no comparisons: the input is empty")
    w = NO_WEIGHT
    if weight is not None:
        w = check_weights(check_length("weight", weight, len(codes)))
    # A column ranks by distance: the winner is the one that is far.
    pairs = np.ascontiguousarray(codes[:, ::-1])
    columns = MemoryColumns([pairs], [w], len(names), backends.load(backend))
    model = noise_models.get(noise)
    with single_threaded_blas():
        ranked = rank_columns(columns, model, regularization=regularization, tol=tol)
        scores, ridge = ranked.scores[:, 0], float(ranked.regularization[0])
        connected = bool(ranked.n_parts[0] == 1 and ranked.n_compared.all())
        errors = _standard_errors(columns, scores, model, ridge, connected)
    return Ranking(
        items=names,
        scores=scores,
        standard_errors=errors,
        n_compared=ranked.n_compared[:, 0],
        n_one_sided=int(ranked.n_one_sided[0]),
        n_parts=int(ranked.n_parts[0]),
        regularization=ridge,
        converged=bool(ranked.converged[0]),
        n_passes=ranked.n_passes,
    )


def _standard_errors(
    columns: MemoryColumns, scores: np.ndarray, noise: Noise, ridge: float, connected: bool
) -> np.ndarray:
    """Square roots of the diagonal of the inverse curvature, across the mean."""
    from scipy.linalg import pinvh
    from scipy.sparse import coo_array

    n = len(scores)
    diagonal = columns.information({0: scores}, noise)[0] + ridge
    with np.errstate(divide="ignore"):
        alone = 1 / np.sqrt(diagonal)
    if n > EXACT_UP_TO:
        return alone
    pairs, weight = columns.pairs[0], columns.weights[0]
    information = columns.backend.pair_information(pairs, weight, scores, noise)
    near, far = pairs.T.astype(np.int64)
    met = coo_array((information, (near, far)), shape=(n, n)).toarray()
    # The vector of ones is the curvature's eigenvector to the ridge: add 1 to that, to take its
    # part off the inverse again. Without a ridge, parts that never meet are taken each by itself.
    curvature = np.diag(diagonal) - met - met.T + 1 / n
    inverse = np.linalg.inv(curvature) if ridge > 0 or connected else pinvh(curvature)
    variance = np.diag(inverse) - 1 / (n * (1 + ridge))
    return np.where(diagonal > 0, np.sqrt(np.maximum(variance, 0)), np.inf)
