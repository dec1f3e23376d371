"""Blank figures: paper of a size in millimetres, with letters as all charts have them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from ordinate.figures.fonts import families_for, no_glyph_warnings
from ordinate.figures.panels import MM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT_SIZE = 7.0


@contextmanager
def blank_figure(
    width: float,
    height: float,
    texts: Iterable[str] = (),
    layout: Literal["constrained"] | None = "constrained",
) -> Iterator["Figure"]:
    """Give a figure to draw on, in fonts that have the characters of these texts."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    families = families_for(texts)[0]
    style = {"font.family": families, "font.size": FONT_SIZE, "text.usetex": False}
    with matplotlib.rc_context(style), no_glyph_warnings():
        figure = Figure(
            figsize=(width * MM, height * MM), dpi=200, layout=layout, facecolor="white"
        )
        FigureCanvasAgg(figure)
        yield figure
