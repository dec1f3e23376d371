"""What unseen answers say about the number of dimensions: the table, and how it is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

LEAST_BITS = 1.0  # per coordinate of a map with one dimension more; docs/maps.md
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NEXT = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class Tried(NamedTuple):
    """How well maps of one dimension predict unseen answers.

    Attributes
    ----------
    n_components : int
    log_likelihood : float
        Mean over unseen answers; chance gives -0.693.
    behind, error : float
        By how much it is less than that of the best dimension, and the standard error of this
        difference, which is paired: from the spread between answers.
    accuracy : float
        Share of unseen answers predicted rightly.
    accuracy_behind, accuracy_error : float
        The same difference in accuracy, and its standard error.
    """

    n_components: int
    log_likelihood: float
    behind: float
    error: float
    accuracy: float
    accuracy_behind: float
    accuracy_error: float

    @property
    def on_par(self) -> bool:
        """Whether it predicts as well as the best, within one standard error."""
        return self.behind <= self.error


@dataclass(frozen=True)
class DimensionChoice:
    """The number of dimensions that unseen answers speak for.

    Attributes
    ----------
    n_components : int or None
        The smallest that predicts as well as the best, within one standard error; None where the
        answers are too few to tell.
    tried : list of Tried
        By dimension.
    eigenvalues : ndarray
        Of the spectral start, one more than the largest dimension: a hint, where they level off.
    n_items, n_answers : int
        What took part: of very many answers, a sample.
    ceiling : float or None
        Accuracy that any map can reach at most, where questions were asked more than once.
    """

    n_components: int | None
    tried: list[Tried]
    eigenvalues: np.ndarray
    n_items: int
    n_answers: int
    ceiling: float | None = None

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        if self.n_components is None:
            more = _dimensions(self._smallest.n_components + 1)
            return (
                f"too few answers to tell the number of dimensions: {self.n_answers:,} about "
                f"{self.n_items:,} items tell {self.bits:.2f} bits per coordinate of a map in "
                f"{more}, and {LEAST_BITS:g} is the least"
            )
        larger = [t.n_components for t in self.tried if t.n_components > self.n_components]
        found = _dimensions(self.n_components)
        if not larger:
            return f"{found}, the most that were tried: more may predict unseen answers better"
        if larger[0] > self.n_components + 1 or self.n_components > len(NEXT):
            return f"{found}: more predict no more unseen answers"
        next_one = NEXT[self.n_components - 1]
        article = "an" if next_one == "eighth" else "a"
        return f"{found}: {article} {next_one} predicts no more unseen answers"

    @property
    def bits(self) -> float:
        """What maps know of unseen answers, over the coordinates of a map with a dimension more.

        An answer that is predicted for certain counts as one bit, a toss-up as none. While this is
        small, a further dimension could hardly show, whether or not there is one.
        """
        known = 1 + self._smallest.log_likelihood / np.log(2)
        return float(self.n_answers * known / (self.n_items * (self._smallest.n_components + 1)))

    def as_dict(self) -> dict[str, Any]:
        """Return all as plain values for JSON."""
        rows = [
            tried._asdict() | {"eigenvalue": float(self.eigenvalues[tried.n_components - 1])}
            for tried in self.tried
        ]
        names = ("n_components", "n_items", "n_answers", "ceiling", "bits")
        own = {name: getattr(self, name) for name in names}
        return own | {
            "told": self.sentence,
            "tried": rows,
            "eigenvalues": self.eigenvalues.tolist(),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "DimensionChoice":
        """Bring back what :meth:`as_dict` returned, or raise if it cannot be that."""
        found, bound = record["n_components"], record["ceiling"]
        choice = cls(
            None if found is None else int(found),
            [
                Tried(int(row["n_components"]), *(float(row[name]) for name in Tried._fields[1:]))
                for row in record["tried"]
            ],
            np.array(record["eigenvalues"], dtype=float),
            int(record["n_items"]),
            int(record["n_answers"]),
            None if bound is None else float(bound),
        )
        known = range(1, len(choice.eigenvalues) + 1)
        named = [row.n_components for row in choice.tried]
        in_order = named == sorted(set(named) & set(known))
        best = any(row.on_par for row in choice.tried)
        if not (in_order and best) or found not in (None, *named):
            raise ValueError("what it says of dimensions cannot be")
        return choice

    @property
    def _smallest(self) -> Tried:
        """The smallest that is on par with the best, whether or not it can be trusted."""
        return next(tried for tried in self.tried if tried.on_par)

    def __str__(self) -> str:
        lines = ["dimensions  log-likelihood     behind the best    accuracy  eigenvalue"]
        for tried in self.tried:
            d = tried.n_components
            mark = " *" if d == self.n_components else ""
            lines.append(
                f"{d:10}  {tried.log_likelihood:14.4f}  {tried.behind:.4f} ± {tried.error:.4f}"
                f"  {tried.accuracy:8.1%}  {self.eigenvalues[d - 1]:10.3g}{mark}"
            )
        if self.ceiling is not None:
            lines.append(f"accuracy: chance 50%, ceiling {self.ceiling:.1%}")
        return "\n".join([*lines, self.sentence])


def _dimensions(d: int) -> str:
    number = NUMBERS[d - 1] if d <= len(NUMBERS) else str(d)
    return f"{number} dimension{'s' * (d > 1)}"
