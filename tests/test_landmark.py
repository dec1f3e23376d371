import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import Triplets, n_landmarks, procrustes_error, sample_points, sample_triplets
from ordinate.algorithms.landmark import least_squares_shifts, recover, second_eigenvalue
from ordinate.algorithms.landmark_choice import choose_landmarks
from ordinate.algorithms.ranking import Scores


def squared_distances(X, Y):
    return ((X[:, None] - Y[None]) ** 2).sum(axis=2)


def exact_scores(X, landmarks, rng=None):
    """Squared distances to the landmarks, each column shifted by an unknown amount."""
    D = squared_distances(X, X[landmarks])
    shifts = np.array([np.delete(D[:, k], i).mean() for k, i in enumerate(landmarks)])
    R = D - shifts
    R[landmarks, range(len(landmarks))] = 0
    information = np.ones_like(R) if rng is None else rng.uniform(0.5, 2, size=R.shape)
    return Scores(R, information, *[np.ones(1)] * 5, 1.0, np.ones(1)), shifts


@pytest.mark.parametrize("recovery", ["edm", "lift", "auto"])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
@pytest.mark.parametrize("more", [0, 1, 20])
def test_exact_scores_give_the_exact_map(recovery, d, more):
    """Noiseless columns return the true map, to 1e-8 relative, for l = d + 3 landmarks and more."""
    rng = np.random.default_rng(d)
    X = sample_points(300, d, random_state=rng)
    landmarks = np.sort(rng.choice(300, d + 3 + more, replace=False))
    scores, shifts = exact_scores(X, landmarks, rng)
    found = recover(scores, landmarks, d, recovery=recovery)
    assert procrustes_error(found.points, X, relative=True) < 1e-8
    assert found.shifts == pytest.approx(shifts, rel=1e-7)
    assert np.abs(found.points.mean(axis=0)).max() < 1e-12
    assert found.misfit < 1e-14


@given(st.integers(3, 12), st.integers(0, 1000))
def test_closed_form_shifts_solve_the_stacked_system(l, seed):
    W = np.random.default_rng(seed).normal(size=(l, l))
    np.fill_diagonal(W, 0)
    rows, right = [], []
    for i in range(l):
        for j in range(i + 1, l):
            row = np.zeros(l)
            row[i], row[j] = 1, -1
            rows.append(row)
            right.append(W[i, j] - W[j, i])
    rows.append(np.ones(l))
    right.append(-W.sum() / (l - 1))
    expected = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    assert least_squares_shifts(W) == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 1000))
def test_the_second_eigenvalue_is_the_mean_that_was_taken_off(d, more, seed):
    X = np.random.default_rng(seed).normal(size=(d + 3 + more, d))
    E = squared_distances(X, X)
    l = len(E)
    mean = E.sum() / (l * (l - 1))
    J = np.ones((l, l)) - np.eye(l)
    assert second_eigenvalue(E - mean * J) == pytest.approx(mean, rel=1e-9)


def test_the_eigenvalue_is_second_by_sign_and_not_by_size():
    assert second_eigenvalue(np.diag([5.0, -4.0, 1.0])) == pytest.approx(1)


def test_an_unexplained_map_falls_back_to_the_better_fit():
    """Few rows and many dimensions: lifting is ill-posed there, and auto says which it took."""
    rng = np.random.default_rng(0)
    X = sample_points(80, 8, random_state=rng)
    landmarks = np.sort(rng.choice(80, 20, replace=False))
    scores, _ = exact_scores(X, landmarks)
    noisy = Scores(
        scores.scores + 0.05 * rng.normal(size=scores.scores.shape),
        np.full(scores.scores.shape, 400.0),
        *[np.ones(1)] * 5,
        1.0,
        np.ones(1),
    )
    found = {name: recover(noisy, landmarks, 8, recovery=name) for name in ("auto", "lift", "edm")}
    assert found["lift"].misfit > 1.5
    assert found["auto"].recovery == "edm"
    assert found["auto"].misfit < min(found["lift"].misfit, found["edm"].misfit)
    errors = {name: procrustes_error(m.points, X, relative=True) for name, m in found.items()}
    assert errors["auto"] < min(errors["lift"], errors["edm"])


def test_lifting_needs_items_that_are_not_landmarks():
    X = sample_points(12, 2, random_state=0)
    everyone = np.arange(12)
    scores, _ = exact_scores(X, everyone)
    with pytest.raises(ValueError, match="needs items that are not landmarks: 0 are too few"):
        recover(scores, everyone, 2, recovery="lift")
    found = recover(scores, everyone, 2)
    assert found.recovery == "edm"
    assert procrustes_error(found.points, X, relative=True) < 1e-8


def test_the_number_of_landmarks_for_a_budget():
    assert n_landmarks(1000, 2, 10**7) == 24
    assert n_landmarks(1000, 10, 10**8) == 88
    assert n_landmarks(1000, 2, 200_000) == 10
    assert n_landmarks(1000, 2, 10) == 5
    assert n_landmarks(6, 10, 10**8) == 6
    with pytest.raises(ValueError, match="n_triplets must be a whole number"):
        n_landmarks(1000, 2, 0)


@pytest.fixture(scope="module")
def collected():
    """Ten anchors with many comparisons, five with few."""
    points = sample_points(40, random_state=0)
    many = sample_triplets(
        points, 10 * 800, design="landmarks", landmarks=range(10), random_state=1
    )
    few = sample_triplets(
        points, 5 * 90, design="landmarks", landmarks=range(20, 25), random_state=2
    )
    return Triplets(np.vstack([few.rows, many.rows]), n_items=40)


def test_auto_takes_every_anchor_with_enough(collected):
    assert choose_landmarks(collected, 2).tolist() == list(range(10))
    assert choose_landmarks(collected, 7).tolist() == list(range(10))


def test_auto_makes_do_with_fewer_comparisons_down_to_a_limit(collected):
    assert choose_landmarks(collected, 12).tolist() == [*range(10), *range(20, 25)]
    with pytest.raises(
        ValueError, match="13 dimensions need at least 16 landmarks.*15 anchors, 15 have"
    ):
        choose_landmarks(collected, 13)
    sparse = sample_triplets(sample_points(50, random_state=0), 2000, random_state=0)
    with pytest.raises(ValueError, match="Of 50 anchors, 0 have as many. Ask more questions"):
        choose_landmarks(sparse, 2)


def test_a_number_of_landmarks_is_spread_out():
    """Items on a line, all anchors: five of them end up far apart."""
    points = np.linspace(0, 4, 30)[:, None]
    triplets = sample_triplets(points, 60_000, random_state=0)
    chosen = choose_landmarks(triplets, 1, 5)
    assert len(set(chosen)) == 5
    assert np.diff(points[chosen, 0]).min() > 0.4
    assert choose_landmarks(triplets, 1, 30).tolist() == list(range(30))
    with pytest.raises(ValueError, match="31 landmarks are wanted, but only 30"):
        choose_landmarks(triplets, 1, 31)
    with pytest.raises(ValueError, match="landmarks must be a whole number of at least 4"):
        choose_landmarks(triplets, 1, 3)


def test_landmarks_by_name(collected):
    labels = [f"item {i}" for i in range(40)]
    named = Triplets(collected.rows, items=labels)
    wanted = ["item 5", "item 2", "item 9", "item 20", "item 0"]
    assert choose_landmarks(named, 2, wanted).tolist() == [0, 2, 5, 9, 20]
    assert choose_landmarks(collected, 2, np.array([5, 2, 9, 20, 0])).tolist() == [0, 2, 5, 9, 20]
    for bad, message in [
        ([*wanted, "lynx"], "not among the items: lynx"),
        ([*wanted, "item 5"], "must differ"),
        (wanted[:4], "2 dimensions need at least 5 landmarks; got 4"),
        ([*wanted, "item 30"], "anchor of no triplet: item 30$"),
    ]:
        with pytest.raises(ValueError, match=message):
            choose_landmarks(named, 2, bad)
    with pytest.raises(ValueError, match="must be one of 'auto'"):
        choose_landmarks(named, 2, "all")
