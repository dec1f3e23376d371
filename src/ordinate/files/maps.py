"""Maps as files: tables with the columns label, dim1, dim2, ... and what else is known of items.

A CSV file; of very many items a folder of Parquet files, which Dask, Spark and pandas read as one
table.
"""

import csv
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.messages import Message, Option, some
from ordinate._base.threads import blocks, elsewhere
from ordinate._base.writing import missing_from, whole_file, whole_folder

MAPS = MAP, PARTS = "embedding.csv", "embedding.parquet"  # the map in a folder of results
MANY = 1_000_000  # items of a map up to which it is a CSV file, and of each part of a larger one
DIMENSION = "dim"
BYTES = 19  # of a distance as text, at most about
LARGE = 500_000_000  # bytes that are not written unasked
# What spreadsheets take for a formula, and the same behind the sign that tells them not to.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


class MapFile(NamedTuple):
    """A map that was read: labels as text, coordinates (n, d), and the other columns."""

    labels: list[str]
    points: np.ndarray
    columns: dict[str, list]


def as_text(value: Any, *, defuse: bool) -> str:
    """Return text for a table; if it may be a formula and is to be defused, behind a ``'``.

    Text that begins so itself gets another one, so that :func:`as_it_was` always restores it.

    >>> as_text("=1+1", defuse=False), as_text("=1+1", defuse=True), as_text("'=x", defuse=False)
    ('=1+1', "'=1+1", "''=x")
    """
    text = str(value)
    return f"'{text}" if FORMULA.match(text) and (defuse or text[0] == "'") else text


def as_it_was(text: str) -> str:
    """Return what :func:`as_text` was given."""
    return text[1:] if text[:1] == "'" and FORMULA.match(text) else text


def defused(table: Any) -> tuple[Any, list[str]]:
    """Return an Arrow table with ``'`` before texts that may be formulas, and these texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changed: list[str] = []
    for k, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_string(column.type):
            texts = pc.unique(column).to_pylist()
            changed += [text for text in texts if as_text(text, defuse=True) != text]
            safe = pc.replace_substring_regex(column, f"^({FORMULA.pattern})", r"'\1")
            table = table.set_column(k, name, safe)
    return table, list(dict.fromkeys(changed))


def map_name(n_items: int) -> str:
    """Return the name that the map of so many items has in a folder of results."""
    return MAP if n_items <= MANY else PARTS


def map_in(path: Path) -> Path:
    """Return the map in a folder of results, whatever that is called; any other path as it is."""
    inside = [path / name for name in MAPS if (path / name).exists()]
    if len(inside) > 1:
        raise ValueError(f"{path} has two maps, {MAP} and {PARTS}: name the one that is meant")
    if inside:
        return inside[0]
    return path / MAP if path.is_dir() and not _is_parts(path) else path


def _is_parts(path: str | os.PathLike) -> bool:
    return Path(path).suffix == Path(PARTS).suffix


def write_map(
    path: str | os.PathLike,
    labels: Any,
    points: np.ndarray,
    columns: Mapping[str, Any],
    *,
    defuse: bool = False,
) -> None:
    """Write a map: labels, coordinates and further columns; a missing value is empty.

    A path that ends in ``.parquet`` becomes a folder: part-0000.parquet, part-0001.parquet, ...

    ``defuse`` puts ``'`` before texts that spreadsheets would take for formulas; reading the map
    takes it off.

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

    table: dict[str, Any] = {}
    if _is_parts(path):  # which no spreadsheet opens, and which keeps numbers as they are
        defuse, numbers = False, np.asarray(labels).dtype.kind == "i"
        table["label"] = pa.array(labels if numbers else [str(label) for label in labels])
    else:
        table["label"] = [as_text(label, defuse=defuse) for label in labels]
    for k, coordinates in enumerate(np.asarray(points, dtype=float).T, start=1):
        table[f"{DIMENSION}{k}"] = pa.array(coordinates, from_pandas=True)
    for name, values in columns.items():
        if name in table:
            raise ValueError(f"a map has a column {name!r} of its own: give yours another name")
        if _is_parts(path):
            table[name] = pa.array(values, from_pandas=True)
            continue
        cells = [as_text(v, defuse=defuse) if isinstance(v, str) else v for v in values]
        table[as_text(name, defuse=defuse)] = pa.array(cells, from_pandas=True)
    (_write_parts if _is_parts(path) else write_table)(path, pa.table(table))


def _write_parts(path: str | os.PathLike, table: Any) -> None:
    """Write an Arrow table as a folder of Parquet files, whole or not at all."""
    from pyarrow.parquet import write_table as write_parquet

    with whole_folder(path, force=True) as folder:
        for k, part in enumerate(blocks(len(table), MANY)):
            with (folder / f"part-{k:04}.parquet").open("wb") as file:
                write_parquet(table.slice(part.start, part.stop - part.start), file)


def write_table(path: str | os.PathLike, table: Any) -> None:
    """Write an Arrow table as CSV, whole or not at all."""
    from pyarrow.csv import write_csv

    # Arrow takes open files where it refuses names that are not UTF-8.
    with whole_file(path) as partial, partial.open("wb") as file:
        write_csv(table, file)


def write_distances(
    path: str | os.PathLike,
    labels: Any,
    points: np.ndarray,
    *,
    large: bool = False,
    defuse: bool = False,
) -> None:
    """Write the distances between all items as a table, labels in its first row and column.

    R reads it with ``as.dist(as.matrix(read.csv("distances.csv", row.names = 1, check.names =
    FALSE)))``, pandas with ``read_csv("distances.csv", index_col=0)``. Distances of items without a
    place are NA.

    Parameters
    ----------
    path : str or path
    labels : sequence, shape (n,)
    points : ndarray, shape (n, d)
    large : bool
        Write the table even if it takes more than :data:`LARGE` bytes.
    defuse : bool
        Put ``'`` before labels that spreadsheets would take for formulas.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "distances.csv"
    >>> write_distances(path, ["ant", "bee"], np.array([[0.0, 0], [3, 4]]))
    >>> print(path.read_text())
    "","ant","bee"
    "ant",0.0,5.0
    "bee",5.0,0.0
    <BLANKLINE>
    """
    X = np.asarray(points, dtype=float)
    names = [as_text(label, defuse=True) if defuse else str(label) for label in labels]
    if X.ndim != 2 or len(names) != len(X):
        raise ValueError(
            f"points must be an (n, d) array with a label each; got shape {X.shape} and "
            f"{len(names):,} labels"
        )
    expected = BYTES * len(X) ** 2
    if expected > LARGE and not large:
        raise ValueError(
            Message(
                f"the distances between {len(X):,} items would take about {expected / 1e9:.1f} GB "
                "as text: say ",
                Option("large", True),
                " to write them anyway",
            )
        )
    with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        # What is no number is quoted, but NA must not be: R would take it for text.
        header = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="")
        header.writerow(["", *names])
        for name, point in zip(names, X, strict=True):
            file.write("\n")
            header.writerow([name])
            away = np.sqrt(((X - point) ** 2).sum(axis=1)).tolist()
            file.write("".join(",NA" if value != value else f",{value!r}" for value in away))
        file.write("\n")


def read_map(path: str | os.PathLike) -> MapFile:
    """Read a map that :func:`write_map` wrote, or any CSV with label and dim1, dim2, ..."""
    import pyarrow as pa

    try:
        table = (_read_parts if _is_parts(path) else _read_csv)(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        what = str(error).splitlines()[0]
        hint = ". Save it as UTF-8" if "invalid UTF8" in what else ""
        raise ValueError(f"{path} is not a map: {what}{hint}") from None
    found = [n for n in table.column_names if re.fullmatch(rf"{DIMENSION}[0-9]+", n)]
    names = [f"{DIMENSION}{k}" for k in range(1, len(found) + 1)]
    each_once = len({*table.column_names}) == table.num_columns and {*names} == {*found}
    if "label" not in table.column_names or not (found and each_once and table.num_rows):
        raise ValueError(
            f"{path} is not a map: it needs the columns label, dim1, dim2, ..., each once, and "
            f"rows; it has {', '.join(table.column_names)} and {table.num_rows:,} rows"
        )
    try:
        points = np.array([table[name].cast(pa.float64()).to_numpy() for name in names]).T
    except pa.ArrowException as error:
        raise ValueError(f"{path}: coordinates must be numbers: {error}") from None
    if np.isinf(points).any():
        raise ValueError(f"{path}: coordinates must be finite numbers, or empty for no place")
    columns = table.drop_columns(names).to_pydict()
    if not _is_parts(path):
        columns = {
            as_it_was(name): [as_it_was(cell) if isinstance(cell, str) else cell for cell in cells]
            for name, cells in columns.items()
        }
    labels = columns.pop("label")
    if len(set(labels)) < len(labels):
        raise ValueError(f"{path}: some labels occur more than once")
    return MapFile(labels, points, columns)


def _read_csv(path: str | os.PathLike) -> Any:
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, read_csv

    options = ConvertOptions(column_types={"label": pa.string()})
    with open(path, "rb") as file:
        return elsewhere(lambda: read_csv(file, convert_options=options))


def _read_parts(path: str | os.PathLike) -> Any:
    """Read a folder of Parquet files, or one, in the order of their names; labels as texts."""
    import pyarrow as pa
    from pyarrow.parquet import read_table

    files = sorted(Path(path).glob("*.parquet")) if Path(path).is_dir() else [Path(path)]
    gone = missing_from(Path(path))
    if gone:
        raise ValueError(f"{path} lacks {some(gone)}: these items would be lost. Put it back")
    if not files:
        raise FileNotFoundError(path)
    tables = []
    for file in files:
        with file.open("rb") as opened:
            try:
                tables.append(read_table(opened))
            except (pa.ArrowInvalid, OSError) as error:
                raise type(error)(f"{file.name}: {error}") from None
    table = pa.concat_tables(tables)
    if "label" not in table.column_names:
        return table
    place = table.column_names.index("label")
    return table.set_column(place, "label", table["label"].cast(pa.string()))
