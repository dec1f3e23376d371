"""How sure a map is: the covariance of each item's coordinates, from one pass over the answers."""

import numpy as np

from ordinate._base.arrays import beside, namespace
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore

UNKNOWN = 0.01  # of the information that an item has by being on the map at all


def covariances(
    store: TripletStore, points: np.ndarray, loss: Loss, regularization: float = 0.0
) -> np.ndarray:
    """Covariance (n, d, d) of each item's coordinates about the truth, others held fixed.

    With H the block of the curvature, ridge included, and S that of the gradients' outer products,
    summed by answers, the sandwich ``H^-1 S H^-1``: right where rows of an answer depend on each
    other, and where people do not answer as the loss has it.

    Parameters
    ----------
    store : TripletStore
        Its ``answers`` are what is independent.
    points : ndarray, shape (n, d)
        Where the loss, with its ridge, is least.
    loss : Loss
    regularization : float
    """
    F, S = store.curvature(points, loss)
    identity = beside(F, np.eye(points.shape[1]))
    # What answers leave open is not known better than some times the extent of the map.
    known = float((points**2).mean())
    floor = UNKNOWN / known if known > 0 else 1.0
    inverse = namespace(F).linalg.inv(F + (regularization + floor) * identity)
    return inverse @ (S + (regularization + floor) * identity) @ inverse
