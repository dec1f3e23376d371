"""Dealing groups of rows to parts of given sizes."""

from typing import Any

import numpy as np

from ordinate._base.checks import random_generator


def shuffled_folds(groups: np.ndarray, shares: np.ndarray, random_state: Any) -> np.ndarray:
    """Put whole groups into folds at random, so that the folds hold the shares of the rows given.

    Returns the fold of each row; raises when there are fewer groups than folds.
    """
    sizes = np.bincount(groups)
    n_folds = len(shares)
    if len(sizes) < n_folds:
        raise ValueError(f"{n_folds} parts need at least {n_folds} groups; there are {len(sizes)}")
    order = random_generator(random_state).permutation(len(sizes))
    reached = np.cumsum(sizes[order]) - sizes[order] / 2
    fold = np.searchsorted(np.cumsum(shares)[:-1] * len(groups), reached)
    # Groups of very unequal size would leave folds empty: leave enough groups for the folds to
    # come, and pass over no fold.
    place = np.arange(len(sizes))
    fold = np.maximum(fold, place - (len(sizes) - n_folds))
    fold = place + np.minimum.accumulate(np.minimum(fold - place, 0))
    by_group = np.empty(len(sizes), np.int64)
    by_group[order] = fold
    return by_group[groups]
