"""Columns of triplets: those of tables that other libraries made, and of several tables joined.

Functions return the arguments that make :class:`.Triplets` of them.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.data.labels import encode

if TYPE_CHECKING:
    from ordinate.data.triplets import Triplets

COLUMNS = ("anchor", "near", "far")
EXTRAS = ("answer", "participant", "weight", "source")  # that may go with them
SOURCES = ("random", "active", "repeat", "check")  # why questions were asked


def is_table(data: Any) -> bool:
    """Tell whether columns have names: pandas and polars frames, Arrow tables."""
    return hasattr(data, "columns") or hasattr(data, "column_names")


def of_frame(frame: Any, items: Iterable[Hashable] | None, n_items: int | None) -> dict[str, Any]:
    """Take a table with names; see :meth:`.Triplets.from_frame`."""
    names = list(getattr(frame, "column_names", frame.columns))
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ValueError(
            f"a table of triplets needs the columns anchor, near and far; {missing} are "
            f"missing among {names}: rename the columns if they mean that; where another says "
            "which item was picked, ordinate.answers makes triplets, as in "
            "responses(anchor, first, second, winner=...)"
        )
    extras = {name: frame[name] for name in EXTRAS if name in names}
    if "source" in extras and source_codes(extras["source"]) is None:
        del extras["source"]  # tells something else
    codes, found = encode({name: frame[name] for name in COLUMNS}, items)
    if n_items is None or items is not None:
        return {"rows": codes, "items": found, "n_items": n_items, **extras}
    if found.dtype.kind == "i":
        return {"rows": found[codes], "n_items": n_items, **extras}
    if len(found) != n_items:
        raise ValueError(
            f"the table names {len(found):,} items, but n_items is {n_items:,}: give the "
            "labels of all items with Triplets.from_frame(table, items=...)"
        )
    return {"rows": codes, "items": found, **extras}


def source_codes(values: Any) -> np.ndarray | None:
    """Return why each question was asked as a place among SOURCES; None if values say other things.

    Empty and missing values are unknown, -1.
    """
    code_of: dict[Any, int] = {word: code for code, word in enumerate(SOURCES)} | {"": -1}
    words = (str("" if value is None or value != value else value) for value in values)
    codes = [code_of.get(word.strip().lower()) for word in words]
    return None if None in codes else np.array(codes, np.int8)


def source_words(codes: np.ndarray) -> np.ndarray:
    """Return the words of :func:`source_codes`."""
    return np.array([*SOURCES, ""])[codes]


def joined(tables: "Sequence[Triplets]") -> dict[str, Any]:
    """Take one table after the other; see :meth:`.Triplets.concatenate`."""
    if not tables:
        raise ValueError("there are no tables to concatenate")
    first = tables[0]
    for table in tables[1:]:
        if not np.array_equal(table.items, first.items):
            raise ValueError("tables must be over the same items, in the same order of labels")
    columns: dict[str, list[np.ndarray]] = {name: [] for name in EXTRAS}
    weighted = any(table.weight is not None for table in tables)
    n_answers = 0
    for table in tables:
        if table.answer is not None:
            columns["answer"].append(table.answer + n_answers)
            n_answers = int(columns["answer"][-1].max()) + 1
        if table.participant is not None and table.participant_labels is not None:
            columns["participant"].append(table.participant_labels[table.participant])
        if weighted:
            columns["weight"].append(table._weights)
        if table.source is not None:
            columns["source"].append(source_words(table.source))
    for name, parts in columns.items():
        if parts and len(parts) < len(tables):
            raise ValueError(f"some tables have the column {name}, others do not")
    return {
        "rows": np.concatenate([table.rows for table in tables]),
        "items": first._items,
        "n_items": first.n_items,
        **{name: np.concatenate(parts) for name, parts in columns.items() if parts},
    }
