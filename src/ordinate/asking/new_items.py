"""The questions that place a new item: each cuts the places where it may lie in halves.

Before any answer, a new item lies where others do: its place is normal, with the mean and the
covariance of the map. The belief is a cloud of places drawn from that, or, once there are answers,
around the place that these give, each weighed by how likely it makes the answers. The new item is
the anchor: "which of these two is more like it?" then cuts the map along the line half way between
the two. The best question is the one whose answer is most open before, and least once the place
is known,

    gain = h(E p(x)) - E h(p(x)),    x the place.

Further questions of a batch are asked before the first is answered. So they are chosen for many
people at once who might answer, each with a place drawn from the cloud: what each says to the first
questions changes what is believed for the next, and gains are means over them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.messages import Message, Option, some
from ordinate.asking.designs import refuse_more_than, unranked_pairs
from ordinate.estimators.likelihood import LikelihoodEmbedder, no_probabilities
from ordinate.files.inputs import beyond_labels
from ordinate.kernels.losses import Loss

PLACES = 500  # in a cloud
PEOPLE = 50  # whose answers to the questions before are imagined
PAIRS = 400  # to choose from
WIDER = 2.0  # times the covariance, from which places are drawn, so that none is left out


def questions_about_new(
    model: Any,
    new: Sequence[Any] | None,
    answers: Any,
    n_questions: int,
    n_random: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose questions about items that have no place yet, as many about each.

    Returns the questions, their sources, and the ids of all items that checks may be about.
    """
    check_chooses(model)
    labels = _new_labels(model, new)
    placed = np.flatnonzero(~np.isnan(model.embedding_).any(axis=1))
    points, loss = model.embedding_[placed], model._loss(model.embedding_.shape[1])
    refuse_more_than(len(labels) * (len(placed) * (len(placed) - 1) // 2), n_questions)
    known = {} if answers is None else _placed_so_far(model, answers, placed)
    parts, sources = [], []
    ids = len(model.items_) + np.arange(len(labels))
    shares = (_shared(total, len(labels)) for total in (n_questions - n_random, n_random))
    for item, label, n_best, n_drawn in zip(ids, labels, *shares, strict=True):
        rows, place = known.get(label, (None, None))
        best = halving_questions(points, loss, n_best, rng, rows=rows, placed=place)
        # Of so many different pairs, enough are not among the best.
        others = _pairs(len(points), n_best + n_drawn, rng)
        code = np.sort(best, axis=1) @ [len(points), 1]
        others = others[~np.isin(others @ [len(points), 1], code)][:n_drawn]
        pairs = placed[np.concatenate([best, rng.permuted(others, axis=1)])]
        parts.append(np.column_stack([np.full(len(pairs), item), pairs]))
        sources += ["active"] * n_best + ["random"] * n_drawn
    order = rng.permutation(n_questions)
    rows, source = np.concatenate(parts)[order], np.array(sources)[order]
    return rows, source, np.append(placed, ids)


def refuse_beside(what: str, **others: Any) -> None:
    """Raise if options are given that do not go with one."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(Message(Option(name), " and ", Option(what), " do not go together"))


def check_chooses(model: Any) -> None:
    """Raise if a model has no probabilities, or no map, to choose questions by."""
    check_is_fitted(model, "embedding_")
    if not isinstance(model, LikelihoodEmbedder):
        raise ValueError(
            Message("questions are chosen by how likely answers are, and ", no_probabilities(model))
        )
    if (~np.isnan(model.embedding_).any(axis=1)).sum() < 3:
        raise ValueError("a question needs three items with a place in the map")


def _new_labels(model: Any, new: Sequence[Any] | None) -> list:
    """Return the labels of new items, or raise if they are none."""
    if new is None:
        answers = Message(Option("answers"), " are about new items: name these with ")
        raise ValueError(Message(answers, Option("new")))
    labels = [new] if isinstance(new, str) else list(new)
    if not labels or len({*labels}) < len(labels):
        raise ValueError(Message(Option("new"), f" must name different items; got {labels}"))
    items = model.items_.tolist()
    there = [label for label in labels if label in {*items}]
    if there:
        raise ValueError(
            Message(
                Option("new"),
                f" names items that are on the map: {some(there)}. Ask about these with ",
                Option("about"),
            )
        )
    counted = range(len(items), len(items) + len(labels))
    if items == list(range(len(items))) and labels != list(counted):
        raise ValueError(
            Message(
                f"the items of the map are the numbers from 0 to {len(items) - 1}, and ",
                Option("new"),
                f" ones go on from {len(items)}; got {some(labels)}",
            )
        )
    return labels


def _placed_so_far(model: Any, answers: Any, placed: np.ndarray) -> dict[Any, tuple]:
    """Return by label the rows about an item and known ones, and the place that they give.

    In these rows items are numbered as in ``placed``, and the new one comes after them.
    """
    import warnings

    triplets = beyond_labels(answers, model.items_).triplets
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of answers that are few
        found = model.place(answers)
    place = np.full(triplets.n_items, -1)
    place[placed] = np.arange(len(placed))
    known: dict[Any, tuple] = {}
    for label, point, covariance in zip(
        found.items.tolist(), found.points, found.covariance, strict=True
    ):
        item = triplets.items.tolist().index(label)
        place[item] = len(placed)
        rows = place[triplets.rows]
        rows = rows[(rows >= 0).all(axis=1) & (rows == len(placed)).any(axis=1)]
        place[item] = -1
        if len(rows):
            known[label] = rows, (point, covariance)
    return known


def _shared(total: int, n_parts: int) -> list[int]:
    return [total * (k + 1) // n_parts - total * k // n_parts for k in range(n_parts)]


def halving_questions(
    points: np.ndarray,
    loss: Loss,
    n_questions: int,
    rng: np.random.Generator,
    *,
    rows: np.ndarray | None = None,
    placed: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Return pairs of known items (n_questions, 2) to compare a new one with.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Places of the known items.
    loss : Loss
        Minus the logarithm of the probability of an answer.
    rows : ndarray of int, shape (m, 3), optional
        Answers about the new item so far; its id is n.
    placed : tuple of ndarray, shapes (d,) and (d, d), optional
        The place that they give, and its covariance.
    """
    cloud, belief = _cloud(points, loss, rng, rows, placed)
    pairs = _pairs(len(points), max(PAIRS, 4 * n_questions), rng)
    first = loss.probability(*(_squares(cloud, points[item]) for item in pairs.T))
    known = belief @ _entropy(first)
    people = np.tile(belief, (PEOPLE, 1))
    place = rng.choice(len(cloud), PEOPLE, p=belief)
    chosen: list[int] = []
    for _ in range(min(n_questions, len(pairs))):
        gain = _entropy(np.clip(people @ first, 0, 1)).mean(axis=0) - known
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        chosen.append(best)
        p = first[:, best]
        people *= np.where((rng.random(PEOPLE) < p[place])[:, None], p, 1 - p)
        people /= people.sum(axis=1, keepdims=True)
    return rng.permuted(pairs[chosen], axis=1)


def _cloud(
    points: np.ndarray,
    loss: Loss,
    rng: np.random.Generator,
    rows: np.ndarray | None,
    placed: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw places where the new item may lie, and how likely each is."""
    from scipy.stats import multivariate_normal

    d = points.shape[1]
    spread = np.cov(points.T).reshape(d, d)
    prior = multivariate_normal(points.mean(axis=0), spread, allow_singular=True)
    if rows is None or placed is None:
        return prior.rvs(PLACES, random_state=rng).reshape(-1, d), np.full(PLACES, 1 / PLACES)
    near = multivariate_normal(placed[0], WIDER * placed[1], allow_singular=True)
    cloud = near.rvs(PLACES, random_state=rng).reshape(-1, d)
    logarithm = prior.logpdf(cloud) - near.logpdf(cloud)
    for row in rows:
        to_near, to_far = (_between(cloud, points, row[0], other) for other in row[1:])
        z = loss.argument(to_near, to_far)
        logarithm = logarithm - loss.penalty.value(z, *loss.penalty_shape)
    belief = np.exp(logarithm - logarithm.max())
    return cloud, belief / belief.sum()


def _between(cloud: np.ndarray, points: np.ndarray, one: int, other: int) -> Any:
    """Return squared distances of two items for all places of the new one, whose id is n."""
    a, b = (cloud if item == len(points) else points[item] for item in (one, other))
    return ((a - b) ** 2).sum(axis=-1)


def _squares(cloud: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return squared distances (places, points)."""
    return ((cloud[:, None] - points) ** 2).sum(axis=2)


def _pairs(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw different pairs of n items: all of them, if there are no more."""
    n_pairs = n * (n - 1) // 2
    return unranked_pairs(rng.choice(n_pairs, min(size, n_pairs), replace=False))


def _entropy(p: np.ndarray) -> np.ndarray:
    from scipy.special import entr

    return entr(p) + entr(1 - p)
