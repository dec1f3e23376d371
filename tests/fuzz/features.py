"""What else is in people's files: labels of all kinds, participants, checks, comments, gaps."""

import unicodedata
from random import Random

from fuzz.platforms import PLATFORMS
from fuzz.sheets import LAYOUTS, Sheet, food100

VOWELS, CONSONANTS = "aeiou", "bdfghklmprstvz"
COMMENTS = (
    *("", "", "ok", "fine, thanks", 'said "no"', "two\nlines", "semi;colon", "a|b", "tab\there"),
    *('"', "it's late", "naïve café", "日本語", "=1+1", "100 %", '"quoted", and more', "NA"),
)
# Words that readers take for codes, names of columns or marks, as labels.
TRICKY = (
    *("left", "right", "first", "second", "third", "a", "b", "c", "A", "B", "f", "j", "1", "2"),
    *("0", "3", "yes", "no", "true", "item", "anchor", "near", "far", "odd", "check", "test"),
)
MANY = 0.02  # the share of files with thousands of rows
MISSING = ("NA", "none", "null", "nan", "n/a")


def words(rng: Random, n: int) -> list[str]:
    """Pronounceable words, all different."""
    found: set[str] = set()
    while len(found) < n:
        word = "".join(
            rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(2, 4))
        )
        found.add(word)
    return sorted(found)


def _unicode(rng: Random, n: int) -> list[str]:
    letters = ["é", "ü", "ß", "ñ", "日本", "한글", "Ω", "ж", "שלום", "🦊", "č", "Å", "ﬁ"]
    return [unicodedata.normalize("NFC", f"{rng.choice(letters)}{w}") for w in words(rng, n)]


def _lookalikes(rng: Random, n: int) -> list[str]:
    first = rng.choice(words(rng, 8))
    twin = rng.choice(
        [first.capitalize(), first.upper(), first + "\u200b", first + "\u0301", "\ufeff" + first]
    )
    if twin.endswith("\u0301"):
        twin, first = twin, unicodedata.normalize("NFC", twin)
    return [first, twin, *(w for w in words(rng, n) if w != first)][: max(n, 3)]


# Labels by kind; after the first comes whether they leave nothing open.
LABELS = {
    "words": (words, True),
    "numbers from 0": (lambda rng, n: [str(k) for k in range(n)], True),
    "numbers from 1": (lambda rng, n: [str(k + 1) for k in range(n)], True),
    "large numbers": (lambda rng, n: [str(10**6 + 37 * k) for k in range(n)], True),
    "padded": (lambda rng, n: [f"{k:03}" for k in range(1, n + 1)], True),
    "padded and not": (lambda rng, n: ["007", "7", *(f"{k:03}" for k in range(8, n + 6))], True),
    "mixed": (lambda rng, n: [str(k) if k % 2 else f"{k}b" for k in range(n)], True),
    "decimals": (lambda rng, n: [f"{k / 2 + 0.25}" for k in range(n)], True),
    "negative": (lambda rng, n: [str(k - n // 2) for k in range(n)], True),
    "pictures": (lambda rng, n: [f"img/{w}_{k:02}.png" for k, w in enumerate(words(rng, n))], True),
    "phrases": (lambda rng, n: [f"the {w} one" for w in words(rng, n)], True),
    "punctuation": (
        lambda rng, n: [
            w + rng.choice([", red", '"s', ";x", "|y", "'s", " (2)", "/3"]) for w in words(rng, n)
        ],
        True,
    ),
    "unicode": (_unicode, True),
    "formulas": (lambda rng, n: [f"{rng.choice('=+-@')}{w}" for w in words(rng, n)], True),
    "dates": (lambda rng, n: [f"2024-01-{k + 1:02}" for k in range(min(n, 31))], True),
    "hashes": (lambda rng, n: [f"#{w}" for w in words(rng, n)], False),
    "tricky": (
        lambda rng, n: [*rng.sample(TRICKY, min(n, 12)), *words(rng, max(0, n - 12))],
        False,
    ),
    "missing": (lambda rng, n: [rng.choice(MISSING), *words(rng, n - 1)], False),
    "lookalikes": (_lookalikes, True),
    "long": (lambda rng, n: [w * 200 for w in words(rng, n)], True),
}


def make_sheet(rng: Random) -> Sheet:
    """A sheet of any layout, with labels of any kind and whatever else files hold."""
    make = rng.choice((*LAYOUTS, *PLATFORMS))
    kind = rng.choice(list(LABELS))
    labels, sure = LABELS[kind]
    items = labels(rng, rng.choice([4, 5, rng.randint(4, 15)]))
    if make is food100:
        kind, sure, items = "pictures", True, [f"images/{word}.jpg" for word in words(rng, 9)]
    n_rows = rng.choice([3, 10, rng.randint(1, 40)])
    if rng.random() < MANY and kind != "long":
        n_rows = 2600  # more than samples of a file have
    sheet = make(rng, items, n_rows)
    sheet.features[:0] = [make.__name__, kind]
    sheet.sure = sheet.sure and sure
    if sheet.named:
        for add, share in FEATURES:
            if rng.random() < share:
                add(rng, sheet)
        _rename(rng, sheet)
        names = list(sheet.columns)
        if rng.random() < 0.3:
            rng.shuffle(names)
            sheet.columns = {name: sheet.columns[name] for name in names}
    used = {label for said in sheet.answers for t in said or () for label in t[:3]}
    sheet.lookalikes = kind == "lookalikes" and {*items[:2]} <= used
    if kind == "punctuation" and not sheet.named:
        sheet.sure = False  # each of two delimiters may be meant
    sheet.sure = sheet.sure and sheet.n_used > 0 and sheet.is_plain()
    return sheet


def _surprises_last(rng: Random, sheet: Sheet) -> None:
    """Rows that name the first item, which may be of another kind than others, come last."""
    odd = sheet.items[0]
    late = [any(cells[i] == odd for cells in sheet.columns.values()) for i in range(sheet.n_rows)]
    sorted_sheet = sheet.take(sorted(range(sheet.n_rows), key=late.__getitem__))
    sheet.columns, sheet.answers = sorted_sheet.columns, sorted_sheet.answers
    sheet.participants = sorted_sheet.participants
    sheet.features.append("surprises last")


def _floats(rng: Random, sheet: Sheet) -> None:
    """Whole numbers with a point, as programs write columns that had gaps."""
    if not all(is_whole(item) for item in sheet.items) or len(sheet.roles) < 3:
        return
    cells = sheet.columns[rng.choice(sheet.roles)]
    cells[:] = [cell if cell is None else float(cell) for cell in cells]
    sheet.features.append("floats")


def is_whole(label: str) -> bool:
    """Tell whether a label is a whole number as programs write it."""
    return label.lstrip("-").isdigit() and label == str(int(label))


def _some_rows(rng: Random, sheet: Sheet) -> list[int]:
    """Rows to spoil; others that say something are left, so that the file is not empty."""
    told = [i for i, said in enumerate(sheet.answers) if said is not None]
    n = rng.randint(0, max(0, min(3, len(told) - 2)))
    return rng.sample(told, n)


def _participants(rng: Random, sheet: Sheet) -> None:
    name = rng.choice(
        ["participant", "participant_id", "puid", "subject", "WorkerId", "Subject.ID"]
    )
    people = rng.choice([["p1", "p2", "p3"], ["1", "2"], ["Ida", "Bo", "Zoë"], ["007", "7"]])
    sheet.participants = [rng.choice(people) for _ in sheet.answers]
    sheet.columns[name] = list(sheet.participants)
    sheet.participant = name
    sheet.features.append("participants")


def _checks(rng: Random, sheet: Sheet) -> None:
    name, yes, no = rng.choice(
        (
            *(("is_check", 1, 0), ("catch", "yes", "no"), ("check", True, False)),
            *(("is_catch", "1", ""), ("task", "attention check", "trial")),
            ("condition", "catch", "main"),
        )
    )
    _drop(sheet, name, yes, no, _some_rows(rng, sheet))


def _timeouts(rng: Random, sheet: Sheet) -> None:
    _drop(sheet, rng.choice(["timeout", "timed_out"]), 1, 0, _some_rows(rng, sheet))


def _drop(sheet: Sheet, name: str, yes: object, no: object, rows: list[int]) -> None:
    sheet.columns[name] = [yes if i in rows else no for i in range(sheet.n_rows)]
    for i in rows:
        sheet.answers[i] = None
    sheet.features.append(name)


def _comments(rng: Random, sheet: Sheet) -> None:
    sheet.columns["comment"] = [rng.choice(COMMENTS) for _ in sheet.answers]
    sheet.features.append("comments")


def _times(rng: Random, sheet: Sheet) -> None:
    name = rng.choice(["rt", "Response Time (s)", "response_time"])
    sheet.columns[name] = [round(rng.random() * 5, 3) for _ in sheet.answers]


def _counter(rng: Random, sheet: Sheet) -> None:
    sheet.columns = {
        rng.choice(["trial", "", "X", "trial_index"]): list(range(1, sheet.n_rows + 1)),
        **sheet.columns,
    }
    sheet.features.append("counter")


def _no_answers(rng: Random, sheet: Sheet) -> None:
    """Leave some answers out, as people do."""
    if not sheet.answer:
        return
    for i in _some_rows(rng, sheet):
        mark = rng.choice([None, "NA", ""])
        # Where NA is an item, it is the answer, and a note says so.
        sheet.columns[sheet.answer][i] = "" if mark in sheet.items else mark
        sheet.answers[i] = None
    # An item of that name may be meant.
    sheet.sure = sheet.sure and not {*MISSING} & {*sheet.items}
    sheet.features.append("answers missing")


def _empty_rows(rng: Random, sheet: Sheet) -> None:
    """Rows of a platform that are no trials."""
    if sheet.layout in ("votes", "salmon"):
        return
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(1, sheet.n_rows)
        for name, cells in sheet.columns.items():
            cells.insert(at, _idle(name, cells))
        sheet.answers.insert(at, None)
        if sheet.participants is not None:
            sheet.participants.insert(at, "")
    sheet.features.append("empty rows")


def _idle(name: str, cells: list) -> object:
    """What a row that is no trial has in a column."""
    if name == "weight":
        return 1
    if name == "n_select":
        return 1
    return None


def _blanks(rng: Random, sheet: Sheet) -> None:
    """Blanks around names, which are no part of them."""
    for name in sheet.roles:
        cells = sheet.columns.get(name)
        if cells and isinstance(cells[0], str):
            i = rng.randrange(len(cells))
            cells[i] = cells[i] if cells[i] is None else f"{cells[i]} "
    sheet.features.append("blanks")


def _bad_rows(rng: Random, sheet: Sheet) -> None:
    """A row that names an item twice, or not at all: refused, or dropped where asked for."""
    roles = [name for name in sheet.roles if name in sheet.columns]
    if len(roles) < 3 or sheet.n_used < 3 or sheet.layout == "salmon":
        return
    i = rng.choice([i for i, said in enumerate(sheet.answers) if said is not None])
    kind = rng.choice(["repeated", "unnamed"])
    one, two = rng.sample(roles, 2)
    sheet.columns[one][i] = sheet.columns[two][i] if kind == "repeated" else None
    sheet.answers[i] = None
    sheet.features.append(kind)
    sheet.sure = False
    if rng.random() < 0.7:
        sheet.options["drop"] = ("repeated", "unnamed", "unanswered")


def _rename(rng: Random, sheet: Sheet) -> None:
    """Spell names as others do: case and punctuation say nothing."""
    if rng.random() < 0.7:
        return
    spell = rng.choice([str.upper, str.title, lambda name: name.replace("_", ".")])
    names = {name: spell(name) for name in sheet.columns}
    if len({*names.values()}) == len(names):
        sheet.columns = {names[name]: cells for name, cells in sheet.columns.items()}
        sheet.roles = tuple(names.get(name, name) for name in sheet.roles)
        sheet.answer = names.get(sheet.answer, sheet.answer)
        sheet.participant = names.get(sheet.participant, sheet.participant)
        sheet.features.append("names spelled")


FEATURES = (
    (_participants, 0.4),
    (_checks, 0.2),
    (_timeouts, 0.15),
    (_times, 0.2),
    (_counter, 0.2),
    (_no_answers, 0.2),
    (_empty_rows, 0.1),
    (_comments, 0.25),
    (_blanks, 0.15),
    (_bad_rows, 0.08),
    (_surprises_last, 0.15),
    (_floats, 0.1),
)
