"""The methods by name, known before any of them is loaded."""

from typing import NamedTuple


class Method(NamedTuple):
    """A method: its name on the command line, its class, what it is for and what it needs."""

    name: str
    estimator: str
    purpose: str
    needs: str


METHODS = (
    Method(
        "ordinal",
        "OrdinalEmbedding",
        "lets unseen answers choose: the usual choice",
        "any triplets",
    ),
    Method("ste", "STE", "the most likely map, if squared distances are compared", "any triplets"),
    Method("tste", "TSTE", "like ste with heavy tails: shows groups", "any triplets"),
    Method("ckl", "CKL", "answers that depend on ratios of distances", "any triplets"),
    Method("power", "PowerEmbedding", "people who compare distances, and lapse", "any triplets"),
    Method("soe", "SOE", "answers with little noise: respects their order", "any triplets"),
    Method("gnmds", "GNMDS", "a max-margin baseline", "any triplets"),
    Method("loe", "LOE", "hundreds of millions of answers in seconds", "questions about landmarks"),
    Method("ste-ker", "STEKer", "convex form of ste, for comparison", "up to 2,000 items or so"),
    Method("ste-proj", "STEProj", "ste over matrices of low rank", "up to 2,000 items or so"),
    Method("gnmds-ker", "GNMDSKer", "convex form of gnmds", "up to 2,000 items or so"),
)
NAMES = ("auto", *(method.name for method in METHODS))
