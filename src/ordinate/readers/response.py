"""Plain questions with a response: anchor, first, second, and +1 or -1 or the nearer item."""

import numpy as np

from ordinate import answers
from ordinate.readers._layout import Layout, Options, extras
from ordinate.readers._table import ReadError, Table
from ordinate.triplets import Triplets

ROLES = {
    "anchor": ("anchor", "a"),
    "first": ("first", "b", "left"),
    "second": ("second", "c", "right"),
}
SIGN_OR_WINNER = {"response": ("response", "choice")}
WINNER = {"winner": ("winner",)}


def matches(table: Table) -> bool:
    """Three items and one answer, by name."""
    return table.has(ROLES) and (table.has(SIGN_OR_WINNER) or table.has(WINNER))


def parse(table: Table, options: Options) -> Triplets:
    """Read the answer as the nearer item or as a sign; which one the file must make plain."""
    if not table.has(WINNER) and _signs(table, options):
        return _parse_signs(table, options)
    return by_winner(table, options, ROLES, WINNER if table.has(WINNER) else SIGN_OR_WINNER)


def by_winner(table: Table, options: Options, roles: dict, winner: dict) -> Triplets:
    """Read three items and the nearer one of the last two."""
    places, (picked,) = table.places(roles), table.places(winner)
    table.drop_missing(picked, places[1:])
    items = table.distinct_items(places, [picked])
    _, b, c, w = items.codes.T
    table.refuse(
        (w != b) & (w != c),
        lambda i: f"the answer is {items.row(i)[3]!r}, not one of {items.row(i)[1:3]}",
        "repair or remove those rows",
    )
    anchor, first, second, nearer = items.columns()
    return answers.responses(
        anchor,
        first,
        second,
        winner=nearer,
        **extras(table, items, options),
    )


def _signs(table: Table, options: Options) -> bool:
    """Tell whether responses are +1 and -1; raise where they could be items as well."""
    places, (picked,) = table.places(ROLES), table.places(SIGN_OR_WINNER)
    table.drop_missing(picked, places[1:], "response")
    words = table.words(table.data.column(picked))
    signs = bool(np.isin(words, ("1", "+1", "-1", "1.0", "-1.0")).all())
    first, second = (table.words(table.data.column(place)) for place in places[1:])
    winners = bool(((words == first) | (words == second)).all())
    if signs and winners and options.positive is None:
        raise ReadError(
            f"{table.path}: every response is a sign and an item as well. Say positive='first' or "
            "positive='second' if +1 means that item is nearer; rename the column to winner if it "
            "names the nearer item"
        )
    return signs and not (winners and options.positive is None)


def _parse_signs(table: Table, options: Options) -> Triplets:
    if options.positive is None:
        raise ReadError(
            f"{table.path}: responses are +1 and -1, and files differ in what +1 means. Say "
            "positive='first' if the first of the two is nearer then, positive='second' if the "
            "second is"
        )
    items = table.distinct_items(table.places(ROLES))
    anchor, first, second = items.columns()
    column = table.data.column(table.places(SIGN_OR_WINNER)[0])
    return answers.responses(
        anchor,
        first,
        second,
        sign=table.numbers(column, "the response"),
        positive=options.positive,
        **extras(table, items, options),
    )


LAYOUT = Layout(
    "response",
    "anchor (a), first (b), second (c), response: +1, -1 or the nearer item",
    matches,
    parse,
)
