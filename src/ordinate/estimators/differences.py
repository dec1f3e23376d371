"""Whether participants stretch the axes of a common map, judged by answers not seen."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ordinate._base.checks import random_generator
from ordinate.algorithms.participants import Rows
from ordinate.algorithms.stretching import Own, Seen, Stretched, turned
from ordinate.data.folds import shuffled_folds
from ordinate.estimators.likelihood import check_likelihood
from ordinate.evaluation.group_gains import Gain, fitted_alike, ridge_for_few
from ordinate.files.inputs import as_triplets

FOLDS = 5
TURNS = 2  # starts whose axes are turned at random, beside the map's own
# How far participants may differ, as tried (:class:`Own`); unseen answers choose.
CLARITIES, AXES = (0.0, 0.3, 1.0), (0.0, 0.2, 0.5)
NONE = 1e-6  # log-likelihood per answer that counts as no difference


class IndividualDifferences(NamedTuple):
    """A common map whose axes participants stretch, and whether that predicts their answers.

    Attributes
    ----------
    participant : ndarray, shape (p,)
    weights : ndarray, shape (p, d)
        What squared differences along each axis count for each participant; 1 on average.
    embedding : ndarray, shape (n, d)
        The common map, along the axes that are stretched, the longest first. Unlike those of other
        maps, these axes have a meaning: turned, it would be another map.
    items : ndarray, shape (n,)
    gain, error : float
        By how much axes of their own raise the log-likelihood of an unseen answer above that of
        a clarity of their own, one number for all axes; and its standard error.
    clarity_gain, clarity_error : float
        The same of a clarity of their own, above nothing of their own. Both numbers are 0 where
        unseen answers are predicted best without any difference.
    """

    participant: np.ndarray
    weights: np.ndarray
    embedding: np.ndarray
    items: np.ndarray
    gain: float
    error: float
    clarity_gain: float
    clarity_error: float

    @property
    def helps(self) -> bool:
        """Whether unseen answers are predicted better with axes of their own."""
        return Gain(self.gain, self.error).beyond_chance

    def as_dict(self) -> dict[str, Any]:
        """Return what was found, without the map and the weights, as plain values for JSON."""
        numbers = ("gain", "error", "clarity_gain", "clarity_error")
        found = {name: getattr(self, name) for name in numbers}
        return {"told": str(self), "helps": bool(self.helps), **found}

    def __str__(self) -> str:
        axes = _in_words(Gain(self.gain, self.error), "axes")
        clarity = _in_words(Gain(self.clarity_gain, self.clarity_error), "a clarity")
        return f"the participants' answers are predicted {axes}, and {clarity}"


def individual_differences(
    estimator: Any, triplets: Any, *, random_state: Any = 0
) -> IndividualDifferences:
    """Fit a common map whose axes each participant stretches, and test whether that helps.

    The squared distance of two items for participant p is ``sum_k w_pk (x_ik - x_jk)^2``. Weights
    are drawn to 1, the more so the fewer answers a participant gave. How strongly they are drawn,
    unseen answers choose, and may choose that all weights are 1: so where people do not differ, or
    answers are too few to tell, nothing is lost. Someone whose answers are clear has large weights
    on all axes: what is tested is whether weights that differ between axes predict unseen answers
    better than one number for all axes, paired by answer.

    Parameters
    ----------
    estimator : estimator with probabilities
        What makes the common map to begin with, and says how answers follow distances. One that is
        fitted to the same items is used as it is.
    triplets : triplets in any form, which say who answered
    random_state : int, Generator or None
        For dealing answers into parts, and turning starts.

    Returns
    -------
    IndividualDifferences

    Examples
    --------
    >>> from ordinate import STE, Triplets, individual_differences, sample_points, sample_triplets
    >>> rows = sample_triplets(sample_points(15, random_state=0), 2000, random_state=0).rows
    >>> triplets = Triplets(rows, participant=[row % 4 for row in range(2000)])
    >>> found = individual_differences(STE(random_state=0), triplets)
    >>> found.helps
    False
    """
    triplets = as_triplets(triplets)
    people = Rows.of(triplets)
    check_likelihood(estimator)
    if len(people.labels) < 2:
        raise ValueError("individual differences need answers of at least two participants")
    generator = random_generator(random_state)
    model = estimator if hasattr(estimator, "embedding_") else clone(estimator).fit(triplets)
    if not np.array_equal(model.items_, triplets.items):
        raise ValueError("the estimator is fitted to other items: give one that is not fitted")
    if model.embedding_.shape[1] < 2:
        raise ValueError(
            "a map in one dimension has no axes that could differ: take two dimensions or more"
        )
    loss = model._loss(model.embedding_.shape[1])
    made = getattr(model, "maker_", {"regularization": getattr(model, "regularization", 0.0)})
    start, few = model.embedding_, ridge_for_few(model, triplets)
    if few:  # without that ridge a map of few answers may be far too large to begin with
        start, made = fitted_alike(model, triplets, few).embedding_, made | few
    ridge = made["regularization"] / getattr(model, "scale_", 1.0) ** 2

    def seen(rows: Any) -> Seen:
        return Seen(triplets[rows], people.who[rows], len(people.labels), loss, ridge)

    starts = turned(np.nan_to_num(start), TURNS, generator)
    fold = shuffled_folds(people.answer, np.full(FOLDS, 1 / FOLDS), generator)
    part = np.empty(people.answer.max() + 1, int)  # of each answer
    part[people.answer] = fold

    def predicted(own: Own) -> np.ndarray:
        """Log-likelihood of each answer, by a map of the other parts of the answers."""
        found = np.empty(len(triplets))
        for k in range(FOLDS):
            test = fold == k
            fitted = _best(seen(~test), starts, own)
            found[test] = fitted.log_likelihood(triplets[test], people.who[test], loss)
        return np.bincount(people.answer, people.weight * found)

    clearer = {width: predicted(Own(width)) for width in CLARITIES}
    clarity = _narrowest(clearer)
    wider = {0.0: clearer[clarity]}
    wider |= {width: predicted(Own(clarity, width)) for width in AXES if width > 0}
    axes = _narrowest(wider)
    best = _longest_first(_best(seen(slice(None)), starts, Own(clarity, axes)))
    return IndividualDifferences(
        people.labels,
        best.weights,
        np.where(np.isnan(model.embedding_), np.nan, best.points),
        model.items_,
        *_gain(wider, part),
        *_gain(clearer, part),
    )


def _in_words(gain: Gain, what: str) -> str:
    better = "better" if gain.beyond_chance else "no better"
    told = f"{gain} in log-likelihood per unseen answer"
    if not gain.error:
        told = "best without any difference"
    return f"{better} with {what} of their own ({told})"


def _best(seen: Seen, starts: list[np.ndarray], own: Own) -> Stretched:
    """The best of fits from starts whose axes differ, where that makes a difference."""
    tries = [seen.fit(start, own) for start in (starts if own.axes else starts[:1])]
    return min(tries, key=lambda tried: tried.value)


def _narrowest(found: dict[float, np.ndarray]) -> float:
    """Return the least width that predicts answers as well as the best, within a standard error.

    ``found`` has the log-likelihood of each answer, by width.
    """
    best = max(found, key=lambda width: found[width].sum())
    behind = {width: _mean(found[best] - found[width]) for width in found}
    return min(width for width, (mean, error) in behind.items() if mean <= error + NONE)


def _gain(found: dict[float, np.ndarray], part: np.ndarray) -> Gain:
    """What differences of a width add to the log-likelihood of unseen answers, on average.

    The width is chosen for each part by the others. One of the widths is 0: so where differences
    do not help, nothing is lost.
    """
    more = np.zeros(len(part))
    for k in range(FOLDS):
        test = part == k
        width = _narrowest({width: values[~test] for width, values in found.items()})
        more[test] = (found[width] - found[0.0])[test]
    return _mean(more)


def _mean(of_answers: np.ndarray) -> Gain:
    error = of_answers.std(ddof=1) / np.sqrt(len(of_answers))
    return Gain(float(of_answers.mean()), float(error))


def _longest_first(found: Stretched) -> Stretched:
    order = np.argsort(-(found.points**2).sum(axis=0), kind="stable")
    return found._replace(points=found.points[:, order], weights=found.weights[:, order])
