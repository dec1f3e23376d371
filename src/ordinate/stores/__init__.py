"""Stores: where the triplets live, and what runs a pass over them.

A pass adds up a kernel's result over fixed parts of the rows, in a fixed order: the sums are the
same, bit for bit, on any number of threads.
"""

from typing import Any

import numpy as np

from ordinate.stores.columns import Columns
from ordinate.stores.triplets import NO_WEIGHT, TripletStore
from ordinate.triplets import Triplets

__all__ = ["NO_WEIGHT", "Columns", "TripletStore", "columns_of", "store_of"]


def store_of(triplets: Any, backend: str = "auto") -> Any:
    """Return the store of all triplets: in memory for a table, streamed for a stored file."""
    if isinstance(triplets, Triplets):
        return TripletStore.from_triplets(triplets, backend)
    from ordinate.stores.streamed_triplets import StreamedTriplets

    return StreamedTriplets.from_triplets(triplets, backend)


def columns_of(triplets: Any, landmarks: np.ndarray, backend: str = "auto") -> Any:
    """Return the columns of landmarks: in memory for a table, streamed for a stored file."""
    if isinstance(triplets, Triplets):
        return Columns.from_triplets(triplets, landmarks, backend)
    from ordinate.stores.streamed_columns import StreamedColumns

    return StreamedColumns.from_triplets(triplets, landmarks, backend)
