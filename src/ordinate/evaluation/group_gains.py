"""By how much a group's own map predicts its unseen answers better than other maps do."""

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate.data.numbering import numbered
from ordinate.data.triplets import Triplets
from ordinate.evaluation.permutation import fit_quietly

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

LEAST = 50  # answers of a group, and one for each coordinate of its map
# Standard errors that chance alone seldom reaches: the maps vary by about as much as the answers
# that judge them.
SURE = 2.0 * 2.0**0.5


class Gain(NamedTuple):
    """By how much a map predicts unseen answers better than another, per triplet."""

    mean: float
    error: float

    @property
    def beyond_chance(self) -> bool:
        """Whether it is more than chance makes."""
        return self.mean > SURE * self.error

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


class UnseenAnswers:
    """Log-likelihoods of unseen triplets (m,): by own maps, by common ones, by those of others.

    Others have maps of as many answers as the own ones, ``fair``, that they are held against.
    """

    def __init__(
        self,
        data: Triplets,
        code: np.ndarray,
        unit: np.ndarray,
        model: "Embedder",
        generator: np.random.Generator,
    ) -> None:
        self.data, self.code, self.unit = data, code, unit
        self.model, self.generator = model, generator
        self.own, self.common, self.fair, self.others = np.full((4, len(data)), np.nan)

    def splits(self, folds: int) -> Any:
        """Yield masks of the rows to fit and of those to judge."""
        fold = np.empty(len(self.unit), int)
        for g in np.unique(self.code):  # so that each part has some of every group
            rows = np.flatnonzero(self.code == g)
            unit = numbered(self.unit[rows])
            fold[rows] = self.generator.permutation(unit.max() + 1)[unit] % folds
        return ((fold != k, fold == k) for k in range(folds))

    def judge(self, train: np.ndarray, test: np.ndarray, groups: list[int]) -> None:
        """Judge the maps of one part of the answers by the other."""
        common = self._fit(np.flatnonzero(train), self.model)
        for g in groups:
            mine = np.flatnonzero(train & (self.code == g))
            theirs = np.flatnonzero(train & (self.code != g))
            judged = np.flatnonzero(test & (self.code == g))
            if not len(mine) or not len(judged):
                continue
            own = self._fit(mine, common)
            self.own[judged] = self._log_likelihood(own, judged)
            self.common[judged] = self._log_likelihood(common, judged)
            # A group that was asked more about some items knows these better, and is no different
            # for that: both maps are of answers about the items that both know.
            known = np.intersect1d(self.data.rows[mine], self.data.rows[theirs])
            n_mine = len(mine)
            mine, theirs, judged = (self._about(known, rows) for rows in (mine, theirs, judged))
            n = min(len(mine), len(theirs))
            if n < LEAST or not len(judged):
                continue
            fair = own if n == n_mine else self._fit(self._some(mine, n), common)
            others = self._fit(self._some(theirs, n), common)
            self.fair[judged] = self._log_likelihood(fair, judged)
            self.others[judged] = self._log_likelihood(others, judged)

    def gain(self, rows: np.ndarray, other: np.ndarray) -> Gain | None:
        """Hold own maps against others, by the rows that both judged; answers vary, not rows."""
        own = self.fair if other is self.others else self.own
        rows = rows[np.isfinite(own[rows]) & np.isfinite(other[rows])]
        if not len(rows):
            return None
        weight = self.data._weights[rows]
        answer = numbered(self.unit[rows])
        size = np.bincount(answer, weight)
        gained = np.bincount(answer, weight * (own - other)[rows])
        mean = gained.sum() / size.sum()
        return Gain(float(mean), float(np.sqrt(((gained - mean * size) ** 2).sum()) / size.sum()))

    def likelihoods(self, rows: np.ndarray) -> tuple[float, float]:
        """Mean log-likelihood of a triplet, by own maps and by the common ones."""
        rows = rows[np.isfinite(self.own[rows])]
        weight = self.data._weights[rows]
        return tuple(  # type: ignore[return-value]
            float(np.average(values[rows], weights=weight)) for values in (self.own, self.common)
        )

    def _fit(self, rows: np.ndarray, start: "Embedder") -> "Embedder":
        return fit_quietly(start._from_here(), self.data[rows])

    def _log_likelihood(self, model: Any, rows: np.ndarray) -> np.ndarray:
        # Items that a map does not place have even chances there.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = model.predict_proba(self.data[rows])[:, 1]
        return np.log(np.maximum(given, np.finfo(float).tiny))

    def _about(self, items: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return rows[np.isin(self.data.rows[rows], items).all(axis=1)]

    def _some(self, rows: np.ndarray, n: int) -> np.ndarray:
        """Take about n rows at random, whole answers."""
        answer = numbered(self.unit[rows])
        order = self.generator.permutation(answer.max() + 1)
        sizes = np.bincount(answer)[order]
        kept = order[np.cumsum(sizes) <= n]
        return rows[np.isin(answer, kept)]
