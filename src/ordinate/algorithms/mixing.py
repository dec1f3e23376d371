"""Whether opponents are met at random, and one step is enough, as a sample of comparisons tells."""

from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, cast, inverse_of, namespace, on_host, random_like
from ordinate.kernels.noise import Noise
from ordinate.passes import ColumnStore

SAMPLE = 16  # comparisons per item in the sample
MIXING = 0.85  # contraction on it below which opponents are met at random


def well_mixed(sample: ColumnStore, scores: np.ndarray, noise: Noise) -> np.ndarray:
    """Per column, whether items meet opponents at random, as far as a sample shows.

    With fewer comparisons per item than can show it they are taken to be.
    """
    fast = contraction(sample, cast(scores, "float32"), noise) < MIXING
    return fast | (2 * sample.sizes < SAMPLE / 2 * sample.n_items)


def contraction(columns: ColumnStore, theta: np.ndarray, noise: Noise) -> np.ndarray:
    """How much of an error a Newton step with the diagonal alone leaves, at worst, per column.

    That is the largest eigenvalue but one of diag(H)^-1 (diag(H) - H), H the curvature at scores
    ``theta`` (n_columns, n_items), by power iteration. It is near 1 where items fall into groups
    that hardly meet, or meet only their like: there a small gradient can go with a large error.
    """
    coupled = columns.coupling(theta, noise)
    diagonal = coupled(namespace(theta).ones_like(theta))
    inverse = inverse_of(diagonal)
    mean = diagonal / diagonal.sum(axis=1)[:, None]
    # The same numbers for each column, whatever others are ranked with it.
    v = 0 * theta + random_like(theta[:1]) - 0.5
    before = v
    for _ in range(mixing_steps(columns.n_items)):
        before = v
        v = inverse * coupled(v)
        v -= (mean * v).sum(axis=1)[:, None]
    return on_host((mean * v**2).sum(axis=1) / (mean * before**2).sum(axis=1)) ** 0.5


def mixing_steps(n: int) -> int:
    """How many passes over the sample show how it mixes n items."""
    # Random modes shrink by 0.45 a step with 16 opponents each; a slow one begins at 1 / sqrt(n).
    return 1 + round(np.log(n) / 1.6)


class StepCheck(NamedTuple):
    """Bounds what a Newton step with the diagonal alone leaves of the Newton decrement.

    The step would leave no gradient if the curvature were diagonal and constant. On a sample the
    gradient's change can be compared with that: what is left, scaled up to all comparisons as if
    it were all of one sign, bounds what is left there. Answers cancel from the change, so that it
    carries no noise of theirs.
    """

    sample: ColumnStore
    noise: Noise
    scores: np.ndarray
    curvature: np.ndarray
    start: dict[int, np.ndarray]
    scale: np.ndarray

    @classmethod
    def of(
        cls,
        sample: ColumnStore,
        noise: Noise,
        scores: np.ndarray,
        curvature: np.ndarray,
        columns: ColumnStore,
    ) -> "StepCheck":
        """Prepare for steps from ``scores`` (l, n); ``curvature`` is that of one comparison."""
        far, near = sample.counts()
        start = sample.gradient(dict(enumerate(scores)), noise)
        scale = columns.sizes / sample.sizes
        return cls(sample, noise, scores, curvature * (far + near), start, scale)

    def decrement_left(self, batch: slice, step: np.ndarray) -> np.ndarray:
        """Bound the decrements after a ``step`` (k, n) of the columns in a batch."""
        xp, every = namespace(step), range(len(self.scores))[batch]
        new = self.scores[batch] + step
        moved = self.sample.gradient(dict(zip(every, new, strict=True)), self.noise)
        change = xp.stack([moved[i] - self.start[i] for i in every])
        curvature = self.curvature[batch]
        left = change + curvature * step
        decrement = (left**2 * inverse_of(curvature)).sum(axis=1)
        return beside(decrement, self.scale[batch]) * decrement
