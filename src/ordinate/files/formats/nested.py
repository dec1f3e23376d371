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
        if isinstance(data, dict) and [type(value) for value in data.values()] == [dict]:
            ((key, data),) = data.items()
            notes.append(f"the data are read from {key!r}")
            continue
        wrapped = [data] if isinstance(data, dict) else data
        key = _key_of_records(shown, wrapped)
        if key is None:
            break
        names = {name for outer in wrapped for name in outer} - {key}
        others = sorted(name for name in names if normal(name) not in PARTICIPANT)
        unread = f"; not read: {others[:10]}" if others else ""
        notes.append(f"the data are read from {key!r}{unread}")
        data = _joined(wrapped, key)
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
    keys = {key for found in inside for key in found}
    if not keys or not all(inside):
        return None
    lists = sum(isinstance(value, list) for outer in wrapped for value in outer.values())
    if lists > 1 and not _tell_more(wrapped, keys):
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


def _joined(wrapped: list[dict], key: str) -> list[dict]:
    """Return the records of several objects, with the participants these name or stand for."""
    people = [
        {name: v for name, v in outer.items() if normal(name) in PARTICIPANT and name != key}
        for outer in wrapped
    ]
    named = any(normal(n) in PARTICIPANT for o in wrapped for record in o[key] for n in record)
    if len(wrapped) > 1 and not named and not any(people):
        people = [{PARTICIPANT[0]: k} for k in range(1, len(wrapped) + 1)]
    return [
        {**person, **record}
        for person, outer in zip(people, wrapped, strict=True)
        for record in outer[key]
    ]


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
