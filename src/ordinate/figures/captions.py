"""What stands below a figure: what was found, what marks mean, and what had no room."""

from typing import TYPE_CHECKING

import numpy as np

from ordinate.figures.blank import FONT_SIZE
from ordinate.figures.error_marks import marks, meaning
from ordinate.figures.panels import INK, MM, POINT, LeftOut, Scene, text_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGE = 1.2  # mm
LINE_SPACING = 1.3


def in_words(scene: Scene, caption: str, left_out: LeftOut, each: str = "") -> str:
    """The caption, and what the figure does not show."""
    missing = list(scene.not_shown)
    each = " of a panel" if scene.X.shape[1] > 2 else each
    upto = "up to " if each else ""
    kinds = ("labels", "pictures", f"{marks(scene.covariance)} in full")
    for what, count, total in zip(kinds, left_out, all_of(scene), strict=True):
        if count:
            missing.append(f"{upto}{count:,} of {total:,} {what}{each} (no room)")
    means = meaning(scene.covariance, scene.ellipses_hold, scene.doubt)
    note = f"Not shown: {', '.join(missing)}." if missing else ""
    return " ".join(part for part in (caption, means, note) if part)


def all_of(scene: Scene) -> LeftOut:
    """Count what could be left out."""
    named = sum(bool(label.strip()) for label in scene.labels or [])
    known = 0 if scene.covariance is None else np.isfinite(scene.covariance).all(axis=(1, 2)).sum()
    return LeftOut(named, len(scene.images), int(known))


def wrap(figure: "Figure", text: str, font_size: float, width: float) -> str:
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


class Caption:
    """A caption for a figure that is so many inches wide, which may have to say more once drawn.

    Attributes
    ----------
    height : float
        In inches; enough to say that nothing had room.
    """

    def __init__(
        self, figure: "Figure", scene: Scene, text: str, inches: float, each: str = ""
    ) -> None:
        self._figure, self._scene, self._text, self._inches = figure, scene, text, inches
        self._each = each
        lines = self._lines(all_of(scene)).count("\n") + 1
        self.height = LINE_SPACING * lines * FONT_SIZE * POINT + EDGE * MM

    def write(self, left_out: LeftOut) -> None:
        """Write it at the bottom of the figure, which has its size by now."""
        self._figure.text(
            EDGE * MM / self._inches,
            self.height / self._figure.get_figheight(),
            self._lines(left_out),
            size=FONT_SIZE,
            linespacing=LINE_SPACING,
            color=INK,
            va="top",
            parse_math=False,
        )

    def _lines(self, left_out: LeftOut) -> str:
        told = in_words(self._scene, self._text, left_out, self._each)
        return wrap(self._figure, told, FONT_SIZE, 72 * self._inches - 8)
