"""From distances to coordinates: classical MDS, landmark MDS, the cone of distance matrices.

Distance matrices hold *squared* Euclidean distances throughout.
"""

from collections.abc import Callable

import numpy as np

from ordinate._base.arrays import beside, cast, keep, namespace, on_host


def classical_mds(E: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose squared distances are closest to E, in the sense of inner products.

    With H the centring matrix, the inner products of centred points are ``-H E H / 2``: the
    coordinates are its leading eigenvectors, scaled by the square roots of their eigenvalues.

    Parameters
    ----------
    E : ndarray, shape (n, n)
    n_components : int

    Returns
    -------
    points : ndarray, shape (n, n_components)
        Centred. Directions without a positive eigenvalue are 0.
    eigenvalues : ndarray, shape (n_components,)
        In decreasing order, as found.

    Examples
    --------
    >>> points, _ = classical_mds(np.array([[0.0, 1, 9], [1, 0, 4], [9, 4, 0]]), 1)
    >>> bool(np.allclose(np.abs(np.diff(points, axis=0)), [[1], [2]]))
    True
    """
    B = -0.5 * _double_centred(E)
    values, vectors = np.linalg.eigh((B + B.T) / 2)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    return vectors * np.sqrt(np.maximum(values, 0)), values


def principal_axes(points: np.ndarray) -> np.ndarray:
    """Centre a map and turn it to its principal axes, the longest first.

    Along each axis the item furthest out is on the positive side, so that maps of the same data
    look alike. Items without a place (NaN) stay so.

    Examples
    --------
    >>> principal_axes(np.array([[1.0, 0], [1, 1], [1, 5]])).round(6)[:, 0].tolist()
    [-2.0, -1.0, 3.0]
    """
    xp = namespace(points)
    placed = xp.isfinite(points).all(axis=1)[:, None]
    X = points - keep(points, placed).sum(axis=0) / placed.sum()
    known = keep(X, placed)
    turn = beside(X, np.linalg.eigh(on_host(known.T @ known))[1][:, ::-1])
    furthest = abs(known @ turn).argmax(axis=0)
    X = X @ turn
    return X * (1 - 2 * cast(X[furthest, np.arange(X.shape[1])] < 0, "int64"))


def landmark_mds(E: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place landmarks by their distances E, and say where other points are by theirs.

    With Z the landmarks by classical MDS and e the mean row of E, a point with distances f to the
    landmarks is at ``-Z^+ (f - e) / 2``, Z^+ the pseudo-inverse (de Silva and Tenenbaum, 2004).

    Parameters
    ----------
    E : ndarray, shape (l, l)
    n_components : int

    Returns
    -------
    landmarks : ndarray, shape (l, n_components)
    e : ndarray, shape (l,)
    turn : ndarray, shape (l, n_components)
        Points are at ``(f - e) @ turn``.
    """
    Z, values = classical_mds(E, n_components)
    # Z^+ = Z' / eigenvalue in each direction; directions that noise has swallowed stay 0.
    usable = values > 1e-12 * max(values[0], 0)
    inverse = np.where(usable, 1 / np.where(usable, values, 1), 0)
    return Z, E.mean(axis=0), -0.5 * Z * inverse


def project_edm(A: np.ndarray, *, tol: float = 1e-13, max_iter: int = 100) -> np.ndarray:
    """Closest Euclidean distance matrix to A in the Frobenius norm.

    Distance matrices are the symmetric matrices with zero diagonal in the cone K of those that are
    negative semidefinite on vectors of sum zero. Projecting onto K alone is an eigenvalue problem;
    the diagonal enters by multipliers y: the projection is P_K(A + diag(y)) for the y at which its
    diagonal is zero, found by Newton's method on the dual problem, the minimum over y of
    ``|P_K(A + diag(y))|^2 / 2`` (Qi, 2013).

    Parameters
    ----------
    A : ndarray, shape (l, l)
    tol : float
        Largest entry of the diagonal left, relative to the largest of A.
    max_iter : int

    Returns
    -------
    ndarray, shape (l, l)

    Examples
    --------
    >>> E = np.array([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> bool(np.allclose(project_edm(E), E))
    True
    """
    from scipy.sparse.linalg import LinearOperator, cg

    A = (A + A.T) / 2
    np.fill_diagonal(A, 0)
    size = np.abs(A).max()
    if size == 0:
        return A
    y = np.zeros(len(A))
    P, derivative = _project_cone(A / size)
    for _ in range(max_iter):
        gradient = np.diag(P)
        if np.abs(gradient).max() <= tol:
            break
        # The dual is convex but not strictly: a little of the identity keeps its curvature regular.
        size_left = float(np.linalg.norm(gradient))
        shift = 1e-3 * min(1e-2, size_left)
        curvature = LinearOperator(
            A.shape, lambda h, d=derivative, c=shift: np.diag(d(np.diag(h))) + c * h
        )
        step = cg(curvature, -gradient, rtol=min(1e-2, size_left))[0]
        length, value = 1.0, 0.5 * (P**2).sum()
        while True:
            new, new_derivative = _project_cone(A / size + np.diag(y + length * step))
            rise = 0.5 * (new**2).sum() - value
            # Near the end the value changes by less than its rounding, and the step is good.
            if rise <= 1e-4 * length * (gradient @ step) + 1e-14 * value or length < 1e-6:
                break
            length /= 2
        y, P, derivative = y + length * step, new, new_derivative
    E = size * P
    np.fill_diagonal(E, 0)
    return E


Derivative = Callable[[np.ndarray], np.ndarray]


def _project_cone(A: np.ndarray) -> tuple[np.ndarray, Derivative]:
    """Closest symmetric matrix that is negative semidefinite on vectors of sum zero.

    A reflection Q takes the vector of ones to a multiple of the last axis, so that the condition is
    on the leading block of Q A Q alone. Also returns the projection's derivative, a linear map.
    """
    size = len(A)
    v = np.ones(size)
    v[-1] += np.sqrt(size)
    Q = np.eye(size) - 2 * np.outer(v, v) / (v @ v)
    B = Q @ A @ Q
    values, U = np.linalg.eigh(B[:-1, :-1])
    kept = np.minimum(values, 0)
    B[:-1, :-1] = (U * kept) @ U.T
    # Divided differences of min(x, 0) at the eigenvalues; 1 where both are negative, 0 if neither.
    gap = values[:, None] - values
    same = np.abs(gap) < 1e-14
    slope = np.where(same, values[:, None] < 0, (kept[:, None] - kept) / np.where(same, 1, gap))

    def derivative(H: np.ndarray) -> np.ndarray:
        C = Q @ H @ Q
        C[:-1, :-1] = U @ (slope * (U.T @ C[:-1, :-1] @ U)) @ U.T
        return Q @ C @ Q

    return Q @ B @ Q, derivative


def _double_centred(A: np.ndarray) -> np.ndarray:
    A = A - A.mean(axis=0)
    return A - A.mean(axis=1)[:, None]
