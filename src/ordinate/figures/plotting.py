"""Pictures of maps, fit for a paper: labels that do not overlap, colours, thumbnails."""

import textwrap
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate._base.checks import check_choice
from ordinate._base.messages import Message, Option, some
from ordinate.figures.captions import all_of, in_words, wrap
from ordinate.figures.colour_keys import colour_bar, legend
from ordinate.figures.drawing import Column, check_map, match_images, read_column
from ordinate.figures.error_marks import TRUE_PLACES, are_few, doubt_of, find_covariance
from ordinate.figures.figure_files import save
from ordinate.figures.fonts import families_for, no_glyph_warnings, printable
from ordinate.figures.line_panel import draw_line, line_of
from ordinate.figures.panels import (
    INK,
    MM,
    POINT,
    TALLEST,
    LeftOut,
    Scene,
    draw_panel,
    margins,
    text_sizes,
)
from ordinate.files.items import display_names

__all__ = ["plot_map", "save"]

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

WIDTHS = {"column": 85.0, "page": 180.0}  # mm, as most journals set them
MOST_DIMENSIONS = 4  # of which all pairs are shown: six panels
FULL = 0.4  # share of a map that labels may cover before it is made higher, if all are drawn
MOST_LABELS = 2000  # that are tried where the choice is ours: a page has room for some hundreds
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
    show_labels: str | int = "auto",
    image_size: float | None = None,
    image_alpha: float = 1.0,
    keep_white: bool = False,
    ellipses: bool | None = None,
    covariance: Any = None,
    ellipses_hold: str = TRUE_PLACES,
    doubt: str | None = None,
) -> "Figure":
    """Draw a map of items.

    One dimension gives a line with labels above and below, two a map, three a view in space and the
    three pairs of dimensions, more the pairs among the first four. Coordinates are used as given.
    What is not shown is counted in the caption: items without a place (NaN), labels and pictures
    without room, further dimensions.

    Parameters
    ----------
    points : array-like, shape (n, d), a fitted estimator or a bootstrap
        An estimator, as of :func:`ordinate.load` too, gives its map.
    labels : sequence, shape (n,), optional
        By default the items of an estimator. Long ones are wrapped and cut short. A folder or an
        ending of picture files that all labels share is not shown.
    names : sequence, shape (n,), optional
        What to show instead of labels; see :func:`ordinate.files.items.display_names`.
    images : mapping of label to path or array, optional
        Thumbnails, drawn in place of markers. Those that would overlap are moved apart, with a thin
        line to their point, or left out.
    colour : sequence, shape (n,), optional
        Numbers give a colour bar; anything else, such as text, is a category and gives a legend.
    colour_name : str, optional
        What `colour` shows, for the legend.
    caption, title : str, optional
        Text below and above; the held-out accuracy belongs in the caption.
    width : {"column", "page"} or float
        Width of the figure: 85 mm, 180 mm, or a number of mm.
    font_size : float
        Of labels, in points.
    show_labels : {"auto", "all", "none"} or int
        Which labels to draw: those that have room; all, even if crowded; none; or a number of
        them, spread over the map.
    image_size : float, optional
        Width or height of thumbnails in mm, whichever is larger; by default as large as there is
        room for.
    image_alpha : float
        1 for opaque thumbnails, less for transparent ones; above 0.
    keep_white : bool
        Keep white backgrounds of thumbnails, which are otherwise made transparent.
    ellipses : bool, optional
        Show how sure the place of each item is: an ellipse that holds the true one with 95 %
        confidence, a bar on a line. By default of maps of one or two dimensions and at most 300
        items, where covariances are known and can be trusted.
    covariance : array-like, shape (n, d, d), optional
        Of each item's coordinates; by default that of the estimator or bootstrap. Items whose
        covariance is NaN have no ellipse.
    ellipses_hold : str
        What is in the ellipses with 95 % confidence, for the caption.
    doubt : str, optional
        Why ellipses are not to be trusted, for the caption; by default what the model says.

    Returns
    -------
    matplotlib.figure.Figure
        Not tied to pyplot; :func:`save` writes it.

    Warns
    -----
    UserWarning
        No installed font has some of the characters.

    Examples
    --------
    >>> from ordinate import plot_map
    >>> figure = plot_map([[0, 0], [1, 0], [0, 2]], ["cat", "lynx", "bus"])
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['bus', 'cat', 'lynx']
    """
    import matplotlib

    X, own, placed = check_map(points, labels)
    check_drawing(show_labels, image_size, image_alpha)
    C = find_covariance(points, covariance, X.shape, ellipses)
    if C is not None or (ellipses is None and are_few(*X.shape)):
        doubt = doubt or doubt_of(points)
    doubted = ["how sure places are (not to be trusted)"] if doubt and C is None else []
    rows, wide = np.flatnonzero(placed), millimetres(width)
    here = None if own is None else [own[row] for row in rows]
    named = None if own is None else display_names(own, names)[0]
    called = None if named is None else [named[row] for row in rows]
    column = None if colour is None else _read_column(colour_name, colour, rows, len(X))
    chosen, not_chosen = _choose_labels(X[rows], called, show_labels, short=X.shape[1] > 1)
    shown = Scene(
        X=X[rows],
        labels=chosen,
        images=match_images(images, here),
        column=column,
        font_size=font_size,
        radius=float(np.clip(30 / len(rows) ** 0.5, 1.0, 2.4) * min(1, wide / 180) ** 0.3),
        every_label=show_labels != "auto",
        image_side=None if image_size is None else image_size * MM / POINT,
        image_alpha=image_alpha,
        keep_white=keep_white,
        covariance=None if C is None else C[rows],
        ellipses_hold=ellipses_hold,
        doubt=doubt,
        not_shown=_not_shown(X, placed) + not_chosen + doubted,
    )
    below, above = printable(caption or ""), printable(title or "")
    style = {"font.family": _families(shown, [below, above]), "text.usetex": False}
    with matplotlib.rc_context(style), no_glyph_warnings():
        return _compose(shown, below, above, wide)


def check_drawing(
    show_labels: str | int = "auto", image_size: float | None = None, image_alpha: float = 1.0
) -> None:
    """Refuse what :func:`plot_map` cannot draw, before anything is computed."""
    number = isinstance(show_labels, (int, np.integer)) and not isinstance(show_labels, bool)
    if show_labels not in ("auto", "all", "none") and not (number and int(show_labels) >= 0):
        raise ValueError(
            Message(
                Option("show_labels"),
                f" must be 'auto', 'all', 'none' or a number of labels; got {show_labels!r}",
            )
        )
    if image_size is not None and not 1 <= image_size <= 200:
        raise ValueError(Message(Option("image_size"), f" must be 1 to 200 mm; got {image_size!r}"))
    if not 0 < image_alpha <= 1:
        raise ValueError(
            Message(Option("image_alpha"), f" must be above 0 and at most 1; got {image_alpha!r}")
        )


def millimetres(width: str | float) -> float:
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


def shorten(label: str) -> str:
    """At most two lines of a label; an ellipsis stands for the rest."""
    text = " ".join(label.split()) or label
    lines = textwrap.wrap(text, LINE) if len(text) > LINE else [text]
    if len(lines) > 2:
        lines = [lines[0], lines[1][: LINE - 1].rstrip(" ,;") + "…"]
    return "\n".join(lines)


def _choose_labels(
    X: np.ndarray, names: list[str] | None, show: str | int, *, short: bool
) -> tuple[list[str] | None, list[str]]:
    """Labels as they are drawn, "" for those not asked for, and a note that counts these."""
    if names is None or show == "none" or show == 0:
        return None, []
    labels = [printable(name) for name in names]
    if short:  # a line sees to the length of its labels
        labels = [shorten(label) for label in labels]
    if show == "auto" and len(labels) > MOST_LABELS:
        kept = {*np.linspace(0, len(labels) - 1, MOST_LABELS).astype(int).tolist()}
    elif isinstance(show, str) or show >= len(labels):
        return labels, []
    else:
        kept = set(_spread_over(X, int(show)))
    chosen = [label if row in kept else "" for row, label in enumerate(labels)]
    return chosen, [f"{len(labels) - len(kept):,} of {len(labels):,} labels"]


def _spread_over(X: np.ndarray, count: int) -> list[int]:
    """Rows of so many points, each the farthest from those before it; the first is farthest out."""
    distance = np.linalg.norm(X - X.mean(axis=0), axis=1)
    rows: list[int] = []
    for _ in range(count):
        rows.append(int(np.argmax(np.round(distance, 12))))
        from_it = np.linalg.norm(X - X[rows[-1]], axis=1)
        distance = from_it if len(rows) == 1 else np.minimum(distance, from_it)
        distance[rows] = -1.0
    return rows


def _read_column(name: str | None, values: Any, rows: np.ndarray, n: int) -> Column:
    """The column of those items that have a place, in words that can be drawn."""
    column = read_column(printable(name or ""), values, n)
    numbers = None if column.numbers is None else column.numbers[rows]
    codes = None if column.codes is None else column.codes[rows]
    missing = np.isnan(numbers) if numbers is not None else np.asarray(codes) < 0
    names = [shorten(printable(text)) for text in column.names]
    return Column(column.name, numbers, codes, names, int(missing.sum()), column.n_other)


def _families(scene: Scene, texts: list[str]) -> list[str]:
    """Fonts for all that is written; one warning names what none of them can draw."""
    labels = scene.labels or []
    column = [] if scene.column is None else [scene.column.name, *scene.column.names]
    families, missing = families_for([*labels, *column, *texts])
    if missing:
        hit = [text for text in (*labels, *column, *texts) if missing & set(text)]
        names = some([text.replace("\n", " ") for text in hit], 5)
        warnings.warn(
            f"no installed font can draw {len(hit):,} label{'s' * (len(hit) > 1)} in full: "
            f"{names}; boxes stand for {some(sorted(missing), 20)}. Install a font that has these "
            "characters, such as one of the Noto fonts",
            stacklevel=3,
        )
    return families


def _compose(scene: Scene, caption: str, title: str, width: float) -> "Figure":
    """Lay out the figure, again if something had to be left out and the caption has to say so."""
    many = scene.labels is not None and len(scene.X) > 150 and not scene.every_label
    figure, left_out = _draw(scene, caption, title, width, with_note=many)
    if any(left_out) and not many:
        figure, _ = _draw(scene, caption, title, width, with_note=True)
    return figure


def _draw(
    scene: Scene, caption: str, title: str, width: float, *, with_note: bool
) -> tuple["Figure", LeftOut]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = panels_of(scene.X.shape[1])
    columns = min(len(panels), 2)
    n_rows = -(-len(panels) // columns)
    inches = width * MM
    figure = Figure(figsize=(inches, inches), dpi=200, facecolor="white")
    FigureCanvasAgg(figure)
    edge = 1.2 * MM
    panel_width = (inches - edge * (columns + 1)) / columns
    panel_height = height_of_panel(figure, scene, panel_width)
    expected = all_of(scene) if with_note else LeftOut()
    below = _below(figure, scene, in_words(scene, caption, expected), inches)
    # Bold letters are a tenth wider.
    heading = wrap(figure, title, 1.1 * (scene.font_size + 2), 72 * inches - 8)
    head = (heading.count("\n") + 1) * 1.3 * (scene.font_size + 2) * POINT if heading else 0.0
    names = (scene.font_size + 3) * POINT if len(panels) > 1 else 0.0
    foot = sum(height for _, height in below)
    height = head + n_rows * (panel_height + edge + names) + edge + foot
    figure.set_size_inches(inches, height)
    _stack(figure, below, height, edge)
    style = {"size": scene.font_size + 2, "weight": "bold", "va": "top", "parse_math": False}
    if heading:
        figure.text(edge / inches, 1 - 0.5 * edge / height, heading, **style)
    left_out = LeftOut()
    for place, dims in enumerate(panels):
        row, column = divmod(place, columns)
        left = edge + column * (panel_width + edge)
        bottom = height - head - (row + 1) * (panel_height + edge + names) + names
        box = (left / inches, bottom / height, panel_width / inches, panel_height / height)
        if len(dims) == 1:
            left_out = draw_line(figure, scene, box)
        else:
            left_out = LeftOut(*map(max, left_out, draw_panel(figure, scene, dims, box)))
    if with_note:
        words = in_words(scene, caption, left_out)
        below[-1][0].set(text=wrap(figure, words, scene.font_size + 0.5, 72 * inches - 8))
    return figure, left_out


def panels_of(d: int) -> list[tuple[int, ...]]:
    if d <= 2:
        return [tuple(range(d))]
    shown = range(min(d, MOST_DIMENSIONS))
    pairs: list[tuple[int, ...]] = [(i, j) for i in shown for j in shown if i < j]
    return [(0, 1, 2), *pairs] if d == 3 else pairs


def height_of_panel(figure: "Figure", scene: Scene, width: float) -> float:
    """A map is as high as its points ask for; a line as high as its labels."""
    d = scene.X.shape[1]
    if d == 1:
        return line_of(figure, scene, width / POINT).height * POINT
    if d > 2:
        return 0.9 * width
    low, high = scene.extent((0, 1))
    span = high - low
    ratio = span[1] / span[0] if span[0] > 0 else 1.0
    beside, above = margins(figure, scene, width / POINT) * POINT
    height = float(np.clip(ratio * (width - 2 * beside) + 2 * above, 0.4 * width, 1.1 * width))
    if scene.every_label and scene.labels:
        sizes = text_sizes(figure, scene.labels, scene.font_size) * POINT
        enough = float(np.nansum(sizes.prod(axis=1))) / (FULL * width)
        height = max(height, min(enough, TALLEST * MM))
    return height


def _below(
    figure: "Figure", scene: Scene, words: str, inches: float
) -> list[tuple["Artist", float]]:
    """Legend or colour bar's place, and caption, with their heights in inches, top first."""
    below: list[tuple[Artist, float]] = []
    if scene.column is not None and scene.column.names:
        names = legend(figure, scene, scene.column, inches)
        extent = names.get_window_extent(figure.canvas.get_renderer())
        below.append((names, extent.height / figure.dpi + 1 * MM))
    elif scene.column is not None:
        below.append((colour_bar(figure, scene, scene.column), (2.6 * scene.font_size + 9) * POINT))
    if words:
        style = {"size": scene.font_size + 0.5, "linespacing": 1.3, "parse_math": False}
        lines = wrap(figure, words, scene.font_size + 0.5, 72 * inches - 8)
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
