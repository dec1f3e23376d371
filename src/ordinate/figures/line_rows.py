"""Several maps of one dimension as rows under each other: lines lead from row to row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.captions import EDGE, Caption
from ordinate.figures.drawing import COLOURS, GREY
from ordinate.figures.error_marks import TRUE_PLACES
from ordinate.figures.fonts import printable
from ordinate.figures.line_panel import draw_line, line_of
from ordinate.figures.panels import FRAME, INK, MM, POINT, Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 9.0  # mm, of a map under another


def plot_rows(
    labels: list[str],
    rows: list[tuple[str, np.ndarray]],
    *,
    caption: str,
    width: float,
    covariance: np.ndarray | None = None,
    ellipses_hold: str = TRUE_PLACES,
    dark: np.ndarray | None = None,
    not_shown: Sequence[str] = (),
) -> "Figure":
    """Draw the first map (n,) with its labels, and all maps as rows beneath it.

    Parameters
    ----------
    labels : list of str
    rows : list of (name, coordinates)
        The items are the same in each; those without a place are NaN. In the first all have one.
    caption : str
    width : float
        In mm.
    covariance : ndarray, shape (n, 1, 1), optional
        Of the first map's coordinates, for bars about them.
    ellipses_hold : str
        What the bars hold, for the caption.
    dark : ndarray of bool, shape (n,), optional
        Items whose lines are dark.
    not_shown : sequence of str
        What the caption is to name as such.
    """
    names = [printable(label) for label in labels]
    titles = [" ".join(printable(name).split())[:60] for name, _ in rows]
    scene = Scene(
        X=rows[0][1][:, None],
        labels=names,
        images={},
        column=None,
        font_size=FONT_SIZE,
        radius=float(np.clip(30 / len(names) ** 0.5, 1.0, 2.4)),
        covariance=covariance,
        ellipses_hold=ellipses_hold,
        not_shown=[*not_shown],
        around=np.concatenate([values for _, values in rows])[:, None],
    )
    with blank_figure(width, width, [*names, *titles, caption], layout=None) as figure:
        inches, edge = width * MM, EDGE * MM
        across = (inches - 2 * edge) / POINT
        line = line_of(figure, scene, across)
        top, middle = line.height * POINT, len(rows) * ROW * MM
        below = Caption(figure, scene, caption, inches)
        height = top + middle + below.height + 3 * edge
        figure.set_size_inches(inches, height)
        box = (edge / inches, 1 - (edge + top) / height, 1 - 2 * edge / inches, top / height)
        left_out = draw_line(figure, scene, box)
        box = (box[0], (below.height + edge) / height, box[2], middle / height)
        axes = figure.add_axes(box)
        axes.set(xlim=(0, across), ylim=(-len(rows) + 0.2, 0.8))
        axes.set_axis_off()
        _draw_rows(axes, titles, np.array([line.at(values) for _, values in rows]), scene, dark)
        below.write(left_out)
    return figure


def _draw_rows(
    axes: Any, titles: list[str], places: np.ndarray, scene: Scene, dark: np.ndarray | None
) -> None:
    from matplotlib.collections import LineCollection

    n = places.shape[1]
    levels = -np.arange(len(places), dtype=float)
    paths = np.stack([places.T, np.broadcast_to(levels, (n, len(levels)))], axis=2)
    told = np.zeros(n, bool) if dark is None else dark
    for chosen, colour, order in ((~told, GREY, 0.4), (told, INK, 0.6)):
        lines = LineCollection(list(paths[chosen]), colors=colour, linewidths=0.5, zorder=order)
        axes.add_collection(lines, autolim=False)
    for k, (title, level) in enumerate(zip(titles, levels, strict=True)):
        axes.axhline(level, color=FRAME, linewidth=0.5, zorder=0.2)
        axes.scatter(
            places[k],
            np.full(n, level),
            s=(2 * scene.radius) ** 2,
            c=COLOURS[min(k, 1)],
            linewidths=0.25,
            edgecolors="white",
            zorder=1,
        )
        style = {"size": FONT_SIZE, "color": INK, "va": "bottom", "parse_math": False}
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
        axes.text(0, level + 0.25, title, bbox=behind, zorder=2, **style)
