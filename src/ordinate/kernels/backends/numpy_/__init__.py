"""The kernels in plain NumPy: the reference for every other backend.

Those that run on a device take torch tensors as well, for ``torch_`` to share.
"""

from ordinate.kernels.backends.numpy_.columns import (
    count_parts,
    count_sums,
    join_parts,
    neighbour_sums,
    pair_information,
    scatter_by_tile,
    score_sums,
)
from ordinate.kernels.backends.numpy_.maps import (
    NO_ANSWER,
    curvature_factors,
    curvature_sums,
    curvature_terms,
    left_out_sums,
    loss_sums,
    shape_part,
    shape_sums,
    shape_terms,
    similarity_sums,
)
from ordinate.kernels.backends.numpy_.placing import (
    new_item_sums,
    place_items,
)
from ordinate.kernels.backends.numpy_.rows import (
    anchor_starts,
    count_anchors,
    count_mentions,
    scan_pairs,
    scan_rows,
    scatter_by_anchor,
)

__all__ = [
    "NO_ANSWER",
    "anchor_starts",
    "count_anchors",
    "count_mentions",
    "count_parts",
    "count_sums",
    "curvature_factors",
    "curvature_sums",
    "curvature_terms",
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
    "shape_terms",
    "similarity_sums",
]
