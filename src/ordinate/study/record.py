"""The record of a fit, ``run.json``: everything that makes it repeatable, and what came out."""

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ordinate import __version__
from ordinate.algorithms.dimension_choice import DimensionChoice
from ordinate.algorithms.starts import agreement
from ordinate.data.advice import Problem, ranked
from ordinate.evaluation.analysis import Analysis
from ordinate.evaluation.metrics import as_plain
from ordinate.evaluation.uncertainty import Sureness, sureness
from ordinate.files.maps import MAPS
from ordinate.study.people import in_words, judged
from ordinate.study.story import Story

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "matplotlib")


def describe(analysis: Analysis, story: Story) -> dict[str, Any]:
    """Return everything that makes the run repeatable, as plain values for JSON."""
    model, held_out = analysis.model, analysis.held_out
    result = {
        "n_items": len(model.items_),
        "n_components": int(model.embedding_.shape[1]),
        "n_without_place": int(np.isnan(model.embedding_).any(axis=1).sum()),
        "converged": bool(model.converged_),
        "loss": _number(getattr(model, "loss_", None)),
        "n_iterations": getattr(model, "n_iter_", None),
        "n_passes": _number(getattr(model, "n_passes_", None)),
        "init": getattr(getattr(model, "init_", None), "name", None),
        "starts": [end._asdict() for end in getattr(model, "starts_", [])],
        "covariance": None if (known := vars(model).get("_covariance")) is None else known.in_words,
    }
    return {
        "ordinate": __version__,
        "command": story.command,
        "method": story.method,
        "why": story.reason,
        "settings": story.settings,
        "input": story.source,
        "dropped": story.notes,
        "problems": [problem._asdict() for problem in problems_of(analysis, story)],
        "data": story.summary.as_dict(),
        "dimension": None if (found := dimension_of(model)) is None else found.as_dict(),
        "choice": choice_of(model),
        "held_out": None if held_out is None else as_plain(held_out),
        "uncertainty": None if (sure := _sureness(model)) is None else sure.as_dict(),
        "participants": _people(analysis.participants),
        "individual_differences": story.differences and story.differences.as_dict(),
        "result": result,
        **story.more,
        "warnings": analysis.warnings,
        "seconds": {name: round(seconds, 3) for name, seconds in story.seconds.items()},
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of what the map depends on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def read_record(embedding: Path) -> dict[str, Any] | None:
    """Return what is recorded of a map in ``run.json`` beside it; None where there is no record."""
    try:
        record = json.loads((embedding.parent / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    ours = isinstance(record, dict) and isinstance(record.get("input"), dict)
    return record if ours and embedding.name in MAPS else None


def choice_of(model: Any) -> dict[str, Any] | None:
    """What the answers chose, and what else was tried; None for a method that chooses nothing."""
    if not hasattr(model, "choice_"):
        return None
    return {
        "told": model.describe_choice(),
        "maker": model.maker_,
        "response": {"power": model.power_, "slope": model.slope_, "lapse": model.lapse_},
        "n_triplets": model.n_chosen_by_,
        "tried": model.choice_,
    }


def _sureness(model: Any) -> Sureness | None:
    """How sure the map is; None where that is not known."""
    known = vars(model).get("_covariance")
    return None if known is None else sureness(model.embedding_, known.values, model.items_)


def _people(people: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How participants answer, where that was asked; ``participants.csv`` has each of them."""
    if not judged(people):
        return None
    out = [person["participant"] for person in people if person["left_out"]]
    return {"told": in_words(people), "n_participants": len(people), "left_out": out}


def dimension_of(model: Any) -> DimensionChoice | None:
    """What answers said about the number of dimensions, where they were asked."""
    return getattr(model, "dimension_", None)


def problems_of(analysis: Analysis, story: Story) -> list[Problem]:
    """What is wrong with the data and with the map, the worst first."""
    return ranked([*analysis.problems, *_start_problems(analysis), *story.problems])


def _start_problems(analysis: Analysis) -> list[Problem]:
    """Say so where the starts of a fit end in different maps."""
    ended = getattr(analysis.model, "starts_", [])
    n_same = sum(end.agrees for end in ended)
    if n_same == len(ended):
        return []
    return [
        Problem(
            "warning" if n_same <= 1 else "note",
            f"starts end in different maps: {agreement(ended)}",
            "other maps fit nearly as well; trust what they share, try more starts or fewer "
            "dimensions, or collect more answers",
        )
    ]


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
