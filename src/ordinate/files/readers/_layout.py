"""What a layout is, what a reader may be told, and what goes with the items of any layout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import add, and_, or_
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate._base.endings import IMAGES, stem
from ordinate._base.messages import Message, Option, some
from ordinate.data.columns import source_codes
from ordinate.data.rows import are_labels
from ordinate.data.triplets import Triplets
from ordinate.files.formats.cells import is_missing
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.item_columns import Items, items_of
from ordinate.files.formats.names import PARTICIPANT
from ordinate.files.formats.table import Roles, Table

# Rows that are looked at, and those below which nothing is concluded from all being numbers.
SAMPLE_ROWS, ENOUGH = 2000, 10


@dataclass(frozen=True)
class Options:
    """What only the user can know; see :func:`ordinate.readers.read`."""

    layout: str = "auto"
    first_id: int | None = None
    odd: str | None = None
    response: str | Mapping[Any, str] | None = None
    checks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keep_checks: bool = False
    exclude_participants: tuple = ()
    min_response_time: float | None = None
    groups: str | None = None


class Layout(NamedTuple):
    """One way in which files hold answers.

    ``matches`` looks at the names of the columns, and at a few cells where a file has no names;
    ``parse`` makes triplets and raises :class:`ReadError` at rows that make no sense. ``named`` has
    the columns needed, once for each way to name them; ``wide`` the same by names that other
    layouts may have as well, which ``meaning`` puts into words.
    """

    name: str
    description: str
    matches: Callable[[Table], bool]
    parse: Callable[[Table, Options], Triplets]
    named: tuple[Roles, ...] = ()
    wide: tuple[Roles, ...] = ()
    meaning: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """What columns= may name, in the order of first mention; other names are fixed."""
        return tuple(dict.fromkeys(role for roles in self.named for role in nameable(roles)))


def nameable(roles: Roles) -> list[str]:
    """Return the roles that are names of columns themselves."""
    return [role for role, names in roles.items() if role in names]


def three_bare_columns(table: Table) -> bool:
    """Tell whether a file is three columns without names."""
    return table.header is None and table.data.num_columns == 3


def image_paths(table: Table) -> bool:
    """Tell whether the first row names images, as food100 does."""
    cells = table.first_rows(1)[0] if table.text else []
    return bool(cells) and all(cell.strip().lower().endswith(IMAGES) for cell in cells)


def _first_line(table: Table) -> list[str]:
    return [cell.strip() for cell in table.first_rows(1)[0]]


def may_be_header(table: Table) -> bool:
    """Tell whether nothing shows that the first line of a file without known names is data."""
    if not table.text or image_paths(table):
        return False
    first = _first_line(table)
    rest = [pc.utf8_trim_whitespace(column) for column in table.without(1).data.columns]
    again = any(pc.any(pc.equal(column, cell)).as_py() for cell in first for column in rest)
    again = table.together("first line again", again, or_)
    return not any(map(_is_number, first)) and not again


def first_line_is_data(table: Table) -> bool:
    """Tell whether a number, or a cell that occurs again below, shows that line 1 has no names."""
    if not table.text or words_above_numbers(table):
        return False
    cells = zip(_first_line(table), table.without(1).data.columns, strict=True)
    # An empty cell shows nothing: a delimiter at the end of each line makes a column of them.
    own = any(
        _is_number(cell) or pc.any(pc.equal(column, cell)).as_py() for cell, column in cells if cell
    )
    return table.together("first line is data", own, or_)


def words_above_numbers(table: Table) -> bool:
    """Tell whether a column is a word and numbers below it, so that line 1 has names."""
    columns = table.without(1).data.columns
    below = [table.first_cells(column, SAMPLE_ROWS) for column in columns]
    return table.together("rows", table.data.num_rows, add, lambda n: n > ENOUGH) and any(
        cell and not _is_number(cell) and all(map(_is_number, cells))
        for cell, cells in zip(_first_line(table), below, strict=True)
    )


def first_row_is_data(table: Table, *ways: tuple[tuple[str, ...], str]) -> None:
    """Raise if the first line of a file without known names may be a header after all.

    ``ways`` have the roles that the columns may have, and what these say, in words.
    """
    if not may_be_header(table):
        return
    first = _first_line(table)
    sure = words_above_numbers(table)
    why = "are names that say too little" if sure else "may be a header or data"
    also = "" if sure else ", since none of it occurs again"
    also += "; the columns can be read in several ways" if len(ways) > 1 else ""
    named = [
        Remedy({"columns": dict(zip(roles, first, strict=True))}, f"if it names {words}")
        for roles, words in ways
    ]
    counted = [
        Remedy(
            {"columns": {role: k for k, role in enumerate(roles)}},
            f"if the file has no header, and holds {words}",
        )
        for roles, words in ways
    ]
    raise ReadError(f"{table.path}: line 1 {first} {why}{also}", *named, *([] if sure else counted))


def participants(table: Table) -> pa.DictionaryArray | np.ndarray | None:
    """Return who gave each answer, by a column or a file for each; None where nothing says.

    Where a column of groups is asked for, or one tells why questions were asked, each row is
    someone of its own until :func:`take_carried` has told these of the triplets that rows became.
    """
    who = _participants(table)
    groups = None if table.group_by is None else _groups(table, who)
    source = _sources(table)
    if groups is None and source is None:
        return who
    table.carried = who, groups, source
    return np.arange(len(table.rows))


def take_carried(table: Table, triplets: Triplets) -> np.ndarray | None:
    """Return the group of each triplet, None where a row names none.

    The triplets get who is who, and why they were asked. So columns come along in every layout,
    whatever triplets it makes of a row.
    """
    if table.carried is None or triplets.participant_labels is None:
        return None
    who, groups, source = table.carried
    rows = triplets.participant_labels[triplets.participant]
    triplets.participant = triplets.participant_labels = None
    if who is not None:
        coded = triplets._codes("participant", who.take(pa.array(rows)))
        triplets.participant, triplets.participant_labels = coded
    if source is not None:
        triplets.source = source[rows]
    return None if groups is None else groups[rows]


def _sources(table: Table) -> np.ndarray | None:
    """Return why each question was asked, where a column says so in the words of `ordinate ask`."""
    try:
        column = table.column(["source"])
        if column is None:
            return None
        values, places = table.distinct([column])
        known = source_codes([*values, ""])  # the last is for cells that are missing
    except ReadError:  # lists, or two columns of that name, tell something else
        known = None
    if not table.together("sources", known is not None, and_) or known is None:
        return None
    if table.board is not None:
        table.notes.append(
            "what is read block by block does not keep the column source: accuracies on questions "
            "drawn at random and on chosen ones are not told apart"
        )
        return None
    return known[places]


def _groups(table: Table, who: pa.DictionaryArray | None) -> np.ndarray:
    """Return the group of each row, by a column as the file or columns= names it."""
    name = str(table.group_by)
    roles = [role for role, own in table.origin.items() if own == name]
    place = table.index([name, *roles])
    if place is None and name == "participant" and who is not None:
        return np.array(who.to_pylist(), object)
    if place is None:
        raise ReadError(
            Message(
                f"{table.path}: there is no column {name!r} for ",
                Option("groups"),
                f"; the columns are {table.shown_header()}",
            )
        )
    found = items_of(table, [place], exact=True)
    names = np.empty(len(found.names) + 1, object)
    names[:-1] = found.names
    return names[found.codes[:, 0]]


def _participants(table: Table) -> pa.DictionaryArray | None:
    column = table.column(PARTICIPANT)
    if column is None:
        return files_as_participants(table)
    differ = {n for n in PARTICIPANT[1:] if table.column([n]) not in (None, column)}
    differ = table.together("other participants", differ, or_)
    others = [n for n in PARTICIPANT if n in differ]
    if others:
        table.notes.append(f"participants are not read from column {others[0]!r}")
    items = items_of(table, [table.places({"participant": PARTICIPANT})[0]], exact=True)
    missing = {str(name) for name in items.names if is_missing(name)}
    for name in sorted(table.together("participants as if missing", missing, or_)):
        table.notes.append(
            f"a participant is called {name!r}: if that means that nobody is named, those rows are "
            "of several people"
        )
    unnamed = items.codes[:, 0] < 0
    n_unnamed = table.together("unnamed", int(unnamed.sum()), add)
    if n_unnamed:
        table.notes.append(f"{n_unnamed:,} rows name no participant; they count as one, ''")
        items = Items(
            np.where(unnamed[:, None], len(items.names), items.codes), [*map(str, items.names), ""]
        )
    return items.columns()[0]


def files_as_participants(table: Table) -> pa.DictionaryArray | None:
    """Return the file that each row came from, where there are several."""
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
    used = table.together("files", {*np.unique(table.files.of(table.rows)).tolist()}, or_)
    empty = [name for k, name in enumerate(names) if k not in used]
    if empty:
        table.notes.append(f"{len(empty):,} files gave no answer: {some(empty)}")


def extras(table: Table, items: Items, options: Options) -> dict[str, Any]:
    """Return what goes with the items of any layout: all labels, and who answered."""
    return {"items": _labels(table, items, options), "participant": participants(table)}


def _labels(table: Table, items: Items, options: Options) -> range | None:
    """Return all labels where ids are counted from a first one, or None for those that occur."""
    if options.first_id is None:
        return None
    whole = all(isinstance(name, int) for name in items.names)
    whole, least, last, n_rows = table.together(
        "ids",
        (whole, *((min(items.names), max(items.names)) if whole else (0, 0)), len(items.codes)),
        lambda a, b: (a[0] and b[0], min(a[1], b[1]), max(a[2], b[2]), a[3] + b[3]),
    )
    if not whole or least < options.first_id:
        found = f"ids from {least}" if whole else "labels that are not integers"
        raise ReadError(
            Message(
                f"{table.path}: ",
                Option("first_id"),
                f" is {options.first_id}, but the file has {found}; leave ",
                Option("first_id"),
                " out to take ids as labels",
            )
        )
    if are_labels(last - options.first_id, n_rows):
        raise ReadError(
            Message(
                f"{table.path}: ids reach {last:,}, so that almost all items would be in no row; "
                "leave ",
                Option("first_id"),
                " out to take ids as labels",
            )
        )
    return range(options.first_id, last + 1)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
