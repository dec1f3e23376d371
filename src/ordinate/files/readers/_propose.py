"""Which columns may hold the items and the answers, by what they contain: for messages alone."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, pairwise
from operator import add

from ordinate.files.formats.cells import is_missing
from ordinate.files.formats.errors import Remedy
from ordinate.files.formats.names import OPTIONAL, SAID, SAID_FAR, core
from ordinate.files.formats.table import Table, squeezed
from ordinate.files.readers._columns import numbered_stems
from ordinate.files.readers._layout import Layout

SAMPLE_ROWS = 2000
# Columns of items share most of their values, and have more of them than codes have.
SHARED, MOST_CODES = 0.3, 3
# With fewer rows than this, a column that says the same of all, or counts, may be one of items.
ENOUGH = 10
Forms = dict[str, tuple[str, ...]]
# The roles that three columns of items and an answer may have, by layout.
WITHOUT_ANSWER: Forms = {
    "plain": ("anchor", "near", "far"),
    "odd_one_out": ("first", "second", "odd"),
}
WHEN = {"plain": "if they are anchor, near, far", "odd_one_out": "if the last is the odd one"}
OF_TWO: Forms = {"response": ("anchor", "first", "second", "response")}
OF_TWO_FAR: Forms = {"response": ("anchor", "first", "second", "farther")}
FARTHER = "if the answer tells which of the last two is farther from the first"
OF_THREE: Forms = {
    "odd_one_out": ("first", "second", "third", "odd"),
    "most_central": ("first", "second", "third", "centre"),
}

Cells = dict[str | int, list[str]]


def proposals(table: Table, layouts: Iterable[Layout]) -> list[Remedy]:
    """Return columns= for each layout that three columns of items, and an answer, may have."""
    meaning = {layout.name: layout.meaning for layout in layouts}
    cells = _numbered(table) or _single(table)
    items = _items(cells)
    if items is None:
        return []
    others = [name for name in cells if name not in items]
    answer = _answer(cells, items, others)
    found = []
    if answer is not None:
        forms = OF_TWO if _of_two(cells, items, answer) else OF_THREE
        items = _not_named_first(cells, items, answer) if forms is OF_TWO else items
        far = forms is OF_TWO and squeezed(str(answer)) in map(squeezed, SAID_FAR)
        found = [
            Remedy(
                {"columns": dict(zip(roles, (*items, answer), strict=True))},
                FARTHER if far else meaning[name],
            )
            for name, roles in (OF_TWO_FAR if far else forms).items()
            if name in meaning
        ]
    if answer is None or table.header is None:
        # The only other column of a file without names may tell who answered.
        more = {"participant": others[0]} if table.header is None and len(others) == 1 else {}
        found += [
            Remedy({"columns": dict(zip(roles, items, strict=True)) | more}, WHEN[name])
            for name, roles in WITHOUT_ANSWER.items()
            if name in meaning
        ]
    return found


def may_hold(table: Table, places: list[int], layout: str) -> bool:
    """Tell whether three columns vary, as items do, and the last one fits as an answer."""
    cells: Cells = {place: words(table, place) for place in places}
    asked = list(zip(*(cells[place] for place in places[:3]), strict=True))
    if asked and not any(map(all, asked)):
        return False  # where one names an item, another is empty: they hold no question together
    many = table.together("rows", len(table.rows), add, lambda n: n > ENOUGH)
    if many and any(len({*cells[place]} - {""}) < 2 for place in places[:3]):
        return False
    items = (places[0], places[1], places[2])
    return layout not in OF_TWO or _of_two(cells, items, places[3])


def words(table: Table, place: int) -> list[str]:
    """Return the first cells of a column as text, empty where they are missing."""
    cells = table.first_cells(table.data.column(place), SAMPLE_ROWS)
    return ["" if is_missing(cell) else str(cell).strip() for cell in cells]


def _words_heard(table: Table, place: int) -> list[str]:
    """Return the first cells of a column, none if nobody will hear what is made of them.

    Of all blocks that are refused, the first says why; the others only add their rows to the first.
    """
    if table.board is None or not table.board.refused:
        return words(table, place)
    table.first_cells(table.data.column(place), SAMPLE_ROWS)
    return []


def _single(table: Table) -> Cells:
    """Return the cells of the first rows by the name of their column, or by its number."""
    names: Iterable[str | int] = table.header or range(table.data.num_columns)
    known = {squeezed(name) for names in OPTIONAL.values() for name in names} - {"answer"}
    return {
        name: _words_heard(table, place)
        for place, name in enumerate(names)
        if squeezed(str(name)) not in known
    }


def _numbered(table: Table) -> Cells:
    """Return the cells of numbered columns, one below the other: of stems that hold most columns.

    Where names have two numbers (opt1_7), more questions than options tell which counts what.
    """
    header = table.header or []
    stems = numbered_stems(header)
    times = Counter(tuple(numbers) for numbers in stems.values())
    enough = [size for size, n_stems in times.items() if n_stems >= 3]
    usual = max(enough, key=lambda size: (times[size] * len(size), len(size)), default=None)
    same = {stem: columns for stem, columns in stems.items() if tuple(columns) == usual}
    if not same:
        return {}
    place = {name: k for k, name in reversed([*enumerate(header)])}
    return {
        stem: [word for name in columns.values() for word in _words_heard(table, place[name])]
        for stem, columns in same.items()
    }


def _items(cells: Cells) -> tuple[str | int, ...] | None:
    """Return the first three columns that share values with each other, as items do."""
    values = {name: {word for word in column if word} for name, column in cells.items()}
    most = max(map(len, values.values()), default=0)
    least = max(1, min(MOST_CODES, most))
    wordy = [n for n, seen in values.items() if len(seen) >= least and not _counts(cells[n])]
    wordy = wordy[:20]
    found: dict[tuple[str | int, ...], float] = {}
    for three in combinations(wordy, 3):
        one, two, other = (values[name] for name in three)
        shared = min(
            len(mine & (second | third)) / len(mine)
            for mine, second, third in ((one, two, other), (two, one, other), (other, one, two))
        )
        trials = [row for row in zip(*(cells[n] for n in three), strict=True) if all(row)]
        if trials and len(one | two | other) > MOST_CODES and shared >= SHARED:
            found[three] = sum(len({*row}) == 3 for row in trials) / len(trials)
    # The answer may name an item too, but only items always differ from each other.
    return max(found, key=lambda three: found[three], default=None)


def _counts(words: list[str]) -> bool:
    """Tell whether a column numbers the rows, whose numbers may be ids of items as well."""
    if len(words) < ENOUGH or not all(word.isdigit() for word in words):
        return False
    return all(a < b for a, b in pairwise(map(int, words)))


def _answer(
    cells: Cells, items: tuple[str | int, ...], others: list[str | int]
) -> str | int | None:
    """Return the column that names an item of its row, or has two or three values."""
    for name in others:
        rows = zip(cells[name], *(cells[item] for item in items), strict=True)
        answered = [row for row in rows if row[0]]
        if answered and all(word in shown for word, *shown in answered):
            return name
    coded = [n for n in others if 1 < len({word for word in cells[n] if word}) <= MOST_CODES]
    said = [name for name in coded if squeezed(str(name)) in map(squeezed, SAID)]
    return next(iter(said or coded), None)


def _not_named_first(
    cells: Cells, items: tuple[str | int, ...], answer: str | int
) -> tuple[str | int, ...]:
    """Put the anchor first, where answers name the columns of the other two: A and B of A, B, X."""
    said = {word.lower() for word in cells[answer] if word and not word.isdigit()}
    named = tuple(item for item in items if said & {*core(str(item)).split("_")})
    if len(said) == len(named) == 2:
        return (*(item for item in items if item not in named), *named)
    return items


def _of_two(cells: Cells, items: tuple[str | int, ...], answer: str | int) -> bool:
    """Tell whether answers pick one of two: codes by their number, items never the first."""
    rows = zip(cells[answer], *(cells[item] for item in items), strict=True)
    trials = [row for row in rows if all(row)]
    if len({word for word, *_ in trials}) <= 2:
        return True
    return all(word in others for word, _, *others in trials)
