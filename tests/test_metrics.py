import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import ortho_group

from ordinate import Triplets, align, procrustes_error, purity, sample_points, triplet_error


@given(st.integers(1, 5), st.integers(6, 30), st.integers(0, 1000), st.floats(0.1, 10))
def test_alignment_undoes_any_motion(d, n, seed, factor):
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(n, d))
    Q = ortho_group.rvs(d, random_state=seed) if d > 1 else np.array([[-1.0]])
    moved = reference @ Q + rng.normal(size=d)
    assert np.allclose(align(moved, reference), reference)
    assert procrustes_error(moved, reference) == pytest.approx(0, abs=1e-9)
    assert np.allclose(align(factor * moved, reference, scale=True), reference)
    norm = np.linalg.norm(reference - reference.mean(axis=0))
    stretched = procrustes_error(factor * moved, reference)
    assert stretched == pytest.approx(abs(factor - 1) * norm, abs=1e-9)
    assert procrustes_error(factor * moved, reference, relative=True) == pytest.approx(
        abs(factor - 1), abs=1e-9
    )


def test_no_rotation_does_better():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 20, 2))
    best = procrustes_error(X, Y)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    for angle in np.linspace(0, 2 * np.pi, 400):
        c, s = np.cos(angle), np.sin(angle)
        for Q in ([[c, s], [-s, c]], [[c, s], [s, -c]]):
            assert np.linalg.norm(X @ Q - Y) >= best - 1e-12


def test_scaled_relative_error_is_that_of_scipy():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(2, 30, 3))
    disparity = scipy_procrustes(Y, X)[2]
    assert procrustes_error(X, Y, scale=True, relative=True) ** 2 == pytest.approx(disparity)


def test_degenerate_maps():
    assert np.allclose(align(np.zeros((4, 2)), np.ones((4, 2)), scale=True), 1)
    with pytest.raises(ValueError, match="not all the same"):
        procrustes_error(np.eye(4), np.ones((4, 4)), relative=True)
    with pytest.raises(ValueError, match="same shape"):
        align(np.eye(4), np.eye(3))
    with pytest.raises(ValueError, match="2 rows with NaN.*first at row 1"):
        align([[0, 0], [np.nan, 1], [np.inf, 1]], np.ones((3, 2)))


def test_triplet_error_counts_ties_half_and_weights():
    X = [[0.0], [1.0], [-1.0], [5.0]]
    rows = [[0, 1, 2], [0, 1, 3], [0, 3, 1]]
    assert triplet_error(X, rows) == pytest.approx(0.5)
    assert triplet_error(X, Triplets(rows, weight=[2, 1, 5])) == pytest.approx(6 / 8)
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far"])
    assert triplet_error(X, frame) == pytest.approx(0.5)


def test_triplet_error_against_the_truth():
    truth = sample_points(300, 2, random_state=0)
    assert triplet_error(3 * truth + 1, truth=truth, random_state=0) == 0
    noise = np.random.default_rng(1).normal(size=truth.shape)
    error = triplet_error(noise, truth=truth, n_triplets=200_000, random_state=0)
    assert error == pytest.approx(0.5, abs=0.02)
    once, twice = (triplet_error(truth + noise / 9, truth=truth, random_state=7) for _ in range(2))
    assert once == twice
    assert 0 < once < 0.2


def test_triplet_error_over_many_blocks():
    truth = sample_points(50, 2, random_state=0)
    from ordinate import sample_triplets

    triplets = sample_triplets(truth, 700_000, noise=0.2, random_state=0)
    assert triplet_error(truth, triplets) == pytest.approx(0.2, abs=0.003)


def test_triplet_error_refuses_what_does_not_fit():
    X = np.eye(4)
    with pytest.raises(ValueError, match="either triplets or truth"):
        triplet_error(X)
    with pytest.raises(ValueError, match="embedding has 4 rows, but truth has 3"):
        triplet_error(X, truth=np.eye(3))
    with pytest.raises(ValueError, match="beyond 3"):
        triplet_error(X, [[0, 1, 7]])
    with pytest.raises(ValueError, match="n_items is 4, but the triplets have 3 items"):
        triplet_error(X, Triplets([[0, 1, 2]]))


def test_purity():
    assert purity([0, 0, 1, 1], list("aabb")) == 1
    assert purity([5, 5, 5, 5], list("aabb")) == 0.5
    assert purity(["x", "x", "y", "y", "y"], [0, 1, 2, 2, 0]) == pytest.approx(3 / 5)
    with pytest.raises(ValueError, match="same length"):
        purity([0, 1], [0, 1, 2])
