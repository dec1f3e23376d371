"""Which of the items shown was chosen: answers that name the item, its side, its place or a key."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import add, and_, or_
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ordinate._base.messages import Message, Option, some
from ordinate.files.formats.cells import WHOLE
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.table import Items, Table
from ordinate.files.formats.table import add as add_counts
from ordinate.files.readers._layout import Options

PLACES = ("first", "second", "third")
ITEM = "item"

# Words that say the place by themselves, also where only one of them occurs.
WORDS = {
    2: {
        **dict.fromkeys(("left", "first", "arrowleft", "leftarrow"), 0),
        **dict.fromkeys(("right", "second", "arrowright", "rightarrow"), 1),
    },
    3: {
        **dict.fromkeys(("left", "first"), 0),
        **dict.fromkeys(("middle", "centre", "center", "second"), 1),
        **dict.fromkeys(("right", "third"), 2),
    },
}
# Codes that are read in this order, with a note; 37 and 39 are the key codes of the arrows.
IN_ORDER = {
    2: (("1", "2"), ("a", "b"), ("f", "j"), ("37", "39")),
    3: (("1", "2", "3"), ("0", "1", "2"), ("a", "b", "c")),
}
# Codes of which files differ in what they mean; the likelier meaning is offered first.
ASKED = (("0", "1"), ("1", "-1"), ("true", "false"), ("t", "f"), ("yes", "no"), ("y", "n"))
# What explains this share of the answers is what was meant; the other answers are strays.
MOST = 0.5


class Chosen(NamedTuple):
    """The items shown, shape (m, k), and the position of the one chosen, shape (m,)."""

    items: Items
    position: np.ndarray


def code(word: object) -> str:
    """Return an answer as codes are compared: in lower case, without blanks and underscores.

    >>> code("Arrow_Left"), code("+1"), code("2.0")
    ('arrowleft', '1', '2')
    """
    text = str(word).strip().lower().replace("_", "").replace(" ", "").removeprefix("+")
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def chosen(
    table: Table,
    options: Options,
    shown: list[int],
    picked: int,
    *,
    named: bool = False,
    first: int = 0,
) -> Chosen:
    """Read the items shown and which of them, from ``first`` on, the answer picks.

    ``named`` answers are items wherever all of them can be; others are asked about where they
    could be codes as well.
    """
    table.has_answers = True
    items = table.distinct_items([*shown, picked], shown=len(shown), answer=len(shown))
    same = items.codes[:, first:-1] == items.codes[:, -1:]
    meaning: Mapping[str, int] | None = None
    if isinstance(options.response, Mapping):
        meaning = _given(table, options.response, same.shape[1])
    elif options.response is None and not (named and _all(table, same.any(axis=1))):
        names = [code(name) for name in table.names_of(shown[first:])]
        meaning = _find(table, Words.of(table, picked), same, named, names)
    n_drops = table.n_drops
    if meaning is None:
        position = _by_item(table, items, same, first)
        if table.n_drops == n_drops:
            return Chosen(items.select((slice(None), slice(len(shown)))), first + position)
    else:
        position = _by_code(table, Words.of(table, picked), meaning)
    # Read again, since answers such as "left" among the names make text of numbers.
    return Chosen(table.items(shown), first + position)


def _all(table: Table, mask: np.ndarray) -> bool:
    return table.together("all", bool(mask.all()), and_)


def _by_item(table: Table, items: Items, same: np.ndarray, first: int) -> np.ndarray:
    """Return the place of the item that each answer names, and refuse those that name none."""
    kept = table.refuse(
        ~same.any(axis=1),
        lambda i: f"the answer is {items.row(i)[-1]!r}, not one of {items.row(i)[first:-1]}",
        "answers name the item, or all of them its place",
        kind="unanswered",
    )
    return (same if kept is None else same[kept]).argmax(axis=1)


def _by_code(table: Table, words: "Words", meaning: Mapping[str, int]) -> np.ndarray:
    """Return the place that each answer means, and refuse those that are no code."""
    position = words.places(meaning)
    kept = table.refuse(
        position < 0,
        lambda i: f"the answer is {words.values[words.codes[i]]!r}, not one of {list(meaning)}",
        "repair those rows",
        kind="unanswered",
    )
    return position if kept is None else position[kept]


def _given(table: Table, response: Mapping[Any, str], n_shown: int) -> dict[str, int]:
    """Return the codes that the user told."""
    meaning = {code(word): PLACES.index(place) for word, place in response.items()}
    if max(meaning.values()) >= n_shown:
        raise ReadError(
            Message(
                f"{table.path}: ",
                Option("response", ...),
                " names the third item, but two can be chosen",
            )
        )
    return meaning


@dataclass(frozen=True)
class Words:
    """The answers that occur, the code of each row, and how often each word is said."""

    values: list
    codes: np.ndarray
    times: dict[str, int]

    @classmethod
    def of(cls, table: Table, picked: int) -> "Words":
        """Count the answers of a column, the most frequent first."""
        values, codes = table.distinct([table.data.column(picked)])
        said: Counter[str] = Counter()
        for value, n in zip(values, np.bincount(codes, minlength=len(values)), strict=True):
            said[code(value)] += int(n)
        times = table.together("answers", said, add)
        ordered = sorted(times.items(), key=lambda entry: (-entry[1], entry[0]))
        return cls(values, codes, dict(ordered))

    def places(self, meaning: Mapping[str, int]) -> np.ndarray:
        """Return the place that each answer means, -1 for what is no code."""
        return np.array([meaning.get(code(value), -1) for value in self.values])[self.codes]

    def explained(self, known: Iterable[str]) -> int:
        """Return the number of answers that are among some codes."""
        return sum(self.times.get(word, 0) for word in known)

    def schemes(self, n_shown: int, names: list[str]) -> list[dict[str, int]]:
        """Return the codes that explain most answers, all that explain as many."""
        # Answers may name the column of the item: option_a, image_2.
        known = [WORDS[n_shown] | {name: place for place, name in enumerate(names)}]
        for scheme in (*IN_ORDER[n_shown], *(ASKED if n_shown == 2 else ())):
            known.append(dict(zip(scheme, range(n_shown), strict=True)))
        best = max(map(self.explained, known))
        if best < MOST * sum(self.times.values()):
            return []
        found = [scheme for scheme in known if self.explained(scheme) == best]
        # Letters that mean places may be the names of the columns in these places as well.
        said = [{w: k for w, k in scheme.items() if w in self.times} for scheme in found]
        return [scheme for k, scheme in enumerate(found) if said[k] not in said[:k]]


def _find(
    table: Table, words: Words, same: np.ndarray, named: bool, names: list[str]
) -> Mapping[str, int] | None:
    """Return the place that each code means, or None where answers are items; ask where unclear."""
    is_item = np.asarray(same.any(axis=1))
    n_shown = same.shape[1]
    most, some, all_items, few = table.together(
        "items",
        (int(is_item.sum()), len(is_item)),
        add_counts,
        lambda n: (n[0] >= MOST * n[1], n[0] > 0, n[0] == n[1], n[1] <= n_shown),
    )
    schemes = words.schemes(n_shown, names)
    all_coded = any(words.times.keys() <= scheme.keys() for scheme in schemes)
    if most and not all_coded:
        return None
    # In few rows an answer that is no item is a slip, unless there are several and none is an item.
    few = len(words.times) > n_shown or (few and (some or len(words.times) < 2))
    if not schemes and (named or few):
        return None  # to be refused, row by row
    if all_items and all(_all(table, words.places(s) == same.argmax(axis=1)) for s in schemes):
        return None  # the items stand in the places of their names
    if all_items or not _is_clear(words, schemes, n_shown):
        _ask(table, words, schemes, n_shown, items=all_items)
    (meaning,) = schemes
    occurring = {(meaning[code(v)], str(v).strip()) for v in words.values if code(v) in meaning}
    occurring = table.together("codes", occurring, or_)
    told = ", ".join(f"{word!r} is the {PLACES[place]}" for place, word in sorted(occurring))
    another = Message("; ", Option("response", ...), " tells another meaning")
    table.notes.append(Message(f"answers are places: {told}", another))
    return meaning


def _is_clear(words: Words, schemes: list[dict[str, int]], n_shown: int) -> bool:
    """Tell whether there is but one meaning: two codes of a pair show it, one does not."""
    if len(schemes) != 1:
        return False
    if schemes[0].keys() >= WORDS[n_shown].keys():
        return True
    enough = n_shown == 3 or len(words.times.keys() & schemes[0].keys()) == 2
    return enough and tuple(schemes[0]) in IN_ORDER[n_shown]


def _ask(
    table: Table, words: Words, schemes: list[dict[str, int]], n_shown: int, *, items: bool
) -> NoReturn:
    """Raise, and offer every meaning that the answers may have."""
    seen = list(words.times)
    if not schemes:
        schemes = [dict(zip(sorted(seen[:n_shown]), range(n_shown), strict=False))]
    ways = [{w: PLACES[k] for w, k in scheme.items() if w in seen} for scheme in schemes]
    if n_shown == 2 and not any("left" in scheme for scheme in schemes):
        swapped = {"first": "second", "second": "first"}
        ways += [{word: swapped[place] for word, place in way.items()} for way in ways]
    ways = [way for k, way in enumerate(ways) if way not in ways[:k]]
    remedies = [Remedy({"response": way}, _in_words(way)) for way in ways]
    if items:
        remedies.append(Remedy({"response": ITEM}, "if answers name the item"))
    shown = some(seen, 6)
    both = "are items of their rows and may be places as well"
    why = both if items else "are codes, and files differ in what these mean"
    raise ReadError(
        f"{table.path}: the answers {shown} {why}. The item, left and right, first and second, 1 "
        "and 2, A and B, f and j and arrow keys are understood; other codes must be told",
        *remedies,
    )


def _in_words(way: Mapping[str, str]) -> str:
    return "if " + " and ".join(f"{word} picks the {place}" for word, place in way.items())
