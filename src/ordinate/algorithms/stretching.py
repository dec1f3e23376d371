"""Individual differences: one map for all, whose axes each participant stretches or shrinks.

The squared distance of items i and j for participant p is ``sum_k w_pk (x_ik - x_jk)^2`` (INDSCAL;
Carroll and Chang, 1970), with weights that are 1 on average over participants. Where these differ
between axes, the axes are no longer free to turn.

Items as one participant sees them are items of their own: rows about (participant, item) make all
of this one pass over a store, with the kernels that all losses have.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ordinate._base.threads import single_threaded_blas
from ordinate.data.triplets import Triplets
from ordinate.kernels.losses import Loss
from ordinate.passes import TripletStore, store_of

MAX_ITER = 300
MOST = 10_000_000  # items, as each participant sees them: some gigabytes of memory


class Own(NamedTuple):
    """How far participants may differ: standard deviations, before the answers, of log weights.

    Attributes
    ----------
    clarity : float
        Of a participant's common factor, which says how clear the answers are. At 0 there is none.
    axes : float
        Of each axis beside it.
    """

    clarity: float = 0.0
    axes: float = 0.0


class Stretched(NamedTuple):
    """A map, and what participants do with it.

    Attributes
    ----------
    points : ndarray, shape (n, d)
    weights : ndarray, shape (p, d)
        Of squared differences along the axes; 1 on average over participants.
    value : float
        Minus the log-likelihood, with all that is known beforehand.
    """

    points: np.ndarray
    weights: np.ndarray
    value: float

    def distances(self, who: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Squared distances of pairs of items, for a participant each."""
        apart = self.points[one] - self.points[other]
        return (self.weights[who] * apart**2).sum(axis=1)

    def log_likelihood(self, triplets: Triplets, who: np.ndarray, loss: Loss) -> np.ndarray:
        """Log-likelihood (m,) of each row."""
        anchor, near, far = triplets.rows.T
        distances = (self.distances(who, anchor, item) for item in (near, far))
        return -loss.penalty.value(loss.argument(*distances), *loss.penalty_shape)


class Seen:
    """Rows about items as each participant sees them, and the objective of a map so stretched.

    Parameters
    ----------
    triplets : Triplets
    who : ndarray of int, shape (m,)
        Who answered, from 0.
    n_people : int
    loss : Loss
    ridge : float
        Half of it is the cost of each item's squared distance from the origin.
    """

    def __init__(
        self, triplets: Triplets, who: np.ndarray, n_people: int, loss: Loss, ridge: float
    ) -> None:
        self.n_items, self.n_people = triplets.n_items, n_people
        if self.n_items * n_people > MOST:
            raise ValueError(
                f"{n_people:,} participants who each see {self.n_items:,} items are too many for "
                f"axes of their own: the product must be at most {MOST:,}; leave out those who "
                "gave few answers"
            )
        rows = triplets.rows + (who * self.n_items)[:, None].astype(np.int32)
        own = Triplets(rows, n_items=self.n_items * n_people, weight=triplets.weight)
        self.store: TripletStore = store_of(own)
        self.loss, self.ridge = loss, ridge

    def value(
        self, points: np.ndarray, clarity: np.ndarray, axes: np.ndarray, own: Own
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Minus the log-likelihood, with what is known beforehand, and its three gradients.

        ``clarity`` (p,) and ``axes`` (p, d) add up to the log weights.
        """
        stretch = np.exp((clarity[:, None] + axes) / 2)[:, None, :]
        theirs = stretch * points  # (p, n, d)
        value, gradient = self.store.loss(theirs.reshape(-1, points.shape[1]), self.loss)
        gradient = gradient.reshape(theirs.shape)
        by_weight = (gradient * theirs).sum(axis=1) / 2
        centred = points - points.mean(axis=0)
        narrow = [_precision(width) for width in own]
        value += self.ridge / 2 * (centred**2).sum()
        value += (narrow[0] * (clarity**2).sum() + narrow[1] * (axes**2).sum()) / 2
        return (
            float(value),
            (gradient * stretch).sum(axis=0) + self.ridge * centred,
            by_weight.sum(axis=1) + narrow[0] * clarity,
            by_weight + narrow[1] * axes,
        )

    def scales(self, points: np.ndarray, own: Own) -> list[np.ndarray]:
        """Square roots of the curvature in points, clarity and axes, about, without stretching.

        Multiplied by these, all numbers are of one kind to an optimiser: items have thousands of
        answers where participants have tens.
        """
        diagonal = np.arange(points.shape[1])
        theirs = np.tile(points, (self.n_people, 1))
        blocks = self.store.curvature(theirs, self.loss)[0][:, diagonal, diagonal]
        blocks = blocks.reshape(self.n_people, *points.shape)
        by_axis = (blocks * points**2).sum(axis=1) / 4
        curvatures = (
            blocks.sum(axis=0) + self.ridge,
            by_axis.sum(axis=1) + _precision(own.clarity),
            by_axis + _precision(own.axes),
        )
        return [np.sqrt(np.maximum(c, 1e-3 * c.mean() + 1e-12)) for c in curvatures]

    def fit(self, start: np.ndarray, own: Own) -> Stretched:
        """Find the best map and weights; ``own`` is how far participants may differ."""
        free = [k for k, width in enumerate((1.0, *own)) if width > 0]  # of map, clarity and axes
        scales = self.scales(start, own)
        none = [np.zeros_like(scale) for scale in scales]
        ends = np.cumsum([none[k].size for k in free])

        def parts(flat: np.ndarray) -> list[np.ndarray]:
            found = list(none)
            for k, part in zip(free, np.split(flat, ends[:-1]), strict=True):
                found[k] = part.reshape(scales[k].shape) / scales[k]
            return found

        def flatten(found: Sequence[np.ndarray]) -> np.ndarray:
            return np.concatenate([found[k].ravel() for k in free])

        def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
            points, clarity, axes = parts(flat)
            found, *gradients = self.value(points, clarity, axes, own)
            return found, flatten([g / scale for g, scale in zip(gradients, scales, strict=True)])

        begin = flatten([start * scales[0], *none[1:]])
        options = {"maxiter": MAX_ITER, "maxfun": 2 * MAX_ITER, "ftol": 1e-7, "maxcor": 20}
        with single_threaded_blas():
            found = minimize(value, begin, jac=True, method="L-BFGS-B", options=options)
        points, clarity, axes = parts(found.x)
        weights = np.exp(clarity[:, None] + axes)
        unit = weights.mean(axis=0)
        points = np.sqrt(unit) * (points - points.mean(axis=0))
        return Stretched(points, weights / unit, float(found.fun))


def _precision(width: float) -> float:
    """What a prior of this width adds to the curvature; what has no width does not move."""
    return 1 / width**2 if width > 0 else 1.0


def turned(points: np.ndarray, n_turns: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Return the map and ``n_turns`` that are turned at random: starts whose axes differ."""
    d = points.shape[1]
    turns = [np.linalg.qr(generator.normal(size=(d, d)))[0] for _ in range(n_turns)]
    return [points, *(points @ turn for turn in turns)]
