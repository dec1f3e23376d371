"""Draw docs/images/asking.png from what ``bench_asking.py errors`` and ``replay`` wrote.

``python benchmarks/asking_page.py ERRORS [REPLAY]``; the second figure is asking-replayed.png.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from bench_asking import MARKS, NOISES, SCALES, WAYS, _lines

from ordinate.figures.blank import FONT_SIZE, blank_figure
from ordinate.figures.drawing import COLOURS
from ordinate.figures.figure_files import save

IMAGES = Path(__file__).parent.parent / "docs" / "images"
NAMES = {"random": "at random", "active": "chosen", "salmon": "salmon's rule"}
N_ITEMS = 60  # of the maps that are drawn


def panel(axes, title: str, curves: dict[str, list[list[float]]], marks) -> None:
    """Draw the mean of each way of asking against the number of answers."""
    for colour, way in zip(COLOURS, WAYS, strict=False):
        if curves.get(way):
            n_shared = min(map(len, curves[way]))
            mean = np.mean([curve[:n_shared] for curve in curves[way]], axis=0)
            axes.plot(marks[:n_shared], mean, color=colour, marker="o", ms=2, label=NAMES[way])
    axes.set_xscale("log")
    axes.set_xticks([3, 10, 40], ["3", "10", "40"])
    axes.set_xticks([], minor=True)
    axes.set_title(title, size=FONT_SIZE)
    axes.spines[["top", "right"]].set_visible(False)


def draw(lines: list[dict], key: str, titles, y_label: str, path: Path, log: bool) -> None:
    """Draw a panel for each cell, in the order of their first lines."""
    cells: dict[tuple, dict[str, list]] = {}
    for line in lines:
        curves = cells.setdefault(tuple(line["cell"][:-1]), {})
        for way, curve in line[key].items():
            curves.setdefault(way, []).append(curve)
    shown = [cell for cell in titles if cell in cells]
    n_rows = -(-len(shown) // 5)
    n_columns = -(-len(shown) // n_rows)
    with blank_figure(45.0 * n_columns, 45.0 * n_rows) as figure:
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=log)
        for axes in panels.flat[len(shown) :]:
            axes.set_visible(False)
        for axes, cell in zip(panels.flat, shown, strict=False):
            panel(axes, titles[cell], cells[cell], lines[0].get("marks", MARKS))
            if log:
                axes.set_yscale("log")
                axes.set_yticks([0.01, 0.03, 0.1, 0.3, 1], ["0.01", "0.03", "0.1", "0.3", "1"])
                axes.set_yticks([], minor=True)
        panels[0, 0].legend(frameon=False, fontsize=FONT_SIZE - 1)
        figure.supxlabel("answers per coordinate", size=FONT_SIZE)
        figure.supylabel(y_label, size=FONT_SIZE)
    save(figure, path, dpi=150)


def main(errors: str, replayed: str | None = None) -> None:
    """Draw both figures."""
    titles = {
        (N_ITEMS, d, clearness, noise): f"d = {d}, {clearness}\n{NOISES[noise]}"
        for clearness, d, noise in product(SCALES, (2, 5), NOISES)
    }
    lines = _lines(errors)
    draw(lines, "errors", titles, "error of the map", IMAGES / "asking.png", log=True)
    if replayed is not None:
        lines = _lines(replayed)
        titles = {tuple(line["cell"][:2]): "{}, d = {}".format(*line["cell"]) for line in lines}
        path = IMAGES / "asking-replayed.png"
        draw(lines, "accuracies", titles, "accuracy on unseen answers", path, log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
