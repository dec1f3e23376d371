"""Scores from pairwise comparisons: ridge-regularised maximum likelihood, a column per landmark.

A column's scores maximise the sum of log f(score_far - score_near) over its pairs, minus
``lambda / 2`` times the sum of squares (equation 3 of the paper).

Two facts make this fast. Where opponents are met at random, an item's share of being far is the
mean of f(score - opponent's score) over *all* opponents: an equation of one unknown, solved from
counts alone (:mod:`ordinate.mean_field`). From there the curvature's off-diagonal part is noise of
relative size one over the square root of the comparisons per item, so that one Newton step with the
diagonal alone lands on the maximum. Both are checked on a sample (:mod:`ordinate.mixing`). Where
they fail, since comparisons are few, clustered or chosen by the scores, quasi-Newton steps go on.
"""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ordinate._arrays import beside, cast, dot, inverse_of, namespace, on_host
from ordinate._parallel import run
from ordinate.mean_field import MeanField, mean_field
from ordinate.mixing import SAMPLE, StepCheck, mixing_steps, well_mixed
from ordinate.noise import Noise
from ordinate.optimise import Memory, two_loop
from ordinate.stores import AnyColumns

RIDGE = 0.2  # over the variance of the scores; docs/ranking.md has the study behind it
WEAK_RIDGE = 0.05  # scores beyond some 5 units are hard to tell from answers
MANY = 128  # comparisons per item from which one Newton step is tried
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

    def on_host(self) -> "Scores":
        """Return the same in arrays of NumPy."""
        return replace(
            self,
            scores=on_host(self.scores),
            information=on_host(self.information),
            n_compared=on_host(self.n_compared),
        )


def rank_columns(
    columns: AnyColumns,
    noise: Noise,
    *,
    owners: np.ndarray | None = None,
    regularization: float | str = "auto",
    tol: float = 2e-2,
    max_passes: int = 200,
) -> Scores:
    """Scores of every column by maximum likelihood.

    Parameters
    ----------
    columns : AnyColumns
    noise : Noise
    owners : ndarray of int, shape (n_columns,), optional
        The landmark of each column, which is not among the items ranked: its score is 0 and does
        not count in the mean.
    regularization : float or "auto"
        The ridge lambda; "auto" is ``0.2 / v``, v the variance of the column's scores, and 0.05
        where comparisons are not mixed, so that counts do not tell the variance.
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
    ranking = _Ranking(columns, noise, owners, regularization, tol)
    climbs = ranking.first_steps(max_passes)
    ranking.climb(climbs)
    return ranking.result(climbs)


class _Ranking:
    """The rankings of all columns on their way; arrays are of shape (n_columns, n_items)."""

    def __init__(
        self,
        columns: AnyColumns,
        noise: Noise,
        owners: np.ndarray | None,
        regularization: float | str,
        tol: float,
    ) -> None:
        self.columns, self.noise, self.every = columns, noise, range(len(columns))
        self.one_step = tol >= 1e-3 and 2 * columns.sizes.min() >= MANY * columns.n_items
        # In this order: columns in a file are counted while the sample is read.
        self.sample = columns.sample(SAMPLE * columns.n_items // 2)
        far, near = columns.counts(np.float32 if self.one_step else np.float64)
        self.far: np.ndarray = far
        self.near: np.ndarray = near
        self.xp, self.compared = namespace(self.far), self.far + self.near
        self.ranked = self.xp.ones_like(self.far, dtype=bool)
        if owners is not None:
            column, owner = beside(self.far, self.every), beside(self.far, owners)
            self.ranked[column, owner] = False
        # Columns share the threads of a CPU, one at a time each; a device takes all at once.
        self.on_cpu = self.xp is np
        self.batches = [slice(i, i + 1) for i in self.every] if self.on_cpu else [slice(None)]
        self.fields = run(self._mean_field, self.batches)
        first = self.xp.concatenate([field.scores for field in self.fields])
        self.scores = _centred(first, self.ranked)
        self.n_read = columns.sizes.sum()
        # Before all else: a device works on them while it is handed what comes next.
        self.gradients = self.gradient(dict(enumerate(self.scores)))
        self.check = mean = None
        if self.one_step:
            mean = self._mean_information(first)
            self.check = StepCheck.of(self.sample, noise, first, mean, columns)
            self.n_read += 3 * self.sample.sizes.sum()

        self.mixed = well_mixed(self.sample, first, noise)
        self.n_read += (mixing_steps(columns.n_items) + 1) * self.sample.sizes.sum()
        self.ridge = _ridge(regularization, self.fields, self.mixed)
        # The mean field tells the curvature of many comparisons that mix; others are few, or must
        # be summed.
        self.summed = np.flatnonzero(~(self.one_step & self.mixed)).tolist()
        self.known = self.information(first, mean)
        self.n_compared = on_host((self.compared > 0).sum(axis=1))
        # A small gradient means a small error only where comparisons are many and mix.
        per_item = np.where(self.one_step & self.mixed, self.n_compared, 1)
        self.limit = tol * per_item

    def _mean_field(self, batch: slice) -> MeanField:
        return mean_field(self.far[batch], self.near[batch], self.noise)

    def gradient(self, scores: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Gradient of the log-likelihood of the scores (n_items,) of some columns."""
        self.n_read += self.columns.sizes[list(scores)].sum()
        dtype = "float32" if self.one_step else "float64"
        return self.columns.gradient({i: cast(x, dtype) for i, x in scores.items()}, self.noise)

    def information(self, scores: np.ndarray, mean: np.ndarray | None = None) -> np.ndarray:
        """Expected curvature of the log-likelihood in each score; ``mean`` may be known."""
        self.n_read += self.columns.sizes[self.summed].sum()

        def summed(i: int) -> np.ndarray:
            return self.columns.information(i, scores[i], self.noise)

        if len(self.summed) == len(self.columns):
            return self.xp.stack(run(summed, self.every))
        found = self.compared * (self._mean_information(scores) if mean is None else mean)
        for i in self.summed:
            found[i] = summed(i)
        return found

    def _mean_information(self, scores: np.ndarray) -> np.ndarray:
        """Curvature that a comparison with a random opponent adds in each score."""
        fields = zip(self.fields, self.batches, strict=True)
        return self.xp.concatenate(
            run(lambda field: field[0].information(scores[field[1]]), fields)
        )

    def first_steps(self, max_passes: int) -> dict[int, "_Climb"]:
        """Take the step with the diagonal alone where it is enough; return the climbs of others."""
        ridge, limit, mixed = (
            beside(self.scores, values) for values in (self.ridge[:, None], self.limit, self.mixed)
        )

        def step(batch: slice) -> dict[int, _Climb]:
            every, at = self.every[batch], self.scores[batch]
            g = self.xp.stack([self.gradients[i] for i in every]) - ridge[batch] * at
            curvature = self.known[batch] + ridge[batch]
            change = inverse_of(curvature) * g
            enough = (g * change).sum(axis=1) <= limit[batch]
            if self.check is not None:
                left = self.check.decrement_left(batch, change)
                enough |= mixed[batch] & (left <= limit[batch])
            new = _centred(at + change, self.ranked[batch])
            self.scores[batch] = self.xp.where(enough[:, None], new, at)
            return {
                i: _Climb(
                    at[k],
                    g[k],
                    curvature[k],
                    self.ranked[i],
                    self.ridge[i],
                    self.limit[i],
                    max_passes,
                )
                for k, (i, done) in enumerate(zip(every, on_host(enough), strict=True))
                if not done
            }

        return {i: climb for found in run(step, self.batches) for i, climb in found.items()}

    def climb(self, climbs: dict[int, "_Climb"]) -> None:
        """Go on with climbs until all have ended, each pass for all at once."""
        steps = {i: climb.steps() for i, climb in climbs.items()}
        # Threads would wait for each other to hand work to the one device.
        each = run if self.on_cpu else lambda function, tasks: [function(task) for task in tasks]
        gradients: dict[int, Any] = dict.fromkeys(steps)  # None begins a climb
        while gradients:
            answers = each(lambda item: _advance(steps[item[0]], item[1]), gradients.items())
            asked = {i: x for i, x in zip(gradients, answers, strict=True) if x is not None}
            gradients = self.gradient(asked) if asked else {}
        for i, climb in climbs.items():
            self.scores[i] = climb.scores

    def result(self, climbs: dict[int, "_Climb"]) -> Scores:
        """Return what was found."""
        one_sided = (self.compared > 0) & ((self.far == 0) | (self.near == 0))
        information = self.information(self.scores)
        return Scores(
            scores=self.scores.T,
            information=information.T,
            n_compared=self.compared.T,
            n_one_sided=on_host(one_sided.sum(axis=1)),
            n_parts=self.columns.n_parts(self.n_compared),
            regularization=self.ridge,
            converged=np.array([i not in climbs or climbs[i].converged for i in self.every]),
            n_passes=float(self.n_read / self.columns.sizes.sum()),
            n_triplets=self.columns.sizes,
        )


def _advance(steps: Generator[np.ndarray, np.ndarray, None], gradient: Any) -> np.ndarray | None:
    """Send a gradient to a climb; the scores it asks about next, or None at its end."""
    try:
        return steps.send(gradient)
    except StopIteration:
        return None


def _ridge(regularization: float | str, fields: list[MeanField], mixed: np.ndarray) -> np.ndarray:
    """The ridge of each column."""
    if regularization != "auto":
        return np.full(len(mixed), float(regularization))
    variance = np.concatenate([field.variance for field in fields])
    return np.where(mixed, RIDGE / np.maximum(variance, 1e-12), WEAK_RIDGE)


class _Climb:
    """The climb of one column's scores to the maximum of the likelihood.

    Limited-memory quasi-Newton steps (L-BFGS) that start from the diagonal curvature. Ends when the
    Newton decrement, twice the rise in likelihood that is left, is below the limit.
    """

    def __init__(
        self,
        scores: np.ndarray,
        gradient: np.ndarray,
        curvature: np.ndarray,
        ranked: np.ndarray,
        ridge: float,
        limit: float,
        max_passes: int,
    ) -> None:
        self.scores, self.gradient, self.curvature = scores, gradient, curvature
        self.ranked, self.ridge = ranked, ridge
        self.limit, self.max_passes = limit, max_passes
        self.converged = False

    def steps(self) -> Generator[np.ndarray, np.ndarray, None]:
        """Yield scores and be sent the gradient of their log-likelihood, until the end."""
        inverse, g = inverse_of(self.curvature), self.gradient
        memory: Memory = deque(maxlen=MEMORY)
        for _ in range(self.max_passes):
            p = two_loop(g, lambda v: inverse * v, memory)
            decrement = dot(g, p)
            p = _centred(p, self.ranked)
            if decrement <= self.limit:
                self.scores = _centred(self.scores + p, self.ranked)
                self.converged = True
                return
            length = 1.0
            while True:
                new = self.scores + length * p
                g_new = (yield new) - self.ridge * new
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
