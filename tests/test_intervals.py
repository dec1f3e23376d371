"""Intervals of the numbers that say how people answer; 20 runs each are in benchmarks/bench_shape.py."""

import numpy as np
import pytest

from ordinate import OrdinalEmbedding, Power, Triplets, sample_points, sample_triplets
from ordinate.algorithms import profile
from ordinate.algorithms.profile import _Coordinates, _end, _Numbers, _value
from ordinate.kernels.losses import power_family
from ordinate.passes import store_of


def fitted(noise, n=20, m=3000, seed=0, size=3.0):
    points = size * sample_points(n, random_state=seed)
    triplets = sample_triplets(points, m, noise=noise, random_state=seed + 1)
    return OrdinalEmbedding(random_state=seed).fit(triplets), triplets


def covers(interval, truth):
    return interval.low <= truth <= interval.high


def test_people_who_compare_distances_and_lapse():
    """Intervals hold the truth, and exclude those who compare squares and never lapse."""
    model, triplets = fitted(Power(power=0.5, slope=1.0, lapse=0.1), n=12, m=3000)
    found = model.response_intervals(triplets)
    assert tuple(found) == profile.NUMBERS
    assert covers(found["power"], 0.5)
    assert covers(found["lapse"], 0.1)
    assert found["exponent"].high < 1
    assert found["lapse"].low > 0
    for interval in found.values():
        assert interval.low <= interval.estimate <= interval.high


def test_those_who_compare_squared_distances():
    """The exponent is 1, there are no lapses; powers are hard to tell, as maps may be small."""
    model, triplets = fitted("btl", n=12, m=2000, size=1.0)
    found = model.response_intervals(triplets)
    assert covers(found["exponent"], 1.0)
    assert found["lapse"].low == 0
    assert 0 < found["lapse"].high < 0.6
    assert found["power"].high - found["power"].low > 2 * (
        found["exponent"].high - found["exponent"].low
    )


def test_rows_of_one_answer_make_intervals_wider():
    noise = Power(power=0.5, slope=1.0, lapse=0.1)
    model, triplets = fitted(noise, n=12, m=2000)
    pairs = Triplets(triplets.rows, answer=np.arange(len(triplets)) // 2)
    alone, together = (model.response_intervals(rows)["lapse"] for rows in (triplets, pairs))
    surer = model.response_intervals(triplets, level=0.5)["lapse"]
    width = alone.high - alone.low
    assert together.high - together.low > 1.2 * width
    assert surer.high - surer.low < 0.6 * width
    with pytest.raises(ValueError, match="level must be"):
        model.response_intervals(triplets, level=1.0)


@pytest.mark.parametrize("wanted", profile.NUMBERS)
def test_coordinates_stand_for_numbers(wanted):
    numbers = _Numbers(power=0.3, slope=0.7, lapse=0.04, variance=2.5)
    coordinates = _Coordinates(wanted, 2)
    assert np.allclose(coordinates.numbers(coordinates.of(numbers)), numbers)
    # What lies beyond the bounds is brought within them.
    wild = coordinates.of(numbers._replace(power=-9.0, variance=1e9))
    assert ((wild >= coordinates.bounds[:, 0]) & (wild <= coordinates.bounds[:, 1])).all()


def test_another_power_is_sought_on_a_map_of_another_spread():
    coordinates = _Coordinates("power", 2)
    at = coordinates.of(_Numbers(power=0.5, slope=1.0, lapse=0.1, variance=10.0))
    exponent = _Coordinates("exponent", 2)

    def exponent_of(place):
        return exponent.of(coordinates.numbers(place))[0]

    moved = coordinates.moved(at, 0.0)
    assert moved[0] == 0
    assert exponent_of(moved) == pytest.approx(exponent_of(at))
    assert moved[1] < at[1]
    for number in (0.9, 1.0, 1.5):  # no spread makes these come to the same
        assert coordinates.moved(at, number)[1] == at[1]


def test_at_power_1_slope_and_scale_are_one_number():
    model, triplets = fitted("btl", n=12, m=1500, size=1.0)
    store, points = store_of(triplets), model.embedding_ / model.embedding_.std()
    one, _ = _value(store, _Numbers(1.0, 1.0, 0.02, 0.8), points)
    same, _ = _value(store, _Numbers(1.0, 0.25, 0.02, 3.2), points)
    assert one == pytest.approx(same, abs=1e-3)


@pytest.mark.parametrize("end", [0.03, 0.9, 2.9])
@pytest.mark.parametrize("side", [-1, 1])
def test_ends_are_where_the_value_has_risen_enough(end, side):
    tried = []

    def rise(number):
        tried.append(number)
        return 2.0 * ((number - 1) / end) ** 2

    found = _end(rise, 1.0, side * 0.1, 1.0 + side * 3, 2.0)
    assert found == pytest.approx(1 + side * end, rel=0.01, abs=0.01 * end)
    assert len(tried) < 8
    assert _end(rise, 1.0, side * 0.1, 1.0 + side * 0.5 * end, 2.0) is None


@pytest.mark.parametrize("side", [-1, 1])
def test_an_interval_ends_soon_where_the_value_jumps(side):
    """There a map leaves one optimum for another; the interval holds the jump."""
    asked = []

    def rise(number):
        asked.append(number)
        away = abs(number - 1.0)
        return away**2 if away < 1.31 else 30.0

    found = _end(rise, 1.0, side * 0.1, 1.0 + side * 9, 2.0)
    assert 1.31 <= abs(found - 1.0) < 1.31 / 0.95
    assert len(asked) <= 12


def test_a_lower_minimum_that_turns_up_is_begun_from_anew(monkeypatch):
    """The first minimum is a sham: intervals are those from the true one all the same."""
    noise = Power(power=0.5, slope=1.0, lapse=0.1)
    model, triplets = fitted(noise, n=12, m=2000)
    true = model.response_intervals(triplets)
    minimum, calls = profile._minimum, []

    def sham(store, coordinates, start, points, held=None):
        calls.append(held)
        found = minimum(store, coordinates, start, points, held)
        return found._replace(value=found.value + 5.0) if len(calls) == 1 else found

    monkeypatch.setattr(profile, "_minimum", sham)
    found = model.response_intervals(triplets)
    assert calls.count(None) == 2
    assert found["lapse"].low == pytest.approx(true["lapse"].low, abs=0.01)
    assert found["lapse"].high == pytest.approx(true["lapse"].high, abs=0.01)


def test_where_lower_minima_turn_up_without_end_intervals_are_wider(monkeypatch):
    """The last try stands, but what the one before it was off by is allowed for."""
    model, triplets = fitted("btl", n=12, m=300)
    allowed = []

    def interval(store, coordinates, numbers, best, rise, lower):
        allowed.append(rise)
        if lower < np.inf:
            raise profile._LowerError(numbers, best.points, fall=7.0)
        return profile.Interval(0.0, 0.0, 0.0)

    monkeypatch.setattr(profile, "_interval", interval)
    monkeypatch.setattr(
        profile, "_minimum", lambda store, _, start, points: profile._Found(start, 0.0, points)
    )
    model.response_intervals(triplets)
    first, *others = allowed
    assert others[: profile.TRIES - 2] == [first] * (profile.TRIES - 2)
    assert others[profile.TRIES - 2 :] == [first + 7.0] * len(profile.NUMBERS)


def test_values_that_overflow_are_a_wall_to_turn_back_from(monkeypatch):
    """Beyond a gain, and at it, there is no value: the least is found on this side of it."""
    coordinates = _Coordinates("exponent", 2)
    start = coordinates.of(_Numbers(power=0.5, slope=1.0, lapse=0.1, variance=2.0))

    def value(store, numbers, points):
        power_family(*numbers[:3])  # refuses what is no number
        at = coordinates.of(numbers)
        far = at[2] > start[2] + 0.5
        return (np.nan if far else float((at[3] - 0.2) ** 2 * 1e3 - 50 * at[2])), points

    monkeypatch.setattr(profile, "_value", value)
    found = profile._minimum(None, coordinates, start, np.zeros((3, 2)))
    assert np.isfinite(found.value)
    assert np.isfinite(found.at).all()
    assert found.at[2] > start[2]
    assert found.at[3] == pytest.approx(0.2, abs=0.02)
