"""Splits through answers make a map look better than it is, and are told once."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)

from ordinate import STE, TripletKFold, Triplets, sample_points, sample_triplets
from ordinate.evaluation.splits import n_cut

CUT = "rows belong to answers whose other rows the map was fitted to.*TripletKFold"
MODEL = STE(random_state=0, regularization=1.0)


def trials():
    """500 answers of two rows each; a new table each time, as warnings come once for each."""
    rows = sample_triplets(sample_points(15, random_state=0), 1000, random_state=1).rows
    return Triplets(rows, n_items=15, answer=np.repeat(np.arange(500), 2))


def told(action):
    """The warnings of an action, all of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(warning.message) for warning in caught]


def test_rows_dealt_at_random_are_told_once():
    table, rows = trials(), KFold(5, shuffle=True, random_state=0)
    with pytest.warns(UserWarning, match=CUT):
        cross_val_score(MODEL, table, cv=rows)
    assert told(lambda: cross_val_score(MODEL, table, cv=rows)) == []
    y = np.resize([1, -1], 1000)
    assert len(told(lambda: cross_val_score(MODEL, trials(), y, cv=rows))) == 1
    assert len(told(lambda: cross_val_score(MODEL, trials(), y, cv=rows, scoring="accuracy"))) == 1
    search = GridSearchCV(MODEL, {"n_components": [1, 2]}, cv=rows)
    assert len(told(lambda: search.fit(trials()))) == 1


def test_the_rows_are_counted():
    table = trials()
    cut = told(lambda: MODEL.fit(table[:301]).score(table[301:]))
    assert [message.partition(" belong")[0] for message in cut] == ["1 of 699 rows"]
    train, test = train_test_split(trials(), test_size=0.5, random_state=0)
    shared = np.isin(test.answer, train.answer).sum()
    assert told(lambda: MODEL.fit(train).predict(test))[0].startswith(f"{shared} of 500 rows")


@pytest.mark.parametrize("by", ["answer", "participant"])
def test_splits_by_answer_are_silent(by):
    table = trials()
    table = Triplets(table.rows, answer=table.answer, participant=table.answer % 10)
    folds = TripletKFold(4, by=by, random_state=0)
    assert told(lambda: cross_validate(MODEL, table, cv=folds, return_train_score=True)) == []
    train, test = table.split(0.3, by=by, random_state=0)
    assert told(lambda: MODEL.fit(train).score(test)) == []
    # Blocks that end where answers end are no worse.
    assert told(lambda: cross_val_score(MODEL, table, cv=5)) == []


def test_parts_of_answers_that_nobody_judges_otherwise_are_silent():
    table = trials()
    some = table[table.rows[:, 0] < 8]
    assert told(lambda: MODEL.fit(some).score(some)) == []
    assert told(lambda: MODEL.fit(table).score(table[7])) == []
    again = table[np.random.default_rng(0).integers(500, size=500).repeat(2) * 2 + [0, 1] * 500]
    assert told(lambda: MODEL.fit(again).score(again)) == []
    # Other tables may number their answers alike.
    assert told(lambda: MODEL.fit(trials()[::2]).score(trials()[1::2])) == []
    rows = Triplets(table.rows)
    assert told(lambda: MODEL.fit(rows[::2]).score(rows[1::2])) == []


def test_a_part_of_a_part_is_still_known():
    table = trials()
    half = table[np.random.default_rng(0).permutation(1000)][100:900]
    part, rest = half[::2], half[1::2]
    assert n_cut(part, rest) == np.isin(part.answer, rest.answer).sum() > 100
    assert n_cut(part, part) == 0
    assert n_cut(half, table) == n_cut(table, table) == 0
    unknown = Triplets(table.rows)
    assert n_cut(unknown[::2], unknown[1::2]) == 0


def test_models_do_not_carry_their_data():
    table = trials()
    train, test = table[::2], table[1::2]
    model = MODEL.fit(train)
    copy = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(model)) < 5000
    assert told(lambda: copy.score(test)) == []
    assert len(told(lambda: model.score(test))) == 1


def test_participants_are_those_whose_rows_are_there():
    rows = [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
    table = Triplets(rows, participant=["Ida", "Bo", "Bo"], answer=[0, 1, 2])
    assert repr(table[:1]) == "Triplets(1 rows, 3 items, 1 answers, 1 participants)"
    assert table[:1].summarise().n_participants == 1
    assert "participants                1  with 2 triplets each" in str(table[1:].summarise())
