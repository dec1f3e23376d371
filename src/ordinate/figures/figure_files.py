"""Figures as files, whole or not at all: PNG, TIFF, SVG, PDF and EPS."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ordinate._base.checks import check_choice
from ordinate._base.writing import whole_file
from ordinate.figures.fonts import no_glyph_warnings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("eps", "pdf", "png", "svg", "tif", "tiff")
# Text stays text, in fonts that journals take.
TEXT = {"svg.fonttype": "none", "svg.hashsalt": "ordinate", "pdf.fonttype": 42, "ps.fonttype": 42}
# A date would make every file differ.
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save(figure: "Figure", path: str | Path, *, dpi: float = 300) -> Path:
    """Write a figure as PNG, TIFF, SVG, PDF or EPS, whole or not at all.

    Text stays text in SVG, PDF and EPS, and the same figure gives the same file. EPS has no
    transparency: whatever is transparent is mixed with the white of the paper.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or Path
        Its ending sets the format; its folder is made if there is none.
    dpi : float
        Dots per inch of PNG and TIFF, and of thumbnails.

    Returns
    -------
    Path
    """
    import matplotlib

    path = Path(path)
    kind = check_ending(path)
    with whole_file(path) as partial, matplotlib.rc_context(TEXT), no_glyph_warnings():
        if kind in ("tif", "tiff"):
            _save_tiff(figure, partial, dpi)
        elif kind == "eps":
            _save_eps(figure, partial, dpi)
        else:
            figure.savefig(partial, format=kind, dpi=dpi, metadata=UNDATED.get(kind, {}))
    return path


def check_ending(path: str | Path) -> str:
    """Return the format that a path asks for, in small letters."""
    kind = Path(path).suffix[1:].lower()
    check_choice("the ending of the path", kind, FORMATS)
    return kind


def _save_tiff(figure: "Figure", path: Path, dpi: float) -> None:
    """Write three colours without a layer of transparency, compressed, as journals ask for."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    with Image.open(drawn) as picture:
        picture.convert("RGB").save(path, "TIFF", compression="tiff_lzw", dpi=(dpi, dpi))


def _save_eps(figure: "Figure", path: Path, dpi: float) -> None:
    drawn = BytesIO()
    with _opaque(figure):
        figure.savefig(drawn, format="eps", dpi=dpi)
    lines = drawn.getvalue().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if not line.startswith(b"%%CreationDate")))


@contextmanager
def _opaque(figure: "Figure") -> Iterator[None]:
    """Mix markers and thumbnails with white for as long as this lasts."""
    from matplotlib.collections import PathCollection
    from matplotlib.offsetbox import OffsetImage

    with ExitStack() as after:
        for markers in figure.findobj(PathCollection):
            if hasattr(markers, "set_depthshade"):  # in space, what is far away is paler
                after.callback(markers.set_depthshade, markers._depthshade)
                after.callback(markers.set_alpha, markers.get_alpha())
                markers.set_depthshade(False)
                markers.set_alpha(1)
                continue
            colours = markers.get_facecolor()
            before = {"alpha": markers.get_alpha(), "facecolor": colours}
            after.callback(markers.set, edgecolor=markers.get_edgecolor(), **before)
            markers.set(alpha=None, facecolor=_on_white(colours), edgecolor="white")
        for thumbnail in figure.findobj(OffsetImage):
            pixels = thumbnail.get_data()
            after.callback(thumbnail.set_data, pixels)
            thumbnail.set_data(np.round(255 * _on_white(pixels / 255)).astype(np.uint8))
        yield


def _on_white(colours: np.ndarray) -> np.ndarray:
    """Mix colours (..., 4) with white by their last part."""
    alpha = colours[..., 3:]
    return alpha * colours[..., :3] + (1 - alpha)
