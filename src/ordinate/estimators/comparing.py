"""Two maps in any form beside each other: the door to :mod:`ordinate.evaluation.comparison`."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base.messages import Message, Option, message_of
from ordinate.data.triplets import is_table
from ordinate.estimators.base import Embedder
from ordinate.estimators.saving import MODEL, load
from ordinate.evaluation.comparison import Comparison, Map, compare_maps, doubt_of
from ordinate.evaluation.permutation import N_PERMUTATIONS, compare_answers
from ordinate.files.inputs import as_triplets
from ordinate.files.maps import DIMENSION, MAPS, map_in, read_map

FORMS = (
    "a fitted model, a folder of model.save or of `ordinate fit`, the path of an embedding.csv, a "
    "DataFrame of one (label, dim1, dim2, ...), an array (n, d), or a pair of labels and an array"
)


def compare(
    first: Any,
    second: Any,
    *,
    answers: tuple[Any, Any] | None = None,
    estimator: Embedder | None = None,
    by: str = "auto",
    n_permutations: int = N_PERMUTATIONS,
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Tell how far two maps of the same items are apart, and whether that is more than chance.

    The second map is laid onto the first: moved, turned, mirrored and stretched. What is left is
    held against the covariances of both maps; or, better, against maps of answers dealt anew,
    where the answers themselves are given.

    Parameters
    ----------
    first, second : maps
        A fitted model, a folder that ``model.save`` or ``ordinate fit`` wrote, the path of an
        ``embedding.csv``, a DataFrame of one, an array (n, d), or a pair of labels and an array.
        Items are matched by label; arrays without labels by row.
    answers : pair of triplets in any form, optional
        What the first and the second map were made from. Both are then fitted anew, and again and
        again to answers dealt anew, which takes a few hundred fits: see
        :func:`ordinate.evaluation.permutation.compare_answers`.
    estimator : Embedder, optional
        What fits them; by default the first map's model.
    by : {"auto", "answer", "participant"}
        What is dealt anew: participants, where the answers name them and nobody is in both sets;
        else answers.
    n_permutations : int
        How often.
    random_state : int, Generator or None
        For dealing.
    tell : function of str
        Called before each fit.

    Returns
    -------
    Comparison
        ``print(comparison.sentence)`` says what was found.

    Examples
    --------
    >>> from ordinate import STE, compare, sample_points, sample_triplets
    >>> points = 3 * sample_points(20, random_state=0)
    >>> models = [
    ...     STE(2, random_state=0).fit(sample_triplets(points, 8000, random_state=seed))
    ...     for seed in (1, 2)
    ... ]
    >>> bool(compare(*models).error < 0.2)
    True
    """
    if answers is None:
        maps = as_map(first), as_map(second)
        _warn_of_doubt(*maps)
        return compare_maps(*maps)
    if len(answers) != 2:
        raise ValueError(f"answers must be two sets, one for each map; got {len(answers)}")
    fitted_by = estimator if estimator is not None else _model_of(first)
    if fitted_by is None:
        raise ValueError(
            "answers are fitted anew, and the first map does not say how it was made: give an "
            "estimator, such as estimator=STE(2)"
        )
    return compare_answers(
        fitted_by,
        *(as_triplets(each) for each in answers),
        by=by,
        n_permutations=n_permutations,
        random_state=random_state,
        tell=tell,
    )


def as_map(given: Any) -> Map:
    """Take a map in any form that :func:`compare` knows."""
    if isinstance(given, Map):
        return given
    if isinstance(given, Embedder):
        check_is_fitted(given, "embedding_")
        return Map(given.items_.tolist(), given.embedding_, *_covariance(given))
    if isinstance(given, (str, os.PathLike)):
        return _of_path(Path(given))
    if is_table(given):
        return _of_table(given)
    if isinstance(given, tuple) and len(given) == 2:
        items, points = given
        return Map(list(items), _array(points, len(items)))
    points = _array(given)
    return Map(list(range(len(points))), points)


def _model_of(given: Any) -> Embedder | None:
    """Return the model behind a map, where there is one."""
    if isinstance(given, Embedder):
        return given
    if isinstance(given, (str, os.PathLike)):
        folder = _folder(Path(given))
        return load(folder) if (folder / MODEL).exists() else None
    return None


def _folder(path: Path) -> Path:
    table = map_in(path)
    return table.parent if table.name in MAPS else path


def _of_path(path: Path) -> Map:
    """Read a folder with its model, or a table alone; labels are texts, as in the table."""
    table = read_map(map_in(path))
    model = None
    if (_folder(path) / MODEL).exists():
        try:
            model = load(_folder(path))
        except ValueError as error:
            told = Message(f"the model beside {path} is not used: ", message_of(error))
            warnings.warn(UserWarning(told), stacklevel=2)
    return Map(table.labels, table.points, *_covariance(model))


def _of_table(table: Any) -> Map:
    names = list(getattr(table, "column_names", table.columns))
    found = sum(str(name).startswith(DIMENSION) and str(name)[3:].isdigit() for name in names)
    wanted = ["label", *(f"{DIMENSION}{k}" for k in range(1, found + 1))]
    if not found or not {*wanted} <= {*names}:
        raise ValueError(
            f"a table of a map needs the columns label, dim1, dim2, ...; it has {names}"
        )
    labels, *columns = (np.asarray(table[name]) for name in wanted)
    return Map(labels.tolist(), _array(np.column_stack(columns), len(labels)))


def _array(points: Any, n: int | None = None) -> np.ndarray:
    try:
        X = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"a map must be {FORMS}; got {type(points).__name__}") from None
    if X.ndim != 2 or 0 in X.shape or (n is not None and len(X) != n):
        beside = "" if n is None else f" and {n:,} labels"
        raise ValueError(f"a map must be {FORMS}; got an array of shape {X.shape}{beside}")
    return X


def _covariance(model: Embedder | None) -> tuple[np.ndarray | None, str | None]:
    """Return the covariances of a model, None where it has none, and what makes them doubtful."""
    found = getattr(model, "covariance_", None)
    if found is None:
        return None, None
    return np.asarray(found, dtype=float), getattr(model, "covariance_doubt_", None)


def _warn_of_doubt(first: Map, second: Map) -> None:
    """Say which map's covariances are doubtful, where both have some, so that chance is told."""
    if first.covariance is None or second.covariance is None:
        return
    doubt = doubt_of(first, second)
    if doubt is not None:
        told = Message(
            f"what is said of chance is not to be trusted: {doubt}. Give the ",
            Option("answers", ...),
            " too: dealt anew, they tell exactly",
        )
        warnings.warn(UserWarning(told), stacklevel=3)
