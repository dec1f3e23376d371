"""Labels: from the names people give items to the ids ``0..n-1`` used inside, and back."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from ordinate._base.checks import check_integers, refuse_masked


def encode(
    columns: Mapping[str, Any], labels: Iterable[Hashable] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Give every label an id.

    Parameters
    ----------
    columns : mapping of name to column
        Columns of equal length holding hashable labels: lists, NumPy arrays, pandas or polars
        series, Arrow arrays. The names are for messages.
    labels : iterable of hashable, optional
        All labels in the order of their ids. By default the labels that occur, sorted; in order of
        first appearance where they cannot be sorted.

    Returns
    -------
    codes : ndarray of int32, shape (n_rows, n_columns)
    labels : ndarray, shape (n_labels,)

    Examples
    --------
    >>> codes, labels = encode({"first": ["b", "a"], "second": ["a", "c"]})
    >>> codes.tolist(), labels.tolist()
    ([[1, 0], [0, 2]], ['a', 'b', 'c'])
    """
    columns = {name: _as_column(name, column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must have equal lengths; got {lengths}")
    distinct = {name: _distinct(name, column) for name, column in columns.items()}
    if labels is None:
        all_labels = sorted_labels([values for values, _ in distinct.values()])
    else:
        all_labels = label_array(labels)
    id_of = {label: i for i, label in enumerate(all_labels.tolist())}
    codes = np.empty((next(iter(lengths.values())), len(columns)), np.int32)
    for k, (name, (values, indices)) in enumerate(distinct.items()):
        ids = np.array([id_of.get(value, -1) for value in values], np.int32)
        codes[:, k] = ids[indices]
        if (ids < 0).any():
            unknown = codes[:, k] < 0
            row = int(unknown.argmax())
            raise ValueError(
                f"{name} of row {row} is {values[indices[row]]!r}, which is not among the labels "
                f"given ({unknown.sum():,} such rows)"
            )
    return codes, all_labels


def labels_in(columns: Mapping[str, Any]) -> list:
    """Return the labels that occur in columns, each once."""
    found = (_distinct(name, _as_column(name, column))[0] for name, column in columns.items())
    return list(dict.fromkeys(value for values in found for value in values))


def sorted_labels(found: Iterable[Iterable[Hashable]]) -> np.ndarray:
    """Return labels from several places, each once and sorted, if they can be."""
    return label_array(_sorted(list(dict.fromkeys(value for values in found for value in values))))


def label_array(labels: Iterable[Hashable]) -> np.ndarray:
    """Return labels as a one-dimensional array, or raise if two are equal."""
    if isinstance(labels, np.ndarray) and labels.dtype == np.int64 and (np.diff(labels) > 0).all():
        return labels  # of numbers in order, no two are equal
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    first: dict[Hashable, int] = {}
    for i, label in enumerate(values):
        if first.setdefault(label, i) != i:
            repeated = len(values) - len(set(values))
            raise ValueError(
                f"labels must differ: {label!r} stands at places {first[label]} and {i} "
                f"({repeated:,} repeated in all)"
            )
    if values and all(type(value) is int and abs(value) < 2**63 for value in values):
        return np.array(values, np.int64)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def places(labels: Iterable[Hashable], among: Iterable[Hashable]) -> np.ndarray:
    """Return the place of each label among others, -1 where it is not there.

    Examples
    --------
    >>> places(["b", "d"], ["a", "b", "c"]).tolist()
    [1, -1]
    """
    place_of = {label: place for place, label in enumerate(among)}
    return np.array([place_of.get(label, -1) for label in labels], np.int64)


def without_trifles(label: str) -> str:
    r"""Return a label without what may be a slip: case, blanks, what cannot be seen, and .0.

    >>> without_trifles(" Ice  Cream") == without_trifles("ice\u00a0cream\u200b")
    True
    >>> without_trifles("7.0"), without_trifles("7.05"), without_trifles("v7.0")
    ('7', '7.05', 'v7.0')
    """
    seen = " ".join(_as_seen(label).casefold().split())
    # Programs write whole numbers so where a column once had gaps.
    return re.sub(r"\A(-?[0-9]+)\.0+\Z", r"\1", seen)


def _as_seen(label: str) -> str:
    """Return a label without invisible characters, its accents written in one way."""
    if label.isascii():
        return label
    visible = (sign for sign in label if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFC", "".join(visible))


def alike(labels: Iterable[Hashable]) -> list[list[str]]:
    """Return the groups of labels that differ in trifles alone; letters differ by their case.

    >>> alike(["cat", "dog", "Cat", "a", "A", 7, "3", "3.0"])
    [['cat', 'Cat'], ['3', '3.0']]
    """
    found: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            found.setdefault(without_trifles(label), []).append(label)
    return [
        group
        for key, group in found.items()
        if len(group) > 1 and (len(key) > 1 or not key.isalpha())
    ]


def groups_in_words(groups: list[list[str]]) -> str:
    """Show some groups of labels; what cannot be seen as an escape."""
    shown = []
    for group in groups[:3]:
        same = len({*map(_as_seen, group)}) < len(group)
        shown.append(" and ".join(map(ascii if same else repr, group[:4])))
    return "; ".join(shown) + ("; ..." if len(groups) > 3 else "")


def _as_column(name: str, column: Any) -> Any:
    """Return an Arrow array, a pandas series, a NumPy array or a list, one-dimensional."""
    refuse_masked(name, column)
    if hasattr(column, "to_arrow"):  # polars
        return column.to_arrow()
    if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
        column = list(column) if hasattr(column, "__iter__") else [column]
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise ValueError(f"column {name!r} must be one-dimensional; got shape {column.shape}")
    return column


def _distinct(name: str, column: Any) -> tuple[list, np.ndarray]:
    """Return the distinct labels of a column, and the index of each row's label among them."""
    if hasattr(column, "dictionary_encode"):  # Arrow
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        encoded = column.dictionary_encode() if len(column) else column
        values = encoded.dictionary.to_pylist() if len(column) else []
        indices = encoded.indices.fill_null(-1).to_numpy() if len(column) else np.array([], int)
    elif isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind in "iuf":
        found, indices = np.unique(check_integers(name, column), return_inverse=True)
        return found.tolist(), indices.reshape(-1)
    elif hasattr(column, "factorize"):  # pandas
        indices, found = column.factorize()
        values = found.tolist()
    else:
        seen: dict[Hashable, int] = {}
        values = column.tolist() if isinstance(column, np.ndarray) else column
        indices = np.array([seen.setdefault(value, len(seen)) for value in values], np.int64)
        values = list(seen)
    return _sound_labels(name, values, indices), indices


def _sound_labels(name: str, values: list, indices: np.ndarray) -> list:
    """Refuse missing labels and fractions; whole floats become integers."""
    missing = np.array([value is None or value != value for value in values] + [True])[indices]
    if missing.any():
        raise ValueError(
            f"{name} of row {missing.argmax()} is missing ({missing.sum():,} such rows): "
            "drop or repair those rows"
        )
    floats = [isinstance(value, float) for value in values]
    if not any(floats):
        return values
    check_integers(
        name, np.array([v if f else 0 for v, f in zip(values, floats, strict=True)])[indices]
    )
    return [int(value) if f else value for value, f in zip(values, floats, strict=True)]


def _sorted(values: list) -> list:
    try:
        return sorted(values)
    except TypeError:
        return values
