import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import ordinate
from ordinate import (
    LOE,
    TripletKFold,
    Triplets,
    answers,
    procrustes_error,
    sample_points,
    sample_triplets,
    triplet_error,
)


def landmark_data(n=200, d=2, m=100_000, landmarks=12, seed=0, noise="btl", distribution="normal"):
    points = sample_points(n, d, distribution=distribution, random_state=seed)
    triplets = sample_triplets(
        points, m, design="landmarks", landmarks=landmarks, noise=noise, random_state=seed + 1
    )
    return points, triplets


@pytest.fixture(scope="module")
def data():
    return landmark_data()


def test_fit_and_its_attributes(data):
    points, triplets = data
    model = LOE(n_components=2).fit(triplets)
    assert model.embedding_.shape == (200, 2)
    assert np.abs(model.embedding_.mean(axis=0)).max() < 1e-12
    assert model.landmarks_.tolist() == np.unique(triplets.rows[:, 0]).tolist()
    assert model.scores_.shape == (200, 12)
    assert model.shifts_.shape == (12,)
    assert model.n_triplets_used_ == 100_000
    assert model.converged_
    assert 2 < model.n_passes_ < 8
    assert 0.5 < model.misfit_ < 1.5
    assert model.recovery_ == "lift"
    estimates = model.scores_ + model.shifts_
    truth = ((points[:, None] - points[model.landmarks_]) ** 2).sum(axis=2)
    assert (estimates[model.landmarks_, range(12)] == 0).all()
    assert np.corrcoef(estimates.ravel(), truth.ravel())[0, 1] > 0.95
    assert procrustes_error(model.embedding_, points, relative=True) < 0.15
    assert (LOE().fit_transform(triplets) == model.embedding_).all()


def test_predictions_and_score(data):
    points, triplets = data
    model = LOE().fit(triplets)
    questions = sample_triplets(points, 5000, noise="none", random_state=9)
    predicted = model.predict(questions)
    assert set(predicted) <= {-1, 0, 1}
    assert (predicted == 1).mean() == pytest.approx(model.score(questions), abs=1e-9)
    assert model.score(questions) == pytest.approx(1 - triplet_error(model.embedding_, questions))
    assert model.score(questions) > 0.93
    reversed_rows = questions.rows[:, [0, 2, 1]]
    assert (model.predict(reversed_rows) == -predicted).all()
    with pytest.raises(NotFittedError):
        LOE().predict(questions)
    with pytest.raises(ValueError, match="beyond 199"):
        model.predict([[0, 1, 200]])


def test_labels_survive(data):
    _, triplets = data
    names = np.array([f"item {i:03d}" for i in range(200)])
    frame = pd.DataFrame(names[triplets.rows], columns=["anchor", "near", "far"])
    model = LOE(landmarks=[names[i] for i in np.unique(triplets.rows[:, 0])]).fit(frame)
    assert model.items_.tolist() == names.tolist()
    assert (model.embedding_ == LOE().fit(triplets).embedding_).all()
    # Questions about a few items, named in any order, are about the same items.
    few = frame.iloc[::-1].iloc[:50]
    assert model.score(few) == pytest.approx(LOE().fit(triplets).score(triplets.rows[::-1][:50]))
    assert (model.predict(Triplets.from_frame(few)) == model.predict(few)).all()
    with pytest.raises(ValueError, match="1 triplets name 1 items that are not .*: lynx"):
        model.score(pd.DataFrame({"anchor": ["lynx"], "near": [names[0]], "far": [names[1]]}))


def test_any_form_of_triplets(data, tmp_path):
    _, triplets = data
    expected = LOE().fit(triplets).embedding_
    shuffled = np.random.default_rng(0).permutation(len(triplets))
    np.save(tmp_path / "rows.npy", triplets.rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    frame = pd.DataFrame(triplets.rows, columns=["anchor", "near", "far"])
    for form in (triplets.rows, triplets.rows.tolist(), mapped, frame, triplets.to_arrow()):
        assert LOE().fit(form).embedding_ == pytest.approx(expected, abs=1e-9)
    assert LOE().fit(triplets.rows[shuffled]).embedding_ == pytest.approx(expected, abs=1e-3)
    weighted, counts = np.unique(triplets.rows, axis=0, return_counts=True)
    repeats = LOE().fit(Triplets(weighted, weight=counts, n_items=200)).embedding_
    assert repeats == pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("noise", ["btl", "thurstone"])
def test_noise_models_and_backends(noise, backend):
    points, triplets = landmark_data(noise=noise)
    model = LOE(noise=noise, backend=backend).fit(triplets)
    assert procrustes_error(model.embedding_, points, relative=True) < 0.15
    other = LOE(noise=noise, backend="numpy").fit(triplets)
    assert model.embedding_ == pytest.approx(other.embedding_, abs=1e-4)


def test_answers_that_are_chosen_from_a_grid():
    """Four nearest of twelve shown: near items never meet near ones, far ones never far ones."""
    rng = np.random.default_rng(0)
    points = sample_points(60, 2, random_state=0)
    query = rng.integers(60, size=4000)
    shown = [rng.choice(np.delete(np.arange(60), q), 12, replace=False) for q in query]
    noisy = [
        s[np.argsort(((points[s] - points[q]) ** 2).sum(axis=1) + 0.1 * rng.normal(size=12))]
        for q, s in zip(query, shown, strict=True)
    ]
    triplets = answers.selection(query, shown, [s[:4] for s in noisy], items=range(60))
    model = LOE().fit(triplets)
    assert model.converged_
    assert model.n_passes_ < 40
    assert len(model.landmarks_) == 60
    assert procrustes_error(model.embedding_, points, scale=True, relative=True) < 0.4
    assert model.score(sample_triplets(points, 5000, noise="none", random_state=1)) > 0.85


def test_the_same_on_any_number_of_threads():
    _, triplets = landmark_data(n=2000, m=1_000_000)
    maps = []
    for number in (1, 2):
        with ordinate.threads(number):
            maps.append(LOE().fit(triplets).embedding_)
    assert (maps[0] == maps[1]).all()


def test_what_is_left_out_is_said():
    points, triplets = landmark_data(n=60, m=40_000)
    uniform = sample_triplets(points, 1000, random_state=5)
    rows = np.vstack([triplets.rows, uniform.rows])
    rows = rows[~np.isin(rows[:, 1:], [58, 59]).any(axis=1)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LOE(n_items=61).fit(rows)
    messages = [str(w.message) for w in caught]
    unused = len(rows) - model.n_triplets_used_
    assert unused > 0
    assert any(f"{unused:,} of {len(rows):,} triplets were not used" in m for m in messages)
    missing = [i for i in (58, 59, 60) if i not in model.landmarks_]
    names = ", ".join(map(str, missing))
    assert any(m.endswith(f"have no place (NaN) in the map: {names}") for m in messages)
    assert np.isnan(model.embedding_[missing]).all()
    assert np.isfinite(np.delete(model.embedding_, missing, axis=0)).all()


def test_disconnected_comparisons_are_said():
    _, triplets = landmark_data(n=60, m=40_000)
    halves = (triplets.rows[:, 1] < 30) == (triplets.rows[:, 2] < 30)
    with pytest.warns(UserWarning, match="comparisons of 12 landmarks fall into parts"):
        model = LOE().fit(triplets[halves])
    assert np.isfinite(model.embedding_).all()


def test_no_convergence_is_said(data, monkeypatch):
    import ordinate.algorithms.landmark

    _, triplets = data
    original = ordinate.algorithms.landmark.rank_columns

    def hurried(*arguments, **options):
        return original(*arguments, **{**options, "tol": 1e-30, "max_passes": 2})

    monkeypatch.setattr(ordinate.algorithms.landmark, "rank_columns", hurried)
    with pytest.warns(ConvergenceWarning, match="12 landmarks had not converged"):
        model = LOE().fit(triplets)
    assert not model.converged_


def test_progress_is_told_when_asked(data, capsys):
    LOE(verbose=1).fit(data[1])
    told = capsys.readouterr().err
    assert "12 landmarks among 200 items" in told
    assert "100,000 triplets" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"recovery": "magic"}, "recovery must be one of 'auto', 'lift', 'edm'"),
        ({"noise": "gauss"}, "noise must be one of"),
        ({"regularization": -1}, "regularization .* must be"),
        ({"device": "gpu"}, "device must be None, 'cpu', 'cuda'"),
        ({"backend": "fortran"}, "backend must be one of"),
        ({"n_components": 30}, "30 dimensions need at least 33 landmarks"),
    ],
)
def test_bad_options_are_refused_at_fit(data, options, message):
    model = LOE(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(data[1])


def test_scikit_learn_tools(data):
    _, triplets = data
    scores = cross_val_score(LOE(), triplets, cv=TripletKFold(3, random_state=0))
    assert scores.shape == (3,)
    assert (scores > 0.6).all()
    search = GridSearchCV(LOE(), {"n_components": [1, 2]}, cv=TripletKFold(3, random_state=0))
    assert search.fit(triplets).best_params_ == {"n_components": 2}
    copy = clone(LOE(3, landmarks=7, noise="thurstone"))
    assert copy.get_params()["landmarks"] == 7
    fixed = LOE(n_items=200)
    assert cross_val_score(fixed, np.asarray(triplets), cv=3).shape == (3,)


def relative_error(seed, n, d, c, landmarks, **options):
    m = round(c * n * np.log(n))
    points, triplets = landmark_data(n, d, m, landmarks, seed)
    model = LOE(n_components=d, **options).fit(triplets)
    return procrustes_error(model.embedding_, points, relative=True)


def test_error_of_the_papers_algorithm():
    """n = 1e4, d = 2, c = 200, l = 5: the prototype's median was 0.19."""
    errors = [relative_error(seed, 10_000, 2, 200, 5, recovery="edm") for seed in range(10)]
    assert np.median(errors) <= 0.19


def test_error_with_default_settings():
    """n = 1e4, d = 2, c = 200, l = 40."""
    errors = [relative_error(seed, 10_000, 2, 200, 40) for seed in range(10)]
    assert np.mean(errors) <= 0.075
    assert np.max(errors) <= 0.085


def test_error_in_ten_dimensions():
    """n = 2e4, d = 10, c = 200, landmarks by the rule."""
    n, d = 20_000, 10
    l = ordinate.n_landmarks(n, d, round(200 * n * np.log(n)))
    assert relative_error(0, n, d, 200, l) <= 0.36


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("recovery", ["edm", "auto"])
def test_consistency(distribution, recovery):
    """n = 100, d = 2: the error falls like one over the square root of the triplets."""
    budgets = [50_000, 200_000, 800_000, 3_200_000]
    errors = []
    for m in budgets:
        runs = []
        for seed in range(10):
            points, triplets = landmark_data(100, 2, m, 12, seed, distribution=distribution)
            model = LOE(recovery=recovery).fit(triplets)
            runs.append(procrustes_error(model.embedding_, points, relative=True))
        errors.append(np.median(runs))
    slope = np.polyfit(np.log(budgets[1:]), np.log(errors[1:]), 1)[0]
    assert (np.diff(errors) < 0).all()
    assert slope == pytest.approx(-0.5, abs=0.12)
    assert errors[-1] < 0.1


@pytest.mark.parametrize("landmarks", ["auto", 8])
def test_rows_are_grouped_once(landmarks, monkeypatch):
    """For the choice of landmarks, and for their columns, however many are considered."""
    from ordinate.data import triplets as table

    points = sample_points(100, 2, random_state=0)
    triplets = sample_triplets(points, 40_000, design="landmarks", landmarks=12, random_state=0)
    triplets = triplets[np.random.default_rng(0).permutation(len(triplets))]
    calls, group = [], table.group_by_anchor
    monkeypatch.setattr(
        table, "group_by_anchor", lambda *a, **options: calls.append(1) or group(*a, **options)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of triplets that were not used
        LOE(landmarks=landmarks).fit(triplets)
    assert len(calls) == 1
    grouped, starts = triplets.grouped()
    assert grouped.grouped().triplets is grouped
    assert grouped.grouped().starts is starts
    assert (grouped[::-1].grouped().triplets.rows[:, 0] == grouped.rows[:, 0]).all()
