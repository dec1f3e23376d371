"""Plain questions with a response: anchor, first, second, and the nearer item or a code for it."""

import numpy as np

from ordinate.data import answers
from ordinate.data.triplets import Triplets
from ordinate.files.formats.names import CLEAR_ANCHORS, WIDE_PAIRS
from ordinate.files.formats.table import Roles, Table
from ordinate.files.readers._choice import chosen
from ordinate.files.readers._layout import Layout, Options, extras

ROLES = {
    "anchor": ("anchor", "a", "target"),
    "first": ("first", "b", "left"),
    "second": ("second", "c", "right"),
}
LETTERS = {"a": ("a",), "b": ("b",), "c": ("c",)}
RESPONSE = {"response": ("response", "choice")}
WINNER = {"winner": ("winner",)}
FARTHER = {"farther": ("farther",)}


def matches(table: Table) -> bool:
    """Three items and one answer, by name; beside an anchor, a, b and c are three options."""
    if table.has(LETTERS) and table.index(CLEAR_ANCHORS) is not None:
        return False
    return any(table.has({**ROLES, **answer}) for answer in (WINNER, RESPONSE, FARTHER))


def parse(table: Table, options: Options) -> Triplets:
    """Read the answer as an item or a code; which one the file must make plain."""
    for answer in (WINNER, RESPONSE):
        if table.has(answer):
            return by_winner(table, options, ROLES, answer, named=answer is WINNER)
    table.notes.append("answers tell which item is farther")
    return by_winner(table, options, ROLES, FARTHER, nearer=2)


def by_winner(
    table: Table,
    options: Options,
    roles: Roles,
    winner: Roles,
    *,
    named: bool = True,
    nearer: int = 1,
) -> Triplets:
    """Read three items and the nearer one of the last two, or its place.

    ``nearer`` is 2 where answers name the farther one.
    """
    (picked,) = table.places(winner)
    items, position = chosen(table, options, table.places(roles), picked, named=named, first=1)
    sign = np.where(position == nearer, 1, -1)
    return answers.responses(*items.columns(), sign=sign, **extras(table, items, options))


LAYOUT = Layout(
    "response",
    "anchor (a, target), first (b, left), second (c, right), and response (choice): the nearer "
    "item or a code for it; or winner; or farther",
    matches,
    parse,
    ({**ROLES, **RESPONSE}, {**ROLES, **WINNER}, {**ROLES, **FARTHER}),
    WIDE_PAIRS,
    "if the answer tells which of the last two is nearer to the first",
)
