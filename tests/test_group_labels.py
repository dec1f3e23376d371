"""Whether groups differ: labels dealt anew, few answers, items asked unevenly."""

import numpy as np
import pytest

from ordinate import (
    STE,
    OrdinalEmbedding,
    ParticipantEmbedding,
    Triplets,
    compare_groups,
    sample_points,
)
from ordinate.evaluation import group_pulls
from ordinate.evaluation.group_pulls import Pulls, judge_labels
from ordinate.evaluation.permutation import fit_quietly
from ordinate.kernels import losses
from ordinate.passes import store_of

STE_LOSS = losses.get("ste")


def asked(points, m, seed, wanted=None):
    """Answers by BTL about three items, drawn in proportion to how often they are wanted."""
    rng = np.random.default_rng(seed)
    wanted = np.ones(len(points)) if wanted is None else wanted
    rows = (rng.gumbel(size=(m, len(points))) + np.log(wanted)).argsort(axis=1)[:, -3:]
    rows = rng.permuted(rows, axis=1)
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    turned = rng.random(m) > 1 / (1 + np.exp(near - far))
    rows[turned] = rows[turned][:, [0, 2, 1]]
    return rows


def judged(rows, whose, points, seed=0):
    """The p-value of groups by the pulls on the map of all answers."""
    model = fit_quietly(STE(2, init=points, n_init=1), Triplets(rows, n_items=len(points)))
    each = np.arange(len(rows))
    pulls = Pulls(Triplets(rows, n_items=len(points)), each, model.embedding_, STE_LOSS)
    return judge_labels(pulls, rows, each, whose, np.random.default_rng(seed))


def test_pulls_are_the_gradients_of_units():
    points = sample_points(10, random_state=0)
    rows, rng = asked(points, 300, 0), np.random.default_rng(0)
    unit, weight = rng.integers(7, size=300), rng.integers(1, 4, size=300).astype(float)
    triplets = Triplets(rows, n_items=10, weight=weight)
    pulls = Pulls(triplets, unit, points, STE_LOSS)
    for number in range(7):
        own = store_of(triplets[unit == number]).loss(points, STE_LOSS)[1]
        here = pulls.unit == number
        found = np.zeros((10, 2))
        found[pulls.item[here]] = pulls.gradient[here]
        assert found == pytest.approx(own)
    # Of one group there is nothing to differ; twice the same answers differ in nothing.
    assert not pulls.apart(np.zeros(7, int), 1).any()
    twice = Triplets(np.concatenate([rows, rows]), n_items=10)
    both = Pulls(twice, np.arange(600), points, STE_LOSS)
    assert both.apart(np.repeat([0, 1], 300), 2) == pytest.approx(np.zeros(10), abs=1e-9)


def test_on_average_pulls_are_as_many_as_coordinates_to_spare():
    """(G - 1) d for each item: groups are in units of chance, whatever their sizes."""
    points = sample_points(12, random_state=0)
    rows = asked(points, 3000, 0)
    model = STE(2, init=points, n_init=1).fit(rows)
    pulls = Pulls(Triplets(rows), np.arange(3000), model.embedding_, STE_LOSS)
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], [500, 500, 2000])
    found = [pulls.apart(rng.permutation(label), 3).mean() for _ in range(200)]
    assert np.mean(found) == pytest.approx(4, rel=0.05)


def test_tiny_groups_of_clear_answers_raise_no_false_alarm():
    """A map without a ridge is sure of nearly all of them."""
    alarms = []
    for seed in range(40):
        points = 3 * sample_points(12, random_state=seed)
        rows = asked(points, 120, seed)
        alarms.append(judged(rows, np.arange(120) % 2, points).p_value <= 0.05)
    assert sum(alarms) <= 5


def test_items_asked_unevenly_raise_no_false_alarm(monkeypatch):
    def alarms():
        found = []
        for seed in range(25):
            points = 3 * sample_points(12, random_state=seed)
            halves = np.repeat([8.0, 1.0], 6), np.repeat([1.0, 8.0], 6)
            rows = np.concatenate(
                [asked(points, 100, 2 * seed + k, half) for k, half in enumerate(halves)]
            )
            test = judged(rows, np.repeat([0, 1], 100), points)
            found.append(test.p_value <= 0.05)
        return sum(found)

    assert alarms() <= 3
    # The guard that does it: labels that are dealt in any way make groups of another kind.
    monkeypatch.setattr(group_pulls, "_is_uneven", lambda *_: False)
    assert alarms() >= 6


def test_what_is_uneven_is_seen_and_told():
    points = sample_points(12, random_state=0)
    even, odd = asked(points, 400, 0), asked(points, 400, 1, np.repeat([4.0, 1.0], 6))
    whose = np.repeat([0, 1], 400)
    assert judged(np.concatenate([even, odd]), whose, points).uneven
    assert not judged(np.concatenate([even, asked(points, 400, 2)]), whose, points).uneven


def test_too_many_groups_that_were_asked_unevenly_cannot_be_told(monkeypatch):
    points = sample_points(12, random_state=0)
    rows = np.concatenate([asked(points, 400, k, np.repeat([4.0**k, 1.0], 6)) for k in (0, 1)])
    monkeypatch.setattr(group_pulls, "MOST_CELLS", 100)
    found = compare_groups(STE(2, init=points, n_init=1), rows, np.repeat([0, 1], 400), folds=2)
    assert found.differ is None
    assert "cannot be told: they are too many" in found.sentence
    alone = np.full(800, None)
    alone[:400] = "one"
    with pytest.warns(UserWarning, match="name no group"):
        found = compare_groups(STE(2, init=points, n_init=1), rows, alone, folds=2)
    assert found.differ is None
    assert "one alone has enough answers" in found.sentence


def test_maps_of_few_answers_have_a_ridge():
    """Without one, unseen answers of clear groups were worth -8 and less in log-likelihood."""
    points = 3 * sample_points(12, random_state=0)
    rows = asked(points, 120, 0)
    found = compare_groups(STE(2, init=points, n_init=1), rows, np.arange(120) % 2, folds=3)
    for group in found.groups:
        assert group.own > -1.5
        assert group.model.regularization > 0
    many = asked(points, 12_000, 0)
    found = compare_groups(STE(2, init=points, n_init=1), many, np.arange(12_000) % 2, folds=2)
    size = (points**2).mean()
    assert found.groups[0].model.regularization == pytest.approx(1 / size, rel=0.3)
    chosen = STE(2, init=points, n_init=1, regularization=5.0)
    found = compare_groups(chosen, many[:1000], np.arange(1000) % 2, folds=2)
    assert found.groups[0].model.regularization == 5.0


@pytest.mark.parametrize(
    "estimator",
    [OrdinalEmbedding(2, random_state=0), ParticipantEmbedding(STE(2, random_state=0))],
)
def test_models_that_choose_and_weigh_judge_groups_too(estimator):
    points = 2 * sample_points(10, random_state=0)
    away = points.copy()
    away[0] += 3
    rows = np.concatenate([asked(p, 1200, k) for k, p in enumerate((points, away))])
    triplets = Triplets(rows, participant=np.repeat(np.arange(24), 100))
    found = compare_groups(estimator, triplets, np.repeat(["a", "b"], 1200), folds=2)
    assert found.by == "participant"
    assert found.differ
    assert found.apart[0] == 0
    assert "most clearly about 0" in found.sentence
