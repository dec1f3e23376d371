"""The data check: what may spoil a map, most severe first, and what to do about it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ordinate._base.messages import counted, some
from ordinate.data.numbering import distinct, numbered
from ordinate.data.summary import Agreement, Asked, Summary, agreement
from ordinate.data.triplets import Triplets

SEVERITIES = ("error", "warning", "note")

# A map in d dimensions needs of the order of d n log2(n) answers: each gives at most one bit, and
# an item is placed by a search through the others, log2(n) bits along each dimension.
DIMENSIONS = 2
# Answers per question from which most held-out answers are to questions that a map was fitted to.
OFTEN = 2
# Below this many pairs of answers the consistency itself is uncertain by more than 0.05.
ENOUGH_PAIRS = 100
# Two answers that agree in 60 % of cases mean that 28 % of the answers are wrong.
LOW_CONSISTENCY = 0.6
COIN = 0.53  # agreement up to which hardly a map can be made
SURE = 2  # standard errors
# Fewer answers say little about a person; nobody's opinion should be most of the data.
FEW_ANSWERS, LARGEST_SHARE = 10, 0.5
# Someone as reliable as 80 % falls below 60 % agreement in 20 comparisons once in a hundred times.
ENOUGH_COMPARISONS, LOW_AGREEMENT = 20, 0.6
# With this many times the median, the map rests on a few anchors.
UNBALANCED = 20


class Problem(NamedTuple):
    """What is wrong, how bad it is ("error", "warning" or "note"), and what to do.

    ``names`` are all items or participants that it is about, where ``what`` names a few.
    """

    severity: str
    what: str
    remedy: str
    names: tuple[str, ...] = ()


def problems(
    triplets: Triplets, notes: Iterable[str] = (), n_components: int = DIMENSIONS
) -> list[Problem]:
    """Check triplets before a map is made of them.

    Parameters
    ----------
    triplets : Triplets
    notes : iterable of str
        What a reader noted, such as dropped rows.
    n_components : int
        Dimensions of the map that is wanted.

    Returns
    -------
    list of Problem
        Most severe first; empty if all is well.

    Examples
    --------
    >>> from ordinate import Triplets
    >>> for problem in problems(Triplets([[0, 1, 2], [3, 4, 5]])):
    ...     print(f"{problem.severity}: {problem.what}")
    error: the items fall into 2 parts that share no row
    warning: 2 answers about 6 items are few: a map in 2 dimensions needs about 31
    warning: 6 items are in fewer than 3 rows: 0, 1, 2, 3, 4 and 1 more
    note: no question was asked twice, so it cannot be told whether people agree ...
    """
    summary = triplets.summarise()
    asked = triplets._asked
    found = [
        *_items(triplets, summary),
        *_amount(triplets, summary, n_components),
        *_repeats(triplets, summary, asked),
        *_people(triplets, summary, asked),
        *_design(summary),
        *(Problem("note", note, "check that this is what you want") for note in notes),
    ]
    return ranked(found)


def ranked(found: Iterable[Problem]) -> list[Problem]:
    """Return problems with the most severe first, else in the order given."""
    return sorted(found, key=lambda problem: SEVERITIES.index(problem.severity))


def _items(triplets: Triplets, summary: Summary) -> Iterator[Problem]:
    if summary.looks_one_based:
        yield Problem(
            "error",
            "ids look 1-based: 0 is in no row, almost all others are",
            "subtract 1 from the ids, or pass them as labels",
        )
    elif summary.n_unused:
        unused = np.bincount(triplets.rows.ravel(), minlength=triplets.n_items) == 0
        yield Problem(
            "warning",
            f"{counted(summary.n_unused, 'item is', 'items are')} in no row: "
            f"{some(triplets.items[unused], 5)}",
            "leave them out or ask about them: no answer says where they belong",
            _all(triplets.items[unused]),
        )
    if summary.n_parts > 1:
        yield Problem(
            "error",
            f"the items fall into {summary.n_parts:,} parts that share no row",
            "ask questions that link the parts, or map each part separately: their relative "
            "positions are unknown",
        )


def _amount(triplets: Triplets, summary: Summary, d: int) -> Iterator[Problem]:
    n_answers = _n_answers(triplets)
    n = summary.n_items
    needed = round(d * n * np.log2(n))
    wanted = f"a map in {d} dimension{'s' * (d > 1)} needs about {needed:,}"
    if n_answers < needed:
        yield Problem(
            "warning",
            f"{n_answers:,.0f} answers about {n:,} items are few: {wanted}",
            "collect more answers, or ask about fewer items",
        )
    elif summary.n_questions < min(needed, n * (n - 1) * (n - 2) // 2, n_answers / OFTEN):
        yield Problem(
            "warning",
            f"{n_answers:,.0f} answers are to {summary.n_questions:,} questions: {wanted} "
            "different ones",
            "ask other questions rather than the same ones again; until then, held-out answers "
            "are to questions that maps know, and make maps, and further dimensions, look better "
            "than they are",
        )
    mentions = np.bincount(triplets.rows.ravel(), minlength=triplets.n_items)
    # An item in fewer rows than it has coordinates, plus one, can be moved without breaking any.
    scarce = (mentions > 0) & (mentions < d + 1)
    if scarce.any():
        yield Problem(
            "warning",
            f"{counted(scarce.sum(), 'item is', 'items are')} in fewer than {d + 1} rows: "
            f"{some(triplets.items[scarce], 5)}",
            "ask more about them or leave them out: their places are arbitrary",
            _all(triplets.items[scarce]),
        )


def _may_be_chance(found: Agreement) -> bool:
    """Coins would agree as often."""
    return found.share - SURE * found.error <= 0.5


def _is_chance(found: Agreement) -> bool:
    """Coins would, and people of whose answers a map can be made would agree more often."""
    return _may_be_chance(found) and found.share + SURE * found.error < COIN


def _repeats(triplets: Triplets, summary: Summary, asked: Asked) -> Iterator[Problem]:
    copies = _copies(triplets, summary, asked)
    if copies:
        yield copies
    found = triplets._agreement
    if found.n_pairs < ENOUGH_PAIRS:
        yield Problem(
            "note",
            f"{found.n_pairs:,} pairs of answers to the same question are too few to tell whether "
            "people agree more often than by chance"
            if found.n_pairs
            else "no question was asked twice, so it cannot be told whether people agree more "
            "often than by chance",
            "repeat some questions; the held-out accuracy of a map tells more",
        )
        return
    cases = f"{found.share:.0%} of {found.n_pairs:,} cases"
    agree = f"two answers to the same question agree in {cases}"
    if _is_chance(found):
        yield Problem(
            "error",
            f"{agree}, as coin tosses would",
            "check that the columns mean what you think; no map can be made from chance answers",
        )
    elif _may_be_chance(found):
        yield Problem(
            "warning",
            f"{agree}: too few to distinguish that from coin tosses",
            "repeat more questions, and look for participants who guess",
        )
    elif found.share < LOW_CONSISTENCY:
        yield Problem(
            "warning",
            f"{agree}",
            "look for participants who guess, and collect more answers",
        )
    if summary.contradicted_share:
        yield Problem(
            "note",
            f"{summary.contradicted_share:.0%} of the questions asked more than once were "
            "answered both ways",
            "normal for people; the fit weighs the answers against each other",
        )
    if not _may_be_chance(found) and triplets.participant is not None:
        yield from _between_people(
            agreement(asked, triplets.weight, triplets.answer, triplets.participant)
        )


def _between_people(found: Agreement) -> Iterator[Problem]:
    """People who agree with themselves alone; that two answers agree says nothing against it."""
    if found.n_pairs >= ENOUGH_PAIRS and _may_be_chance(found):
        yield Problem(
            "error" if _is_chance(found) else "warning",
            f"two participants agree on a question in {found.share:.0%} of {found.n_pairs:,} "
            "cases, as coin tosses would, although each answers consistently",
            "no map can show them all: map participants one by one, or find what divides them",
        )


def _copies(triplets: Triplets, summary: Summary, asked: Asked) -> Problem | None:
    """Find rows that are copies rather than answers given again."""
    if not summary.n_duplicates:
        return None
    question, lower_near = asked
    row = 2 * question + lower_near
    if triplets.answer is not None:
        within = len(row) - len(distinct(triplets.groups("answer") * (row.max() + 1) + row))
        if within:
            return Problem(
                "warning",
                f"{counted(within, 'row repeats', 'rows repeat')} a row of the same answer",
                "remove the copies",
            )
    counts = np.bincount(row)
    times = np.gcd.reduce(counts[counts > 0])
    if times > 1 and summary.n_rows > times:
        return Problem(
            "warning",
            f"every row occurs {times} times, or a multiple of that",
            "if the file was put together from copies, remove them: they make the map look more "
            "certain than it is",
        )
    return None


def _people(triplets: Triplets, summary: Summary, asked: Asked) -> Iterator[Problem]:
    if triplets.participant is None or triplets.participant_labels is None:
        return
    names, n_people = triplets.participant_labels, summary.n_participants or 0
    answers = triplets.groups("answer")
    n_groups = int(answers.max()) + 1
    pair = triplets.participant.astype(np.int64) * n_groups + answers
    given = np.bincount(distinct(pair) // n_groups, minlength=len(names))
    guessing = _guessing(triplets, triplets.participant, asked)
    if len(guessing):
        yield Problem(
            "warning",
            f"{counted(len(guessing), 'participant agrees', 'participants agree')} with the "
            f"others hardly more often than by chance: {some(names[guessing], 5)}",
            "look at their answers; exclude them if they guessed",
            _all(names[guessing]),
        )
    share = given.max() / given.sum()
    if n_people > 2 and share > LARGEST_SHARE:
        yield Problem(
            "warning",
            f"participant {names[given.argmax()]} gave {share:.0%} of the answers",
            "the map will be mostly theirs; say so, or sample their answers",
        )
    few = (given > 0) & (given < FEW_ANSWERS)
    if few.any():
        yield Problem(
            "note",
            f"{few.sum():,} of {n_people:,} participants gave fewer than {FEW_ANSWERS} answers",
            "too few to judge them by; harmless if the rest is sound",
        )


def _guessing(triplets: Triplets, person: np.ndarray, asked: Asked) -> np.ndarray:
    """Participants who seldom agree with the majority of the others, where the others do."""
    question, lower_near = asked
    weight = triplets._weights
    vote = np.where(lower_near, weight, -weight)
    own = numbered(question * (int(person.max()) + 1) + person)
    others = np.bincount(question, vote)[question] - np.bincount(own, vote)[own]
    compared = others != 0
    agrees = (others > 0) == lower_near
    n = np.bincount(person[compared], minlength=person.max() + 1)
    agreed = np.bincount(person[compared & agrees], minlength=len(n))
    if not n.sum() or agreed.sum() / n.sum() < LOW_AGREEMENT:
        return np.array([], int)
    return np.flatnonzero((n >= ENOUGH_COMPARISONS) & (agreed < LOW_AGREEMENT * n))


def _design(summary: Summary) -> Iterator[Problem]:
    if summary.n_answers is not None and summary.n_answers < summary.n_rows:
        yield Problem(
            "note",
            f"{counted(summary.n_answers, 'answer gives', 'answers give')} {summary.n_rows:,} "
            "triplets",
            "splits keep the triplets of an answer together; do not split by row",
        )
    _, median, largest = summary.rows_per_anchor
    if largest > UNBALANCED * median:
        yield Problem(
            "note",
            f"anchors are unbalanced: one has {largest:,} rows, half have {median:,} or fewer",
            "ask more evenly, unless those anchors are meant as landmarks",
        )


def _n_answers(triplets: Triplets) -> float:
    """How many human answers there are: votes where counted, else answers, else rows."""
    if triplets.weight is not None:
        return float(triplets.weight.sum())
    return len(triplets) if triplets.answer is None else len(distinct(triplets.answer))


def _all(names: np.ndarray) -> tuple[str, ...]:
    return tuple(map(str, names))
