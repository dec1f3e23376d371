"""ordinate: coordinates from comparisons.

People answer "which of these two is closer to this one?"; ordinate turns the answers into a map.
Every public name loads on first use, so that importing the package stays cheap.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; to import typing takes longer than all else here
if TYPE_CHECKING:  # for type checkers and editors; a test holds it to the table below
    from typing import Any

    from ordinate import asking
    from ordinate._base.arrays import deterministic
    from ordinate._base.threads import threads
    from ordinate.algorithms.dimension import choose_dimension
    from ordinate.algorithms.landmark_choice import n_landmarks
    from ordinate.algorithms.pairwise import rank_items
    from ordinate.data import advice, answers, simulate
    from ordinate.data.simulate import Power, sample_points, sample_triplets
    from ordinate.data.triplets import Triplets
    from ordinate.estimators.comparing import compare
    from ordinate.estimators.differences import individual_differences
    from ordinate.estimators.gradient import CKL, GNMDS, SOE, STE, TSTE, PowerEmbedding
    from ordinate.estimators.kernel import GNMDSKer, STEKer, STEProj
    from ordinate.estimators.loe import LOE
    from ordinate.estimators.ordinal import OrdinalEmbedding
    from ordinate.estimators.participants import ParticipantEmbedding, participants
    from ordinate.estimators.saving import load
    from ordinate.evaluation import metrics, uncertainty
    from ordinate.evaluation.bootstrap import bootstrap
    from ordinate.evaluation.groups import compare_groups
    from ordinate.evaluation.metrics import align, procrustes_error, purity, triplet_error
    from ordinate.evaluation.reliability import split_half
    from ordinate.evaluation.splits import TripletKFold
    from ordinate.figures.dimensions import plot_dimensions
    from ordinate.figures.participants import plot_participants
    from ordinate.figures.plotting import plot_map
    from ordinate.figures.report import html_report
    from ordinate.files import datasets, items, ondisk, readers
    from ordinate.files.inputs import as_triplets
    from ordinate.files.ondisk import open_triplets

__version__ = "0.2.0"

# Where each public name lives.
_HOMES = {
    "_base.arrays": ("deterministic",),
    "_base.threads": ("threads",),
    "algorithms.dimension": ("choose_dimension",),
    "algorithms.landmark_choice": ("n_landmarks",),
    "algorithms.pairwise": ("rank_items",),
    "asking": ("asking",),
    "data": ("advice", "answers", "simulate"),
    "data.simulate": ("Power", "sample_points", "sample_triplets"),
    "data.triplets": ("Triplets",),
    "estimators.comparing": ("compare",),
    "estimators.differences": ("individual_differences",),
    "estimators.gradient": ("CKL", "GNMDS", "SOE", "STE", "TSTE", "PowerEmbedding"),
    "estimators.kernel": ("GNMDSKer", "STEKer", "STEProj"),
    "estimators.loe": ("LOE",),
    "estimators.ordinal": ("OrdinalEmbedding",),
    "estimators.participants": ("ParticipantEmbedding", "participants"),
    "estimators.saving": ("load",),
    "evaluation": ("metrics", "uncertainty"),
    "evaluation.bootstrap": ("bootstrap",),
    "evaluation.groups": ("compare_groups",),
    "evaluation.metrics": ("align", "procrustes_error", "purity", "triplet_error"),
    "evaluation.reliability": ("split_half",),
    "evaluation.splits": ("TripletKFold",),
    "figures.dimensions": ("plot_dimensions",),
    "figures.participants": ("plot_participants",),
    "figures.plotting": ("plot_map",),
    "figures.report": ("html_report",),
    "files": ("datasets", "items", "ondisk", "readers"),
    "files.inputs": ("as_triplets",),
    "files.ondisk": ("open_triplets",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> "Any":
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ordinate' has no attribute {name!r}")
    home = import_module(f"ordinate.{_HOME_OF[name]}")
    if _HOME_OF[name] == name:  # a room that is public as a whole
        return home
    # A public module is a submodule of its room.
    return getattr(home, name, None) or import_module(f"{home.__name__}.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
