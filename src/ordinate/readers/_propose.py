"""Which columns may hold the items and the answers, by what they contain: for messages alone."""

from collections.abc import Iterable
from itertools import combinations

from ordinate.readers._cells import is_missing
from ordinate.readers._columns import numbered_stems
from ordinate.readers._errors import Remedy
from ordinate.readers._layout import Layout
from ordinate.readers._names import OPTIONAL, SAID
from ordinate.readers._table import Table, squeezed

SAMPLE_ROWS = 2000
# Columns of items share most of their values, and have more of them than codes have.
SHARED, MOST_CODES = 0.3, 3
Forms = dict[str, tuple[str, ...]]
# The roles that three columns of items and an answer may have, by layout.
WITHOUT_ANSWER: Forms = {
    "plain": ("anchor", "near", "far"),
    "odd_one_out": ("first", "second", "odd"),
}
OF_TWO: Forms = {"response": ("anchor", "first", "second", "response")}
OF_THREE: Forms = {
    "odd_one_out": ("first", "second", "third", "odd"),
    "most_central": ("first", "second", "third", "centre"),
}

Cells = dict[str | int, list[str]]


def proposals(table: Table, layouts: Iterable[Layout]) -> list[Remedy]:
    """Return columns= for each layout that three columns of items, and an answer, may have."""
    allowed = {layout.name: layout.meaning for layout in layouts}
    cells = _numbered(table) or _single(table)
    items = _items(cells)
    if items is None:
        return []
    others = [name for name in cells if name not in items]
    answer = _answer(cells, items, others)
    forms = WITHOUT_ANSWER
    if answer is not None:
        forms = OF_TWO if _of_two(cells, items, answer) else OF_THREE
    more = _participant(table, [name for name in others if name != answer])
    columns = [*items, *([] if answer is None else [answer])]
    meaning = {"plain": "if they are anchor, near, far"}
    meaning |= {} if answer is not None else {"odd_one_out": "if the last is the odd one"}
    return [
        Remedy(
            {"columns": dict(zip(roles, columns, strict=True)) | more},
            meaning.get(name, allowed[name]),
        )
        for name, roles in forms.items()
        if name in allowed
    ]


def _words(table: Table, place: int) -> list[str]:
    cells = table.data.column(place).slice(0, SAMPLE_ROWS).to_pylist()
    return ["" if is_missing(cell) else str(cell).strip() for cell in cells]


def _single(table: Table) -> Cells:
    """Return the cells of the first rows by the name of their column, or by its number."""
    names: Iterable[str | int] = table.header or range(table.data.num_columns)
    known = {squeezed(name) for names in OPTIONAL.values() for name in names} - {"answer"}
    return {
        name: _words(table, place)
        for place, name in enumerate(names)
        if squeezed(str(name)) not in known
    }


def _numbered(table: Table) -> Cells:
    """Return the cells of numbered columns, one below the other, where most stems are."""
    header = table.header or []
    stems = numbered_stems(header)
    sizes = [tuple(numbers) for numbers in stems.values()]
    usual = max(sizes, key=sizes.count, default=())
    same = {stem: columns for stem, columns in stems.items() if tuple(columns) == usual}
    if len(same) < 3:
        return {}
    return {
        stem: [word for name in columns.values() for word in _words(table, header.index(name))]
        for stem, columns in same.items()
    }


def _items(cells: Cells) -> tuple[str | int, ...] | None:
    """Return the first three columns that share values and mostly differ within a row."""
    values = {name: {word for word in column if word} for name, column in cells.items()}
    wordy = [name for name, words in values.items() if len(words) > 1][:40]

    def alike(one: str | int, other: str | int) -> bool:
        smaller = min(len(values[one]), len(values[other]))
        differ = sum(a != b for a, b in zip(cells[one], cells[other], strict=True) if a or b)
        filled = sum(bool(a or b) for a, b in zip(cells[one], cells[other], strict=True))
        return len(values[one] & values[other]) >= SHARED * smaller and 2 * differ > filled

    pairs = {pair for pair in combinations(wordy, 2) if alike(*pair)}
    for three in combinations(wordy, 3):
        enough = len(set.union(*(values[name] for name in three))) > MOST_CODES
        if enough and all(pair in pairs for pair in combinations(three, 2)):
            return three
    return None


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


def _of_two(cells: Cells, items: tuple[str | int, ...], answer: str | int) -> bool:
    """Tell whether answers pick one of two: codes by their number, items never the first."""
    words = [word for word in cells[answer] if word]
    if len(set(words)) <= 2:
        return True
    first = cells[items[0]]
    named = any(word in cells[items[1]] for word in words)
    return named and not any(
        word and word == shown for word, shown in zip(cells[answer], first, strict=True)
    )


def _participant(table: Table, left: list[str | int]) -> dict[str, str | int]:
    """Return the column that may tell who answered: the only one left of a file without names."""
    place = table.index(OPTIONAL["participant"])
    if place is not None and table.header is not None:
        return {"participant": table.header[place]}
    return {"participant": left[0]} if table.header is None and len(left) == 1 else {}
