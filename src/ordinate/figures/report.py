"""One HTML file that shows a map and all that is known about it, offline."""

import base64
import hashlib
import html
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from ordinate._base.checks import check_length
from ordinate.evaluation.uncertainty import place_errors, standard_errors, sureness
from ordinate.figures.drawing import (
    COLOURS,
    GREY,
    MARKERS,
    OTHER,
    Column,
    check_map,
    match_images,
    read_column,
    thumbnail,
)
from ordinate.figures.error_marks import (
    REACH,
    WIDE,
    doubt_of,
    fill_of,
    helpful,
    read_covariance,
)
from ordinate.figures.fonts import printable
from ordinate.files.items import display_names

SCRIPTS = ("tools.js", "charts.js", "map.js", "labels.js", "controls.js", "page.js")
DIGITS = 5  # significant, of coordinates: a thousandth of a pixel
MOST_ELLIPSES = 2000  # items whose covariances go into the file, beside their errors
LEAST_CERTAIN = 5  # items that are named


def html_report(
    points: Any,
    labels: Any = None,
    *,
    title: str,
    names: Any = None,
    accuracy_per_item: Any = None,
    triplets_per_item: Any = None,
    images: Mapping | None = None,
    columns: Mapping[str, Any] | None = None,
    colour: str | None = None,
    participants: Iterable[Mapping[str, Any]] | None = None,
    history: Sequence[float] | None = None,
    summary: Iterable[tuple[str, str, str]] | None = None,
    problems: Iterable[tuple[str, str, str]] = (),
    facts: Mapping[str, Any] | None = None,
    held_out: Mapping[str, Any] | None = None,
    calibration: Mapping[str, Any] | None = None,
    ceiling: float | None = None,
    verdict: tuple[str, str, str] | None = None,
    covariance: Any = None,
    ellipses: bool | None = None,
) -> str:
    """Make a report: one HTML file with an interactive map that opens in any browser, offline.

    Parameters
    ----------
    points : array-like, shape (n, d), a fitted estimator or a bootstrap
        The map, used as given. Items whose rows hold NaN are listed, but not drawn.
    labels : sequence, shape (n,), optional
        By default the items of an estimator, or numbers from 0. A folder or an ending of picture
        files that all labels share is shown only beside an item's other properties.
    title : str
    names : sequence, shape (n,), optional
        What to call the items instead; see :func:`ordinate.files.items.display_names`.
    accuracy_per_item, triplets_per_item : array-like, shape (n,), optional
        Share of an item's triplets that the map gets right, NaN where unknown, and their number.
    images : mapping of label to path or array, optional
        Pictures of items, of which thumbnails go into the file.
    columns : mapping of str to sequences of shape (n,), optional
        Numbers or categories to colour items by, in a menu of the report.
    colour : str, optional
        The column that they are coloured by at first, or "accuracy" or "triplets"; by default the
        first of `columns` with numbers or at most twelve different words.
    participants : iterable of mappings, optional
        With keys ``participant``, ``triplets`` and ``accuracy``; ``lapse``, ``weight`` and
        ``verdict`` are shown where known.
    history : sequence of float, optional
        The loss after each iteration.
    summary : iterable of (name, value, note), optional
        What the data hold.
    problems : iterable of (severity, message, remedy)
        What is wrong with the data; the severity is "error", "warning" or "note".
    facts : mapping of str to str, optional
        How the map was made: settings, versions, seed, times, what was dropped and why.
    held_out : mapping, optional
        ``accuracy`` on triplets held out of the fit, ``n_triplets``, and any further text.
    calibration : mapping, optional
        What :class:`ordinate.metrics.Calibration` holds, of predictions of unseen answers, to draw
        a reliability curve: ``error``, and ``predicted``, ``observed`` and ``counts`` of each bin.
    ceiling : float, optional
        The accuracy that any map can reach at most, to show beside every accuracy.
    verdict : (severity, message, remedy), optional
        What a reader must know before seeing the map, in the form of a problem; shown at the top.
    covariance : array-like, shape (n, d, d), optional
        Of each item's coordinates, by default that of the estimator or bootstrap: ellipses of at
        most 2,000 items, standard errors, and a section about the least certain items.
    ellipses : bool, optional
        Whether the ellipses are seen at first; by default as in :func:`ordinate.plot_map`.

    Returns
    -------
    str
        The whole file. Every text is escaped; nothing in it is loaded from elsewhere.

    Examples
    --------
    >>> from ordinate import html_report
    >>> page = html_report([[0, 0], [1, 0], [0, 2]], ["cat", "lynx", "bus"], title="Three things")
    >>> page.splitlines()[0]
    '<!doctype html>'
    """
    X, own, _ = check_map(points, labels)
    n = len(X)
    own = [str(row) for row in range(n)] if own is None else own
    shown = display_names(own, names)[0]
    read = [read_column(name, values, n) for name, values in (columns or {}).items()]
    per_item = {"accuracy": accuracy_per_item, "triplets": triplets_per_item}
    C = read_covariance(points, covariance, X.shape, required=bool(ellipses))
    data: dict[str, Any] = {
        "labels": shown,
        "raw_labels": None if shown == own else own,
        "points": [[_rounded(value) for value in axis] for axis in _hide_unplaced(X).T],
        "accuracy": _numbers("accuracy_per_item", accuracy_per_item, n),
        "triplets": _numbers("triplets_per_item", triplets_per_item, n),
        "colour": _first_colour(colour, read, per_item),
        "columns": [_column(column) for column in read],
        "images": _pictures(match_images(images, own)),
        "participants": [_participant(person) for person in participants or ()],
        "history": [_number(value) for value in ([] if history is None else history)],
        "summary": [[str(part).strip() for part in line] for line in summary or ()],
        "problems": [[str(part) for part in problem] for problem in problems],
        "facts": [[str(name), str(value)] for name, value in (facts or {}).items()],
        "verdict": None if verdict is None else [str(part) for part in verdict],
        "held_out": None if held_out is None else _held_out(held_out),
        "calibration": None if calibration is None else _calibration(calibration),
        "ceiling": _number(ceiling),
        "sure": None if C is None else _sure(X, C, shown, doubt_of(points), ellipses),
        "palette": {"colours": COLOURS, "markers": MARKERS, "grey": GREY, "other": OTHER},
    }
    return _fill(title, data)


def _fill(title: str, data: dict[str, Any]) -> str:
    """Put title, data, style and script into the page, each at its one place."""
    from ordinate import __version__

    folder = files("ordinate.figures") / "page"
    code = "\n".join((folder / name).read_text("utf-8") for name in SCRIPTS)
    script = (
        '"use strict";\n(() => {\n'
        'const data = JSON.parse(document.getElementById("data").textContent);\n'
        f"{code}}})();\n"
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "title": html.escape(printable(str(title))),
        "version": html.escape(__version__),
        # The browser runs this one script and no other, whatever a label may hold.
        "script_hash": f"sha256-{digest}",
        "style": (folder / "style.css").read_text("utf-8"),
        "data": _json(data),
        "script": script,
    }
    first, *rest = (folder / "page.html").read_text("utf-8").split("{{")
    pieces = [first]
    for part in rest:  # split once, so that braces in the data are never taken for places
        name, after = part.split("}}", 1)
        pieces += [parts[name], after]
    # Lone surrogates, as in file names that are not UTF-8, cannot be written to a file.
    return "".join(pieces).encode("utf-8", "replace").decode("utf-8")


def _json(data: Any) -> str:
    """JSON that cannot end its script element: < > & occur only as escapes."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _hide_unplaced(X: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(X).all(axis=1, keepdims=True), X, np.nan)


def _number(value: Any) -> float | int | None:
    """A plain number; None for NaN, infinity and None."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(value)


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _numbers(name: str, values: Any, n: int) -> list[float | int | None] | None:
    if values is None:
        return None
    return [_number(value) for value in check_length(name, np.asarray(values, dtype=float), n)]


def _column(column: Column) -> dict[str, Any]:
    if column.numbers is not None:
        return {"name": column.name, "numbers": [_number(value) for value in column.numbers]}
    # The categories that share a colour come last, so that each item keeps its own word.
    named = column.names[:-1] if column.n_other else column.names
    names = [*named, *sorted({text for text in column.texts if text is not None} - set(named))]
    place = {text: code for code, text in enumerate(names)}
    codes = [-1 if text is None else place[text] for text in column.texts]
    return {"name": column.name, "codes": codes, "names": names, "n_named": len(named)}


def _first_colour(
    colour: str | None, columns: list[Column], per_item: Mapping[str, Any]
) -> str | None:
    """Return the column asked for, else the first that tells items apart by more than names."""
    known = [column.name for column in columns]
    known += [name for name, values in per_item.items() if values is not None]
    if colour is not None and colour not in known:
        raise ValueError(f"colour must be one of {known}; got {colour!r}")
    telling = (column.name for column in columns if not column.n_other)
    return next(telling, None) if colour is None else colour


def _participant(person: Mapping[str, Any]) -> dict[str, Any]:
    missing = {"participant", "triplets", "accuracy"} - set(person)
    if missing:
        raise ValueError(
            "each participant needs the keys participant, triplets and accuracy; "
            f"{sorted(missing)} missing in {dict(person)}"
        )
    known = [key for key in ("triplets", "accuracy", "lapse", "weight") if key in person]
    found = {"participant": str(person["participant"])}
    found |= {key: str(person[key]) for key in ("verdict",) if key in person}
    return found | {key: _number(person[key]) for key in known}


def _held_out(held_out: Mapping[str, Any]) -> dict[str, Any]:
    if "accuracy" not in held_out:
        raise ValueError(f"held_out needs the key accuracy; got {sorted(held_out)}")
    found = {key: _number(held_out[key]) for key in ("accuracy", "n_triplets") if key in held_out}
    more = [[str(key), str(value)] for key, value in held_out.items() if key not in found]
    return {**found, "more": more}


def _calibration(curve: Mapping[str, Any]) -> dict[str, Any]:
    missing = {"error", "predicted", "observed", "counts"} - set(curve)
    if missing:
        raise ValueError(
            "calibration needs the keys error, predicted, observed and counts; "
            f"{sorted(missing)} missing"
        )
    n = len(curve["predicted"])
    bins = {
        key: _numbers(f"calibration {key}", curve[key], n)
        for key in ("predicted", "observed", "counts")
    }
    return {"error": _number(curve["error"]), **bins}


def _sure(
    X: np.ndarray, C: np.ndarray, names: list[str], doubt: str | None, ellipses: bool | None
) -> dict[str, Any]:
    """How sure the map is: each item's errors, its covariance by columns, and a sentence."""
    n, d = X.shape
    told = sureness(X, C, names, LEAST_CERTAIN)
    drawn = n <= MOST_ELLIPSES
    trusted = doubt is None
    columns = [C[:, k, l] for k in range(d) for l in range(k, d)] if drawn else []
    return {
        "told": None if told is None else f"{str(told)[:1].upper()}{str(told)[1:]}.",
        "doubt": None if trusted else f"This is not to be trusted: {doubt}.",
        "size": 1.0 if told is None else told.size,
        "errors": [_rounded(error) for error in place_errors(C)],
        "by_dimension": [[_rounded(error) for error in axis] for axis in standard_errors(C).T],
        "covariance": [[_rounded(value) for value in column] for column in columns] or None,
        "ellipses": drawn and (trusted and helpful(n, d, None) if ellipses is None else ellipses),
        "reach": WIDE if d == 1 else REACH,
        "fill": fill_of(X[:, :2], C[:, :2, :2]) if drawn else 0.0,
    }


def _pictures(images: dict[int, Any]) -> dict[str, str]:
    """Thumbnails as data URLs, smaller where there are many."""
    side = 96 if len(images) <= 1000 else 48
    pictures = {}
    for row, image in images.items():
        file = io.BytesIO()
        thumbnail(image, side).save(file, "WEBP", quality=80)
        code = base64.b64encode(file.getvalue()).decode()
        pictures[str(row)] = f"data:image/webp;base64,{code}"
    return pictures
