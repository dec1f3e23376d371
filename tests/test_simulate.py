import numpy as np
import pytest
from scipy import stats

import ordinate
from ordinate import sample_points, sample_triplets, simulate

SIGMAS = 4.5  # a frequency farther than this from its probability is a fault, not chance


def assert_frequency(hits, probability):
    """Compare the mean of 0/1 outcomes with their probabilities, within SIGMAS standard errors."""
    probability = np.broadcast_to(probability, hits.shape)
    error = np.sqrt((probability * (1 - probability)).sum()) / len(hits)
    assert abs(hits.mean() - probability.mean()) <= SIGMAS * error


@pytest.mark.parametrize("d", [1, 2, 10])
def test_normal_points_have_unit_mean_squared_distance(d):
    points = sample_points(20_000, d, random_state=0)
    assert points.std(axis=0) == pytest.approx(np.full(d, 1 / np.sqrt(2 * d)), rel=0.03)
    assert 2 * points.var(axis=0).sum() == pytest.approx(1, rel=0.03)
    assert stats.kstest(points[:, 0] * np.sqrt(2 * d), "norm").pvalue > 1e-4


def test_uniform_and_centred_points():
    points = sample_points(20_000, 3, distribution="uniform", random_state=0)
    assert stats.kstest(points[:, 1], "uniform").pvalue > 1e-4
    centred = sample_points(20_000, 3, distribution="uniform", centred=True, random_state=0)
    assert np.allclose(centred, points - points.mean(axis=0))
    assert np.abs(centred.mean(axis=0)).max() < 1e-12


NOISES = {
    "none": lambda x: (x > 0) * 1.0,
    "btl": lambda x: 1 / (1 + np.exp(-x)),
    "thurstone": stats.norm.cdf,
    0.15: lambda x: np.where(x > 0, 0.85, 0.15),
    (lambda x: 1 / (1 + np.exp(-3 * x))): lambda x: 1 / (1 + np.exp(-3 * x)),
}


@pytest.mark.parametrize("noise", NOISES, ids=[*list(NOISES)[:4], "function"])
@pytest.mark.parametrize("design", ["uniform", "landmarks"])
def test_answers_follow_the_noise_model(noise, design):
    points = sample_points(200, random_state=1)
    landmarks = {"landmarks": 7} if design == "landmarks" else {}
    triplets = sample_triplets(
        points, 200_000, noise=noise, design=design, random_state=2, **landmarks
    )
    anchor, near, far = triplets.rows.T
    D = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    # Whichever of the pair has the lower id, how often was it called farther?
    low, high = np.minimum(near, far), np.maximum(near, far)
    difference = D[anchor, low] - D[anchor, high]
    probability = NOISES[noise](difference)
    for chosen in (difference < -1, (difference < 0) & (difference > -1), difference > 0.5):
        assert_frequency((far == low)[chosen], probability[chosen])


def test_uniform_design_is_uniform():
    n, m = 20, 300_000
    rows = sample_triplets(sample_points(n, random_state=0), m, random_state=3).rows
    for i in range(3):
        counts = np.bincount(rows[:, i], minlength=n)
        if i == 0:
            assert stats.chisquare(counts).pvalue > 1e-4
    anchor, near, far = rows.T.astype(int)
    questions = (anchor * n + np.minimum(near, far)) * n + np.maximum(near, far)
    counts = np.unique(questions, return_counts=True)[1]
    assert len(counts) == n * (n - 1) * (n - 2) // 2
    assert stats.chisquare(counts).pvalue > 1e-4


def test_landmark_design_shares_out_equally_and_pairs_are_uniform():
    n, m, landmarks = 15, 200_003, [4, 0, 11]
    points = sample_points(n, random_state=0)
    rows = sample_triplets(
        points, m, design="landmarks", landmarks=landmarks, noise=0.5, random_state=3
    ).rows.astype(int)
    anchors, counts = np.unique(rows[:, 0], return_counts=True)
    assert anchors.tolist() == sorted(landmarks)
    assert np.ptp(counts) <= 1
    pairs = np.unique(np.sort(rows[rows[:, 0] == 4, 1:], axis=1) @ [n, 1], return_counts=True)[1]
    assert len(pairs) == (n - 1) * (n - 2) // 2
    assert stats.chisquare(pairs).pvalue > 1e-4


def test_landmarks_are_drawn_uniformly_and_without_repeats():
    points = sample_points(10, random_state=0)
    drawn = [
        np.unique(
            sample_triplets(points, 40, design="landmarks", landmarks=4, random_state=s).rows[:, 0]
        )
        for s in range(600)
    ]
    assert all(len(landmarks) == 4 for landmarks in drawn)
    assert stats.chisquare(np.bincount(np.concatenate(drawn))).pvalue > 1e-4


@pytest.mark.parametrize("design", ["uniform", "landmarks"])
def test_rows_depend_on_the_seed_alone(design):
    points = sample_points(50, random_state=0)
    m = 5 * simulate.BLOCK + 17
    options = {"design": design, "landmarks": 6 if design == "landmarks" else None}
    with ordinate.threads(1):
        one = sample_triplets(points, m, random_state=4, **options).rows
    with ordinate.threads(3):
        three = sample_triplets(points, m, random_state=4, **options).rows
    pieces = list(simulate.iter_triplets(points, m, random_state=4, **options))
    assert (one == three).all()
    assert (np.concatenate([piece.rows for piece in pieces]) == one).all()
    assert (sample_triplets(points, m, random_state=5, **options).rows != one).any()


def test_a_stream_comes_in_pieces(monkeypatch):
    monkeypatch.setattr(simulate, "BLOCKS_AT_A_TIME", 2)
    points = sample_points(50, random_state=0)
    m = 5 * simulate.BLOCK + 17
    pieces = list(simulate.iter_triplets(points, m, random_state=4))
    assert [len(piece) for piece in pieces] == [2 * simulate.BLOCK] * 2 + [simulate.BLOCK + 17]
    whole = sample_triplets(points, m, random_state=4)
    assert (np.concatenate([piece.rows for piece in pieces]) == whole.rows).all()
    assert all(piece.n_items == 50 for piece in pieces)


def test_generators_are_advanced_and_other_seeds_taken():
    points = sample_points(50, random_state=0)
    rng = np.random.default_rng(0)
    first = sample_triplets(points, 100, random_state=rng)
    second = sample_triplets(points, 100, random_state=rng)
    assert (first.rows != second.rows).any()
    for make in (np.random.default_rng, np.random.RandomState, np.random.SeedSequence):
        twice = [sample_triplets(points, 100, random_state=make(1)).rows for _ in range(2)]
        assert (twice[0] == twice[1]).all()
    fresh = [sample_triplets(points, 100).rows for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        sample_triplets(points, 100, random_state="seed")


def test_any_distance_matrix_or_function():
    points = sample_points(40, 3, random_state=0)
    D = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    expected = sample_triplets(points, 1000, random_state=1).rows
    assert (
        sample_triplets(squared_distances=D, n_triplets=1000, random_state=1).rows == expected
    ).all()
    by_function = sample_triplets(
        squared_distances=lambda i, j: D[i, j], n_items=40, n_triplets=1000, random_state=1
    )
    assert (by_function.rows == expected).all()


POINTS = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either points or squared_distances"),
        ({"points": POINTS, "squared_distances": np.zeros((4, 4))}, "either points"),
        ({"points": POINTS[:2]}, "needs three items"),
        ({"points": np.array([[0.0], [1], [np.nan]])}, "1 rows with NaN.* row 2"),
        ({"points": np.zeros(4)}, r"\(n, d\) array"),
        ({"squared_distances": np.zeros((4, 3))}, "square matrix"),
        ({"squared_distances": lambda i, j: i}, "needs n_items"),
        ({"points": POINTS, "n_items": 5}, "n_items is 5, but points has 4 rows"),
        ({"points": POINTS, "noise": 0.7}, "0 to 1/2"),
        ({"points": POINTS, "noise": "loud"}, "noise .* must be one of"),
        ({"points": POINTS, "noise": lambda x: x + 2}, "must return a probability"),
        ({"points": POINTS, "noise": lambda x: 0.5}, "must return a probability"),
        ({"points": POINTS, "design": "moon"}, "design must be one of"),
        ({"points": POINTS, "landmarks": 3}, "go with design='landmarks'"),
        ({"points": POINTS, "design": "landmarks"}, "needs landmarks"),
        ({"points": POINTS, "design": "landmarks", "landmarks": 5}, "at most 4"),
        ({"points": POINTS, "design": "landmarks", "landmarks": [1, 1]}, "different ids"),
        ({"points": POINTS, "design": "landmarks", "landmarks": [1, 4]}, r"0\.\.3"),
        ({"points": POINTS, "n_triplets": 0}, "n_triplets must be a whole number"),
    ],
)
def test_bad_requests_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        sample_triplets(**{"n_triplets": 10, **options})


def test_missing_and_unknown_arguments():
    with pytest.raises(TypeError, match="n_triplets"):
        sample_triplets(POINTS)
    with pytest.raises(TypeError, match="moon"):
        next(simulate.iter_triplets(POINTS, 10, moon=1))
    with pytest.raises(TypeError, match="array of numbers"):
        sample_triplets([["a", "b"]], 10)


def test_equal_distances_are_answered_at_random():
    rows = sample_triplets(POINTS, 40_000, noise="none", random_state=0).rows
    assert_frequency(rows[:, 1] < rows[:, 2], 0.5)
