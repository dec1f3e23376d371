"""What a layout is, what a reader may be told, and the columns that any layout may have."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate._endings import stem
from ordinate.readers._table import Items, ReadError, Roles, Table
from ordinate.triplets import Triplets

PARTICIPANT = (
    "participant",
    "participant_id",
    "puid",
    "subject",
    "subject_id",
    "worker",
    "worker_id",
    "user_id",
)
RESPONSE_TIME = ("response_time", "response_time_s", "response_time_ms", "reaction_time", "rt")
CHECK = ("check", "is_check", "catch", "is_catch", "catch_trial", "attention_check", "validation")
TIMEOUT = ("timeout", "timed_out", "is_timeout")

WEIGHT = ("weight",)
ANSWER = ("answer", "answer_id")
OPTIONAL = {
    "participant": PARTICIPANT,
    "response_time": RESPONSE_TIME,
    "check": CHECK,
    "timeout": TIMEOUT,
    "weight": WEIGHT,
    "answer": ANSWER,
}
# What columns= may name; those that end in a number stand for any number.
ROLES = (
    *("anchor", "near", "far", "answer", "weight", "participant", "response_time", "check"),
    *("timeout", "first", "second", "third", "odd", "centre", "response", "winner", "query"),
    *("votes_first", "votes_second", "shown_1", "chosen_1", "reference_1", "rank_1"),
    *("n_select", "is_ranked"),
)

# The items of a question of three, as files name them.
THREE = {
    "first": ("first", "item_1", "object_1", "triplet_object_1", "a"),
    "second": ("second", "item_2", "object_2", "triplet_object_2", "b"),
    "third": ("third", "item_3", "object_3", "triplet_object_3", "c"),
}
IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".svg", ".tif", ".tiff")


@dataclass(frozen=True)
class Options:
    """What only the user can know; see :func:`ordinate.readers.read`."""

    first_id: int | None = None
    odd: str | None = None
    positive: str | None = None
    keep_checks: bool = False
    exclude_participants: tuple = ()
    min_response_time: float | None = None


class Layout(NamedTuple):
    """One way in which files hold answers.

    ``matches`` looks at the names of the columns, and at a few cells where a file has no names;
    ``parse`` makes triplets and raises :class:`ReadError` at rows that make no sense. ``named`` has
    the columns needed, once for each way to name them, to tell which is missing.
    """

    name: str
    description: str
    matches: Callable[[Table], bool]
    parse: Callable[[Table, Options], Triplets]
    named: tuple[Roles, ...] = ()


def check_roles(columns: Iterable[str]) -> None:
    """Raise if columns= names a role that no layout has."""
    unknown = [r for r in columns if re.sub(r"_\d+$", "_1", str(r)) not in ROLES]
    if unknown:
        raise ReadError(f"columns= names roles {unknown} that no layout has; they are {ROLES}")


def three_bare_columns(table: Table) -> bool:
    """Tell whether a file is three columns without names."""
    return table.header is None and table.data.num_columns == 3


def image_paths(table: Table) -> bool:
    """Tell whether the first row names images, as food100 does."""
    cells = table.cells(0, range(table.data.num_columns)) if table.text else []
    return bool(cells) and all(cell.strip().lower().endswith(IMAGES) for cell in cells)


def _first_line(table: Table) -> list[str]:
    return [cell.strip() for cell in table.cells(0, range(table.data.num_columns))]


def may_be_header(table: Table) -> bool:
    """Tell whether nothing shows that the first line of a file without known names is data."""
    if not table.text or image_paths(table):
        return False
    first = _first_line(table)
    rest = [pc.utf8_trim_whitespace(column) for column in table.data.slice(1).columns]
    again = (pc.any(pc.equal(column, cell)).as_py() for cell in first for column in rest)
    return not any(map(_is_number, first)) and not any(again)


def first_row_is_data(table: Table) -> None:
    """Raise if the first line of a file without known names may be a header after all."""
    if may_be_header(table):
        first = _first_line(table)
        named = dict(zip(("anchor", "near", "far"), first, strict=True))
        raise ReadError(
            f"{table.path}: line 1 {first} may be a header or data, since none of it occurs again. "
            f"Say columns={named} if it names the columns, in this or another order, "
            "columns={'anchor': 0, 'near': 1, 'far': 2} if the file has no header"
        )


def clean(table: Table, options: Options) -> None:
    """Drop the rows that the file marks, or the user names, as not to be used."""
    timeouts = table.flags(TIMEOUT)
    if timeouts is not None:
        table.drop(timeouts, "the time ran out")
    checks = table.flags(CHECK)
    if checks is not None and not options.keep_checks:
        table.drop(checks, "check trials; keep_checks=True keeps them")
    if options.exclude_participants:
        _exclude(table, options.exclude_participants)
    if options.min_response_time is not None:
        _drop_fast(table, options.min_response_time)


def participants(table: Table) -> pa.DictionaryArray | None:
    """Return who gave each answer, by a column or a file for each; None where nothing says."""
    column = table.column(PARTICIPANT)
    if column is None:
        return _files_as_participants(table)
    others = [n for n in PARTICIPANT[1:] if table.column([n]) not in (None, column)]
    if others:
        table.notes.append(f"participants are not read from column {others[0]!r}")
    items = table.items([table.places({"participant": PARTICIPANT})[0]], gaps=True)
    unnamed = items.codes[:, 0] < 0
    if unnamed.any():
        table.notes.append(f"{unnamed.sum():,} rows name no participant; they count as one, ''")
        items = Items(
            np.where(unnamed[:, None], len(items.names), items.codes), [*map(str, items.names), ""]
        )
    return items.columns()[0]


def _files_as_participants(table: Table) -> pa.DictionaryArray | None:
    if table.files is None:
        return None
    names = [stem(name) for name in table.files.names]
    codes = table.files.of(table.rows).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names))


def note_files(table: Table) -> None:
    """Note what files of a folder stand for, and which of them gave nothing."""
    if table.files is None:
        return
    names = table.files.names
    if table.column(PARTICIPANT) is None:
        table.notes.append(
            f"no column names participants: each of the {len(names):,} files counts as one"
        )
    used = np.bincount(table.files.of(table.rows), minlength=len(names)) > 0
    empty = [name for name, u in zip(names, used, strict=True) if not u]
    if empty:
        table.notes.append(f"{len(empty):,} files gave no answer: {', '.join(empty[:10])}")


def extras(table: Table, items: Items, options: Options) -> dict[str, Any]:
    """Return what goes with the items of any layout: all labels, and who answered."""
    return {"labels": _labels(table, items, options), "participant": participants(table)}


def _labels(table: Table, items: Items, options: Options) -> range | None:
    """Return all labels where ids are counted from a first one, or None for those that occur."""
    if options.first_id is None:
        return None
    whole = all(isinstance(name, int) for name in items.names)
    if not whole or min(items.names) < options.first_id:
        least = f"ids from {min(items.names)}" if whole else "labels that are not integers"
        raise ReadError(
            f"{table.path}: first_id is {options.first_id}, but the file has {least}; leave "
            "first_id out to take ids as labels"
        )
    last = max(items.names)
    if last - options.first_id >= max(1_000_000, 30 * len(items.codes)):
        raise ReadError(
            f"{table.path}: ids reach {last:,}, so that almost all items would be in no row; "
            "leave first_id out to take ids as labels"
        )
    return range(options.first_id, last + 1)


def _exclude(table: Table, excluded: tuple) -> None:
    column = table.column(PARTICIPANT)
    if column is None and table.files is not None:
        column = pa.chunked_array([_files_as_participants(table)])
    if column is None:
        raise ReadError(
            f"{table.path}: no column names participants to exclude; the columns are "
            f"{table.shown_header()}"
        )
    words = table.words(column)
    names = [str(name) for name in excluded]
    unknown = sorted(set(names) - set(words))
    if unknown:
        raise ReadError(f"{table.path}: participants to exclude are not in the file: {unknown}")
    table.drop(np.isin(words, names), f"{len(set(names))} participants excluded")


def _drop_fast(table: Table, least: float) -> None:
    column = table.column(RESPONSE_TIME)
    if column is None:
        raise ReadError(
            f"{table.path}: min_response_time needs a column of response times, one of "
            f"{list(RESPONSE_TIME)}; the columns are {table.shown_header()}"
        )
    times = table.numbers(column, "the response time")
    unknown = ~(times >= 0)  # platforms write -1 where they did not measure
    if unknown.any():
        table.notes.append(f"{unknown.sum():,} rows have no response time; they are kept")
    table.drop(~unknown & (times < least), f"faster than {least:g}, in the unit of the file")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
