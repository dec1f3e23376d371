"""How sure a map of LOE is: each item's own error among the landmarks, and the landmarks' error.

An item is placed by its scores, whose variance is known. The landmarks err as well, and with them
all items alike: how much is found by recovering the landmarks again and again from scores that the
map itself would have given, with noise. That takes no pass over the comparisons.

Where comparisons are too few for that, their likelihood tells more: see :class:`Likeliest`.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, on_host
from ordinate._base.threads import blocks
from ordinate.algorithms.covariance import covariances, honest_scale
from ordinate.algorithms.landmark import recover
from ordinate.algorithms.optimise import minimise
from ordinate.algorithms.ranking import Scores
from ordinate.algorithms.spectral import best_scale
from ordinate.evaluation.metrics import align
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore

AGAIN = (20, 20, 100)  # times that landmarks are recovered; first to find how much is noise
FEW = 500  # items from which; the error that more of them leave is smaller by the square root
MOST_NOISE = 0.8
TINY = 1e-300
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
    ``H^-1 sum of w J (ds + J dz)``. As in :mod:`.covariance`, noise makes the map too large: all
    this is at a map that is smaller by as much, and the share of noise adds an error of size.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Without NaN.
    landmarks : ndarray of int, shape (l,)
    scores : Scores
    shifts : ndarray, shape (l,)
    misfit : float
        Of the map: scores vary by so many times what their information says, if it is above 1.
    recovery : {"auto", "lift", "edm"}
        How the landmarks were recovered, and are again.
    """
    X, seen = points, scores.n_compared.sum(axis=1) > 0
    square = max((points**2).sum(), TINY)
    for again in AGAIN:
        found = _covariances(X, landmarks, scores, shifts, misfit, recovery, again)
        share = min(np.trace(found[seen], axis1=1, axis2=2).sum() / square, MOST_NOISE)
        # Less what is noise, squared distances are as large as they should be.
        X = (1 - share) ** 0.5 * points
    found += share**2 * points[:, :, None] * points[:, None, :]
    return (found + found.transpose(0, 2, 1)) / 2  # symmetric to the last digit


def _covariances(
    points: np.ndarray,
    landmarks: np.ndarray,
    scores: Scores,
    shifts: np.ndarray,
    misfit: float,
    recovery: str,
    again: int,
) -> np.ndarray:
    """The same of a map without noise in its squared distances."""
    n, d = points.shape
    weight = scores.information / max(misfit, 1.0)
    weight[landmarks, np.arange(len(landmarks))] = 0
    dz, ds = _landmark_errors(points, landmarks, scores, weight, shifts, recovery, again)
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
    again: int,
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
    dz, ds = np.empty((again, l, points.shape[1])), np.empty((again, l))
    for b in range(again):
        drawn = expected + noise * generator.normal(size=noise.shape)
        found = recover(replace(given, scores=drawn), at, points.shape[1], recovery=recovery)
        dz[b], ds[b] = align(found.points[at], Z) - Z, found.shifts - shifts
    smaller = np.sqrt(len(few) / max(len(others), 1)) if len(others) else 1.0
    return smaller * dz, smaller * ds


class Likeliest(NamedTuple):
    """The likeliest map of the comparisons that a map was made of, and how sure it is.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        In the directions of the map given, and in units of the noise.
    covariance : ndarray, shape (n, d, d)
        Of each item's coordinates about the truth, as :mod:`.covariance` has it.
    converged : bool
    """

    points: np.ndarray
    covariance: np.ndarray
    converged: bool

    @classmethod
    def near(
        cls, points: np.ndarray, answers: TripletStore, independent: TripletStore, loss: Loss
    ) -> "Likeliest":
        """Descend from a map ``points`` (n, d), centred, 0 for items that do not occur.

        The stores hold the same comparisons: by what is left out to find the honest scale, and by
        what is independent.
        """
        start = beside(answers.counts, points)
        found = minimise(answers, loss, best_scale(answers, loss, start) * start)
        there = on_host(answers.counts).sum(axis=0) > 0
        laid_over = np.zeros_like(points)
        laid_over[there] = align(on_host(found.points)[there], points[there])
        y = beside(answers.counts, laid_over)
        scale = honest_scale(answers, y, loss)
        C = covariances(independent, beside(independent.counts, laid_over), loss, scale=scale)
        return cls(laid_over, on_host(C), found.converged)

    def covariance_of(self, points: np.ndarray) -> np.ndarray:
        """Covariance (n, d, d) about the truth of the coordinates on the map given.

        What is known of the truth is that it is about the likeliest place y, give or take C. So its
        mean square about another place x is ``C + (x - y)(x - y)'``, with y in units of x.
        """
        unit = (points * self.points).sum() / (points**2).sum()
        off = points - self.points / unit
        return self.covariance / unit**2 + off[:, :, None] * off[:, None, :]
