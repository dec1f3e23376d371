"""Whether groups of answers differ: how much harder than chance each pulls items off a common map.

Where the common map is likeliest, the pulls of all answers on an item cancel: the gradients of the
answers' log-likelihoods add up to what a ridge holds against them. If groups are alike, those of
each group cancel too, but for chance; an item that a group sees elsewhere is pulled there by its
answers. What chance makes is found by dealing the groups' labels anew: the common map does not know
them, so it stays as it is, no map is fitted again, and the p-value is exact where labels might as
well have been dealt so, however few answers there are, whatever the model and its ridge.

Groups may have been asked about some items more often than others were. Then labels could not have
been dealt in any way: they are drawn by how likely each group was to be asked what a unit was asked
(a conditional randomisation test; Candès, Fan, Janson and Lv, 2018), so that groups are asked about
each item about as often as they were.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ordinate.data.triplets import Triplets
from ordinate.evaluation.permutation import N_PERMUTATIONS, permutation_p_values
from ordinate.kernels.backends.numpy_ import curvature_terms
from ordinate.kernels.losses import Loss
from ordinate.passes import NO_WEIGHT

SURE = 3.0  # standard deviations beyond which items were not asked about alike by chance
MOST_CELLS = 20_000_000  # units times groups whose probabilities are kept


class LabelTest(NamedTuple):
    """How often labels dealt anew make groups as different.

    Attributes
    ----------
    p_value : float or None
    p_items : ndarray, shape (n,)
        Of each item, corrected for their number; 1 for those on which nothing differs.
    uneven : bool
        Whether groups were asked about items unequally often, which labels dealt anew keep.
    """

    p_value: float | None
    p_items: np.ndarray
    uneven: bool


class Pulls:
    """Gradients of units' log-likelihoods in the coordinates of the items that they mention.

    Parameters
    ----------
    data : Triplets
    unit : ndarray of int, shape (m,)
        What each row is part of: an answer or a participant.
    points : ndarray, shape (n, d)
        Where the loss, with its ridge, is least.
    loss : Loss
    """

    def __init__(self, data: Triplets, unit: np.ndarray, points: np.ndarray, loss: Loss) -> None:
        self.n_items = len(points)
        weight = NO_WEIGHT if data.weight is None else data.weight
        _, slope, pull, push = curvature_terms(data.rows, weight, points, loss, one_voter=True)
        changes = np.concatenate([pull - push, -pull, push]) * np.tile(slope, 3)[:, None]
        pairs = np.tile(unit.astype(np.int64), 3) * self.n_items + data.rows.T.ravel()
        at, place = np.unique(pairs, return_inverse=True)
        self.unit, self.item = np.divmod(at, self.n_items)
        self.gradient = np.column_stack(
            [np.bincount(place, change, len(at)) for change in changes.T]
        )
        self.size = (self.gradient**2).sum(axis=1)
        outer = self.gradient[:, :, None] * self.gradient[:, None, :]
        spread = np.zeros((self.n_items, *outer.shape[1:]))
        np.add.at(spread, self.item, outer)
        self.inverse = np.linalg.pinv(spread, hermitian=True)

    def apart(self, label: np.ndarray, n_groups: int) -> np.ndarray:
        """How far groups pull each item (n,) to different places, in units of chance.

        With g the pull of a group, t that of all, f the group's share in the sum of squared pulls
        and S the sum of the units' outer products,

            sum over groups of (g - f t)' S^-1 (g - f t) / f,

        which is (G - 1) d on average if they are alike.
        """
        shape = n_groups, self.n_items
        at = label[self.unit] * self.n_items + self.item
        own, *pulled = (
            np.bincount(at, values, n_groups * self.n_items).reshape(shape)
            for values in (self.size, *self.gradient.T)
        )
        share = own / np.maximum(own.sum(axis=0), np.finfo(float).tiny)
        pull = np.stack(pulled, axis=2)
        beyond = pull - share[:, :, None] * pull.sum(axis=0)
        squares = np.einsum("gia,iab,gib->gi", beyond, self.inverse, beyond)
        return np.divide(squares, share, out=np.zeros(shape), where=share > 0).sum(axis=0)


def judge_labels(
    pulls: Pulls,
    rows: np.ndarray,
    unit: np.ndarray,
    label: np.ndarray,
    generator: np.random.Generator,
) -> LabelTest | None:
    """Hold the pulls of groups against those of groups whose labels are dealt anew.

    Parameters
    ----------
    pulls : Pulls
    rows : ndarray of int, shape (m, 3)
    unit : ndarray of int, shape (m,)
        As for the pulls, from 0 on.
    label : ndarray of int, shape (n_units,)
        The group of each unit, from 0 on.
    generator : Generator

    Returns
    -------
    LabelTest or None
        None where groups were asked unevenly, and are too many for that to be allowed for.
    """
    n_groups = int(label.max()) + 1
    asked = _asked(rows, unit, pulls.n_items)
    uneven = _is_uneven(asked, label, n_groups)
    if uneven and len(label) * n_groups > MOST_CELLS:
        return None
    up_to = (
        np.cumsum(_chances(rows, unit, label, pulls.n_items), axis=1)[:, :-1] if uneven else None
    )

    def dealt() -> np.ndarray:
        if up_to is None:
            return generator.permutation(label)
        return (generator.random((len(label), 1)) > up_to).sum(axis=1)

    squares = np.array(
        [pulls.apart(label, n_groups)]
        + [pulls.apart(dealt(), n_groups) for _ in range(N_PERMUTATIONS)]
    )
    told = squares.any(axis=0)
    p_value, p_items = 1.0, np.ones(pulls.n_items)
    if told.any():
        p_value, p_items[told] = permutation_p_values(squares[:, told])
    return LabelTest(p_value, p_items, uneven)


def _asked(rows: np.ndarray, unit: np.ndarray, n_items: int) -> Any:
    """How often each unit was asked about each item, per row: a sparse matrix (n_units, n)."""
    from scipy.sparse import csr_array

    each = np.tile(1 / np.bincount(unit)[unit], 3)
    return csr_array((each, (np.tile(unit, 3), rows.T.ravel())), shape=(unit.max() + 1, n_items))


def _is_uneven(asked: Any, label: np.ndarray, n_groups: int) -> bool:
    """Whether groups were asked about items unequally often, beyond chance.

    By the sum of squares of the groups' means about the mean of all, each item in units of its
    variance between units: nearly chi-square, if not.
    """
    n, size = asked.shape[1], np.bincount(label, minlength=n_groups)
    means = np.zeros((n_groups, n))
    for g in range(n_groups):
        means[g] = asked[label == g].mean(axis=0)
    every = asked.mean(axis=0)
    variance = (asked * asked).mean(axis=0) - every**2
    varies = variance > np.finfo(float).eps
    about = (size[:, None] * (means - every) ** 2)[:, varies] / variance[varies]
    expected = (n_groups - 1) * (varies.sum() - 1)
    return bool(about.sum() > expected + SURE * (2 * max(expected, 1)) ** 0.5)


def _chances(rows: np.ndarray, unit: np.ndarray, label: np.ndarray, n_items: int) -> np.ndarray:
    """Probability (n_units, G) of being in each group, by the items that a unit was asked about.

    That of an answer, by logistic regression. Of a participant, whose list of questions may give
    away the group although all lists are about the same items, it is that of a typical answer.
    """
    from sklearn.linear_model import LogisticRegression

    each = np.arange(len(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it might still be improved a little
        model = LogisticRegression().fit(_asked(rows, each, n_items), label[unit])
    return model.predict_proba(_asked(rows, unit, n_items))
