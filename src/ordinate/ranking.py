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
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ordinate._arrays import cast, dot, inverse_of, namespace, on_host, random_like
from ordinate._parallel import run
from ordinate.mean_field import MeanField, mean_field
from ordinate.noise import Noise
from ordinate.optimise import Memory, two_loop
from ordinate.stores import AnyColumns, Columns, DeviceColumns

RIDGE = 0.2  # over the variance of the scores; docs/ranking.md has the study behind it
WEAK_RIDGE = 0.05  # scores beyond some 5 units are hard to tell from answers
MANY = 128  # comparisons per item from which one Newton step is tried
SAMPLE = 16  # comparisons per item in the sample that shows whether one is enough
MIXING = 0.85  # contraction on it below which opponents are met at random
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
    n, every = columns.n_items, range(len(columns))
    one_step = tol >= 1e-3 and 2 * columns.sizes.min() >= MANY * n
    dtype = "float32" if one_step else "float64"
    # In this order: columns in a file are counted while the sample is read.
    sample = columns.sample(SAMPLE * n // 2)
    far, near = columns.counts(getattr(np, dtype))
    xp, compared = namespace(far), far + near
    n_compared = on_host((compared > 0).sum(axis=1))
    ranked = xp.ones_like(far, dtype=bool)
    if owners is not None:
        ranked[np.arange(len(columns)), owners] = False
    # Columns share the threads of a CPU, one at a time each; a device takes all at once.
    on_cpu = xp is np
    batches = [slice(i, i + 1) for i in every] if on_cpu else [slice(0, len(columns))]
    fields = run(lambda batch: mean_field(far[batch], near[batch], noise), batches)
    first = xp.concatenate([field.scores for field in fields])
    mixed = well_mixed(sample, first, noise)
    n_read = columns.sizes.sum() + (_mixing_steps(n) + 1) * sample.sizes.sum()

    ridge = _ridge(regularization, fields, mixed)
    # The mean field tells the curvature of many comparisons that mix; others are few, or must be
    # summed.
    summed = [] if one_step and mixed.all() else np.flatnonzero(~(one_step & mixed)).tolist()
    n_read += 2 * columns.sizes[summed].sum()

    def information(scores: np.ndarray) -> np.ndarray:
        if len(summed) == len(columns):
            return xp.stack(run(lambda i: columns.information(i, scores[i], noise), every))
        mean = run(
            lambda pair: pair[0].information(scores[pair[1]]), zip(fields, batches, strict=True)
        )
        found = compared * xp.concatenate(mean)
        for i in summed:
            found[i] = columns.information(i, scores[i], noise)
        return found

    known = information(first)
    climbs = [_Climb(first[i], known[i], ranked[i], ridge[i], tol, max_passes) for i in every]
    if one_step:
        n_read += 3 * sample.sizes.sum()
        checks = _step_checks(sample, first, known / xp.clip(compared, 1, None), columns, noise)
        for i in np.flatnonzero(mixed).tolist():
            # A small gradient means a small error only here.
            climbs[i].limit *= n_compared[i]
            climbs[i].check = checks[i]

    steps = [climb.steps() for climb in climbs]
    # Threads would wait for each other to hand work to the one device.
    each = run if on_cpu else lambda function, tasks: [function(task) for task in tasks]
    asked: dict[int, np.ndarray] = dict(enumerate(each(next, steps)))
    while asked:
        gradients = columns.gradient({i: cast(x, dtype) for i, x in asked.items()}, noise)
        n_read += columns.sizes[list(asked)].sum()
        answers = each(lambda item: _advance(steps[item[0]], item[1]), gradients.items())
        asked = {i: x for i, x in zip(gradients, answers, strict=True) if x is not None}
    scores = xp.stack([climb.scores for climb in climbs])
    return Scores(
        scores=scores.T,
        information=information(scores).T,
        n_compared=compared.T,
        n_one_sided=on_host(((compared > 0) & ((far == 0) | (near == 0))).sum(axis=1)),
        n_parts=columns.n_parts(n_compared),
        regularization=ridge,
        converged=np.array([climb.converged for climb in climbs]),
        n_passes=float(n_read / columns.sizes.sum()),
        n_triplets=columns.sizes,
    )


def _advance(
    steps: Generator[np.ndarray, np.ndarray, None], gradient: np.ndarray
) -> np.ndarray | None:
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


def _step_checks(
    sample: Columns | DeviceColumns,
    first: np.ndarray,
    curvature: np.ndarray,
    columns: AnyColumns,
    noise: Noise,
) -> list["StepCheck"]:
    """What bounds the error of each column's first step; ``curvature`` is that of a comparison."""
    every = range(len(columns))
    far, near = sample.counts()
    start = sample.gradient({i: first[i] for i in every}, noise)
    expected = curvature * (far + near)
    return [
        StepCheck(sample, i, noise, first[i], expected[i], start[i], columns.sizes[i])
        for i in every
    ]


def well_mixed(sample: Columns | DeviceColumns, scores: np.ndarray, noise: Noise) -> np.ndarray:
    """Per column, whether items meet opponents at random, as far as a sample shows.

    With fewer comparisons per item than can show it they are taken to be.
    """
    fast = contraction(sample, cast(scores, "float32"), noise) < MIXING
    return fast | (2 * sample.sizes < SAMPLE / 2 * sample.n_items)


def contraction(columns: Columns | DeviceColumns, theta: np.ndarray, noise: Noise) -> np.ndarray:
    """How much of an error a Newton step with the diagonal alone leaves, at worst, per column.

    That is the largest eigenvalue but one of diag(H)^-1 (diag(H) - H), H the curvature at scores
    ``theta`` (n_columns, n_items), by power iteration. It is near 1 where items fall into groups
    that hardly meet, or meet only their like: there a small gradient can go with a large error.
    """
    weighted = columns.weighted_by_information(theta, noise)
    xp = namespace(theta)
    diagonal = weighted.neighbour_sums(xp.ones_like(theta))
    inverse = inverse_of(diagonal)
    mean = diagonal / diagonal.sum(axis=1)[:, None]
    v = random_like(theta) - 0.5
    before = v
    for _ in range(_mixing_steps(columns.n_items)):
        before = v
        v = inverse * weighted.neighbour_sums(v)
        v -= (mean * v).sum(axis=1)[:, None]
    return on_host((mean * v**2).sum(axis=1) / (mean * before**2).sum(axis=1)) ** 0.5


def _mixing_steps(n: int) -> int:
    # Random modes shrink by 0.45 a step with 16 opponents each; a slow one begins at 1 / sqrt(n).
    return 1 + round(np.log(n) / 1.6)


class StepCheck(NamedTuple):
    """Bounds what a Newton step with the diagonal alone leaves of the Newton decrement.

    The step would leave no gradient if the curvature were diagonal and constant. On a sample the
    gradient's change can be compared with that: what is left, scaled up to all comparisons as if
    it were all of one sign, bounds what is left there. Answers cancel from the change, so that it
    carries no noise of theirs.
    """

    sample: Columns | DeviceColumns
    column: int
    noise: Noise
    scores: np.ndarray
    curvature: np.ndarray
    start: np.ndarray
    n_comparisons: int

    def decrement_left(self, step: np.ndarray) -> float:
        """Bound the decrement after a ``step`` (n,) from the mean field's scores."""
        i = self.column
        moved = self.sample.gradient({i: self.scores + step}, self.noise)[i]
        left = moved - self.start + self.curvature * step
        scale = self.n_comparisons / self.sample.sizes[i]
        return scale * dot(left**2, inverse_of(self.curvature))


class _Climb:
    """The climb of one column's scores from a start to the maximum of the likelihood.

    Limited-memory quasi-Newton steps (L-BFGS) that start from the diagonal curvature: the first is
    the Newton step with the diagonal alone, and the only one where ``check`` says that it is
    enough. Ends when the Newton decrement, twice the rise in likelihood that is left, is below the
    limit.
    """

    def __init__(
        self,
        start: np.ndarray,
        information: np.ndarray,
        ranked: np.ndarray,
        ridge: float,
        limit: float,
        max_passes: int,
    ) -> None:
        self.curvature = information + ridge
        self.ranked = ranked
        self.n_ranked = ranked.sum()
        self.ridge = ridge
        self.limit = limit
        self.max_passes = max_passes
        self.check: StepCheck | None = None
        self.scores = self._centred(start)
        self.converged = False

    def steps(self) -> Generator[np.ndarray, np.ndarray, None]:
        """Yield scores and be sent the gradient of their log-likelihood, until the end."""
        inverse = inverse_of(self.curvature)
        memory: Memory = deque(maxlen=MEMORY)
        g = (yield self.scores) - self.ridge * self.scores
        for _ in range(self.max_passes):
            p = two_loop(g, lambda v: inverse * v, memory)
            decrement = dot(g, p)
            done = decrement <= self.limit
            if not done and not memory and self.check is not None:
                done = self.check.decrement_left(p) <= self.limit
            p = self._centred(p)
            if done:
                self.scores = self._centred(self.scores + p)
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

    def _centred(self, values: np.ndarray) -> np.ndarray:
        return (values - (values * self.ranked).sum() / self.n_ranked) * self.ranked
