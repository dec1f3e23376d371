"""What a fit leaves behind about participants: a table, a figure, a sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ordinate._base.messages import some
from ordinate.algorithms.participants import LEVEL, Participants
from ordinate.data.advice import Problem
from ordinate.evaluation.held_out import BETTER, NO_BETTER, TOO_FEW
from ordinate.figures.figure_files import save_both
from ordinate.figures.participants import draw_participants
from ordinate.files.maps import as_text, write_table

DIGITS = 4
COLUMNS = {"low": "lapse_low", "high": "lapse_high"}  # as the file calls what Python calls so


def judged(people: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether participants were judged, and not only their accuracy measured."""
    return bool(people) and "verdict" in people[0]


def in_words(people: Sequence[Mapping[str, Any]]) -> str:
    """Say how many participants answer how well.

    Examples
    --------
    >>> careful = {"verdict": "better than chance", "left_out": False}
    >>> in_words([careful, careful, {"verdict": "no better than chance", "left_out": True}])
    '3 participants: 2 better than chance, 1 no better than chance (left out)'
    """
    counts = Counter(person["verdict"] for person in people)
    out = " (left out)" if any(person.get("left_out") for person in people) else ""
    parts = [
        f"{counts[verdict]:,} {verdict}{out if verdict == NO_BETTER else ''}"
        for verdict in (BETTER, NO_BETTER, TOO_FEW)
        if counts[verdict]
    ]
    return f"{len(people):,} participant{'s' * (len(people) != 1)}: {', '.join(parts)}"


def write_people(folder: Path, people: Sequence[Mapping[str, Any]], *, defuse: bool) -> None:
    """Write ``participants.csv``, those who guess most first."""
    import pyarrow as pa

    people = sorted(people, key=lambda person: -person.get("lapse", 0))
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for person in people for name in person):
        cells = [person.get(name) for person in people]
        if name == "participant":
            cells = [as_text(cell, defuse=defuse) for cell in cells]
        elif any(isinstance(cell, float) for cell in cells):
            cells = [None if cell is None else round(cell, DIGITS) for cell in cells]
        columns[COLUMNS.get(name, name)] = pa.array(cells, from_pandas=True)
    write_table(folder / "participants.csv", pa.table(columns))


def draw_people(folder: Path, people: Sequence[Mapping[str, Any]]) -> None:
    """Draw their lapse rates, as PNG and SVG."""
    save_both(draw_participants(people), folder / "participants.png")


def left_out(people: Participants) -> Problem | None:
    """Say loudly who was left out, and how many answers with them; None if nobody was."""
    names = [str(name) for name in people.at_chance]
    if not names:
        return None
    n_lost = int(people.answers[people.verdict == NO_BETTER].sum())
    who = "participant answers" if len(names) == 1 else "participants answer"
    return Problem(
        "warning",
        f"{len(names):,} of {len(people.participant):,} {who} no better than chance, and "
        f"{n_lost:,} of {people.answers.sum():,} answers were left out with them: {some(names, 5)}",
        f"of those left out, {LEVEL:.0%} at most should be people who mean at least every second "
        "answer; participants.csv has them all",
        tuple(names),
    )
