"""How alike maps of two halves of the answers are."""

import numpy as np
import pytest

from ordinate import STE, OrdinalEmbedding, Triplets, sample_points, sample_triplets, split_half

STARTED = {"n_init": 1, "random_state": 0}


@pytest.fixture(scope="module")
def points():
    return sample_points(20, 2, random_state=0)


def correlation(one, other):
    i, j = np.triu_indices(len(one), 1)
    distances = [np.linalg.norm(points[i] - points[j], axis=1) for points in (one, other)]
    return np.corrcoef(*distances)[0, 1]


def test_spearman_brown_says_how_alike_maps_of_twice_as_many_answers_are(points):
    estimator = STE(2, init=points, **STARTED)
    m = 8000
    found = split_half(estimator, sample_triplets(points, m, random_state=0), n_splits=6)
    maps = [
        estimator.fit(sample_triplets(points, m, random_state=seed)).embedding_
        for seed in range(1, 7)
    ]
    full = np.mean([correlation(*maps[k : k + 2]) for k in range(0, 6, 2)])
    r = found.correlation.mean()
    assert found.reliability == pytest.approx(2 * r / (1 + r))
    # It closes most of the gap between halves and the whole.
    assert abs(found.reliability - full) < 0.4 * (full - r)
    assert found.error.shape == (6,)
    assert found.error.std() > 0
    assert "Spearman-Brown" in found.sentence


def test_noise_is_not_reliable(points):
    generator = np.random.default_rng(0)
    rows = np.array([generator.permutation(20)[:3] for _ in range(1500)])
    found = split_half(STE(2, regularization=1.0, **STARTED), Triplets(rows), n_splits=3)
    assert found.correlation.max() < 0.4
    assert found.error.min() > 0.7


def test_participants_stay_together(points, monkeypatch):
    rows = sample_triplets(points, 2000, random_state=0).rows
    triplets = Triplets(rows, participant=np.arange(2000) % 7)
    seen = []
    fit = STE.fit

    def spy(self, X, y=None):
        seen.append(set(X.participant.tolist()))
        return fit(self, X, y)

    monkeypatch.setattr(STE, "fit", spy)
    estimator = STE(2, init=points, **STARTED)
    found = split_half(estimator, triplets, n_splits=2, by="participant")
    assert found.by == "participant"
    _, *halves = seen  # all answers come first
    assert len(halves) == 4
    assert all(not one & other for one, other in zip(halves[::2], halves[1::2], strict=True))
    with pytest.raises(ValueError, match="who answered"):
        split_half(estimator, Triplets(rows), by="participant")
    alone = Triplets(rows, participant=np.zeros(2000))
    with pytest.raises(ValueError, match="one participant alone"):
        split_half(estimator, alone, by="participant")


def test_items_that_halves_cannot_place_are_told(points):
    rows = sample_triplets(points, 800, random_state=0).rows
    rare = np.vstack([rows, [[20, 0, 1]]])
    with pytest.warns(UserWarning, match="halves place 20 of 21 items"):
        found = split_half(STE(2, regularization=1.0, **STARTED), Triplets(rare), n_splits=2)
    assert found.n_items.tolist() == [20, 20]
    with pytest.raises(ValueError, match="too few answers to cut in two"):
        split_half(STE(1, regularization=1.0), Triplets([[0, 1, 2], [3, 4, 5]]), n_splits=1)


def test_a_choice_is_made_once(points, monkeypatch):
    fitted = []
    fit = OrdinalEmbedding.fit
    monkeypatch.setattr(
        OrdinalEmbedding, "fit", lambda self, X, y=None: fitted.append(len(X)) or fit(self, X, y)
    )
    triplets = sample_triplets(points[:8], 400, random_state=0)
    split_half(OrdinalEmbedding(1, random_state=0), triplets, n_splits=1)
    assert fitted == [400]
