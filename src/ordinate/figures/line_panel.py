"""A map of one dimension: a line of items across, with labels in rows above and below."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordinate.evaluation.uncertainty import standard_errors
from ordinate.figures.error_marks import WIDE, draw_bars, n_beyond
from ordinate.figures.line_layout import LineLayout, lay_out
from ordinate.figures.panels import (
    FRAME,
    INK,
    MM,
    PALE,
    POINT,
    TALLEST,
    Box,
    LeftOut,
    Scene,
    draw_image,
    draw_markers,
    frame_colours,
    styles,
    text_sizes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SLANT = 5  # heights of letters between the line and the first row of labels


class Line(NamedTuple):
    """A line of items in points of paper: their places along it, and flags with their labels."""

    x: np.ndarray
    labels: list[str]
    layout: LineLayout
    row_height: float
    slant: float  # height of the part where lines lead from items to stems
    side: float  # of thumbnails
    scale: float  # points of paper for a unit of the map
    zero: float  # where the coordinate 0 is

    def at(self, values: np.ndarray) -> np.ndarray:
        """Places of coordinates along the line."""
        return self.zero + self.scale * values

    @property
    def height(self) -> float:
        """Of the whole panel."""
        return 2 * (self.slant + (self.layout.n_rows + 0.5) * self.row_height)


def line_of(figure: "Figure", scene: Scene, width: float) -> Line:
    """Lay out a line in the width of its panel, with as many labels as there is room for."""
    n, values, font = len(scene.X), scene.X[:, 0], scene.font_size
    side = 0.0 if not scene.images else scene.image_side or 2.2 * font
    most = max(10, int(0.25 * width / (0.55 * font)))
    labels = [_cut(label, most) for label in scene.labels or []]
    sizes = text_sizes(figure, labels, font) if labels else np.full((n, 2), np.nan)
    pictured = np.isin(np.arange(n), list(scene.images))
    flags = np.where(pictured, np.nan_to_num(sizes[:, 0]) + side + 1, sizes[:, 0]) + 0.8 * font
    row_height = max(1.25 * font, side + 1)
    margin = max(2 * scene.radius, 0.5 * font)
    longest = float(np.nanmedian(flags)) if not np.isnan(flags).all() else margin
    low, high = (float(end[0]) for end in scene.extent((0,)))
    scale = (width - margin - longest) / (high - low or 1.0)
    zero = margin - scale * low
    x = zero + scale * values
    most_rows = int((TALLEST * MM / POINT / 2 - MOST_SLANT * font) / row_height)
    layout = lay_out(x, flags, width, row_height, most_rows, every=scene.every_label)
    apart = np.abs(layout.stems - x)
    farthest = 0.0 if np.isnan(apart).all() else float(np.nanmax(apart))
    slant = float(np.clip(0.3 * farthest, 1.2 * font, MOST_SLANT * font))
    return Line(x, labels, layout, row_height, slant, side, scale, zero)


def draw_line(figure: "Figure", scene: Scene, box: Box) -> LeftOut:
    """A line of items across, their labels in rows above and below, joined by thin lines."""
    axes = figure.add_axes(box)
    width, height = np.array(box[2:]) * figure.get_size_inches() / POINT
    line = line_of(figure, scene, width)
    # The axes count in points of paper; the values are scaled into them.
    axes.set(xlim=(0, width), ylim=(-height / 2, height / 2))
    axes.set_axis_off()
    axes.plot([0, width], [0, 0], color=FRAME, linewidth=0.8, zorder=0.4)
    everywhere = np.arange(len(line.x))
    bare = replace(scene, images={})  # thumbnails stand by the labels instead
    draw_markers(axes, bare, np.column_stack([line.x, np.zeros(len(line.x))]), everywhere)
    cut = 0
    if scene.covariance is not None:
        at, C = line.x[:, None], line.scale**2 * scene.covariance
        cut = n_beyond(at, C, np.zeros(1), np.array([width]))
        reach = WIDE * line.scale * standard_errors(scene.covariance)[:, 0]
        draw_bars(axes, line.x, reach, styles(scene))
    edges = frame_colours(scene)
    for row in np.flatnonzero(line.layout.rows).tolist():
        level, stem = line.layout.rows[row], line.layout.stems[row]
        sign = 1 if level > 0 else -1
        middle = sign * (line.slant + (abs(level) - 0.5) * line.row_height)
        path = [line.x[row], stem, stem], [sign * (scene.radius + 1), sign * line.slant, middle]
        axes.plot(*path, color=PALE, linewidth=0.35, zorder=0.5)
        if row in scene.images:
            place = (stem + line.side / 2 + 1, middle)
            draw_image(axes, scene.picture(row, line.side), line.side, place, edges[row])
        if line.labels and line.labels[row].strip():
            begin = stem + 1.5 + (line.side + 1 if row in scene.images else 0)
            style = {"size": scene.font_size, "ha": "left", "va": "center", "color": INK}
            axes.text(begin, middle, line.labels[row], parse_math=False, **style)
    shown = line.layout.rows != 0
    named = np.array([bool(label.strip()) for label in line.labels] or [False] * len(shown))
    pictured = np.isin(everywhere, list(scene.images))
    return LeftOut(int((named & ~shown).sum()), int((pictured & ~shown).sum()), cut)


def _cut(label: str, most: int) -> str:
    """A label in one line of at most so many characters."""
    text = " ".join(label.split()) or label
    return text if len(text) <= most else text[: most - 1].rstrip(" ,;") + "…"
