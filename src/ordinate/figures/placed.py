"""A map with new items on it: the known ones in grey, the new ones marked, and how sure that is."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.figures.drawing import COLOURS
from ordinate.figures.plotting import plot_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHIN = 5.991  # squared distance in standard errors that 95 % of places in a plane lie within


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
        _draw_ellipses(figure, points, covariance)
    return figure


def _draw_ellipses(figure: "Figure", points: np.ndarray, covariance: np.ndarray) -> None:
    from matplotlib.patches import Ellipse

    axes = figure.axes[0]
    limits = axes.get_xlim(), axes.get_ylim()
    for point, block in zip(points, covariance, strict=True):
        if not np.isfinite(block).all():
            continue
        values, vectors = np.linalg.eigh(block)
        wide, high = 2 * np.sqrt(WITHIN * values[::-1])
        turn = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        ellipse = Ellipse(point, wide, high, angle=turn, fill=False, lw=0.5, ec=COLOURS[0])
        axes.add_patch(ellipse)
    axes.set(xlim=limits[0], ylim=limits[1])
