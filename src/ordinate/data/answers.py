"""From the question people answered to triplets: one function per type of question.

Each returns :class:`~ordinate.Triplets` whose ``answer`` column numbers the human answers from 0,
in the order given, so that splits keep the rows of one answer together. Items may be any labels.
All functions take ``items`` (all labels, in the order of their ids) and ``participant`` (who gave
each answer).
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ordinate._base.checks import check_choice, check_length
from ordinate.data.labels import encode
from ordinate.data.numbering import numbered
from ordinate.data.triplets import Triplets

Items = Iterable[Hashable] | None


def odd_one_out(
    first: Any, second: Any, odd: Any, *, items: Items = None, participant: Any = None
) -> Triplets:
    """Of three items, one was picked as the odd one: the other two are closer to each other.

    Two triplets per answer: ``(first, second, odd)`` and ``(second, first, odd)``.

    Parameters
    ----------
    first, second : sequence of labels, shape (k,)
        The two items that were kept.
    odd : sequence of labels, shape (k,)
        The item that was picked.

    Examples
    --------
    >>> odd_one_out(["p"], ["q"], ["w"]).to_arrow().select(["anchor", "near", "far"]).to_pylist()
    [{'anchor': 'p', 'near': 'q', 'far': 'w'}, {'anchor': 'q', 'near': 'p', 'far': 'w'}]
    """
    ids, names = encode({"first": first, "second": second, "odd": odd}, items)
    a, b, o = ids.T
    return _combine([(a, b, o), (b, a, o)], names, participant)


def most_central(
    first: Any,
    second: Any,
    third: Any,
    centre: Any,
    *,
    items: Items = None,
    participant: Any = None,
) -> Triplets:
    """Of three items, one was picked as the most central: the other two are farthest apart.

    Two triplets per answer: from each of the other two, the centre is nearer than the other one.

    Parameters
    ----------
    first, second, third : sequence of labels, shape (k,)
        The items shown.
    centre : sequence of labels, shape (k,)
        The item picked, one of the three.

    Examples
    --------
    >>> triplets = most_central(["vw"], ["bmw"], ["fiat"], centre=["vw"])
    >>> triplets.items[triplets.rows].tolist()
    [['bmw', 'vw', 'fiat'], ['fiat', 'vw', 'bmw']]
    """
    columns = {"first": first, "second": second, "third": third, "centre": centre}
    ids, names = encode(columns, items)
    shown, c = ids[:, :3], ids[:, 3]
    picked = shown == c[:, None]
    _raise_first(
        picked.sum(axis=1) != 1,
        lambda row: f"centre is {names.item(c[row])!r}, not one of {names[shown[row]].tolist()}",
    )
    a, b = shown[~picked].reshape(-1, 2).T
    return _combine([(a, c, b), (b, c, a)], names, participant)


def selection(
    query: Sequence,
    shown: Sequence[Sequence],
    chosen: Sequence[Sequence],
    *,
    items: Items = None,
    participant: Any = None,
) -> Triplets:
    """Of the items shown, some were chosen as nearest to a query: k of n.

    k (n - k) triplets per answer: each chosen item is nearer to the query than each of the rest.

    Parameters
    ----------
    query : sequence of labels, length k
    shown : sequence of sequences of labels, length k
        The items shown; chosen ones may or may not be repeated here.
    chosen : sequence of sequences of labels, length k

    Examples
    --------
    >>> triplets = selection(["q"], [["a", "b", "c"]], [["b"]])
    >>> triplets.items[triplets.rows].tolist()
    [['q', 'b', 'a'], ['q', 'b', 'c']]
    """
    _same_length(query=query, shown=shown, chosen=chosen)
    rows, answer = [], []
    for i, (q, all_shown, picked) in enumerate(zip(query, shown, chosen, strict=True)):
        picked = list(picked)
        left = [item for item in all_shown if item not in picked]
        if not picked or not left:
            what = "chose every item shown" if picked else "chose no item"
            raise ValueError(f"answer {i} {what}, so that it compares nothing: leave it out")
        rows += [(q, near, far) for near in picked for far in left]
        answer += [i] * (len(picked) * len(left))
    return _from_rows(rows, answer, items, participant)


def ranking(
    query: Sequence,
    ranked: Sequence[Sequence],
    *,
    pairs: str = "all",
    items: Items = None,
    participant: Any = None,
) -> Triplets:
    """Items were put in order of their distance to a query, nearest first.

    Parameters
    ----------
    query : sequence of labels, length k
    ranked : sequence of sequences of labels, length k
    pairs : {"all", "adjacent"}
        Compare every two items of a ranking, or only neighbours. All pairs of one ranking depend on
        each other, so their number overstates what is known; neighbours imply all the rest.

    Examples
    --------
    >>> triplets = ranking(["q"], [["a", "b", "c"]])
    >>> triplets.items[triplets.rows].tolist()
    [['q', 'a', 'b'], ['q', 'a', 'c'], ['q', 'b', 'c']]
    """
    check_choice("pairs", pairs, ("all", "adjacent"))
    _same_length(query=query, ranked=ranked)
    rows, answer = [], []
    for i, (q, order) in enumerate(zip(query, ranked, strict=True)):
        order = list(order)
        if len(order) < 2:
            raise ValueError(f"answer {i} ranks {len(order)} items; at least 2 compare something")
        compared = [
            (q, order[near], order[far])
            for near in range(len(order))
            for far in range(near + 1, len(order) if pairs == "all" else min(near + 2, len(order)))
        ]
        rows += compared
        answer += [i] * len(compared)
    return _from_rows(rows, answer, items, participant)


def responses(
    anchor: Any,
    first: Any,
    second: Any,
    *,
    sign: Any = None,
    winner: Any = None,
    positive: str = "first",
    items: Items = None,
    participant: Any = None,
) -> Triplets:
    """Of two items, one was said to be nearer to the anchor; a column tells which.

    Give either `sign` or `winner`. One triplet per answer.

    Parameters
    ----------
    anchor, first, second : sequence of labels, shape (k,)
    sign : sequence of +1 and -1, shape (k,)
    winner : sequence of labels, shape (k,)
        The nearer item, one of the two.
    positive : {"first", "second"}
        Which item +1 calls nearer. Files differ in this: check yours.

    Examples
    --------
    >>> responses([0, 0], [1, 1], [2, 2], sign=[1, -1]).rows.tolist()
    [[0, 1, 2], [0, 2, 1]]
    >>> responses([0, 0], [1, 1], [2, 2], winner=[1, 2]).rows.tolist()
    [[0, 1, 2], [0, 2, 1]]
    """
    check_choice("positive", positive, ("first", "second"))
    if (sign is None) == (winner is None):
        raise ValueError("give either sign (+1 or -1) or winner (the nearer item), not both")
    columns = {"anchor": anchor, "first": first, "second": second}
    if winner is not None:
        columns["winner"] = winner
    ids, names = encode(columns, items)
    a, b, c = ids[:, :3].T
    if winner is not None:
        w = ids[:, 3]
        _raise_first(
            (w != b) & (w != c),
            lambda row: (
                f"winner is {names.item(w[row])!r}, not one of {names[[b[row], c[row]]].tolist()}"
            ),
        )
        first_near = w == b
    else:
        signs = check_length("sign", sign, len(ids))
        _raise_first(
            (signs != 1) & (signs != -1), lambda row: f"sign is {signs[row]}, not +1 or -1"
        )
        first_near = (signs == 1) == (positive == "first")
    return _combine(
        [(a, np.where(first_near, b, c), np.where(first_near, c, b))], names, participant
    )


def votes(
    anchor: Any,
    first: Any,
    second: Any,
    votes_first: Any,
    votes_second: Any,
    *,
    items: Items = None,
    participant: Any = None,
) -> Triplets:
    """Count how many people called the first, and how many the second, nearer to the anchor.

    Up to two triplets per question, weighted by the votes; a side without votes gives none. The
    rows of a question share an answer id.

    Parameters
    ----------
    anchor, first, second : sequence of labels, shape (k,)
    votes_first, votes_second : sequence of numbers, shape (k,)

    Examples
    --------
    >>> triplets = votes([0, 0], [1, 1], [2, 3], [4, 2], [1, 0])
    >>> triplets.rows.tolist(), triplets.weight.tolist()
    ([[0, 1, 2], [0, 2, 1], [0, 1, 3]], [4.0, 1.0, 2.0])
    """
    ids, names = encode({"anchor": anchor, "first": first, "second": second}, items)
    counts = np.column_stack(
        [
            check_length("votes_first", votes_first, len(ids)),
            check_length("votes_second", votes_second, len(ids)),
        ]
    ).astype(float)
    _raise_first(
        ~(np.isfinite(counts) & (counts >= 0)).all(axis=1),
        lambda row: f"votes are {counts[row].tolist()}; they must be finite and not negative",
    )
    _raise_first(counts.sum(axis=1) == 0, lambda _: "nobody voted; leave the question out")
    a, b, c = ids.T
    return _combine([(a, b, c), (a, c, b)], names, participant, weight=counts)


def independent_answers(triplets: Triplets) -> np.ndarray:
    """Number the answers that rows came from, those of different people apart.

    Votes for and against have the number of their question, so that no split separates them, but
    people cast them: where rows of one number contradict each other, each is an answer by itself,
    of as many people as its weight says.

    Returns
    -------
    ndarray of int64, shape (m,)
        In the order of ``triplets.groups("answer")``.

    Examples
    --------
    >>> independent_answers(votes([0, 0], [1, 1], [2, 3], [4, 2], [1, 0])).tolist()
    [0, 1, 2]
    >>> independent_answers(odd_one_out([0, 0], [1, 1], [2, 3])).tolist()
    [0, 0, 1, 1]
    """
    answer = triplets.groups("answer")
    if triplets.weight is None or triplets.answer is None:
        return answer
    question, lower_near = triplets._asked
    place = numbered(answer * (1 + question.max()) + question)
    one_way, asked = np.bincount(place, lower_near)[place], np.bincount(place)[place]
    contradicted = np.zeros(int(answer.max()) + 1, dtype=bool)
    contradicted[answer[(one_way > 0) & (one_way < asked)]] = True
    row = np.where(contradicted[answer], 1 + np.arange(len(answer)), 0)
    return numbered(answer * (1 + len(answer)) + row)


def _combine(
    forms: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    names: np.ndarray,
    participant: Any,
    weight: np.ndarray | None = None,
) -> Triplets:
    """Make the rows of each answer stand together, numbered by answer."""
    rows = np.stack([np.column_stack(form) for form in forms], axis=1)
    n_answers = len(rows)
    answer = np.repeat(np.arange(n_answers), len(forms))
    if participant is not None:
        participant = np.repeat(check_length("participant", participant, n_answers), len(forms))
    rows = rows.reshape(-1, 3)
    if weight is None:
        return Triplets(rows, items=names, answer=answer, participant=participant)
    kept = weight.ravel() > 0
    return Triplets(
        rows[kept],
        items=names,
        answer=answer[kept],
        participant=None if participant is None else participant[kept],
        weight=weight.ravel()[kept],
    )


def _from_rows(rows: list, answer: list[int], items: Items, participant: Any) -> Triplets:
    if not rows:
        raise ValueError("there are no answers: the input is empty")
    if participant is not None:
        participant = check_length("participant", participant, answer[-1] + 1)[answer]
    anchor, near, far = zip(*rows, strict=True)
    return Triplets.from_columns(
        anchor, near, far, items=items, answer=answer, participant=participant
    )


def _same_length(**columns: Sequence) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"one entry per answer is needed in each; got lengths {lengths}")


def _raise_first(bad: np.ndarray, describe: Any) -> None:
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: {describe(row)} ({bad.sum():,} such rows of {len(bad):,})")
