"""What figures and the report share: checked input, colours by a column, thumbnails."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate._base.checks import check_length
from ordinate._base.messages import some
from ordinate.files.items import is_missing

# Okabe and Ito's colours, told apart by colour-blind eyes; their yellow is too pale on white.
# Beyond seven no colours are safe alone, so that markers differ too.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444"),
    *("#882255", "#999933", "#332288", "#A6761D", "#00A5A5"),
)
MARKERS = ("o", "s", "^", "D")
GREY, OTHER = "#B3B3B3", "#777777"  # missing; categories beyond those named
MOST_CATEGORIES = 12
WHITE = 240  # and brighter, of 255: compressed pictures are rarely quite white
# What pictures may be: Pillow opens more, some of them by running other programs.
PICTURE_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
LEAST_LEFT = 0.02  # of a picture whose background is taken away


@dataclass(frozen=True)
class Column:
    """A column to colour items by.

    Attributes
    ----------
    name : str
    numbers : ndarray of float or None
        The values of a numeric column; NaN where missing.
    codes : ndarray of int or None
        For categories, the place in `names` of each item; -1 where missing.
    names : list of str
        The categories shown, at most :data:`MOST_CATEGORIES`.
    n_missing : int
    n_other : int
        Categories that share the last of the names.
    texts : list of (str or None)
        For categories, what each item has; None where missing.
    """

    name: str
    numbers: np.ndarray | None
    codes: np.ndarray | None
    names: list[str]
    n_missing: int
    n_other: int = 0
    texts: Sequence[str | None] = ()


def read_column(name: str, values: Any, n: int) -> Column:
    """Tell numbers from categories; of many categories keep the commonest and call the rest other.

    Examples
    --------
    >>> read_column("kind", ["cat", "dog", None, "dog"], 4).names
    ['cat', 'dog']
    >>> read_column("age", [3, None, 5], 3).numbers.tolist()
    [3.0, nan, 5.0]
    """
    given = check_length(name, _plain(values), n)
    missing = np.array([is_missing(value) for value in given.tolist()], dtype=bool)
    present = given[~missing].tolist()
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in present):
        numbers = np.full(n, np.nan)
        numbers[~missing] = [_float(value) for value in present]
        numbers[~np.isfinite(numbers)] = np.nan
        return Column(name, numbers, None, [], int(np.isnan(numbers).sum()))
    texts = [None if gone else str(v) for v, gone in zip(given, missing, strict=True)]
    counts = Counter(text for text in texts if text is not None)
    n_other = 0
    if len(counts) > MOST_CATEGORIES:
        common = sorted(counts, key=lambda text: (-counts[text], text))[: MOST_CATEGORIES - 1]
        n_other = len(counts) - len(common)
        names = [*sorted(common, key=_natural), f"{n_other:,} others"]
    else:
        names = sorted(counts, key=_natural)
    place = {text: code for code, text in enumerate(names)}
    place |= {text: len(names) - 1 for text in counts if text not in place}
    codes = np.array([-1 if text is None else place[text] for text in texts])
    return Column(name, None, codes, names, int(missing.sum()), n_other, texts)


def check_map(points: Any, labels: Any) -> tuple[np.ndarray, list[str] | None, np.ndarray]:
    """Return coordinates, labels as text, and which items have a place (no NaN).

    ``points`` may be a fitted estimator or a bootstrap, which have both.
    """
    if hasattr(points, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(points, "embedding_")
        labels = getattr(points, "items_", None) if labels is None else labels
        points = points.embedding_
    elif hasattr(points, "embedding"):
        labels = points.items if labels is None else labels
        points = points.embedding
    X = np.asarray(points, dtype=float)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"points must be an (n, d) array; got shape {X.shape}")
    placed = np.isfinite(X).all(axis=1)
    if not placed.any():
        raise ValueError(f"none of the {len(X):,} points has a place: every row holds NaN")
    if labels is None:
        return X, None, placed
    names = [str(label) for label in _plain(labels)]
    if len(names) != len(X):
        raise ValueError(f"there must be one label per point: {len(X):,}, got {len(names):,}")
    return X, names, placed


def match_images(images: Mapping | None, labels: Sequence[str] | None) -> dict[int, Any]:
    """Return the picture of each item that has one, by row."""
    if not images:
        return {}
    if labels is None:
        raise ValueError("images are found by label: give labels too")
    by_text = {str(label): image for label, image in images.items()}
    found = {row: by_text[text] for row, text in enumerate(labels) if text in by_text}
    if not found:
        raise ValueError(
            f"no key of images is a label: the keys are {some(by_text, 3)}; the labels are "
            f"{some(labels, 3)}"
        )
    return found


def thumbnail(image: Any, side: int) -> Any:
    """Return a PIL picture at most `side` pixels wide and high, from a path or an array.

    Arrays are (height, width), grey, or (height, width, 3 or 4), of 0 to 255 or of floats from 0 to
    1; floats beyond 1 are stretched over their range.
    """
    from PIL import Image

    if isinstance(image, Image.Image):
        picture = image.copy()
    elif hasattr(image, "__array__") or isinstance(image, list):
        picture = Image.fromarray(_bytes(np.asarray(image)))
    else:
        with Image.open(image, formats=PICTURE_FORMATS) as opened:
            opened.draft("RGB", (side, side))
            picture = opened.convert("RGBA" if opened.mode in ("RGBA", "LA", "P") else "RGB")
    picture.thumbnail((side, side), Image.Resampling.LANCZOS)
    return picture


def clear_white(pixels: np.ndarray) -> np.ndarray:
    """Return a picture (height, width, 4) whose white background is clear.

    Only white that is joined to the border goes, so that white things inside stay; a picture of
    which next to nothing would be left stays as it is.
    """
    from scipy.ndimage import label

    white = (pixels[..., :3] >= WHITE).all(axis=2) | (pixels[..., 3] == 0)
    parts, _ = label(white)
    border = np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])
    background = white & np.isin(parts, np.unique(border[border > 0]))
    if background.mean() > 1 - LEAST_LEFT:
        return pixels
    cleared = pixels.copy()
    cleared[background, 3] = 0
    return cleared


def _float(value: float) -> float:
    """A number as a float; one that is too large for that is infinite."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _natural(text: str) -> list[tuple[int, str]]:
    """Sort "kind 2" before "kind 10"."""
    parts = re.split(r"([0-9]+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _bytes(array: np.ndarray) -> np.ndarray:
    grey_or_colour = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))
    if not grey_or_colour:
        raise ValueError(
            "an image must be an array (height, width) or (height, width, 3 or 4), or a path; "
            f"got shape {array.shape}"
        )
    if array.dtype.kind == "f":
        low, high = min(0.0, float(array.min())), max(1.0, float(array.max()))
        array = np.round(255 * (array - low) / (high - low))
    return np.clip(array, 0, 255).astype(np.uint8)


def _plain(values: Any) -> np.ndarray:
    """An array of Python's own values: no NumPy strings, None kept."""
    array = np.empty(len(values), dtype=object)
    array[:] = np.asarray(values, dtype=object).tolist()
    return array
