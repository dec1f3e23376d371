import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import triplet_rows

import ordinate
from ordinate import Triplets
from ordinate.data.rows import group_by_anchor, read_only
from ordinate.kernels import backends


@given(triplet_rows(), st.integers(1, 4))
def test_grouping_is_a_stable_sort_by_anchor(data, n_threads):
    rows, n_items = data
    rows = read_only(rows.astype(np.int32))
    tag = np.arange(len(rows), dtype=float)
    expected = rows[np.argsort(rows[:, 0], kind="stable")]
    for name in ("numpy", "numba"):
        with ordinate.threads(n_threads):
            grouped, starts, (tags,) = group_by_anchor(rows, n_items, backends.load(name), (tag,))
        assert (grouped == expected).all()
        assert (rows[tags.astype(int)] == grouped).all()
        assert starts[0] == 0
        assert starts[-1] == len(rows)
        for anchor in range(n_items):
            assert (grouped[starts[anchor] : starts[anchor + 1], 0] == anchor).all()


@given(triplet_rows())
def test_starts_of_rows_in_order(data):
    rows, n_items = data
    rows = read_only(rows[np.argsort(rows[:, 0])].astype(np.int32))
    expected = [int((rows[:, 0] < item).sum()) for item in range(n_items + 1)]
    for name in ("numpy", "numba"):
        assert backends.load(name).anchor_starts(rows, n_items).tolist() == expected


def test_order_is_known_without_another_look():
    rows = np.repeat([[0, 1, 2], [1, 0, 2], [2, 0, 1]], 900_000, axis=0)
    assert Triplets(rows)._in_order
    assert Triplets(rows)[::3]._in_order
    rows[-1] = [0, 1, 2]
    assert not Triplets(rows)._in_order
    rows = np.concatenate([rows[1_048_576 : 2 * 1_048_576], rows[:1_048_576]])
    assert not Triplets(rows)._in_order


def test_rows_in_order_are_not_copied(backend):
    rows = read_only(np.array([[0, 1, 2], [0, 2, 1], [3, 1, 2]], np.int32))
    grouped, starts, _ = group_by_anchor(rows, 5, backend, in_order=True)
    assert grouped is rows
    assert starts.tolist() == [0, 2, 2, 2, 3, 3]


@given(triplet_rows(), st.data())
def test_scan_finds_every_bad_row_in_both_backends(data, draw):
    rows, n_items = data
    rows = rows.copy()
    n_bad = draw.draw(st.integers(0, len(rows)))
    bad = np.sort(np.random.default_rng(0).permutation(len(rows))[:n_bad])
    for k, row in enumerate(bad):
        rows[row] = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (-1, 0, 1), (0, n_items, 1)][k % 5]
    for dtype in (np.int32, np.int64):
        found = [
            backends.load(name).scan_rows(read_only(rows.astype(dtype)), n_items)
            for name in ("numpy", "numba")
        ]
        assert tuple(found[0]) == tuple(found[1])
        in_order = (np.diff(rows[:, 0]) >= 0).all()
        assert found[0] == (n_bad, bad[0] if n_bad else -1, rows.max(), in_order)


@pytest.mark.parametrize(
    ("rows", "n_items", "message"),
    [
        ([[0, 1, 2], [1, 1, 2]], None, r"row 1 \[1, 1, 2\] names an item twice.*1 bad rows of 2"),
        ([[0, 1, 2], [0, -1, 2], [0, -1, 3]], None, r"row 1 .* negative id.*2 bad rows of 3"),
        ([[1, 2, 3]], 3, r"row 0 .* beyond 2.*count from 1\?"),
        ([[0, 2, 30]], 3, r"row 0 .* beyond 2, the last of n_items=3 \("),
        ([[0, 1], [1, 2]], None, r"shape \(m, 3\).*\(2, 2\)"),
        ([0, 1, 2], None, r"shape \(m, 3\).*\(3,\)"),
        ([], None, "empty"),
        (np.empty((0, 3), int), None, "empty"),
        ([[0, 1, np.nan]], None, r"row 0 .*nan.*1 such rows of 1"),
        ([[0, 1, 2], [0, 1.5, 2]], None, r"row 1 is \[0.0, 1.5, 2.0\]"),
        ([[0, 1, 2**31]], None, "beyond"),
        ([[0, 1, 5_000_000]], None, "ids reach 5,000,000 in 1 rows.*from_columns"),
        ([[0, 1, 2]], 2, "n_items must be a whole number of at least 3"),
        ([[0, 1, 2]], 4.5, "n_items must be a whole number"),
    ],
)
def test_bad_rows_are_named(rows, n_items, message):
    with pytest.raises(ValueError, match=message):
        Triplets(rows, n_items=n_items)


@pytest.mark.parametrize("rows", [[["a", "b", "c"]], [[True, False, True]]])
def test_ids_that_are_not_numbers_point_to_labels(rows):
    with pytest.raises(TypeError, match="Triplets.from_columns"):
        Triplets(rows)


def test_whole_floats_are_ids_and_int32_is_not_copied():
    assert Triplets([[0.0, 1.0, 2.0]]).rows.dtype == np.int32
    rows = np.array([[0, 1, 2]], np.int32)
    assert np.shares_memory(Triplets(rows).rows, rows)


def test_a_bad_row_is_found_beyond_the_first_block():
    rows = np.tile([[0, 1, 2]], (3_000_000, 1))
    rows[2_500_000] = 1
    rows[2_900_000] = 1
    with pytest.raises(ValueError, match=r"row 2500000 \[1, 1, 1\].*2 bad rows of 3,000,000"):
        Triplets(rows)


def test_read_only_memory_maps_are_used_in_place(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[2, 1, 0], [0, 1, 2]], np.int32))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    triplets = Triplets(mapped)
    assert np.shares_memory(triplets.rows, mapped)
    assert triplets.grouped().triplets.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
