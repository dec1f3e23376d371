"""Two maps in one figure, with an arrow for each item; and maps of groups beside each other."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.evaluation.comparison import LEVEL, Comparison, lay_onto
from ordinate.evaluation.groups import Groups
from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.drawing import COLOURS, GREY
from ordinate.figures.error_marks import add_ellipses
from ordinate.figures.fonts import printable
from ordinate.figures.panels import FRAME, INK
from ordinate.figures.plotting import _panels, plot_map, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 180.0  # mm, of maps of groups
MOST_GROUPS = 15  # that are drawn, the largest first
MOST_NAMED = 40  # items whose names are written into small maps


def plot_comparison(
    found: Comparison,
    *,
    names: tuple[str, str] = ("first", "second"),
    width: str | float = "page",
) -> "Figure":
    """Draw two maps, one laid onto the other, with an arrow from each item's first to second place.

    Arrows of items that moved beyond chance are dark, all others pale. Where covariances tell, an
    ellipse about the first place holds 95 of 100 second places of items that did not move.

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
    n = len(found.items)
    one, other = names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")
    legend = "Arrows lead from the first map to the second, which was laid onto it."
    if found.covariance is not None and found.first.shape[1] > 1:
        legend += " Ellipses hold 95% of second places if nothing moved."
    figure = plot_map(
        np.vstack([found.first, found.second]),
        [*map(str, found.items), *[""] * n],
        colour=[one] * n + [other] * n,
        colour_name="map",
        caption=f"{found.sentence}. {legend}",
        width=width,
    )
    if found.first.shape[1] == 1:
        return figure  # on a line, arrows would hide each other
    moved = np.nan_to_num(found.p_items, nan=1.0) <= LEVEL
    gap = found.second - found.first
    for axes, dims in zip(figure.axes, _panels(found.first.shape[1]), strict=False):
        if found.covariance is not None and len(dims) == 2:
            covariance = found.covariance[:, dims][:, :, dims]
            outline = {"facecolors": "none", "edgecolors": FRAME, "linewidths": 0.5, "zorder": 0.2}
            add_ellipses(axes, found.first[:, dims], covariance, **outline)
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


def plot_groups(found: Groups, *, labels: Any = None) -> "Figure":
    """Draw the map of each group, laid onto the common one, as small multiples.

    Grey dots are the common map, lines lead from there to the group's own place of an item. Of
    more than two dimensions the first two are shown, of many groups the largest.

    Parameters
    ----------
    found : Groups
    labels : sequence of str, shape (n,), optional
        By default the items of the common map.

    Returns
    -------
    matplotlib.figure.Figure
    """
    shown = sorted(found.groups, key=lambda group: -len(group.rows))[:MOST_GROUPS]
    names = [shorten(printable(str(name))) for name in labels or found.common.items_.tolist()]
    titles = [shorten(printable(str(group.name))) for group in shown]
    common = found.common.embedding_
    common = common - np.nanmean(common, axis=0)
    maps = [_laid_onto(group.model.embedding_, common) for group in shown]
    columns = min(3, len(shown))
    n_rows = -(-len(shown) // columns)
    everywhere = np.vstack([_flat(points) for points in (common, *maps)])
    low, high = np.nanmin(everywhere, axis=0), np.nanmax(everywhere, axis=0)
    edge = 0.06 * (high - low).max() + 1e-9
    low, high = low - edge, high + edge
    side = WIDTH / columns * float((high - low)[1] / (high - low)[0])
    with blank_figure(WIDTH, n_rows * (side + 5) + 14, [*names, *titles]) as figure:
        figure.set_facecolor("white")
        panels = figure.subplots(n_rows, columns, squeeze=False).ravel()
        for axes, group, title, points in zip(panels, shown, titles, maps, strict=False):
            _draw_group(axes, _flat(common), _flat(points), names)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
            axes.set_aspect("equal")
            axes.set_title(
                f"{title}: {group.n_answers:,} answers", size=FONT_SIZE, parse_math=False
            )
            for spine in axes.spines.values():
                spine.set(color=FRAME, linewidth=0.5)
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
        left_out = len(found.groups) - len(shown)
        more = f" Not shown: {left_out:,} smaller groups." if left_out else ""
        figure.suptitle(_wrapped(f"{found.sentence}.{more}"), size=FONT_SIZE, parse_math=False)
    return figure


def _laid_onto(points: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Lay a group's map onto the common one, by the items that both place."""
    both = np.isfinite(points).all(axis=1) & np.isfinite(common).all(axis=1)
    laid = np.full_like(points, np.nan)
    laid[both] = lay_onto(common[both], points[both]).points
    return laid


def _flat(points: np.ndarray) -> np.ndarray:
    """The first two dimensions; a line has no second."""
    return points[:, :2] if points.shape[1] > 1 else np.column_stack([points, 0 * points])


def _draw_group(axes: Any, common: np.ndarray, own: np.ndarray, names: list[str]) -> None:
    from matplotlib.collections import LineCollection

    placed = np.isfinite(own).all(axis=1)
    ends = np.stack([common, own], axis=1)[placed]
    axes.add_collection(LineCollection(list(ends), colors=GREY, linewidths=0.4, zorder=1))
    axes.scatter(*common[placed].T, s=3, c=GREY, linewidths=0, zorder=2)
    axes.scatter(*own[placed].T, s=7, c=COLOURS[0], linewidths=0, zorder=3)
    if len(names) > MOST_NAMED:
        return
    for name, at in zip(names, own, strict=True):
        if np.isfinite(at).all():
            axes.annotate(
                name,
                at,
                (0, 2.5),
                textcoords="offset points",
                size=FONT_SIZE - 2,
                color=INK,
                ha="center",
                parse_math=False,
            )


def _wrapped(text: str, width: int = 120) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
