"""Votes: how many people called the first, and how many the second, nearer to the anchor."""

import numpy as np

from ordinate.data import answers
from ordinate.data.triplets import Triplets
from ordinate.files.formats.item_columns import distinct_items_of
from ordinate.files.formats.names import WIDE_VOTES
from ordinate.files.formats.table import Table
from ordinate.files.readers._layout import Layout, Options, extras

ROLES = {"anchor": ("anchor", "a"), "first": ("first", "b"), "second": ("second", "c")}
VOTES = {"votes_first": ("votes_first",), "votes_second": ("votes_second",)}
LISTS = {"answers": ("answers",), "agreement": ("agreement",)}


def matches(table: Table) -> bool:
    """Three items and two counts, as columns or as lists."""
    return table.has({**ROLES, **VOTES}) or (table.has(LISTS) and not table.text)


def parse(table: Table, options: Options) -> Triplets:
    """Read items and counts; a question without votes is dropped."""
    if table.has({**ROLES, **VOTES}):
        places, counted = table.places(ROLES), table.places(VOTES)
    else:
        places, counted = _lists(table, "answers", 3), _lists(table, "agreement", 2)
    table.drop(_votes(table, counted).sum(axis=1) == 0, "nobody voted")
    items = distinct_items_of(table, places)
    votes = _votes(table, counted)
    return answers.votes(
        *items.columns(),
        *votes.T,
        **extras(table, items, options),
    )


def _votes(table: Table, places: list[int]) -> np.ndarray:
    votes = np.column_stack(
        [table.numbers(table.data.column(p), "a count of votes") for p in places]
    )
    table.refuse(
        ~(votes >= 0).all(axis=1),
        lambda i: f"the votes are {votes[i].tolist()}; they must be numbers, not negative",
        "repair or remove those rows",
    )
    return votes


def _lists(table: Table, name: str, length: int) -> list[int]:
    """Return the places of the entries of a column of lists, each of the same length."""
    lists = table.data.column(table.places({name: (name,)})[0])
    sizes = [len(entry) if isinstance(entry, list) else -1 for entry in lists.to_pylist()]
    table.refuse(
        np.array(sizes) != length,
        lambda i: f"{name} must hold lists of {length}; this is {lists[i].as_py()}",
        "repair or remove those rows",
    )
    return table.series([name])


LAYOUT = Layout(
    "votes",
    "anchor, first, second, votes_first, votes_second; JSON: answers, agreement",
    matches,
    parse,
    ({**ROLES, **VOTES},),
    WIDE_VOTES,
    "if each count is of the votes for one of the last two",
)
