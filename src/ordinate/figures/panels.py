"""One panel of a figure: a map of two dimensions, or a view of three."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate.figures.drawing import COLOURS, GREY, MARKERS, OTHER, Column, clear_white, thumbnail
from ordinate.figures.error_marks import TRUE_PLACES, draw_ellipses, extent, n_beyond
from ordinate.figures.label_placement import leader_ends, needs_leader, place_labels
from ordinate.figures.picture_placement import place_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]

INK, PALE, FRAME = "#222222", "#999999", "#CCCCCC"
IMAGE_DPI = 300
MM, POINT = 1 / 25.4, 1 / 72  # inches
TALLEST = 220.0  # mm
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
    every_label: bool = False
    image_side: float | None = None  # in points; by the room there is where None
    image_alpha: float = 1.0
    keep_white: bool = False
    covariance: np.ndarray | None = None  # (n, d, d), where ellipses are drawn
    ellipses_hold: str = TRUE_PLACES
    doubt: str | None = None  # why they are not to be trusted
    around: np.ndarray | None = None  # (k, d), further places that panels have room for
    not_shown: list[str] = field(default_factory=list)
    thumbnails: dict[tuple[int, int], Any] = field(default_factory=dict)

    def extent(self, dims: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest coordinates of what panels of these dimensions show."""
        low, high = extent(self.X, self.covariance, dims)
        if self.around is None:
            return low, high
        further = self.around[:, dims]
        return np.fmin(low, np.nanmin(further, axis=0)), np.fmax(high, np.nanmax(further, axis=0))

    def picture(self, row: int, side: float) -> np.ndarray:
        """Return the thumbnail of an item, `side` points wide or high, as (height, width, 4)."""
        pixels = max(1, round(side * IMAGE_DPI / 72))
        if (row, pixels) not in self.thumbnails:
            found = np.array(thumbnail(self.images[row], pixels).convert("RGBA"))
            found = found if self.keep_white else clear_white(found)
            found[..., 3] = np.round(self.image_alpha * found[..., 3])
            self.thumbnails[row, pixels] = found
        return self.thumbnails[row, pixels]


class LeftOut(NamedTuple):
    """What a panel has no room for."""

    labels: int = 0
    pictures: int = 0
    whole_marks: int = 0  # ellipses, or bars, that reach beyond the frame


def draw_panel(figure: "Figure", scene: Scene, dims: tuple[int, ...], box: Box) -> LeftOut:
    """Draw two or three dimensions into a box of the figure; return what had no room."""
    axes, coordinates, xy = (_space if len(dims) == 3 else _plane)(figure, scene, dims, box)
    at = axes.transData.transform(xy) * 72 / figure.dpi
    middles, radii = _draw_images(axes, scene, xy, at)
    without = np.isnan(middles[:, 0])
    draw_markers(axes, scene, coordinates, np.flatnonzero(without))
    middles[without], radii[without] = at[without], scene.radius
    n_pictures = len(xy) - int(without.sum())
    n_labels = 0 if scene.labels is None else _draw_labels(figure, axes, scene, xy, middles, radii)
    cut = 0
    if scene.covariance is not None and len(dims) == 2:
        limits = np.array([axes.get_xlim(), axes.get_ylim()]).T
        cut = n_beyond(xy, scene.covariance[:, dims][:, :, dims], *limits)
    return LeftOut(n_labels, len(scene.images) - n_pictures, cut)


def style_of(code: int, column: Column) -> tuple[str, str]:
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
    numbers = np.asarray(column.numbers) / colour_unit(column)
    known = numbers[np.isfinite(numbers)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    return colours, Normalize(low, high if high > low else low + 1)


def colour_unit(column: Column) -> float:
    """Power of ten that numbers are divided by, if they are too large or small to compute with."""
    sizes = np.abs(np.asarray(column.numbers))
    largest = float(np.nanmax(sizes, initial=0.0))
    if largest == 0 or 1e-100 < largest < 1e100:
        return 1.0
    return float(10.0 ** np.clip(np.floor(np.log10(largest)), -300, 300))


def styles(scene: Scene) -> list[tuple[np.ndarray, Any, str]]:
    """Groups of rows that share a marker, with their colours."""
    n, column = len(scene.X), scene.column
    if column is None:
        return [(np.arange(n), COLOURS[0], "o")]
    if column.codes is not None:
        # Missing first, so that they lie under the others.
        codes = [code for code in range(-1, len(column.names)) if (column.codes == code).any()]
        return [(np.flatnonzero(column.codes == code), *style_of(code, column)) for code in codes]
    values = np.asarray(column.numbers)
    colours, norm = colour_map(column)
    known = np.flatnonzero(np.isfinite(values))
    groups: list[tuple[np.ndarray, Any, str]] = []
    if len(known) < n:
        groups.append((np.flatnonzero(~np.isfinite(values)), GREY, "o"))
    if len(known):
        groups.append((known, colours(norm(values[known] / colour_unit(column))), "o"))
    return groups


def margins(figure: "Figure", scene: Scene, width: float) -> np.ndarray:
    """Room in points beside and above a map of this width: labels of the outermost need it."""
    beside = above = 2.5 * scene.font_size + (scene.image_side or 0) / 2
    if scene.labels is not None:
        wide = np.nanmedian(text_sizes(figure, ["x", *scene.labels], scene.font_size)[:, 0])
        beside = max(beside, min(0.14 * width, float(wide)))
    return np.array([beside, above])


def draw_markers(axes: "Axes", scene: Scene, coordinates: np.ndarray, shown: np.ndarray) -> None:
    """Draw markers of the items to be shown; above pictures, which would hide them."""
    alpha = 1.0 if len(scene.X) <= 1000 else 0.7
    for rows, colour, marker in styles(scene):
        # Squares and diamonds look larger than discs of their width.
        size = 2 * scene.radius * {"o": 1.0, "s": 0.88, "D": 0.8, "^": 1.05}[marker]
        here = np.isin(rows, shown)
        axes.scatter(
            *coordinates[rows[here]].T,
            s=size**2,
            c=colour if isinstance(colour, str) else colour[here],
            marker=marker,
            linewidths=0.25,
            edgecolors="white",
            alpha=alpha,
            zorder=4 if scene.images else 1,
        )


def _plane(
    figure: "Figure", scene: Scene, dims: tuple[int, ...], box: Box
) -> tuple["Axes", np.ndarray, np.ndarray]:
    """A map with the same scale on both axes that fills its box."""
    axes = figure.add_axes(box)
    xy = scene.X[:, dims]
    size = np.array(box[2:]) * figure.get_size_inches() * 72
    room = size - 2 * margins(figure, scene, size[0])
    low, high = scene.extent(dims)
    middle, span = (high + low) / 2, high - low
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
    if scene.covariance is not None:
        draw_ellipses(axes, xy, scene.covariance[:, dims][:, :, dims], styles(scene))
    return axes, xy, xy


def _space(
    figure: "Figure", scene: Scene, dims: tuple[int, ...], box: Box
) -> tuple["Axes", np.ndarray, np.ndarray]:
    """A view in space; returns the points, and where it puts them on paper."""
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
    axes.apply_aspect()
    x, y, _ = proj3d.proj_transform(*xyz.T, axes.get_proj())
    return axes, xyz, np.column_stack([x, y])


def _draw_images(
    axes: "Axes", scene: Scene, xy: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Put thumbnails at their points, or beside them with a line, so that none covers another.

    Returns their middles and half their sizes in points of paper; NaN for items without.
    """
    middles, radii = np.full(at.shape, np.nan), np.full(at.shape, np.nan)
    if not scene.images:
        return middles, radii
    per_pixel = 72 / axes.figure.dpi
    frame = axes.get_window_extent().padded(-1 / per_pixel).extents * per_pixel
    area = float(np.prod(frame[2:] - frame[:2]))
    side = scene.image_side or float(np.clip(0.42 * (area / len(xy)) ** 0.5, 8, 40))
    rows = np.array(list(scene.images))
    shapes = np.array([scene.picture(row, side).shape[1::-1] for row in rows.tolist()])
    sizes = side * shapes / shapes.max(axis=1, keepdims=True)
    middles[rows], radii[rows] = place_pictures(at[rows], sizes, tuple(frame)), sizes / 2
    edges = frame_colours(scene)
    for row in rows[~np.isnan(middles[rows, 0])].tolist():
        shift = middles[row] - at[row]
        draw_image(axes, scene.picture(row, side), side, xy[row], edges[row], shift)
    moved = (np.abs(middles - at) > radii).any(axis=1)
    if moved.any():
        begin, end = leader_ends(at[moved], middles[moved], 2 * radii[moved], 0 * radii[moved])
        _draw_leaders(axes, begin / per_pixel, end / per_pixel, marker="o")
    return middles, radii


def frame_colours(scene: Scene) -> list[Any]:
    """Colours of the frames of all items' pictures."""
    edges: list[Any] = ["none"] * len(scene.X)
    for rows, colours, _ in styles(scene) if scene.column is not None else []:
        for place, row in enumerate(rows):
            edges[row] = colours if isinstance(colours, str) else colours[place]
    return edges


def draw_image(
    axes: "Axes", picture: np.ndarray, side: float, place: Any, edge: Any, shift: Any = (0.0, 0.0)
) -> None:
    """Put a thumbnail at a place of the axes, or a shift in points from it."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    inside = OffsetImage(picture, zoom=side / max(picture.shape[:2]))
    frame = {"edgecolor": edge, "linewidth": 0.8, "facecolor": "none"}
    stamp = AnnotationBbox(
        inside,
        tuple(place),
        xybox=tuple(shift),
        boxcoords="offset points",
        pad=0.03,
        bboxprops=frame,
    )
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
    figure: "Figure",
    axes: "Axes",
    scene: Scene,
    xy: np.ndarray,
    places: np.ndarray,
    radii: np.ndarray,
) -> int:
    """Write each label beside its marker's place on paper; return how many had no room."""
    labels = scene.labels or []
    per_pixel = 72 / figure.dpi
    sizes = text_sizes(figure, labels, scene.font_size)
    frame = axes.get_window_extent().padded(-1 / per_pixel).extents * per_pixel
    centres = place_labels(
        places, sizes, radii, tuple(frame), gap=0.6, pad=(1.5, 0.3), every=scene.every_label
    )
    at = axes.transData.transform(xy) * per_pixel
    placed = np.flatnonzero(~np.isnan(centres[:, 0]))
    begin, end = leader_ends(places, centres, sizes, radii)
    leader = needs_leader(places, centres, sizes, radii)
    for i in placed:
        axes.annotate(
            labels[i],
            xy[i],
            centres[i] - at[i],
            textcoords="offset points",
            size=scene.font_size,
            color=INK,
            ha="center",
            va="center",
            multialignment=_alignment(centres[i, 0] - places[i, 0], sizes[i, 0]),
            linespacing=1.0,
            parse_math=False,
            annotation_clip=False,
            zorder=5,
        )
    if leader.any():
        _draw_leaders(axes, begin[leader] / per_pixel, end[leader] / per_pixel)
    return int((~np.isnan(sizes[:, 0])).sum()) - len(placed)


def _alignment(shift: float, width: float) -> str:
    """Lines of a label begin, or end, at the side of its point."""
    if abs(shift) < 0.4 * width:
        return "center"
    return "left" if shift > 0 else "right"


def _draw_leaders(axes: "Axes", begin: np.ndarray, end: np.ndarray, marker: str = "") -> None:
    """Thin lines between pixels, kept in data coordinates so that they follow the axes."""
    from matplotlib.lines import Line2D

    back = axes.transData.inverted()
    ends = np.stack([back.transform(begin), back.transform(end), np.full_like(end, np.nan)], axis=1)
    x, y = ends.reshape(-1, 2).T
    style = {"color": PALE, "linewidth": 0.35, "markersize": 1.5, "markevery": 3}
    axes.add_artist(Line2D(x, y, marker=marker, zorder=4 if marker else 0.5, **style))
