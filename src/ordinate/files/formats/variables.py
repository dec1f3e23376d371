"""Arrays with names: .npy, .npz and MATLAB's .mat; of several, the one that can be meant."""

import io
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa

from ordinate._base.messages import some
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.matlab import variables as matlab_variables
from ordinate.files.formats.packed import refuse_too_large, unpacked_size
from ordinate.files.formats.table import Table
from ordinate.files.formats.text import row_from_0, typed

# A variable: an array, the fields of a struct, or None for what is not read.
Variables = dict[str, Any]
MOST_COLUMNS = 10_000  # an empty array of a damaged file may claim billions


def read_npy(shown: str, file: Any) -> Table:
    """Read one array."""
    array = _load(file)
    if array is None:
        raise ReadError(
            f"{shown} holds Python objects, which are not loaded, since that may run code in them; "
            "save an array of numbers or text"
        )
    return array_table(shown, array)


def read_npz(shown: str, content: bytes, choice: str | None) -> Table:
    """Read one of several arrays, or several as columns."""
    refuse_too_large(shown, unpacked_size(content))
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                arrays[name.removesuffix(".npy")] = _load(member)
    return _choose(shown, arrays, choice)


def read_mat(shown: str, content: bytes, choice: str | None) -> Table:
    """Read a variable of a MATLAB file, or several as columns."""
    return _choose(shown, matlab_variables(shown, content), choice)


def _load(file: Any) -> np.ndarray | None:
    """Return an array, or None for one of Python objects."""
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        if "allow_pickle" in str(error):
            return None
        raise


def _choose(shown: str, variables: Variables, choice: str | None, within: str = "") -> Table:
    """Return the variable chosen, the only one of ids, or vectors of equal length as columns.

    ``within`` is the struct, with a point, whose fields the variables are.
    """
    if choice is not None and choice not in variables:
        outer, _, field = choice.partition(".")
        if field and isinstance(variables.get(outer), dict):
            return _choose(shown, variables[outer], field, f"{within}{outer}.")
        raise ReadError(f"{shown} has no variable {choice!r}; it has {_list(variables, within)}")
    if choice is None and len(variables) == 1:
        (choice,) = variables
    if choice is not None:
        value = variables[choice]
        if isinstance(value, dict):
            return _choose(shown, value, None, f"{within}{choice}.")
        if value is None:
            raise ReadError(
                f"{shown}: {choice!r} holds objects, which are not read; save numbers, text or a "
                "struct of columns. MATLAB makes one of a table T by table2struct(T, "
                "'ToScalar', true)"
            )
        return array_table(shown, value)
    ids = [name for name, value in variables.items() if _is_ids(value)]
    if len(ids) == 1 and not _beside(variables, ids[0]):
        table = array_table(shown, variables[ids[0]])
        return _noting(table, variables, ids)
    if len(ids) < 2:
        used, columns = _columns(variables, ids)
        if len(columns) > 2:
            return _noting(typed(shown, pa.table(columns)), variables, used)
    if not variables:
        raise ReadError(f"{shown} holds no variables")
    raise ReadError(
        f"{shown} holds {_list(variables, within)}; save what belongs together as columns of one "
        "table, or choose one",
        *(Remedy({"table": f"{within}{name}"}) for name in (ids or list(variables))[:5]),
    )


def _columns(variables: Variables, ids: list[str]) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the variables that are columns of one table, and these: rows of ids taken apart."""
    vectors = {n: v for n, value in variables.items() if (v := _vector(value)) is not None}
    rows = {n: v for n, v in variables.items() if n in ids or (not ids and _is_matrix(v))}
    n_rows = len(rows[ids[0]]) if ids else max(map(len, vectors.values()), default=0)
    used = [n for n in variables if n_rows > 1 and len(rows.get(n, vectors.get(n, ()))) == n_rows]
    columns: dict[str, np.ndarray] = {}
    for name in used:
        if name in rows:
            columns |= {f"{name}_{k}": column for k, column in enumerate(rows[name].T, 1)}
        else:
            columns[name] = vectors[name]
    return used, columns


def _is_matrix(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and min(value.shape) > 1


def array_table(shown: str, array: np.ndarray) -> Table:
    """Take the columns of an array, which has no names unless it is structured."""
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.names:
        return typed(shown, pa.table({name: array[name] for name in array.dtype.names}))
    wide = array.ndim == 2 and array.shape[1] > MOST_COLUMNS
    if array.ndim != 2 or wide or array.dtype.kind not in "iufU":
        raise ReadError(
            f"{shown} holds an array of shape {array.shape} and type {array.dtype}; rows of ids, "
            "shape (m, 3), can be read"
        )
    data = pa.table({f"column {k}": np.ascontiguousarray(c) for k, c in enumerate(array.T)})
    return Table(shown, data, None, row_from_0, array=array if array.dtype.kind in "iu" else None)


def _is_ids(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.ndim == 2
        and value.shape[1] == 3
        and value.dtype.kind in "iuU"
    )


def _beside(variables: Variables, name: str) -> bool:
    """Tell whether another variable has as many rows, and so may hold the answers to these."""
    n_rows = len(variables[name])
    vectors = [_vector(value) for other, value in variables.items() if other != name]
    return n_rows > 1 and any(vector is not None and len(vector) == n_rows for vector in vectors)


def _vector(value: Any) -> np.ndarray | None:
    """Return an array of one column or one row as a vector; None for all else."""
    if not isinstance(value, np.ndarray) or value.dtype.names or max(value.shape, default=0) == 0:
        return None
    return value.reshape(-1) if value.size == max(value.shape) else None


def _noting(table: Table, variables: Variables, used: Any) -> Table:
    others = [name for name in variables if name not in used]
    if others:
        table.notes.append(f"read: {some(list(used))}; not read: {some(others)}")
    return table


def _list(variables: Variables, within: str) -> str:
    """Describe variables for a message."""

    def kind(value: Any) -> str:
        if isinstance(value, np.ndarray):
            return f"{' x '.join(map(str, value.shape))} {value.dtype}"
        return "objects" if value is None else f"struct of {list(value)}"

    return ", ".join(f"{within + name!r} ({kind(v)})" for name, v in variables.items())
