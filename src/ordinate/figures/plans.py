"""A figure of how the error of a map falls with the number of answers."""

from typing import TYPE_CHECKING

import numpy as np

from ordinate.asking.planning import Plan
from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.drawing import COLOURS, OTHER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (90.0, 65.0)  # mm


def plot_plan(plan: Plan, *, error: float | None = None) -> "Figure":
    """Draw the expected error of a map against the number of answers.

    Parameters
    ----------
    plan : Plan
        As :func:`ordinate.asking.plan_study` makes it.
    error : float, optional
        The error that is wanted, marked with the answers it takes.

    Returns
    -------
    matplotlib.figure.Figure
        Not tied to pyplot; :func:`ordinate.figures.plotting.save` writes it.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter

    with blank_figure(*SIZE) as figure:
        axes = figure.subplots()
        axes.loglog(plan.answers, plan.error, color=COLOURS[0], marker="o", ms=3)
        wanted = None if error is None else plan.answers_for(error)
        if wanted is not None and error is not None:
            axes.plot([plan.answers[0], wanted, wanted], [error, error, plan.error[-1]], **DOTTED)
        axes.set_xlabel("answers")
        axes.set_ylabel("error of the map, relative to its size")
        axes.set_title(f"{plan.n_items:,} items, {plan.n_components} dimensions", size=FONT_SIZE)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ticks = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
        low, high = plan.error[-1] * 0.9, plan.error[0] * 1.1
        axes.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    return figure


DOTTED = {"color": OTHER, "lw": 0.8, "ls": "--", "zorder": 0}
