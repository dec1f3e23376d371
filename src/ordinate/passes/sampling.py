"""Which rows a sample takes: one rule for triplets and one for columns, for every store."""

from typing import Any, NamedTuple

import numpy as np

from ordinate._base.arrays import namespace

Array = Any  # of NumPy or torch
RUN = 16  # rows of a column that are sampled together, being read together


def sampled_rows(n_rows: int, size: int, like: Array, most: int | None = None) -> Array | None:
    """Rows of a sample of about ``size`` triplets, in increasing order; None for all of them.

    One is drawn at random from each of consecutive stretches of equal length: the same every time,
    and at most ``most`` of them. Drawn where the array ``like`` lives; each library has random
    numbers of its own.
    """
    length = n_rows // max(size, 1)
    if length <= 1:
        return None
    length = max(length, -(-n_rows // (most or n_rows)))
    n_stretches, generator = n_rows // length, np.random.default_rng(0)
    xp = namespace(like)
    if xp is np:
        return length * np.arange(n_stretches) + generator.integers(length, size=n_stretches)
    seeded = xp.Generator(like.device).manual_seed(int(generator.integers(1 << 62)))
    drawn = xp.randint(length, (n_stretches,), generator=seeded, device=like.device)
    return length * xp.arange(n_stretches, device=like.device) + drawn


def sampled_answers(number: Array, n_rows: int, size: int, like: Array) -> Array | None:
    """Rows of whole answers, about ``size`` of them; None for all.

    ``number`` (m,) is that of each row's answer, from 0 and in order; where it is empty, each row
    is an answer.
    """
    if not len(number):
        return sampled_rows(n_rows, size, like)
    n_answers = int(number[-1]) + 1
    chosen = sampled_rows(n_answers, size * n_answers // n_rows, like)
    if chosen is None:
        return None
    xp = namespace(like)
    mask = xp.zeros_like(number[:1], dtype=bool).repeat(n_answers)
    mask[chosen] = True
    return xp.nonzero(mask[number])[0] if xp is np else xp.nonzero(mask[number])[:, 0]


class Runs(NamedTuple):
    """The rows of a column that a sample takes: a run in the middle of every ``step`` rows."""

    n_runs: int
    step: int
    length: int

    @classmethod
    def of(cls, n_rows: int, size: int) -> "Runs":
        """Spread about ``size`` rows over a column; all of them where that is most of it."""
        step = int(n_rows) * RUN // max(size, RUN)
        return cls(int(n_rows) // step, step, RUN) if step > RUN else cls(1, n_rows, n_rows)

    @property
    def n_rows(self) -> int:
        """How many rows that are."""
        return self.n_runs * self.length

    def take(self, column: Array) -> Array:
        """Take the rows out of a whole column."""
        shape = column.shape[1:]
        steps = column[: self.n_runs * self.step].reshape(self.n_runs, self.step, *shape)
        return steps[:, self._middle : self._middle + self.length].reshape(self.n_rows, *shape)

    def between(self, start: int, stop: int) -> tuple[slice, np.ndarray]:
        """Return those of the rows that lie in a block of a column, and their places in the sample.

        The block is the column's rows from ``start`` to ``stop``; rows are counted in it.
        """
        if self.length == self.step:
            return slice(start, stop), np.arange(stop - start)
        first = max((start - self._middle) // self.step, 0)
        runs = np.arange(first, min((stop - self._middle - 1) // self.step + 1, self.n_runs))
        rows = (runs[:, None] * self.step + self._middle + np.arange(self.length)).ravel()
        low, high = np.searchsorted(rows, [start, stop])
        before = first * self.length
        return slice(before + int(low), before + int(high)), rows[low:high] - start

    @property
    def _middle(self) -> int:
        return (self.step - self.length) // 2
