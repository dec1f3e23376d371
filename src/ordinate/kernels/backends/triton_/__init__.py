"""The kernels that pay, compiled for a GPU by Triton: the functions of ``torch_``, a launch each.

Sums are added where they belong as they arise, by atomic additions, so that their last digits
depend on the order of threads. Few items would be fought over: their sums have several copies,
which are added up in double precision at the end.
"""

from ordinate.kernels.backends.torch_ import curvature_sums, left_out_sums
from ordinate.kernels.backends.triton_.columns import (
    connect,
    count_sums,
    neighbour_sums,
    pair_information,
    score_sums,
)
from ordinate.kernels.backends.triton_.maps import loss_sums, shape_sums, similarity_sums
from ordinate.kernels.backends.triton_.placing import place_items

__all__ = [
    "connect",
    "count_sums",
    "curvature_sums",
    "left_out_sums",
    "loss_sums",
    "neighbour_sums",
    "pair_information",
    "place_items",
    "score_sums",
    "shape_sums",
    "similarity_sums",
]
