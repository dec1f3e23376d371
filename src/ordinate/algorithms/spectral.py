"""A start from any triplets: the leading eigenvectors of who is similar to whom.

S_ij counts how often j was called far from i, less how often near. For random triplets its
expectation is, up to terms that centring removes, proportional to the inner products of the items,
with the sign turned: the leading eigenvectors of -(S + S') / 2, centred, are the map up to its
scale. S is never formed, only multiplied with a few vectors, a pass each.
"""

from typing import NamedTuple

import numpy as np

from ordinate._base.arrays import beside, cast, inverse_of, namespace, on_host
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore

EXTRA = 3  # vectors at least beyond the dimensions, which also show where the noise begins
WIDTH = 8  # numbers in single precision that a processor handles at a time
SAMPLE = 128  # triplets per item and dimension, at most, that tell the eigenvectors
MOST_PASSES = 12
SETTLED = 0.02  # relative change of the last eigenvalue wanted at which to stop
SCALE_SAMPLE = 20_000  # triplets that tell the scale


class SpectralStart(NamedTuple):
    """A map up to its scale.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        Centred, with a mean squared distance from the centre of 1; all 0 where every answer is
        contradicted by another.
    eigenvalues : ndarray, shape (d + 1,)
        The leading ones, decreasing; the last belongs to the noise.
    gap : float
        The last eigenvalue wanted over the next: the start is good from about 2 on, and near 1
        means that the triplets are too few, or their dimensions fewer than asked for.
    """

    points: np.ndarray
    eigenvalues: np.ndarray
    gap: float


def spectral_start(
    store: TripletStore, n_components: int, generator: np.random.Generator
) -> SpectralStart:
    """Leading eigenvectors of the centred similarities, by a block Krylov method.

    Of many triplets a sample tells as much as the descent that follows needs. Items count by the
    square root of their number of triplets, so that eigenvectors do not gather on the few that
    occur most.
    """
    n, d = store.n_items, n_components
    store = store.sample(SAMPLE * d * n)
    mentions = store.counts.sum(axis=0)
    xp = namespace(mentions)
    occurs = (mentions > 0)[:, None]
    root = (mentions / mentions.mean())[:, None] ** 0.5
    balance = inverse_of(root)
    heavy = root / (root**2).sum() ** 0.5

    def multiply(V: np.ndarray) -> np.ndarray:
        W = -0.5 * balance * store.similarity(cast(balance * V, "float32"))
        return W - heavy @ (heavy.T @ W)

    k = -(-(d + EXTRA) // WIDTH) * WIDTH
    V = beside(root, generator.normal(size=(n, k))) * occurs
    Q = xp.linalg.qr(V - heavy @ (heavy.T @ V))[0]
    AQ = Q[:, :0]
    last = 0.0
    for step in range(MOST_PASSES):
        AQ = xp.hstack([AQ, multiply(Q[:, AQ.shape[1] :])])
        H = on_host(Q.T @ AQ)
        values, U = np.linalg.eigh((H + H.T) / 2)
        values, U = values[::-1], U[:, ::-1]
        if step > 0 and abs(values[d - 1] - last) <= SETTLED * abs(values[d - 1]):
            break
        last = values[d - 1]
        new = AQ[:, -k:]
        for _ in range(2):  # twice is enough for orthogonality to rounding
            new = new - Q @ (Q.T @ new)
        Q = xp.hstack([Q, xp.linalg.qr(new)[0]])
    # One more multiplication is free, and takes off most of the noise that is left.
    points = balance * (AQ @ beside(AQ, U[:, :d] / np.sqrt(np.maximum(values[:d], 1e-12))))
    points -= points.sum(axis=0) / occurs.sum()  # those that do not occur are 0
    points *= occurs
    # All in one place where answers cancel each other.
    points /= float((points**2).sum() / occurs.sum()) ** 0.5 or 1.0
    gap = float(values[d - 1] / max(values[d], 1e-12))
    return SpectralStart(points, values[: d + 1], gap)


def best_scale(store: TripletStore, loss: Loss, points: np.ndarray) -> float:
    """The factor at which a map has the least loss, by a search on a sample of the triplets."""
    from scipy.optimize import minimize_scalar

    sample = store.sample(SCALE_SAMPLE)

    def value(logarithm: float) -> float:
        return sample.loss(np.exp(logarithm) * points, loss)[0]

    coarse = np.linspace(np.log(0.01), np.log(100), 14)
    at = int(np.argmin([value(logarithm) for logarithm in coarse]))
    low, high = coarse[max(at - 1, 0)], coarse[min(at + 1, len(coarse) - 1)]
    found = minimize_scalar(value, bounds=(low, high), method="bounded", options={"xatol": 0.02})
    return float(np.exp(found.x))
