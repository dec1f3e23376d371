"""Which layout a table has: from the names of its columns, and never by a guess."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from operator import add

from ordinate._base.messages import Message, Option, some
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.names import OPTIONAL, core
from ordinate.files.formats.table import Table, squeezed
from ordinate.files.formats.text import NO_COLUMNS
from ordinate.files.readers import food100, odd_one_out, plain
from ordinate.files.readers._columns import Columns, mapped, numbered_stems
from ordinate.files.readers._dialects import tidy
from ordinate.files.readers._layout import (
    Layout,
    Options,
    first_line_is_data,
    first_row_is_data,
    may_be_header,
    three_bare_columns,
    words_above_numbers,
)
from ordinate.files.readers._missing import best_fits
from ordinate.files.readers._propose import may_hold, proposals

# What settles the meaning of three columns without names.
CHOICES = {
    "plain": (Remedy({"layout": "plain"}, "if they are anchor, near, far"),),
    "odd_one_out": odd_one_out.ODD_REMEDIES,
}


def one_of_many(role: str) -> str:
    """Return the role of numbered columns as tables of roles have it: shown_7 is shown_1."""
    return re.sub(r"_\d+$", "_1", str(role))


def check_roles(columns: Iterable[str], layouts: Iterable[Layout]) -> None:
    """Raise if columns= names a role that no layout has."""
    known = {one_of_many(role) for layout in layouts for role in layout.roles}
    unknown = [r for r in columns if one_of_many(r) not in {*known, *OPTIONAL, "is_ranked"}]
    if unknown:
        raise ReadError(
            Message(
                Option("columns", ...),
                f" names roles {unknown} that no layout has. They are, by layout, "
                f"{roles_in_words(layouts)}; and for any layout {', '.join(OPTIONAL)}",
            )
        )


def roles_in_words(layouts: Iterable[Layout]) -> str:
    """Return the roles of each layout, as in "plain: anchor, near, far; ..."."""
    roles = {layout.name: ", ".join(layout.roles) for layout in layouts if len(layout.roles) > 1}
    return "; ".join(f"{name}: {names}" for name, names in roles.items())


def find(
    table: Table, layouts: tuple[Layout, ...], options: Options, columns: Columns
) -> tuple[Table, Layout]:
    """Return the layout, and the table with its first line taken as names or as data."""
    allowed = [entry for entry in layouts if options.layout in ("auto", entry.name)]
    if options.odd is not None and options.layout == "auto":
        allowed = [entry for entry in layouts if entry.name == "odd_one_out"]
    elif table.array is not None and options.layout == "auto" and not columns:
        # As everywhere: an array of ids is (anchor, near, far).
        allowed = [entry for entry in layouts if entry.name == "plain"]
    counted = bool(columns) and _counted(columns) and not _line_1_names(table, layouts)
    named = table.named()
    named = tidy(named) if named.header is not None else named
    if columns:
        named = mapped(table if counted else named, columns)
    for candidate in (named, table.bare()):
        found = _with_roles([e for e in allowed if e.matches(candidate)], columns)
        if options.layout == "auto" and food100.LAYOUT in found:
            # Other paths between semicolons are as open a question as those between commas.
            own = food100.is_food100(candidate)
            found = [entry for entry in found if own == (entry is food100.LAYOUT)]
        if len(found) == 1:
            if not table.together("rows", len(candidate.rows), add, bool):
                raise ReadError(f"{table.path}: there are column names, but no rows")
            return candidate, found[0]
        if found:
            if three_bare_columns(candidate):
                first_row_is_data(candidate, plain.BARE, odd_one_out.BARE["last"])
            ways = (CHOICES.get(e.name, (Remedy({"layout": e.name}),)) for e in found)
            raise ReadError(f"{table.path}: the columns can be read in several ways", *chain(*ways))
        if candidate.header is None:
            continue
        wide = _by_wide_names(candidate, _with_roles(allowed, columns))
        if wide is not None:
            return wide
        _refuse_incomplete(candidate, table, allowed, columns)
    _refuse_line_above(table, allowed)
    raise _nothing_fits(named, table, allowed)


def _counted(columns: Columns) -> bool:
    return all(isinstance(column, int) for column in columns.values())


def _line_1_names(table: Table, layouts: Iterable[Layout]) -> bool:
    """Tell, and note, whether line 1 surely has names, although columns are counted."""
    if not table.undecided or not may_be_header(table.bare()):
        return False
    names = words_above_numbers(table.bare()) or _is_header(table.header or [], table, layouts)
    read_as = "as names" if names else "as data"
    counts = Message(", where ", Option("columns", ...), " counts columns")
    table.notes.append(Message(f"line 1 {table.shown_header()} is read {read_as}", counts))
    return names


def _refuse_line_above(table: Table, layouts: Iterable[Layout]) -> None:
    """Raise if it is line 2 that has the names of a layout."""
    below = table.without(1).bare()
    lines = below.first_rows(1) if table.undecided else []
    names = [cell.strip() for cell in lines[0]] if lines else []
    if names and may_be_header(below) and _is_header(names, below, layouts):
        raise ReadError(
            f"{table.path}: line 2 {names[:25]} names the columns, and line 1 "
            f"{table.shown_header()} stands above: remove line 1"
        )


def _is_header(names: list[str], table: Table, layouts: Iterable[Layout]) -> bool:
    """Tell whether names are those that a layout needs, none of them twice."""
    named = replace(table.named(), header=names)
    once = len({*map(squeezed, names)}) == len(names)
    return once and any(entry.matches(named) for entry in layouts)


def _with_roles(layouts: list[Layout], columns: Columns) -> list[Layout]:
    """Return the layouts that have all roles that were named."""
    named = {one_of_many(role) for role in columns if role not in (*OPTIONAL, "is_ranked")}
    return [entry for entry in layouts if named <= {one_of_many(role) for role in entry.roles}]


def _by_wide_names(table: Table, layouts: list[Layout]) -> tuple[Table, Layout] | None:
    """Find layouts by names that several may have: the only one is taken, with a note."""
    header = table.header or []
    names = [core(name) for name in header]
    times = Counter(names)
    short = [n if times[n] == 1 else own for n, own in zip(names, header, strict=True)]
    cores = replace(table, header=short)
    found: dict[str, tuple[Layout, dict[str, str]]] = {}
    for entry in layouts:
        for roles in entry.wide:
            places = table.found(roles) or cores.found(roles)
            if places is not None and may_hold(table, list(places.values()), entry.name):
                columns = {role: header[place] for role, place in places.items()}
                found.setdefault(entry.name, (entry, columns))
    if len(found) > 1:
        used = dict.fromkeys(n for _, columns in found.values() for n in columns.values())
        raise ReadError(
            f"{table.path}: the columns {list(used)} hold three items and an answer, and their "
            "names do not tell what was asked",
            *(Remedy({"layout": entry.name}, entry.meaning) for entry, _ in found.values()),
        )
    for entry, columns in found.values():
        told = ", ".join(f"{role} is {name}" for role, name in columns.items() if role != name)
        others = Message("; ", Option("columns", ...), " tells others")
        table.notes.append(Message(f"columns are read by their names: {told}", others))
        return mapped(table, columns), entry
    return None


def _refuse_incomplete(
    table: Table, original: Table, allowed: list[Layout], columns: Columns
) -> None:
    """Raise if the header names most columns of a layout, and say which are missing."""
    bare = original.bare()
    if three_bare_columns(bare) and not may_be_header(bare) and not columns:
        return
    fits = best_fits(table.header or [], allowed, columns)
    if fits:
        told = "; or ".join(fit.describe() for fit in fits)
        raise ReadError(
            f"{table.path}: of the columns {original.shown_header()}, {told}",
            *(remedy for fit in fits for remedy in fit.remedies()),
        )


def _nothing_fits(table: Table, original: Table, allowed: list[Layout]) -> ReadError:
    """Return the error; the content may show which columns hold items and answers."""
    if table.text and table.data.num_columns < 3:
        return ReadError(f"{table.path}: {NO_COLUMNS}. The columns are {table.shown_header()}")
    wanted = allowed[0].description if len(allowed) == 1 else "any known layout"
    if table.header == original.header and first_line_is_data(original.bare()):
        table = original.bare()
    stems = numbered_stems(table.header or [])
    series = f" (numbered: {some(stems)})" if stems else ""
    ways = proposals(table, allowed)
    roles: tuple[str | Option, ...] = ("By what they hold, they may have these roles",)
    if not ways:
        roles = (
            "Name yours in ",
            Option("columns", ...),
            f", by role (* stands for the number of a question): {roles_in_words(allowed)}",
        )
    return ReadError(
        Message(
            f"{table.path}: the columns {table.shown_header()}{series} do not fit ",
            wanted,
            ". ",
            *roles,
        ),
        *ways,
    )
