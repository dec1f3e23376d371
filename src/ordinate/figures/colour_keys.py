"""What the colours of a map mean: a legend of categories, or a bar of numbers."""

from typing import TYPE_CHECKING, Any

from ordinate.figures.drawing import GREY, Column
from ordinate.figures.panels import POINT, Scene, colour_map, colour_unit, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def legend(figure: "Figure", scene: Scene, column: Column, inches: float) -> Any:
    """Name the categories, below the map, in as many columns as there is room for."""
    from matplotlib.lines import Line2D

    def handle(colour: str, marker: str, name: str) -> Line2D:
        size = 2 * max(scene.radius, 1.8)
        return Line2D(
            [], [], ls="", marker=marker, ms=size, mfc=colour, mec="white", mew=0.3, label=name
        )

    handles = [handle(*style_of(code, column), name) for code, name in enumerate(column.names)]
    if len(scene.images) == len(scene.X):  # their frames have the colours
        for each in handles:
            each.set_marker("s")
    if column.n_missing:
        handles.append(handle(GREY, "o", f"missing ({column.n_missing:,})"))
    longest = max(len(name) for name in column.names) + 4
    per_row = max(1, int(inches / (longest * 0.6 * scene.font_size * POINT)))
    rows = -(-len(handles) // min(per_row, 6))
    made = figure.legend(
        handles=handles,
        title=column.name or None,
        loc="upper center",
        ncols=-(-len(handles) // rows),
        fontsize=scene.font_size,
        title_fontsize=scene.font_size,
        frameon=False,
        handletextpad=0.1,
        columnspacing=1.2,
        borderaxespad=0,
        borderpad=0.2,
    )
    for text in (made.get_title(), *made.get_texts()):
        text.set_parse_math(False)
    return made


def colour_bar(figure: "Figure", scene: Scene, column: Column) -> "Axes":
    """Tell which colour is which number."""
    from matplotlib.cm import ScalarMappable

    axes = figure.add_axes((0, 0, 1, 1))
    colours, norm = colour_map(column)
    bar = figure.colorbar(ScalarMappable(norm, colours), cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    axes.tick_params(labelsize=scene.font_size - 0.5, width=0.4, length=2, pad=1.5)
    axes.xaxis.get_major_locator().set_params(nbins=5)
    unit = colour_unit(column)
    name = column.name if unit == 1 else f"{column.name} in units of {unit:.0e}".strip()
    if column.n_missing:
        name += f"  (grey: {column.n_missing:,} missing)"
    axes.set_xlabel(name, size=scene.font_size, labelpad=1.5, parse_math=False)
    return axes
