"""Scores from pairwise comparisons: ridge-regularised maximum likelihood, a column per landmark.

A column's scores maximise the sum of log f(score_far - score_near) over its pairs, minus
``lambda / 2`` times the sum of squares (equation 3 of the paper).

Two facts make this fast. Where opponents are met at random, an item's share of being far is the
mean of f(score - opponent's score) over *all* opponents: an equation of one unknown, solved from
counts alone (``mean_field``). From there the curvature's off-diagonal part is noise of
relative size one over the square root of the comparisons per item, so that a Newton step with the
diagonal alone lands on the maximum, or, with few comparisons, so near that a second one does. Both
are checked: on a sample where comparisons are many, else by the next pass (``mixing``). Where they
fail, since comparisons are clustered, chosen by the scores or too clear, quasi-Newton steps go on.
"""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.arrays import beside, cast, dot, inverse_of, namespace, on_host
from ordinate._base.threads import run
from ordinate.algorithms.mean_field import MeanField, mean_field
from ordinate.algorithms.mixing import SAMPLE, StepCheck, in_batches, mixing_steps, well_mixed
from ordinate.algorithms.optimise import Memory, two_loop
from ordinate.kernels.noise import Noise
from ordinate.passes import ColumnStore

RIDGE = 0.2  # over the variance of the scores; docs/ranking.md has the study behind it
WEAK_RIDGE = 0.05  # scores beyond some 5 units are hard to tell from answers
LOOSE = 1e-3  # tolerance from which scores need only be right on the whole
NEAR = 1.0  # squared error of first scores, in that of at most MANY, up to which they are trusted
MANY = 128  # comparisons per item
ENOUGH = 24  # comparisons per item from which a sample checks a step at less cost than a pass
MANY_ITEMS = 2000  # below which a pass costs little, and a sample tells less, so that it takes MANY
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

    @property
    def compared_by_item(self) -> np.ndarray:
        """How often each item was compared, over all columns: (n_items,)."""
        return on_host(self.n_compared.sum(axis=1))

    def on_host(self) -> "Scores":
        """Return the same in arrays of NumPy."""
        return replace(
            self,
            scores=on_host(self.scores),
            information=on_host(self.information),
            n_compared=on_host(self.n_compared),
        )


def rank_columns(
    columns: ColumnStore,
    noise: Noise,
    *,
    owners: np.ndarray | None = None,
    regularization: float | str = "auto",
    tol: float = 2e-2,
    max_passes: int = 200,
    fewest: int | None = None,
) -> Scores:
    """Scores of every column by maximum likelihood.

    Parameters
    ----------
    columns : ColumnStore
    noise : Noise
    owners : ndarray of int, shape (n_columns,), optional
        The landmark of each column, which is not among the items ranked: its score is 0 and does
        not count in the mean.
    regularization : float or "auto"
        The ridge lambda; "auto" is ``0.2 / v``, v the variance of the column's scores, and 0.05
        where comparisons are not mixed, so that counts do not tell the variance.
    tol : float
        How small the squared error of the optimisation must be, as a share of the squared
        statistical error: of all scores together where comparisons are well mixed and first scores
        near the maximum, and in every single direction otherwise.
    max_passes : int
        Where a column has not converged after as many passes, it is reported.
    fewest : int, optional
        Comparisons of the shortest column, where others are ranked elsewhere.

    Returns
    -------
    Scores
    """
    loose = tol >= LOOSE
    passes = _Passes(columns, noise, "float32" if loose else "float64")

    # First scores, from counts alone.
    (far, near), sample = passes.counts_and_sample(SAMPLE * columns.n_items // 2)
    compared, ranked, batches = far + near, _ranked(far, owners), in_batches(far)
    fields = run(lambda batch: mean_field(far[batch], near[batch], noise), batches)
    first = namespace(far).concatenate([field.scores for field in fields])
    scores = _centred(first, ranked)
    # Before all else: a device works on them while it is handed what comes next.
    gradients = passes.gradient(dict(enumerate(scores)))

    # A sample tells whether opponents are met at random.
    steps = mixing_steps(columns.n_items, int(columns.sizes.min()) if fewest is None else fewest)
    mixed, surely, n_samples = well_mixed(sample, first, noise, steps)
    ridge, n_compared = _ridge(regularization, fields, mixed), on_host((compared > 0).sum(axis=1))
    n_sampled = (n_samples * sample.sizes).sum()

    # Where they are, and first scores are near the maximum, the mean field tells the curvature, and
    # a small gradient means a small error. There a Newton step with the diagonal alone may be
    # enough, as the sample tells where that costs less than to ask all comparisons again.
    per_item = 2 * columns.sizes / columns.n_items
    many = per_item >= (ENOUGH if columns.n_items >= MANY_ITEMS else MANY)
    trusted = loose & surely & np.concatenate([field.solved for field in fields])
    enough, expected = np.zeros(len(columns), bool), None
    if trusted.any():
        mean = _mean_information(fields, batches, first)
        expected = compared * mean
        change, decrement = _diagonal_steps(scores, gradients, expected, ridge, batches)
        near_enough = NEAR * n_compared * np.maximum(per_item / MANY, 1)
        if (trusted & (decrement > near_enough)).any():
            by_batch = zip(fields, batches, strict=True)
            chance = run(lambda task: task[0].by_chance(far[task[1]], near[task[1]]), by_batch)
            near_enough = near_enough + np.concatenate(chance)
        trusted &= decrement <= near_enough
        if (trusted & many).any():
            check = StepCheck.of(sample, noise, scores, mean, expected, columns)
            found = run(lambda batch: check.left(batch, change[batch]), batches)
            left, slope = map(np.concatenate, zip(*found, strict=True))
            enough = trusted & many & (left <= tol * n_compared)
            n_sampled += check.n_read
            at = beside(scores, np.flatnonzero(enough))
            # What all scores share would be shared by all columns, and not average out in a map.
            stretched = 1 + slope * inverse_of(_stretching(fields, compared, scores, ridge))
            new = (scores[at] + change[at]) * beside(scores, stretched[enough, None])
            scores[at] = _centred(new, ranked[at])

    # Quasi-Newton steps elsewhere.
    information = passes.information(first, ~trusted, expected)
    goal = _Goal(ranked, ridge, tol * np.where(trusted, n_compared, 1))
    climbs = {
        i: _Climb(scores[i], gradients[i], information[i], goal.of(i), max_passes)
        for i in np.flatnonzero(~enough).tolist()
    }
    _climb(climbs, passes)
    for i, climb in climbs.items():
        scores[i] = climb.scores

    expected = compared * _mean_information(fields, batches, scores) if trusted.any() else None
    information = passes.information(scores, ~trusted, expected)
    one_sided = (compared > 0) & ((far == 0) | (near == 0))
    n_read = passes.n_read + n_sampled
    return Scores(
        scores=scores.T,
        information=information.T,
        n_compared=compared.T,
        n_one_sided=on_host(one_sided.sum(axis=1)),
        n_parts=columns.n_parts(n_compared),
        regularization=ridge,
        converged=np.array([i not in climbs or climbs[i].converged for i in range(len(columns))]),
        n_passes=float(n_read / columns.sizes.sum()),
        n_triplets=columns.sizes,
    )


class _Passes:
    """Passes over all comparisons, and how many pairs they have read."""

    def __init__(self, columns: ColumnStore, noise: Noise, dtype: str) -> None:
        self.columns, self.noise, self.dtype = columns, noise, dtype
        self.n_read = 0

    def counts_and_sample(self, size: int) -> tuple[tuple[np.ndarray, np.ndarray], ColumnStore]:
        """How often each item was far, and near (l, n); and a sample of the comparisons."""
        self.n_read += self.columns.sizes.sum()
        return self.columns.counts_and_sample(size)

    def gradient(self, scores: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Gradient of the log-likelihood of the scores (n,) of some columns."""
        self.n_read += self.columns.sizes[list(scores)].sum()
        return self.columns.gradient(
            {i: cast(x, self.dtype) for i, x in scores.items()}, self.noise
        )

    def information(
        self, scores: np.ndarray, summed: np.ndarray, expected: np.ndarray | None
    ) -> np.ndarray:
        """Expected curvature of the log-likelihood in each score (l, n).

        Summed over the comparisons of some columns, by a mask (l,); known of the others.
        """
        every = np.flatnonzero(summed).tolist()
        self.n_read += self.columns.sizes[every].sum()
        sums = self.columns.information({i: scores[i] for i in every}, self.noise)
        if expected is None:
            return namespace(scores).stack(list(sums.values()))
        for i, found in sums.items():
            expected[i] = found
        return expected


def _ranked(far: np.ndarray, owners: np.ndarray | None) -> np.ndarray:
    """Which items each column ranks: all but its landmark."""
    ranked = namespace(far).ones_like(far, dtype=bool)
    if owners is not None:
        ranked[beside(far, range(len(far))), beside(far, owners)] = False
    return ranked


def _mean_information(
    fields: list[MeanField], batches: list[slice], scores: np.ndarray
) -> np.ndarray:
    """Curvature that a comparison with a random opponent adds in each score."""
    by_batch = zip(fields, batches, strict=True)
    found = run(lambda task: task[0].information(scores[task[1]]), by_batch)
    return namespace(scores).concatenate(found)


def _stretching(
    fields: list[MeanField], compared: np.ndarray, scores: np.ndarray, ridge: np.ndarray
) -> np.ndarray:
    """Curvature (l,) of the log-likelihood, and of the ridge, along the scores."""
    each = np.concatenate([field.stretching for field in fields])
    return on_host(compared.sum(axis=1)) * each + ridge * on_host((scores**2).sum(axis=1))


def _ridge(regularization: float | str, fields: list[MeanField], mixed: np.ndarray) -> np.ndarray:
    """The ridge of each column."""
    if regularization != "auto":
        return np.full(len(mixed), float(regularization))
    variance = np.concatenate([field.variance for field in fields])
    return np.where(mixed, RIDGE / np.maximum(variance, 1e-12), WEAK_RIDGE)


class _Goal(NamedTuple):
    """What is sought of columns: the items ranked, the ridge, and the decrement to stop at."""

    ranked: np.ndarray
    ridge: np.ndarray
    limit: np.ndarray

    def of(self, column: Any) -> "_Goal":
        """The same of one column."""
        return _Goal(self.ranked[column], self.ridge[column], self.limit[column])


def _diagonal_steps(
    scores: np.ndarray,
    gradients: dict[int, np.ndarray],
    information: np.ndarray,
    ridge: np.ndarray,
    batches: list[slice],
) -> tuple[np.ndarray, np.ndarray]:
    """Newton steps (l, n) with the diagonal of the curvature alone, and their decrements (l,)."""
    xp, ridges = namespace(scores), beside(scores, ridge[:, None])

    def step(batch: slice) -> tuple[np.ndarray, np.ndarray]:
        slope = xp.stack([gradients[i] for i in range(len(scores))[batch]])
        slope -= ridges[batch] * scores[batch]
        change = inverse_of(information[batch] + ridges[batch]) * slope
        return change, on_host((slope * change).sum(axis=1))

    changes, decrements = zip(*run(step, batches), strict=True)
    return xp.concatenate(changes), np.concatenate(decrements)


def _climb(climbs: dict[int, "_Climb"], passes: _Passes) -> None:
    """Go on with climbs until all have ended, each pass for all at once."""
    steps = {i: climb.steps() for i, climb in climbs.items()}
    gradients: dict[int, Any] = dict.fromkeys(steps)  # None begins a climb
    while gradients:
        tasks = list(gradients.items())
        # Threads would wait for each other to hand work to the one device.
        on_cpu = namespace(climbs[tasks[0][0]].scores) is np
        each = run if on_cpu else lambda function, tasks: [function(task) for task in tasks]
        answers = each(lambda task: _advance(steps[task[0]], task[1]), tasks)
        asked = {i: x for i, x in zip(gradients, answers, strict=True) if x is not None}
        gradients = passes.gradient(asked) if asked else {}


def _advance(steps: Generator[np.ndarray, np.ndarray, None], gradient: Any) -> np.ndarray | None:
    """Send a gradient to a climb; the scores it asks about next, or None at its end."""
    try:
        return steps.send(gradient)
    except StopIteration:
        return None


class _Climb:
    """The climb of one column's scores to the maximum of the likelihood.

    Limited-memory quasi-Newton steps (L-BFGS) that start from the diagonal curvature. Ends when the
    Newton decrement, twice the rise in likelihood that is left, is below the limit.

    Parameters
    ----------
    scores, gradient, information : ndarray, shape (n,)
        The first scores, and the gradient and expected curvature of their log-likelihood.
    goal : _Goal
    max_passes : int
    """

    def __init__(
        self,
        scores: np.ndarray,
        gradient: np.ndarray,
        information: np.ndarray,
        goal: _Goal,
        max_passes: int,
    ) -> None:
        self.scores, self.goal, self.max_passes = scores, goal, max_passes
        self.gradient = gradient - goal.ridge * scores
        self.inverse = inverse_of(information + goal.ridge)
        self.converged = False

    def steps(self) -> Generator[np.ndarray, np.ndarray, None]:
        """Yield scores and be sent the gradient of their log-likelihood, until the end."""
        ranked, ridge, limit = self.goal
        g = self.gradient
        memory: Memory = deque(maxlen=MEMORY)
        for _ in range(self.max_passes):
            p = two_loop(g, lambda v: self.inverse * v, memory)
            decrement = dot(g, p)
            p = _centred(p, ranked)
            if decrement <= limit:
                self.scores = _centred(self.scores + p, ranked)
                self.converged = True
                return
            length = 1.0
            while True:
                new = self.scores + length * p
                g_new = (yield new) - ridge * new
                slope = dot(g_new, p)
                # The likelihood is concave: a slope below minus half of what it was is past the
                # top, which then lies near where the slope's secant crosses zero.
                if slope >= -0.5 * decrement:
                    break
                length *= decrement / (decrement - slope)
            s, y = new - self.scores, g - g_new
            sy = dot(s, y)
            if sy > 0:
                memory.append((s, y, sy))
            self.scores, g = new, g_new


def _centred(values: np.ndarray, ranked: np.ndarray) -> np.ndarray:
    """Scores (..., n) with mean zero over the items ranked, and 0 for others."""
    mean = (values * ranked).sum(axis=-1) / ranked.sum(axis=-1)
    return (values - mean[..., None]) * ranked
