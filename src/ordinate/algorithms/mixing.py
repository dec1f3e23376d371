"""Whether opponents are met at random, and one step is enough, as a sample of comparisons tells."""

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.arrays import cast, inverse_of, namespace, on_host, random_like
from ordinate._base.threads import run
from ordinate.kernels.noise import Noise
from ordinate.passes import ColumnStore

SAMPLE = 16  # comparisons per item in the sample
MIXING = 0.85  # contraction on it below which opponents are met at random, by and large
SURELY = 0.8  # contraction below which a gradient tells the error; random opponents leave 0.5
SLOW = 0.9  # contraction that must not go unnoticed


def well_mixed(
    sample: ColumnStore, scores: np.ndarray, noise: Noise, n_steps: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Per column, whether items meet opponents at random, by and large, and whether surely.

    With fewer comparisons per item than can show it they are taken to, but not surely.
    """
    few = 2 * sample.sizes < SAMPLE / 2 * sample.n_items
    found = contraction(sample, cast(scores, "float32"), noise, n_steps)
    return few | (found < MIXING), ~few & (found < SURELY)


def contraction(
    columns: ColumnStore, theta: np.ndarray, noise: Noise, n_steps: int | None = None
) -> np.ndarray:
    """How much of an error a Newton step with the diagonal alone leaves, at worst, per column.

    That is the largest eigenvalue but one, by size, of D^-1/2 (D - H) D^-1/2, H the curvature at
    scores ``theta`` (n_columns, n_items) and D its diagonal, by Lanczos' method. It is near 1 where
    items fall into groups that hardly meet, or meet only their like: there a small gradient can go
    with a large error.
    """
    if n_steps is None:
        n_steps = mixing_steps(columns.n_items, int(columns.sizes.min()))
    xp, coupled, batches = namespace(theta), columns.coupling(theta, noise), in_batches(theta)
    diagonal = coupled(xp.ones_like(theta))
    # The same numbers for each column, whatever others are ranked with it.
    start = random_like(theta[:1]) - 0.5
    chains = [_lanczos(diagonal[batch], start, n_steps) for batch in batches]
    found = run(next, chains)
    for _ in range(n_steps):
        sums = coupled(xp.concatenate(found))
        found = run(_sent, zip(chains, [sums[batch] for batch in batches], strict=True))
    return np.concatenate([_largest_eigenvalue(*halves) for halves in found])


def in_batches(columns: np.ndarray) -> list[slice]:
    """Columns, in rows (l, n), that are worked on together.

    They share the threads of a CPU, one at a time each; a device takes all at once.
    """
    if namespace(columns) is np:
        return [slice(i, i + 1) for i in range(len(columns))]
    return [slice(None)]


def _lanczos(
    diagonal: np.ndarray, start: np.ndarray, n_steps: int
) -> Generator[Any, np.ndarray, None]:
    """Yield vectors (k, n), to be sent their products with the coupling.

    In the end, yield the diagonals, and what is beside them, of tridiagonal matrices whose
    eigenvalues are near the outermost of D^-1/2 (D - H) D^-1/2, but for the largest, which is 1.
    """
    xp, root = namespace(diagonal), inverse_of(diagonal) ** 0.5
    # The eigenvector of 1: all scores can move together.
    together = (diagonal * inverse_of(diagonal.sum(axis=1))[:, None]) ** 0.5
    new, last = together * start, 0.0
    lengths, products = [], []
    for _ in range(n_steps):
        new -= together * (together * new).sum(axis=1)[:, None]
        length = (new**2).sum(axis=1)[:, None] ** 0.5
        v = new * inverse_of(length)
        new = root * (yield root * v) - length * last
        product = (v * new).sum(axis=1)[:, None]
        new -= product * v
        last = v
        lengths.append(length)
        products.append(product)
    # Moved to the host at the end: a device would be waited for in every step.
    yield on_host(xp.hstack(products)), on_host(xp.hstack(lengths[1:]))


def _sent(task: tuple[Generator[Any, np.ndarray, None], Any]) -> Any:
    chain, product = task
    return chain.send(product)


def _largest_eigenvalue(diagonal: np.ndarray, beside_it: np.ndarray) -> np.ndarray:
    """Largest eigenvalues by size of symmetric tridiagonal matrices, of which this is one half."""
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
    growth = np.arccosh(SLOW * per_item**0.5 / 2)
    return int(np.ceil((np.log(n_items) / 2 + 3.5) / growth))


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
        scores = cast(scores, "float32")
        start = sample.gradient(dict(enumerate(scores)), noise)
        scale = columns.sizes / sample.sizes
        return cls(sample, noise, scores, curvature * (far + near), start, scale)

    def decrement_left(self, batch: slice, step: np.ndarray) -> np.ndarray:
        """Bound the decrements after a ``step`` (k, n) of the columns in a batch."""
        xp, every = namespace(step), range(len(self.scores))[batch]
        new = self.scores[batch] + cast(step, "float32")
        moved = self.sample.gradient(dict(zip(every, new, strict=True)), self.noise)
        change = xp.stack([moved[i] - self.start[i] for i in every])
        curvature = self.curvature[batch]
        left = change + curvature * step
        decrement = (left**2 * inverse_of(curvature)).sum(axis=1)
        return self.scale[batch] * on_host(decrement)
