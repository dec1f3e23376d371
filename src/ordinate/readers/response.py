"""Plain questions with a response: anchor, first, second, and a sign, a side or the nearer item."""

from dataclasses import replace

import numpy as np

from ordinate import answers
from ordinate.readers._layout import Layout, Options, extras
from ordinate.readers._table import ReadError, Table
from ordinate.triplets import Triplets

ROLES = {
    "anchor": ("anchor", "a", "target"),
    "first": ("first", "b", "left"),
    "second": ("second", "c", "right"),
}
SIGN_OR_WINNER = {"response": ("response", "choice")}
WINNER = {"winner": ("winner",)}
NAMED = {**ROLES, "response": ("response", "choice", "winner")}
SIDES = {1: ("left", "first"), -1: ("right", "second")}


def matches(table: Table) -> bool:
    """Three items and one answer, by name."""
    return table.has(NAMED)


def parse(table: Table, options: Options) -> Triplets:
    """Read the answer as item, side or sign; which one the file must make plain."""
    if not table.has(WINNER) and _signs(table, options):
        column = table.data.column(table.places(SIGN_OR_WINNER)[0])
        return _by_sign(table, options, ROLES, table.numbers(column, "the response"))
    return by_winner(table, options, ROLES, WINNER if table.has(WINNER) else SIGN_OR_WINNER)


def by_winner(table: Table, options: Options, roles: dict, winner: dict) -> Triplets:
    """Read three items and the nearer one of the last two, or its side."""
    places, (picked,) = table.places(roles), table.places(winner)
    table.drop_missing(picked, places[1:])
    sides = _sides(table, picked)
    if sides is not None and not _name_items(table, picked, places[1:]):
        return _by_sign(table, replace(options, positive="first"), roles, sides)
    items = table.distinct_items(places, [picked])
    _, b, c, w = items.codes.T
    table.refuse(
        (w != b) & (w != c),
        lambda i: f"the answer is {items.row(i)[3]!r}, not one of {items.row(i)[1:3]}",
        "answers name the nearer item, or all of them its side: repair or remove those rows",
    )
    anchor, first, second, nearer = items.columns()
    return answers.responses(
        anchor,
        first,
        second,
        winner=nearer,
        **extras(table, items, options),
    )


def _sides(table: Table, picked: int) -> np.ndarray | None:
    """Return 1 for left and -1 for right, or None where some answer is neither."""
    left, right = (table.among(table.data.column(picked), words) for words in SIDES.values())
    return np.where(left, 1, -1) if (left | right).all() else None


def _name_items(table: Table, picked: int, shown: list[int]) -> bool:
    """Tell whether every answer is one of the items shown."""
    words, first, second = (table.words(table.data.column(p)) for p in (picked, *shown))
    return bool(((words == first) | (words == second)).all())


def _signs(table: Table, options: Options) -> bool:
    """Tell whether responses are +1 and -1; raise where they could be items as well."""
    places, (picked,) = table.places(ROLES), table.places(SIGN_OR_WINNER)
    table.drop_missing(picked, places[1:], "response")
    words = table.words(table.data.column(picked))
    signs = bool(np.isin(words, ("1", "+1", "-1", "1.0", "-1.0")).all())
    items = _name_items(table, picked, places[1:])
    if items and _sides(table, picked) is not None:
        raise ReadError(
            f"{table.path}: every response is a side and an item as well. Rename the column to "
            "winner if it names the nearer item; write +1 and -1 if it names the side"
        )
    if signs and items and options.positive is None:
        raise ReadError(
            f"{table.path}: every response is a sign and an item as well. Say positive='first' or "
            "positive='second' if +1 means that item is nearer; rename the column to winner if it "
            "names the nearer item"
        )
    return signs


def _by_sign(table: Table, options: Options, roles: dict, sign: np.ndarray) -> Triplets:
    if options.positive is None:
        raise ReadError(
            f"{table.path}: responses are +1 and -1, and files differ in what +1 means. Say "
            "positive='first' if the first of the two is nearer then, positive='second' if the "
            "second is"
        )
    items = table.distinct_items(table.places(roles))
    anchor, first, second = items.columns()
    return answers.responses(
        anchor,
        first,
        second,
        sign=sign,
        positive=options.positive,
        **extras(table, items, options),
    )


LAYOUT = Layout(
    "response",
    "anchor (a), first (b), second (c), response: +1, -1, left, right or the nearer item",
    matches,
    parse,
    (NAMED,),
)
