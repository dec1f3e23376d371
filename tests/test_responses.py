"""y: how rows (anchor, first, second) were answered, +1 or -1, by cblearn's convention."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from strategies import seeded

from ordinate import (
    CKL,
    GNMDS,
    LOE,
    SOE,
    STE,
    TSTE,
    GNMDSKer,
    PowerEmbedding,
    STEKer,
    STEProj,
    TripletKFold,
    Triplets,
    ondisk,
    sample_points,
    sample_triplets,
)

ESTIMATORS = [LOE, STE, TSTE, CKL, PowerEmbedding, GNMDS, SOE, STEKer, STEProj, GNMDSKer]


@pytest.fixture(scope="module")
def data():
    """Triplets as answered; the same as questions, half of them turned; the responses."""
    points = sample_points(20, random_state=0)
    told = sample_triplets(points, 4000, noise=0.05, random_state=1)
    y = np.random.default_rng(2).choice([1, -1], 4000)
    asked = np.where((y == 1)[:, None], told.rows, told.rows[:, [0, 2, 1]])
    return told, asked, y


def test_the_convention_by_hand():
    """Ant, bee and cat on a line at 0, 1 and 5: bee is nearer to ant than cat is."""
    questions = [["ant", "bee", "cat"], ["ant", "cat", "bee"], ["cat", "ant", "bee"]]
    y = [1, -1, -1]
    table = pd.DataFrame(questions, columns=["anchor", "near", "far"])
    model = STE(n_components=1, regularization=0.1).fit(table, y)
    ant, bee, cat = model.embedding_[:, 0]
    assert abs(ant - bee) < abs(ant - cat)
    assert abs(cat - bee) < abs(cat - ant)
    assert model.predict(table).tolist() == y
    assert model.score(table, y) == 1
    assert model.score(table, [-1, 1, 1]) == 0


@pytest.mark.filterwarnings("ignore:not converged")  # the kernel forms take long
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_honours_responses(data, estimator):
    told, asked, y = data
    short = {"max_iter": 30} if issubclass(estimator, STEKer) else {}
    model = seeded(estimator, n_items=20, **short)
    expected = clone(model).fit(told)
    points = clone(model).fit_transform(asked, y == 1)
    model.fit(asked, y)
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    np.testing.assert_array_equal(points, expected.embedding_)
    right = expected.score(told)
    assert right > 0.7
    assert model.score(asked, y) == model.score(asked, y == 1) == right
    assert model.score(asked, -y) == pytest.approx(1 - right)


def test_the_rest_of_a_table_stays(data):
    told, _, y = data
    table = Triplets(
        told.rows,
        items=[f"item {i}" for i in range(20)],
        answer=np.arange(4000) // 2,
        participant=np.arange(4000) % 7,
        weight=np.arange(4000) + 1.0,
    )
    turned = table.answered(y)
    np.testing.assert_array_equal(turned.rows[y == 1], table.rows[y == 1])
    np.testing.assert_array_equal(turned.rows[y == -1], table.rows[y == -1][:, [0, 2, 1]])
    for name in ("items", "answer", "participant", "participant_labels", "weight"):
        np.testing.assert_array_equal(getattr(turned, name), getattr(table, name))
    by_anchor = table.grouped().triplets
    again = by_anchor.answered(np.resize([True, False], 4000)).grouped()
    assert (np.diff(again.triplets.rows[:, 0]) >= 0).all()


@pytest.mark.parametrize(
    "y",
    [
        [1, -1, 1],
        [1.0, -1.0, 1.0],
        [True, False, True],
        np.array([1, -1, 1], np.int8),
        pd.Series([1, -1, 1], index=[7, 8, 9]),
        pd.Series([True, False, True], dtype="boolean"),
        pd.Series([1, -1, 1], dtype="Int64"),
    ],
)
def test_what_responses_may_be(y):
    rows = [[0, 1, 2], [1, 2, 3], [2, 3, 0]]
    assert Triplets(rows).answered(y).rows.tolist() == [[0, 1, 2], [1, 3, 2], [2, 3, 0]]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            [1, 0, 1],
            "y of row 1 is 0 .1 such rows of 3.; 0 and 1 may mean either item: give y == 1",
        ),
        ([0, 0, 0], "0 and 1 may mean either item"),
        ([-1, 0, 1], "0 prefers neither: leave those rows out"),
        ([2, 1, 2], "y of row 0 is 2 .2 such rows of 3."),
        ([1, np.nan, -1], "y of row 1 is nan .*leave rows without a response out"),
        (pd.Series([True, None, False]), "y of row 1 is None .1 such"),
        (["left", "right", "left"], "y of row 0 is left .3 such rows .*as by y == 'left'"),
        ([1, np.inf, 1], "y of row 1 is inf"),
        ([1, 1j, 1], "such rows"),
        (np.array([1, 255, 1], np.uint8), "y of row 1 is 255"),
        ([1, -1], r"3 rows, but the shape of y is \(2,\)"),
        ([[1], [-1], [1]], r"one-dimensional.* shape of y is \(3, 1\)"),
        ("abc", r"the shape of y is \(\)"),
    ],
)
def test_anything_else_is_refused_with_the_remedy(y, message):
    rows = [[0, 1, 2], [1, 2, 3], [2, 3, 0]]
    with pytest.raises(ValueError, match=message):
        STE().fit(rows, y)
    with pytest.raises(ValueError, match=message):
        LOE().fit_transform(rows, y)
    model = STE(n_components=1, regularization=1.0).fit(rows)
    with pytest.raises(ValueError, match=message):
        model.score(rows, y)


def test_files_and_responses_do_not_go_together(data, tmp_path):
    told, _, y = data
    path = tmp_path / "answers.csv"
    np.savetxt(path, told.rows, "%d", delimiter=",", header="anchor,near,far", comments="")
    ondisk.write([told], tmp_path / "fast")
    model = STE(random_state=0).fit(told)
    for X in (path, str(path), ondisk.open_triplets(tmp_path / "fast")):
        with pytest.raises(ValueError, match="y goes with rows in memory.*readers.read"):
            STE().fit(X, y)
        with pytest.raises(ValueError, match="y goes with rows in memory"):
            model.score(X, y)


def test_scikit_learn_splits_rows_and_responses_alike(data):
    told, asked, y = data
    model = STE(random_state=0, n_items=20)
    folds = TripletKFold(3, random_state=0)
    expected = cross_val_score(model, told, cv=folds)
    table = Triplets(asked, n_items=20)
    assert cross_val_score(model, table, y, cv=folds) == pytest.approx(expected)
    assert cross_val_score(model, asked, y, cv=folds) == pytest.approx(expected)
    assert cross_val_score(model, table, y, cv=folds, scoring="accuracy") == pytest.approx(expected)
    rows = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(model, asked, y.tolist(), cv=rows).min() > 0.85
    search = GridSearchCV(model, {"n_components": [1, 2]}, cv=folds).fit(table, y)
    assert search.best_params_ == {"n_components": 2}
    assert search.best_score_ == pytest.approx(expected.mean())
    assert search.score(table, y) > 0.9


def test_predictions_are_responses(data):
    """What predict returns can be scored by scikit-learn, and fitted again."""
    told, asked, y = data
    model = STE(random_state=0).fit(asked, y)
    predicted = model.predict(asked)
    assert set(predicted) == {-1, 1}
    assert accuracy_score(y, predicted) == pytest.approx(model.score(asked, y))
    assert model.score(asked, predicted) == 1
    assert STE(regularization=0.1).fit(asked, predicted).score(told) > 0.9
    unseen = cross_val_predict(STE(random_state=0), asked, y, cv=TripletKFold(3, random_state=0))
    assert 0.85 < accuracy_score(y, unseen) <= model.score(asked, y)
