"""The kernels compiled by numba: the functions of ``numpy_``, with the same meaning.

They release Python's global lock and are cached on disk. Arrays of triplets reach them read-only,
so that each kernel is compiled once, whether the rows lie in memory or in a memory map.
"""

from ordinate.kernels.backends.numba_.columns import (
    count_parts,
    count_sums,
    join_parts,
    neighbour_sums,
    pair_information,
    scatter_by_tile,
    score_sums,
)
from ordinate.kernels.backends.numba_.maps import (
    curvature_sums,
    loss_sums,
    shape_part,
    shape_sums,
    similarity_sums,
)
from ordinate.kernels.backends.numba_.placing import new_item_sums, place_items
from ordinate.kernels.backends.numba_.rows import (
    anchor_starts,
    count_anchors,
    count_mentions,
    scan_pairs,
    scan_rows,
    scatter_by_anchor,
)
from ordinate.kernels.backends.numpy_ import left_out_sums

__all__ = [
    "anchor_starts",
    "count_anchors",
    "count_mentions",
    "count_parts",
    "count_sums",
    "curvature_sums",
    "join_parts",
    "left_out_sums",
    "loss_sums",
    "neighbour_sums",
    "new_item_sums",
    "pair_information",
    "place_items",
    "scan_pairs",
    "scan_rows",
    "scatter_by_anchor",
    "scatter_by_tile",
    "score_sums",
    "shape_part",
    "shape_sums",
    "similarity_sums",
]
