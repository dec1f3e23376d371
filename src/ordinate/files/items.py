"""What is known about items beside the map: columns of a file, and the names to show."""

import csv
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ordinate._base.endings import PICTURES
from ordinate._base.messages import counted, some
from ordinate._base.writing import MARK
from ordinate.files.formats.cells import MISSING, WHOLE, normal
from ordinate.files.formats.files import load
from ordinate.files.maps import MAP, map_in, read_map
from ordinate.files.readers import ReadError

# Of stimuli that labels may name; any other ending may be part of a name, as in "v1.0".
MEDIA = (
    *PICTURES,
    *(".svg", ".wav", ".mp3", ".ogg", ".flac", ".mp4", ".webm", ".mov", ".avi", ".obj", ".stl"),
)
# Names of the column of labels, where several columns could be it.
LABEL = ("label", "id", "item", "item_id", "stimulus", "stimulus_id", "object", "image")
NAMED = (*LABEL, "labels", "items", "name", "names", "word", "file", "filename", "stimuli")


class ItemColumns(NamedTuple):
    """Columns of a file about items, in the order of the labels; what was found by content."""

    columns: dict[str, list]
    notes: list[str]


def read_items(
    path: str | os.PathLike, labels: Sequence[Any], *, table: str | None = None
) -> ItemColumns:
    r"""Read a file about items, one row each, in any format that readers know.

    The column of labels is `label`, or else the one column that holds all labels.

    Parameters
    ----------
    path : str or path
    labels : sequence
        Labels of the items wanted. The file may hold more.
    table : str, optional
        Which sheet or variable, in a file of several.

    Returns
    -------
    ItemColumns

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cars.csv"
    >>> _ = path.write_text("car,name,doors\n1,Fiat Panda,5\n2,Smart,3\n")
    >>> read_items(path, [2, 1])
    ItemColumns(columns={'name': ['Smart', 'Fiat Panda'], 'doors': [3, 5]},
    notes=["items are found by column 'car', which holds all labels"])
    """
    wanted = [str(label) for label in labels]
    # Files about stimuli often leave out the folder that answers name.
    names = [label.replace("\\", "/").rpartition("/")[2] for label in wanted]
    given = load(path, table)
    # A first line that names an item is no header.
    bare = given.undecided and bool({*map(_as_label, given.header or [])} & {*wanted, *names})
    rows = given.bare() if bare else given.named()
    header = _header(rows.path, rows.header or [""] * rows.data.num_columns)
    words = [[str(word) for word in rows.words(column)] for column in rows.data.columns]
    known = {_as_label(word) for column in words for word in column}
    by_name = len({*names}) == len(names) and not known & {*wanted} and bool(known & {*names})
    if by_name:
        wanted = names
    place, notes = _label_column(rows.path, header, words, wanted)
    if by_name:
        notes.append("labels are found without their folders")
    row_of = {_as_label(word): row for row, word in enumerate(words[place])}
    order = [row_of[label] for label in wanted]
    columns = {
        name: [values[row] for row in order]
        for k, (name, values) in enumerate(zip(header, map(_typed, words), strict=True))
        if k != place
    }
    return ItemColumns(columns, rows.notes + notes)


def read_labels(path: str | os.PathLike) -> list[str]:
    r"""Read the labels of items: a column of a file, or what is in a folder.

    Of a folder that holds a map these are its items, else its pictures and sounds. The column is
    the first whose name tells that it holds labels, or else the only one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "items.csv"
    >>> _ = path.write_text("label,price\ncat,3\ndog,5\nant,1\n")
    >>> read_labels(path)
    ['cat', 'dog', 'ant']
    """
    if os.path.isdir(path):
        inside = map_in(Path(path))
        if inside.exists():
            return _labels_of_map(inside)
        if os.path.exists(os.path.join(path, MARK)):
            raise ReadError(
                f"{path} was written by ordinate, and holds no map ({MAP}): name a file of labels, "
                "a folder of pictures, or one that fit wrote"
            )
        names = sorted(name for name in os.listdir(path) if name.lower().endswith(MEDIA))
        if not names:
            raise ReadError(f"{path} holds no pictures and no sounds")
        return names
    words = _single_column(path)
    if words is None:
        words = _column_of_labels(path)
    empty = [row for row, word in enumerate(words, start=1) if not word]
    if empty:
        raise ReadError(f"{path}: items without a label, in row {some(empty)}")
    twice = sorted(word for word, times in Counter(words).items() if times > 1)
    if twice:
        raise ReadError(f"{path}: labels occur more than once: {some(twice)}")
    return words


def _labels_of_map(path: Path) -> list[str]:
    try:
        return read_map(path).labels
    except ValueError as error:
        raise ReadError(str(error)) from None


def _single_column(path: str | os.PathLike) -> list[str] | None:
    """Return the lines of text without separators, less a line that names them; or None."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error):  # for those who read files of any kind to tell
        return None
    if not rows or any(len(row) > 1 or {*row[0]} & {*"\t;|\0"} for row in rows):
        return None
    words = [row[0].strip() for row in rows]
    return words[1:] if normal(words[0]) in NAMED else words


def _column_of_labels(path: str | os.PathLike) -> list[str]:
    given = load(path)
    named = [k for k, name in enumerate(given.header or []) if normal(name) in NAMED]
    rows = given.named() if named or not given.undecided else given.bare()
    if not named and rows.data.num_columns > 1:
        raise ReadError(
            f"{rows.path}: no column is called {', '.join(NAMED)}: call the one that holds the "
            "labels 'label', in a first line that names the columns"
        )
    return [str(word) for word in rows.words(rows.data.column(named[0] if named else 0))]


def _header(path: str, names: list[str]) -> list[str]:
    """Give columns without a name one, and refuse one name for two."""
    header = [name.strip() or f"column {k}" for k, name in enumerate(names, start=1)]
    twice = sorted(name for name, times in Counter(header).items() if times > 1)
    if twice:
        raise ReadError(f"{path} has more than one column {', '.join(twice)}: rename or remove one")
    return header


def _label_column(
    path: str, header: list[str], words: list[list[str]], labels: list[str]
) -> tuple[int, list[str]]:
    """Return the place of the column of labels, and a note where content told it."""
    found = [Counter(map(_as_label, column)) for column in words]
    missing = [[label for label in labels if label not in counts] for counts in found]
    whole = [k for k in range(len(header)) if not missing[k]]
    sound = [k for k in whole if all(found[k][label] == 1 for label in labels)]
    named = sorted(
        (k for k in range(len(header)) if normal(header[k]) in LABEL),
        key=lambda k: LABEL.index(normal(header[k])),
    )
    if len(sound) > 1:
        sound = [k for k in named if k in sound][:1]
    if len(sound) == 1:
        told = normal(header[sound[0]]) == "label"
        note = f"items are found by column {header[sound[0]]!r}, which holds all labels"
        return sound[0], [] if told else [note]
    if len(whole) > 1:
        raise ReadError(
            f"{path}: the columns {[header[k] for k in whole]} could all be the labels; call the "
            "one that is 'label'"
        )
    if whole:
        twice = [label for label in labels if found[whole[0]][label] > 1]
        raise ReadError(
            f"{path}: these labels occur more than once in column {header[whole[0]]!r}: "
            f"{some(twice)}"
        )
    nearest = min(range(len(header)), key=lambda k: len(missing[k]))
    best = named[0] if named and len(missing[nearest]) == len(labels) else nearest
    if len(missing[best]) == len(labels):
        raise ReadError(
            f"{path}: no column holds the labels ({some(labels, 3)}); the columns are "
            f"{some(header)}"
        )
    raise ReadError(
        f"{path} lacks {counted(len(missing[best]), 'item')}, not found in its column "
        f"{header[best]!r}: {some(missing[best])}"
    )


def _as_label(word: str) -> str:
    whole = WHOLE.fullmatch(word.strip())
    return whole[1] if whole else word.strip()


def _typed(words: list[str]) -> list:
    """Return words as numbers where all are, None where empty."""
    present = [word for word in words if word.lower() not in MISSING]
    if present and all(WHOLE.fullmatch(word) for word in present):
        return [int(_as_label(word)) if word.lower() not in MISSING else None for word in words]
    try:
        return [float(word) if word.lower() not in MISSING else None for word in words]
    except ValueError:
        return [word or None for word in words]


def display_names(
    labels: Sequence[Any], names: Sequence[Any] | None = None
) -> tuple[list[str], list[str]]:
    """Return what figures call the items, distinct as labels are, and notes on what was amiss.

    If there are no names, these are the labels, without a folder and an ending that all share. An
    item without a name keeps its label; items that share a name get it in brackets.

    Examples
    --------
    >>> display_names(["1", "2", "3", "4"], ["bread", "soup", "bread", None])
    (['bread (1)', 'soup', 'bread (3)', '4'],
    ['1 item has no name, and the label is shown: 4',
    '2 items share a name, and have their label in brackets: bread'])
    >>> display_names(["stimuli/cat_01.jpg", "stimuli/dog_02.jpg"])[0]
    ['cat_01', 'dog_02']
    """
    own = [str(label) for label in labels]
    if names is None:
        return short_labels(own), []
    if len(names) != len(own):
        raise ValueError(f"there must be one name per item: {len(own):,}, got {len(names):,}")
    given = ["" if is_missing(name) else str(name).strip() for name in names]
    notes = []
    nameless = [label for label, name in zip(own, given, strict=True) if not name]
    if nameless:
        notes.append(
            f"{counted(len(nameless), 'item has', 'items have')} no name, and the label is shown: "
            f"{some(nameless, 5)}"
        )
    shown = [name or label for label, name in zip(own, given, strict=True)]
    counts = Counter(shown)
    shared = [name for name, count in counts.items() if count > 1]
    if shared:
        n_shared = sum(counts[name] for name in shared)
        notes.append(
            f"{n_shared:,} items share a name, and have their label in brackets: {some(shared, 5)}"
        )
        shown = [
            f"{name} ({label})" if counts[name] > 1 else name
            for label, name in zip(own, shown, strict=True)
        ]
    if len(set(shown)) < len(set(own)):
        return own, ["names cannot be told apart, even with labels; labels are shown"]
    return shown, notes


def short_labels(labels: Sequence[str]) -> list[str]:
    """Leave out a folder, and an ending of picture or sound files, that all labels share.

    Labels that differ still do, and none becomes empty; otherwise they stay as they are.

    Examples
    --------
    >>> short_labels(["set1/cat_01.jpg", "set1/cat_02.jpg"])
    ['cat_01', 'cat_02']
    >>> short_labels(["set1/cat.jpg", "set2/cat.png"])
    ['set1/cat.jpg', 'set2/cat.png']
    """
    if not labels:
        return []
    first, last = min(labels), max(labels)  # what these share, all share
    common = next((k for k, sign in enumerate(first) if sign != last[k]), len(first))
    folder = max(first.rfind(separator, 0, common) for separator in "/\\") + 1
    ends = {os.path.splitext(label[folder:])[1] for label in labels}
    ending = ends.pop() if len(ends) == 1 else ""
    if ending.lower() not in MEDIA:
        ending = ""
    short = [label[folder : len(label) - len(ending)] for label in labels]
    return short if all(short) else list(labels)


def is_missing(value: Any) -> bool:
    """Tell whether a cell holds nothing: blank text, None, NaN or pandas' NA."""
    if isinstance(value, str):
        return not value.strip()
    # pandas' NA refuses to be compared; NaN differs from itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
