"""Estimators that follow scikit-learn: a thin layer over the functions that do the work."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.estimators.gradient import CKL, GNMDS, SOE, STE, TSTE, PowerEmbedding
    from ordinate.estimators.kernel import GNMDSKer, STEKer, STEProj
    from ordinate.estimators.loe import LOE
    from ordinate.estimators.ordinal import OrdinalEmbedding

__all__ = [
    "CKL",
    "GNMDS",
    "LOE",
    "SOE",
    "STE",
    "TSTE",
    "GNMDSKer",
    "OrdinalEmbedding",
    "PowerEmbedding",
    "STEKer",
    "STEProj",
]


def __getattr__(name: str) -> Any:
    """Load a class on first use, from where the table of public names has it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import ordinate

    return getattr(ordinate, name)
