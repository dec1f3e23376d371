import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import triplet_rows

from ordinate import TripletKFold, Triplets, as_triplets

CATS = [("cat", "lynx", "dog"), ("dog", "fox", "cat"), ("lynx", "cat", "fish")]
COLUMNS = dict(zip(("anchor", "near", "far"), zip(*CATS, strict=True), strict=True))

labels = st.one_of(
    st.integers(-5, 2**40), st.text(max_size=5), st.tuples(st.integers(0, 9), st.text(max_size=2))
)


@given(triplet_rows(), st.data())
def test_labels_survive_whatever_they_are(data, draw):
    rows, n_items = data
    names = draw.draw(st.lists(labels, min_size=n_items, max_size=n_items, unique=True))
    named = [[names[i] for i in row] for row in rows]
    triplets = Triplets.from_columns(*zip(*named, strict=True))
    assert (
        triplets.items[triplets.rows].tolist() == named
        or [[triplets.items[i] for i in row] for row in triplets.rows] == named
    )
    kept = Triplets.from_columns(*zip(*named, strict=True), items=names)
    assert (kept.rows == rows).all()
    assert list(kept.items) == names


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype("category"),
        pd.DataFrame(COLUMNS).astype(object),
        pl.DataFrame(COLUMNS),
        pa.table({name: list(column) for name, column in COLUMNS.items()}),
        pa.table({name: pa.array(c).dictionary_encode() for name, c in COLUMNS.items()}),
        pa.concat_tables(
            [
                pa.table({name: [value] for name, value in zip(COLUMNS, row, strict=True)})
                for row in CATS
            ]
        ),
    ],
    ids=["pandas", "categories", "objects", "polars", "arrow", "dictionary", "chunks"],
)
def test_tables_of_labels(frame):
    triplets = as_triplets(frame)
    assert triplets.items.tolist() == ["cat", "dog", "fish", "fox", "lynx"]
    assert [tuple(row) for row in triplets.items[triplets.rows]] == CATS


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_integers_in_tables_are_labels_unless_the_items_are_counted(make):
    frame = make({"anchor": [10, 20], "near": [20, 30], "far": [30, 10]})
    triplets = as_triplets(frame)
    assert triplets.items.tolist() == [10, 20, 30]
    assert triplets.rows.tolist() == [[0, 1, 2], [1, 2, 0]]
    counted = as_triplets(frame, n_items=31)
    assert counted.rows.tolist() == [[10, 20, 30], [20, 30, 10]]
    assert counted.n_items == 31


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_extra_columns_come_along(make):
    frame = make(
        {
            "anchor": ["a", "b"],
            "near": ["b", "c"],
            "far": ["c", "a"],
            "answer": [7, 7],
            "participant": ["Ida", "Bo"],
            "weight": [2, 3],
        }
    )
    triplets = as_triplets(frame)
    assert len(np.unique(triplets.answer)) == 1
    assert triplets.participant_labels[triplets.participant].tolist() == ["Ida", "Bo"]
    assert triplets.weight.tolist() == [2, 3]
    again = as_triplets(triplets.to_arrow())
    assert (again.rows == triplets.rows).all()
    assert again.participant_labels[again.participant].tolist() == ["Ida", "Bo"]
    assert repr(again) == "Triplets(2 rows, 3 items, 1 answers, 2 participants)"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None, "a"], "near of row 1 is missing .1 such rows"),
        (pd.Series(["a", None, "a"]), "near of row 1 is missing"),
        (pl.Series(["a", None, "a"]), "near of row 1 is missing"),
        (pa.array(["a", None, "a"]), "near of row 1 is missing"),
        (["a", float("nan"), "a"], "near of row 1 is missing"),
        (np.array([1.0, np.nan, 1.0]), "near.* row 1 is nan"),
        ([1.0, 2.5, 1.0], "near.* row 1 is 2.5"),
        (["a", "a"], "equal lengths.*'near': 2"),
        (np.array([["a"] * 3]), "one-dimensional"),
    ],
)
def test_bad_columns_are_named(column, message):
    with pytest.raises(ValueError, match=message):
        Triplets.from_columns(["x", "x", "x"], column, ["z", "z", "z"])


def test_labels_given_must_be_complete_and_different():
    with pytest.raises(
        ValueError, match="anchor of row 2 is 'lynx', which is not among the labels"
    ):
        Triplets.from_columns(**COLUMNS, items=["cat", "dog", "fox", "fish"])
    with pytest.raises(ValueError, match="'a' stands at places 0 and 2 .1 repeated"):
        Triplets([[0, 1, 2]], items=["a", "b", "a"])
    with pytest.raises(ValueError, match="n_items is 4, but 3 items are named"):
        Triplets([[0, 1, 2]], items="abc", n_items=4)
    with pytest.raises(ValueError, match="missing among .*'a', 'near'.*rename"):
        as_triplets(pd.DataFrame({"a": [1], "near": [2], "far": [3]}))
    with pytest.raises(ValueError, match="names 5 items, but n_items is 9"):
        as_triplets(pd.DataFrame(COLUMNS), n_items=9)
    with pytest.raises(ValueError, match="n_items is 9, but the triplets have 3 items"):
        as_triplets(Triplets([[0, 1, 2]]), n_items=9)


def test_items_in_no_row_keep_their_place():
    triplets = Triplets.from_columns(["b"], ["d"], ["a"], items=["a", "b", "c", "d"])
    assert triplets.n_items == 4
    assert triplets.rows.tolist() == [[1, 3, 0]]
    assert Triplets([[0, 1, 2]], n_items=10).n_items == 10


@pytest.mark.parametrize("weight", [[1, 0], [1, np.nan], [1, -2], [1, np.inf]])
def test_weights_must_be_positive(weight):
    with pytest.raises(ValueError, match="row 1 has .*1 such rows"):
        Triplets([[0, 1, 2], [1, 2, 0]], weight=weight)


def test_columns_must_match_the_rows():
    for name in ("answer", "participant", "weight"):
        with pytest.raises(ValueError, match=f"{name} must have one value per row: 1 rows"):
            Triplets([[0, 1, 2]], **{name: [1, 2]})


def test_rows_are_taken_like_from_an_array():
    triplets = Triplets([[0, 1, 2], [1, 2, 0], [2, 0, 1]], answer=[5, 6, 7], n_items=8)
    for key in (slice(1, None), np.array([False, True, True]), [1, 2], (np.array([1, 2]), ...)):
        part = triplets[key]
        assert part.rows.tolist() == [[1, 2, 0], [2, 0, 1]]
        assert part.answer.tolist() == triplets.answer[1:].tolist()
        assert part.n_items == 8
    assert triplets[-1].rows.tolist() == [[2, 0, 1]]
    assert np.asarray(triplets).shape == triplets.shape == (3, 3)
    for key in ([], slice(0, 0), (0, 1)):
        with pytest.raises(IndexError):
            triplets[key]
    with pytest.raises(ValueError, match="read-only"):
        triplets.rows[0, 0] = 1


def test_pieces_share_labels_and_columns():
    triplets = Triplets(
        [[2, 0, 1], [0, 1, 2], [2, 1, 0]],
        items="abc",
        participant=["x", "y", "x"],
        weight=[1, 2, 3],
    )
    grouped = triplets.grouped().triplets
    assert grouped.weight.tolist() == [2, 1, 3]
    assert grouped.participant_labels[grouped.participant].tolist() == ["y", "x", "x"]
    assert grouped.items.tolist() == ["a", "b", "c"]


@given(triplet_rows(), st.integers(1, 20), st.floats(0.05, 0.95), st.integers(0, 100))
def test_splits_never_cut_through_an_answer(data, n_answers, test_size, seed):
    rows, n_items = data
    answer = np.random.default_rng(seed).integers(n_answers, size=len(rows))
    triplets = Triplets(rows, n_items=n_items, answer=answer, participant=answer % 3)
    if len(np.unique(answer)) < 2:
        with pytest.raises(ValueError, match="2 parts need at least 2 groups"):
            triplets.split(test_size)
        return
    train, test = triplets.split(test_size, random_state=seed)
    assert len(train) + len(test) == len(rows)
    assert not set(train.answer) & set(test.answer)
    # No closer share can be had by moving the group at the border.
    largest = np.bincount(answer).max()
    assert abs(len(test) - test_size * len(rows)) <= largest
    again = triplets.split(test_size, random_state=seed)
    assert (again[1].rows == test.rows).all()


@given(triplet_rows(), st.integers(2, 5), st.integers(0, 100))
def test_folds_partition_the_rows_by_answer(data, n_splits, seed):
    rows, n_items = data
    answer = np.random.default_rng(seed).integers(9, size=len(rows))
    triplets = Triplets(rows, n_items=n_items, answer=answer)
    folds = TripletKFold(n_splits, random_state=seed)
    if len(np.unique(answer)) < n_splits:
        with pytest.raises(ValueError, match=f"{n_splits} parts need"):
            list(folds.split(triplets))
        return
    tested = []
    for train, test in folds.split(triplets):
        assert len(test) > 0
        assert not set(answer[train]) & set(answer[test])
        assert sorted([*train, *test]) == list(range(len(rows)))
        tested += test.tolist()
    assert sorted(tested) == list(range(len(rows)))


def test_splitting_by_participant_and_row():
    triplets = Triplets(np.tile([[0, 1, 2]], (10, 1)), participant=list("aabbccddee"))
    train, test = triplets.split(0.4, by="participant", random_state=0)
    assert len(test) == 4
    assert not set(train.participant) & set(test.participant)
    one_answer = Triplets(triplets.rows, answer=np.zeros(10))
    assert len(one_answer.split(0.3, by="row", random_state=0)[1]) == 3
    with pytest.raises(ValueError, match="who answered"):
        one_answer.split(by="participant")
    with pytest.raises(ValueError, match="by must be one of"):
        one_answer.split(by="moon")
    with pytest.raises(ValueError, match="between 0 and 1"):
        one_answer.split(1.0)


def test_scikit_learn_takes_the_folds():
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import cross_val_score

    class CountsItems(BaseEstimator):
        def fit(self, X, y=None):
            self.n_items_ = X.n_items
            return self

        def score(self, X, y=None):
            return self.n_items_ + len(X) / 100

    rng = np.random.default_rng(0)
    rows = np.array([rng.choice(5, 3, replace=False) for _ in range(40)])
    triplets = Triplets(rows, n_items=50, answer=np.arange(40) // 2)
    scores = cross_val_score(CountsItems(), triplets, cv=TripletKFold(4, random_state=0))
    assert scores == pytest.approx([50.1] * 4)


def test_concatenation():
    labels = ["a", "b", "c"]
    first = Triplets([[0, 1, 2], [1, 0, 2]], items=labels, answer=[0, 0], participant=["x", "y"])
    second = Triplets([[2, 1, 0]], items=labels, answer=[0], participant=["x"], weight=[3])
    both = Triplets.concatenate([first, second])
    assert both.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert both.items.tolist() == labels
    assert both.answer.tolist() == [0, 0, 1]
    assert both.participant_labels[both.participant].tolist() == ["x", "y", "x"]
    assert both.weight.tolist() == [1, 1, 3]
    with pytest.raises(ValueError, match="same items"):
        Triplets.concatenate([first, Triplets([[0, 1, 2]])])
    with pytest.raises(ValueError, match="column answer"):
        Triplets.concatenate([first, Triplets([[0, 1, 2]], items=labels)])
    with pytest.raises(ValueError, match="no tables"):
        Triplets.concatenate([])
