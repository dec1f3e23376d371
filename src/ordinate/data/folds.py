"""Dealing groups of rows to parts of given sizes, and taking samples of them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate._base.checks import random_generator

if TYPE_CHECKING:
    from ordinate.data.triplets import Triplets


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


def sampled_answers(
    triplets: "Triplets", most_rows: int, generator: np.random.Generator
) -> "Triplets":
    """Take whole answers at random, of about so many rows; all, if they are no more."""
    if len(triplets) <= most_rows:
        return triplets
    groups = triplets.groups("answer")
    n_groups = int(groups.max()) + 1
    place = generator.permutation(n_groups)[groups]
    return triplets[np.flatnonzero(place < most_rows / len(triplets) * n_groups)]


def in_sample(groups: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Tell which rows a sample takes that has such a share of the groups: all of a group, or none.

    A group's number alone decides, so its rows may lie anywhere, in any number of blocks.
    """
    mixed = groups.astype(np.uint64) + np.uint64(seed)  # splitmix64 (Steele and others, 2014)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(11)) * 2.0**-53 < share
