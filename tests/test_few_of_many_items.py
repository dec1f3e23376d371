"""Maps of answers that mention few of the items: others cost no work, and change nothing."""

import numpy as np
import pytest

from ordinate import (
    CKL,
    GNMDS,
    SOE,
    STE,
    TSTE,
    OrdinalEmbedding,
    PowerEmbedding,
    Triplets,
    sample_points,
    sample_triplets,
)

METHODS = [STE, TSTE, CKL, PowerEmbedding, GNMDS, SOE, OrdinalEmbedding]
WITHOUT = "items are in no triplet"


@pytest.fixture(scope="module")
def triplets():
    return sample_triplets(2 * sample_points(12, random_state=0), 1500, random_state=1)


@pytest.fixture(scope="module")
def spread(triplets):
    """The same answers, over every fourth of 48 items."""
    weight = np.ones(len(triplets))
    return Triplets(4 * triplets.rows, n_items=48, weight=weight, answer=np.arange(len(triplets)))


@pytest.mark.parametrize("method", METHODS)
def test_the_map_is_that_of_the_items_that_occur(method, triplets, spread):
    alone = method(random_state=0).fit(triplets)
    with pytest.warns(UserWarning, match=f"36 {WITHOUT}"):
        among = method(n_items=48, random_state=0).fit(spread)
    assert among.embedding_.shape == (48, 2)
    assert among.embedding_[::4] == pytest.approx(alone.embedding_, abs=1e-9)
    assert np.isnan(np.delete(among.embedding_, np.arange(0, 48, 4), axis=0)).all()
    if hasattr(method, "covariance_"):
        assert among.covariance_[::4] == pytest.approx(alone.covariance_, rel=1e-6)
        assert among.covariance_doubt_ is alone.covariance_doubt_ is None


def test_starts_and_callbacks_have_all_items(triplets, spread):
    start = np.random.default_rng(0).normal(size=(48, 2))
    steps = []
    with pytest.warns(UserWarning, match=WITHOUT):
        model = STE(init=start, callback=steps.append).fit(spread)
    alone = STE(init=start[::4]).fit(triplets)
    assert model.embedding_[::4] == pytest.approx(alone.embedding_, abs=1e-9)
    assert model.init_.points.shape == steps[-1].embedding.shape == (48, 2)
    assert np.isfinite(steps[-1].embedding[::4]).all()
    with pytest.raises(ValueError, match=r"of shape \(48, 2\); it is of shape \(12, 2\)"):
        STE(init=start[::4]).fit(spread)


def test_landmarks_start_among_few(triplets, spread):
    points = sample_points(30, random_state=0)
    rows = sample_triplets(points, 9000, design="landmarks", landmarks=10, random_state=1).rows
    alone = STE(init="loe", random_state=0).fit(Triplets(rows, n_items=30))
    with pytest.warns(UserWarning, match=WITHOUT):
        among = STE(init="loe", random_state=0).fit(Triplets(rows + 70, n_items=100))
    assert among.embedding_[70:] == pytest.approx(alone.embedding_, abs=1e-9)


def test_what_says_where_to_start_may_mention_others(spread):
    """Triplets for the start are over all items, and so is the descent then."""
    others = Triplets([[0, 1, 4], [4, 5, 8], [8, 0, 1]], n_items=48)
    with pytest.warns(UserWarning, match=WITHOUT):
        model = STE(init="spectral", random_state=0).fit(spread, init_triplets=others)
    assert np.isfinite(model.embedding_[::4]).all()


def test_later_answers_are_taken_among_few_too(triplets, spread):
    alone = STE(random_state=0).fit(triplets[:1200])
    with pytest.warns(UserWarning, match=WITHOUT):
        among = STE(random_state=0).fit(spread[:1200])
    alone.partial_fit(triplets[1200:])
    with pytest.warns(UserWarning, match=WITHOUT):
        among.partial_fit(spread[1200:])
    assert among.embedding_[::4] == pytest.approx(alone.embedding_, abs=1e-9)


def test_no_fewer_items_than_dimensions_are_left():
    with pytest.warns(UserWarning, match=WITHOUT):
        model = STE(4, regularization=1.0, random_state=0).fit(Triplets([[0, 1, 2]], n_items=20))
    assert model.embedding_.shape == (20, 4)


def test_work_does_not_grow_with_items_that_do_not_occur(triplets):
    with pytest.warns(UserWarning, match=f"99,988 {WITHOUT}"):
        model = STE(n_items=100_000, random_state=0).fit(triplets.rows)
    assert model.n_passes_ == STE(random_state=0).fit(triplets).n_passes_
