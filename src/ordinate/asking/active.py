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

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ordinate._base.checks import check_number, check_whole, random_generator
from ordinate._base.messages import Message, Option, some
from ordinate.asking.designs import (
    CHECKS,
    REPEATS,
    Questions,
    Shares,
    about_landmarks,
    count_questions,
    draw_questions,
    question_code,
    refuse_more_than,
)
from ordinate.asking.new_items import (
    check_chooses,
    questions_about_new,
    refuse_beside,
)
from ordinate.data.rows import check_rows
from ordinate.kernels.losses import Loss

RANDOM_SHARE = 0.2
UNKNOWN = 0.45  # mean error of places over the size of the map from which on all is asked at random
ROUNDS = 4
CANDIDATES = 40  # for each question that is wanted
AT_MOST = 1.5  # times its share that an item may occur in a batch
DIRECTIONS = 20  # for each landmark, among which spread ones are chosen
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def next_questions(
    model: Any,
    n_questions: int,
    *,
    about: Sequence[Any] | None = None,
    new: Sequence[Any] | None = None,
    answers: Any = None,
    among: Any = None,
    random_share: float | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Choose the questions that will teach most, as an array.

    There are no repeats and no checks among them; :func:`choose_questions` makes lists with both.

    Parameters
    ----------
    model : estimator
        Fitted; one that answers with probabilities and knows its ``covariance_``.
    n_questions : int
    about, new, answers, among
        As for :func:`choose_questions`: items of the map to ask about, or such as have no place
        there yet, with the answers about these so far; or the only questions that can be asked.
    random_share : float
        Share of the questions that is drawn at random; by default a fifth, or none about new items.
        While the map is mostly chance, all are.
    random_state : int, Generator or None
        For the questions drawn at random, and the candidates among which the best are found.

    Returns
    -------
    ndarray of int, shape (n_questions, 3)
        Ids of the anchor, the first and the second item.

    Examples
    --------
    A study, after its first 300 answers; ``ask`` is whoever answers with rows (anchor, near, far).

    >>> import numpy as np
    >>> import ordinate
    >>> truth = 3 * ordinate.sample_points(30, random_state=0)
    >>> def ask(questions):
    ...     anchor, first, second = truth[questions.T]
    ...     nearer = ((anchor - first) ** 2).sum(axis=1) < ((anchor - second) ** 2).sum(axis=1)
    ...     return np.where(nearer[:, None], questions, questions[:, [0, 2, 1]])
    >>> first = ordinate.asking.design_questions(30, 300, random_state=0, repeats=0, checks=0)
    >>> model = ordinate.STE(regularization=0.1, random_state=0).fit(ask(first.rows))
    >>> for _ in range(5):
    ...     questions = ordinate.asking.next_questions(model, 100)
    ...     answers = ask(questions)
    ...     model = model.partial_fit(answers)
    >>> questions.shape
    (100, 3)
    """
    chosen = choose_questions(
        model,
        check_whole("n_questions", n_questions),
        about=about,
        new=new,
        answers=answers,
        among=among,
        random_share=random_share,
        repeats=0,
        checks=0,
        random_state=random_state,
    )
    return chosen.rows


def choose_questions(
    model: Any,
    budget: int,
    *,
    about: Sequence[Any] | None = None,
    new: Sequence[Any] | None = None,
    answers: Any = None,
    among: Any = None,
    landmarks: int | None = None,
    random_share: float | None = None,
    repeats: float = REPEATS,
    checks: float = CHECKS,
    blocks: int = 1,
    random_state: Any = None,
) -> Questions:
    """Choose the questions that will teach most, and say which of them are drawn at random.

    Parameters
    ----------
    model : estimator
        Fitted; one that answers with probabilities and knows its ``covariance_``.
    budget : int
        Number of questions, repeats and checks included.
    about : sequence of labels, optional
        Items of the map; each question is about one of them at least.
    new : sequence of labels, optional
        Items that have no place in the map yet: place each with as few answers as can be. It is
        the anchor of all its questions, which cut the map in halves, and then what is left of it,
        like a search. Their ids come after those of the map; where items are ids, so are labels.
    answers : triplets in any form, optional
        With `new`: what has been answered about these items so far, as :meth:`place` takes it.
    among : array-like of int, shape (k, 3), optional
        The only questions that can be asked, by ids: anchor, first, second.
    landmarks : int, optional
        Ask about as many items on the rim of the map instead, each the anchor of equally many
        comparisons of all others: the way to maps of very many items from noisy answers. Seen
        from far out, distances of two items differ most.
    random_share : float
        Share of the questions that is drawn at random, whatever the map: it is these that tell
        honestly how well a map predicts. By default a fifth; none of those about new items. All
        are, while places are uncertain by more than 0.45 times the size of the map: a map that is
        mostly chance chooses worse than chance.
    repeats, checks, blocks
        As for :func:`design_questions`.
    random_state : int, Generator or None

    Returns
    -------
    Questions
    """
    shares = Shares.of(budget, repeats, checks, blocks)
    if random_share is None:
        random_share = 0.0 if new is not None else RANDOM_SHARE
    random_share = check_number("random_share", random_share, least=0, below=np.nextafter(1, 2))
    rng = random_generator(random_state)
    if new is not None or answers is not None:
        refuse_beside("new", about=about, among=among, landmarks=landmarks)
        n_random = round(random_share * shares.new)
        rows, source, items = questions_about_new(model, new, answers, shares.new, n_random, rng)
        return shares.arranged(rows, source, "triplet", items, rng)
    points, covariance = places_of(model)
    placed = np.flatnonzero(~np.isnan(points).any(axis=1))
    wanted = placed if about is None else _ids(model, about, placed)
    if among is None:
        draw = partial(_drawn, placed, wanted)
        possible = count_questions(len(placed)) - count_questions(len(placed) - len(wanted))
    else:
        refuse_beside("among", landmarks=landmarks)
        pool = _pool(among, len(points), placed, wanted)
        draw, possible = partial(_drawn_among, pool, len(points)), len(pool)
    refuse_more_than(possible, shares.new)
    known = about is not None or uncertainty(points, covariance) <= UNKNOWN
    n_random = round(random_share * shares.new) if known else shares.new
    if landmarks is None:
        loss = model._loss(points.shape[1])
        free = wanted if len(wanted) < len(placed) else wanted[:0]
        active = _best(points, covariance, loss, draw, free, shares.new - n_random, rng)
    else:
        far_out = on_the_rim(points[placed], landmarks, rng)
        refuse_more_than(len(far_out) * math.comb(len(placed) - 1, 2), shares.new - n_random)
        active = placed[about_landmarks(far_out, len(placed), shares.new - n_random, rng)]
    others = draw(n_random, rng, besides=active)
    rows = np.concatenate([active, others])
    source = np.repeat(["active", "random"], [len(active), len(others)])
    order = rng.permutation(len(rows))
    return shares.arranged(rows[order], source[order], "triplet", placed, rng)


def on_the_rim(points: np.ndarray, n_landmarks: int, rng: np.random.Generator) -> np.ndarray:
    """Choose items far out, each the farthest not yet taken in one of evenly spread directions."""
    n, d = points.shape
    n_landmarks = check_whole("landmarks", n_landmarks, most=n)
    # Of many random directions, each as far as can be from those before.
    directions = rng.normal(size=(DIRECTIONS * n_landmarks, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    spread = [0]
    nearest = directions @ directions[0]
    while len(spread) < n_landmarks:
        spread.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, directions @ directions[spread[-1]])
    centred = points - points.mean(axis=0)
    free = np.ones(n, bool)
    for direction in directions[spread]:
        free[np.where(free, centred @ direction, -np.inf).argmax()] = False
    return np.flatnonzero(~free)


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
    draw: Callable[..., np.ndarray],
    free: np.ndarray,
    n_questions: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Choose questions round by round among many that are drawn.

    No item takes more than its share, but those that are free to.
    """
    chosen = np.empty((0, 3), int)
    placed = np.flatnonzero(~np.isnan(points).any(axis=1))
    precision = np.linalg.inv(covariance[placed])
    covariance = covariance.copy()
    used = np.zeros(len(points), int)
    share = 3 * n_questions / len(placed)
    for k in range(ROUNDS):
        size = n_questions * (k + 1) // ROUNDS - len(chosen)
        if size <= 0:
            continue
        candidates = draw(CANDIDATES * size, rng, besides=chosen)
        gains = gain(points, covariance, loss, candidates)
        limit = np.full(len(points), np.ceil(AT_MOST * share * (k + 1) / ROUNDS))
        limit[free] = np.inf
        best = _spread(candidates[np.argsort(-gains, kind="stable")], size, used, limit)
        chosen = np.concatenate([chosen, best])
        z, slopes = _slopes(points, loss, best)
        information = loss.penalty.curvature(z, *loss.penalty_shape)
        place = np.searchsorted(placed, best.T)
        for item, slope in zip(place, slopes, strict=True):
            taught = information[:, None, None] * slope[:, :, None] * slope[:, None, :]
            np.add.at(precision, item, taught)
        covariance[placed] = np.linalg.inv(precision)
    return chosen


def _spread(candidates: np.ndarray, size: int, used: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Take the first questions whose items have not reached their limit; then any."""
    taken: list[int] = []
    left: list[int] = []
    pieces = (
        candidates[start : start + size].tolist() for start in range(0, len(candidates), size)
    )
    for row, (i, j, k) in enumerate(chain.from_iterable(pieces)):
        if used[i] < limit[i] and used[j] < limit[j] and used[k] < limit[k]:
            taken.append(row)
            used[[i, j, k]] += 1
            if len(taken) == size:
                break
        else:
            left.append(row)
    return candidates[taken + left[: size - len(taken)]]


def _drawn(
    placed: np.ndarray,
    wanted: np.ndarray,
    size: int,
    rng: np.random.Generator,
    besides: np.ndarray,
) -> np.ndarray:
    """Draw different questions about wanted and other placed items, but not those given.

    Fewer than ``size`` where there are no more.
    """
    n = int(placed[-1]) + 1
    without = count_questions(len(placed) - len(wanted))
    possible = count_questions(len(placed)) - without
    if 2 * (size + len(besides)) > possible:
        drawn = placed[draw_questions(len(placed), count_questions(len(placed)), rng)]
        drawn = drawn[np.isin(drawn, wanted).any(axis=1)]
    else:
        # Some are drawn twice, or were given: of twice as many, enough are left.
        drawn = np.empty((0, 3), int)
        while len(drawn) < size:
            more = _about(placed, wanted, 2 * size, rng)
            more = more[~np.isin(question_code(more, n), question_code(besides, n))]
            drawn = np.concatenate([drawn, more])
            drawn = drawn[np.sort(np.unique(question_code(drawn, n), return_index=True)[1])]
        return drawn[:size]
    return drawn[~np.isin(question_code(drawn, n), question_code(besides, n))][:size]


def _pool(among: Any, n: int, placed: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the different questions among those given that are about wanted and placed items."""
    rows = check_rows(among, n)[0].astype(int)
    rows = rows[np.isin(rows, placed).all(axis=1) & np.isin(rows, wanted).any(axis=1)]
    return rows[np.unique(question_code(rows, n), return_index=True)[1]]


def _drawn_among(
    pool: np.ndarray, n: int, size: int, rng: np.random.Generator, besides: np.ndarray
) -> np.ndarray:
    """Draw different questions from a pool, but not those given; fewer if there are no more."""
    left = pool[~np.isin(question_code(pool, n), question_code(besides, n))]
    drawn = left[rng.permutation(len(left))[:size]]
    drawn[:, 1:] = rng.permuted(drawn[:, 1:], axis=1)
    return drawn


def _about(
    placed: np.ndarray, wanted: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw questions, each about a wanted item in a random place and two other placed ones."""
    i = rng.choice(np.searchsorted(placed, wanted), size)
    j = rng.integers(len(placed) - 1, size=size)
    j += j >= i
    k = rng.integers(len(placed) - 2, size=size)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return rng.permuted(placed[np.column_stack([i, j, k])], axis=1)


def places_of(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return places and covariances of a fitted model, or raise if it has none to choose by."""
    check_chooses(model)
    try:
        return model.embedding_, model.covariance_
    except AttributeError as error:  # saved without, or its table was changed since
        raise ValueError(str(error)) from None


def _ids(model: Any, about: Sequence[Any], placed: np.ndarray) -> np.ndarray:
    """Return the ids of labels, or raise if they are not on the map."""
    id_of = {label: k for k, label in enumerate(model.items_.tolist())}
    unknown = [label for label in about if id_of.get(label) not in placed]
    if unknown:
        raise ValueError(
            Message(
                Option("about"),
                f" names items that have no place in the map: {some(unknown)}. Ask about "
                "these with ",
                Option("new"),
            )
        )
    return np.unique([id_of[label] for label in about])
