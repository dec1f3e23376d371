"""Whether opponents are met at random, and one step is enough, as a sample of comparisons tells."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.arrays import (
    beside,
    cast,
    inverse_of,
    namespace,
    on_host,
    random_like,
    row_dots,
)
from ordinate._base.threads import run
from ordinate.kernels.noise import Noise
from ordinate.passes import ColumnStore

SAMPLE = 16  # comparisons per item in the sample
MIXING = 0.8  # contraction on it below which opponents are met at random, by and large
SURELY = 0.75  # contraction below which a gradient tells the error; random opponents leave 0.5
SLOW = 0.9  # contraction that must not go unnoticed
STILL_SLOW = 0.85  # the same, where items known little are taken to meet each other
CHECKED = 4  # comparisons per item of the sample on which a step is checked
SURE = 3  # standard errors that a check allows for
LEAST = 1.0  # curvature of a score, in that of the mean one, below which an item is known little


def well_mixed(
    sample: ColumnStore, scores: np.ndarray, noise: Noise, n_steps: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per column, whether items meet opponents at random, by and large, and whether surely.

    With fewer comparisons per item than can show it they are taken to, but not surely. And how many
    passes over the sample that took.
    """
    few = 2 * sample.sizes < SAMPLE / 2 * sample.n_items
    found, taken = _contractions(sample, cast(scores, "float32"), noise, n_steps)
    return few | (found < MIXING), ~few & (found < SURELY), taken + 1


def contraction(
    columns: ColumnStore, theta: np.ndarray, noise: Noise, n_steps: int | None = None
) -> np.ndarray:
    """How much of an error a Newton step with the diagonal alone leaves, at worst, per column.

    That is the largest eigenvalue but one, by size, of D^-1/2 (D - H) D^-1/2, H the curvature at
    scores ``theta`` (n_columns, n_items) and D its diagonal, by Lanczos' method. It is near 1 where
    items fall into groups that hardly meet, or meet only their like: there a small gradient can go
    with a large error.
    """
    return _contractions(columns, theta, noise, n_steps)[0]


def _contractions(
    columns: ColumnStore, theta: np.ndarray, noise: Noise, n_steps: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The contraction of each column, and the steps that it took."""
    least = n_steps or mixing_steps(columns.n_items, int(columns.sizes.min()))
    xp = namespace(theta)
    # The same numbers for each column, whatever others are ranked with it.
    start = random_like(theta[:1]) - 0.5

    def largest(batch: slice) -> tuple[np.ndarray, np.ndarray]:
        at = range(len(theta))[batch]
        coupling = columns.coupling(dict(zip(at, theta[batch], strict=True)), noise)

        def coupled(values: np.ndarray) -> np.ndarray:
            return xp.stack(list(coupling(dict(zip(at, values, strict=True))).values()))

        chain = _lanczos(coupled, xp.ones_like(theta[batch]), start)
        steps = list(islice(chain, least))
        found, taken = _largest_eigenvalue(steps), np.full(len(at), least)
        while True:
            # What is as slow as that, without being a group, could still hide one.
            late = (found < SURELY) & (taken < _steps_to_see(STILL_SLOW, found, columns.n_items))
            if not late.any():
                return found, taken
            steps += islice(chain, 2)
            found = np.where(late, _largest_eigenvalue(steps), found)
            taken = np.where(late, len(steps), taken)

    # All steps of a column after each other: its part of the sample stays in a core's cache.
    found, taken = zip(*run(largest, in_batches(theta)), strict=True)
    return np.concatenate(found), np.concatenate(taken)


def in_batches(columns: np.ndarray) -> list[slice]:
    """Columns, in rows (l, n), that are worked on together.

    They share the threads of a CPU, one at a time each; a device takes all at once.
    """
    if namespace(columns) is np:
        return [slice(i, i + 1) for i in range(len(columns))]
    return [slice(None)]


def _lanczos(
    coupled: Callable[[np.ndarray], np.ndarray], ones: np.ndarray, start: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the diagonals of tridiagonal matrices, and what is before them, a number (k, 1) each.

    Their eigenvalues are near the outermost of D^-1/2 (D - H) D^-1/2, but for the largest, which is
    1. ``coupled`` multiplies vectors (k, n) by D - H; D is its product with ``ones``.
    """
    xp, diagonal = namespace(ones), coupled(ones)
    # Items that the sample tells little about, as those far out, hang on one or two others: slow
    # directions of a few scores each, which hide those of many. They are taken to meet each other a
    # little, too; items that are never compared are not.
    compared = (diagonal > 0) * ones
    mean = row_dots(diagonal, ones) * inverse_of(row_dots(compared, ones))
    added = compared * xp.clip(LEAST * mean - diagonal, 0, None)
    share = added * inverse_of(row_dots(added, ones))
    diagonal = diagonal + added
    inverse = inverse_of(diagonal)
    # The same eigenvalues as those of D^-1 (D - H), if products of vectors count items by D. Ones
    # are the eigenvector of 1: all scores can move together. Where D is 0, nothing limits them.
    together = diagonal * inverse_of(row_dots(diagonal, ones))
    new, last = compared * start, 0.0
    while True:
        new -= compared * row_dots(together, new)
        by_item = diagonal * new
        length = row_dots(by_item, new) ** 0.5
        shrunk = inverse_of(length)
        v = new * shrunk
        new = coupled(v)
        new += added * row_dots(share, v)
        new *= inverse
        new -= length * last
        product = row_dots(by_item, new) * shrunk
        new -= product * v
        last = v
        yield product, length


def _largest_eigenvalue(steps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Largest eigenvalues by size of the tridiagonal matrices that Lanczos' method gives."""
    xp = namespace(steps[0][0])
    # Moved to the host together: a device would be waited for in every step.
    diagonal, before_it = (on_host(xp.hstack(half)) for half in zip(*steps, strict=True))
    beside_it = before_it[:, 1:]
    matrices = np.zeros((*diagonal.shape, diagonal.shape[1]))
    at = np.arange(diagonal.shape[1])
    matrices[:, at, at] = diagonal
    matrices[:, at[1:], at[:-1]] = beside_it
    return np.abs(np.linalg.eigvalsh(matrices)).max(axis=1)


def mixing_steps(n_items: int, fewest: int) -> int:
    """How many passes over a sample show whether columns of so many comparisons mix their items."""
    # With k random opponents, the other eigenvalues are below 2 / sqrt(k). What is slow is about
    # 1 / sqrt(n) of the random error to begin with, and outgrows them by the factor of Chebyshev's
    # polynomials in every step.
    per_item = np.clip(2 * fewest / n_items, SAMPLE / 2, SAMPLE)
    return int(_steps_to_see(SLOW, 2 / per_item**0.5, n_items))


def _steps_to_see(slow: float, others: Any, n_items: int) -> np.ndarray:
    """Steps after which an eigenvalue stands out from others that are so large at most."""
    growth = np.arccosh(np.maximum(slow / np.maximum(others, 1e-3), 1 + 1e-6))
    return np.ceil((np.log(n_items) / 2 + 3.5) / growth)


class StepCheck(NamedTuple):
    """Tells what a Newton step with the diagonal alone leaves of the Newton decrement.

    The step would leave no gradient if the curvature were diagonal and constant. On a sample the
    gradient's change can be compared with that. What is left there has two parts: one that grows
    with the comparisons, as where groups of items hardly meet, and chance, which grows with their
    root. Two halves of the sample share the former alone. Answers cancel from the change, so that
    it carries no noise of theirs.
    """

    whole: "_Moves"
    half: "_Moves"
    information: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(
        cls,
        sample: ColumnStore,
        noise: Noise,
        scores: np.ndarray,
        curvature: np.ndarray,
        information: np.ndarray,
        columns: ColumnStore,
    ) -> "StepCheck":
        """Prepare for steps from ``scores`` (l, n).

        ``curvature`` is that of one comparison, ``information`` that of all in ``columns``.
        """
        scores = cast(scores, "float32")
        whole = sample.sample(CHECKED * sample.n_items // 2)
        half = whole.sample(CHECKED * sample.n_items // 4)
        return cls(
            _Moves.of(whole, noise, scores, curvature),
            _Moves.of(half, noise, scores, curvature),
            information,
            columns.sizes / whole.sizes,
        )

    @property
    def n_read(self) -> int:
        """Pairs that one check of all columns reads."""
        return 3 * int(self.whole.store.sizes.sum() + self.half.store.sizes.sum())

    def left(self, batch: slice, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a ``step`` (k, n) of the columns in a batch leaves.

        That is the decrements (k,), by and large at most, and the slopes (k,) along the scores, 0
        if that may be chance.
        """
        share = (self.half.store.sizes / self.whole.store.sizes)[batch]
        part = beside(step, share)[:, None]
        other = 1 - part
        one, both = (moves.left(batch, step) for moves in (self.half, self.whole))
        one, two = one / part, (both - one) * inverse_of(other)
        inverse, scores = inverse_of(self.information[batch]), self.whole.scores[batch]
        common, chance = one * two * inverse, part * other * (one - two) ** 2
        sums = common, common**2, chance * inverse, scores * both, scores**2 * chance
        total, spread, by_chance, slope, slope_spread = (
            on_host(values.sum(axis=1)) for values in sums
        )
        scale = self.scale[batch]
        found = scale**2 * (np.maximum(total, 0) + SURE * spread**0.5) + scale * by_chance
        found = np.where(share < 1, found, np.inf)  # so few that there are no halves
        return found, scale * slope * (np.abs(slope) > SURE * slope_spread**0.5)


class _Moves(NamedTuple):
    """How a sample's gradient moves with the scores."""

    store: ColumnStore
    noise: Noise
    scores: np.ndarray
    curvature: np.ndarray
    start: dict[int, np.ndarray]

    @classmethod
    def of(
        cls, store: ColumnStore, noise: Noise, scores: np.ndarray, curvature: np.ndarray
    ) -> "_Moves":
        far, near = store.counts()
        start = store.gradient(dict(enumerate(scores)), noise)
        return cls(store, noise, scores, curvature * (far + near), start)

    def left(self, batch: slice, step: np.ndarray) -> np.ndarray:
        """What a step (k, n) leaves of the gradients, beyond what it would with the diagonal."""
        xp, every = namespace(step), range(len(self.scores))[batch]
        new = self.scores[batch] + cast(step, "float32")
        moved = self.store.gradient(dict(zip(every, new, strict=True)), self.noise)
        change = xp.stack([moved[i] - self.start[i] for i in every])
        return change + self.curvature[batch] * step
