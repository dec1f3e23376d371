"""A figure of how well maps of each dimension predict unseen answers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate._base.checks import check_number
from ordinate.algorithms.dimension_choice import DimensionChoice
from ordinate.evaluation.metrics import CHANCE
from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.drawing import COLOURS, OTHER
from ordinate.figures.panels import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (180.0, 62.0)  # mm


def plot_dimensions(found: Any, *, ceiling: float | None = None) -> "Figure":
    """Draw what unseen answers say about the number of dimensions.

    Three panels: log-likelihood and accuracy of unseen answers, with the standard errors of their
    differences from the best dimension, and the eigenvalues of the spectral start.

    Parameters
    ----------
    found : DimensionChoice, or a fitted OrdinalEmbedding that chose its dimensions
    ceiling : float, optional
        Accuracy that no map can exceed; by default as found by how people agree with each other,
        where questions were asked more than once.

    Returns
    -------
    matplotlib.figure.Figure
        Not tied to pyplot; :func:`ordinate.figures.plotting.save` writes it.

    Examples
    --------
    >>> from ordinate import choose_dimension, plot_dimensions, sample_points, sample_triplets
    >>> triplets = sample_triplets(sample_points(20, random_state=0), 2000, random_state=0)
    >>> figure = plot_dimensions(choose_dimension(triplets, range(1, 4), random_state=0))
    >>> [axes.get_title() for axes in figure.axes]
    ['log-likelihood', 'accuracy', 'eigenvalues (a hint)']
    """
    choice = getattr(found, "dimension_", found)
    if not isinstance(choice, DimensionChoice):
        raise TypeError(
            "found must come from choose_dimension, or be a fitted OrdinalEmbedding whose "
            f"n_components left a choice; got {found!r}"
        )
    ceiling = choice.ceiling if ceiling is None else ceiling
    if ceiling is not None and check_number("ceiling", ceiling, least=CHANCE) > 1:
        raise ValueError(f"ceiling must be a share, at most 1; got {ceiling}")
    tried = choice.tried
    d = np.array([row.n_components for row in tried])
    errors = {
        "log-likelihood": [row.error for row in tried],
        "accuracy": [100 * row.accuracy_error for row in tried],
    }
    values = {
        "log-likelihood": [row.log_likelihood for row in tried],
        "accuracy": [100 * row.accuracy for row in tried],
    }
    with blank_figure(*SIZE) as figure:
        for axes, name in zip(
            figure.subplots(1, 3), [*values, "eigenvalues (a hint)"], strict=True
        ):
            if name in values:
                axes.errorbar(d, values[name], errors[name], color=COLOURS[0], marker="o", ms=3)
            else:
                numbers = np.arange(1, len(choice.eigenvalues) + 1)
                axes.plot(numbers, choice.eigenvalues, color=COLOURS[0], marker="o", ms=3)
            _dress(axes, name, choice.n_components)
        _level(figure.axes[1], 100 * CHANCE, "chance")
        figure.axes[1].set_ylabel("per cent")
        if ceiling is not None:
            _level(figure.axes[1], 100 * ceiling, "ceiling")
        figure.suptitle(_sentence(choice.sentence), size=FONT_SIZE + 1)
    return figure


def _dress(axes: "Axes", title: str, chosen: int | None) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(title, size=FONT_SIZE)
    axes.set_xlabel("dimensions")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    if chosen is not None:
        axes.axvline(chosen, color=COLOURS[1], lw=0.8, zorder=0)


def _level(axes: "Axes", value: float, name: str) -> None:
    """A line across, with its name on it."""
    axes.axhline(value, color=OTHER, lw=0.8, ls="--", zorder=0)
    where = axes.get_yaxis_transform()
    axes.text(1, value, name, transform=where, color=INK, ha="right", va="bottom")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
