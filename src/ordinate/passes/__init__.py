"""Stores: where the triplets live, and what runs a pass over them.

A pass adds up a kernel's result over fixed parts of the rows, in a fixed order: the sums are the
same, bit for bit, on any number of threads. On a GPU that is so where asked for.
"""

import warnings
from typing import Any

import numpy as np

from ordinate._base.memory import in_words
from ordinate._base.messages import Message, Option
from ordinate.data.triplets import Triplets
from ordinate.files.cluster import PartitionedTriplets
from ordinate.passes import device as device_module
from ordinate.passes.cluster import ClusterColumns, ClusterTriplets
from ordinate.passes.columns import MemoryColumns
from ordinate.passes.contract import ColumnStore, TripletStore
from ordinate.passes.device import DeviceColumns, DeviceTriplets
from ordinate.passes.device_blocks import SentColumns, SentTriplets
from ordinate.passes.streamed_columns import StreamedColumns
from ordinate.passes.streamed_triplets import StreamedTriplets
from ordinate.passes.triplets import NO_WEIGHT, MemoryTriplets

__all__ = [
    "NO_WEIGHT",
    "ClusterColumns",
    "ClusterTriplets",
    "ColumnStore",
    "DeviceColumns",
    "DeviceTriplets",
    "MemoryColumns",
    "MemoryTriplets",
    "SentColumns",
    "SentTriplets",
    "StreamedColumns",
    "StreamedTriplets",
    "TripletStore",
    "columns_of",
    "store_of",
]


def store_of(
    triplets: Any,
    backend: str = "auto",
    device: str = "cpu",
    precision: str = "double",
    by: str = "row",
) -> TripletStore:
    """Return the store of all triplets: in memory for a table, streamed for a file, or elsewhere.

    What does not fit on a device is sent there anew for every pass. ``precision`` is that of terms
    on a device. ``by`` is what gradients are added up by for their outer products: "row", or
    "answer", if the triplets are a table or a file that keeps the rows of each together, or, of a
    table, "participant". What would have to be sent in blocks for that stays on the host.
    """
    host: MemoryTriplets | StreamedTriplets
    if isinstance(triplets, PartitionedTriplets):
        refuse_device(device)
        return ClusterTriplets(triplets, backend)
    if isinstance(triplets, Triplets):
        host = MemoryTriplets.from_triplets(triplets, backend, by)
    else:
        host = StreamedTriplets.from_triplets(triplets, backend, by)
    streamed_by_answer = isinstance(host, StreamedTriplets) and host.by_answer
    if device == "cpu" or streamed_by_answer:
        return host
    if _fits(device, len(host) * (12 + 8 * host.weighted)):
        return DeviceTriplets.of(host, device, precision)
    return SentTriplets(host, device, precision) if by == "row" else host


def columns_of(
    triplets: Any, landmarks: np.ndarray, backend: str = "auto", device: str = "cpu"
) -> ColumnStore:
    """Return the columns of landmarks, where :func:`store_of` would put the triplets."""
    if isinstance(triplets, PartitionedTriplets):
        refuse_device(device)
        return ClusterColumns(triplets, landmarks, backend)
    host: MemoryColumns | StreamedColumns
    if isinstance(triplets, Triplets):
        host = MemoryColumns.from_triplets(triplets, landmarks, backend)
        host = host.in_tiles() if device == "cpu" else host
    else:
        host = StreamedColumns.from_triplets(triplets, landmarks, backend)
    if device == "cpu":
        return host
    if _fits(device, int(host.sizes.sum()) * (8 + 8 * host.weighted)):
        return DeviceColumns.of(host, device)
    return SentColumns(host, device)


def _fits(device: str, n_bytes: int) -> bool:
    """Whether comparisons fit on a device; warns if not."""
    if device_module.has_room(device, n_bytes):
        return True
    warnings.warn(
        f"the comparisons take {in_words(n_bytes)}, more than {device} has room for: they are sent "
        "there again for every pass, which takes longer",
        UserWarning,
        stacklevel=2,
    )
    return False


def refuse_device(device: str) -> None:
    """Raise if triplets on a cluster are to go to a device."""
    if device != "cpu":
        raise ValueError(
            Message(
                "triplets on a cluster are summed by the processors of its workers, and ",
                Option("device", device),
                " was asked for: leave that out",
            )
        )
