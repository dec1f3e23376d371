"""First scores of a column from counts alone, as if all opponents were met equally often.

Then an item that was far in a share r of its comparisons has the score x that solves

    r = F(x),  F(x) = mean over opponents k of f(x - score_k).

Items with like shares have like scores, so the equation is solved for some hundred bins of items at
once, and the answer read off for each item: no pass over the comparisons, time linear in the items.
Arrays of items may live on a device, all columns at once; the bins are solved on the host.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, cast, count_in, inverse_of, namespace, on_host
from ordinate.kernels.noise import Noise

BINS = 64
GRID = 128
MOST_STEPS = 50
LONGEST_STEP = 2.0
CLOSE = 1e-2
VANISHING = 1e-12  # keeps equations regular where all slopes vanish, far out in a tail
WIDEST = 12.0  # scores beyond which the shares seen cannot come from random opponents


class MeanField(NamedTuple):
    """First scores, and the mean field they live in; of one column, or of several in rows.

    Attributes
    ----------
    scores : ndarray, shape (n_items,) or (n_columns, n_items)
        Items never compared have 0, the mean.
    variance : ndarray, shape (n_columns,)
        Of the scores, items counted by their comparisons.
    noise : Noise
    opponents : ndarray, shape (n_columns, BINS)
        Scores of the opponents, binned.
    share : ndarray, shape (n_columns, BINS)
        How often an opponent of each bin is met; each row sums to 1.
    bin_of : ndarray of int, shape (n_columns, n_items)
        Among the bins of all columns.
    own_share : ndarray, shape (n_columns, n_items)
        Each item's part in the share of its bin: nobody is their own opponent.
    solved : ndarray of bool, shape (n_columns,)
        Whether there are scores that explain the shares; else the first ones are log-odds.
    """

    scores: np.ndarray
    variance: np.ndarray
    noise: Noise
    opponents: np.ndarray
    share: np.ndarray
    bin_of: np.ndarray
    own_share: np.ndarray
    solved: np.ndarray

    def information(self, scores: np.ndarray) -> np.ndarray:
        """Expected curvature that one comparison with a random opponent adds in each score."""
        return self._over_opponents(self.noise.information, scores)

    def by_chance(self, far: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Squared error (l,) of first scores, in that of the answers, by random opponents alone.

        Those that an item happens to meet differ from all: its share of being far, p, varies by
        p (1 - p) in all, and by the mean of f (1 - f) over opponents through its answers alone.
        """
        xp, f = namespace(far), self.noise.probability
        answers = self._over_opponents(lambda apart: f(apart) * f(-apart), self.scores)
        share = (far + 0.5) / (far + near + 1)
        beyond = xp.clip(share * (1 - share) * inverse_of(answers) - 1, 0, None)
        found = (beyond * (far + near > 0)).reshape(self.bin_of.shape)
        return on_host(found.sum(axis=1))

    def _over_opponents(
        self, function: Callable[[np.ndarray], np.ndarray], scores: np.ndarray
    ) -> np.ndarray:
        """Mean of an even function of the score less that of an opponent, for each item."""
        x = scores.reshape(self.bin_of.shape)
        grid = _even_grid(x)
        between = function(grid[:, :, None] - self.opponents[:, None, :])
        everyone = _interpolate(x, grid, (between @ self.share[:, :, None])[:, :, 0])
        opponent = self.opponents.reshape(-1)[self.bin_of]
        myself = self.own_share * function(x - opponent)
        found = namespace(x).clip(everyone - myself, 0, None) / (1 - self.own_share)
        return found.reshape(scores.shape)

    @property
    def stretching(self) -> np.ndarray:
        """Curvature (l,) along the scores that the comparisons of all items add, per comparison."""
        x, share = on_host(self.opponents), on_host(self.share)
        apart = x[:, :, None] - x[:, None, :]
        each = share[:, :, None] * share[:, None, :] * self.noise.information(apart) * apart**2
        return each.sum(axis=(1, 2)) / 2


def mean_field(far: np.ndarray, near: np.ndarray, noise: Noise) -> MeanField:
    """First scores from how often each item was far and near.

    Parameters
    ----------
    far, near : ndarray, shape (n_items,) or (n_columns, n_items)
    noise : Noise

    Returns
    -------
    MeanField
    """
    xp, shape = namespace(far), far.shape
    far, near = far.reshape(-1, shape[-1]), near.reshape(-1, shape[-1])
    compared = far + near
    # Half a comparison each way keeps items that were always far, or always near, finite.
    position = xp.log((far + 0.5) / (near + 0.5))
    grid = _even_grid(position)
    per_bin = BINS / (grid[:, -1:] - grid[:, :1])
    bin_of = xp.clip(cast((position - grid[:, :1]) * per_bin, "int64"), None, BINS - 1)
    bin_of += beside(far, BINS * np.arange(len(grid))[:, None])
    in_bins = [
        count_in(bin_of.reshape(-1), values.reshape(-1), BINS * len(grid))
        for values in (compared, compared * (far + 0.5) / (compared + 1), compared > 0)
    ]
    weight, won, size = on_host(xp.stack(in_bins)).reshape(3, -1, BINS)
    share = weight / weight.sum(axis=1)[:, None]
    # Bins that are empty in one column but not in all get a score there, and nobody meets them.
    used = weight > 0
    r = np.divide(won, weight, out=np.full_like(won, 0.5), where=used)
    x, some = np.zeros_like(r), used.any(axis=0)
    x[:, some], solved = _solve(r[:, some], share[:, some], np.maximum(size, 1)[:, some], noise)
    on_grid = np.stack(
        [
            np.interp(places, np.log(r / (1 - r))[here], x[here])
            for places, r, x, here in zip(on_host(grid), r, x, used, strict=True)
        ]
    )
    scores = _interpolate(position, grid, beside(far, on_grid)) * (compared > 0)
    return MeanField(
        scores.reshape(shape),
        (share * x**2).sum(axis=1),
        noise,
        beside(far, x),
        beside(far, share),
        bin_of,
        compared / beside(far, weight.sum(axis=1)[:, None]),
        solved,
    )


def _even_grid(values: np.ndarray) -> np.ndarray:
    """Points (n_columns, GRID) that span each row of values."""
    xp = namespace(values)
    low, high = xp.amin(values, 1)[:, None], xp.amax(values, 1)[:, None]
    return low + xp.clip(high - low, 1e-9, None) * beside(values, np.linspace(0, 1, GRID))


def _interpolate(values: np.ndarray, grid: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Linear interpolation in rows, on even grids; np.interp would search them for every value."""
    xp, last = namespace(values), GRID - 1
    place = (values - grid[:, :1]) * (last / (grid[:, -1:] - grid[:, :1]))
    left = xp.clip(cast(place, "int64"), None, last - 1)
    part = place - left
    left += beside(values, GRID * np.arange(len(grid))[:, None])
    rise = xp.zeros_like(table)
    rise[:, :-1] = table[:, 1:] - table[:, :-1]
    return table.reshape(-1)[left] + part * rise.reshape(-1)[left]


def _solve(
    r: np.ndarray, share: np.ndarray, size: np.ndarray, noise: Noise
) -> tuple[np.ndarray, np.ndarray]:
    """Solve r_b = F(x_b) for bins (n_columns, BINS) of ``size`` items by Newton's method.

    The mean is zero. Where no scores explain the shares, since opponents are not met at random or
    answers are too clear, returns their log-odds. Returns, too, which columns are solved (l,).
    """
    bins = np.arange(r.shape[1])
    opponent = np.repeat(share[:, None, :], len(bins), axis=1)
    opponent[:, bins, bins] = share * (1 - 1 / size)
    opponent /= opponent.sum(axis=2)[:, :, None]
    log_odds = np.log(r / (1 - r))
    log_odds -= (share * log_odds).sum(axis=1)[:, None]
    x, left, solved = log_odds.copy(), np.arange(len(r)), np.zeros(len(r), bool)
    for _ in range(MOST_STEPS):
        difference = x[left, :, None] - x[left, None, :]
        probability = opponent[left] * noise.probability(difference)
        slope = probability * noise.residual(difference)
        # F does not change when all x move together: the mean fixes that.
        jacobian = share[left, None, :] - slope
        jacobian[:, bins, bins] += slope.sum(axis=2) + VANISHING
        missing = r[left] - probability.sum(axis=2)
        step = np.linalg.solve(jacobian, missing[:, :, None])[:, :, 0]
        step -= (share[left] * step).sum(axis=1)[:, None]
        longest = np.abs(step).max(axis=1)
        x[left] += step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))[:, None]
        lost = ~(np.abs(x).max(axis=1) <= WIDEST)  # also where it is not a number
        x[lost] = log_odds[lost]
        solved[left] = (longest < CLOSE) & ~lost[left]
        left = left[(longest >= CLOSE) & ~lost[left]]
        if len(left) == 0:
            break
    return x, solved
