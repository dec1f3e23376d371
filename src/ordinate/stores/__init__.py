"""Stores: where the triplets live, and what runs a pass over them.

A pass adds up a kernel's result over fixed parts of the rows, in a fixed order: the sums are the
same, bit for bit, on any number of threads. On a GPU that is so where asked for.
"""

from ordinate.stores.columns import Columns
from ordinate.stores.device import DeviceColumns, DeviceTriplets
from ordinate.stores.triplets import NO_WEIGHT, TripletStore

AnyColumns = Columns | DeviceColumns
AnyTriplets = TripletStore | DeviceTriplets

__all__ = [
    "NO_WEIGHT",
    "AnyColumns",
    "AnyTriplets",
    "Columns",
    "DeviceColumns",
    "DeviceTriplets",
    "TripletStore",
]
