"""What files say and what they mean: rows of every layout, made beside the answers in them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import Any

Triplet = tuple[str, str, str, float]  # anchor, near, far, weight
BOTH = "response beside near and far"
Truth = Counter  # of (participant, triplets of one answer)


@dataclass
class Sheet:
    """A table as people have it.

    Attributes
    ----------
    layout : str
    columns : dict of str to list
        Cells are text, numbers, lists, or None where nothing is written.
    answers : list
        What each row says, as triplets; None for rows that are to be dropped, with a note.
    items : list of str
        All labels.
    roles : tuple of str
        The columns that hold items.
    answer : str
        The column that holds the answer, if it may be missing.
    n_codes : int
        Codes that must occur to be told from others.
    participants : list of str, optional
    participant : str
        The column that names them.
    named : bool
        The file names its columns.
    options : dict
        What the reader has to be told.
    sure : bool
        Nothing is left open: the file must be read, not asked about.
    lookalikes : bool
        Some labels look the same, which must be noted.
    """

    layout: str
    columns: dict[str, list]
    answers: list[tuple[Triplet, ...] | None]
    items: list[str]
    roles: tuple[str, ...]
    answer: str = ""
    n_codes: int = 0
    participants: list[str] | None = None
    participant: str = ""
    named: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    sure: bool = True
    lookalikes: bool = False
    features: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Rows of data."""
        return len(self.answers)

    @property
    def n_used(self) -> int:
        """Rows that say something."""
        return sum(said is not None for said in self.answers)

    def truth(self) -> Truth:
        """What is to be read: how often each participant gave each answer."""
        who = self.participants or [""] * self.n_rows
        return Counter(
            (name, tuple(sorted(said)))
            for name, said in zip(who, self.answers, strict=True)
            if said is not None
        )

    def take(self, rows: list[int]) -> "Sheet":
        """Return some of the rows, in their own order."""
        who = self.participants
        return replace(
            self,
            columns={name: [cells[i] for i in rows] for name, cells in self.columns.items()},
            answers=[self.answers[i] for i in rows],
            participants=None if who is None else [who[i] for i in rows],
        )

    def is_plain(self) -> bool:
        """Tell whether the first line cannot be names, and codes can be told from others."""
        first, *rest = zip(*self.columns.values(), strict=True)
        told = self.named or any(cell in row for cell in first for row in rest)
        if not self.answer:
            return told
        pairs = zip(self.columns[self.answer], self.answers, strict=True)
        given = {str(cell).lower() for cell, said in pairs if said is not None}
        if self.n_codes:
            return told and len(given) >= self.n_codes and not given <= {*self.items}
        may_be_codes = {*"0123abcfj", "-1", "first", "second", "third", "left", "right"}
        return told and not given <= may_be_codes


def said(anchor: str, near: str, far: str, weight: float = 1.0) -> Triplet:
    """One triplet."""
    return anchor, near, far, weight


def _draw(rng: Random, items: list[str], n_rows: int, k: int) -> list[list[str]]:
    return [rng.sample(items, k) for _ in range(n_rows)]


def _columns(names: tuple[str, ...], rows: list[list[Any]]) -> dict[str, list]:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def plain(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Rows of anchor, near and far; by position in files without names."""
    names = rng.choice([("anchor", "near", "far"), ("anchor", "positive", "negative")])
    rows = _draw(rng, items, n_rows, 3)
    sheet = Sheet("plain", _columns(names, rows), [(said(*row),) for row in rows], items, names)
    kind = rng.random()
    if kind < 0.2:
        weights = [rng.choice([1, 2, 3, 0.5, 10]) for _ in rows]
        sheet.columns["weight"] = weights
        sheet.answers = [(said(*row, float(w)),) for row, w in zip(rows, weights, strict=True)]
        sheet.features.append("weights")
    elif kind < 0.35:
        sheet.named = False
        sheet.options["layout"] = "plain"
    elif kind < 0.45:
        # Which of the two is nearer may be said once more, and otherwise.
        signs = [rng.choice([1, -1]) for _ in rows]
        sheet.columns[rng.choice(["response", "choice"])] = signs
        sheet.answers = [
            (said(*(row if sign == 1 else [row[0], row[2], row[1]])),)
            for row, sign in zip(rows, signs, strict=True)
        ]
        sheet.sure = False
        sheet.features.append(BOTH)
    return sheet


def food100(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Image paths between semicolons, without names."""
    rows = _draw(rng, items, n_rows, 3)
    columns = _columns(("0", "1", "2"), rows)
    return Sheet("food100", columns, [(said(*row),) for row in rows], items, (), named=False)


# Codes for the first and the second, and whether they must be told.
CODES = {
    "words": (("left", "right"), False),
    "places": (("first", "second"), False),
    "numbers": (("1", "2"), False),
    "letters": (("A", "B"), False),
    "keys": (("f", "j"), False),
    "arrows": (("ArrowLeft", "ArrowRight"), False),
    "binary": (("0", "1"), True),
    "reversed": (("1", "0"), True),
    "signs": (("1", "-1"), True),
    "truth": (("True", "False"), True),
}


def response(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Questions with an answer: the item itself, or a code for it."""
    names = rng.choice(
        [("anchor", "first", "second"), ("a", "b", "c"), ("target", "left", "right")]
    )
    column = rng.choice(["response", "choice", "winner", "farther"])
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(2) for _ in rows]
    kind = rng.choice(["item", "item", *CODES])
    options: dict[str, Any] = {}
    if kind == "item":
        cells = [row[1 + pick] for row, pick in zip(rows, picks, strict=True)]
    else:
        codes, asked = CODES[kind]
        cells = [codes[pick] for pick in picks]
        if asked:
            options["response"] = dict(zip(codes, ("first", "second"), strict=True))
    near = [1 - pick if column == "farther" else pick for pick in picks]
    triplets = [(said(row[0], row[1 + k], row[2 - k]),) for row, k in zip(rows, near, strict=True)]
    columns = {**_columns(names, rows), column: cells}
    # One code of a pair does not show which pair it is.
    n_codes = 0 if kind == "item" or options else 2
    return Sheet("response", columns, triplets, items, names, column, n_codes, options=options)


def _said_of_three(layout: str, pair: list[str], picked: str) -> tuple[Triplet, ...]:
    one, two = pair
    if layout == "odd_one_out":
        return said(one, two, picked), said(two, one, picked)
    return said(one, picked, two), said(two, picked, one)


def of_three(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Three items and one of them: the odd one, or the most central."""
    layout, column = rng.choice(
        (
            *(("odd_one_out", "odd"), ("odd_one_out", "odd_one_out")),
            *(("most_central", "centre"), ("most_central", "chosen_center")),
        )
    )
    names = rng.choice(
        [("item_1", "item_2", "item_3"), ("first", "second", "third"), ("a", "b", "c")]
    )
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(3) for _ in rows]
    kind = rng.choice(["item", "item", "from 1", "from 0", "letters"])
    codes = {"from 1": "123", "from 0": "012", "letters": "ABC"}.get(kind)
    cells = [
        row[pick] if codes is None else codes[pick] for row, pick in zip(rows, picks, strict=True)
    ]
    triplets = [
        _said_of_three(layout, [x for k, x in enumerate(row) if k != pick], row[pick])
        for row, pick in zip(rows, picks, strict=True)
    ]
    columns = {**_columns(names, rows), column: cells}
    return Sheet(layout, columns, triplets, items, names, column, 0 if codes is None else 3)


def kept(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """The two that were kept, and the odd one; by position in files without names."""
    rows = _draw(rng, items, n_rows, 3)
    triplets = [_said_of_three("odd_one_out", row[:2], row[2]) for row in rows]
    names = ("kept_a", "kept_b", "odd_one_out")
    if rng.random() < 0.6:
        return Sheet("odd_one_out", _columns(names, rows), triplets, items, names[:2], names[2])
    place = rng.choice(["first", "middle", "last"])
    order = {"first": (2, 0, 1), "middle": (0, 2, 1), "last": (0, 1, 2)}[place]
    columns = _columns(names, [[row[k] for k in order] for row in rows])
    options = {"odd": place}
    return Sheet("odd_one_out", columns, triplets, items, (), named=False, options=options)


def votes(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """How many people called which of two nearer."""
    names = rng.choice([("anchor", "first", "second"), ("a", "b", "c")])
    rows = _draw(rng, items, n_rows, 3)
    counts = [(rng.randrange(6), rng.randrange(6)) for _ in rows]
    triplets: list[tuple[Triplet, ...] | None] = []
    for (a, b, c), (first, second) in zip(rows, counts, strict=True):
        forms = (said(a, b, c, float(first)), said(a, c, b, float(second)))
        triplets.append(tuple(form for form in forms if form[3]) or None)
    columns = {**_columns(names, rows), **_columns(("votes_first", "votes_second"), counts)}
    return Sheet("votes", columns, triplets, items, names)


def selection(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """The k of n shown that are most like a query: in columns, in lists, or the first of them."""
    n = rng.randint(2, min(6, len(items) - 1))
    rows, screens = _draw(rng, items, n_rows, n + 1), []
    for row in rows:
        shown = row[1 : rng.randint(2, n) + 1]
        screens.append((row[0], shown, shown[: rng.randint(0, len(shown))]))
    kind = rng.choice(["numbered", "numbered", "lists", "ordered"])
    ranked = [kind == "ordered" and rng.random() < 0.4 for _ in rows]
    triplets: list[tuple[Triplet, ...] | None] = []
    for (query, shown, chosen), is_ranked in zip(screens, ranked, strict=True):
        left = shown[len(chosen) :]
        forms = [said(query, near, far) for near in chosen for far in left]
        if is_ranked and forms:
            forms += [said(query, near, far) for near, far in combinations(chosen, 2)]
        triplets.append(tuple(forms) or None)
    columns: dict[str, list] = {"query": [query for query, _, _ in screens]}
    if kind == "ordered":
        # At least one is chosen, or the row is refused.
        for i, (_, _, chosen) in enumerate(screens):
            if not chosen:
                screens[i] = screens[i][0], screens[i][1], screens[i][1][:1]
                left = screens[i][1][1:]
                triplets[i] = tuple(said(screens[i][0], screens[i][1][0], far) for far in left)
                triplets[i] = triplets[i] or None
        columns |= _spread("reference", [shown for _, shown, _ in screens], n)
        columns["n_select"] = [len(chosen) for _, _, chosen in screens]
        columns["is_ranked"] = [int(flag) for flag in ranked]
    else:
        shown_lists = [rng.sample(shown, len(shown)) for _, shown, _ in screens]
        chosen_lists = [chosen for _, _, chosen in screens]
        if kind == "lists":
            columns |= {"shown": shown_lists, "chosen": chosen_lists}
        else:
            columns |= _spread("shown", shown_lists, n) | _spread("chosen", chosen_lists, n)
    return Sheet("selection", columns, triplets, items, ("query",), features=[kind])


def ranking(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Items in the order of their likeness to a query."""
    n = rng.randint(2, min(5, len(items) - 1))
    rows = _draw(rng, items, n_rows, n + 1)
    lists = [row[1 : 1 + rng.randint(0, n)] for row in rows]
    queries = [row[0] for row in rows]
    triplets = [
        tuple(said(query, near, far) for near, far in combinations(ranked, 2)) or None
        for query, ranked in zip(queries, lists, strict=True)
    ]
    columns: dict[str, list] = {"query": queries}
    kind = rng.choice(["numbered", "numbered", "lists"])
    columns |= {"ranked": lists} if kind == "lists" else _spread("rank", lists, n)
    return Sheet("ranking", columns, triplets, items, ("query",), features=[kind])


def _spread(stem: str, lists: list[list[str]], n: int) -> dict[str, list]:
    return {
        f"{stem}_{k + 1}": [row[k] if k < len(row) else None for row in lists] for k in range(n)
    }


def salmon(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """The responses.csv of salmon, with ids or with file names beside them."""
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(2) for _ in rows]
    number = {label: str(k) for k, label in enumerate(items)}
    full = [[*row, row[1 + pick], row[2 - pick]] for row, pick in zip(rows, picks, strict=True)]
    names = ("head", "left", "right", "winner", "loser")
    if rng.random() < 0.5:
        columns = _columns(names, full)
    else:
        columns = _columns(names, [[number[label] for label in row] for row in full])
        columns |= _columns(tuple(f"{name}_filename" for name in names), full)
    columns["sampler"] = [rng.choice(["ARR", "RandomSampling"]) for _ in rows]
    triplets = [(said(row[0], row[3], row[4]),) for row in full]
    return Sheet("salmon", columns, triplets, items, names[:3])


def next_(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """The CSV of NEXT."""
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(2) for _ in rows]
    columns = _columns(("Center", "Left", "Right"), rows)
    columns["Answer"] = [row[1 + pick] for row, pick in zip(rows, picks, strict=True)]
    columns["Alg Label"] = [rng.choice(["Train", "Test"]) for _ in rows]
    triplets = [
        (said(row[0], row[1 + pick], row[2 - pick]),) for row, pick in zip(rows, picks, strict=True)
    ]
    return Sheet("next", columns, triplets, items, ("Center", "Left", "Right"), "Answer")


LAYOUTS: tuple[Callable[[Random, list[str], int], Sheet], ...] = (
    *(plain, plain, response, response, of_three, of_three, kept),
    *(votes, selection, ranking, salmon, next_, food100),
)
