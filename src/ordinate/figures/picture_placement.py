"""Pictures in place of markers, none over another: moved a little, or left out."""

import numpy as np

FARTHEST = 1.2  # that a picture is moved from its point, in sides of a picture
N_STEPS = 25  # more would only spread out a crowd of which most is left out
SHARE = 4  # of the pictures that are too many, one in so many is left out at a time


def place_pictures(
    points: np.ndarray, sizes: np.ndarray, frame: tuple[float, float, float, float], gap: float = 1
) -> np.ndarray:
    """Move pictures apart that overlap, each as far as the other, and leave out what stays crowded.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
    sizes : ndarray, shape (n, 2)
        Width and height of the pictures.
    frame : tuple of float
        Left, bottom, right and top of where pictures may be.
    gap : float
        Room between pictures.

    Returns
    -------
    ndarray, shape (n, 2)
        Centres of the pictures; NaN for one that would have to move too far.

    Examples
    --------
    >>> points, sizes = np.array([[10.0, 10], [12, 10], [30, 10]]), np.full((3, 2), 5.0)
    >>> place_pictures(points, sizes, (0, 0, 40, 20)).round(6).tolist()
    [[8.0, 10.0], [14.0, 10.0], [30.0, 10.0]]
    """
    centres = np.full(points.shape, np.nan)
    kept = np.arange(len(points))
    while len(kept):
        moved = _move_apart(points[kept], sizes[kept] + gap, frame)
        crowded = _crowded(points[kept], moved, sizes[kept])
        if len(crowded) == 0:
            centres[kept] = moved
            break
        # Some at a time, since each that goes leaves room for its neighbours.
        kept = np.delete(kept, crowded[: max(1, len(crowded) // SHARE)])
    return centres


def _move_apart(
    points: np.ndarray, sizes: np.ndarray, frame: tuple[float, float, float, float]
) -> np.ndarray:
    """Push pairs that overlap apart, sideways or up and down, whichever is less."""
    low, high = np.array(frame[:2]) + sizes / 2, np.array(frame[2:]) - sizes / 2
    high = np.maximum(low, high)
    centres = points.clip(low, high)
    for _ in range(N_STEPS):
        a, b, over = _overlaps(centres, sizes)
        if len(a) == 0:
            break
        step = centres[b] - centres[a]
        axis = np.argmin(over, axis=1)
        which = np.arange(len(a)), axis
        push = np.zeros_like(over)
        push[which] = np.where(step[which] < 0, -1, 1) * (over[which] / 2 + 1e-9)
        # A picture with many neighbours would be thrown about by the sum of their pushes.
        count = np.maximum(np.bincount(np.append(a, b), minlength=len(centres)) / 2, 1)
        np.add.at(centres, a, -push / count[a, None])
        np.add.at(centres, b, push / count[b, None])
        centres = centres.clip(low, high)
    return centres


def _crowded(points: np.ndarray, centres: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the pictures that moved too far or lie on one that moved less, the worst first."""
    moved = np.hypot(*(centres - points).T) / sizes.max(axis=1)
    crowded = moved > FARTHEST
    a, b, _ = _overlaps(centres, sizes)
    crowded[np.where(moved[a] > moved[b], a, b)] = True
    worst = np.argsort(-moved, kind="stable")
    return worst[crowded[worst]]


def _overlaps(centres: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs that overlap, in order, and by how much across and up."""
    from scipy.spatial import cKDTree

    pairs = cKDTree(centres).query_pairs(float(sizes.max()), p=np.inf, output_type="ndarray")
    a, b = pairs[np.lexsort(pairs.T[::-1])].T
    over = (sizes[a] + sizes[b]) / 2 - np.abs(centres[a] - centres[b])
    hit = (over > 0).all(axis=1)
    return a[hit], b[hit], over[hit]
