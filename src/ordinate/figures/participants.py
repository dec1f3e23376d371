"""A figure of how often each participant guesses."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.evaluation.held_out import BETTER, NO_BETTER, TOO_FEW
from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.drawing import COLOURS, OTHER
from ordinate.figures.fonts import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, LEAST_HEIGHT, LINE, UNNAMED_HEIGHT = 88.0, 45.0, 2.6, 120.0  # mm
MOST_NAMED = 80  # participants, whose names can still be read
LONGEST = 24  # letters of a name
SHADES = {BETTER: COLOURS[0], TOO_FEW: OTHER, NO_BETTER: COLOURS[1]}


def plot_participants(people: Any) -> "Figure":
    """Draw each participant's lapse rate with its interval, the most careful at the top.

    Parameters
    ----------
    people : Participants, or a fitted ParticipantEmbedding

    Returns
    -------
    matplotlib.figure.Figure
        Not tied to pyplot; :func:`ordinate.figures.plotting.save` writes it.

    Examples
    --------
    >>> from ordinate import STE, Triplets, participants, plot_participants
    >>> from ordinate import sample_points, sample_triplets
    >>> rows = sample_triplets(sample_points(20, random_state=0), 2000, random_state=0).rows
    >>> triplets = Triplets(rows, participant=["Ida"] * 1500 + ["Bo"] * 500)
    >>> figure = plot_participants(participants(STE(random_state=0), triplets))
    >>> figure.axes[0].get_xlabel()
    'lapse rate: share of answers that are guesses'
    """
    found = getattr(people, "participants_", people)
    if not hasattr(found, "rows"):
        raise TypeError(
            "people must come from participants, or be a fitted ParticipantEmbedding; got "
            f"{people!r}"
        )
    return draw_participants(found.rows())


def draw_participants(people: Sequence[Mapping[str, Any]]) -> "Figure":
    """Draw participants that are given as :meth:`.Participants.rows` has them."""
    people = sorted(people, key=lambda person: person["lapse"])
    named = len(people) <= MOST_NAMED
    height = max(LEAST_HEIGHT, 20 + LINE * len(people)) if named else UNNAMED_HEIGHT
    room = min(1.0, 2 * height / len(people))  # of a line, so that many of them stay apart
    names = [_short(str(person["participant"])) for person in people] if named else []
    with blank_figure(WIDTH, height, names) as figure:
        axes = figure.subplots()
        for verdict, shade in SHADES.items():
            at = [k for k, person in enumerate(people) if person["verdict"] == verdict]
            if not at:
                continue
            rate, low, high = (
                np.array([people[k][name] for k in at]) for name in ("lapse", "low", "high")
            )
            axes.hlines(at, low, high, color=shade, lw=0.8 * room, alpha=0.6)
            label = f"{verdict} ({len(at):,})"
            axes.plot(rate, at, "o", ms=1 + 1.5 * room, mew=0, color=shade, label=label, zorder=3)
        axes.set_xlim(-0.01, 1.01)
        axes.set_ylim(len(people) - 0.5, -0.5)
        axes.set_xlabel("lapse rate: share of answers that are guesses")
        axes.set_ylabel("" if named else f"{len(people):,} participants")
        axes.set_yticks(range(len(names)), names, size=FONT_SIZE - 2, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", frameon=False, ncols=1)
    return figure


def _short(name: str) -> str:
    name = " ".join(printable(name).split())
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
