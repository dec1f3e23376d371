"""Columns of items: their labels, which may be merged, and rows that lack one or repeat one."""

from collections.abc import Callable, Sequence
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ordinate.data.labels import alike
from ordinate.files.formats.cells import WHOLE, is_missing
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.table import Table


class Items(NamedTuple):
    """Columns of items: codes into the names, -1 where a cell is empty."""

    codes: np.ndarray
    names: list

    def columns(self) -> list[pa.DictionaryArray]:
        """Return the columns as labels."""
        names = pa.array(self.names)
        return [
            pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)
            for codes in self.codes.T
        ]

    def row(self, i: int) -> list:
        """Return the labels of a row."""
        return [self.names[code] for code in self.codes[i] if code >= 0]

    def select(self, kept: Any) -> "Items":
        """Return some of the rows, or of the columns, without the names that only others have."""
        codes = self.codes[kept]
        used = np.bincount(codes.ravel() + 1, minlength=len(self.names) + 1)[1:] > 0
        renumbered = np.append(np.cumsum(used) - 1, -1)
        names = [name for name, u in zip(self.names, used, strict=True) if u]
        return Items(renumbered[codes], names)


def items_of(table: Table, places: Sequence[int], *, exact: bool = False) -> Items:
    """Read columns of items, or of others that are named ``exact``ly; cells may be empty."""
    values, codes = table.distinct([table.data.column(place) for place in places])
    words = _words(table, values)
    if table.merges and not exact:
        words = _merged(table, words, codes)
    names: dict = {}
    order = np.array(
        [-1 if w in ("", None) else names.setdefault(w, len(names)) for w in words], int
    )
    codes = np.append(order, -1)[codes].reshape(len(places), -1).T
    return Items(codes, list(names)).select(slice(None))


def distinct_items_of(
    table: Table, places: Sequence[int], *, shown: int | None = None, answer: int | None = None
) -> Items:
    """Read columns of items, the first ``shown`` of which must be named and must differ.

    Rows that name no item are dropped, as are those without an answer, the column at
    ``answer``; rows that lack a name or name an item twice are refused, or dropped on request.
    """
    shown, n_drops = len(places) if shown is None else shown, table.n_drops
    items = _named_rows(table, items_of(table, places), shown, answer)
    kept = table.refuse(
        (items.codes[:, :shown] < 0).any(axis=1),
        lambda i: f"an item has no name in {table.cells(i, places[:shown])}",
        "give the item a name or remove those rows",
        kind="unnamed",
    )
    items = items if kept is None else items.select(kept)
    items = differing(table, items, items.codes[:, :shown])
    # Read again after a drop: a word that only other rows had made text of all numbers.
    return items if table.n_drops == n_drops else items_of(table, places)


def _named_rows(table: Table, items: Items, shown: int, answer: int | None) -> Items:
    """Drop the rows that name no item, and then those without an answer."""
    missing_names = [*map(is_missing, items.names), True]
    if not table.together("missing", any(missing_names[:-1]) or items.codes.min() < 0, or_):
        return items
    blank = np.array(missing_names)[items.codes]
    question = [k for k in range(shown) if k != answer]
    idle = blank[:, question].all(axis=1)
    table.drop(idle, "no item is named, so that they are no trials")
    items, blank = items.select(~idle), blank[~idle]
    if answer is None:
        return items
    given = items.codes[:, [answer]]
    named = ((items.codes[:, question] == given) & (given >= 0)).any(axis=1)
    if answer < shown:
        # Not among the others of its row, but an item if it is among those of another.
        used = np.unique(items.codes[:, question])
        called = {items.names[code] for code in used if code >= 0 and missing_names[code]}
        called = table.together("called as if missing", called, or_)
        named |= np.array([*(name in called for name in items.names), False])[given[:, 0]]
    missing = blank[:, answer] & ~named
    table.drop(missing, "the answer is missing")
    return items.select(~missing)


def differing(table: Table, items: Items, codes: np.ndarray) -> Items:
    """Refuse rows of which some of the items are the same, or drop them on request."""
    ordered = np.sort(codes, axis=1)
    kept = _refuse_repeated(
        table,
        ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1),
        lambda i: [items.names[code] for code in codes[i] if code >= 0],
    )
    return items if kept is None else items.select(kept)


def refuse_repeated(
    table: Table, rows: np.ndarray, names: Callable[[int], list]
) -> np.ndarray | None:
    """Refuse rows (m, 3) of which two items are the same, or drop them on request."""
    a, b, c = rows.T
    return _refuse_repeated(table, (a == b) | (a == c) | (b == c), names)


def _refuse_repeated(table: Table, mask: Any, names: Callable[[int], list]) -> np.ndarray | None:
    return table.refuse(
        mask,
        lambda i: f"{names(i)} names an item twice",
        "the items of a row must differ",
        kind="repeated",
    )


def _words(table: Table, values: list) -> list:
    """Return the labels of cells, nothing for none.

    Numbers among text become integers where every label is one; text is trimmed.
    """
    words = [v.strip() if isinstance(v, str) else v for v in values]
    if not table.text:
        return words
    quoted = [v for v in values if v[:1].isspace() and v.lstrip()[:1] == '"']
    quoted = table.together("quoted", quoted[:1], lambda one, other: one or other)
    if quoted:
        raise ReadError(
            f"{table.path}: a quote follows a blank in {quoted[0]!r}, so that it does not "
            "count as a quote; remove the blank after the delimiter"
        )
    whole = all(WHOLE.fullmatch(word) for word in words if word)
    if table.together("whole numbers", whole, and_):
        return [int(WHOLE.fullmatch(word)[1]) if word else "" for word in words]  # type: ignore[index]
    return words


def _merged(table: Table, words: list, codes: np.ndarray) -> list:
    """Write names that differ in trifles alone as the first of them, column by column."""
    used, at = np.unique(codes, return_index=True)
    columns, rows = divmod(at, len(table.rows))
    stands = list(zip(columns.tolist(), table.rows[rows].tolist(), strict=True))
    own: dict = {}
    for code, place in zip(used.tolist(), stands, strict=True):
        if code >= 0:
            own.setdefault(words[code], place)
    places = table.together("spellings", own, _earliest)
    first = {}
    for group in alike(sorted(places, key=lambda word: places[word])):
        table.merged.setdefault(group[0], set()).update(group)
        first.update(dict.fromkeys(group, group[0]))
    return [first.get(word, word) for word in words]


def _earliest(some: dict, others: dict) -> dict:
    """Put the places of words together, that of each where it stands first."""
    return {word: min(place, some.get(word, place)) for word, place in (some | others).items()}
