"""How good a map is: against the truth, against answers, against classes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_points, check_whole
from ordinate._base.threads import blocks, run
from ordinate.data.columns import SOURCES
from ordinate.data.simulate import pair_distances, sample_triplets
from ordinate.data.summary import Ceiling, ceiling
from ordinate.data.triplets import Triplets
from ordinate.evaluation.three_way import CHANCE as THREE_WAY_CHANCE
from ordinate.evaluation.three_way import ThreeWay, three_way
from ordinate.files.inputs import as_triplets

BLOCK = 1 << 18
CHANCE = 0.5  # share of triplets that a coin gets right


class Accuracy(NamedTuple):
    """The share of triplets that a map gets right, and how far that can be trusted.

    Attributes
    ----------
    accuracy : float
        Rows count by their weight, ties half.
    error : float
        Its standard error, from the spread between answers: rows of one answer count as one. It is
        computed as if two more answers had been right and two wrong (Agresti and Coull, 1998), so
        that a few answers that are all right are not taken for certainty.
    chance_error : float
        The same if the map knew nothing and every answer were right or wrong by chance.
    n_triplets, n_answers : int
    ceiling : Ceiling or None
        What any map can reach, where questions were asked more than once.
    three_way : ThreeWay or None
        How often the map picks the same of three items, where that was asked.
    by_source : BySource or None
        Where some questions were chosen by a map: the accuracy on those drawn at random, of which
        all of the above is then, and on chosen ones.
    """

    accuracy: float
    error: float
    chance_error: float
    n_triplets: int
    n_answers: int
    ceiling: Ceiling | None = None
    three_way: ThreeWay | None = None
    by_source: "BySource | None" = None

    def __str__(self) -> str:
        return beside_chance(self.accuracy, self.error, self.ceiling and self.ceiling.high)


class BySource(NamedTuple):
    """Accuracy on questions drawn at random, None if there are none, and on those that were chosen.

    A map chooses the questions whose answers it cannot tell, so that its accuracy on them says
    little about others. Repeated questions count as what they repeat.
    """

    random: Accuracy | None
    active: Accuracy


def beside_chance(
    accuracy: float, error: float, ceiling: float | None = None, chance: float = CHANCE
) -> str:
    """Write an accuracy as it is always shown: with its standard error, and what a coin gets.

    The ceiling, the most that any map can reach, is told where it is known.

    Examples
    --------
    >>> beside_chance(0.931, 0.004)
    '93.1% ± 0.4% (chance 50%)'
    >>> beside_chance(0.931, 0.004, 0.957)
    '93.1% ± 0.4% (chance 50%, ceiling 95.7%)'
    """
    return f"{accuracy:.1%} ± {error:.1%} {levels(ceiling, chance)}"


def levels(ceiling: float | None, chance: float = CHANCE) -> str:
    """Write what an accuracy lies between."""
    most = "" if ceiling is None else f", ceiling {ceiling:.1%}"
    return f"(chance {chance:.0%}{most})"


def in_words(record: Mapping[str, Any], chance: float = CHANCE) -> str:
    """Write an accuracy that was recorded as plain values, by :func:`as_plain` or in a file."""
    ceiling = record.get("ceiling") or {}
    return beside_chance(record["accuracy"], record["error"], ceiling.get("high"), chance)


def three_way_in_words(record: Mapping[str, Any]) -> str:
    """Write how often a map picks the same of three items; nothing where that was not asked."""
    found = record.get("three_way")
    return "" if found is None else f"three-way {in_words(found, THREE_WAY_CHANCE)}"


def by_source_in_words(record: Mapping[str, Any]) -> str:
    """Say which questions an accuracy is of, where some were chosen by a map; else nothing."""
    found = record.get("by_source")
    if found is None:
        return ""
    if found["random"] is None:
        return (
            "questions that were all chosen, as ones whose answers are hard to tell: it says "
            "little about others"
        )
    return (
        "questions drawn at random; of those that were chosen, as ones whose answers are hard to "
        f"tell, it is {in_words(found['active'])}, {found['active']['n_triplets']:,} triplets, "
        "which says little about others"
    )


def as_plain(judged: Any) -> dict[str, Any]:
    """Return an accuracy with all that belongs to it as plain values for JSON."""
    found = {}
    for name, value in judged._asdict().items():
        value = value.tolist() if isinstance(value, np.ndarray) else value
        found[name] = as_plain(value) if hasattr(value, "_asdict") else value
    return found


class Calibration(NamedTuple):
    """How far probabilities can be taken at their word.

    Attributes
    ----------
    error : float
        The expected calibration error: by how much the share that came true differs from the
        probability, on average over bins of equal count. Chance alone makes it a little more than
        0: about ``0.4 * sqrt(n_bins / n)``, for n predictions.
    predicted, observed : ndarray, shape (n_bins,)
        Mean probability, and the share that came true, of each bin.
    counts : ndarray of int, shape (n_bins,)
    """

    error: float
    predicted: np.ndarray
    observed: np.ndarray
    counts: np.ndarray


def align(points: Any, reference: Any, *, scale: bool = False) -> np.ndarray:
    """Move, rotate and mirror a map so that it is as close to the reference as possible.

    Parameters
    ----------
    points, reference : array-like, shape (n, d)
    scale : bool
        Also stretch it, by one factor.

    Returns
    -------
    ndarray, shape (n, d)
        The aligned map, with the reference's mean.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinate import align
    >>> square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    >>> turned = square @ [[0, 1], [-1, 0]] + 5
    >>> bool(np.allclose(align(turned, square), square))
    True
    """
    X, reference = _same_shape(points, reference)
    centre = reference.mean(axis=0)
    X, Y = X - X.mean(axis=0), reference - centre
    # The best orthogonal Q for min |X Q - Y| is U V' of X'Y = U S V'; the best factor tr S / |X|^2.
    U, S, Vt = np.linalg.svd(X.T @ Y)
    norm = (X**2).sum()
    factor = S.sum() / norm if scale and norm > 0 else 1.0
    return factor * X @ (U @ Vt) + centre


def procrustes_error(
    points: Any, reference: Any, *, scale: bool = False, relative: bool = False
) -> float:
    """Return the Frobenius distance of two maps after the best alignment.

    That is ``min |X Q - Y|`` over orthogonal Q, both centred: the paper's Procrustes distance.

    Parameters
    ----------
    points, reference : array-like, shape (n, d)
        The map to judge, and the truth.
    scale : bool
        Also allow the best factor.
    relative : bool
        Divide by the norm of the centred reference.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinate import procrustes_error, sample_points
    >>> truth = sample_points(100, random_state=0)
    >>> print(f"{procrustes_error(1.1 * truth, truth, relative=True):.3f}")
    0.100
    >>> print(f"{procrustes_error(1.1 * truth, truth, scale=True):.3f}")
    0.000
    """
    X, Y = _same_shape(points, reference)
    error = np.linalg.norm(align(X, Y, scale=scale) - Y)
    if not relative:
        return float(error)
    norm = np.linalg.norm(Y - Y.mean(axis=0))
    if norm == 0:
        raise ValueError("a relative error needs a reference whose points are not all the same")
    return float(error / norm)


def triplet_error(
    embedding: Any,
    triplets: Any = None,
    *,
    truth: Any = None,
    n_triplets: int = 100_000,
    random_state: Any = None,
) -> float:
    """Return the share of triplets that a map gets wrong; ties count half, rows by their weight.

    Parameters
    ----------
    embedding : array-like, shape (n_items, d)
    triplets : triplets in any form
        The answers to compare with.
    truth : array-like, shape (n_items, d'), optional
        True positions, in place of `triplets`: questions are drawn at random and answered by them.
    n_triplets : int
        How many questions to draw, with `truth`.
    random_state : int, Generator or None
        For drawing them.

    Examples
    --------
    >>> from ordinate import sample_points, triplet_error
    >>> triplet_error([[0.0], [1.0], [3.0]], [[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    0.333...
    >>> truth = sample_points(100, random_state=0)
    >>> triplet_error(-truth, truth=truth, random_state=0)
    0.0
    """
    X = check_points("embedding", embedding)
    if (triplets is None) == (truth is None):
        raise ValueError("give either triplets or truth")
    if truth is not None:
        Y = check_points("truth", truth)
        if len(X) != len(Y):
            raise ValueError(f"embedding has {len(X)} rows, but truth has {len(Y)}")
        n_triplets = check_whole("n_triplets", n_triplets)
        data = sample_triplets(Y, n_triplets, noise="none", random_state=random_state)
    else:
        data = as_triplets(triplets, n_items=len(X))
    return float(1 - np.average(correct(X, data.rows), weights=data.weight))


def accuracy(embedding: Any, triplets: Any) -> Accuracy:
    """Return the share of triplets that a map gets right, with its standard error.

    Parameters
    ----------
    embedding : array-like, shape (n_items, d)
    triplets : triplets in any form

    Examples
    --------
    >>> from ordinate import metrics, sample_points, sample_triplets
    >>> truth = sample_points(100, random_state=0)
    >>> answers = sample_triplets(truth, 10_000, noise=0.2, random_state=0)
    >>> print(metrics.accuracy(truth, answers))
    80.6% ± 0.4% (chance 50%)
    """
    X = check_points("embedding", embedding)
    data = as_triplets(triplets, n_items=len(X))
    return judge_fully(correct(X, data.rows), data)


def judge_fully(right: np.ndarray, triplets: Triplets) -> Accuracy:
    """Sum up which triplets are right, beside what any map can reach, and by three-way answers."""
    drawn = drawn_at_random(triplets)
    apart = None if drawn is None else judge_apart(right, triplets, drawn)
    if drawn is not None and drawn.any():
        right, triplets = right[drawn], triplets[drawn]
    return judge(right, triplets)._replace(
        ceiling=ceiling(triplets._agreement),
        three_way=three_way(right, triplets),
        by_source=apart,
    )


def drawn_at_random(triplets: Triplets) -> np.ndarray | None:
    """Tell which rows answer questions drawn at random, or repeat such; None if none is chosen."""
    random, active, repeat = (SOURCES.index(word) for word in ("random", "active", "repeat"))
    source = triplets.source
    if source is None or not (source == active).any():
        return None
    question, _ = triplets._asked
    of_drawn = np.isin(question, question[source == random])
    return (source == random) | (source == repeat) & of_drawn


def judge_apart(right: np.ndarray, triplets: Triplets, drawn: np.ndarray) -> BySource | None:
    """Sum up questions drawn at random and chosen ones; those of unknown source are neither."""
    chosen = ~drawn & (triplets.source >= 0)  # type: ignore[operator]
    if not chosen.any():
        return None
    random = judge(right[drawn], triplets[drawn]) if drawn.any() else None
    return BySource(random, judge(right[chosen], triplets[chosen]))


def judge(right: np.ndarray, triplets: Triplets) -> Accuracy:
    """Sum up which triplets are right: 1, 0, or 0.5 for a tie, shape (m,)."""
    weight = triplets._weights
    answer = triplets.groups("answer")
    # Answers are independent, their rows are not: what varies are sums over the rows of an answer.
    size, gained = np.bincount(answer, weight), np.bincount(answer, weight * right)
    total = size.sum()
    chance_error = np.sqrt(((gained - CHANCE * size) ** 2).sum()) / total
    typical = size.mean()
    size = np.append(size, [typical] * 4)
    gained = np.append(gained, [typical, typical, 0, 0])
    error = np.sqrt(((gained - gained.sum() / size.sum() * size) ** 2).sum()) / size.sum()
    return Accuracy(
        float(np.average(right, weights=weight)),
        float(error),
        float(chance_error),
        len(triplets),
        len(size) - 4,
    )


def calibration(
    probabilities: Any, right: Any, *, weight: Any = None, n_bins: int = 10
) -> Calibration:
    """Hold predicted probabilities against what happened: a reliability curve, and its error.

    Parameters
    ----------
    probabilities : array-like, shape (m,)
        That a prediction is right.
    right : array-like, shape (m,)
        1 where it was, 0 where it was not, 0.5 for a tie.
    weight : array-like, shape (m,), optional
        How often each counts.
    n_bins : int
        Bins of equal count; fewer where there are fewer predictions.

    Examples
    --------
    >>> from ordinate import metrics
    >>> round(metrics.calibration([0.6, 0.6, 0.9, 0.9], [1, 0, 1, 1], n_bins=2).error, 3)
    0.1
    """
    p, true = np.asarray(probabilities, dtype=float), np.asarray(right, dtype=float)
    if p.ndim != 1 or p.shape != true.shape or not p.size:
        raise ValueError(
            "probabilities and right must be lists of the same length, one entry per prediction; "
            f"got shapes {p.shape} and {true.shape}"
        )
    for name, values in (("probabilities", p), ("right", true)):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"{name} must lie between 0 and 1")
    w = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    if w.shape != p.shape:
        raise ValueError(f"weight must be of shape {p.shape}; got {w.shape}")
    n_bins = min(check_whole("n_bins", n_bins), len(p))
    place = np.empty(len(p), np.int64)
    place[np.argsort(p, kind="stable")] = np.arange(len(p)) * n_bins // len(p)
    total = np.bincount(place, w)
    predicted, observed = (np.bincount(place, w * values) / total for values in (p, true))
    error = float(np.average(np.abs(predicted - observed), weights=total))
    return Calibration(error, predicted, observed, np.bincount(place))


def judge_probabilities(
    given: np.ndarray, triplets: Triplets, n_bins: int = 10
) -> tuple[float, Calibration]:
    """Judge probabilities (m,) of the answers that were given.

    Returns the mean log-likelihood of a triplet, and the calibration of the likelier answers.
    """
    weight = triplets._weights
    likelihood = np.average(np.log(np.maximum(given, np.finfo(float).tiny)), weights=weight)
    likelier = np.maximum(given, 1 - given)
    right = (1 + np.sign(given - CHANCE)) / 2
    return float(likelihood), calibration(likelier, right, weight=weight, n_bins=n_bins)


def purity(clusters: Any, classes: Any) -> float:
    """Return the share of items that belong to the commonest class of their cluster.

    Parameters
    ----------
    clusters, classes : array-like, shape (n,)

    Examples
    --------
    >>> from ordinate import purity
    >>> purity([0, 0, 0, 1, 1], ["a", "a", "b", "b", "b"])
    0.8
    """
    found, true = np.asarray(clusters), np.asarray(classes)
    if found.ndim != 1 or found.shape != true.shape or found.size == 0:
        raise ValueError(
            "clusters and classes must be lists of the same length, one entry per item; "
            f"got shapes {found.shape} and {true.shape}"
        )
    cluster = np.unique(found, return_inverse=True)[1].reshape(-1)
    kinds, kind = np.unique(true, return_inverse=True)
    table = np.bincount(cluster * len(kinds) + kind.reshape(-1))
    table = np.pad(table, (0, -len(table) % len(kinds))).reshape(-1, len(kinds))
    return float(table.max(axis=1).sum() / len(found))


def correct(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return 1 for each row that the map agrees with, 0.5 for a tie, 0 where it contradicts.

    Where an item has no place (NaN), the map knows no more than that there is a tie.
    """
    agreed = np.empty(len(rows))

    def compare(part: slice) -> None:
        anchor, near, far = rows[part].T
        difference = pair_distances(X, anchor, near) - pair_distances(X, anchor, far)
        agreed[part] = (1 - np.sign(np.nan_to_num(difference))) / 2

    run(compare, blocks(len(rows), BLOCK))
    return agreed


def _same_shape(points: Any, reference: Any) -> tuple[np.ndarray, np.ndarray]:
    X, Y = check_points("points", points), check_points("reference", reference)
    if X.shape != Y.shape:
        raise ValueError(f"points and reference must have the same shape: {X.shape} and {Y.shape}")
    return X, Y
