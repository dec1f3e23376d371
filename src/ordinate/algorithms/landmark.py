"""Landmark ordinal embedding: from landmark comparisons to a map.

The letters are those of the paper's Algorithm 1. Column i of R (n x l) holds the scores of all
items in the ranking by distance to landmark i; adding the shift s_i makes them squared distances.
Where the paper leaves landmark i's own row out of column i, R has a place that is not used.
"""

from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, copy, namespace, on_host
from ordinate._base.threads import blocks, run, single_threaded_blas
from ordinate.algorithms.ranking import Scores, rank_columns
from ordinate.algorithms.scaling import landmark_mds, project_edm
from ordinate.data.triplets import Triplets
from ordinate.files.ondisk import TripletFile
from ordinate.kernels import backends
from ordinate.kernels import noise as noise_models
from ordinate.passes import ColumnStore, columns_of

RECOVERIES = ("auto", "lift", "edm")
GOOD_FIT = 1.5  # misfit up to which a map explains the scores


def loe(
    triplets: Triplets | TripletFile,
    landmarks: np.ndarray,
    n_components: int,
    *,
    noise: str = "btl",
    recovery: str = "auto",
    regularization: float | str = "auto",
    tol: float = 2e-2,
    backend: str = "auto",
    device: str = "cpu",
) -> tuple["Map", Scores]:
    """Embed all items from the triplets whose anchor is a landmark.

    Parameters
    ----------
    triplets : Triplets or TripletFile
    landmarks : ndarray of int, shape (n_landmarks,)
        At least ``n_components + 3`` items, each with triplets of its own.
    n_components : int
    noise : {"btl", "thurstone"}
    recovery : {"auto", "lift", "edm"}
        See :func:`recover`.
    regularization : float or "auto"
        See :func:`ordinate.algorithms.ranking.rank_columns`, as for `tol`.
    tol : float
    backend : {"auto", "numba", "numpy"}
    device : str
        As :func:`ordinate._base.device.choose_device` names it; results live there.

    Returns
    -------
    map : Map
    scores : Scores
    """
    columns = columns_of(triplets, landmarks, backend, device)
    return loe_of_columns(
        columns,
        landmarks,
        n_components,
        noise=noise,
        recovery=recovery,
        regularization=regularization,
        tol=tol,
        backend=backend,
    )


def loe_of_columns(
    columns: ColumnStore,
    landmarks: np.ndarray,
    n_components: int,
    *,
    noise: str = "btl",
    recovery: str = "auto",
    regularization: float | str = "auto",
    tol: float = 2e-2,
    backend: str = "auto",
) -> tuple["Map", Scores]:
    """Embed all items from the landmarks' columns, wherever these are; as :func:`loe`."""
    with single_threaded_blas():
        scores = rank_columns(
            columns,
            noise_models.get(noise),
            owners=landmarks,
            regularization=regularization,
            tol=tol,
        )
        return recover(scores, landmarks, n_components, recovery=recovery, backend=backend), scores


class Map(NamedTuple):
    """Coordinates of all items, and how they were recovered.

    Attributes
    ----------
    points : ndarray, shape (n_items, n_components)
        Centred.
    shifts : ndarray, shape (n_landmarks,)
        What each column of scores lacks to be squared distances.
    misfit : float
        Mean over scores of (score + shift - squared distance)^2 in units of the variance that the
        score has by chance: about 1 where the map explains the scores.
    recovery : str
        "edm" or "lift".
    """

    points: np.ndarray
    shifts: np.ndarray
    misfit: float
    recovery: str


def recover(
    scores: Scores,
    landmarks: np.ndarray,
    n_components: int,
    *,
    recovery: str = "auto",
    backend: str = "auto",
) -> Map:
    """Recover the map from the scores of the landmarks' columns.

    Parameters
    ----------
    scores : Scores
    landmarks : ndarray of int, shape (n_landmarks,)
    n_components : int
    recovery : {"auto", "lift", "edm"}
        "edm": Algorithm 1 to the letter. "lift": landmarks by the linear lifting of :func:`lift`,
        items placed by weighted least squares. "auto": "lift"; where it does not explain the
        scores, also Algorithm 1's landmarks with items placed by weighted least squares, and
        whichever fits the scores better.
    backend : str

    Returns
    -------
    Map
    """
    R, weight = scores.scores, copy(scores.information)
    landmarks = beside(R, landmarks)  # once, for all that is indexed by them
    weight[landmarks, beside(R, np.arange(len(landmarks)))] = 0
    if recovery == "edm":
        X, s = algorithm_1(R, landmarks, n_components)
        return _finished(X, s, R, landmarks, weight, "edm")
    maps = []
    if recovery == "lift" or can_lift(len(R) - len(landmarks), n_components):
        X = lift(R, landmarks, n_components, weight)
        maps.append(_placed(X, R, landmarks, weight, "lift", backend))
        if recovery == "lift" or maps[0].misfit <= GOOD_FIT:
            return maps[0]
    X, _ = algorithm_1(R, landmarks, n_components)
    maps.append(_placed(X, R, landmarks, weight, "edm", backend))
    return min(maps, key=lambda found: found.misfit)


def algorithm_1(
    R: np.ndarray, landmarks: np.ndarray, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lines 8 to 16 of Algorithm 1: shifts from the landmarks' own scores, then landmark MDS.

    Returns the points (n, d) and the shifts s (l,).
    """
    l = len(landmarks)
    # Lines 8, 9: the landmarks' scores in each other's columns, 0 on the diagonal.
    W = on_host(R[landmarks])
    np.fill_diagonal(W, 0)
    J = np.ones((l, l)) - np.eye(l)  # line 10
    sigma = least_squares_shifts(W)  # line 11
    sigma_E = second_eigenvalue(W + J * sigma)  # line 12
    s = sigma + sigma_E  # line 13
    E = project_edm(W + J * s)  # line 14
    F = R + beside(R, s)  # line 15, for all rows
    Z, X = landmark_mds(E, F, n_components)  # line 16
    X[landmarks] = beside(X, Z)
    return X, s


def least_squares_shifts(W: np.ndarray) -> np.ndarray:
    """Shifts that make W symmetric with entries of mean zero, as nearly as possible (equation 7).

    The least squares solution of s_i - s_j = W_ij - W_ji for all pairs and of
    sum(s) = -sum(W) / (l - 1). Its normal equations are l s = (row sums - column sums of W)
    - sum(W) / (l - 1): the coefficients of the pairs, l I - 1 1', and of the sum, 1 1', add to l I.
    """
    l = len(W)
    return (W.sum(axis=1) - W.sum(axis=0) - W.sum() / (l - 1)) / l


def second_eigenvalue(A: np.ndarray) -> float:
    """Second largest eigenvalue, by sign and not by size, of the symmetric part.

    For a centred distance matrix of l >= d + 3 points it is the mean that was taken off (theorem 4
    of Jain, Jamieson and Nowak, 2016).
    """
    return float(np.linalg.eigvalsh((A + A.T) / 2)[-2])


def can_lift(n_others: int, n_components: int) -> bool:
    """Whether there are more items other than landmarks than lifting has unknowns."""
    return n_others > (n_components + 1) * (n_components + 2) // 2


def lift(R: np.ndarray, landmarks: np.ndarray, n_components: int, weight: np.ndarray) -> np.ndarray:
    """Points from the scores of all items, by linear algebra alone.

    Squared distances are R_ji + s_i = |x_j|^2 - 2 x_j z_i + |z_i|^2. Taking off the means of rows
    and columns leaves -2 (x_j - mean x)(z_i - mean z): its leading right singular vectors V (l x d)
    give the items, P = -R V / 2, up to a linear map A, x = p A, and the landmarks,
    z - mean z = v A^-T. The row means then are linear in the unknown M = A A' and b:

        mean_i R_ji = p_j' M p_j + p_j b + constant,   b = -2 M (mean z, in the coordinates p).

    Rows count by the inverse of the mean variance of their scores. Needs neither the landmarks'
    own scores nor a projection.

    Parameters
    ----------
    R : ndarray, shape (n, l)
    landmarks : ndarray of int, shape (l,)
    n_components : int
    weight : ndarray, shape (n, l)
        The information in each score: its inverse is the variance.

    Returns
    -------
    ndarray, shape (n, d)
    """
    xp, d = namespace(R), n_components
    n_others = len(R) - len(landmarks)
    if not can_lift(n_others, d):
        raise ValueError(
            f"lifting to {d} dimensions needs items that are not landmarks: {n_others} are too "
            "few; use recovery='edm' or 'auto', or fewer landmarks"
        )
    w = 1 / (1 / xp.clip(weight, 1e-12 * weight.max(), None)).mean(axis=1)
    w[landmarks] = 0  # they lack a score of their own
    w /= w.sum()

    row_mean = R.mean(axis=1)
    doubly = R - row_mean[:, None]
    column_mean = w @ doubly
    doubly -= column_mean
    V = np.linalg.eigh(on_host((doubly.T * w) @ doubly))[1][:, ::-1][:, :d]
    P = -0.5 * doubly @ beside(R, V)

    i, j = np.triu_indices(d)
    squares = beside(P, np.where(i == j, 1, 2)) * P[:, beside(P, i)] * P[:, beside(P, j)]
    equations = _reduced(xp.column_stack([squares, P, xp.ones_like(w)]), row_mean, w)
    values, U = _metric(equations, d)
    M = (U * values) @ U.T
    b = _linear_part(equations, M)
    mean_z = -0.5 * np.linalg.solve(M, b)
    A = U * np.sqrt(values)

    X = P @ beside(P, A)
    X[landmarks] = beside(X, (V @ np.linalg.inv(M) + mean_z) @ A)
    return X


class _Equations(NamedTuple):
    """Least squares with the unknowns M (upper triangle), b and a constant, in few equations.

    ``triangle @ unknowns = target``, and what no unknowns explain as the ``variance`` of an
    equation.
    """

    triangle: np.ndarray
    target: np.ndarray
    variance: float


def _reduced(columns: np.ndarray, target: np.ndarray, w: np.ndarray) -> _Equations:
    """Reduce weighted equations to as many as there are unknowns, by rotations alone."""
    xp, k = namespace(columns), columns.shape[1]
    weighted = w[:, None] ** 0.5 * xp.column_stack([columns, target])
    R = on_host(xp.linalg.qr(weighted)[1])
    freedom = max(int((w > 0).sum()) - k, 1)
    return _Equations(R[:k, :k], R[:k, k], float(R[k, k] ** 2 / freedom))


def _metric(equations: _Equations, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of the M that best explains the row means.

    Eigenvalues within their noise of zero, where rows are few for the unknowns of M, are replaced
    by that of the best multiple of the identity.
    """
    i, j = np.triu_indices(d)
    inverse = np.linalg.pinv(equations.triangle)
    solution = inverse @ equations.target
    M = np.zeros((d, d))
    M[i, j] = M[j, i] = solution[: len(i)]
    values, U = np.linalg.eigh(M)
    # An eigenvalue is a sum over the unknowns, and its error that of the sum.
    terms = np.where(i == j, 1, 2) * U.T[:, i] * U.T[:, j]
    error = np.linalg.norm(terms @ inverse[: len(i)], axis=1) * equations.variance**0.5
    identity = equations.triangle[:, : len(i)][:, i == j].sum(axis=1)
    spherical = np.column_stack([identity, equations.triangle[:, len(i) :]])
    same = np.linalg.lstsq(spherical, equations.target, rcond=None)[0][0]
    return np.where(values > 2 * error, values, max(same, 1e-12)), U


def _linear_part(equations: _Equations, M: np.ndarray) -> np.ndarray:
    """The b that best explains the row means with this M."""
    i, j = np.triu_indices(len(M))
    left = equations.target - equations.triangle[:, : len(i)] @ M[i, j]
    return np.linalg.lstsq(equations.triangle[:, len(i) :], left, rcond=None)[0][: len(M)]


def _placed(
    X: np.ndarray,
    R: np.ndarray,
    landmarks: np.ndarray,
    weight: np.ndarray,
    recovery: str,
    backend: str,
) -> Map:
    """Place each item where its scores fit best, by weighted least squares on squared distances.

    The shifts are those that fit the points given. Landmark MDS only uses differences between the
    squared distances of an item; their mean tells how far out it is, and scores of near landmarks
    are better known than those of far ones.
    """
    missing = _squared_distances(X, X[landmarks]) - R
    s = (weight * missing).sum(axis=0) / weight.sum(axis=0)
    kernel = backends.load_for(X, backend).place_items
    placed = copy(X)

    def place(part: slice) -> None:
        placed[part] = kernel(X[part], X[landmarks], R[part] + s, weight[part])

    run(place, blocks(len(X), 1 << 12 if isinstance(X, np.ndarray) else 1 << 20))
    placed[landmarks] = X[landmarks]
    return _finished(placed, s, R, landmarks, weight, recovery)


def _finished(
    X: np.ndarray,
    s: np.ndarray,
    R: np.ndarray,
    landmarks: np.ndarray,
    weight: np.ndarray,
    recovery: str,
) -> Map:
    error = R + beside(R, s) - _squared_distances(X, X[landmarks])
    misfit = (weight * error**2).sum() / (weight != 0).sum()
    return Map(X - X.mean(axis=0), on_host(s), float(misfit), recovery)


def _squared_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return (X**2).sum(axis=1)[:, None] - 2 * X @ Z.T + (Z**2).sum(axis=1)
