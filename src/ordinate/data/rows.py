"""Rows of triplets as a plain array ``(m, 3)``: checking them, and grouping them by anchor."""

from types import ModuleType
from typing import Any

import numpy as np

from ordinate._base.checks import check_integers, check_whole
from ordinate._base.messages import Either, Message
from ordinate._base.threads import blocks, n_threads, run
from ordinate.kernels import backends

LARGEST_ID = np.iinfo(np.int32).max - 1
SCAN_BLOCK = 1 << 20
FEW_ROWS = 1 << 18


def check_rows(rows: Any, n_items: int | None) -> tuple[np.ndarray, int, bool]:
    """Return sound rows as a read-only int32 array, or raise.

    Also returns the number of items, and whether the anchors are in order.
    """
    if n_items is not None:
        n_items = check_whole("n_items", n_items, least=3, most=LARGEST_ID + 1)
    array = check_integers("triplets", rows)
    if array.size == 0:
        raise ValueError("there are no triplets: the input is empty")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(
            f"triplets must be an array of shape (m, 3), rows (anchor, near, far); "
            f"got shape {array.shape}"
        )
    array = read_only(np.ascontiguousarray(array))
    limit = LARGEST_ID + 1 if n_items is None else n_items
    parts = blocks(len(array), SCAN_BLOCK)
    # A few rows are scanned sooner than the compiled kernel is loaded.
    scan = backends.load("auto" if len(array) > FEW_ROWS else "numpy").scan_rows
    scans = run(lambda part: scan(array[part], limit), parts)
    n_bad = sum(bad for bad, _, _, _ in scans)
    if n_bad:
        first = next(p.start + at for p, (bad, at, _, _) in zip(parts, scans, strict=True) if bad)
        what = bad_row(first, array[first].tolist(), limit)
        raise ValueError(f"{what} ({n_bad:,} bad rows of {len(array):,})")
    if n_items is None:
        n_items = count_items(max(largest for _, _, largest, _ in scans), len(array))
    lasts = array[[part.stop - 1 for part in parts[:-1]], 0]
    firsts = array[[part.start for part in parts[1:]], 0]
    in_order = all(ordered for *_, ordered in scans) and bool((firsts >= lasts).all())
    return read_only(array.astype(np.int32, copy=False)), n_items, in_order


def bad_row(row: int, ids: list[int], n_items: int) -> str:
    """Say what is wrong with a row."""
    if len(set(ids)) < 3:
        what = "names an item twice; the three items of a triplet must differ"
    elif min(ids) < 0:
        what = "has a negative id; ids count from 0"
    else:
        what = f"has an id beyond {n_items - 1:,}, the last of n_items={n_items:,}"
        if max(ids) == n_items:
            what += " (do the ids count from 1? then subtract 1)"
    return f"row {row} {ids} {what}"


def are_labels(largest: int, n_rows: int) -> bool:
    """Tell whether numbers from 0 are too large for ids, and would fill the memory as such.

    m rows name at most 3m items.
    """
    return largest >= max(1_000_000, 30 * n_rows)


def count_items(largest: int, n_rows: int) -> int:
    """Return the number of items if ids reach ``largest``, or raise if that makes no sense."""
    if are_labels(largest, n_rows):
        raise ValueError(
            Message(
                f"ids reach {largest:,} in {n_rows:,} rows, so that almost all items would be in "
                "no row: ",
                Either(
                    "pass labels with Triplets.from_columns(anchor, near, far), or n_items if this "
                    "is what you mean",
                    "if these are labels, write them to a CSV file with the columns anchor, near "
                    "and far",
                ),
            )
        )
    return largest + 1


def group_by_anchor(
    rows: np.ndarray,
    n_items: int,
    backend: ModuleType,
    columns: tuple[np.ndarray, ...] = (),
    *,
    in_order: bool = False,
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """Bring rows with equal anchors together, anchors in increasing order.

    Rows of one anchor keep their order. Rows already in order are neither read nor copied.

    Parameters
    ----------
    rows : ndarray of int32, shape (m, 3)
    n_items : int
    backend : module
    columns : tuple of ndarray, each of shape (m,)
        Numbers that go with the rows.
    in_order : bool
        The anchors are known to be in order.

    Returns
    -------
    rows : ndarray, shape (m, 3)
    starts : ndarray of int64, shape (n_items + 1,)
        The rows of anchor i are ``rows[starts[i]:starts[i + 1]]``.
    columns : tuple of ndarray
    """
    if in_order:
        return rows, backend.anchor_starts(rows, n_items), columns
    # The sort is stable, so that the number of parts does not show in the result.
    parts = blocks(len(rows), -(-len(rows) // n_threads()))
    counts = np.array(run(lambda part: backend.count_anchors(rows[part], n_items), parts))
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    free = starts[:-1] + np.cumsum(counts, axis=0) - counts

    def sort(values: np.ndarray) -> np.ndarray:
        out = np.empty(values.shape, values.dtype)
        places = free.copy()
        run(
            lambda i: backend.scatter_by_anchor(rows[parts[i]], values[parts[i]], places[i], out),
            range(len(parts)),
        )
        return out

    return sort(rows), starts, tuple(sort(column[:, None])[:, 0] for column in columns)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
