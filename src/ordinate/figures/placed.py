"""A map with new items on it: the known ones in grey, the new ones marked, and how sure that is."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.figures.drawing import COLOURS
from ordinate.figures.error_marks import add_ellipses
from ordinate.figures.plotting import plot_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_placed(
    known: np.ndarray,
    known_labels: list[str],
    points: np.ndarray,
    labels: list[str],
    covariance: np.ndarray,
    **drawing: Any,
) -> "Figure":
    """Draw known items (n, d) in grey, and new ones (k, d) in colour.

    In the plane, ellipses hold the true places of new items with a probability of 95 %, where
    their covariances (k, d, d) are known. Further options are those of :func:`plot_map`.
    """
    # New items come first, so that their labels find room first.
    figure = plot_map(
        np.concatenate([points, known]),
        [*labels, *known_labels],
        colour=["new"] * len(labels) + [None] * len(known_labels),
        **drawing,
    )
    for legend in figure.legends:
        for text in legend.get_texts():
            if text.get_text().startswith("missing"):
                text.set_text("on the map")
    if points.shape[1] == 2:
        style = {"facecolors": "none", "edgecolors": COLOURS[0], "linewidths": 0.5, "zorder": 1}
        add_ellipses(figure.axes[0], points, covariance, **style)
    return figure
