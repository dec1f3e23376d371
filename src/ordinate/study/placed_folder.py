"""The folder that placing leaves behind: the new items, a figure, and how they were placed."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ordinate import __version__
from ordinate._base.writing import DiskFullError, write_json
from ordinate.data.labels import label_array
from ordinate.estimators.placing import Placed, PlacingEmbedder
from ordinate.estimators.saving import known_covariance, write_model
from ordinate.figures.figure_files import save_both
from ordinate.figures.placed import plot_placed
from ordinate.files.maps import MapFile, map_name, write_map
from ordinate.study.record import versions


def write_placed(
    folder: Path,
    model: PlacingEmbedder,
    known: MapFile,
    placed: Placed,
    record: dict[str, Any],
    *,
    append: bool = False,
    defuse: bool = False,
) -> dict[str, Any]:
    """Write all files into a folder; return what went into ``run.json``.

    ``known`` is the map as its file has it. With ``append`` the folder holds the whole map, old and
    new items alike, and its model, as that of a fit does; else the new items alone.
    """
    labels = [str(label) for label in placed.items]
    columns: dict[str, Any] = {
        f"se{k}": errors for k, errors in enumerate(placed.standard_errors.T, start=1)
    }
    columns["triplets"] = placed.n_triplets
    columns["weak"] = placed.weak
    if append:
        _append(folder, model, known, placed, columns, defuse)
    else:
        table = folder / map_name(len(labels))
        write_map(table, labels, placed.points, columns, defuse=defuse)
    warned = list(record["warnings"])
    there = np.isfinite(placed.points).all(axis=1)
    try:
        figure = plot_placed(
            model.embedding_,
            [str(label) for label in model.items_],
            placed.points[there],
            [label for label, has in zip(labels, there, strict=True) if has],
            placed.covariance[there],
            caption=_caption(model, placed, there),
        )
        save_both(figure, folder / "embedding.png")
    except DiskFullError:
        raise
    except Exception as error:  # no result is lost to a picture
        warned.append(f"no figure could be drawn: {type(error).__name__}: {error}")
    whole = {"ordinate": __version__, **record, "warnings": warned, "versions": versions()}
    write_json(folder / "run.json", whole)
    return json.loads(json.dumps(whole))


def _append(
    folder: Path,
    model: PlacingEmbedder,
    known: MapFile,
    placed: Placed,
    columns: dict[str, Any],
    defuse: bool,
) -> None:
    """Write the whole map: columns that one part lacks are empty there."""
    n, k = len(model.items_), len(placed.items)
    columns = columns | {"new": [True] * k}
    # A user's own column may have the name of one of ours, which hold no texts.
    theirs = {
        f"items_{name}" if name in columns and any(isinstance(v, str) for v in values) else name: (
            values
        )
        for name, values in known.columns.items()
    }
    theirs["new"] = [False] * n
    whole: dict[str, Any] = {}
    for name in dict.fromkeys([*theirs, *columns]):
        old, new = theirs.get(name, [None] * n), columns.get(name, [None] * k)
        whole[name] = [*old, *(None if value != value else value for value in new)]
    model.items_ = label_array([*model.items_.tolist(), *placed.items.tolist()])
    points = np.concatenate([model.embedding_, placed.points])
    write_map(folder / map_name(len(points)), model.items_, points, whole, defuse=defuse)
    sure = known_covariance(model)
    if sure is not None:  # of new items, given the places of the others
        sure = sure._replace(values=np.concatenate([sure.values, placed.covariance]))
    old_points, model.embedding_ = model.embedding_, points
    write_model(folder / "model.json", model, sure)
    model.items_, model.embedding_ = model.items_[:n], old_points


def _caption(model: PlacingEmbedder, placed: Placed, there: np.ndarray) -> str:
    n_new = int(there.sum())
    items = f"{n_new:,} new item{'s' * (n_new != 1)}"
    text = f"{items} on the map of {len(model.items_):,} by {type(model).__name__}."
    if model.embedding_.shape[1] == 2 and np.isfinite(placed.covariance[there]).any():
        text += " Ellipses: 95 %, the map taken to be exact."
    return text
