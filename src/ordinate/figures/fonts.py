"""Text that can be drawn: nothing that files cannot hold, and fonts that have its characters."""

import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

# Characters that XML, and with it SVG, does not allow, and others without a shape. Space is left
# to those who wrap lines.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
# They have boxes or parts of formulas in place of letters.
NOT_FOR_TEXT = re.compile(r"Last Resort|cm[a-z]+10|STIXSize|STIXNonUnicode|DejaVu Sans Display")


def printable(text: str) -> str:
    r"""Return a text with ``\ufffd`` in place of control characters and halves of characters.

    Examples
    --------
    >>> printable("a\x07b\n$c_d") == "a\ufffdb\n$c_d"
    True
    """
    return UNPRINTABLE.sub("\ufffd", text)


def families_for(texts: Iterable[str]) -> tuple[list[str], set[str]]:
    """Return font families that can draw the texts, and characters that no installed font has.

    The families set in matplotlib come first; others are looked for only if these lack characters.
    """
    import matplotlib

    families = list(matplotlib.rcParams["font.family"])
    wanted = {c for c in set("".join(texts)) if not c.isascii() and _has_shape(c)}
    if not wanted:
        return families, set()
    missing = frozenset(wanted)
    for family in families:
        missing -= _drawn_by(_path_of(family), missing)
    # Each time the font that has most of what is still missing.
    fonts = _installed() if missing else {}
    while missing and fonts:
        found = {name: _drawn_by(path, missing) for name, path in fonts.items()}
        best = max(fonts, key=lambda name: len(found[name]))
        if not found[best]:
            break
        families.append(best)
        missing -= found[best]
    return families, set(missing)


@contextmanager
def no_glyph_warnings() -> Iterator[None]:
    """Keep matplotlib from telling of each character that its fonts lack, whenever it is drawn."""
    missing = r"Glyph \d+|Matplotlib currently does not support"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=missing)
        yield


def _has_shape(character: str) -> bool:
    """Joiners, selectors of variants and space need no font."""
    return unicodedata.category(character)[0] not in "CZ" and not "\ufe00" <= character <= "\ufe0f"


def _installed() -> dict[str, str]:
    """Paths of upright fonts of ordinary weight by family, matplotlib's own first."""
    from matplotlib.font_manager import fontManager

    fonts = sorted(
        (font.name != "DejaVu Sans", font.name, abs(_weight(font.weight) - 400), font.fname)
        for font in fontManager.ttflist
        if font.style == "normal" and not NOT_FOR_TEXT.match(font.name)
    )
    paths: dict[str, str] = {}
    for _, name, _, path in fonts:
        paths.setdefault(name, path)
    return paths


def _weight(weight: int | str) -> int:
    from matplotlib.font_manager import weight_dict

    return weight if isinstance(weight, int) else weight_dict.get(weight, 400)


def _path_of(family: str) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return str(findfont(FontProperties(family=[family])))


@lru_cache(maxsize=4096)
def _drawn_by(path: str, characters: frozenset[str]) -> frozenset[str]:
    """Return those of the characters that a font has."""
    from matplotlib.ft2font import FT2Font

    try:
        known = FT2Font(path).get_charmap()
    except (OSError, RuntimeError):  # no font that can be scaled, or a damaged one
        return frozenset()
    return frozenset(c for c in characters if ord(c) in known)
