"""The next questions: those whose answers will teach most, given the map and how sure it is.

By the model, the answer to a question depends on z = link(near) - link(far). Where the items lie is
known up to normal errors with covariances C, so z is known up to its variance s^2, the sum of
v' C v over the three items, v being the derivative of z in the item's coordinates. What an answer
teaches is the expected fall of the entropy of the map, which is that of the answer: how open it is,
less how open it would be if z were known,

    gain = h(E f(z)) - E h(f(z)),    z ~ N(z0, s^2).

A question of which the map is sure teaches nothing, nor does one between two equal distances that
are known already. A batch is chosen in rounds; each makes the covariances smaller by what its
questions will teach, whatever the answers, so that the next round asks about other items.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate._base.checks import check_number, check_whole, random_generator
from ordinate._base.messages import Message, Option, some
from ordinate.asking.designs import Questions, different, draw_questions
from ordinate.kernels.losses import Loss

RANDOM_SHARE = 0.2
UNKNOWN = 0.45  # mean error of places over the size of the map from which on all is asked at random
ROUNDS = 4
CANDIDATES = 40  # for each question that is wanted
AT_MOST = 1.5  # times its share that an item may occur in a batch
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def next_questions(
    model: Any,
    n_questions: int,
    *,
    about: Sequence[Any] | None = None,
    random_share: float = RANDOM_SHARE,
    random_state: Any = None,
) -> np.ndarray:
    """Choose the questions that will teach most; see :func:`choose_questions`.

    Returns
    -------
    ndarray of int, shape (n_questions, 3)
        Ids of the anchor, the first and the second item.

    Examples
    --------
    >>> from ordinate import STE, asking, sample_points, sample_triplets
    >>> points = 3 * sample_points(30, random_state=0)
    >>> model = STE(random_state=0).fit(sample_triplets(points, 600, random_state=0))
    >>> asking.next_questions(model, 100, random_state=0).shape
    (100, 3)
    """
    chosen = choose_questions(
        model, n_questions, about=about, random_share=random_share, random_state=random_state
    )
    return chosen.rows


def choose_questions(
    model: Any,
    n_questions: int,
    *,
    about: Sequence[Any] | None = None,
    random_share: float = RANDOM_SHARE,
    random_state: Any = None,
) -> Questions:
    """Choose the questions that will teach most, and say which of them are drawn at random.

    Parameters
    ----------
    model : estimator
        Fitted; one that answers with probabilities and knows its ``covariance_``.
    n_questions : int
    about : sequence of labels, optional
        Items of the map that each question must be about, one of them at least.
    random_share : float
        Share of the questions that is drawn at random, whatever the map: it is these that tell
        honestly how well a map predicts. All are, while places are uncertain by more than 0.45
        times the size of the map: a map that is mostly chance chooses worse than chance.
    random_state : int, Generator or None

    Returns
    -------
    Questions
        In random order.
    """
    n_questions = check_whole("n_questions", n_questions)
    random_share = check_number("random_share", random_share, least=0, below=np.nextafter(1, 2))
    rng = random_generator(random_state)
    points, covariance = _placed(model)
    allowed = np.flatnonzero(~np.isnan(points).any(axis=1))
    wanted = allowed if about is None else _ids(model, about, allowed)
    known = about is not None or uncertainty(points, covariance) <= UNKNOWN
    n_random = round(random_share * n_questions) if known else n_questions
    loss = model._loss(points.shape[1])
    active = _best(points, covariance, loss, allowed, wanted, n_questions - n_random, rng)
    others = _drawn(allowed, wanted, n_random, rng, besides=active)
    rows = np.concatenate([active, others])
    source = np.repeat(["active", "random"], [len(active), len(others)])
    order = rng.permutation(len(rows))
    return Questions(rows[order], source[order], np.ones(len(rows), int))


def uncertainty(points: np.ndarray, covariance: np.ndarray) -> float:
    """Return the typical error of a place, over the typical distance from the middle of the map."""
    centred = points - np.nanmean(points, axis=0)
    variance = np.nansum(np.trace(covariance, axis1=1, axis2=2))
    return float(np.sqrt(variance / np.nansum(centred**2)))


def gain(points: np.ndarray, covariance: np.ndarray, loss: Loss, rows: np.ndarray) -> np.ndarray:
    """Return what the answers to questions teach, in nats."""
    z, slopes = _slopes(points, loss, rows)
    variance = sum(
        np.einsum("md,mde,me->m", slope, covariance[item], slope)
        for item, slope in zip(rows.T, slopes, strict=True)
    )
    possible = z[:, None] + np.sqrt(variance)[:, None] * NODES
    first = np.exp(-loss.penalty.value(possible, *loss.penalty_shape))
    return np.maximum(_entropy(first @ WEIGHTS) - _entropy(first) @ WEIGHTS, 0)


def _entropy(p: np.ndarray) -> np.ndarray:
    from scipy.special import entr

    return entr(p) + entr(1 - p)


def _slopes(
    points: np.ndarray, loss: Loss, rows: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return z of each question, and its derivatives in the coordinates of the three items."""
    anchor, first, second = points[rows.T]
    to_first, to_second = anchor - first, anchor - second
    near, far = (to_first**2).sum(axis=1), (to_second**2).sum(axis=1)
    by_first = 2 * loss.link.slope(near, *loss.link_shape)[:, None] * to_first
    by_second = 2 * loss.link.slope(far, *loss.link_shape)[:, None] * to_second
    return loss.argument(near, far), (by_first - by_second, -by_first, by_second)


def _best(
    points: np.ndarray,
    covariance: np.ndarray,
    loss: Loss,
    allowed: np.ndarray,
    wanted: np.ndarray,
    n_questions: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Choose questions round by round among many drawn at random."""
    chosen = np.empty((0, 3), int)
    precision = np.linalg.inv(covariance[allowed])
    covariance = covariance.copy()
    # No item takes more than its share, but those that every question is about.
    used = np.zeros(len(points), int)
    share = 3 * n_questions / len(allowed)
    for k in range(ROUNDS):
        size = n_questions * (k + 1) // ROUNDS - len(chosen)
        if size <= 0:
            continue
        candidates = _drawn(allowed, wanted, CANDIDATES * size, rng, besides=chosen)
        gains = gain(points, covariance, loss, candidates)
        limit = np.full(len(points), np.ceil(AT_MOST * share * (k + 1) / ROUNDS))
        limit[wanted if len(wanted) < len(allowed) else []] = np.inf
        best = _spread(candidates[np.argsort(-gains, kind="stable")], size, used, limit)
        chosen = np.concatenate([chosen, best])
        z, slopes = _slopes(points, loss, best)
        information = loss.penalty.curvature(z, *loss.penalty_shape)
        place = np.searchsorted(allowed, best.T)
        for item, slope in zip(place, slopes, strict=True):
            taught = information[:, None, None] * slope[:, :, None] * slope[:, None, :]
            np.add.at(precision, item, taught)
        covariance[allowed] = np.linalg.inv(precision)
    return chosen


def _spread(candidates: np.ndarray, size: int, used: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Take the first questions whose items have not reached their limit; then any."""
    taken, left = [], []
    for row, (i, j, k) in enumerate(candidates.tolist()):
        if used[i] < limit[i] and used[j] < limit[j] and used[k] < limit[k]:
            taken.append(row)
            used[[i, j, k]] += 1
            if len(taken) == size:
                break
        else:
            left.append(row)
    return candidates[taken + left[: size - len(taken)]]


def _drawn(
    allowed: np.ndarray,
    wanted: np.ndarray,
    size: int,
    rng: np.random.Generator,
    besides: np.ndarray,
) -> np.ndarray:
    """Draw different questions about allowed items, and about wanted ones, besides those given."""
    ...


def _placed(model: Any) -> tuple[np.ndarray, np.ndarray]:
    ...


def _ids(model: Any, about: Sequence[Any], allowed: np.ndarray) -> np.ndarray:
    ...
