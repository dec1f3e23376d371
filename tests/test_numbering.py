"""Different integers, numbered and found: as NumPy does it, on every way."""

import pickle

import numpy as np
import pytest

from ordinate import Triplets, advice, sample_points, sample_triplets
from ordinate.data import numbering, summary
from ordinate.data.numbering import distinct, numbered
from ordinate.data.rows import FEW_ROWS

CASES = {
    "one": [5],
    "dense": [3, 0, 3, 2, 2],
    "dense, far from 0": [1_000_003, 1_000_000, 1_000_003],
    "negative": [-7, 3, -7, -8],
    "sparse": [10**12, 5, 10**12, 0, 7],
    "too wide to be packed": [-(2**62), 2**62, 0, 2**62],
}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64])
def test_integers_are_numbered_as_by_numpy(values, dtype):
    if min(values) < np.iinfo(dtype).min or max(values) > np.iinfo(dtype).max:
        values = np.abs(values) % 1000
    array = np.array(values, dtype)
    expected, numbers = np.unique(array, return_inverse=True)
    assert numbered(array).tolist() == numbers.tolist()
    assert distinct(array).tolist() == expected.tolist()


def test_each_way_of_numbering_is_taken(monkeypatch):
    taken = []
    for name in ("_marked", "_fresh"):
        function = getattr(numbering, name)
        monkeypatch.setattr(
            numbering, name, lambda *a, f=function, n=name: (taken.append(n), f(*a))[1]
        )
    for case in ("dense", "sparse", "too wide to be packed"):
        numbered(np.array(CASES[case]))
    assert taken == ["_marked", "_fresh"]


def test_what_was_found_is_not_found_again(monkeypatch):
    drawn = sample_triplets(sample_points(20, random_state=0), 600, random_state=0)
    triplets = Triplets(drawn.rows, answer=np.arange(600) // 2)
    calls = []
    for name in ("questions", "agreement", "summarise"):
        function = getattr(summary, name)
        monkeypatch.setattr(
            f"ordinate.data.triplets.{name}",
            lambda *a, f=function, n=name: (calls.append(n), f(*a))[1],
        )
    advice.problems(triplets)
    advice.problems(triplets, n_components=3)
    triplets.summarise()
    assert sorted(calls) == ["agreement", "questions", "summarise"]
    assert len(pickle.dumps(triplets)) < 1.1 * len(
        pickle.dumps(Triplets(triplets.rows, answer=triplets.answer))
    )


def test_parts_of_many_rows_are_those_of_few():
    n_rows = FEW_ROWS + 3
    rows = np.tile([[0, 1, 2], [3, 4, 5], [6, 7, 8]], (n_rows // 3 + 1, 1))
    assert Triplets(rows).summarise().n_parts == 3
    assert Triplets(rows[:3]).summarise().n_parts == 3
    joined = np.vstack([rows, [[2, 5, 8]]])
    assert Triplets(joined).summarise().n_parts == 1
    assert Triplets(joined[-4:]).summarise().n_parts == 1
