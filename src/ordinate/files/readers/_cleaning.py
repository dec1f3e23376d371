"""Rows that the file marks, or the user names, as not to be used."""

import re
from collections.abc import Mapping
from itertools import islice
from operator import add, and_, or_

import numpy as np
import pyarrow as pa

from ordinate._base.messages import Message, Option, counted, some
from ordinate.files.formats.cells import FALSE, TRUE, distinct, normal
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.names import CHECK, OPTIONAL, PARTICIPANT, RESPONSE_TIME, TIMEOUT
from ordinate.files.formats.table import Table, squeezed
from ordinate.files.readers._descriptions import drop_names_again, note_doubtful
from ordinate.files.readers._layout import Layout, Options, files_as_participants

# What marks a check trial in any column, alone or with words that may go with it.
MARKS = {"check", "checks", "catch", "validation"}
BESIDE = {"attention", "sanity", "vigilance", "trial", "trials", "question", "is", ""}
# Where these are found beside it, validation is a part of the data and no check.
SPLITS = {"train", "training", "test", "testing"}
PRACTICE = {"practice", "practise", "warmup"}
LOOP = re.compile(r"practi[cs]e.*\.thisN", re.IGNORECASE)  # PsychoPy's number of a trial in a loop
FEW_WORDS, MOST_WORDS, SAMPLE_ROWS = 5, 50, 2000


def clean(table: Table, layout: Layout, options: Options) -> None:
    """Drop rows that are no trials, timeouts, checks, participants excluded and fast answers."""
    drop_names_again(table)
    for name, values in options.only.items():
        table.drop(~_marked(table, "only", name, values), f"{name} is not {_either(values)}")
    timeouts = table.flags(TIMEOUT)
    if timeouts is not None:
        table.drop(timeouts, "the time ran out")
    for name, values in options.checks.items():
        table.drop(
            _marked(table, "checks", name, values), f"check trials: {name} is {_either(values)}"
        )
    if not options.keep_checks and not options.checks:
        _drop_checks(table, layout)
    note_doubtful(table)
    if options.exclude_participants:
        _exclude(table, options.exclude_participants)
    if options.min_response_time is not None:
        _drop_fast(table, options.min_response_time)


def _either(values: tuple[str, ...]) -> str:
    return " or ".join(repr(value) if value else "empty" for value in values)


def _marked(table: Table, option: str, name: str, values: tuple[str, ...]) -> np.ndarray:
    """Tell in which rows a column has one of some values."""
    column = table.column([name])
    if column is None:
        raise ReadError(
            f"{table.path}: there is no column {name!r} for {option}=; the columns are "
            f"{table.shown_header()}"
        )
    words = table.words(column)
    found = table.together(option, {*values} & {*words}, or_)
    unknown = [value for value in values if value not in found]
    if unknown:
        known = table.together("words", sorted({*words})[:11], _least)
        raise ReadError(
            f"{table.path}: {name} is never {_either(tuple(unknown))}, but {some(known)}"
        )
    return np.isin(words, values)


def _least(some: list[str], others: list[str]) -> list[str]:
    return sorted({*some, *others})[:11]


def _drop_checks(table: Table, layout: Layout) -> None:
    """Drop the check trials that a column marks: by yes and no, or in words."""
    flag = table.index(CHECK)
    known = (
        name for roles in (*layout.named, OPTIONAL) for names in roles.values() for name in names
    )
    # Salmon names the files of items in columns of their own.
    used = {squeezed(f"{name}{ending}") for name in known for ending in ("", "_filename")}
    for place, name in enumerate(table.header or []):
        if place == flag:
            _drop_flagged(table, place, name)
        elif squeezed(name) not in used:
            values = _values(table, place)
            _drop_marked(table, place, name, values)
            _note_practice(table, place, name, values)


def _drop_flagged(table: Table, place: int, name: str) -> None:
    """Drop the rows that a column named as a mark of checks marks, or ask which it does."""
    values = _values(table, place)
    yes = tuple(value for value in values if value.lower() in TRUE)
    if all(value.lower() in (*TRUE, *FALSE) for value in values):
        _drop_where(table, place, name, yes)
    elif any(map(_is_mark, values)):
        _drop_marked(table, place, name, values)
    else:
        remedies = [Remedy({"checks": {name: value}}) for value in values[:5] if value]
        raise ReadError(
            f"{table.path}: the column {name} may mark check trials, but its values {some(values)} "
            "do not tell which rows are",
            *remedies,
            Remedy({"keep_checks": True}, "to keep all rows"),
        )


def _words_of(value: str) -> set[str]:
    return set(re.sub(r"\d+", "", normal(value)).split("_"))


def _is_mark(value: str) -> bool:
    words = _words_of(value)
    return bool(words & MARKS) and words <= MARKS | BESIDE


def _drop_marked(table: Table, place: int, name: str, values: list[str]) -> None:
    """Drop rows that say in words that they are checks; where all do, it is something else."""
    checks = tuple(value for value in values if _is_mark(value))
    if not checks or len(values) > MOST_WORDS:
        return
    if len(checks) == len(values) or SPLITS & {value.lower() for value in values}:
        table.notes.append(
            Message(
                f"rows whose {name} is {_either(checks)} are kept, as a part of the data; ",
                Option("checks", ...),
                " drops them",
            )
        )
    else:
        _drop_where(table, place, name, checks)


def _note_practice(table: Table, place: int, name: str, values: list[str]) -> None:
    """Say that answers given for practice are used like any others, and what leaves them out."""
    marks = [value for value in values if PRACTICE & _words_of(value)]
    is_loop = LOOP.fullmatch(name) is not None
    if not is_loop and not 0 < len(marks) < len(values) <= MOST_WORDS:
        return
    words = table.words(table.data.column(place))
    others = [""] if is_loop else [value for value in values if value not in marks]
    n_rows = table.together("practice", int((~np.isin(words, others)).sum()), add)
    if n_rows:
        marked = f"that {name} marks as practice"
        what = counted(n_rows, f"row {marked} is", f"rows {marked} are")
        option = Option("only", {name: others} if len(others) <= FEW_WORDS else ...)
        table.notes.append(
            Message(f"{what} used like any other; ", option, " reads the others alone")
        )


def _drop_where(table: Table, place: int, name: str, checks: tuple[str, ...]) -> None:
    mask = np.isin(table.words(table.data.column(place)), checks)
    kept = Message("; ", Option("keep_checks", True), " keeps them")
    table.drop(mask, Message(f"check trials, {name} is {_either(checks)}", kept))


def _values(table: Table, place: int) -> list[str]:
    """Return the distinct words of a column; of very many only some."""
    column = table.data.column(place)
    try:
        values, _ = distinct([column.slice(0, SAMPLE_ROWS)])
        if table.together("few values", len(values) <= MOST_WORDS, and_):
            values, _ = table.distinct([column])
    except ReadError:  # lists, times and the like mark nothing
        return []
    words = dict.fromkeys(str(value).strip() for value in values[: 2 * MOST_WORDS])
    return list(table.together("values", words, _some_words))


def _some_words(some: dict[str, None], others: dict[str, None]) -> dict[str, None]:
    """Put words together, as many of them as tell that they are too many."""
    return dict(islice((some | others).items(), 2 * MOST_WORDS))


def as_marks(option: str, marks: Mapping | None) -> dict[str, tuple[str, ...]]:
    """Check only= and checks=: for each column a value, or several."""
    if marks is None:
        return {}
    if not isinstance(marks, Mapping):
        raise TypeError(
            Message(
                Option(option),
                f" must name values by column, as in {{'trial': 'check'}}; got {marks!r}",
            )
        )
    return {
        str(name): tuple(map(str, v)) if isinstance(v, (list, tuple, set)) else (str(v),)
        for name, v in marks.items()
    }


def _exclude(table: Table, excluded: tuple) -> None:
    column = table.column(PARTICIPANT)
    if column is None and table.files is not None:
        column = pa.chunked_array([files_as_participants(table)])
    if column is None:
        raise ReadError(
            f"{table.path}: no column names participants to exclude; the columns are "
            f"{table.shown_header()}"
        )
    words = table.words(column)
    names = [str(name) for name in excluded]
    unknown = sorted({*names} - table.together("excluded", {*names} & {*words}, or_))
    if unknown:
        raise ReadError(f"{table.path}: participants to exclude are not in the file: {unknown}")
    table.drop(np.isin(words, names), f"{counted(len(set(names)), 'participant')} excluded")


def _drop_fast(table: Table, least: float) -> None:
    column = table.column(RESPONSE_TIME)
    if column is None:
        raise ReadError(
            Message(
                f"{table.path}: ",
                Option("min_response_time"),
                f" needs a column of response times, one of {list(RESPONSE_TIME)}; the columns are "
                f"{table.shown_header()}",
            )
        )
    times = table.numbers(column, "the response time")
    unknown = ~(times >= 0)  # platforms write -1 where they did not measure
    n_unknown = table.together("no time", int(unknown.sum()), add)
    if n_unknown:
        table.notes.append(f"{n_unknown:,} rows have no response time; they are kept")
    table.drop(~unknown & (times < least), f"faster than {least:g}, in the unit of the file")
