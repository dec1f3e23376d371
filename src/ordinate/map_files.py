"""Maps as files: a CSV with the columns label, dim1, dim2, ... and what else is known of items."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ordinate._writing import whole_file

DIMENSION = "dim"


class MapFile(NamedTuple):
    """A map that was read: labels as text, coordinates (n, d), and the other columns."""

    labels: list[str]
    points: np.ndarray
    columns: dict[str, list]


def write_map(
    path: str | os.PathLike, labels: Any, points: np.ndarray, columns: Mapping[str, Any]
) -> None:
    """Write a map: labels, coordinates and further columns; a missing value is empty.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "map.csv"
    >>> write_map(path, ["ant", "bee"], np.array([[0.5], [1.0]]), {"triplets": [3, 4]})
    >>> print(path.read_text())
    "label","dim1","triplets"
    "ant",0.5,3
    "bee",1,4
    <BLANKLINE>
    """
    import pyarrow as pa
    from pyarrow import csv

    table: dict[str, Any] = {"label": [str(label) for label in labels]}
    for k, coordinates in enumerate(np.asarray(points, dtype=float).T, start=1):
        table[f"{DIMENSION}{k}"] = pa.array(coordinates, from_pandas=True)
    for name, values in columns.items():
        if name in table:
            raise ValueError(f"a map has a column {name!r} of its own: name yours otherwise")
        table[name] = pa.array(values, from_pandas=True)
    with whole_file(path) as partial:
        csv.write_csv(pa.table(table), partial)


def read_map(path: str | os.PathLike) -> MapFile:
    """Read a map that :func:`write_map` wrote, or any CSV with label and dim1, dim2, ..."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        options = csv.ConvertOptions(column_types={"label": pa.string()})
        table = csv.read_csv(os.fspath(path), convert_options=options)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is not a map: {str(error).splitlines()[0]}") from None
    names = [f"{DIMENSION}{k}" for k in range(1, table.num_columns + 1)]
    names = [name for name in names if name in table.column_names]
    if "label" not in table.column_names or not names:
        raise ValueError(
            f"{path} is not a map: it needs the columns label, dim1, dim2, ...; it has "
            f"{', '.join(table.column_names)}"
        )
    columns = table.to_pydict()
    try:
        points = np.array([columns.pop(name) for name in names], dtype=float).T
    except ValueError as error:
        raise ValueError(f"{path}: coordinates must be numbers: {error}") from None
    labels = columns.pop("label")
    if len(set(labels)) < len(labels):
        raise ValueError(f"{path}: some labels occur more than once")
    return MapFile(labels, points, columns)
