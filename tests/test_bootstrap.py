"""The bootstrap: that its errors are the true ones, whose answers are drawn, and what it tells."""

import numpy as np
import pytest

import ordinate
from ordinate import (
    CKL,
    GNMDS,
    LOE,
    SOE,
    STE,
    OrdinalEmbedding,
    STEProj,
    Triplets,
    align,
    answers,
    bootstrap,
    sample_points,
    sample_triplets,
)
from ordinate.evaluation.bootstrap import Bootstrap, _drawing
from ordinate.kernels import losses
from ordinate.passes import store_of

POINTS = sample_points(12, random_state=3)
TRIPLETS = sample_triplets(POINTS, 1500, random_state=3)


@pytest.fixture(scope="module")
def model():
    return STE(random_state=0).fit(TRIPLETS)


def test_errors_are_the_spread_of_repeated_experiments():
    """Of 60 experiments with the same truth, as a bootstrap of one of them has them."""
    points = sample_points(10, random_state=1)
    options = {"init": points, "tol": 1e-3}
    maps = []
    for seed in range(60):
        repeated = sample_triplets(points, 4000, random_state=seed)
        maps.append(align(STE(**options).fit(repeated).embedding_, points))
    true = np.std(maps, axis=0, ddof=1)
    one = sample_triplets(points, 4000, random_state=99)
    found = bootstrap(STE(**options), one, n_boot=100, random_state=0).standard_errors
    assert 0.9 < np.median(found / true) < 1.1
    assert 0.85 < np.sqrt((found**2).mean() / (true**2).mean()) < 1.15


def test_dependent_rows_are_drawn_together():
    """Every answer counted twice, in two rows, must not look like twice as many answers."""
    twice = Triplets(np.repeat(TRIPLETS.rows, 2, axis=0), answer=np.repeat(np.arange(1500), 2))
    as_rows = Triplets(twice.rows)
    STE_ = STE(init=POINTS, tol=1e-3)
    once, together, apart = (
        np.median(bootstrap(STE_, t, n_boot=40, random_state=0).standard_errors)
        for t in (TRIPLETS, twice, as_rows)
    )
    assert together == pytest.approx(once, rel=0.02)
    assert apart == pytest.approx(once / np.sqrt(2), rel=0.15)


def resampled(triplets, by="answer", times=200):
    draw = _drawing(triplets, by)
    return np.array([draw(np.random.default_rng(seed)) for seed in range(times)])


def test_a_weight_is_a_number_of_answers():
    weighted = Triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]], weight=[40.0, 10.0, 50.0])
    found = resampled(weighted)
    assert (found.sum(axis=1) == 100).all()
    assert (found == np.round(found)).all()
    np.testing.assert_allclose(found.mean(axis=0), [40, 10, 50], rtol=0.1)
    np.testing.assert_allclose(found.var(axis=0), [24, 9, 25], rtol=0.35)


def test_votes_for_and_against_are_answers_of_their_own():
    votes = answers.votes([0, 0], [1, 1], [2, 3], [30, 20], [10, 0])
    found = resampled(votes)
    assert (found.sum(axis=1) == 60).all()
    assert np.corrcoef(found.T)[0, 1] < 0  # one more of these is one less of the others


def test_covariances_take_votes_for_answers_of_their_own():
    """As if each vote stood in a row: else votes for and against would cancel each other."""
    counted = answers.votes([0, 0, 1], [1, 1, 2], [2, 3, 3], [3, 2, 4], [3, 1, 0])
    each = Triplets(np.repeat(counted.rows, counted.weight.astype(int), axis=0), n_items=4)
    points, loss = POINTS[:4], losses.get("ste")
    for votes_, rows in zip(
        store_of(counted, by="answer").curvature(points, loss),
        store_of(each, by="answer").curvature(points, loss),
        strict=True,
    ):
        np.testing.assert_allclose(votes_, rows)


def test_rows_of_a_weighted_answer_stay_together():
    odd = Triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]], answer=[0, 0, 1], weight=[3.0, 3.0, 5.0])
    found = resampled(odd)
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 0] + found[:, 2] == 8).all()


def test_participants_are_drawn_as_a_whole():
    who = Triplets(TRIPLETS.rows[:6], participant=list("aabbbc"))
    found = resampled(who, "participant")
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 2:5] == found[:, [2]]).all()
    assert (found[:, [0, 2, 5]].sum(axis=1) == 3).all()
    with pytest.raises(ValueError, match="triplets that say who answered"):
        bootstrap(STE(), TRIPLETS, by="participant")
    with pytest.raises(ValueError, match="by must be one of 'answer', 'participant'"):
        bootstrap(STE(), TRIPLETS, by="row")


def test_the_same_bits_on_any_number_of_threads(model):
    one = bootstrap(model, TRIPLETS, n_boot=6, random_state=5, n_jobs=1)
    for n_jobs in (3, -1, None):
        other = bootstrap(model, TRIPLETS, n_boot=6, random_state=5, n_jobs=n_jobs)
        assert np.array_equal(one.maps, other.maps)
    another = bootstrap(model, TRIPLETS, n_boot=6, random_state=6)
    assert not np.array_equal(one.maps, another.maps)
    with pytest.raises(ValueError, match="n_jobs must be a whole number of at least 1; got 0"):
        bootstrap(model, TRIPLETS, n_jobs=0)


def test_a_fitted_model_is_not_fitted_anew(model, monkeypatch):
    """Its map is the one that all others are aligned to, and where they begin."""
    started = []
    fit = STE.fit

    def watched(self, *args, **options):
        started.append(self.init)
        return fit(self, *args, **options)

    monkeypatch.setattr(STE, "fit", watched)
    found = bootstrap(model, TRIPLETS, n_boot=3, random_state=0)
    assert found.embedding is model.embedding_
    assert len(started) == 3
    assert all(np.array_equal(start, model.embedding_) for start in started)
    with pytest.raises(ValueError, match="about other items than the estimator was fitted to"):
        bootstrap(model, TRIPLETS.rows[(TRIPLETS.rows < 11).all(axis=1)])


def test_rows_may_come_with_their_answers(model, tmp_path):
    """As the fit was given them: else half of the rows would say the opposite."""
    told = np.random.default_rng(0).choice([-1, 1], 1500)
    asked = TRIPLETS.answered(told)
    found = bootstrap(model, asked, told, n_boot=3, random_state=0)
    assert np.array_equal(found.maps, bootstrap(model, TRIPLETS, n_boot=3, random_state=0).maps)
    (tmp_path / "answers.csv").write_text("anchor,near,far\n0,1,2\n1,2,0\n")
    with pytest.raises(ValueError, match="y goes with rows in memory"):
        bootstrap(STE(), tmp_path / "answers.csv", told)


@pytest.mark.parametrize(
    "estimator",
    [
        GNMDS(random_state=0),
        SOE(random_state=0),
        CKL(random_state=np.random.default_rng(0)),
        OrdinalEmbedding(random_state=0),
        STEProj(max_iter=50),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore:not converged")
def test_any_method(estimator):
    found = bootstrap(estimator, TRIPLETS, n_boot=8, random_state=0)
    # In units of the map, and about it: were it aligned or scaled wrongly, errors would be large.
    assert np.median(found.standard_errors) < 0.4 * ordinate.uncertainty.map_size(found.embedding)
    sizes = [ordinate.uncertainty.map_size(points) for points in found.maps]
    assert np.median(sizes) == pytest.approx(
        ordinate.uncertainty.map_size(found.embedding), rel=0.25
    )


def test_loe_keeps_its_landmarks():
    points = sample_points(30, random_state=0)
    triplets = sample_triplets(points, 6000, design="landmarks", landmarks=8, random_state=0)
    model = LOE().fit(triplets)
    again = model._fitted_again(triplets, random_state=0)
    assert again.landmarks.tolist() == model.items_[model.landmarks_].tolist()
    found = bootstrap(model, triplets, n_boot=20, random_state=0)
    assert 0 < np.median(found.standard_errors) < 0.3


def test_items_that_lose_all_answers_are_told_of():
    rare = np.array([[0, 12, 1], [1, 0, 12]])
    triplets = Triplets(np.concatenate([TRIPLETS.rows, rare]), n_items=13)
    with pytest.warns(UserWarning, match="1 item has no answers in some resamples.*: 12"):
        found = bootstrap(
            STE(random_state=0, regularization=1.0), triplets, n_boot=30, random_state=0
        )
    lost = np.isnan(found.maps[:, 12]).all(axis=1)
    assert 0 < lost.sum() < 30
    assert found.n_placed[12] == 30 - lost.sum()
    assert np.isfinite(found.covariance).all()
    expected = np.cov(found.maps[~lost, 12].T)
    np.testing.assert_allclose(found.covariance[12], expected)


def test_resamples_that_cannot_be_fitted_are_told_of(model, monkeypatch):
    fit = STE._fitted_again
    count = iter(range(100))

    def failing(self, triplets, **settings):
        if next(count) % 2:
            raise ValueError("no such luck")
        return fit(self, triplets, **settings)

    monkeypatch.setattr(STE, "_fitted_again", failing)
    with pytest.warns(UserWarning, match="3 of 6 resamples could not be fitted.*no such luck"):
        found = bootstrap(model, TRIPLETS, n_boot=6, random_state=0, n_jobs=1)
    assert np.isnan(found.maps).all(axis=(1, 2)).sum() == 3
    assert np.isfinite(found.covariance).all()
    count = iter([1] * 100)
    with pytest.raises(ValueError, match="6 of 6 resamples could not be fitted"):
        bootstrap(model, TRIPLETS, n_boot=6, random_state=0)


def test_progress_is_told(model, capsys):
    told = []
    bootstrap(model, TRIPLETS, n_boot=4, random_state=0, tell=told.append)
    assert told[0].startswith("1 of 4 maps, about ")
    assert told[-1] == "4 of 4 maps, about 0 s left"
    bootstrap(model, TRIPLETS, n_boot=2, random_state=0, verbose=1)
    assert "[bootstrap] 2 of 2 maps" in capsys.readouterr().err


def test_the_covariance_is_that_of_the_maps():
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(7, 2, 2))
    maps[1:, 1] = np.nan  # placed once: nothing is known of its spread
    found = Bootstrap(np.eye(2), maps, np.array(["a", "b"]))
    np.testing.assert_allclose(found.covariance[0], np.cov(maps[:, 0].T))
    assert np.isnan(found.covariance[1]).all()
    assert [each.item for each in found.least_certain()] == ["a"]
    assert repr(found) == "Bootstrap(7 maps of 2 items in 2 dimensions)"


def test_a_model_that_was_loaded_is_as_good(tmp_path):
    """What was chosen, and by what the map was multiplied, is saved with it."""
    model = OrdinalEmbedding(random_state=0).fit(TRIPLETS)
    model.save(tmp_path / "m")
    again = ordinate.load(tmp_path / "m")
    maps = [bootstrap(each, TRIPLETS, n_boot=2, random_state=0).maps for each in (model, again)]
    np.testing.assert_allclose(*maps, rtol=1e-6, atol=1e-9)
