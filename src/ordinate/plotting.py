"""Pictures of maps, fit for a paper: labels that do not overlap, colours, thumbnails."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate._checks import check_choice
from ordinate._writing import whole_file
from ordinate.drawing import GREY, Column, check_map, match_images, read_column
from ordinate.items import display_names
from ordinate.panels import INK, Scene, colour_map, draw_panel, look, margins, text_sizes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"column": 85.0, "page": 180.0}  # mm, as most journals set them
FORMATS = ("pdf", "png", "svg")
MOST_DIMENSIONS = 4  # of which all pairs are shown: six panels
TALLEST = 220.0  # mm
MM, POINT = 1 / 25.4, 1 / 72  # inches
LINE = 20  # characters of a line of a label


def plot_map(
    points: Any,
    labels: Any = None,
    *,
    names: Any = None,
    images: Mapping | None = None,
    colour: Any = None,
    colour_name: str | None = None,
    caption: str | None = None,
    title: str | None = None,
    width: str | float = "page",
    font_size: float = 7.0,
) -> "Figure":
    """Draw a map of items.

    One dimension gives a line with labels on both sides, two a map, three a view in space and the
    three pairs of dimensions, more the pairs among the first four. Coordinates are used as given.
    What is not shown is counted in the caption: items without a place (NaN), labels without room,
    further dimensions.

    Parameters
    ----------
    points : array-like, shape (n, d)
    labels : sequence, shape (n,), optional
        Long ones are wrapped and cut short. A folder or an ending of pictures that all share is not
        shown.
    names : sequence, shape (n,), optional
        What to show instead, as :func:`ordinate.items.display_names` has it.
    images : mapping of label to path or array, optional
        Thumbnails, drawn in place of markers.
    colour : sequence, shape (n,), optional
        Numbers give a colour bar; anything else, such as text, is a category and gives a legend.
    colour_name : str, optional
        What `colour` is.
    caption, title : str, optional
        Text below and above; the held-out accuracy belongs in the caption.
    width : {"column", "page"} or float
        Width of the figure: 85 mm, 180 mm, or in mm.
    font_size : float
        Of labels, in points.

    Returns
    -------
    matplotlib.figure.Figure
        Not tied to pyplot; :func:`save` writes it.

    Examples
    --------
    >>> from ordinate import plot_map
    >>> figure = plot_map([[0, 0], [1, 0], [0, 2]], ["cat", "lynx", "bus"])
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['bus', 'cat', 'lynx']
    """
    X, own, placed = check_map(points, labels)
    shown_names = None if own is None else display_names(own, names)[0]
    rows, wide = np.flatnonzero(placed), _millimetres(width)
    shorten = str if X.shape[1] == 1 else _shorten  # a line sees to the length of its labels
    column = None if colour is None else read_column(colour_name or "", colour, len(X))
    shown = Scene(
        X=X[rows],
        labels=None if shown_names is None else [shorten(shown_names[row]) for row in rows],
        images=match_images(images, None if own is None else [own[row] for row in rows]),
        column=None if column is None else _rows_of(column, rows),
        font_size=font_size,
        radius=float(np.clip(30 / len(rows) ** 0.5, 1.0, 2.4) * min(1, wide / 180) ** 0.3),
        not_shown=_not_shown(X, placed),
    )
    return _compose(shown, caption, title, wide)


def save(figure: "Figure", path: str | Path, *, dpi: float = 300) -> Path:
    """Write a figure as PNG, SVG or PDF, whole or not at all.

    Text stays text in SVG and PDF, and the same figure gives the same file.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or Path
        Its ending says the format; its folder is made where there is none.
    dpi : float
        Dots per inch of PNG, and of thumbnails.

    Returns
    -------
    Path
    """
    import matplotlib

    path = Path(path)
    kind = path.suffix[1:].lower()
    check_choice("the ending of the path", kind, FORMATS)
    text = {"svg.fonttype": "none", "svg.hashsalt": "ordinate", "pdf.fonttype": 42}
    # A date would make every file differ.
    metadata: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with whole_file(path) as partial, matplotlib.rc_context(text):
        figure.savefig(partial, format=kind, dpi=dpi, metadata=metadata[kind])
    return path


def _millimetres(width: str | float) -> float:
    if isinstance(width, str):
        check_choice("width", width, WIDTHS)
        return WIDTHS[width]
    if not 20 <= width <= 2000:
        raise ValueError(f"width must be 'column', 'page' or 20 to 2000 mm; got {width!r}")
    return float(width)


def _not_shown(X: np.ndarray, placed: np.ndarray) -> list[str]:
    """Items and dimensions that the caption must name as not shown."""
    notes, d = [], X.shape[1]
    if not placed.all():
        notes.append(f"{(~placed).sum():,} of {len(X):,} items (no place)")
    if d > MOST_DIMENSIONS:
        pairs, shown = d * (d - 1) // 2, MOST_DIMENSIONS * (MOST_DIMENSIONS - 1) // 2
        notes.append(f"{pairs - shown} of {pairs} pairs of dimensions")
    return notes


def _shorten(label: str) -> str:
    """At most two lines of a label; an ellipsis stands for the rest."""
    text = " ".join(label.split()) or label
    lines = textwrap.wrap(text, LINE) if len(text) > LINE else [text]
    if len(lines) > 2:
        lines = [lines[0], lines[1][: LINE - 1].rstrip(" ,;") + "…"]
    return "\n".join(lines)


def _rows_of(column: Column, rows: np.ndarray) -> Column:
    numbers = None if column.numbers is None else column.numbers[rows]
    codes = None if column.codes is None else column.codes[rows]
    missing = np.isnan(numbers) if numbers is not None else np.asarray(codes) < 0
    return Column(column.name, numbers, codes, column.names, int(missing.sum()), column.n_other)


def _compose(scene: Scene, caption: str | None, title: str | None, width: float) -> "Figure":
    """Lay out the figure, again if labels had to be left out and the caption has to say so."""
    many = scene.labels is not None and len(scene.X) > 150
    figure, left_out = _draw(scene, caption, title, width, with_note=many)
    if left_out and not many:
        figure, _ = _draw(scene, caption, title, width, with_note=True)
    return figure


def _draw(
    scene: Scene, caption: str | None, title: str | None, width: float, *, with_note: bool
) -> tuple["Figure", int]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = _panels(scene.X.shape[1])
    columns = min(len(panels), 2)
    n_rows = -(-len(panels) // columns)
    inches = width * MM
    figure = Figure(figsize=(inches, inches), dpi=200, facecolor="white")
    FigureCanvasAgg(figure)
    edge = 1.2 * MM
    panel_width = (inches - edge * (columns + 1)) / columns
    panel_height = _panel_height(figure, scene, panel_width)
    below = _below(figure, scene, _words(scene, caption, len(scene.X) * with_note), inches)
    # Bold letters are a tenth wider.
    heading = _wrap(figure, title or "", 1.1 * (scene.font_size + 2), 72 * inches - 8)
    head = (heading.count("\n") + 1) * 1.3 * (scene.font_size + 2) * POINT if heading else 0.0
    names = (scene.font_size + 3) * POINT if len(panels) > 1 else 0.0
    foot = sum(height for _, height in below)
    height = head + n_rows * (panel_height + edge + names) + edge + foot
    figure.set_size_inches(inches, height)
    _stack(figure, below, height, edge)
    style = {"size": scene.font_size + 2, "weight": "bold", "va": "top", "parse_math": False}
    if heading:
        figure.text(edge / inches, 1 - 0.5 * edge / height, heading, **style)
    left_out = 0
    for place, dims in enumerate(panels):
        row, column = divmod(place, columns)
        left = edge + column * (panel_width + edge)
        bottom = height - head - (row + 1) * (panel_height + edge + names) + names
        box = (left / inches, bottom / height, panel_width / inches, panel_height / height)
        left_out = max(left_out, draw_panel(figure, scene, dims, box))
    if with_note:
        words = _words(scene, caption, left_out)
        below[-1][0].set(text=_wrap(figure, words, scene.font_size + 0.5, 72 * inches - 8))
    return figure, left_out


def _words(scene: Scene, caption: str | None, left_out: int) -> str:
    """The caption, and what the figure does not show."""
    missing = list(scene.not_shown)
    if left_out:
        upto, each = ("up to ", " of a panel") if scene.X.shape[1] > 2 else ("", "")
        missing.append(f"{upto}{left_out:,} of {len(scene.X):,} labels{each} (no room)")
    note = f"Not shown: {', '.join(missing)}." if missing else ""
    return " ".join(part for part in (caption, note) if part)


def _wrap(figure: "Figure", text: str, font_size: float, width: float) -> str:
    """Break a text into lines of at most `width` points, by the measured widths of its words."""
    done = []
    for paragraph in text.split("\n"):
        lines, used = [""], 0.0
        for word in paragraph.split():
            wide = float(text_sizes(figure, [word], font_size)[0, 0])
            if used + wide > width and used > 0:
                lines.append("")
                used = 0.0
            lines[-1] += f"{word} "
            used += wide + 0.3 * font_size  # the space, which a text does not count
        done += [line.rstrip() for line in lines]
    return "\n".join(done)


def _panels(d: int) -> list[tuple[int, ...]]:
    if d <= 2:
        return [tuple(range(d))]
    shown = range(min(d, MOST_DIMENSIONS))
    pairs: list[tuple[int, ...]] = [(i, j) for i in shown for j in shown if i < j]
    return [(0, 1, 2), *pairs] if d == 3 else pairs


def _panel_height(figure: "Figure", scene: Scene, width: float) -> float:
    """A map is as high as its points ask for; a line as high as its labels."""
    d = scene.X.shape[1]
    if d == 1:
        line = 1.35 * scene.font_size * POINT
        line = max(line, 2.4 * scene.font_size * POINT) if scene.images else line
        return float(np.clip((len(scene.X) / 2 + 4) * line, 40 * MM, TALLEST * MM))
    if d > 2:
        return 0.9 * width
    span = np.ptp(scene.X, axis=0)
    ratio = span[1] / span[0] if span[0] > 0 else 1.0
    beside, above = margins(figure, scene, width / POINT) * POINT
    return float(np.clip(ratio * (width - 2 * beside) + 2 * above, 0.4 * width, 1.1 * width))


def _below(
    figure: "Figure", scene: Scene, words: str, inches: float
) -> list[tuple["Artist", float]]:
    """Legend or colour bar's place, and caption, with their heights in inches, top first."""
    below: list[tuple[Artist, float]] = []
    if scene.column is not None and scene.column.names:
        legend = _legend(figure, scene, scene.column, inches)
        extent = legend.get_window_extent(figure.canvas.get_renderer())
        below.append((legend, extent.height / figure.dpi + 1 * MM))
    elif scene.column is not None:
        below.append(
            (_colour_bar(figure, scene, scene.column), (2.6 * scene.font_size + 9) * POINT)
        )
    if words:
        style = {"size": scene.font_size + 0.5, "linespacing": 1.3, "parse_math": False}
        lines = _wrap(figure, words, scene.font_size + 0.5, 72 * inches - 8)
        text = figure.text(0, 0, lines, color=INK, va="top", **style)
        tall = (lines.count("\n") + 1) * 1.3 * (scene.font_size + 0.5) + 4
        below.append((text, tall * POINT))
    return below


def _stack(
    figure: "Figure", below: list[tuple["Artist", float]], height: float, edge: float
) -> None:
    """Put what is below the map in its place, from the bottom up."""
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    inches = figure.get_figwidth()
    bottom = edge / 2
    for artist, tall in reversed(below):
        top = (bottom + tall) / height
        if isinstance(artist, Legend):
            artist.set_bbox_to_anchor((0.5, top))
        elif isinstance(artist, Axes):
            bar = 4 * POINT
            low = top - (5 * POINT + bar) / height
            artist.set_position((0.3, low, 0.4, bar / height))
        else:
            artist.set(position=(edge / inches, top))
        bottom += tall


def _legend(figure: "Figure", scene: Scene, column: Column, inches: float) -> Any:
    from matplotlib.lines import Line2D

    def handle(colour: str, marker: str, name: str) -> Line2D:
        size = 2 * max(scene.radius, 1.8)
        return Line2D(
            [], [], ls="", marker=marker, ms=size, mfc=colour, mec="white", mew=0.3, label=name
        )

    handles = [handle(*look(code, column), name) for code, name in enumerate(column.names)]
    if len(scene.images) == len(scene.X):  # their frames have the colours
        for each in handles:
            each.set_marker("s")
    if column.n_missing:
        handles.append(handle(GREY, "o", f"missing ({column.n_missing:,})"))
    longest = max(len(name) for name in column.names) + 4
    per_row = max(1, int(inches / (longest * 0.6 * scene.font_size * POINT)))
    rows = -(-len(handles) // min(per_row, 6))
    legend = figure.legend(
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
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def _colour_bar(figure: "Figure", scene: Scene, column: Column) -> "Axes":
    from matplotlib.cm import ScalarMappable

    axes = figure.add_axes((0, 0, 1, 1))
    colours, norm = colour_map(column)
    bar = figure.colorbar(ScalarMappable(norm, colours), cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    axes.tick_params(labelsize=scene.font_size - 0.5, width=0.4, length=2, pad=1.5)
    axes.xaxis.get_major_locator().set_params(nbins=5)
    name = column.name + (f"  (grey: {column.n_missing:,} missing)" if column.n_missing else "")
    axes.set_xlabel(name, size=scene.font_size, labelpad=1.5, parse_math=False)
    return axes
