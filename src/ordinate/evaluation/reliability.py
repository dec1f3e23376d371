"""Split-half reliability: how alike the maps of two halves of the answers are."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_choice, check_whole, random_generator
from ordinate._base.messages import Message
from ordinate.data.folds import shuffled_folds
from ordinate.data.simulate import pair_distances
from ordinate.evaluation.metrics import procrustes_error
from ordinate.evaluation.permutation import fit_quietly
from ordinate.files.inputs import as_triplets

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

N_SPLITS = 10
MOST_PAIRS = 1_000_000  # of items, beyond which a sample of them is compared
LEAST_ITEMS = 4


class SplitHalf(NamedTuple):
    """How alike maps of two halves of the answers are, for each of several splits.

    Attributes
    ----------
    correlation : ndarray, shape (n_splits,)
        Between the distances of all pairs of items in the one map and in the other.
    error : ndarray, shape (n_splits,)
        Relative Procrustes error of the two maps, with stretching.
    reliability : float
        What the correlation of the map of all answers with another of as many is expected to be:
        the Spearman-Brown formula 2 r / (1 + r), of the mean correlation r. It holds where errors
        of distances are small beside their differences; of r at or below 0 it is NaN.
    n_items : ndarray of int, shape (n_splits,)
        Items that both halves could place.
    by : str
        What was dealt to halves: "answer", "participant" or "row".
    """

    correlation: np.ndarray
    error: np.ndarray
    reliability: float
    n_items: np.ndarray
    by: str

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        expected = f"a correlation of {self.reliability:.3f} is expected (Spearman-Brown)"
        if not np.isfinite(self.reliability):
            expected = "nothing can be expected, as halves do not agree"
        return Message(
            f"Distances in maps of two halves of the {self.by}s correlate "
            f"{_range(self.correlation)}; the maps are {_range(self.error, '.1%')} apart. "
            f"Of two maps of all answers {expected}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        known = bool(np.isfinite(self.reliability))
        return {
            "correlation": self.correlation.tolist(),
            "error": self.error.tolist(),
            "reliability": float(self.reliability) if known else None,
            "n_items": self.n_items.tolist(),
            "by": self.by,
            "sentence": self.sentence,
        }


def split_half(
    estimator: "Embedder",
    triplets: Any,
    *,
    n_splits: int = N_SPLITS,
    by: str = "answer",
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> SplitHalf:
    """Cut the answers in two at random, map each half, and tell how alike the maps are.

    Parameters
    ----------
    estimator : Embedder
        What it chooses, such as the model or landmarks, it chooses once, by all answers: in the
        fit that it comes with, to these triplets, or in one here. Each half is then fitted from a
        start of its own.
    triplets : triplets in any form
    n_splits : int
        How often.
    by : {"answer", "participant", "row"}
        What is dealt to one half or the other: participants tell how alike maps of other people
        would be.
    random_state : int, Generator or None
    tell : function of str
        Called before each split.

    Returns
    -------
    SplitHalf

    Examples
    --------
    >>> from ordinate import STE, sample_points, sample_triplets, split_half
    >>> triplets = sample_triplets(sample_points(15, random_state=0), 9000, random_state=0)
    >>> found = split_half(STE(2, random_state=0), triplets, n_splits=2)
    >>> bool(found.correlation.min() > 0.9)
    True
    """
    data = as_triplets(triplets)
    n_splits = check_whole("n_splits", n_splits)
    check_choice("by", by, ("answer", "participant", "row"))
    generator = random_generator(random_state)
    groups = data.groups(by)
    if groups.max() < 1:
        raise ValueError(f"there is one {by} alone: halves need at least two")
    if not hasattr(estimator, "embedding_"):
        tell("the map of all answers")
        estimator = fit_quietly(estimator, data)
    fixed = estimator._settled()
    found = []
    for k in range(n_splits):
        tell(f"halves, {k + 1} of {n_splits}")
        half = shuffled_folds(groups, np.array([0.5, 0.5]), generator)
        maps = [fit_quietly(fixed, data[half == side]).embedding_ for side in (0, 1)]
        placed = np.isfinite(np.hstack(maps)).all(axis=1)
        alike = _alike(maps[0][placed], maps[1][placed], generator)
        found.append((*alike, int(placed.sum())))
    correlation, error, n_items = map(np.array, zip(*found, strict=True))
    if n_items.min() < data.n_items:
        low, high = n_items.min(), n_items.max()
        placed = f"{low:,} to {high:,}" if high > low else f"{low:,}"
        warnings.warn(
            f"halves place {placed} of {data.n_items:,} items: the "
            "others are in too few answers, and were left out",
            UserWarning,
            stacklevel=2,
        )
    r = correlation.mean()
    return SplitHalf(correlation, error, float(2 * r / (1 + r)) if r > 0 else np.nan, n_items, by)


def _alike(
    first: np.ndarray, second: np.ndarray, generator: np.random.Generator
) -> tuple[float, float]:
    """Correlation of distances, and relative Procrustes error."""
    n = len(first)
    if n < LEAST_ITEMS:
        raise ValueError(
            f"both halves place {n} items, and {LEAST_ITEMS} are the least: there are too few "
            "answers to cut in two"
        )
    i, j = np.triu_indices(n, 1) if n * (n - 1) // 2 <= MOST_PAIRS else _some_pairs(n, generator)
    one, other = (np.sqrt(pair_distances(points, i, j)) for points in (first, second))
    return float(np.corrcoef(one, other)[0, 1]), procrustes_error(
        second, first, scale=True, relative=True
    )


def _some_pairs(n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    i = generator.integers(n, size=MOST_PAIRS)
    return i, (i + generator.integers(1, n, size=MOST_PAIRS)) % n


def _range(values: np.ndarray, form: str = ".3f") -> str:
    """Write the mean of some values, and their range.

    >>> _range(np.array([0.91, 0.93]))
    '0.920 (0.910 to 0.930 in 2 splits)'
    >>> _range(np.array([0.91]))
    '0.910 (in one split)'
    """
    if len(values) == 1:
        return f"{format(values[0], form)} (in one split)"
    low, mean, high = (format(value, form) for value in (values.min(), values.mean(), values.max()))
    return f"{mean} ({low} to {high} in {len(values)} splits)"
