"""By how much a group's own map predicts its unseen answers better than the common one does."""

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate.data.numbering import numbered
from ordinate.data.triplets import Triplets

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

LEAST = 50  # answers of a group, and one for each coordinate of its map
ROUNDS = 2  # of fitting a map to find how wide a prior is
SURE = 2.0  # standard errors that chance alone seldom reaches


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
    """Log-likelihoods (m,) of unseen triplets: by own maps, and by common ones."""

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
        self.settings = ridge_for_few(model, data)
        self.own, self.common = np.full((2, len(data)), np.nan)

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
        common = fitted_alike(self.model, self.data[train], self.settings)
        for g in groups:
            mine, judged = train & (self.code == g), test & (self.code == g)
            if not mine.any() or not judged.any():
                continue
            own = fitted_alike(common, self.data[mine], self.settings)
            self.own[judged] = self._log_likelihood(own, judged)
            self.common[judged] = self._log_likelihood(common, judged)

    def gain(self, rows: np.ndarray) -> Gain:
        """Hold own maps against common ones; answers vary, not rows."""
        rows = rows[np.isfinite(self.own[rows])]
        weight = self.data._weights[rows]
        answer = numbered(self.unit[rows])
        size = np.bincount(answer, weight)
        gained = np.bincount(answer, weight * (self.own - self.common)[rows])
        mean = gained.sum() / size.sum()
        return Gain(float(mean), float(np.sqrt(((gained - mean * size) ** 2).sum()) / size.sum()))

    def likelihoods(self, rows: np.ndarray) -> tuple[float, float]:
        """Mean log-likelihood of a triplet, by own maps and by the common ones."""
        rows = rows[np.isfinite(self.own[rows])]
        weight = self.data._weights[rows]
        return tuple(  # type: ignore[return-value]
            float(np.average(values[rows], weights=weight)) for values in (self.own, self.common)
        )

    def _log_likelihood(self, model: Any, rows: np.ndarray) -> np.ndarray:
        # Items that a map does not place have even chances there.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = model.predict_proba(self.data[rows])[:, 1]
        return np.log(np.maximum(given, np.finfo(float).tiny))


def ridge_for_few(model: Any, triplets: Triplets) -> dict[str, float]:
    """Return the ridge with which maps of parts of the answers are fitted, as settings.

    Few answers set a map no limits. So where unseen answers did not choose the ridge, it is at
    least that of a normal prior as wide as the map of all. That one may itself have no limits: it
    is first fitted with a ridge of 1, the unit being that of the noise.
    """
    if "regularization" not in model.get_params(deep=False):
        return {}
    ridge = 1.0
    for _ in range(ROUNDS):
        held = fitted_alike(model, triplets, {"regularization": ridge})
        square = float(np.nanmean(held.embedding_**2))
        ridge = 1 / square if square > 0 else ridge
    return {"regularization": max(model.regularization, ridge)}


def fitted_alike(model: Any, triplets: Triplets, settings: dict[str, float]) -> Any:
    """Fit a map to other answers, from where another is and without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the map of all answers was warned of when it was made
        return model._fitted_again(triplets, **settings)
