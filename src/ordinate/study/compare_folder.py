"""The folder that a comparison of two maps leaves: a record, a table, a figure, a report."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate import __version__
from ordinate._base.messages import some
from ordinate._base.writing import whole_file, write_json
from ordinate.evaluation.comparison import LEVEL, Comparison
from ordinate.figures.comparing import plot_comparison
from ordinate.figures.figure_files import save_both
from ordinate.figures.report import html_report
from ordinate.files.maps import as_text, write_table

FILES = ("compare.json", "compare.csv", "compare.png", "compare.svg", "report.html")


class Told(NamedTuple):
    """What is told beside the comparison itself.

    Attributes
    ----------
    names : pair of str
        What the maps are called.
    sentence : str
    notes : list of str
        What was left out or refitted, and why.
    command : str
    """

    names: tuple[str, str]
    sentence: str
    notes: list[str]
    command: str


def describe_comparison(found: Comparison, told: Told) -> dict[str, Any]:
    """Return everything as plain values for JSON."""
    return {
        "ordinate": __version__,
        "command": told.command,
        "first": told.names[0],
        "second": told.names[1],
        "sentence": told.sentence,
        "differ": found.differ,
        "p_value": found.p_value,
        "method": found.method,
        "n_permutations": found.n_permutations,
        "doubt": found.doubt,
        "level": LEVEL,
        "relative_error": found.error,
        "relative_error_without_scale": found.rigid_error,
        "scale": found.factor,
        "dispersion": found.dispersion,
        "n_items": len(found.items),
        "n_components": int(found.first.shape[1]),
        "moved": [str(item) for item in found.moved],
        "only_first": [str(item) for item in found.only_first],
        "only_second": [str(item) for item in found.only_second],
        "notes": told.notes,
    }


def write_comparison(
    folder: Path, found: Comparison, told: Told, *, defuse: bool = False
) -> dict[str, Any]:
    """Write all files into a folder; return what went into ``compare.json``."""
    record = describe_comparison(found, told)
    columns = {
        "distance": found.distance,
        "chance": found.chance,
        "p_corrected": found.p_items,
    }
    _write_table(folder / "compare.csv", found, columns, defuse)
    save_both(plot_comparison(found, names=told.names), folder / "compare.png")
    page = html_report(
        found.first,
        list(map(str, found.items)),
        title=f"{told.names[0]} and {told.names[1]}",
        columns={name: values.tolist() for name, values in columns.items() if _known(values)},
        colour="distance",
        verdict=("warning" if found.differ else "note", told.sentence, _remedy(found)),
        problems=[("note", note, "") for note in told.notes],
        facts={k: _shown(v) for k, v in record.items() if k not in ("sentence", "notes")},
    )
    with whole_file(folder / "report.html") as path:
        path.write_text(page, encoding="utf-8")
    write_json(folder / "compare.json", record)
    return record


def _known(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).any())


def _shown(value: Any) -> str:
    return some(value) if isinstance(value, list) else str(value)


def _remedy(found: Comparison) -> str:
    return "compare.png has both maps, with an arrow for each item" + (
        "; the map below is the first, coloured by how far items are from their second place"
    )


def _write_table(
    path: Path, found: Comparison, columns: dict[str, np.ndarray], defuse: bool
) -> None:
    """Write a row for each item, the farthest beyond chance first; what is unknown is empty."""
    import pyarrow as pa

    beyond = found.distance / found.chance if _known(found.chance) else found.distance
    order = np.argsort(-beyond, kind="stable")
    table: dict[str, Any] = {
        "label": [as_text(found.items[row], defuse=defuse) for row in order],
        **{name: pa.array(values[order], from_pandas=True) for name, values in columns.items()},
    }
    for name, points in (("first", found.first), ("second", found.second)):
        for k, coordinates in enumerate(points[order].T, start=1):
            table[f"{name}_dim{k}"] = coordinates
    write_table(path, pa.table(table))
