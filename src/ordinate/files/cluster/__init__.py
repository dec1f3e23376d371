"""Triplets in partitions on the workers of a cluster of Dask."""

from ordinate.files.cluster.handle import PartitionedTriplets
from ordinate.files.cluster.opening import is_collection, of_collection, open_on_cluster

__all__ = ["PartitionedTriplets", "is_collection", "of_collection", "open_on_cluster"]
