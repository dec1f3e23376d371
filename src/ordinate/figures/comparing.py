"""Two maps in one figure, with an arrow for each item."""

from typing import TYPE_CHECKING

import numpy as np

from ordinate.evaluation.comparison import LEVEL, Comparison
from ordinate.evaluation.uncertainty import standard_errors
from ordinate.figures.drawing import GREY
from ordinate.figures.error_marks import MOST, REACH
from ordinate.figures.line_rows import plot_rows
from ordinate.figures.panels import INK
from ordinate.figures.plotting import millimetres, panels_of, plot_map
from ordinate.files.items import display_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAYED = "the second places of items that did not move"  # what ellipses hold


def plot_comparison(
    found: Comparison,
    *,
    names: tuple[str, str] = ("first", "second"),
    width: str | float = "page",
) -> "Figure":
    """Draw two maps, one laid onto the other, with an arrow from each item's first to second place.

    Arrows of items that moved beyond chance are dark, all others pale. Where covariances tell, an
    ellipse about the first place holds 95 of 100 second places of items that did not move; of more
    than 300 items there are none, as they would hide each other. Maps of one dimension are two rows
    with a line from each item's first to second place.

    Parameters
    ----------
    found : Comparison
    names : pair of str
        What the maps are called.
    width : {"column", "page"} or float
        As for :func:`ordinate.plot_map`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    n, d = found.first.shape
    one, other = names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")
    labels = display_names(found.items.tolist())[0]
    moved = np.nan_to_num(found.p_items, nan=1.0) <= LEVEL
    ends = "the first map to the second"
    if (one, other) != ("first", "second"):
        ends = f"the first map, {one}, to the second, {other}"
    drawn = "Lines" if d == 1 else "Arrows"
    told = f"{found.sentence}. {drawn} lead from {ends}, which was laid onto it."
    if moved.any():
        told += " Dark ones are of items that moved beyond chance."
    if d == 1:
        return plot_rows(
            labels,
            [(one, found.first[:, 0]), (other, found.second[:, 0])],
            caption=told,
            width=millimetres(width),
            covariance=found.covariance,
            ellipses_hold=STAYED,
            dark=moved,
        )
    covariance = None
    if found.covariance is not None and _are_large(found):
        told += " No ellipses are drawn: chance alone moves items as far as the map reaches."
    elif found.covariance is not None and n <= MOST:
        covariance = np.concatenate([found.covariance, np.full_like(found.covariance, np.nan)])
    figure = plot_map(
        np.vstack([found.first, found.second]),
        [*labels, *[""] * n],
        colour=[one] * n + [other] * n,
        colour_name="map",
        caption=told,
        width=width,
        covariance=covariance,
        ellipses=covariance is not None,
        ellipses_hold=STAYED,
    )
    gap = found.second - found.first
    for axes, dims in zip(figure.axes, panels_of(d), strict=False):
        for rows, style in (
            (~moved, {"color": GREY, "zorder": 0.4}),
            (moved, {"color": INK, "zorder": 0.6}),
        ):
            where, by = found.first[np.ix_(rows, dims)].T, gap[np.ix_(rows, dims)].T
            if len(dims) == 3:
                axes.quiver(*where, *by, color=style["color"], lw=0.6, arrow_length_ratio=0.2)
            elif rows.any():
                axes.quiver(
                    *where,
                    *by,
                    angles="xy",
                    scale_units="xy",
                    scale=1,
                    width=0.0018,
                    headwidth=5,
                    headlength=6,
                    headaxislength=5,
                    **style,
                )
    return figure


def _are_large(found: Comparison) -> bool:
    """Whether most ellipses would fill the figure."""
    reach = np.median(standard_errors(np.asarray(found.covariance)), axis=0) * REACH
    return bool((2 * reach > np.ptp(found.first, axis=0)).all())
