"""Different integers numbered and found: by marks where they are dense, else by one sort."""

import numpy as np

DENSE = 4  # numbers up to so many times as many as there are values are marked in a table


def numbered(values: np.ndarray) -> np.ndarray:
    """Number the different values of an array of integers (m,) from 0, in their order.

    ``np.unique(values, return_inverse=True)[1]``, in a fraction of the time.

    Examples
    --------
    >>> numbered(np.array([7, -3, 7, 1_000_000])).tolist()
    [1, 0, 1, 2]
    """
    least, bits = int(values.min()), len(values).bit_length()
    span = int(values.max()) - least + 1
    if span.bit_length() + bits > 63:
        return np.unique(values, return_inverse=True)[1].reshape(-1)
    values = values.astype(np.int64, copy=False) - least
    if span <= DENSE * len(values):
        return (np.cumsum(_marked(values, span)) - 1)[values]
    # Value and place in one number: sorting those is far quicker than sorting places by values.
    packed = (values << bits) | np.arange(len(values))
    packed.sort()
    numbers = np.empty(len(values), np.int64)
    numbers[packed & ((1 << bits) - 1)] = np.cumsum(_fresh(packed >> bits)) - 1
    return numbers


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the different values of an array of integers (m,), in order.

    ``np.unique`` hashes them, which takes far longer than sorting.

    Examples
    --------
    >>> distinct(np.array([7, -3, 7, 1_000_000])).tolist()
    [-3, 7, 1000000]
    """
    least = int(values.min())
    span = int(values.max()) - least + 1
    if span <= DENSE * len(values):
        return np.flatnonzero(_marked(values - least, span)) + least
    in_order = np.sort(values)
    return in_order[_fresh(in_order)]


def _marked(values: np.ndarray, span: int) -> np.ndarray:
    marks = np.zeros(span, bool)
    marks[values] = True
    return marks


def _fresh(in_order: np.ndarray) -> np.ndarray:
    """Mark the first of each of the equal values."""
    return np.concatenate([[True], in_order[1:] != in_order[:-1]])
