"""Questions to begin a study with: balanced, uniform, or about landmarks.

A question is an anchor and a pair, or three items one of which is the odd one out. The balanced
design puts the items in a circle, in random order. A *round* asks the same of every item: which of
the items a and b steps further along the circle is nearer to it? So each item is once the anchor,
once the first and once the second in every round, and rounds of different steps have no question in
common: together they are all the questions there are.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate._base.checks import check_choice, check_number, check_whole, random_generator
from ordinate._base.messages import Message, Option
from ordinate.data.simulate import check_landmarks

KINDS = ("triplet", "odd-one-out")
DESIGNS = ("balanced", "uniform", "landmarks")
REPEATS, CHECKS = 0.05, 0.02  # shares of a budget that suffice to tell the ceiling, and guessers


@dataclass(frozen=True, repr=False)
class Questions:
    """A list of questions, in the order they are to be asked.

    Attributes
    ----------
    rows : ndarray of int, shape (m, 3)
        Anchor, first and second; or the three items of which one is the odd one out.
    source : ndarray of str, shape (m,)
        Why each is asked: "random", "active", "repeat" or "check".
    block : ndarray of int, shape (m,)
        Which part of the list it belongs to, from 1: a block is for one participant.
    kind : {"triplet", "odd-one-out"}
    """

    rows: np.ndarray
    source: np.ndarray
    block: np.ndarray
    kind: str = "triplet"

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        reasons = Counter(self.source.tolist())
        told = ", ".join(f"{number:,} {reason}" for reason, number in sorted(reasons.items()))
        return f"Questions({len(self):,} of kind {self.kind}: {told})"


def design_questions(
    n_items: int,
    budget: int,
    *,
    kind: str = "triplet",
    design: str = "balanced",
    landmarks: int | Sequence[int] | None = None,
    repeats: float = REPEATS,
    checks: float = CHECKS,
    blocks: int = 1,
    random_state: Any = None,
) -> Questions:
    """Make a list of questions about items of which nothing is known yet.

    No question occurs twice, but for the repeats.

    Parameters
    ----------
    n_items : int
        Number of items, at least 3.
    budget : int
        Number of questions, repeats and checks included.
    kind : {"triplet", "odd-one-out"}
        An anchor and two items, the nearer of which is asked for; or three items, one of which is
        the odd one out.
    design : {"balanced", "uniform", "landmarks"}
        Every item in each place equally often (once more or less where the budget does not divide);
        drawn uniformly; or a few anchors, the landmarks, about which all items are compared, which
        is the fastest way to very large maps.
    landmarks : int or sequence of int
        For the landmark design: which items, or how many to draw.
    repeats : float
        Share of the budget that asks a question again, its items in other places and, where there
        are several blocks, in another one: how often answers agree says how good a map can be.
    checks : float
        Share of the budget with an obvious answer, as one item is shown twice: those who fail
        them do not look.
    blocks : int
        Parts of nearly equal size, one for each participant.
    random_state : int, Generator or None

    Returns
    -------
    Questions

    Examples
    --------
    >>> from ordinate.asking import design_questions
    >>> asked = design_questions(30, 600, repeats=0, checks=0, random_state=0)
    >>> np.bincount(asked.rows[:, 0]).tolist() == [20] * 30
    True
    """
    n_items = check_whole("n_items", n_items, least=3)
    shares = Shares.of(budget, repeats, checks, blocks)
    check_choice("kind", kind, KINDS)
    check_choice("design", design, DESIGNS)
    if (landmarks is not None) != (design == "landmarks"):
        raise ValueError(
            Message(Option("design", "landmarks"), " and ", Option("landmarks"), " go together")
        )
    if design == "landmarks" and kind != "triplet":
        raise ValueError(
            "landmarks are anchors, and three items of which one is the odd one out have none"
        )
    rng = random_generator(random_state)
    if landmarks is not None:
        anchors = check_landmarks(landmarks, n_items, rng)
        refuse_more_than(math.comb(n_items - 1, 2) * len(anchors), shares.new)
        rows = about_landmarks(anchors, n_items, shares.new, rng)
    else:
        refuse_more_than(count_questions(n_items, kind), shares.new)
        draw = _balanced if design == "balanced" else _uniform
        rows = draw(n_items, shares.new, kind, rng)
    return shares.arranged(rows, np.full(len(rows), "random"), kind, np.arange(n_items), rng)


@dataclass(frozen=True)
class Shares:
    """How many questions of a budget are new, repeats and checks, and into how many blocks."""

    new: int
    repeats: int
    checks: int
    blocks: int

    @classmethod
    def of(cls, budget: int, repeats: float, checks: float, blocks: int) -> "Shares":
        """Share a budget out, or raise if that cannot be."""
        budget = check_whole("budget", budget)
        n_repeats = round(check_number("repeats", repeats, least=0, below=0.5) * budget)
        n_checks = round(check_number("checks", checks, least=0, below=0.5) * budget)
        new = budget - n_repeats - n_checks
        if n_repeats > new:
            raise ValueError(
                "repeats and checks leave too few questions to be repeated: lower their shares"
            )
        return cls(new, n_repeats, n_checks, check_whole("blocks", blocks, most=max(new, 1)))

    def arranged(
        self,
        rows: np.ndarray,
        source: np.ndarray,
        kind: str,
        items: np.ndarray,
        rng: np.random.Generator,
    ) -> Questions:
        """Add repeats, and checks about some items; share all out to blocks, and shuffle each."""
        block = _parts(len(rows), self.blocks)
        # One of each stretch, so that all blocks have as many.
        edges = np.arange(self.repeats + 1) * len(rows) // max(self.repeats, 1)
        chosen = rng.integers(edges[:-1], edges[1:])
        turned = [0, 2, 1] if kind == "triplet" else [1, 2, 0]
        elsewhere = 1 + rng.integers(self.blocks - 1) if self.blocks > 1 else 0
        again = (block[chosen] - 1 + elsewhere) % self.blocks + 1
        checking = rng.permutation(_parts(self.checks, self.blocks))
        block = np.concatenate([block, again, checking])
        kinds = np.repeat(["repeat", "check"], [self.repeats, self.checks])
        order = np.lexsort([rng.random(len(block)), block])
        obvious = _checks(items, self.checks, kind, rng)
        return Questions(
            np.concatenate([rows, rows[chosen][:, turned], obvious])[order],
            np.concatenate([source, kinds])[order],
            block[order],
            kind,
        )


def _checks(items: np.ndarray, m: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Ask what is plain to see: one item is shown twice, one of them as the anchor if there is."""
    twice, other = rng.integers(len(items), size=m), rng.integers(len(items) - 1, size=m)
    other += other >= twice
    rows = items[np.column_stack([twice, twice, other])]
    moved = rows[:, 1:] if kind == "triplet" else rows
    moved[:] = rng.permuted(moved, axis=1)
    return rows


def count_questions(n_items: int, kind: str = "triplet") -> int:
    """Return how many different questions there are."""
    return math.comb(n_items, 3) * (3 if kind == "triplet" else 1)


def _parts(m: int, blocks: int) -> np.ndarray:
    """Number m questions by the block they are in, from 1, in order."""
    return 1 + np.arange(m) * blocks // max(m, 1)


def refuse_more_than(possible: int, wanted: int) -> None:
    """Raise if there are not as many different questions as are wanted."""
    if wanted > possible:
        raise ValueError(
            Message(
                f"there are {possible:,} different questions, and {wanted:,} are wanted beside "
                "repeats and checks: lower ",
                Option("budget"),
                ", or have every question asked of several participants",
            )
        )


def _balanced(n: int, m: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Draw rounds around the circle, the last of them in part."""
    n_rounds, n_steps = -(-m // n), math.comb(n - 1, 2)
    # Three pairs of steps at most lead to the same sets of three, so these are enough.
    size = n_rounds if kind == "triplet" else min(3 * n_rounds, n_steps)
    number = rng.choice(n_steps, size, replace=False)
    # One of the first two steps is 1, so that the first round connects all items.
    linking = math.comb(int(rng.integers(1, n - 1)), 2)
    number = np.append(linking, number[number != linking])[:size]
    steps = 1 + unranked_pairs(number)
    if kind != "triplet":
        steps = _different_sets(steps, n)
    # Which of the two steps comes first is a toss for each round.
    offsets = np.pad(rng.permuted(steps[:n_rounds], axis=1), [(0, 0), (1, 0)])
    start = rng.permuted(np.tile(np.arange(n), (len(offsets), 1)), axis=1)
    if kind != "triplet" and (3 * steps[n_rounds - 1] % n == 0).all():
        start[-1] = np.arange(n)  # from here on they come again, after a third of the circle
    places = (start[:, :, None] + offsets[:, None]).reshape(-1, 3)[:m] % n
    return rng.permutation(n)[places]


def _different_sets(steps: np.ndarray, n: int) -> np.ndarray:
    """Keep one of those pairs of steps that lead to the same sets of three items.

    Steps of a third of the circle lead to n / 3 sets, all others to n: these come last.
    """
    a, b = steps.T
    gaps = np.column_stack([a, b - a, n - b])
    code = np.min([_code(np.roll(gaps, k, axis=1), n) for k in range(3)], axis=0)
    kept = steps[np.sort(np.unique(code, return_index=True)[1])]
    thirds = (3 * kept % n == 0).all(axis=1)
    return np.concatenate([kept[~thirds], kept[thirds]])


def _uniform(n: int, m: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Draw different questions uniformly."""
    pairs = math.comb(n - 1, 2)
    # Each set of three items is three questions about an anchor, so these are enough.
    size = m if kind == "triplet" else min(3 * m, n * pairs)
    rows = numbered_questions(rng.choice(n * pairs, size, replace=False), n)
    rows[:, 1:] = rng.permuted(rows[:, 1:], axis=1)
    if kind == "triplet":
        return rows
    first = np.sort(np.unique(_set_code(rows, n), return_index=True)[1])[:m]
    return rng.permuted(rows[first], axis=1)


def about_landmarks(landmarks: np.ndarray, n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rounds around a circle of all other items for each landmark."""
    share = np.diff(m * np.arange(len(landmarks) + 1) // len(landmarks))
    parts = []
    for anchor, size in zip(landmarks, share, strict=True):
        others = rng.permutation(np.delete(np.arange(n), anchor))
        # Steps the other way around lead to the same pairs; half way around is half a round.
        steps = rng.permutation(np.arange(1, n // 2))
        steps = np.append(steps, (n - 1) // 2)
        place = np.arange(size)
        first, step = place % (n - 1), steps[place // (n - 1)]
        pair = others[np.column_stack([first, (first + step) % (n - 1)])]
        parts.append(np.column_stack([np.full(size, anchor), pair]))
    return np.concatenate(parts)


def draw_questions(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Draw m different questions about n items uniformly."""
    return _uniform(n, m, "triplet", rng)


def numbered_questions(number: np.ndarray, n: int) -> np.ndarray:
    """Return questions about n items by their numbers; the first of a pair is below the second."""
    anchor, pair = np.divmod(number, math.comb(n - 1, 2))
    rows = np.column_stack([anchor, unranked_pairs(pair)])
    rows[:, 1:] += rows[:, 1:] >= anchor[:, None]
    return rows


def question_code(rows: np.ndarray, n: int) -> np.ndarray:
    """Return a number for each question, whatever the order of its pair."""
    return _code(np.column_stack([rows[:, 0], np.sort(rows[:, 1:], axis=1)]), n)


def unranked_pairs(number: np.ndarray) -> np.ndarray:
    """Return the pairs (a, b), a < b, that are counted (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    number = np.asarray(number, np.int64)
    b = ((1 + np.sqrt(1 + 8.0 * number)) / 2).astype(np.int64)
    b -= b * (b - 1) // 2 > number
    b += (b + 1) * b // 2 <= number
    return np.column_stack([number - b * (b - 1) // 2, b])


def _set_code(rows: np.ndarray, n: int) -> np.ndarray:
    """Return a number for each set of three items, whatever their order."""
    return _code(np.sort(rows, axis=1), n)


def _code(rows: np.ndarray, n: int) -> np.ndarray:
    one, two, three = rows.astype(np.int64).T
    return (one * n + two) * n + three
