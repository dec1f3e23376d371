import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import answers


def named(triplets):
    return [tuple(row) for row in triplets.items[triplets.rows]]


def test_odd_one_out():
    triplets = answers.odd_one_out(["p", "o"], ["q", "c"], ["w", "x"], participant=["Ida", "Bo"])
    assert named(triplets) == [("p", "q", "w"), ("q", "p", "w"), ("o", "c", "x"), ("c", "o", "x")]
    assert triplets.answer.tolist() == [0, 0, 1, 1]
    assert triplets.participant_labels[triplets.participant].tolist() == ["Ida", "Ida", "Bo", "Bo"]


def test_most_central():
    triplets = answers.most_central([1, 4], [2, 5], [3, 6], centre=[2, 6])
    assert named(triplets) == [(1, 2, 3), (3, 2, 1), (4, 6, 5), (5, 6, 4)]
    assert triplets.answer.tolist() == [0, 0, 1, 1]
    with pytest.raises(
        ValueError, match=r"row 1: centre is 1, not one of \[4, 5, 6\].*1 such rows"
    ):
        answers.most_central([1, 4], [2, 5], [3, 6], centre=[2, 1])


@given(st.integers(1, 5), st.integers(1, 5))
def test_selection_compares_each_chosen_with_each_left(k, left):
    shown = [f"item {i}" for i in range(k + left)]
    triplets = answers.selection(["q", "q"], [shown, shown], [shown[:k], shown[-1:]])
    first = [row for row, a in zip(named(triplets), triplets.answer, strict=True) if a == 0]
    assert first == [("q", near, far) for near in shown[:k] for far in shown[k:]]
    assert (triplets.answer == 1).sum() == k + left - 1


def test_selection_that_compares_nothing_is_refused():
    with pytest.raises(ValueError, match="answer 1 chose every item shown"):
        answers.selection("qq", ["ab", "ab"], ["a", "ab"])
    with pytest.raises(ValueError, match="answer 0 chose no item"):
        answers.selection("q", ["ab"], [""])
    with pytest.raises(ValueError, match="lengths"):
        answers.selection("q", ["ab", "cd"], ["a"])
    with pytest.raises(ValueError, match="empty"):
        answers.selection([], [], [])


@given(st.integers(2, 7))
def test_rankings(n):
    ranked = [f"item {i}" for i in range(n)]
    every = answers.ranking(["q"], [ranked])
    assert len(every) == n * (n - 1) // 2
    assert all(near < far for _, near, far in named(every))
    adjacent = answers.ranking(["q"], [ranked], pairs="adjacent")
    assert named(adjacent) == [("q", a, b) for a, b in itertools.pairwise(ranked)]


def test_rankings_need_two_items():
    with pytest.raises(ValueError, match="answer 1 ranks 1 items"):
        answers.ranking("qr", ["ab", "a"])
    with pytest.raises(ValueError, match="pairs must be one of"):
        answers.ranking("q", ["ab"], pairs="some")


def test_responses():
    columns = (["a", "a"], ["b", "b"], ["c", "c"])
    plus = answers.responses(*columns, sign=[1, -1], participant=[7, 8])
    assert named(plus) == [("a", "b", "c"), ("a", "c", "b")]
    assert plus.answer.tolist() == [0, 1]
    assert plus.participant_labels.tolist() == [7, 8]
    assert named(answers.responses(*columns, sign=[-1, 1], positive="second")) == named(plus)
    assert named(answers.responses(*columns, winner=["b", "c"])) == named(plus)
    with pytest.raises(ValueError, match="row 1: sign is 0"):
        answers.responses(*columns, sign=[1, 0])
    with pytest.raises(ValueError, match=r"row 0: winner is 'z', not one of \['b', 'c'\]"):
        answers.responses(*columns, winner=["z", "c"])
    for both in ({}, {"sign": [1, 1], "winner": ["b", "c"]}):
        with pytest.raises(ValueError, match="either sign"):
            answers.responses(*columns, **both)


def test_votes():
    triplets = answers.votes([0, 0, 5], [1, 1, 1], [2, 3, 0], [4, 0, 1], [1, 2, 1])
    assert named(triplets) == [(0, 1, 2), (0, 2, 1), (0, 3, 1), (5, 1, 0), (5, 0, 1)]
    assert triplets.weight.tolist() == [4, 1, 2, 1, 1]
    assert triplets.answer.tolist() == [0, 0, 1, 2, 2]
    with pytest.raises(ValueError, match="row 0: nobody voted"):
        answers.votes([0], [1], [2], [0], [0])
    with pytest.raises(ValueError, match="row 0: votes are"):
        answers.votes([0], [1], [2], [-1], [3])


def test_labels_can_be_given_and_participants_counted():
    assert answers.odd_one_out([0], [1], [2], items=range(9)).n_items == 9
    assert answers.ranking([0], [[1, 2]], items=range(9)).n_items == 9
    with pytest.raises(ValueError, match="participant must have one value per row: 1 rows"):
        answers.odd_one_out([0], [1], [2], participant=["a", "b"])
    with pytest.raises(ValueError, match="participant must have one value"):
        answers.ranking([0], [[1, 2]], participant=["a", "b"])
    assert isinstance(answers.ranking([0], [[1, 2]], participant=["a"]).participant, np.ndarray)
