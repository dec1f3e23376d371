"""Fitted models as folders that other programs open too: a JSON file and a CSV table, no pickles.

model.json      a schema number, the method, its parameters and what the fit found
embedding.csv   label, dim1, dim2, ...: the map; se1, se2, ...: standard errors of the coordinates;
                of more than a million items a folder of Parquet files, embedding.parquet
covariance.npy  each item's covariance (n, d, d), of methods that know how sure a map is
"""

import json
import os
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ordinate import __version__
from ordinate._base.messages import Either, Message
from ordinate._base.writing import whole_file, whole_folder, write_json
from ordinate.algorithms.dimension_choice import DimensionChoice
from ordinate.estimators.base import Embedder
from ordinate.estimators.uncertain import IN_WORDS, Covariance, UncertainEmbedder
from ordinate.files.maps import map_in, map_name, read_map, write_map

SCHEMA = 1
MODEL, COVARIANCE = "model.json", "covariance.npy"
# The map is a table of its own; longer arrays than this are no summary of a fit.
IN_THE_TABLE, LONGEST = ("embedding_", "items_"), 10_000
RECORDS = {"dimension_": DimensionChoice}  # what is kept as a dict, and made of it again


def save(model: Embedder, folder: str | os.PathLike, *, force: bool = False) -> None:
    """Write a fitted model to a folder; see :meth:`Embedder.save`."""
    known = known_covariance(model)
    with whole_folder(folder, force=force) as new:
        table = new / map_name(len(model.items_))
        write_map(table, model.items_, model.embedding_, standard_errors(known))
        write_model(new / MODEL, model, known)


def known_covariance(model: Embedder) -> Covariance | None:
    """What is known of how sure a map is, if the method tells and its answers are still there.

    No map is lost because that cannot be computed: a warning says so.
    """
    if (
        not isinstance(model, UncertainEmbedder)
        or not {"_covariance", "_data"} & vars(model).keys()
    ):
        return None
    if model._tells_only_if_asked and "_covariance" not in vars(model):
        warnings.warn(
            "standard errors are not saved: they would bring the scores of all items here from "
            "the cluster. Ask for covariance_ first if there is room for them",
            UserWarning,
            stacklevel=2,
        )
        return None
    try:
        return model._known_covariance()
    except (MemoryError, OSError, ArithmeticError, np.linalg.LinAlgError) as error:
        warnings.warn(
            f"how sure the map is could not be computed, and is not saved: {error}",
            UserWarning,
            stacklevel=2,
        )
        return None


def standard_errors(known: Covariance | None) -> dict[str, np.ndarray]:
    """Columns se1, se2, ... of a map's table; none where they are not known."""
    if known is None:
        return {}
    errors = np.sqrt(np.diagonal(known.values, axis1=1, axis2=2))
    return {f"se{k}": column for k, column in enumerate(errors.T, start=1)}


def write_model(path: Path, model: Embedder, known: Covariance | None = None) -> None:
    """Write ``model.json``, beside which the table of the map belongs, and the covariance."""
    if known is not None:
        with whole_file(path.with_name(COVARIANCE)) as partial, partial.open("wb") as file:
            np.save(file, known.values)
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    parameters, no_parameters = _plain(model.get_params(deep=False))
    found, not_found = _plain({k: v for k, v in fitted.items() if k not in IN_THE_TABLE})
    record = {
        "schema": SCHEMA,
        "ordinate": __version__,
        "method": type(model).__name__,
        "parameters": parameters,
        "labels": _kind(model.items_),
        "shape": list(model.embedding_.shape),
        "covariance": None if known is None else {"by": known.kind, "doubt": known.doubt},
        "fitted": found,
        "not_kept": sorted(no_parameters + not_found),
    }
    write_json(path, record)


def load(folder: str | os.PathLike) -> Embedder:
    """Read a fitted model: what ``model.save(folder)`` or ``ordinate fit`` left.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    Embedder
        Of the class that was fitted, ready to predict and to be drawn. Parameters and attributes
        that a file of text cannot hold, such as an array given as a start, have their defaults or
        are missing; ``model.json`` names them under ``not_kept``.

    Raises
    ------
    ValueError
        The folder holds no such model, or one of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> import ordinate
    >>> triplets = ordinate.sample_triplets(
    ...     ordinate.sample_points(20, random_state=0), 2000, random_state=0
    ... )
    >>> model = ordinate.STE(random_state=0).fit(triplets)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/animals")
    ...     again = ordinate.load(f"{folder}/animals")
    >>> again
    STE(random_state=0)
    >>> bool((again.predict(triplets) == model.predict(triplets)).all())
    True
    """
    folder = Path(folder)
    try:
        record = json.loads((folder / MODEL).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(
            Message(
                f"{folder} holds no {MODEL}: give a folder ",
                Either("of model.save or of `ordinate fit`", "that `ordinate fit` wrote"),
            )
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{folder / MODEL} cannot be read: {error}") from None
    where = map_in(folder)
    table = read_map(where)
    try:
        if record["schema"] > SCHEMA:
            raise ValueError(
                f"it has schema {record['schema']}, of ordinate {record['ordinate']}; this one "
                f"knows {SCHEMA}: update ordinate"
            )
        kind = getattr(import_module("ordinate.estimators"), str(record["method"]), None)
        if not (isinstance(kind, type) and issubclass(kind, Embedder)):
            raise ValueError(f"there is no method {record['method']!r}")
        model = kind(**record["parameters"])
        for name, value in dict(record["fitted"]).items():
            if not name.endswith("_") or name.startswith("_") or hasattr(kind, name):
                raise ValueError(f"a fit finds nothing called {name!r}")
            if name in RECORDS and value is not None:
                value = RECORDS[name].from_dict(value)
            numbers = isinstance(value, list) and not any(isinstance(v, dict) for v in value)
            setattr(model, name, np.array(value) if numbers else value)
        model.items_ = _labels(table.labels, record["labels"])
        by = dict(record.get("covariance") or {})
        if by and not (by["by"] in IN_WORDS and isinstance(by["doubt"], (str, type(None)))):
            raise ValueError(f"there is no covariance by {by['by']!r}")
        if record["shape"] != list(table.points.shape):
            raise ValueError(
                f"it says that the map is {record['shape']}, items and dimensions, but "
                f"{where.name} has {list(table.points.shape)}"
            )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{folder / MODEL} is no model: {error}") from error
    model.embedding_ = table.points
    if isinstance(model, UncertainEmbedder) and by:
        values = _covariance(folder / COVARIANCE, *table.points.shape)
        known = Covariance(values, by["by"], by["doubt"])
        if _belongs(known, table.columns):
            model._covariance = known
        else:
            warnings.warn(
                f"{where} has other standard errors than {COVARIANCE} beside it: it was "
                "sorted or changed since, so that the covariance is not used",
                UserWarning,
                stacklevel=2,
            )
    return model


def _belongs(known: Covariance, columns: Mapping[str, Any]) -> bool:
    """Whether covariances are those of a table, as far as its standard errors tell."""
    return all(
        name not in columns
        or np.allclose(np.array(columns[name], float), errors, rtol=1e-6, equal_nan=True)
        for name, errors in standard_errors(known).items()
    )


def _covariance(path: Path, n_items: int, n_components: int) -> np.ndarray:
    """Read what was saved of a map of this size."""
    try:
        found = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged header may be any error of Python's own parser
        raise ValueError(f"{path} cannot be read: {error}") from None
    shape = (n_items, n_components, n_components)
    if not isinstance(found, np.ndarray) or found.dtype.kind != "f" or found.shape != shape:
        raise ValueError(
            f"{path} must hold numbers of shape {shape}, a covariance for each item of the map; it "
            f"holds {getattr(found, 'dtype', 'several arrays')} of shape "
            f"{getattr(found, 'shape', 'unknown')}"
        )
    return found


def _plain(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what JSON can hold, and the names of the rest."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, DimensionChoice):
            value = value.as_dict()
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf":
            if len(value) <= LONGEST and np.isfinite(value).all():
                kept[name] = value.tolist()
        elif _is_plain(item := value.item() if isinstance(value, np.generic) else value):
            kept[name] = item
    return kept, [name for name in values if name not in kept]


def _is_plain(value: Any) -> bool:
    """Tell whether JSON can hold it: a text, a number or neither, or tables of such."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(isinstance(item, (dict, int, float)) and _is_plain(item) for item in value)
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return value is None or isinstance(value, (str, bool, int))


def _kind(labels: np.ndarray) -> str:
    """Tell what the labels are, so that text can become what they were."""
    if labels.dtype.kind == "i":
        return "integers"
    strange = {type(label).__name__ for label in labels} - {"str"}
    if strange:
        raise ValueError(
            f"labels must be texts or whole numbers to be written to a file; there are "
            f"{', '.join(sorted(strange))}: give the items such names before the fit"
        )
    return "texts"


def _labels(texts: list[str], kind: str) -> np.ndarray:
    if kind == "integers":
        return np.array([int(text) for text in texts], np.int64)
    if kind != "texts":
        raise ValueError(f"labels are integers or texts, not {kind!r}")
    labels = np.empty(len(texts), object)
    labels[:] = texts
    return labels
