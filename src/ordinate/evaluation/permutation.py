"""Whether two sets of answers come from one population: dealt anew, they give maps as far apart.

If nothing sets the two apart but chance, then answers (or participants) could as well have been in
the other set. So all are put together and dealt into two sets of the same sizes again and again,
and each time both maps are fitted anew. How often they are as far apart as those at hand is an
exact p-value, whatever the method, the noise, and the number of answers.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ordinate._base.checks import check_choice, check_whole, random_generator
from ordinate._base.messages import Message, Option, some
from ordinate.data.labels import places
from ordinate.data.triplets import Triplets
from ordinate.evaluation.comparison import BY_ANSWERS, Comparison, Map, compare_maps, lay_onto

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

N_PERMUTATIONS = 199
UNITS = ("auto", "answer", "participant")


def compare_answers(
    estimator: "Embedder",
    first: Triplets,
    second: Triplets,
    *,
    by: str = "auto",
    n_permutations: int = N_PERMUTATIONS,
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Fit a map to each of two sets of answers, and tell whether they differ beyond chance.

    Parameters
    ----------
    estimator : Embedder
        What it chooses, it chooses once, by all answers together.
    first, second : Triplets
        Answers about items that only one of them has are left out, with a warning.
    by : {"auto", "answer", "participant"}
        What is dealt anew. Participants, where both sets name them and nobody is in both, since
        answers of one person are alike; else answers.
    n_permutations : int
        How often; the smallest p-value is one in so many and one.
    random_state : int, Generator or None
    tell : function of str
        Called before each two fits.

    Returns
    -------
    Comparison
    """
    check_choice("by", by, UNITS)
    n_permutations = check_whole("n_permutations", n_permutations, least=19)
    pool, is_first, only = _pooled(first, second)
    units = pool.groups(_unit(by, pool, is_first))
    generator = random_generator(random_state)
    tell("the map of all answers")
    common = fit_quietly(estimator, pool)._from_here()

    def maps(of_first: np.ndarray) -> list[np.ndarray]:
        return [fit_quietly(common, pool[side]).embedding_ for side in (of_first, ~of_first)]

    tell("both maps")
    own = maps(is_first)
    found = compare_maps(*(Map(pool.items, points) for points in own))
    rows = places(found.items.tolist(), pool.items.tolist())
    first_units = np.unique(units[is_first])
    squares = np.empty((n_permutations + 1, len(rows)))
    squares[0] = found.distance**2
    for k in range(1, n_permutations + 1):
        tell(f"answers dealt anew, {k} of {n_permutations}")
        dealt = generator.permutation(units.max() + 1)[: len(first_units)]
        squares[k] = _squared_gaps(*(points[rows] for points in maps(np.isin(units, dealt))))
    p_value, p_items = permutation_p_values(squares)
    return found._replace(
        chance=np.sqrt(np.nanmean(squares[1:], axis=0)),
        p_items=p_items,
        p_value=p_value,
        method=BY_ANSWERS,
        only_first=only[0],
        only_second=only[1],
        n_permutations=n_permutations,
    )


def permutation_p_values(squares: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the p-value of all items together, and of each, corrected for their number.

    Parameters
    ----------
    squares : ndarray, shape (1 + n_permutations, n)
        Squared distances of each item: at hand first, then dealt anew; NaN where an item has no
        place, which counts against a difference.

    Notes
    -----
    Each item is measured by its own mean, over all rows alike. Maps may differ a little everywhere
    or much in one item, so the mean over items and the largest are both asked, and the smaller of
    their p-values is itself held against what it is for answers dealt anew. An item's p-value is
    how often the largest of all items is beyond it (Westfall and Young, 1993).

    Examples
    --------
    >>> squares = np.ones((100, 3)) + 0.01 * np.arange(300).reshape(100, 3) % 0.07
    >>> squares[0] = [1, 30, 1]
    >>> p_value, p_items = permutation_p_values(squares)
    >>> p_value, (p_items < 0.05).tolist()
    (0.01, [False, True, False])
    """
    relative = squares / np.nanmean(squares, axis=0)
    largest = np.nanmax(relative, axis=1)
    two = np.sort([_shares_beyond(np.nanmean(relative, axis=1)), _shares_beyond(largest)], axis=0)
    ranks = two[0] + two[1] / (len(squares) + 1)  # the larger one decides between equals
    own = np.where(np.isnan(relative[0]), -np.inf, relative[0])
    p_items = (largest[:, None] >= own).mean(axis=0)
    return float((ranks <= ranks[0]).mean()), p_items


def _shares_beyond(values: np.ndarray) -> np.ndarray:
    """The share of values that are at least as large as each."""
    ordered = np.sort(values)
    return 1 - np.searchsorted(ordered, values, side="left") / len(values)


def fit_quietly(estimator: "Embedder", triplets: Triplets) -> "Embedder":
    """Fit a copy of an estimator, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the maps themselves were warned of when they were made
        return clone(estimator).fit(triplets)


def _squared_gaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Squared distances of items once the second map is laid onto the first; NaN if unplaced."""
    placed = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    squares = np.full(len(first), np.nan)
    gap = first[placed] - lay_onto(first[placed], second[placed]).points
    squares[placed] = (gap**2).sum(axis=1)
    return squares


def _pooled(first: Triplets, second: Triplets) -> tuple[Triplets, np.ndarray, tuple[list, list]]:
    """Put answers about items that both sets have together; also which rows were in the first."""
    labels = [table.items[np.unique(table.rows)].tolist() for table in (first, second)]
    shared = [label for label in labels[0] if label in set(labels[1])]
    tables = []
    for name, table in (("first", first), ("second", second)):
        ids = places(table.items.tolist(), shared)[table.rows]
        kept = (ids >= 0).all(axis=1)
        if not kept.any():
            raise ValueError(
                f"no answer of the {name} set is about items that both have: the first has "
                f"{some(labels[0], 3)}, the second {some(labels[1], 3)}"
            )
        if not kept.all():
            warnings.warn(
                f"{(~kept).sum():,} of {len(kept):,} triplets of the {name} set are left out: they "
                "are about items that the other does not have",
                UserWarning,
                stacklevel=4,
            )
        tables.append(_over(table, ids, kept, shared, both_named=_both_named(first, second)))
    is_first = np.arange(sum(map(len, tables))) < len(tables[0])
    only = tuple([label for label in own if label not in set(shared)] for own in labels)
    return Triplets.concatenate(tables), is_first, (only[0], only[1])


def _both_named(first: Triplets, second: Triplets) -> bool:
    return first.participant is not None and second.participant is not None


def _over(
    table: Triplets, ids: np.ndarray, kept: np.ndarray, items: list, *, both_named: bool
) -> Triplets:
    """Return the rows kept, over other ids; participants only where the other table has them."""
    named = both_named and table.participant_labels is not None
    return Triplets(
        ids[kept],
        items=items,
        answer=table.groups("answer")[kept],
        participant=table.participant_labels[table.participant[kept]] if named else None,  # type: ignore[index]
        weight=None if table.weight is None else table.weight[kept],
    )


def _unit(by: str, pool: Triplets, is_first: np.ndarray) -> str:
    """Return what is dealt anew."""
    if pool.participant is None:
        if by == "participant":
            raise ValueError(
                Message(
                    Option("by", by), " needs answers that say who gave them, in both sets of them"
                )
            )
        return "answer"
    in_both = np.intersect1d(pool.participant[is_first], pool.participant[~is_first])
    if len(in_both) and by == "participant":
        raise ValueError(
            Message(
                f"{len(in_both):,} participants are in both sets, so that participants cannot be "
                "dealt to one or the other: ",
                Option("by", "answer"),
                " deals answers",
            )
        )
    return "answer" if len(in_both) or by == "answer" else "participant"
