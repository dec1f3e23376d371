"""Scores in blocks of consecutive rows, and what recovering a map asks of each.

Rows are items and columns are landmarks. The blocks may lie anywhere: a map is found by a few
questions that every block answers alone, with arrays as small as the landmarks; only coordinates
are as many as the rows. Blocks and the order of their sums depend on the data alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ordinate._base.arrays import beside, copy, namespace, on_host
from ordinate._base.threads import blocks, run
from ordinate.algorithms.ranking import Scores
from ordinate.kernels import backends

BLOCK = 1 << 13  # rows; a device takes all at once


class Block(NamedTuple):
    """Consecutive rows of scores.

    Attributes
    ----------
    scores : array, shape (k, l)
    weight : array, shape (k, l)
        The information in each score: its inverse is the variance. 0 for what a landmark would
        have in its own column.
    mine : array of int, shape (j,)
        Rows of the block that are landmarks.
    whose : ndarray of int, shape (j,)
        Their numbers among the landmarks.
    """

    scores: Any
    weight: Any
    mine: Any
    whose: np.ndarray

    @classmethod
    def of(cls, scores: Any, information: Any, first: int, landmarks: np.ndarray) -> "Block":
        """Take rows from ``first`` on; ``landmarks`` (l,) are rows of all items.

        Copies, row by row: another order of the numbers would be summed with other roundings.
        """
        scores = copy(scores)
        whose = np.flatnonzero((landmarks >= first) & (landmarks < first + len(scores)))
        mine, weight = beside(scores, landmarks[whose] - first), copy(information)
        weight[mine, beside(scores, whose)] = 0
        return cls(scores, weight, mine, whose)


class ScoreRows(Protocol):
    """Blocks of rows, wherever they lie."""

    @property
    def n_items(self) -> int:
        """Number of rows."""

    @property
    def n_landmarks(self) -> int:
        """Number of columns."""

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call ``function(block, *arguments)`` for every block; results in the blocks' order."""


class RowsHere(NamedTuple):
    """Blocks in memory, or one on a device."""

    blocks: list[Block]
    n_items: int
    n_landmarks: int

    @classmethod
    def of(cls, scores: Scores, landmarks: np.ndarray) -> "RowsHere":
        """Cut scores into blocks."""
        R, information = scores.scores, scores.information
        parts = blocks(len(R), BLOCK if namespace(R) is np else len(R))
        cut = [Block.of(R[part], information[part], part.start, landmarks) for part in parts]
        return cls(cut, len(R), len(landmarks))

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function for every block, on all threads."""
        return run(lambda block: function(block, *arguments), self.blocks)


class Places(NamedTuple):
    """Coordinates as a linear function of scores: row by row, ``(R + shift) turn``.

    Attributes
    ----------
    centred : bool
        Whether the mean of a row is taken off first.
    shift : ndarray, shape (l,)
    turn : ndarray, shape (l, d)
    landmarks : ndarray, shape (l, d)
        Where they are: they lack a score of their own.
    """

    centred: bool
    shift: np.ndarray
    turn: np.ndarray
    landmarks: np.ndarray

    def of(self, block: Block) -> Any:
        """Return the coordinates (k, d) of a block's rows."""
        R = block.scores
        X = (_shifted(R, self.centred, self.shift)) @ beside(R, self.turn)
        X[block.mine] = beside(R, self.landmarks[block.whose])
        return X


def _shifted(R: Any, centred: bool, shift: np.ndarray) -> Any:
    return (R - R.mean(axis=1)[:, None] if centred else R) + beside(R, shift)


def own_scores(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Which landmarks are among the rows, and their scores."""
    return block.whose, on_host(block.scores[block.mine])


def largest_weight(block: Block) -> float:
    """The largest weight of a score."""
    return float(block.weight.max())


def centre_sums(block: Block, top: float) -> tuple[float, np.ndarray]:
    """Sum of the rows' weights, and of the rows by their weight, each less its mean."""
    w, R = _row_weight(block, top), block.scores
    return float(w.sum()), on_host(w @ _shifted(R, True, np.zeros(R.shape[1])))


def product_sums(block: Block, top: float, shift: np.ndarray) -> np.ndarray:
    """Products (l, l) of the columns, with the means of rows and columns taken off."""
    w, doubly = _row_weight(block, top), _shifted(block.scores, True, shift)
    return on_host((doubly.T * w) @ doubly)


def lifting_equations(
    block: Block, top: float, shift: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, int]:
    """Equations of the row means, in as few as there are unknowns, and how many rows count.

    By rotations alone. See :func:`ordinate.algorithms.landmark.lift`.
    """
    R, w = block.scores, _row_weight(block, top)
    xp = namespace(R)
    P = -0.5 * _shifted(R, True, shift) @ beside(R, V)
    i, j = np.triu_indices(V.shape[1])
    squares = beside(P, np.where(i == j, 1, 2)) * P[:, beside(P, i)] * P[:, beside(P, j)]
    equations = xp.column_stack([squares, P, xp.ones_like(w), R.mean(axis=1)])
    return on_host(xp.linalg.qr(w[:, None] ** 0.5 * equations)[1]), int((w > 0).sum())


def _row_weight(block: Block, top: float) -> Any:
    """Weight (k,) of rows: the inverse of the mean variance of their scores; 0 of landmarks."""
    w = 1 / (1 / namespace(block.weight).clip(block.weight, 1e-12 * top, None)).mean(axis=1)
    w[block.mine] = 0
    return w


def shift_sums(block: Block, places: Places) -> tuple[np.ndarray, np.ndarray]:
    """What scores lack to be squared distances, by their weight; and the weights: (l,) each."""
    X, Z = places.of(block), beside(block.scores, places.landmarks)
    missing = squared_distances(X, Z) - block.scores
    return on_host((block.weight * missing).sum(axis=0)), on_host(block.weight.sum(axis=0))


def placed_rows(
    block: Block, places: Places, s: np.ndarray, backend: str | None
) -> tuple[Any, float, int]:
    """Coordinates (k, d), their misfit by weight, and how many scores have weight.

    Each item is placed where its scores fit best, by weighted least squares on squared distances,
    or left where it is if no backend is named.
    """
    R, X = block.scores, places.of(block)
    Z, F = beside(R, places.landmarks), R + beside(R, s)
    if backend is not None:
        X = backends.load_for(X, backend).place_items(X, Z, F, block.weight)
        X[block.mine] = Z[beside(R, block.whose)]
    error = F - squared_distances(X, Z)
    return X, float((block.weight * error**2).sum()), int((block.weight != 0).sum())


def squared_distances(X: Any, Z: Any) -> Any:
    """Squared distances (k, l) of points from landmarks."""
    return (X**2).sum(axis=1)[:, None] - 2 * X @ Z.T + (Z**2).sum(axis=1)
