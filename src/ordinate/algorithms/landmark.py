"""Landmark ordinal embedding: from landmark comparisons to a map.

The letters are those of the paper's Algorithm 1. Column i of R (n x l) holds the scores of all
items in the ranking by distance to landmark i; adding the shift s_i makes them squared distances.
Where the paper leaves landmark i's own row out of column i, R has a place that is not used.
"""

from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import namespace
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.landmark_cluster import ClusterScores, rank_on_cluster
from ordinate.algorithms.ranking import Scores, rank_columns
from ordinate.algorithms.scaling import landmark_mds, project_edm
from ordinate.algorithms.score_rows import (
    Places,
    RowsHere,
    ScoreRows,
    centre_sums,
    largest_weight,
    lifting_equations,
    own_scores,
    placed_rows,
    product_sums,
    shift_sums,
)
from ordinate.data.triplets import Triplets
from ordinate.files.cluster import PartitionedTriplets
from ordinate.files.ondisk import TripletFile
from ordinate.kernels import noise as noise_models
from ordinate.passes import ColumnStore, columns_of, refuse_device
from ordinate.passes.adding import added

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
) -> tuple["Map", Scores | ClusterScores]:
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
    scores : Scores or ClusterScores
        On a cluster they stay there.
    """
    if isinstance(triplets, PartitionedTriplets):
        refuse_device(device)
        model = noise_models.get(noise)
        ranked = rank_on_cluster(triplets, landmarks, model, regularization, tol, backend)
        return recover_rows(ranked, n_components, recovery, backend), ranked
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
    return recover_rows(RowsHere.of(scores, landmarks), n_components, recovery, backend)


def recover_rows(rows: ScoreRows, n_components: int, recovery: str, backend: str) -> Map:
    """Recover the map from blocks of rows, wherever they are; as :func:`recover`."""
    if recovery == "edm":
        places, s = algorithm_1(rows, n_components)
        return _finished(rows, places, s, "edm")
    maps = []
    n_others = rows.n_items - rows.n_landmarks
    if recovery == "lift" or can_lift(n_others, n_components):
        maps.append(_placed(rows, lift(rows, n_components), "lift", backend))
        if recovery == "lift" or maps[0].misfit <= GOOD_FIT:
            return maps[0]
    places, _ = algorithm_1(rows, n_components)
    maps.append(_placed(rows, places, "edm", backend))
    return min(maps, key=lambda found: found.misfit)


def algorithm_1(rows: ScoreRows, n_components: int) -> tuple[Places, np.ndarray]:
    """Lines 8 to 16 of Algorithm 1: shifts from the landmarks' own scores, then landmark MDS.

    Returns where items are and the shifts s (l,).
    """
    l = rows.n_landmarks
    # Lines 8, 9: the landmarks' scores in each other's columns, 0 on the diagonal.
    W = np.empty((l, l))
    for whose, scores in rows.each(own_scores):
        W[whose] = scores
    np.fill_diagonal(W, 0)
    J = np.ones((l, l)) - np.eye(l)  # line 10
    sigma = least_squares_shifts(W)  # line 11
    sigma_E = second_eigenvalue(W + J * sigma)  # line 12
    s = sigma + sigma_E  # line 13
    E = project_edm(W + J * s)  # line 14
    Z, e, turn = landmark_mds(E, n_components)  # line 16, of F = R + s (line 15)
    return Places(False, s - e, turn, Z), s


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


def lift(rows: ScoreRows, n_components: int) -> Places:
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
    rows : ScoreRows
    n_components : int

    Returns
    -------
    Places
    """
    d, n_others = n_components, rows.n_items - rows.n_landmarks
    if not can_lift(n_others, d):
        raise ValueError(
            f"lifting to {d} dimensions needs items that are not landmarks: {n_others} are too "
            "few; use recovery='edm' or 'auto', or fewer landmarks"
        )
    top = max(rows.each(largest_weight))
    total, column_sums = added(rows.each(centre_sums, top))
    shift = -column_sums / total
    V = np.linalg.eigh(added(rows.each(product_sums, top, shift)))[1][:, ::-1][:, :d]
    equations = _reduced(rows.each(lifting_equations, top, shift, V), total)
    values, U = _metric(equations, d)
    M = (U * values) @ U.T
    b = _linear_part(equations, M)
    mean_z = -0.5 * np.linalg.solve(M, b)
    A = U * np.sqrt(values)
    return Places(True, shift, -0.5 * V @ A, (V @ np.linalg.inv(M) + mean_z) @ A)


class _Equations(NamedTuple):
    """Least squares with the unknowns M (upper triangle), b and a constant, in few equations.

    ``triangle @ unknowns = target``, and what no unknowns explain as the ``variance`` of an
    equation.
    """

    triangle: np.ndarray
    target: np.ndarray
    variance: float


def _reduced(found: list[tuple[np.ndarray, int]], total: float) -> _Equations:
    """Reduce the equations of all blocks, whose rows weigh so much, once more."""
    R = np.linalg.qr(np.concatenate([few for few, _ in found]))[1] / total**0.5
    k = R.shape[1] - 1
    freedom = max(sum(n_rows for _, n_rows in found) - k, 1)
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


def _placed(rows: ScoreRows, places: Places, recovery: str, backend: str) -> Map:
    """Place each item where its scores fit best, by weighted least squares on squared distances.

    The shifts are those that fit the points given. Landmark MDS only uses differences between the
    squared distances of an item; their mean tells how far out it is, and scores of near landmarks
    are better known than those of far ones.
    """
    missing, weight = added(rows.each(shift_sums, places))
    return _finished(rows, places, missing / weight, recovery, backend)


def _finished(
    rows: ScoreRows, places: Places, s: np.ndarray, recovery: str, backend: str | None = None
) -> Map:
    points, misfits, n_known = zip(*rows.each(placed_rows, places, s, backend), strict=True)
    X = namespace(points[0]).concatenate(points)
    return Map(X - X.mean(axis=0), s, added(misfits) / sum(n_known), recovery)
