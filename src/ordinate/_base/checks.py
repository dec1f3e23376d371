"""Every check of user input and its message: what was given, what is allowed, what to do."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ordinate._base.messages import Message, Option

WEIGHTS = (1e-12, 1e12)  # of a row, least and largest


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise if ``value`` is not one of the words allowed."""
    allowed = list(allowed)
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(_about(name, f" must be one of {words}; got {value!r}"))


def check_whole(name: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` as an int, or raise if it is not a whole number in the range."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < least or (most is not None and value > most):
        upto = "" if most is None else f" and at most {most:,}"
        raise ValueError(
            _about(name, f" must be a whole number of at least {least:,}{upto}; got {value!r}")
        )
    return int(value)


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float = np.inf,
) -> float:
    """Return ``value`` as a float, or raise if it is not a finite number in the range."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    low = -np.inf if least is None else least
    if not number or not low <= value < below or (above is not None and value <= above):
        limit = f"of at least {least:g}" if above is None else f"above {above:g}"
        limit += f" and below {below:g}" if below < np.inf else ""
        raise ValueError(_about(name, f" must be a number {limit}; got {value!r}"))
    return float(value)


def refuse_masked(name: str, values: Any) -> None:
    """Raise if an array has masked values, which would count as any others."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        masked = np.array(values.mask).reshape(len(values), -1).any(axis=1)
        raise ValueError(
            f"{name}: row {masked.argmax()} has masked values ({masked.sum():,} such rows of "
            f"{len(values):,}); leave those rows out, as np.ma.compress_rows does"
        )


def check_points(name: str, points: Any) -> np.ndarray:
    """Return coordinates as a finite float array (n, d), or raise naming the first bad row."""
    refuse_masked(name, points)
    try:
        array = np.asarray(points, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an (n, d) array of numbers: {error}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be an (n, d) array; got shape {array.shape}")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{name} has {bad.sum():,} rows with NaN or infinite values, first at row "
            f"{bad.argmax()}: leave those items out, for example with points[finite_rows]"
        )
    return array


def check_length(name: str, values: Sequence | np.ndarray, n_rows: int) -> np.ndarray:
    """Return ``values`` as a one-dimensional array with one entry per row, or raise."""
    refuse_masked(name, values)
    array = np.asarray(values)
    if array.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one value per row: {n_rows:,} rows, but its shape is {array.shape}"
        )
    return array


def check_weights(weight: Any, *, where: str = "", first_row: int = 0) -> np.ndarray:
    """Return weights of consecutive rows as floats, or raise naming the first bad one.

    What is far from any number of observations would get lost in sums, or swallow all others.
    """
    low, high = WEIGHTS
    array = np.asarray(weight).astype(float)
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"{where}weights must be from {low:g} to {high:g}: row {first_row + row} has "
            f"{array[row]:g} ({bad.sum():,} such rows); drop rows that count for nothing, and "
            "multiply all weights by a number if they are too large or too small"
        )
    return array


def check_responses(y: Any, n_rows: int) -> np.ndarray:
    """Return True for each row that was answered as it stands, or raise.

    +1 and True say that the second item of the row is nearer to the first, -1 and False that the
    third is: cblearn's convention, and what ``predict`` returns.
    """
    refuse_masked("y", y)
    array = np.asarray(y)
    if array.shape != (n_rows,):
        raise ValueError(
            f"y must be one-dimensional, with one response per row: {n_rows:,} rows, but the shape "
            f"of y is {array.shape}; leave y out if every row says (anchor, near, far)"
        )
    if array.dtype.kind == "O":  # as columns come that may lack values
        signs = np.array([_sign(value) for value in array.tolist()], float)
    elif array.dtype.kind == "b":
        return array
    else:
        signs = array if array.dtype.kind in "iuf" else np.full(n_rows, np.nan)
    bad = (signs != 1) & (signs != -1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"y must be +1 or -1, or True or False: y of row {row} is {array[row]!s} "
            f"({bad.sum():,} such rows of {n_rows:,}); {_remedy(signs)}"
        )
    return signs == 1


def _sign(value: Any) -> float:
    if isinstance(value, bool):
        return 1.0 if value else -1.0
    return float(value) if isinstance(value, Real) else np.nan


def _remedy(y: np.ndarray) -> str:
    if np.isin(y, (0, 1)).all():
        return (
            "0 and 1 may mean either item: give y == 1 if 1 calls the second item of a row nearer "
            "to the first, y == 0 if 1 calls the third"
        )
    if np.isin(y, (-1, 0, 1)).all():
        return "0 prefers neither: leave those rows out, X[y != 0] and y[y != 0]"
    return "leave rows without a response out, and turn others into +1 or -1, as by y == 'left'"


def check_integers(name: str, values: Any) -> np.ndarray:
    """Return an array of integers; floats must be whole, and the first that is not is named."""
    if hasattr(values, "tocsr"):
        raise TypeError(f"{name} must be a dense array; sparse ones are not taken: X.toarray()")
    if hasattr(values, "get_params"):
        raise TypeError(f"{name} must hold integer ids, got an estimator; see the arguments' order")
    refuse_masked(name, values)
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "c":  # in the words that scikit-learn wants
        raise ValueError(f"Complex data not supported: {name} must hold integer ids")
    if array.dtype.kind != "f":
        raise TypeError(
            f"{name} must hold integer ids, got {array.dtype} values; "
            "for labels of any other kind use Triplets.from_columns(anchor, near, far)"
        )
    whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)
    bad = ~whole if array.ndim == 1 else ~whole.all(axis=tuple(range(1, array.ndim)))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"{name} must hold integer ids: row {row} is {array[row].tolist()} "
            f"({bad.sum():,} such rows of {len(array):,}); drop or repair rows with missing values"
        )
    return array.astype(np.int64)


def refuse_class(estimator: Any) -> None:
    """Refuse the class of an estimator in the place of one."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator must be one with its settings, as {name}(), not the class")


def check_regularization(value: Any) -> None:
    """Raise if ``value`` is neither "auto" nor a number of at least 0."""
    if isinstance(value, str):
        check_choice(_about("regularization", " (if it is a word)"), value, ("auto",))
    else:
        check_number(_about("regularization", " (unless 'auto')"), value, least=0)


def check_callback(value: Any) -> None:
    """Raise if ``value`` is neither None nor a function."""
    if value is not None and not callable(value):
        raise TypeError(
            f"callback must be None or a function of one argument, the step; got {value!r}"
        )


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Turn any of NumPy's and scikit-learn's seeds into the root of all random numbers.

    None draws a fresh seed; a generator (``Generator`` or ``RandomState``) is advanced.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**63, size=2).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**31, size=4).tolist())
    if random_state is None:
        return np.random.SeedSequence()
    return np.random.SeedSequence(check_whole("random_state", random_state, least=0))


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for any seed that :func:`seed_sequence` takes, a Generator as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def _about(name: str, text: str) -> Message:
    """Say something about what was given: an option, unless its name is more than a word."""
    return Message(Option(name) if name.isidentifier() else name, text)
