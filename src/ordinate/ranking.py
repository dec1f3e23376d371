"""Scores from pairwise comparisons: ridge-regularised maximum likelihood, a column per landmark.

A column's scores maximise the sum of log f(score_far - score_near) over its pairs, minus
``lambda / 2`` times the sum of squares (equation 3 of the paper).

Two facts make this fast. Where opponents are met at random, an item's share of being far is the
mean of f(score - opponent's score) over *all* opponents: an equation of one unknown, solved from
counts alone (:mod:`ordinate.mean_field`). From there the curvature's off-diagonal part is noise of
relative size one over the square root of the comparisons per item, so that one Newton step with the
diagonal alone lands on the maximum. Both are checked on a sample of the comparisons. Where they
fail, since comparisons are few, clustered or chosen by the scores, quasi-Newton steps go on.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate._parallel import run
from ordinate.mean_field import MeanField, mean_field
from ordinate.noise import Noise
from ordinate.stores import Columns

RIDGE = 0.2  # over the variance of the scores; docs/ranking.md has the study behind it
MANY = 128  # comparisons per item from which one Newton step is tried
MIXING_SAMPLE = 16  # comparisons per item in the sample that shows whether opponents are mixed,
MIXING_STEPS = 9  # the power iterations on it,
MIXING = 0.85  # and the contraction below which they are
STEP_SAMPLE = 32  # comparisons per item in the sample that shows what a Newton step leaves
MEMORY = 10  # steps that the quasi-Newton climb remembers


@dataclass(frozen=True)
class Scores:
    """Scores of all columns and how they came about.

    Attributes
    ----------
    scores : ndarray, shape (n_items, n_columns)
        Mean zero in each column.
    information : ndarray, shape (n_items, n_columns)
        Expected curvature of the log-likelihood in each score: its inverse is about the variance.
    n_compared : ndarray, shape (n_items, n_columns)
        How often each item was compared.
    n_one_sided : ndarray of int, shape (n_columns,)
        Items that were far, or near, in all of their comparisons: on one side the data sets no
        bound to their scores, only the ridge does.
    n_parts : ndarray of int, shape (n_columns,)
        Connected parts of the compared items; only the ridge places parts relative to each other.
    regularization : ndarray, shape (n_columns,)
        The ridge lambda.
    converged : ndarray of bool, shape (n_columns,)
    n_passes : float
        Passes over the comparisons, parts of a pass included.
    n_triplets : ndarray of int, shape (n_columns,)
        Comparisons of each column.
    """

    scores: np.ndarray
    information: np.ndarray
    n_compared: np.ndarray
    n_one_sided: np.ndarray
    n_parts: np.ndarray
    regularization: np.ndarray
    converged: np.ndarray
    n_passes: float
    n_triplets: np.ndarray


def rank_columns(
    columns: Columns,
    noise: Noise,
    *,
    owners: np.ndarray | None = None,
    regularization: float | str = "auto",
    tol: float = 1e-2,
    max_passes: int = 200,
) -> Scores:
    """Scores of every column by maximum likelihood.

    Parameters
    ----------
    columns : Columns
    noise : Noise
    owners : ndarray of int, shape (n_columns,), optional
        The landmark of each column, which is not among the items ranked: its score is 0 and does
        not count in the mean.
    regularization : float or "auto"
        The ridge lambda; "auto" is ``0.2 / v``, v the variance of the column's scores.
    tol : float
        How small the squared error of the optimisation must be, as a share of the squared
        statistical error: of all scores together where comparisons are many and well mixed, and in
        every single direction otherwise.
    max_passes : int
        Where a column has not converged after as many passes, it is reported.

    Returns
    -------
    Scores
    """
    n, every = columns.n_items, range(len(columns))
    ranked = np.ones((len(columns), n), bool)
    if owners is not None:
        ranked[every, owners] = False
    one_step = tol >= 1e-3 and 2 * columns.sizes.min() >= MANY * n
    dtype = np.float32 if one_step else np.float64

    far, near = columns.counts(dtype)
    compared = far + near
    fields = run(lambda i: mean_field(far[i], near[i], noise), every)
    if regularization == "auto":
        ridge = np.array([RIDGE / max(field.variance, 1e-12) for field in fields])
    else:
        ridge = np.full(len(columns), float(regularization))
    limit = np.full(len(columns), float(tol))
    checks: Sequence[Callable[[np.ndarray], float] | None] = [None for _ in every]
    n_passes = 1.0
    if one_step:
        # A small gradient means a small error only where the comparisons mix.
        sample = columns.sample(MIXING_SAMPLE * n // 2)
        start = np.array([field.scores for field in fields], np.float32)
        mixed = contraction(sample, start, noise) < MIXING
        limit[mixed] *= np.count_nonzero(compared[mixed], axis=1)
        step_sample = columns.sample(STEP_SAMPLE * n // 2)
        checks = _step_checks(columns, step_sample, fields, ridge)
        n_passes += (
            (MIXING_STEPS + 1) * sample.sizes.sum() + 3 * step_sample.sizes.sum()
        ) / columns.sizes.sum()

    climbs = [
        _climb(
            fields[i].scores,
            compared[i] * fields[i].information(fields[i].scores) + ridge[i],
            ridge[i],
            ranked[i],
            limit[i],
            max_passes,
            checks[i],
        )
        for i in every
    ]
    scores, converged = np.zeros((len(columns), n)), np.zeros(len(columns), bool)
    asked = {i: next(climbs[i]) for i in every}
    while asked:
        gradients = columns.gradient({i: x.astype(dtype) for i, x in asked.items()}, noise)
        n_passes += columns.sizes[list(asked)].sum() / columns.sizes.sum()
        for i, gradient in gradients.items():
            try:
                asked[i] = climbs[i].send(gradient)
            except StopIteration as stop:
                scores[i], converged[i] = stop.value
                del asked[i]
    information = [compared[i] * fields[i].information(scores[i]) for i in every]
    return Scores(
        scores=scores.T,
        information=np.array(information).T,
        n_compared=compared.T,
        n_one_sided=((compared > 0) & ((far == 0) | (near == 0))).sum(axis=1),
        n_parts=columns.n_parts(np.count_nonzero(compared, axis=1)),
        regularization=ridge,
        converged=converged,
        n_passes=n_passes,
        n_triplets=columns.sizes,
    )


def contraction(columns: Columns, theta: np.ndarray, noise: Noise) -> np.ndarray:
    """How much of an error a Newton step with the diagonal alone leaves, at worst, per column.

    That is the largest eigenvalue but one of diag(H)^-1 (diag(H) - H), H the curvature at scores
    ``theta`` (n_columns, n_items), by power iteration. It is near 1 where items fall into groups
    that hardly meet, or meet only their like: there a small gradient can go with a large error.
    """
    weighted = columns.weighted_by_information(theta, noise)
    diagonal = weighted.neighbour_sums(np.ones_like(theta))
    v = np.random.default_rng(0).normal(size=theta.shape).astype(theta.dtype)
    size = np.zeros(len(columns))
    for _ in range(MIXING_STEPS):
        u = weighted.neighbour_sums(v)
        u = np.divide(u, diagonal, out=np.zeros_like(u), where=diagonal > 0)
        u -= ((diagonal * u).sum(axis=1) / diagonal.sum(axis=1))[:, None]
        size = np.sqrt((diagonal * u**2).sum(axis=1) / (diagonal * v**2).sum(axis=1))
        v = u
    return size


def _step_checks(
    columns: Columns, sample: Columns, fields: list[MeanField], ridge: np.ndarray
) -> list[Callable[[np.ndarray], float]]:
    """Per column, a function that bounds the Newton decrement left after a diagonal Newton step.

    The step would leave no gradient if the curvature were diagonal and constant. On a sample, the
    gradient's change can be compared with that: what is left, scaled up to all comparisons as if
    it were all of one sign, bounds what is left there. Answers cancel from the change, so that it
    carries no noise of theirs.
    """
    far, near = sample.counts()
    noise = fields[0].noise
    base = sample.gradient({i: field.scores for i, field in enumerate(fields)}, noise)
    scale = columns.sizes / sample.sizes

    def check(i: int) -> Callable[[np.ndarray], float]:
        scores = fields[i].scores
        curvature = (far[i] + near[i]) * fields[i].information(scores) + ridge[i] / scale[i]

        def decrement_left(step: np.ndarray) -> float:
            moved = sample.gradient({i: scores + step}, noise)[i]
            left = moved - base[i] + curvature * step - ridge[i] / scale[i] * step
            return float(scale[i] * (left**2 / np.where(curvature > 0, curvature, 1)).sum())

        return decrement_left

    return [check(i) for i in range(len(columns))]


Climb = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, bool]]
Steps = deque[tuple[np.ndarray, np.ndarray, float]]


def _climb(
    theta: np.ndarray,
    curvature: np.ndarray,
    ridge: float,
    ranked: np.ndarray,
    limit: float,
    max_passes: int,
    decrement_left: Callable[[np.ndarray], float] | None,
) -> Climb:
    """Climb to the maximum: yields scores, is sent the gradient of their log-likelihood.

    Limited-memory quasi-Newton steps (L-BFGS) that start from the diagonal curvature: the first is
    the Newton step with the diagonal alone, and the only one where ``decrement_left`` says that it
    is enough. Stops when the Newton decrement, twice the rise in likelihood that is left, is below
    the limit; returns the scores and whether it is.
    """
    inverse = np.where(curvature > 0, 1 / np.where(curvature > 0, curvature, 1), 0)
    theta = _centre(theta, ranked)
    g = (yield theta) - ridge * theta
    steps: Steps = deque(maxlen=MEMORY)
    for _ in range(max_passes):
        p = _two_loop(g, inverse, steps)
        decrement = g @ p
        done = decrement <= limit
        if not done and not steps and decrement_left is not None:
            done = decrement_left(p) <= limit
        p = _centre(p, ranked)
        if done:
            return _centre(theta + p, ranked), True
        length = 1.0
        while True:
            new = theta + length * p
            g_new = (yield new) - ridge * new
            slope = g_new @ p
            # The likelihood is concave: a slope below minus half of what it was is past the top,
            # which then lies near where the slope's secant crosses zero.
            if slope >= -0.5 * decrement:
                break
            length *= decrement / (decrement - slope)
        s, y = new - theta, g - g_new
        if s @ y > 0:
            steps.append((s, y, float(s @ y)))
        theta, g = new, g_new
    return theta, False


def _two_loop(g: np.ndarray, inverse: np.ndarray, steps: Steps) -> np.ndarray:
    """Apply the inverse curvature that L-BFGS has gathered to a gradient."""
    q = g.copy()
    weights = []
    for s, y, sy in reversed(steps):
        weights.append((s @ q) / sy)
        q -= weights[-1] * y
    q *= inverse
    if steps:
        _, y, sy = steps[-1]
        q *= sy / (y @ (inverse * y))
    for (s, y, sy), weight in zip(steps, reversed(weights), strict=True):
        q += (weight - (y @ q) / sy) * s
    return q


def _centre(values: np.ndarray, ranked: np.ndarray) -> np.ndarray:
    return np.where(ranked, values - values[ranked].mean(), 0.0)
