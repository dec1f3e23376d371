"""One panel of a figure: a map of two dimensions, a view of three, or a line of one."""

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.drawing import COLOURS, GREY, MARKERS, OTHER, Column, thumbnail
from ordinate.label_placement import leader_ends, needs_leader, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]

INK, PALE, FRAME = "#222222", "#999999", "#CCCCCC"
IMAGE_DPI = 300
# Colour maps end in a yellow that vanishes on white paper: stop before it.
COLOUR_MAP, BRIGHTEST = "viridis", 0.92


@dataclass
class Scene:
    """What every panel draws: items with a place, their looks, and what is not shown."""

    X: np.ndarray
    labels: list[str] | None
    images: dict[int, Any]
    column: Column | None
    font_size: float
    radius: float  # of a marker, in points
    not_shown: list[str] = field(default_factory=list)


def draw_panel(figure: "Figure", scene: Scene, dims: tuple[int, ...], box: Box) -> int:
    """Draw some dimensions into a box of the figure; return how many labels had no room."""
    if len(dims) == 1:
        return _draw_line(figure, scene, box)
    axes, xy = (_space if len(dims) == 3 else _plane)(figure, scene, dims, box)
    side = _draw_images(axes, scene, xy)
    if scene.labels is None:
        return 0
    radii = np.full((len(xy), 2), scene.radius)
    radii[list(scene.images)] = side / 2
    return _draw_labels(figure, axes, scene, xy, radii)


def look(code: int, column: Column) -> tuple[str, str]:
    """Colour and marker of a category: both differ, for eyes and printers without colour."""
    if code < 0:
        return GREY, "o"
    if code == len(column.names) - 1 and column.n_other:
        return OTHER, "o"
    return COLOURS[code], MARKERS[code % len(MARKERS)]


def colour_map(column: Column) -> tuple[Any, Any]:
    """Colour map and norm of a numeric column."""
    import matplotlib
    from matplotlib.colors import ListedColormap, Normalize

    whole = matplotlib.colormaps[COLOUR_MAP]
    colours = ListedColormap(whole(np.linspace(0, BRIGHTEST, 256)))
    known = np.asarray(column.numbers)[np.isfinite(np.asarray(column.numbers))]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    return colours, Normalize(low, high if high > low else low + 1)


def looks(scene: Scene) -> list[tuple[np.ndarray, Any, str]]:
    """Groups of rows that share a marker, with their colours."""
    n, column = len(scene.X), scene.column
    if column is None:
        return [(np.arange(n), COLOURS[0], "o")]
    if column.codes is not None:
        # Missing first, so that they lie under the others.
        codes = [code for code in range(-1, len(column.names)) if (column.codes == code).any()]
        return [(np.flatnonzero(column.codes == code), *look(code, column)) for code in codes]
    values = np.asarray(column.numbers)
    colours, norm = colour_map(column)
    known = np.flatnonzero(np.isfinite(values))
    groups: list[tuple[np.ndarray, Any, str]] = []
    if len(known) < n:
        groups.append((np.flatnonzero(~np.isfinite(values)), GREY, "o"))
    if len(known):
        groups.append((known, colours(norm(values[known])), "o"))
    return groups


def margins(figure: "Figure", scene: Scene, width: float) -> np.ndarray:
    """Room in points beside and above a map of this width: labels of the outermost need it."""
    beside = above = 2.5 * scene.font_size
    if scene.labels is not None:
        wide = np.nanmedian(text_sizes(figure, ["x", *scene.labels], scene.font_size)[:, 0])
        beside = max(beside, min(0.14 * width, float(wide)))
    return np.array([beside, above])


def _scatter(axes: "Axes", scene: Scene, coordinates: np.ndarray) -> None:
    alpha = 1.0 if len(scene.X) <= 1000 else 0.7
    for rows, colour, marker in looks(scene):
        # Squares and diamonds look larger than discs of their width.
        size = 2 * scene.radius * {"o": 1.0, "s": 0.88, "D": 0.8, "^": 1.05}[marker]
        shown = rows[~np.isin(rows, list(scene.images))]
        colours = colour if isinstance(colour, str) else colour[~np.isin(rows, list(scene.images))]
        axes.scatter(
            *coordinates[shown].T,
            s=size**2,
            c=colours,
            marker=marker,
            linewidths=0.25,
            edgecolors="white",
            alpha=alpha,
        )


def _plane(
    figure: "Figure", scene: Scene, dims: tuple[int, ...], box: Box
) -> tuple["Axes", np.ndarray]:
    """A map with the same scale on both axes that fills its box."""
    axes = figure.add_axes(box)
    xy = scene.X[:, dims]
    size = np.array(box[2:]) * figure.get_size_inches() * 72
    room = size - 2 * margins(figure, scene, size[0])
    middle, span = (xy.max(axis=0) + xy.min(axis=0)) / 2, np.ptp(xy, axis=0)
    scale = float((span / room).max()) or 1.0
    half = scale * size / 2
    axes.set(xlim=(middle - half)[[0]].tolist() + (middle + half)[[0]].tolist())
    axes.set(ylim=(middle - half)[[1]].tolist() + (middle + half)[[1]].tolist())
    axes.set(xticks=[], yticks=[], aspect="equal", facecolor="none")
    for spine in axes.spines.values():
        spine.set(color=FRAME, linewidth=0.5)
    if scene.X.shape[1] > 2:
        name = f"dimension {dims[0] + 1} across, {dims[1] + 1} up"
        axes.set_xlabel(name, size=scene.font_size, color=INK, labelpad=2)
    _scatter(axes, scene, xy)
    return axes, xy


def _space(
    figure: "Figure", scene: Scene, dims: tuple[int, ...], box: Box
) -> tuple["Axes", np.ndarray]:
    """A view in space; returns where it puts the points on paper."""
    from mpl_toolkits.mplot3d import proj3d

    axes: Any = figure.add_axes(box, projection="3d", computed_zorder=False)
    xyz = scene.X[:, dims]
    middle, span = (xyz.max(axis=0) + xyz.min(axis=0)) / 2, np.ptp(xyz, axis=0)
    half = 0.55 * (span + 0.02 * span.max() + (span.max() == 0))
    for k, axis in enumerate((axes.xaxis, axes.yaxis, axes.zaxis)):
        axis.set_ticklabels([])
        axis._axinfo["tick"].update(inward_factor=0, outward_factor=0)
        axis.set_pane_color((0.97, 0.97, 0.97))
        axis.line.set(color=FRAME, linewidth=0.5)
        axis.label.set(text=str(dims[k] + 1), size=scene.font_size, color=INK)
        axis.labelpad = -12
        axis._axinfo["grid"].update(color="#E2E2E2", linewidth=0.4)
    axes.set(xlim=(middle - half)[0] + [0, 2 * half[0]], ylim=(middle - half)[1] + [0, 2 * half[1]])
    axes.set(zlim=(middle - half)[2] + [0, 2 * half[2]])
    axes.set_box_aspect(half, zoom=1.0)
    _scatter(axes, scene, xyz)
    axes.apply_aspect()
    x, y, _ = proj3d.proj_transform(*xyz.T, axes.get_proj())
    return axes, np.column_stack([x, y])


def _draw_images(axes: "Axes", scene: Scene, xy: np.ndarray) -> float:
    """Put thumbnails at their points; return their side in points."""
    if not scene.images:
        return 0.0
    size = axes.get_window_extent()
    area = size.width * size.height * (72 / axes.figure.dpi) ** 2
    side = float(np.clip(0.42 * (area / len(xy)) ** 0.5, 8, 40))
    edge = dict.fromkeys(range(len(xy)), "none")
    if scene.column is not None:
        for rows, colours, _ in looks(scene):
            each = [colours] * len(rows) if isinstance(colours, str) else colours
            edge.update(zip(rows.tolist(), each, strict=True))
    for row, image in scene.images.items():
        _stamp(axes, image, side, tuple(xy[row]), edge[row])
    return side


def _stamp(axes: "Axes", image: Any, side: float, place: Any, edge: Any, **where: Any) -> None:
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    picture = thumbnail(image, max(1, round(side * IMAGE_DPI / 72)))
    zoom = side / max(picture.size)
    inside = OffsetImage(np.asarray(picture.convert("RGBA")), zoom=zoom)
    frame = {"edgecolor": edge, "linewidth": 0.8, "facecolor": "none"}
    stamp = AnnotationBbox(inside, place, pad=0.03, bboxprops=frame, frameon=True, **where)
    stamp.set_clip_on(False)
    axes.add_artist(stamp)


def text_sizes(figure: "Figure", labels: list[str], font_size: float) -> np.ndarray:
    """Width and height of labels in points, (n, 2); NaN for blank ones."""
    from matplotlib.text import Text

    renderer = figure.canvas.get_renderer()
    text = Text(size=font_size, linespacing=1.0, parse_math=False, figure=figure)
    # The figure keeps what has been measured: labels are asked about several times.
    sizes = figure.__dict__.setdefault("_ordinate_text_sizes", {}).setdefault(font_size, {})
    for label in set(labels) - set(sizes):
        text.set_text(label)
        extent = text.get_window_extent(renderer)
        sizes[label] = (extent.width, extent.height) if label.strip() else (np.nan, np.nan)
    return np.array([sizes[label] for label in labels]) * 72 / figure.dpi


def _draw_labels(
    figure: "Figure", axes: "Axes", scene: Scene, xy: np.ndarray, radii: np.ndarray
) -> int:
    """Write each label where it covers nothing; return how many had no room."""
    labels = scene.labels or []
    per_pixel = 72 / figure.dpi
    places = axes.transData.transform(xy) * per_pixel
    sizes = text_sizes(figure, labels, scene.font_size) + np.array([3.0, 0.6])
    frame = axes.get_window_extent().padded(-1 / per_pixel).extents * per_pixel
    centres = place_labels(places, sizes, radii, tuple(frame), gap=0.6)
    placed = np.flatnonzero(~np.isnan(centres[:, 0]))
    begin, end = leader_ends(places, centres, sizes, radii)
    leader = needs_leader(places, centres, sizes, radii)
    for i in placed:
        shift = centres[i] - places[i]
        axes.annotate(
            labels[i],
            xy[i],
            shift,
            textcoords="offset points",
            size=scene.font_size,
            color=INK,
            ha="center",
            va="center",
            multialignment=_alignment(shift[0], sizes[i, 0]),
            linespacing=1.0,
            parse_math=False,
            annotation_clip=False,
        )
    if leader.any():
        _draw_leaders(axes, begin[leader] / per_pixel, end[leader] / per_pixel)
    return int((~np.isnan(sizes[:, 0])).sum()) - len(placed)


def _alignment(shift: float, width: float) -> str:
    """Lines of a label begin, or end, at the side of its point."""
    if abs(shift) < 0.4 * width:
        return "center"
    return "left" if shift > 0 else "right"


def _draw_leaders(axes: "Axes", begin: np.ndarray, end: np.ndarray) -> None:
    """Thin lines between pixels, kept in data coordinates so that they follow the axes."""
    from matplotlib.lines import Line2D

    back = axes.transData.inverted()
    ends = np.stack([back.transform(begin), back.transform(end), np.full_like(end, np.nan)], axis=1)
    x, y = ends.reshape(-1, 2).T
    axes.add_artist(Line2D(x, y, color=PALE, linewidth=0.35, zorder=0.5))


def _draw_line(figure: "Figure", scene: Scene, box: Box) -> int:
    """A vertical line of items, labels on both sides, moved apart and joined by thin lines."""
    axes = figure.add_axes(box)
    width, height = np.array(box[2:]) * figure.get_size_inches() * 72
    values = scene.X[:, 0]
    side = 2.2 * scene.font_size if scene.images else 0.0
    margin = 1.5 * scene.font_size + side / 2
    span = float(np.ptp(values)) or 1.0
    # The axes count in points of paper; the values are scaled into them.
    y = margin + (values - values.min()) / span * (height - 2 * margin)
    axes.set(xlim=(-width / 2, width / 2), ylim=(0, height))
    axes.set_axis_off()
    axes.plot([0, 0], [margin / 2, height - margin / 2], color=FRAME, linewidth=0.8, zorder=0.4)
    hidden, scene.images = scene.images, {}  # thumbnails stand by the labels instead
    _scatter(axes, scene, np.column_stack([np.zeros(len(y)), y]))
    scene.images = hidden
    if scene.labels is None:
        return 0
    most = int((width / 2 - 34 - side) / (0.55 * scene.font_size))
    labels = [textwrap.shorten(label, max(most, 8), placeholder="…") for label in scene.labels]
    sizes = text_sizes(figure, labels, scene.font_size)
    tall = np.maximum(sizes[:, 1] + 1.5, [side + 1 if i in hidden else 0 for i in range(len(y))])
    order = np.argsort(-y, kind="stable")
    order = order[~np.isnan(sizes[order, 0])]
    left_out = 0
    for sign, rows in ((1, order[::2]), (-1, order[1::2])):
        kept, middles = _spread(y[rows], tall[rows], height)
        left_out += len(rows) - len(kept)
        for row, middle in zip(rows[kept], middles, strict=True):
            elbow, text = sign * 26, sign * (29 + (side + 3 if row in hidden else 0))
            start = sign * (scene.radius + 1)
            path = [start, sign * 8, elbow], [y[row], y[row], middle]
            axes.plot(*path, color=PALE, linewidth=0.35, zorder=0.5)
            if row in hidden:
                place = (sign * (28 + side / 2), middle)
                _stamp(axes, hidden[row], side, place, "none")
            anchor = {"ha": "left" if sign > 0 else "right", "va": "center", "linespacing": 1.0}
            words = axes.text(text, middle, labels[row], size=scene.font_size, **anchor)
            words.set(color=INK, parse_math=False)
    return left_out


def _spread(y: np.ndarray, tall: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Move labels apart along a line, as little as possible in the least-squares sense.

    With heights h, neighbours must differ by ``(h_k + h_k+1) / 2``; less those offsets, what is
    left must only be in order: isotonic regression. Some, evenly chosen, stay if all are too many.
    """
    from sklearn.isotonic import isotonic_regression

    if len(y) == 0:
        return np.arange(0), y
    room = min(len(y), int(height / tall.max())) if tall.sum() > height else len(y)
    kept = np.linspace(0, len(y) - 1, max(room, 1)).round().astype(int)
    h = tall[kept]
    offsets = np.concatenate([[0.0], np.cumsum((h[1:] + h[:-1]) / 2)])
    free = isotonic_regression(
        y[kept] + offsets,
        y_min=h[-1] / 2 + offsets[-1],
        y_max=height - h[0] / 2,
        increasing=False,
    )
    return kept, free - offsets
