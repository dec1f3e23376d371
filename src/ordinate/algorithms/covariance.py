"""How sure a map is: the covariance of each item's coordinates, from few passes over the answers.

The likeliest map follows the chance in its answers: it is too large, the answers look clearer on it
than they are, and an ellipse from its own curvature is too small, the more so the fewer the
answers. So the curvature is taken at the map multiplied by the scale at which it predicts answers
best that it was not fitted to. No map needs to be fitted again for that: one Newton step tells
where items would be without an answer.
"""

import numpy as np

from ordinate._base.arrays import beside, namespace, on_host
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore

# Triplets per coordinate in the sample whose curvature tells the scale: so many are enough, and no
# more than that many triplets are taken, unless they are too few for so many items.
ENOUGH, MOST, LEAST = 200, 300_000, 8
LEFT_OUT = 10_000  # triplets that are left out in turn
SCALES = np.geomspace(0.2, 1, 21)
ROUNDS = 2  # the curvature at the first scale tells the second
OPEN = 0.01  # of the information that an item has by being on the map at all


def honest_scale(
    store: TripletStore, points: np.ndarray, loss: Loss, regularization: float = 0.0
) -> float:
    """Find the scale, at most 1, at which a map predicts answers best that it has not seen.

    Parameters
    ----------
    store : TripletStore
        Its ``answers`` are what is left out.
    points : ndarray, shape (n, d)
        Where the loss, with its ridge, is least; 0 for items that do not occur.
    loss : Loss
    regularization : float
    """
    size, least = _size(store, points), _least(store, points)
    sample = store.sample(max(LEAST * size, min(ENOUGH * size, MOST)))
    few = store.sample(LEFT_OUT)
    scales = beside(points, SCALES)
    scale = 1.0
    for _ in range(ROUNDS):
        F = store.total / sample.total * sample.curvature(scale * points, loss)[0]
        inverse = _inverse(F, regularization + least)
        before, scale = scale, _lowest(on_host(few.left_out(points, loss, inverse, scales)))
        if scale == before:  # and so would be all that follow
            break
    return scale


def covariances(
    store: TripletStore,
    points: np.ndarray,
    loss: Loss,
    regularization: float = 0.0,
    scale: float = 1.0,
) -> np.ndarray:
    """Covariance (n, d, d) of each item's coordinates about the truth.

    With H the block of the curvature, ridge included, and S that of the gradients' outer products,
    summed by answers, both at the map multiplied by the honest ``scale`` c:

        C = H^-1 (S + ridge) H^-1 / c^2  +  r^2 x x'

    The sandwich is right where the rows of an answer depend on each other, and where people do not
    answer as the loss has it; its ridge is what the prior says about the error that the ridge
    makes. The last part is about size: laid over the truth, a map of which the share r is noise
    must shrink by as much to be closest to it, so that its outer items fall short.

    Parameters
    ----------
    store : TripletStore
        Its ``answers`` are what is independent.
    points : ndarray, shape (n, d)
        Where the loss, with its ridge, is least; 0 for items that do not occur.
    loss : Loss
    regularization, scale : float
    """
    F, S = store.curvature(scale * points, loss)
    ridge = regularization + _least(store, points)
    inverse = _inverse(F, ridge)
    C = inverse @ (S + ridge * beside(F, np.eye(points.shape[1]))) @ inverse / scale**2
    diagonal = np.arange(points.shape[1])
    square = float((points**2).sum())
    errors = C[_occurs(store)][:, diagonal, diagonal]
    noise = min(float(errors.sum()) / square, 1.0) if square > 0 else 0.0
    C += noise**2 * points[:, :, None] * points[:, None, :]
    return (C + C.swapaxes(1, 2)) / 2  # symmetric to the last digit


def _inverse(F: np.ndarray, ridge: float) -> np.ndarray:
    return namespace(F).linalg.inv(F + ridge * beside(F, np.eye(F.shape[-1])))


def _least(store: TripletStore, points: np.ndarray) -> float:
    """Information that an item has in any case: it is not some ten maps away."""
    square = float((points**2).sum()) / _size(store, points)
    return OPEN / square if square > 0 else 1.0


def _size(store: TripletStore, points: np.ndarray) -> int:
    """Number of coordinates of the items that occur; the others are at 0, and tell nothing."""
    return int(_occurs(store).sum()) * points.shape[1]


def _occurs(store: TripletStore) -> np.ndarray:
    return store.counts.sum(axis=0) > 0


def _lowest(values: np.ndarray) -> float:
    """Scale of the least value: the lowest point of the parabola through it and its neighbours."""
    best = int(values.argmin())
    if best in (0, len(values) - 1):
        return float(SCALES[best])
    below, here, above = values[best - 1 : best + 2]
    shift = (below - above) / (2 * (below - 2 * here + above))
    return float(SCALES[best] * (SCALES[1] / SCALES[0]) ** shift)
