"""JSON whose records lie within others, as servers and pandas write it, as plain records."""

from collections import Counter
from typing import Any

from ordinate.files.formats.cells import normal
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.names import (
    PARTICIPANT,
    WIDE_NEAREST,
    WIDE_PAIRS,
    WIDE_PLAIN,
    WIDE_VOTES,
)

DEEPEST = 5
QUESTIONS = {
    name
    for roles in (WIDE_PLAIN, *WIDE_PAIRS, WIDE_NEAREST, *WIDE_VOTES)
    for names in roles.values()
    for name in names
}


def unnested(shown: str, data: Any) -> tuple[Any, list[str]]:
    """Return records or columns that lie within others, and notes on what was taken apart."""
    notes: list[str] = []
    for _ in range(DEEPEST):
        if _is_columns_by_row(data):
            return {name: list(cells.values()) for name, cells in data.items()}, notes
        wrapped = [data] if isinstance(data, dict) else data
        key = _key_of_records(shown, wrapped)
        if key is None:
            break
        others = sorted({name for outer in wrapped for name in outer} - {key, *PARTICIPANT})
        unread = f"; not read: {others[:10]}" if others else ""
        notes.append(f"records are read from {key!r}{unread}")
        data = [record for outer in wrapped for record in _with_participant(outer, key)]
    if isinstance(data, list) and any(_nests(record) for record in data):
        data = _flat(data)
    return data, notes


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _is_columns_by_row(data: Any) -> bool:
    """Tell whether cells are named by their rows, as ``DataFrame.to_json`` does."""
    if not isinstance(data, dict) or len(data) < 2 or not all(map(_is_cells, data.values())):
        return False
    return len({tuple(cells) for cells in data.values()}) == 1


def _is_cells(value: Any) -> bool:
    plain = isinstance(value, dict) and not any(isinstance(v, (dict, list)) for v in value.values())
    return plain and bool(value) and all(key.isdigit() for key in value)


def _key_of_records(shown: str, wrapped: Any) -> str | None:
    """Return the one key that all objects have their records under; None for plain records."""
    if not _is_records(wrapped):
        return None
    inside = [[k for k, v in outer.items() if _is_records(v)] for outer in wrapped]
    single = len(wrapped) == 1 and len(wrapped[0]) == 1
    if single and isinstance(next(iter(wrapped[0].values())), dict):
        return next(iter(wrapped[0]))
    keys = {key for found in inside for key in found}
    if not keys or not all(inside):
        return None
    if len(wrapped) > 1 and not _tell_more(wrapped, keys):
        return None
    if len(keys) > 1:
        raise ReadError(
            f"{shown}: JSON holds records under {sorted(keys)[:10]}; put those to be read into one "
            "list, each with its participant"
        )
    return keys.pop()


def _tell_more(wrapped: list[dict], keys: set[str]) -> bool:
    """Tell whether records within have more names of items and answers than those around them.

    A trial may have a list of its own, such as where the mouse was.
    """
    around = {normal(name) for outer in wrapped for name in outer}
    within = {
        normal(name)
        for outer in wrapped
        for key in keys & outer.keys()
        for record in outer[key]
        for name in record
    }
    return len(within & QUESTIONS) > len(around & QUESTIONS)


def _with_participant(outer: dict, key: str) -> list[dict]:
    """Return the records of an object, with its participant where they name none."""
    inside = outer[key] if isinstance(outer[key], list) else [outer[key]]
    people = {n: v for n, v in outer.items() if normal(n) in PARTICIPANT and n != key}
    return [{**people, **record} for record in inside]


def _nests(record: Any) -> bool:
    return isinstance(record, dict) and any(isinstance(value, dict) for value in record.values())


def _flat(records: list) -> list[dict]:
    """Call fields within others by their own names where these differ, else with the outer ones."""
    paths = [_paths(record) for record in records]
    times = Counter(path[-1] for path in dict.fromkeys(path for row in paths for path in row))
    return [
        {path[-1] if times[path[-1]] == 1 else ".".join(path): v for path, v in row.items()}
        for row in paths
    ]


def _paths(value: dict, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict) and inner and len(above) < DEEPEST:
            found |= _paths(inner, (*above, key))
        else:
            found[*above, key] = inner
    return found
