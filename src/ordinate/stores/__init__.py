"""Stores: where the triplets live, and what runs a pass over them.

A pass adds up a kernel's result over fixed parts of the rows, in a fixed order: the sums are the
same, bit for bit, on any number of threads. On a GPU that is so where asked for.
"""

import warnings
from typing import Any

import numpy as np

from ordinate._memory import in_words
from ordinate.stores import device as device_module
from ordinate.stores.columns import Columns
from ordinate.stores.device import DeviceColumns, DeviceTriplets
from ordinate.stores.device_blocks import BlockedColumns, BlockedTriplets
from ordinate.stores.streamed_columns import StreamedColumns
from ordinate.stores.streamed_triplets import StreamedTriplets
from ordinate.stores.triplets import NO_WEIGHT, TripletStore
from ordinate.triplets import Triplets

AnyColumns = Columns | DeviceColumns | BlockedColumns | StreamedColumns
AnyTriplets = TripletStore | DeviceTriplets | BlockedTriplets | StreamedTriplets

__all__ = [
    "NO_WEIGHT",
    "AnyColumns",
    "AnyTriplets",
    "BlockedColumns",
    "BlockedTriplets",
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

    What goes to a device is read into memory first, and sent anew for every pass if it does not
    fit there. ``precision`` is that of terms on a device.
    """
    if device != "cpu":
        table = _loaded(triplets)
        if _too_large(table, 12, device):
            return BlockedTriplets(table, device, precision)
        return DeviceTriplets.from_triplets(table, device, precision)
    if isinstance(triplets, Triplets):
        return TripletStore.from_triplets(triplets, backend)
    return StreamedTriplets.from_triplets(triplets, backend)


def columns_of(
    triplets: Any, landmarks: np.ndarray, backend: str = "auto", device: str = "cpu"
) -> AnyColumns:
    """Return the columns of landmarks, where :func:`store_of` would put the triplets."""
    if device != "cpu":
        table = _loaded(triplets)
        if _too_large(table, 8, device):
            return BlockedColumns.from_triplets(table, landmarks, device, backend)
        return DeviceColumns.from_triplets(table, landmarks, device, backend)
    if isinstance(triplets, Triplets):
        return Columns.from_triplets(triplets, landmarks, backend)
    return StreamedColumns.from_triplets(triplets, landmarks, backend)


def _too_large(triplets: Triplets, row_bytes: int, device: str) -> bool:
    """Whether triplets do not fit on a device; warns if so."""
    n_bytes = len(triplets) * (row_bytes + 8 * (triplets.weight is not None))
    if device_module.has_room(device, n_bytes):
        return False
    warnings.warn(
        f"the comparisons take {in_words(n_bytes)}, more than {device} has room for: they are sent "
        "there anew for every pass, which takes longer",
        UserWarning,
        stacklevel=2,
    )
    return True


def _loaded(triplets: Any) -> Triplets:
    return triplets if isinstance(triplets, Triplets) else triplets.load()
