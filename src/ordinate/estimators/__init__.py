"""Estimators that follow scikit-learn: a thin layer over the functions that do the work."""

from ordinate.estimators.gradient import CKL, GNMDS, SOE, STE, TSTE, PowerEmbedding
from ordinate.estimators.kernel import GNMDSKer, STEKer, STEProj
from ordinate.estimators.loe import LOE

__all__ = [
    "CKL",
    "GNMDS",
    "LOE",
    "SOE",
    "STE",
    "TSTE",
    "GNMDSKer",
    "PowerEmbedding",
    "STEKer",
    "STEProj",
]
