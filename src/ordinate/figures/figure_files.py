"""Figures as files, whole or not at all: PNG, TIFF, SVG, PDF and EPS."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate._base.checks import check_choice
from ordinate._base.writing import whole_file
from ordinate.figures.fonts import no_glyph_warnings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("eps", "pdf", "png", "svg", "tif", "tiff")
# Text stays text, in fonts that journals take.
TEXT = {"svg.fonttype": "none", "svg.hashsalt": "ordinate", "pdf.fonttype": 42, "ps.fonttype": 42}
HOW: dict[str, dict[str, Any]] = {
    "png": {"pil_kwargs": {"compress_level": 3}},  # a third faster than 6, and larger by 1 %
    # A date would make every file differ.
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}


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
    with matplotlib.rc_context(TEXT), no_glyph_warnings():
        if kind in ("tif", "tiff"):
            drawn = _tiff(figure, dpi)
        elif kind == "eps":
            drawn = _eps(figure, dpi)
        else:
            drawn = _drawn(figure, kind, dpi)
    # Not written by those who draw: some hide what a full disk says behind an error of their own.
    with whole_file(path) as partial:
        partial.write_bytes(drawn)
    return path


def save_both(figure: "Figure", path: Path) -> None:
    """Write a figure as PNG, and as SVG beside it."""
    save(figure, path)
    save(figure, path.with_suffix(".svg"))


def check_ending(path: str | Path) -> str:
    """Return the format that a path asks for, in small letters."""
    kind = Path(path).suffix[1:].lower()
    check_choice("the ending of the path", kind, FORMATS)
    return kind


def _drawn(figure: "Figure", kind: str, dpi: float) -> bytes:
    file = BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, **HOW.get(kind, {}))
    return file.getvalue()


def _tiff(figure: "Figure", dpi: float) -> bytes:
    """Three colours without a layer of transparency, compressed, as journals ask for."""
    from PIL import Image

    file = BytesIO()
    with Image.open(BytesIO(_drawn(figure, "png", dpi))) as picture:
        picture.convert("RGB").save(file, "TIFF", compression="tiff_lzw", dpi=(dpi, dpi))
    return file.getvalue()


def _eps(figure: "Figure", dpi: float) -> bytes:
    with _opaque(figure):
        lines = _drawn(figure, "eps", dpi).splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"%%CreationDate"))


@contextmanager
def _opaque(figure: "Figure") -> Iterator[None]:
    """Mix markers and thumbnails with white for as long as this lasts; ellipses are not filled."""
    from matplotlib.collections import EllipseCollection, LineCollection, PathCollection
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
        for ellipses in figure.findobj(EllipseCollection):
            fill, edge = ellipses.get_facecolor(), ellipses.get_edgecolor()
            after.callback(ellipses.set, facecolor=fill, edgecolor=edge)
            ellipses.set(facecolor="none", edgecolor=_on_white(edge))
        for bars in figure.findobj(LineCollection):
            colours = bars.get_color()
            after.callback(bars.set, color=colours, alpha=bars.get_alpha())
            bars.set(alpha=None, color=_on_white(colours))
        for thumbnail in figure.findobj(OffsetImage):
            pixels = thumbnail.get_data()
            after.callback(thumbnail.set_data, pixels)
            thumbnail.set_data(np.round(255 * _on_white(pixels / 255)).astype(np.uint8))
        yield


def _on_white(colours: np.ndarray) -> np.ndarray:
    """Mix colours (..., 4) with white by their last part."""
    alpha = colours[..., 3:]
    return alpha * colours[..., :3] + (1 - alpha)
