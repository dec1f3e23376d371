import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import procrustes_error
from ordinate.algorithms import scaling
from ordinate.algorithms.scaling import classical_mds, landmark_mds, project_edm


def squared_distances(X, Y=None):
    return ((X[:, None] - (X if Y is None else Y)[None]) ** 2).sum(axis=2)


def noisy_edm(size, d, noise, seed):
    rng = np.random.default_rng(seed)
    N = noise * rng.normal(size=(size, size))
    A = squared_distances(rng.normal(size=(size, d))) + N + N.T
    np.fill_diagonal(A, 0)
    return A


def dykstra(A, steps=3000):
    """Slow reference: alternating projections onto the cone and the zero diagonals."""
    size = len(A)
    H = np.eye(size) - 1 / size
    X, correction = A.copy(), np.zeros_like(A)
    for _ in range(steps):
        Y = X + correction
        values, U = np.linalg.eigh(H @ Y @ H)
        # Take the positive part off what acts on vectors of sum zero; those live in H's range.
        Z = Y - (U * np.maximum(values, 0)) @ U.T
        correction = Y - Z
        X = Z - np.diag(np.diag(Z))
    return X


@pytest.mark.parametrize("size", [2, 3, 5, 13, 40])
def test_projection_is_a_distance_matrix_and_idempotent(size):
    E = project_edm(noisy_edm(size, 2, 0.5, size))
    H = np.eye(size) - 1 / size
    assert np.allclose(E, E.T)
    assert (np.diag(E) == 0).all()
    assert E.min() > -1e-12
    assert np.linalg.eigvalsh(H @ E @ H).max() < 1e-10
    assert project_edm(E) == pytest.approx(E, abs=1e-10)


@given(st.integers(3, 9), st.integers(0, 10_000), st.floats(0.05, 2))
def test_projection_is_the_closest(size, seed, noise):
    A = noisy_edm(size, 2, noise, seed)
    E = project_edm(A)
    # A point of a convex cone is the projection if and only if the rest is orthogonal to it and at
    # an obtuse angle to every member of the cone.
    scale = np.abs(A).max() ** 2
    assert abs(((A - E) * E).sum()) < 1e-9 * scale
    rng = np.random.default_rng(seed)
    for _ in range(10):
        member = squared_distances(rng.normal(size=(size, rng.integers(1, 4))))
        assert ((A - E) * member).sum() < 1e-9 * scale


@pytest.mark.parametrize("seed", range(4))
def test_projection_agrees_with_alternating_projections(seed):
    A = noisy_edm(6, 2, 0.6, seed)
    assert project_edm(A) == pytest.approx(dykstra(A), abs=1e-6)


def test_projection_of_extremes():
    assert (project_edm(np.zeros((4, 4))) == 0).all()
    assert (project_edm(np.zeros((1, 1))) == 0).all()
    assert project_edm(-np.ones((4, 4))) == pytest.approx(np.zeros((4, 4)), abs=1e-12)


@given(st.integers(1, 4), st.integers(5, 12), st.integers(0, 1000))
def test_exact_distances_give_the_exact_points(d, size, seed):
    X = np.random.default_rng(seed).normal(size=(size, d))
    points, values = classical_mds(squared_distances(X), d)
    assert procrustes_error(points, X) < 1e-6
    assert (np.diff(values) <= 0).all()
    Y = np.random.default_rng(seed + 1).normal(size=(20, d))
    Z, e, turn = landmark_mds(squared_distances(X), d)
    placed = (squared_distances(Y, X) - e) @ turn
    both, truth = np.vstack([Z, placed]), np.vstack([X, Y])
    # Distances between points other than landmarks come out too.
    error = np.abs(squared_distances(both) - squared_distances(truth)).max()
    assert (
        error
        < 1e-6 * max(1, squared_distances(truth).max()) * np.linalg.cond(X - X.mean(axis=0)) ** 2
    )


def test_directions_without_a_positive_eigenvalue_are_zero():
    E = squared_distances(np.array([[0.0], [1.0], [3.0], [4.0]]))
    Z, e, turn = landmark_mds(E, 3)
    placed = (E[:2] + 0.1 - e) @ turn
    assert np.abs(Z[:, 1:]).max() < 1e-6
    assert np.isfinite(placed).all()


@pytest.mark.parametrize(("size", "d", "noise"), [(25, 2, 0.15), (50, 3, 0.25), (120, 5, 0.5)])
def test_projection_takes_few_steps(size, d, noise, monkeypatch):
    """Newton's method ends in few steps, also where the value's rounding hides its fall."""
    calls = []
    project = scaling._project_cone
    monkeypatch.setattr(scaling, "_project_cone", lambda A: calls.append(1) or project(A))
    for seed in range(3):
        project_edm(noisy_edm(size, d, noise, seed))
    assert len(calls) <= 3 * 12
