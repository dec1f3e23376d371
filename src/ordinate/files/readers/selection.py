"""Selection: of the items shown with a query, the k chosen as nearest."""

from operator import or_
from typing import NamedTuple

import numpy as np

from ordinate.data import answers
from ordinate.data.triplets import Triplets
from ordinate.files.formats.names import WIDE_NEAREST
from ordinate.files.formats.table import Items, Table
from ordinate.files.readers._choice import ITEM, WORDS
from ordinate.files.readers._choice import chosen as choose
from ordinate.files.readers._layout import Layout, Options, extras

QUERY = {"query": ("query",)}
SHOWN, CHOSEN, ORDERED = ("shown",), ("chosen", "selected"), ("reference",)
N_SELECT, IS_RANKED = {"n_select": ("n_select",)}, ("is_ranked",)


class Screens(NamedTuple):
    """The questions as labels, one list of items each."""

    query: list
    shown: list[list]
    chosen: list[list]


def matches(table: Table) -> bool:
    """A query with shown_1, ... and chosen_1, ...; or reference_1, ... and n_select."""
    if not table.has(QUERY):
        return False
    listed = bool(table.series(SHOWN)) and bool(table.series(CHOSEN))
    return listed or (bool(table.series(ORDERED)) and table.has(N_SELECT))


def parse(table: Table, options: Options) -> Triplets:
    """Compare each item chosen with each one left; where the chosen are ranked, also these."""
    shown = table.series(SHOWN)
    picked = table.series(CHOSEN) if shown else []
    if len(picked) == 1 and _is_coded(table, options, shown, picked[0]):
        items, screens = _coded(table, options, shown, picked[0])
    else:
        items, screens = _listed(table, shown) if shown else _ordered(table)
    more = extras(table, items, options)
    chosen = answers.selection(*screens, **more)
    ranked = table.flags(IS_RANKED)
    if ranked is None or not ranked.any():
        return chosen
    both = np.flatnonzero(ranked & (np.array([len(picked) for picked in screens.chosen]) > 1))
    if not len(both):
        return chosen
    order = answers.ranking(
        [screens.query[i] for i in both],
        [screens.chosen[i] for i in both],
        items=chosen.items,
    )
    answer = np.concatenate([chosen.answer, both[order.answer]])
    together = np.argsort(answer, kind="stable")
    answer = answer[together]
    return Triplets(
        np.concatenate([chosen.rows, order.rows])[together],
        items=chosen.items,
        answer=answer,
        participant=None
        if more["participant"] is None
        else np.asarray(more["participant"])[answer],
    )


def _is_coded(table: Table, options: Options, shown: list[int], picked: int) -> bool:
    """Tell whether answers are places of items, of which there are two or three: A, B, C."""
    if len(shown) not in WORDS or options.response == ITEM:
        return False
    codes = table.items([*shown, picked]).codes
    named = (codes[:, :-1] == codes[:, -1:]) & (codes[:, -1:] >= 0)
    some = table.together("named", bool(named.any()), or_)
    return options.response is not None or not some


def _coded(table: Table, options: Options, shown: list[int], picked: int) -> tuple[Items, Screens]:
    """Read the one item of each row that is chosen by its place."""
    items, position = choose(table, options, [*table.places(QUERY), *shown], picked, first=1)
    is_chosen = np.arange(items.codes.shape[1]) == position[:, None]
    chosen = np.where(is_chosen, items.codes, -1)[:, 1:]
    return _lists(table, items, items.codes[:, 1:], chosen)


def _listed(table: Table, shown: list[int]) -> tuple[Items, Screens]:
    chosen, n = table.series(CHOSEN), len(shown)
    table.has_answers = len(chosen) == 1
    items = with_query(table, [*table.places(QUERY), *shown, *chosen])
    items = table.differing(items, items.codes[:, : 1 + n])
    items = table.differing(items, items.codes[:, 1 + n :])
    left, right = items.codes[:, 1 : 1 + n], items.codes[:, 1 + n :]
    foreign = ((right[:, :, None] != left[:, None, :]).all(axis=2) & (right >= 0)).any(axis=1)
    kept = table.refuse(
        foreign,
        lambda i: f"an item was chosen that is not among those shown, in {items.row(i)}",
        "repair those rows",
        kind="unanswered",
    )
    items = items if kept is None else items.select(kept)
    return _lists(table, items, items.codes[:, 1 : 1 + n], items.codes[:, 1 + n :])


def _ordered(table: Table) -> tuple[Items, Screens]:
    """Read references whose first n_select are the chosen ones."""
    items = with_query(table, [*table.places(QUERY), *table.series(ORDERED)])
    items = table.differing(items, items.codes)
    k = table.numbers(table.column(N_SELECT["n_select"]), "n_select")
    kept = table.refuse(
        ~((k >= 1) & (k == np.floor(k))),
        lambda i: f"n_select is {k[i]}",
        "it must be a whole number of at least 1",
        kind="unanswered",
    )
    items, k = (items, k) if kept is None else (items.select(kept), k[kept])
    shown = items.codes[:, 1:]
    chosen = np.where(np.arange(shown.shape[1]) < k[:, None], shown, -1)
    return _lists(table, items, shown, chosen)


def with_query(table: Table, places: list[int]) -> Items:
    """Read items with gaps; the first, the query, must have a name."""
    items = table.items(places)
    idle = (items.codes < 0).all(axis=1)
    table.drop(idle, "no item is named, so that they are no trials")
    items = items.select(~idle)
    kept = table.refuse(
        items.codes[:, 0] < 0,
        lambda i: "there is no query",
        "remove those rows",
        kind="unnamed",
    )
    return items if kept is None else items.select(kept)


def _lists(
    table: Table, items: Items, shown: np.ndarray, chosen: np.ndarray
) -> tuple[Items, Screens]:
    """Return lists of labels, without the rows that compare nothing."""
    n_chosen, n_shown = (chosen >= 0).sum(axis=1), (shown >= 0).sum(axis=1)
    idle = (n_chosen == 0) | (n_chosen >= n_shown)
    table.drop(idle, "none or all of the items shown were chosen, which compares nothing")
    names = items.names
    queries, shown, chosen = items.codes[~idle, 0], shown[~idle], chosen[~idle]
    return items, Screens(
        [names[code] for code in queries],
        [[names[code] for code in row if code >= 0] for row in shown],
        [[names[code] for code in row if code >= 0] for row in chosen],
    )


LAYOUT = Layout(
    "selection",
    "query, shown_1.. and chosen_1..; or reference_1.. with n_select chosen first",
    matches,
    parse,
    (
        {**QUERY, "shown_1": ("shown_1",), "chosen_1": ("chosen_1",)},
        {**QUERY, "reference_1": ("reference_1",), **N_SELECT},
    ),
    (WIDE_NEAREST,),
    "if the answer is the one of three that is nearest to the query",
)
