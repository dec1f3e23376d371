"""How sure a map of LOE is: each item's own error among the landmarks, and the landmarks' error.

An item is placed by its scores, whose variance is known. The landmarks err as well, and with them
all items alike: how much is found by recovering the landmarks again and again from scores that the
map itself would have given, with noise. That takes no pass over the comparisons.
"""

from dataclasses import replace

import numpy as np

from ordinate._base.threads import blocks
from ordinate.algorithms.landmark import recover
from ordinate.algorithms.ranking import Scores
from ordinate.evaluation.metrics import align

AGAIN = 100  # times that landmarks are recovered
FEW = 500  # items from which; the error that more of them leave is smaller by the square root
BLOCK = 1 << 14  # items at a time


def landmark_covariances(
    points: np.ndarray,
    landmarks: np.ndarray,
    scores: Scores,
    shifts: np.ndarray,
    misfit: float,
    recovery: str,
) -> np.ndarray:
    """Covariance (n, d, d) of each item's coordinates about the truth.

    An item x is where its scores R + s are closest to its squared distances to the landmarks z, by
    weighted least squares. With J = 2 (x - z) and w the scores' information over the misfit, its
    own error has the covariance H^-1, ``H = sum of w J J'``, and errors of s and z move it by
    ``H^-1 sum of w J (ds + J dz)``.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Without NaN.
    landmarks : ndarray of int, shape (l,)
    scores : Scores
    shifts : ndarray, shape (l,)
    misfit : float
        Of the map: scores vary by so many times what their information says, if it is above 1.
    recovery : {"lift", "edm"}
    """
    n, d = points.shape
    weight = scores.information / max(misfit, 1.0)
    weight[landmarks, np.arange(len(landmarks))] = 0
    dz, ds = _landmark_errors(points, landmarks, scores, weight, shifts, recovery)
    own, shared = np.empty((n, d, d)), np.empty((len(dz), n, d))
    least = 1e-6 * np.trace(weight.T @ weight) ** 0.5
    for part in blocks(n, BLOCK):
        J = 2 * (points[part, None, :] - points[landmarks])
        WJ = weight[part, :, None] * J
        own[part] = np.linalg.inv(WJ.transpose(0, 2, 1) @ J + least * np.eye(d))
        moved = np.einsum("pka,bk->bpa", WJ, ds)
        moved += np.einsum("pka,pkc,bkc->bpa", WJ, J, dz, optimize=True)
        shared[:, part] = np.einsum("pac,bpc->bpa", own[part], moved)
    own[landmarks], shared[:, landmarks] = 0, dz
    # What is left once the map is laid over the truth.
    shared = np.stack([align(points + moved, points, scale=True) - points for moved in shared])
    found = np.einsum("bia,bic->iac", shared, shared) / (len(shared) - d - 1)
    return own + found


def _landmark_errors(
    points: np.ndarray,
    landmarks: np.ndarray,
    scores: Scores,
    weight: np.ndarray,
    shifts: np.ndarray,
    recovery: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of landmarks (b, l, d) and of shifts (b, l), by recovering them from scores anew."""
    generator = np.random.default_rng(0)
    others = np.setdiff1d(np.arange(len(points)), landmarks)
    few = others[:: -(-len(others) // FEW)] if len(others) > FEW else others
    rows = np.concatenate([few, landmarks])
    X, Z, l = points[rows], points[landmarks], len(landmarks)
    at = np.arange(len(few), len(rows))
    expected = ((X[:, None, :] - Z) ** 2).sum(axis=2) - shifts
    known = np.where(weight > 0, weight, np.inf).min()
    noise = 1 / np.sqrt(np.maximum(weight[rows], known))
    given = replace(scores, information=weight[rows])
    dz, ds = np.empty((AGAIN, l, points.shape[1])), np.empty((AGAIN, l))
    for b in range(AGAIN):
        drawn = expected + noise * generator.normal(size=noise.shape)
        found = recover(replace(given, scores=drawn), at, points.shape[1], recovery=recovery)
        dz[b], ds[b] = align(found.points[at], Z) - Z, found.shifts - shifts
    smaller = np.sqrt(len(few) / max(len(others), 1)) if len(others) else 1.0
    return smaller * dz, smaller * ds
