"""What a map takes over from others, how much a race may cost, and where descents may stop."""

import numpy as np
import pytest

from ordinate import GNMDS, STE, TSTE, sample_points, sample_triplets
from ordinate.algorithms import race as racing
from ordinate.algorithms.optimise import minimise
from ordinate.algorithms.race import Race
from ordinate.algorithms.recombining import aligned, recombined
from ordinate.algorithms.starts import Start
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets


@pytest.fixture(scope="module")
def groups():
    """Two groups of eight items among others, and clear answers about all items."""
    points = 3 * sample_points(60, 2, random_state=0)
    spread = 0.06 * np.random.default_rng(3).normal(size=(16, 2))
    points[:8], points[8:16] = np.array([4, 0]) + spread[:8], np.array([0, -4]) + spread[8:]
    return points, MemoryTriplets.from_triplets(sample_triplets(points, 10_000, random_state=0))


def race_of(store, loss, seed=0):
    race = Race(
        store, loss, np.random.default_rng(seed), regularization=0.0, tol=1e-4, max_iter=200
    )
    race.plain = np.inf
    return race


def test_a_map_takes_over_what_another_has_better(groups):
    points, store = groups
    loss = losses.get("tste")
    race = race_of(store, loss)
    lowest = race._close(store, points).history[-1]
    wrong, other = points.copy(), points.copy()
    wrong[:8] *= -1
    other[8:16] *= -1
    caught = race._close(store, wrong)
    assert caught.history[-1] > lowest + 1e-2  # no plain descent leads out of there
    best = race._recombine(caught, [other])  # which has another group on the wrong side
    assert best.history[-1] == pytest.approx(lowest, abs=1e-4)


def test_nothing_is_taken_over_that_is_no_better(groups):
    points, store = groups
    race = race_of(store, losses.get("tste"))
    best = race._close(store, points)
    worse = best.points.copy()
    worse[:8] *= -1
    assert race._recombine(best, [worse, best.points]) is best


def test_groups_are_items_that_lie_elsewhere_together(groups):
    points, _ = groups
    turned = points.copy()
    turned[:8] += [-4, 3]
    turned[40] += 5
    turned = 3 * turned @ [[0, 1], [-1, 0]] + 5
    found = {tuple(items): child for items, child in recombined(points, turned)}
    assert set(found) == {tuple(range(8)), (40,)}
    child = found[tuple(range(8))]
    assert child[8:] == pytest.approx(points[8:])
    assert child[:8] == pytest.approx(points[:8] + np.array([-4, 3]), abs=1)
    assert not list(recombined(points, points))
    # More than half of the items lie elsewhere: another map altogether.
    assert not list(recombined(points, np.random.default_rng(5).normal(size=points.shape)))


def test_alignment_ignores_items_that_lie_elsewhere(groups):
    points, _ = groups
    moved = points.copy()
    moved[0] = (5, 7)
    there = aligned(0.5 * moved @ [[0, 1], [-1, 0]] - 2, points)
    assert np.abs(there[1:] - points[1:]).max() < 0.2


def test_few_starts_race_where_they_agree():
    triplets = sample_triplets(sample_points(40, 2, random_state=0), 20_000, random_state=0)
    assert len(STE(random_state=0).fit(triplets).starts_) <= racing.AGREEING + 1


@pytest.mark.parametrize("method", [TSTE, GNMDS])
def test_a_race_costs_no_more_than_it_may(method):
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(30)[:3] for _ in range(3000)])  # answers by chance
    store = MemoryTriplets.from_triplets(sample_triplets(rng.normal(size=(30, 2)), 10))
    store = MemoryTriplets(rows.astype(np.int32), np.empty(0), 30, store.backend)
    loss = method()._loss(2)
    race = Race(store, loss, rng, regularization=0.0, tol=1e-4, max_iter=500)
    _, ended = race.run(Start("random", rng.normal(size=(30, 2))))
    assert len(ended) > 1
    # A step, and its line search, come to their end.
    limit = racing.AT_MOST - (racing.LAST_HINGED if method is GNMDS else 0)
    assert race.spent < limit * race.plain + 60 * (3 * len(store) + 2 * racing.STEP)


def test_a_descent_is_given_up_when_time_is_up(groups):
    points, store = groups
    race = race_of(store, losses.get("tste"))
    start = np.random.default_rng(0).normal(size=points.shape)
    whole = race._descend(race.store, start, 1e-4)
    race.plain = race.spent / racing.AT_MOST
    cut = race._descend(race.store, start, 1e-4)
    assert whole.n_iter > 5
    assert not whole.stopped
    assert cut.stopped
    assert cut.n_iter < 3


def test_starts_of_many_triplets_race_on_a_sample_and_end_on_all():
    points = np.random.default_rng(0).standard_t(2, size=(60, 5))
    store = MemoryTriplets.from_triplets(sample_triplets(points, 40_000, random_state=0))
    race, seen = race_of(store, losses.get("tste")), {}
    closed, on_all = [], race._close

    def close(field, points):
        closed.append(field)
        return on_all(field, points)

    def improved(name, best, others, next_start):
        seen["before"], seen["ended"] = len(others), closed.count(race.store)
        rivals = [best, next_start()[1]]
        seen["told"] = [found.history[-1] for found in rivals]
        seen["true"] = [store.loss(f.points, race.loss)[0] / store.total for f in rivals]
        return name, best

    race._close, race._improved, race._settled = close, improved, lambda found: False
    race.run(Start("spectral", np.random.default_rng(1).normal(size=(60, 2))))
    assert 2 < seen["before"] <= racing.MOST_STARTS
    assert seen["ended"] == 2  # the first start's map, and the best one's
    assert seen["told"] == pytest.approx(seen["true"])


def test_distances_are_from_the_map_that_wins(groups, monkeypatch):
    points, store = groups
    race = race_of(store, losses.get("tste"))
    monkeypatch.setattr(race, "_settled", lambda found: False)
    far = minimise(store, race.loss, np.random.default_rng(1).normal(size=points.shape), max_iter=0)
    monkeypatch.setattr(race, "_improved", lambda *_: ("lifted", far))
    start, ended = race.run(Start("spectral", points))
    assert start.name == "lifted"
    assert start.points is far.points
    assert not any(end.agrees for end in ended)


def test_answers_that_a_map_has_quite_wrong_are_no_chance():
    triplets = sample_triplets(sample_points(200, 2, random_state=0), 1200, random_state=0)
    store, loss = MemoryTriplets.from_triplets(triplets), losses.get("ste")
    start = 5 * sample_points(200, 2, random_state=1)  # probabilities are near 0 or 1 there
    found = minimise(store, loss, start, tol=1e-4, max_iter=500)
    assert found.history[-1] < 1  # and not 8, after one step
