"""How sure a map is, drawn: ellipses around items of a plane, bars on a line."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from ordinate.evaluation.uncertainty import LEVEL, ellipses, standard_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 300  # items whose ellipses are drawn unasked: more of them hide each other
MOST_DIMENSIONS = 2  # of a map whose ellipses are drawn unasked
TRUE_PLACES = "the true places"  # what ellipses hold
WIDEST = 0.2  # share of the map that the marks of outermost items may add to it on each side
FILL, EDGE = 0.12, 0.40  # opacity
FEW = 3  # ellipses over each other that are filled no paler
WIDE = float(np.sqrt(chdtri(1, 1 - LEVEL)))  # standard errors on either side of an interval
REACH = float(np.sqrt(chdtri(2, 1 - LEVEL)))  # and from the centre of an ellipse to its rim


def helpful(n: int, d: int, source: Any) -> bool:
    """Whether ellipses help to read a map of so many items and dimensions, and can be trusted."""
    return are_few(n, d) and doubt_of(source) is None


def are_few(n: int, d: int) -> bool:
    """Whether a map has few enough items and dimensions for ellipses that were not asked for."""
    return n <= MOST and d <= MOST_DIMENSIONS


def doubt_of(source: Any) -> str | None:
    """Why the covariances of what a map came from are not to be trusted; None if they are."""
    return getattr(source, "covariance_doubt_", None)


def find_covariance(
    source: Any, covariance: Any, shape: tuple[int, int], ellipses: bool | None
) -> np.ndarray | None:
    """Return the covariances (n, d, d) by which a map's ellipses are drawn; None for none.

    ``source`` is what the map came from: where none are given, a fitted model or a bootstrap has
    them. Ellipses that were asked for must be there.
    """
    if ellipses is False or (ellipses is None and not helpful(*shape, source)):
        return None
    return read_covariance(source, covariance, shape, required=bool(ellipses))


def read_covariance(
    source: Any, covariance: Any, shape: tuple[int, int], *, required: bool = False
) -> np.ndarray | None:
    """Return the covariances that were given, or those of what the map came from, if it has any."""
    if covariance is None and hasattr(source, "_uncertain_map"):
        try:
            covariance = source._uncertain_map()[1]
        except AttributeError:
            if required:
                raise
    if covariance is None:
        if required:
            raise ValueError(
                "ellipses need the covariance of each item's coordinates: give a fitted model of "
                "STE or another likelihood, a bootstrap, or covariance=..., an (n, d, d) array"
            )
        return None
    n, d = shape
    C = np.asarray(covariance, dtype=float)
    if C.shape != (n, d, d):
        raise ValueError(f"covariance must be of shape {(n, d, d)}; got {C.shape}")
    return C


def extent(
    points: np.ndarray, covariance: np.ndarray | None, dims: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest coordinates of a map with its marks, as far as these have room."""
    xy = points[:, dims]
    low, high = xy.min(axis=0), xy.max(axis=0)
    if covariance is None:
        return low, high
    errors = np.nan_to_num(standard_errors(covariance)[:, dims], posinf=0.0)
    reach = (REACH if len(dims) > 1 else WIDE) * errors
    most = WIDEST * (high - low)
    return (
        np.maximum((xy - reach).min(axis=0), low - most),
        np.minimum((xy + reach).max(axis=0), high + most),
    )


def n_beyond(points: np.ndarray, covariance: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """Count the marks of a panel that reach beyond what it shows, from low to high."""
    reach = (REACH if points.shape[1] > 1 else WIDE) * standard_errors(covariance)
    return int(((points - reach < low) | (points + reach > high)).any(axis=1).sum())


def marks(covariance: np.ndarray | None) -> str:
    """What the marks are called."""
    return "bars" if covariance is not None and covariance.shape[1] == 1 else "ellipses"


def meaning(
    covariance: np.ndarray | None, hold: str = TRUE_PLACES, doubt: str | None = None
) -> str:
    """Say what the marks are, for a caption; nothing where there are none."""
    if covariance is None:
        return ""
    told = f"{marks(covariance).capitalize()} hold {hold}, each with {LEVEL:.0%} confidence."
    return told if doubt is None else f"{told} That is not to be trusted: {doubt}."


def fill_of(points: np.ndarray, covariance: np.ndarray) -> float:
    """Opacity of ellipses: the less, the more of them lie over each other."""
    known = np.flatnonzero(np.isfinite(covariance).all(axis=(1, 2)))[:5000]
    X, C = points[known], covariance[known]
    sample = X[:: max(1, len(X) // MOST)]
    away = sample[:, None] - X
    within = np.einsum("sik,ikl,sil->si", away, np.linalg.pinv(C), away) <= REACH**2
    crowd = np.quantile(within.sum(axis=1), 0.9) if len(X) else 1.0
    return float(FILL * min(1.0, FEW / max(crowd, 1.0)))


def add_ellipses(axes: "Axes", xy: np.ndarray, covariance: np.ndarray, **style: Any) -> None:
    """Add ellipses to a panel, which stays as wide as it is, in a style of matplotlib."""
    from matplotlib.collections import EllipseCollection

    known = np.isfinite(covariance).all(axis=(1, 2))
    found = ellipses(covariance[known], LEVEL)
    axes.add_collection(
        EllipseCollection(
            *2 * found.axes.T,
            found.angle,
            units="xy",
            offsets=xy[known],
            offset_transform=axes.transData,
            **style,
        ),
        autolim=False,
    )


def draw_ellipses(
    axes: "Axes",
    xy: np.ndarray,
    covariance: np.ndarray,
    styles: list[tuple[np.ndarray, Any, str]],
) -> None:
    """Draw the ellipse of each item in its colour, pale enough to be seen through."""
    from matplotlib.colors import to_rgba_array

    known, opacity = np.isfinite(covariance).all(axis=(1, 2)), fill_of(xy, covariance)
    for rows, colour, _ in styles:
        colours = np.broadcast_to(to_rgba_array(colour), (len(rows), 4))[known[rows]]
        shown, fill, edge = rows[known[rows]], colours.copy(), colours.copy()
        if not len(shown):
            continue
        fill[:, 3], edge[:, 3] = opacity, EDGE
        style = {"facecolors": fill, "edgecolors": edge, "linewidths": 0.4, "zorder": 0.3}
        add_ellipses(axes, xy[shown], covariance[shown], **style)


def draw_bars(
    axes: "Axes", x: np.ndarray, reach: np.ndarray, styles: list[tuple[np.ndarray, Any, str]]
) -> None:
    """Draw the interval of each item on a line, with an upright stroke at each end."""
    for rows, colour, _ in styles:
        shown = rows[np.isfinite(reach[rows])]
        colours = colour if isinstance(colour, str) else colour[np.isfinite(reach[rows])]
        left, right = x[shown] - reach[shown], x[shown] + reach[shown]
        axes.hlines(0 * left, left, right, colors=colours, linewidths=2.2, alpha=0.25, zorder=0.45)
        for end in (left, right):
            axes.vlines(end, -2, 2, colors=colours, linewidths=0.5, alpha=0.6, zorder=0.45)
