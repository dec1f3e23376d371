"""What covariances say about places, distances and comparisons: by simulation, with seeds."""

import numpy as np
import pytest

from ordinate import GNMDS, STE, sample_points, sample_triplets
from ordinate.evaluation.uncertainty import (
    UncertainMap,
    closer_probability,
    distance_interval,
    ellipses,
    map_size,
    place_errors,
    standard_errors,
)


class Known(UncertainMap):
    """A map with covariances that are given."""

    def __init__(self, points, covariance, items):
        self.parts = np.array(points, float), np.array(covariance, float), np.array(items, object)

    def _uncertain_map(self):
        return self.parts


def covariances(rng, n, d, size):
    L = size * rng.normal(size=(n, d, d))
    return L @ L.transpose(0, 2, 1)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_ellipses_hold_as_many_draws_as_they_say(level):
    rng = np.random.default_rng(0)
    C = covariances(rng, 5, 2, 1.0)
    found = ellipses(C, level)
    assert (found.axes[:, 0] >= found.axes[:, 1]).all()
    for row in range(5):
        x = rng.multivariate_normal([0, 0], C[row], size=20_000)
        turn = np.radians(found.angle[row])
        along = x @ [np.cos(turn), np.sin(turn)]
        across = x @ [-np.sin(turn), np.cos(turn)]
        inside = (along / found.axes[row, 0]) ** 2 + (across / found.axes[row, 1]) ** 2 <= 1
        assert abs(inside.mean() - level) < 0.015


def test_ellipses_of_items_without_a_place_are_unknown():
    found = ellipses([np.eye(2), np.full((2, 2), np.nan)])
    assert np.isfinite(found.axes[0]).all()
    assert np.isnan(found.axes[1]).all()
    assert np.isnan(found.angle[1])
    with pytest.raises(ValueError, match=r"shape \(n, 2, 2\); got \(1, 3, 3\)"):
        ellipses([np.eye(3)])
    with pytest.raises(ValueError, match="level must be a number above 0 and below 1"):
        ellipses([np.eye(2)], level=95)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("true", [0.0, 0.7, 2.0, 10.0])
def test_intervals_hold_the_distance(d, true):
    """At least 95 % of them at any distance, and hardly more where it is large."""
    rng = np.random.default_rng(1)
    C = np.diag(np.geomspace(1.0, 1 / 4, d))
    direction = rng.normal(size=d)
    centre = true * direction / np.linalg.norm(direction)
    held = []
    for difference in rng.multivariate_normal(centre, C, size=1500):
        found = distance_interval(difference, C)
        assert 0 <= found.low <= found.estimate <= found.high
        held.append(found.low <= true <= found.high)
    assert np.mean(held) > 0.935
    if true == 10:
        assert np.mean(held) < 0.97


def test_far_intervals_are_those_of_the_delta_method():
    C = np.array([[0.04, 0.01], [0.01, 0.09]])
    u = np.array([0.6, 0.8])
    found = distance_interval(100 * u, C)
    error = 1.959964 * np.sqrt(u @ C @ u)
    np.testing.assert_allclose([found.low, found.high], [100 - error, 100 + error], atol=2e-3)


def test_a_distance_without_noise_is_a_point():
    assert distance_interval([3.0, 4.0], np.zeros((2, 2))) == (5.0, 5.0, 5.0)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("size", [0.1, 0.5, 3.0])
def test_the_probability_of_being_closer_is_that_of_draws(d, size):
    rng = np.random.default_rng(2)
    X, L = rng.normal(size=(3, d)), size * rng.normal(size=(3, d, d))
    drawn = X + np.einsum("ikl,bil->bik", L, rng.normal(size=(40_000, 3, d)))
    near, far = (((drawn[:, 0] - drawn[:, k]) ** 2).sum(axis=1) for k in (1, 2))
    found = closer_probability(X, L @ L.transpose(0, 2, 1))
    assert abs(found - (near < far).mean()) < 0.011
    swapped = closer_probability(X[[0, 2, 1]], (L @ L.transpose(0, 2, 1))[[0, 2, 1]])
    assert found + swapped == pytest.approx(1, abs=1e-4)


def test_what_is_certain_is_certain():
    X = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert closer_probability(X, np.zeros((3, 2, 2))) == 1.0
    assert closer_probability([X[0], X[2], X[1]], 1e-8 * np.array([np.eye(2)] * 3)) == 0.0
    assert closer_probability([X[0], X[1], X[1]], np.zeros((3, 2, 2))) == 0.5


def test_a_map_is_asked_by_labels():
    C = [0.01 * np.eye(2), 0.04 * np.eye(2), 0.02 * np.eye(2), np.full((2, 2), np.nan)]
    points = [[0, 0], [3, 4], [0, 6], [np.nan, np.nan]]
    known = Known(points, C, ["ant", "bee", "cat", "dog"])
    assert known.distance_interval("ant", "bee") == distance_interval([3, 4], 0.05 * np.eye(2))
    wide, narrow = (known.distance_interval("ant", "bee", level=at) for at in (0.99, 0.5))
    assert wide.low < narrow.low < 5 < narrow.high < wide.high
    assert known.closer("ant", "bee", "cat") == closer_probability(points[:3], C[:3])
    first, second, third = known.least_certain(10)  # the one without a place is left out
    assert [first.item, second.item, third.item] == ["bee", "cat", "ant"]
    assert first.error == pytest.approx(np.sqrt(0.08))
    assert first.relative == pytest.approx(np.sqrt(0.08) / map_size(points))
    assert len(known.least_certain(1)) == 1
    unplaced = known.distance_interval("ant", "dog")
    assert np.isnan(unplaced).all()
    assert np.isnan(known.closer("ant", "bee", "dog"))
    with pytest.raises(ValueError, match="no item cow in the map; its items are ant, bee"):
        known.closer("ant", "bee", "cow")


def test_errors_of_coordinates_and_places():
    C = np.array([[[4.0, 1.0], [1.0, 9.0]]])
    assert standard_errors(C).tolist() == [[2.0, 3.0]]
    assert place_errors(C)[0] == pytest.approx(np.sqrt(13))


def test_a_method_without_a_likelihood_names_the_bootstrap():
    triplets = sample_triplets(sample_points(8, random_state=0), 400, random_state=0)
    model = GNMDS(init="random", random_state=0).fit(triplets)
    with pytest.raises(AttributeError, match="GNMDS is no likelihood.*ordinate.bootstrap"):
        model.closer(0, 1, 2)


def test_a_fitted_model_answers():
    triplets = sample_triplets(sample_points(8, random_state=0), 400, random_state=0)
    model = STE(init="random", random_state=0).fit(triplets)
    C = model.covariance_
    expected = distance_interval(model.embedding_[2] - model.embedding_[5], C[2] + C[5])
    assert model.distance_interval(2, 5) == expected
    assert model.least_certain(1)[0].item == np.argmax(place_errors(C))


def test_fitted_maps_say_what_is_true():
    """Distances lie in their intervals, and comparisons come true as often as they should."""
    rng = np.random.default_rng(0)
    held, chances, came_true = [], [], []
    for seed in range(5):
        points = sample_points(30, random_state=seed)
        triplets = sample_triplets(points, 30 * 2 * 40, random_state=seed)
        model = STE(init=points).fit(triplets)
        for _ in range(100):
            a, b, c = rng.choice(30, 3, replace=False)
            near, far = (np.linalg.norm(points[a] - points[k]) for k in (b, c))
            found = model.distance_interval(a, b)
            held.append(found.low <= near <= found.high)
            chance = model.closer(a, b, c)
            chances.append(max(chance, 1 - chance))
            came_true.append((near < far) == (chance > 0.5))
    chances, came_true = np.array(chances), np.array(came_true)
    assert 0.92 < np.mean(held) < 0.995
    assert abs(chances.mean() - came_true.mean()) < 0.04
    unsure = chances < 0.8
    assert abs(chances[unsure].mean() - came_true[unsure].mean()) < 0.1


def test_an_item_is_no_distance_from_itself():
    from ordinate import STE, sample_points, sample_triplets

    answers = sample_triplets(sample_points(10, random_state=0), 2000, random_state=0)
    model = STE(random_state=0).fit(answers)
    assert tuple(model.distance_interval(3, 3)) == (0.0, 0.0, 0.0)
