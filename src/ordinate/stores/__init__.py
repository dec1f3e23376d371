"""Stores: where the triplets live, and what runs a pass over them.

A pass adds up a kernel's result over fixed parts of the rows, in a fixed order: the sums are the
same, bit for bit, on any number of threads. On a GPU that is so where asked for.
"""

from typing import Any

import numpy as np

from ordinate.stores.columns import Columns
from ordinate.stores.device import DeviceColumns, DeviceTriplets
from ordinate.stores.streamed_columns import StreamedColumns
from ordinate.stores.streamed_triplets import StreamedTriplets
from ordinate.stores.triplets import NO_WEIGHT, TripletStore
from ordinate.triplets import Triplets

AnyColumns = Columns | DeviceColumns | StreamedColumns
AnyTriplets = TripletStore | DeviceTriplets | StreamedTriplets

__all__ = [
    "NO_WEIGHT",
    "AnyColumns",
    "AnyTriplets",
    "Columns",
    "DeviceColumns",
    "DeviceTriplets",
    "StreamedColumns",
    "StreamedTriplets",
    "TripletStore",
    "columns_of",
    "store_of",
]


def store_of(
    triplets: Any, backend: str = "auto", device: str = "cpu", precision: str = "double"
) -> AnyTriplets:
    """Return the store of all triplets: in memory for a table, streamed for a file, or on a device.

    What goes to a device is read into memory first. ``precision`` is that of terms on a device.
    """
    if device != "cpu":
        return DeviceTriplets.from_triplets(_loaded(triplets), device, precision)
    if isinstance(triplets, Triplets):
        return TripletStore.from_triplets(triplets, backend)
    return StreamedTriplets.from_triplets(triplets, backend)


def columns_of(
    triplets: Any, landmarks: np.ndarray, backend: str = "auto", device: str = "cpu"
) -> AnyColumns:
    """Return the columns of landmarks, where :func:`store_of` would put the triplets."""
    if device != "cpu":
        return DeviceColumns.from_triplets(_loaded(triplets), landmarks, device, backend)
    if isinstance(triplets, Triplets):
        return Columns.from_triplets(triplets, landmarks, backend)
    return StreamedColumns.from_triplets(triplets, landmarks, backend)


def _loaded(triplets: Any) -> Triplets:
    return triplets if isinstance(triplets, Triplets) else triplets.load()
