"""Cells of columns: what counts as missing, as yes, as a whole number, and which are the same."""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate.files.formats.errors import ReadError

MISSING = ("", "na", "n/a", "nan", "null", "none")
TRUE, FALSE = ("1", "true", "yes", "t", "y"), ("", "0", "false", "no", "f", "n")
# Whole numbers as programs write them, also "7.0" from columns that had gaps; "007" is text.
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))(?:\.0+)?")


def is_list(kind: pa.DataType) -> bool:
    """Tell whether the cells of a column are lists."""
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def column_of(values: list) -> pa.Array:
    """Return values of JSON as a column; as text where they are of several kinds."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(
            [v if v is None or isinstance(v, str) else json.dumps(v) for v in values], pa.string()
        )


def is_missing(value: object) -> bool:
    """Tell whether a cell is empty or says that nothing is there."""
    return value is None or str(value).strip().lower() in MISSING


@lru_cache(maxsize=1 << 15)
def normal(name: str) -> str:
    """Return a column's name in lower case, with single underscores between words.

    >>> normal("Response.Time..s.")
    'response_time_s'
    """
    return re.sub(r"[^0-9a-z]+", "_", str(name).strip().lower()).strip("_") or str(name).strip()


def number(word: str) -> float:
    """Return a finite number, NaN for none, infinity for what is no number."""
    if word.lower() in MISSING:
        return np.nan
    try:
        value = float(word)
    except ValueError:
        return np.inf
    return value if np.isfinite(value) else np.inf


def distinct(
    columns: Iterable[pa.ChunkedArray], whole: Callable[[bool], bool] = bool
) -> tuple[list, np.ndarray]:
    """Return the distinct cells of columns, and the index of each cell; -1 where it is null.

    ``whole`` decides whether floats are whole numbers, given whether they are here.
    """
    plain = [plain_cells(column, whole) for column in columns]
    if len({column.type for column in plain}) > 1:
        plain = [column.cast(pa.string()) for column in plain]
    chunks = [chunk for column in plain for chunk in column.chunks if len(chunk)]
    encoded = pa.chunked_array(chunks).dictionary_encode().unify_dictionaries()
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return encoded.chunk(0).dictionary.to_pylist(), np.concatenate(codes)


def plain_cells(column: pa.ChunkedArray, whole: Callable[[bool], bool] = bool) -> pa.ChunkedArray:
    """Return a column as text or integers; whole floats become integers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_cells(column.cast(kind.value_type), whole)
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
        here = pc.all(pc.equal(column, pc.floor(column))).as_py() in (True, None)
        return column.cast(pa.int64() if whole(here) else pa.string())
    if str(kind) in ("string", "large_string", "string_view"):
        return column.cast(pa.string())
    raise ReadError(f"a column holds {kind} values; text and numbers can be read: make text of it")
