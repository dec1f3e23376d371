"""Maps of groups beside each other, each laid onto the common one."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.evaluation.comparison import lay_onto
from ordinate.evaluation.groups import Group, Groups
from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.captions import EDGE, Caption, wrap
from ordinate.figures.drawing import GREY, Column
from ordinate.figures.fonts import printable
from ordinate.figures.line_rows import plot_rows
from ordinate.figures.panels import MM, POINT, LeftOut, Scene, draw_panel
from ordinate.figures.plotting import height_of_panel, shorten
from ordinate.files.items import display_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 180.0  # mm
MOST_GROUPS = 15  # that are drawn, the largest first
LONGEST_NAME = 36  # characters of a group's
MOST_NAMED = 300  # items whose names are written into small maps, where there is room


def plot_groups(found: Groups, *, labels: Any = None) -> "Figure":
    """Draw the map of each group, laid onto the common one.

    Grey dots are the common map, lines lead from there to the group's own place of an item. Of
    more than two dimensions the first two are shown, of many groups the largest. Maps of one
    dimension are rows under each other.

    Parameters
    ----------
    found : Groups
    labels : sequence of str, shape (n,), optional
        By default the items of the common map, as :func:`ordinate.plot_map` calls them.

    Returns
    -------
    matplotlib.figure.Figure
    """
    shown = sorted(found.groups, key=lambda group: -len(group.rows))[:MOST_GROUPS]
    common = found.common.embedding_
    here = np.isfinite(common).all(axis=1)
    called = labels or display_names(found.common.items_.tolist())[0]
    names = np.array([str(name) for name in called], object)[here]
    maps = [_laid_onto(group.model.embedding_, common)[here] for group in shown]
    common = common[here] - common[here].mean(axis=0)
    titles = [f"{_cut(str(group.name))}: {group.n_answers:,} answers" for group in shown]
    d = common.shape[1]
    grey = ", in grey," if d > 1 else ""
    caption = (
        f"{found.sentence}. Lines lead from an item's place on the common map{grey} "
        "to its place by a group's own answers, laid onto that map."
    )
    missing = _not_shown(found, shown, common.shape)
    if d == 1:
        rows = [(title, points[:, 0]) for title, points in zip(titles, maps, strict=True)]
        together = [("all answers", common[:, 0]), *rows]
        return plot_rows(names.tolist(), together, caption=caption, width=WIDTH, not_shown=missing)
    return _small_multiples(names.tolist(), common[:, :2], titles, maps, caption, missing)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1].rstrip()}…"


def _not_shown(found: Groups, shown: list[Group], shape: tuple[int, ...]) -> list[str]:
    """Groups, dimensions and labels that the caption must name as not shown."""
    (n, d), left_out = shape, len(found.groups) - len(shown)
    missing = [f"{left_out:,} smaller group{'s' * (left_out > 1)}"] if left_out else []
    if d > 2:
        missing.append("dimension 3" if d == 3 else f"dimensions 3 to {d}")
    if n > MOST_NAMED and d > 1:
        missing.append(f"the labels of {n:,} items")
    return missing


def _laid_onto(points: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Lay a group's map onto the common one, centred, by the items that both place."""
    both = np.isfinite(points).all(axis=1) & np.isfinite(common).all(axis=1)
    middle = np.nanmean(common, axis=0)
    laid = np.full_like(points, np.nan)
    laid[both] = lay_onto(common[both] - middle, points[both]).points
    return laid


def _small_multiples(
    names: list[str],
    common: np.ndarray,
    titles: list[str],
    maps: list[np.ndarray],
    caption: str,
    missing: list[str],
) -> "Figure":
    """A panel for each group, all of the same scale."""
    columns = min(3, len(maps))
    n_rows = -(-len(maps) // columns)
    everywhere = np.concatenate([common, *(points[:, :2] for points in maps)])
    scenes = [_scene(names, common, points[:, :2], everywhere) for points in maps]
    scenes[0].not_shown += missing
    with blank_figure(WIDTH, WIDTH, [*names, *titles, caption], layout=None) as figure:
        inches, edge = WIDTH * MM, EDGE * MM
        wide = (inches - (columns + 1) * edge) / columns
        heads = [wrap(figure, printable(title), FONT_SIZE, wide / POINT) for title in titles]
        high = height_of_panel(figure, scenes[0], wide)
        head = 1.3 * max(text.count("\n") + 1 for text in heads) * FONT_SIZE * POINT
        below = Caption(figure, scenes[0], caption, inches, each=" of a panel")
        height = n_rows * (head + high + edge) + below.height + edge
        figure.set_size_inches(inches, height)
        left_out = LeftOut()
        for place, (scene, title) in enumerate(zip(scenes, heads, strict=True)):
            row, column = divmod(place, columns)
            left = edge + column * (wide + edge)
            bottom = height - (row + 1) * (head + high + edge)
            box = (left / inches, bottom / height, wide / inches, high / height)
            left_out = LeftOut(*map(max, left_out, draw_panel(figure, scene, (0, 1), box)))
            _add_lines(figure.axes[-1], scene)
            figure.axes[-1].set_title(title, size=FONT_SIZE, pad=2, parse_math=False)
        below.write(left_out)
    return figure


def _scene(names: list[str], common: np.ndarray, own: np.ndarray, everywhere: np.ndarray) -> Scene:
    """A group's items, and behind them those of the common map, in grey and without labels."""
    placed = np.isfinite(own).all(axis=1)
    n = int(placed.sum())
    called = [shorten(printable(name)) for name, here in zip(names, placed, strict=True) if here]
    return Scene(
        X=np.concatenate([own[placed], common[placed]]),
        labels=[*called, *[""] * n] if len(names) <= MOST_NAMED else None,
        images={},
        column=Column("", None, np.repeat([0, -1], n), ["own"], 0),
        font_size=FONT_SIZE - 2,
        radius=float(np.clip(18 / n**0.5, 0.8, 1.5)),
        around=everywhere,
    )


def _add_lines(axes: Any, scene: Scene) -> None:
    from matplotlib.collections import LineCollection

    ends = np.stack(np.split(scene.X, 2)[::-1], axis=1)
    lines = LineCollection(list(ends), colors=GREY, linewidths=0.4, zorder=0.5)
    axes.add_collection(lines, autolim=False)
