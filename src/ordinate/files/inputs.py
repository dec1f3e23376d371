"""Triplets in every form that functions and estimators accept, files included."""

import os
import warnings
from typing import Any

from ordinate.data.triplets import Triplets


def as_triplets(data: Any, *, n_items: int | None = None) -> Triplets:
    """Take triplets in any form that ordinate's functions accept.

    Parameters
    ----------
    data : Triplets, array-like of int (m, 3), DataFrame, Arrow table, or path of a file
        A table must have the columns anchor, near and far. A file, or a folder of files, may be of
        any layout that :func:`ordinate.readers.read` finds by itself; a warning repeats what it
        notes, such as dropped rows.
    n_items : int, optional
        The number of items, if some may occur in no row. Integers in tables and files are then
        ids ``0..n_items-1``.

    Returns
    -------
    Triplets
    """
    if isinstance(data, (str, os.PathLike)):
        from ordinate.files import readers

        path = os.fspath(data)
        reading = readers.read(path)
        if reading.notes:
            warnings.warn(f"{path}: {'; '.join(reading.notes)}", stacklevel=2)
        data = reading.triplets
        if n_items not in (None, data.n_items):
            if 0 not in data.items:
                raise ValueError(
                    f"n_items is {n_items}, but {path} names {data.n_items} items, "
                    "and they are not ids from 0: read it with ordinate.readers.read(path, "
                    "first_id=...), or leave n_items out"
                )
            data = Triplets.from_frame(data.to_arrow(), n_items=n_items)
    if isinstance(data, Triplets):
        if n_items is not None and n_items != data.n_items:
            raise ValueError(f"n_items is {n_items}, but the triplets have {data.n_items} items")
        return data
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        return Triplets.from_frame(data, n_items=n_items)
    return Triplets(data, n_items=n_items)
