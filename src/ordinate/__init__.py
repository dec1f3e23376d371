"""ordinate: coordinates from comparisons.

People answer "which of these two is closer to this one?"; ordinate turns the answers into a map.
Every public name loads on first use, so that importing the package stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate import advice, answers, datasets, metrics, readers, simulate, storage
    from ordinate._arrays import deterministic
    from ordinate._parallel import threads
    from ordinate.estimators import (
        CKL,
        GNMDS,
        LOE,
        SOE,
        STE,
        TSTE,
        GNMDSKer,
        STEKer,
        STEProj,
    )
    from ordinate.estimators.saving import load
    from ordinate.inputs import as_triplets
    from ordinate.landmark_choice import n_landmarks
    from ordinate.metrics import align, procrustes_error, purity, triplet_error
    from ordinate.pairwise import rank_items
    from ordinate.plotting import plot_map
    from ordinate.report import html_report
    from ordinate.simulate import sample_points, sample_triplets
    from ordinate.splits import TripletKFold
    from ordinate.triplets import Triplets

__version__ = "0.1.0"

_HOME = {
    "CKL": "estimators",
    "GNMDS": "estimators",
    "GNMDSKer": "estimators",
    "LOE": "estimators",
    "SOE": "estimators",
    "STE": "estimators",
    "STEKer": "estimators",
    "STEProj": "estimators",
    "TSTE": "estimators",
    "Triplets": "triplets",
    "html_report": "report",
    "load": "estimators.saving",
    "as_triplets": "inputs",
    "n_landmarks": "landmark_choice",
    "TripletKFold": "splits",
    "align": "metrics",
    "deterministic": "_arrays",
    "plot_map": "plotting",
    "procrustes_error": "metrics",
    "purity": "metrics",
    "rank_items": "pairwise",
    "triplet_error": "metrics",
    "sample_points": "simulate",
    "sample_triplets": "simulate",
    "threads": "_parallel",
}
_MODULES = {"advice", "answers", "datasets", "metrics", "readers", "simulate", "storage"}

__all__ = [
    "CKL",
    "GNMDS",
    "LOE",
    "SOE",
    "STE",
    "TSTE",
    "GNMDSKer",
    "STEKer",
    "STEProj",
    "TripletKFold",
    "Triplets",
    "advice",
    "align",
    "answers",
    "as_triplets",
    "datasets",
    "deterministic",
    "html_report",
    "load",
    "metrics",
    "n_landmarks",
    "plot_map",
    "procrustes_error",
    "purity",
    "rank_items",
    "readers",
    "sample_points",
    "sample_triplets",
    "simulate",
    "storage",
    "threads",
    "triplet_error",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"ordinate.{name}")
    if name in _HOME:
        return getattr(import_module(f"ordinate.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ordinate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
