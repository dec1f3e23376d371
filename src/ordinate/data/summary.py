"""What a table of triplets holds, and what is odd about it."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate.data.numbering import distinct, numbered
from ordinate.data.rows import FEW_ROWS
from ordinate.kernels import backends

if TYPE_CHECKING:
    from ordinate.data.triplets import Triplets

FEWEST_PAIRS = 100  # of answers to the same question, that bound what a map can predict


@dataclass(frozen=True)
class Summary:
    """A report on triplets; ``print`` shows it, ``as_dict`` gives plain values for JSON.

    Attributes
    ----------
    n_rows, n_items : int
    n_unused : int
        Items that occur in no row.
    unused : list of int
        The first of them, at most ten.
    n_anchors : int
        Items that are an anchor.
    rows_per_anchor : tuple of int
        Smallest, median and largest number of rows of an anchor.
    n_questions : int
        Distinct questions: an anchor and an unordered pair.
    n_duplicates : int
        Rows beyond the first of equal rows.
    n_contradicted : int
        Questions that were answered both ways.
    contradicted_share : float or None
        Their share of the questions asked more than once; None if none was.
    consistency : float or None
        How often two answers to the same question agree; None if no question was asked twice.
        People who always answer alike reach 1, coin tosses 0.5.
    n_agreement_pairs : int
        Pairs of answers behind `consistency`.
    ceiling : float or None
        The share of answers that any map can predict at most; see :func:`ceiling`. None where
        fewer than 100 pairs of answers tell.
    n_parts : int
        Connected parts of the items that occur: items of different parts share no row, directly or
        through others, so that their positions relative to each other are unknown.
    looks_one_based : bool
        Ids were given as numbers, item 0 occurs in no row, and nine in ten others do.
    n_answers : int or None
    n_participants : int or None
    rows_per_participant : tuple of int or None
        Smallest, median and largest number of rows of a participant.
    """

    n_rows: int
    n_items: int
    n_unused: int
    unused: list[int]
    n_anchors: int
    rows_per_anchor: tuple[int, int, int]
    n_questions: int
    n_duplicates: int
    n_contradicted: int
    contradicted_share: float | None
    consistency: float | None
    n_agreement_pairs: int
    ceiling: float | None
    n_parts: int
    looks_one_based: bool
    n_answers: int | None
    n_participants: int | None
    rows_per_participant: tuple[int, int, int] | None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(f"{name:<22}{value:>7}{note}" for name, value, note in self.lines())

    def lines(self) -> list[tuple[str, str, str]]:
        """Return name, value and note of each line, for tables."""
        unused = f"  ids {self.unused}{' ...' if self.n_unused > 10 else ''}"
        lines = [
            ("triplets", f"{self.n_rows:,}", ""),
            ("items", f"{self.n_items:,}", ""),
            ("items in no triplet", f"{self.n_unused:,}", unused if self.n_unused else ""),
            ("anchors", f"{self.n_anchors:,}", _each(self.rows_per_anchor)),
            ("questions", f"{self.n_questions:,}", ""),
            ("duplicates", f"{self.n_duplicates:,}", "  triplets that say what another says"),
        ]
        if self.consistency is None or self.contradicted_share is None:
            lines.append(("consistency", "unknown", "  no question was asked twice"))
        else:
            share = f"  {self.contradicted_share:.1%} of the questions asked more than once"
            pairs = f"  of {self.n_agreement_pairs:,} pairs of answers to one question agree"
            lines.append(("contradicted", f"{self.n_contradicted:,}", share))
            lines.append(("consistency", f"{self.consistency:.1%}", pairs))
        if self.ceiling is not None:
            least = f"a perfect one is right in {self.consistency:.1%} or more"
            note = f"  no map is right more often; {least}"
            lines.append(("ceiling", f"{self.ceiling:.1%}", note))
        note = "  parts cannot be placed relative to each other" if self.n_parts > 1 else ""
        lines.append(("connected parts", f"{self.n_parts:,}", note))
        if self.n_answers is not None:
            lines.append(("answers", f"{self.n_answers:,}", ""))
        if self.rows_per_participant is not None:
            each = _each(self.rows_per_participant)
            lines.append(("participants", f"{self.n_participants:,}", each))
        if self.looks_one_based:
            lines.append(("ids look 1-based", "yes", "  item 0 is in no triplet: subtract 1?"))
        return lines


class Brief(NamedTuple):
    """What is known of triplets that were not read into memory, in the form of a summary."""

    n_rows: int
    n_items: int

    @property
    def ceiling(self) -> None:
        """Nothing is known of questions that were asked more than once."""
        return None

    def lines(self) -> list[tuple[str, str, str]]:
        """Return name, value and note of each line, for tables."""
        return [
            ("triplets", f"{self.n_rows:,}", "  streamed from the file"),
            ("items", f"{self.n_items:,}", ""),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return self._asdict()


def summarise(triplets: "Triplets") -> Summary:
    """Report on triplets; see :class:`Summary` for what is reported."""
    rows, n_items = triplets.rows, triplets.n_items
    mentions = np.bincount(rows.ravel(), minlength=n_items)
    unused = np.flatnonzero(mentions == 0)
    per_anchor = np.bincount(rows[:, 0], minlength=n_items)
    times_first, times_second = _votes(triplets._asked, triplets.weight)
    times = times_first + times_second
    repeated = times > 1
    contradicted = (times_first > 0) & (times_second > 0)
    agreed = triplets._agreement
    per_participant = None
    if triplets.participant is not None:
        per_participant = np.bincount(triplets.participant)
        per_participant = per_participant[per_participant > 0]
    n_different = int((times_first > 0).sum() + (times_second > 0).sum())
    return Summary(
        n_rows=len(rows),
        n_items=n_items,
        n_unused=len(unused),
        unused=unused[:10].tolist(),
        n_anchors=int((per_anchor > 0).sum()),
        rows_per_anchor=_spread(per_anchor[per_anchor > 0]),
        n_questions=len(times),
        n_duplicates=len(rows) - n_different,
        n_contradicted=int(contradicted.sum()),
        contradicted_share=float(contradicted.sum() / repeated.sum()) if repeated.any() else None,
        consistency=agreed.share if agreed.n_pairs else None,
        n_agreement_pairs=agreed.n_pairs,
        ceiling=None if (bound := ceiling(agreed)) is None else bound.high,
        n_parts=_n_parts(rows, n_items, n_items - len(unused)),
        looks_one_based=bool(
            not triplets._counted and mentions[0] == 0 and len(unused) <= 1 + n_items / 10
        ),
        n_answers=None if triplets.answer is None else len(distinct(triplets.answer)),
        n_participants=None if per_participant is None else len(per_participant),
        rows_per_participant=None if per_participant is None else _spread(per_participant),
    )


Asked = tuple[np.ndarray, np.ndarray]  # what `questions` returns


class Agreement(NamedTuple):
    """How often two answers to one question agree, its standard error, and from how many pairs."""

    share: float
    error: float
    n_pairs: int


class Ceiling(NamedTuple):
    """How often any map can be right about new answers, by how often people agree.

    Attributes
    ----------
    low : float
        The least that a perfect map reaches: it is right as often as two answers agree, or more.
    high : float
        The most that any map can reach.
    error : float
        The standard error of `high`.
    n_pairs : int
        Pairs of answers to the same question that tell.
    """

    low: float
    high: float
    error: float
    n_pairs: int


def ceiling(agreed: Agreement, n_choices: int = 2) -> Ceiling | None:
    """Bound the accuracy of all maps, from answers to questions that were asked more than once.

    If a question's k choices are taken with probabilities p, two answers agree with probability
    ``sum p^2`` and a perfect map is right with ``max p``, which is at least that, and at most

        (1 + sqrt((k - 1) (k A - 1))) / k,

    the value where all other choices are equally likely. It is concave in A, so that it bounds the
    mean over questions, too, with A the share of pairs of answers that agree. None where fewer than
    ``FEWEST_PAIRS`` pairs tell.

    Examples
    --------
    >>> print("{:.2f} to {:.2f}".format(*ceiling(Agreement(0.82, 0.01, 500))[:2]))
    0.82 to 0.90
    """
    if agreed.n_pairs < FEWEST_PAIRS:
        return None
    k = n_choices

    def most(share: float) -> float:
        share = min(max(share, 1 / k), 1.0)
        return float((1 + np.sqrt((k - 1) * (k * share - 1))) / k)

    # Near chance the root is steep, and a derivative would say little.
    error = (most(agreed.share + agreed.error) - most(agreed.share - agreed.error)) / 2
    return Ceiling(max(agreed.share, 1 / k), most(agreed.share), error, agreed.n_pairs)


def agreement(
    asked: Asked,
    weight: np.ndarray | None,
    answer: np.ndarray | None,
    person: np.ndarray | None = None,
) -> Agreement:
    """Compare the answers to each question, two at a time; with ``person``, of different people."""
    question, _ = asked
    n, agreeing = _pairs(*_votes(asked, weight))
    if person is not None:
        key = question * (int(person.max()) + 1) + person
        own = numbered(key)
        question_of = np.empty(int(own.max()) + 1, np.int64)
        question_of[own] = question
        own_pairs = _pairs(*_votes((own, asked[1]), weight))
        n, agreeing = (
            of_all - np.bincount(question_of, of_one, len(of_all))
            for of_all, of_one in zip((n, agreeing), own_pairs, strict=True)
        )
    n_pairs = float(n.sum())
    if n_pairs < 1:
        return Agreement(np.nan, np.nan, 0)
    share = agreeing.sum() / n_pairs
    # Questions vary by themselves, but those of one answer may go together: at worst, that
    # multiplies the variance by their number.
    together = 1.0
    if answer is not None:
        both = distinct(answer * (int(question.max()) + 1) + question)
        together = len(both) / len(distinct(answer))
    error = np.sqrt(together * ((agreeing - share * n) ** 2).sum()) / n_pairs
    return Agreement(float(share), float(error), round(n_pairs))


def _pairs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of votes, and those that agree."""
    n = first + second
    return n * (n - 1) / 2, (first * (first - 1) + second * (second - 1)) / 2


def _votes(asked: Asked, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """For each question, count the answers that called the lower id near, and the others."""
    question, lower_near = asked
    size = 2 * (int(question.max()) + 1)
    counts = np.bincount(2 * question + lower_near, weights=weight, minlength=size)
    return counts[1::2], counts[::2]


def questions(rows: np.ndarray, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the questions, an anchor and an unordered pair, from 0.

    Returns the question of each row, and whether the lower id of the pair was called near.
    """
    anchor, near, far = rows.T.astype(np.int64)
    key = anchor * n_items + np.minimum(near, far)
    if n_items**3 >= 2**63:
        key = numbered(key)
    key = key * n_items + np.maximum(near, far)
    return numbered(key), near < far


def _n_parts(rows: np.ndarray, n_items: int, n_parts: int) -> int:
    """Count the connected parts of the ``n_parts`` items that occur."""
    # A few rows are looked through sooner than the compiled kernel is loaded.
    join = backends.load("auto" if len(rows) > FEW_ROWS else "numpy").join_parts
    parent = np.arange(n_items, dtype=np.uint32)
    ends = rows.view(np.uint32)
    for pairs in (ends[:, :2], ends[:, 1:]):
        if n_parts > 1:
            n_parts = join(pairs, parent, n_parts)
    return n_parts


def _each(spread: tuple[int, int, int]) -> str:
    low, middle, high = spread
    if low == high:
        return f"  with {low:,} triplets each"
    return f"  with {low:,} to {high:,} triplets each, median {middle:,}"


def _spread(counts: np.ndarray) -> tuple[int, int, int]:
    return int(counts.min()), int(np.median(counts)), int(counts.max())
