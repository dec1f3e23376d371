"""scikit-learn's conventions: its own checks, what they ask with triplets in place of measurements,
and frames for maps.
"""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import ordinate
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
    Triplets,
    sample_points,
    sample_triplets,
)
from ordinate.estimators.kernel import KernelEmbedder

QUICK = {"max_iter": 20, "tol": 1e-2}
SEEDED = {"random_state": 0, "n_init": 1, **QUICK}
MODELS = [
    LOE(),
    *(method(**SEEDED) for method in (STE, TSTE, CKL, PowerEmbedding, GNMDS, SOE)),
    *(method(**QUICK) for method in (STEKer, STEProj, GNMDSKer)),
]

TWICE = "the check's numbers, cut to whole ones, name an item twice in a row, which is refused"
# Each check that cannot pass, and why: its X is refused before what it asks about. Below, tests ask
# the same of triplets.
EXCUSED = {
    "check_dict_unchanged": f"{TWICE}: [2, 2, 2]",
    "check_dont_overwrite_parameters": f"{TWICE}: [2, 2, 2]",
    "check_dtype_object": "objects are labels, and those come in a table with named columns",
    "check_estimators_dtypes": "X has five columns, and a triplet three items",
    "check_estimators_empty_data_messages": "of 15 rows of no columns we say that there are no "
    "triplets, where the check wants to read '0 feature(s)'",
    "check_estimators_fit_returns_self": "X has two columns, and a triplet three items",
    "check_estimators_nan_inf": "X has ten columns: the number of columns is refused, not the NaN",
    "check_estimators_overwrite_params": "X has two columns, and a triplet three items",
    "check_estimators_pickle": f"{TWICE}: [1, 1, 1]",
    "check_f_contiguous_array_estimator": f"{TWICE}: [2, 2, 2]",
    "check_fit2d_1feature": "X has one column: we name its shape, and the check wants to read "
    "'1 feature(s)'",
    "check_fit2d_1sample": "X has ten columns: the number of columns is refused, not that of rows",
    "check_fit2d_predict1d": f"{TWICE}: [2, 2, 2]",
    "check_fit_check_is_fitted": "X has two columns, and a triplet three items",
    "check_fit_idempotent": "X has two columns, and a triplet three items",
    "check_fit_score_takes_y": f"{TWICE}: [1, 1, 1]",
    "check_methods_sample_order_invariance": f"{TWICE}: [2, 2, 2]",
    "check_methods_subset_invariance": f"{TWICE}: [2, 2, 2]",
    "check_n_features_in": "X has two columns, and a triplet three items",
    "check_n_features_in_after_fitting": "X has four columns, and a triplet three items",
    "check_pipeline_consistency": f"{TWICE}: [1, 1, 1]",
    "check_positive_only_tag_during_fit": "X has four columns: their number is refused, not -1",
    "check_readonly_memmap_input": "X has two columns, and a triplet three items",
}
# Those of estimators that transform.
EXCUSED_TRANSFORMERS = {
    "check_transformer_data_not_an_array": f"{TWICE}: [3, 3, 3]",
    "check_transformer_general": f"{TWICE}: [3, 3, 3]",
    "check_transformer_preserve_dtypes": f"{TWICE}: [3, 3, 3]",
}
EXCUSED_STEPS = {"check_transformer_n_iter": f"{TWICE}: [1, 1, 1]"}


def excused(model):
    found = dict(EXCUSED)
    if hasattr(model, "transform"):
        found |= EXCUSED_TRANSFORMERS
        if hasattr(model, "max_iter"):
            found |= EXCUSED_STEPS
    return found


def name_of(model):
    return type(model).__name__


@pytest.fixture(params=MODELS, ids=name_of)
def model(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def rows():
    points = sample_points(20, 2, random_state=0)
    return sample_triplets(
        points, 4000, design="landmarks", landmarks=8, random_state=0
    ).rows.astype(np.int64)


@pytest.fixture(autouse=True)
def few_steps():
    """Fits here need not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_its_checks_pass_but_for_those_with_a_reason(model):
    results = check_estimator(type(model)(), expected_failed_checks=excused(model), on_fail=None)
    of = {
        status: {result["check_name"] for result in results if result["status"] == status}
        for status in ("passed", "failed", "xfail")
    }
    assert not of["failed"]
    assert of["xfail"] == set(excused(model))  # none is excused that passes
    assert len(of["passed"]) > 15


def test_fit_leaves_parameters_alone_and_can_be_repeated(model, rows):
    before = model.get_params()
    assert model.fit(rows) is model
    assert model.get_params() == before
    first = model.embedding_
    assert (model.fit(rows).embedding_ == first).all()
    made = {name for name in vars(model) if name not in before}
    assert all(name.endswith("_") or name.startswith("_") for name in made)


def test_predict_changes_nothing_and_knows_no_neighbours(model, rows):
    """Answers to questions do not depend on their order, nor on the others."""
    model.fit(rows)
    before = dict(vars(model))
    answers = model.predict(rows)
    assert all(vars(model)[name] is value for name, value in before.items())
    order = np.random.default_rng(0).permutation(len(rows))
    assert (model.predict(rows[order]) == answers[order]).all()
    assert (
        np.concatenate([model.predict(part) for part in np.array_split(rows, 9)]) == answers
    ).all()
    with pytest.raises(ValueError, match=r"shape \(m, 3\).*got shape \(3,\)"):
        model.predict(rows[0])


def test_kinds_of_arrays(model, rows, tmp_path):
    """Read-only files, both orders of memory and all kinds of whole numbers give the same map."""
    known = model.fit(rows).embedding_
    joblib.dump(rows, tmp_path / "rows")
    mapped = joblib.load(tmp_path / "rows", mmap_mode="r")
    for same in (mapped, np.asfortranarray(rows), rows.astype(np.uint8), rows.astype(float)):
        assert (clone(model).fit(same).embedding_ == known).all()


def test_what_holds_no_triplets_is_refused(model, rows):
    wrong = rows.astype(float)
    wrong[5, 1] = np.nan
    for X, message in (
        (wrong, "row 5 .*nan"),
        (np.where(rows == 3, -1, rows), "negative id"),
        (rows + 1j, "Complex data not supported"),
        (rows[:, :1], r"got shape \(4000, 1\)"),
        (rows[:, :0], "no triplets"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X)


def test_fitted_models_know_it_and_can_be_pickled(model, rows):
    for not_fitted in (model.predict, model.score, lambda _: check_is_fitted(model)):
        with pytest.raises(NotFittedError):
            not_fitted(rows)
    model.fit(rows)
    check_is_fitted(model)
    assert model.n_features_in_ == 3
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(rows) == model.predict(rows)).all()


def test_score_takes_y_and_pipelines_end_in_a_map(model, rows):
    line = make_pipeline(FunctionTransformer(), clone(model))
    model.fit(rows)
    assert (line.fit_transform(rows) == model.embedding_).all()
    assert line.score(rows) == model.score(rows)
    assert model.score(rows, np.full(len(rows), -1)) == pytest.approx(1 - model.score(rows))


def test_transform_keeps_known_items_in_their_place(model, rows):
    """So that it is what `fit_transform` returns, whatever kind of array the triplets are in."""
    if isinstance(model, KernelEmbedder):
        # Their map is a part of a matrix, which has no place for an item that is not in it.
        assert not hasattr(model, "transform")
        assert not hasattr(model, "partial_fit")
        return
    with pytest.raises(NotFittedError):
        model.transform(rows)
    known = model.fit_transform(rows)
    before = dict(vars(model))
    for same in (rows, rows.tolist(), rows.astype(np.float32), rows[:5], Triplets(rows)):
        found = model.transform(same)
        assert found.dtype == np.float64
        assert (found == known).all()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert getattr(model, "n_iter_", 1) >= 1


def test_no_parameter_is_ignored():
    """What is not random takes no seed; what runs on the CPU alone takes no device."""
    assert "random_state" not in LOE().get_params()
    for method in (STEKer, STEProj, GNMDSKer):
        assert not {"random_state", "device"} & set(method().get_params())
        with pytest.raises(TypeError, match="device"):
            method(device="cuda")


@pytest.mark.parametrize("by_config", [False, True])
def test_frames_are_indexed_by_item(model, rows, by_config):
    """One row per item, not per triplet, whatever the index of X."""
    names = np.array([f"item {k}" for k in range(20)], object)
    table = pd.DataFrame(names[rows], columns=["anchor", "near", "far"])
    table.index = table.index + 500
    if by_config:
        with sklearn.config_context(transform_output="pandas"):
            frame = model.fit_transform(table)
    else:
        frame = model.set_output(transform="pandas").fit_transform(table)
    prefix = name_of(model).lower()
    assert frame.columns.tolist() == [f"{prefix}0", f"{prefix}1"]
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()
    assert frame.index.name == "item"
    assert frame.index.tolist() == model.items_.tolist() == sorted(names)
    assert (frame.to_numpy() == model.embedding_).all()
    frame.iloc[0, 0] = 99.0
    assert model.embedding_[0, 0] != 99.0


def test_frames_of_polars_and_arrays(rows):
    model = STE(**SEEDED)
    table = pl.DataFrame(rows, schema=["anchor", "near", "far"])
    frame = model.set_output(transform="polars").fit_transform(table)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["ste0", "ste1"]
    assert (frame.to_numpy() == model.embedding_).all()
    with sklearn.config_context(transform_output="pandas"):
        # What the model was told itself goes first, and a clone was told so, too.
        assert isinstance(clone(model).fit_transform(table), pl.DataFrame)
        plain = model.set_output(transform="default").fit_transform(table)
    assert isinstance(plain, np.ndarray)


def test_pipelines_hand_down_what_to_put_out(rows):
    line = make_pipeline(
        FunctionTransformer(feature_names_out="one-to-one"), STE(3, **SEEDED)
    ).set_output(transform="pandas")
    frame = line.fit_transform(pd.DataFrame(rows, columns=["anchor", "near", "far"]))
    assert frame.shape == (20, 3)
    assert line.get_feature_names_out().tolist() == ["ste0", "ste1", "ste2"]


def test_fit_transform_takes_what_fit_takes(rows):
    about, every = Triplets(rows), Triplets(rows[::-1])
    model = STE(init="loe", **{**SEEDED, "max_iter": 1})
    found = model.fit_transform(every, init_triplets=about)
    assert (found == clone(model).fit(every, init_triplets=about).embedding_).all()
    with pytest.raises(TypeError, match="init_triplets"):
        LOE().fit_transform(every, init_triplets=about)


def test_names_wait_for_the_fit():
    with pytest.raises(NotFittedError):
        STE().get_feature_names_out()


def test_a_fitted_model_is_drawn_with_its_items(rows, tmp_path):
    names = [f"item {k}" for k in range(20)]
    model = STE(**SEEDED).fit(Triplets(rows, items=names))
    model.save(tmp_path / "map")
    for fitted in (model, ordinate.load(tmp_path / "map")):
        drawn = {text.get_text() for text in ordinate.plot_map(fitted).axes[0].texts}
        assert "item 7" in drawn
        assert drawn <= set(names)
        assert '"item 7"' in ordinate.html_report(fitted, title="A map")
    own = ordinate.plot_map(model, [name.upper() for name in names])
    assert "ITEM 7" in {text.get_text() for text in own.axes[0].texts}
    with pytest.raises(NotFittedError):
        ordinate.plot_map(STE())
