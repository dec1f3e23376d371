"""First scores of a column from counts alone, as if all opponents were met equally often.

Then an item that was far in a share r of its comparisons has the score x that solves

    r = F(x),  F(x) = mean over opponents k of f(x - score_k).

Items with like shares have like scores, so the equation is solved for some hundred bins of items at
once, and the answer read off for each item: no pass over the comparisons, time linear in the items.
Arrays of items may live on a device; the bins are solved on the host.
"""

from typing import NamedTuple

import numpy as np

from ordinate._arrays import beside, cast, count_in, namespace, on_host
from ordinate.noise import Noise

BINS = 64
GRID = 256
MOST_STEPS = 50
LONGEST_STEP = 2.0
WIDEST = 12.0  # scores beyond which the shares seen cannot come from random opponents


class MeanField(NamedTuple):
    """First scores, and the mean field they live in.

    Attributes
    ----------
    scores : ndarray, shape (n_items,)
        Items never compared have 0, the mean.
    variance : float
        Of the scores, items counted by their comparisons.
    noise : Noise
    opponents : ndarray, shape (n_bins,)
        Scores of the opponents, binned.
    share : ndarray, shape (n_bins,)
        How often an opponent of each bin is met; sums to 1.
    bin_of : ndarray of int, shape (n_items,)
    own_share : ndarray, shape (n_items,)
        Each item's part in the share of its bin: nobody is their own opponent.
    """

    scores: np.ndarray
    variance: float
    noise: Noise
    opponents: np.ndarray
    share: np.ndarray
    bin_of: np.ndarray
    own_share: np.ndarray

    def information(self, scores: np.ndarray) -> np.ndarray:
        """Expected curvature that one comparison with a random opponent adds in each score."""
        grid = _even_grid(scores)
        table = self.noise.information(grid[:, None] - self.opponents) @ self.share
        everyone = _interpolate(scores, grid, table)
        opponent = beside(scores, self.opponents)[self.bin_of]
        myself = self.own_share * self.noise.information(scores - opponent)
        return namespace(scores).clip(everyone - myself, 0, None) / (1 - self.own_share)


def mean_field(far: np.ndarray, near: np.ndarray, noise: Noise) -> MeanField:
    """First scores from how often each item was far and near.

    Parameters
    ----------
    far, near : ndarray, shape (n_items,)
    noise : Noise

    Returns
    -------
    MeanField
    """
    xp, compared = namespace(far), far + near
    # Half a comparison each way keeps items that were always far, or always near, finite.
    position = xp.log((far + 0.5) / (near + 0.5))
    grid = _even_grid(position)
    bin_of = cast((position - grid[0]) * (BINS / (grid[-1] - grid[0])), "int64")
    bin_of = xp.clip(bin_of, None, BINS - 1)
    weight, won, size = (
        on_host(count_in(bin_of, values, BINS))
        for values in (compared, compared * (far + 0.5) / (compared + 1), compared > 0)
    )
    used = weight > 0
    r, size = won[used] / weight[used], size[used]
    share = weight[used] / weight.sum()
    x = _solve(r, share, size, noise)
    on_grid = np.interp(grid, np.log(r / (1 - r)), x)
    scores = xp.where(compared > 0, _interpolate(position, grid, on_grid), 0.0)
    # Items never compared may lie in bins that are not used; any bin will do for their share of 0.
    new_bin: np.ndarray = np.cumsum(used) - used
    bin_of = beside(far, np.minimum(new_bin, len(x) - 1))[bin_of]
    return MeanField(scores, float(share @ x**2), noise, x, share, bin_of, compared / weight.sum())


def _even_grid(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, max(high, low + 1e-9), GRID)


def _interpolate(values: np.ndarray, grid: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Linear interpolation on an even grid; np.interp would search it for every value."""
    place = (values - grid[0]) * ((len(grid) - 1) / (grid[-1] - grid[0]))
    left = namespace(values).clip(cast(place, "int64"), None, len(grid) - 2)
    slope = beside(values, np.diff(table))
    return beside(values, table)[left] + (place - left) * slope[left]


def _solve(r: np.ndarray, share: np.ndarray, size: np.ndarray, noise: Noise) -> np.ndarray:
    """Solve r_b = F(x_b) for bins of ``size`` items, mean zero, by Newton's method.

    Where no scores explain the shares, since opponents are not met at random, returns their
    log-odds.
    """
    opponent = np.tile(share, (len(r), 1))
    np.fill_diagonal(opponent, share * (1 - 1 / size))
    opponent /= opponent.sum(axis=1)[:, None]
    log_odds = np.log(r / (1 - r))
    x = log_odds = log_odds - share @ log_odds
    for _ in range(MOST_STEPS):
        difference = x[:, None] - x
        probability = noise.probability(difference)
        slope = opponent * probability * noise.residual(difference)
        # F does not change when all x move together: the mean fixes that.
        jacobian = np.diag(slope.sum(axis=1)) - slope + share
        step = np.linalg.solve(jacobian, r - (opponent * probability).sum(axis=1))
        step -= share @ step
        longest = np.abs(step).max()
        x = x + step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
        if np.abs(x).max() > WIDEST:
            return log_odds
        if longest < 1e-4:
            break
    return x
