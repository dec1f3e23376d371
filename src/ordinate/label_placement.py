"""Labels beside points, none over another: greedy with a few repairs, deterministic.

All lengths are in one unit, such as points of paper or pixels.
"""

import numpy as np

RINGS = np.array([0.0, 0.9, 2.0, 3.2])  # distance from the marker, in heights of a label
N_ANGLES = 16
N_SWEEPS = 4
# Of more items than this, labels stay within fewer rings: many long leader lines are a tangle.
RING_LIMITS = (400, 150, 60)
N_DOTS = 8  # a leader line is kept clear as this many dots


def place_labels(
    points: np.ndarray,
    sizes: np.ndarray,
    radii: np.ndarray,
    frame: tuple[float, float, float, float],
    *,
    gap: float = 1.5,
) -> np.ndarray:
    """Find a place for each label that covers no marker, no other label and no leader line.

    Each label tries places around its point, near ones first; the most crowded label chooses
    first. Further sweeps let each label choose again among the others.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
    sizes : ndarray, shape (n, 2)
        Width and height of the labels; NaN for a point without one.
    radii : ndarray, shape (n, 2)
        Half the width and height of the markers.
    frame : tuple of float
        Left, bottom, right and top of where labels may be.
    gap : float
        Room between a marker and its label.

    Returns
    -------
    ndarray, shape (n, 2)
        Centres of the labels; NaN for a label that fits nowhere.

    Examples
    --------
    >>> points = np.array([[10.0, 10], [20, 10]])
    >>> sizes, radii = np.full((2, 2), 6.0), np.ones((2, 2))
    >>> place_labels(points, sizes, radii, (0, 0, 40, 20)).tolist()
    [[10.0, 15.5], [25.5, 10.0]]
    """
    n = len(points)
    centres = np.full((n, 2), np.nan)
    rings = RINGS[: 1 + sum(n <= limit for limit in RING_LIMITS)]
    named = ~np.isnan(sizes[:, 0])
    if not named.any():
        return centres
    scene = _Scene(points, sizes, radii, frame, gap, centres)
    order = _crowded_first(points, 4 * np.median(sizes[named, 1]))
    order = order[named[order]]
    for _ in range(N_SWEEPS if len(rings) > 1 else 1):
        before = centres.copy()
        for i in order:
            centres[i] = np.nan
            centres[i] = scene.best(i, rings)
        if np.array_equal(before, centres, equal_nan=True):
            break
    return centres


def leader_ends(
    points: np.ndarray, centres: np.ndarray, sizes: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where leader lines meet the marker and the label, both arrays of points' shape."""
    target = np.clip(points, centres - sizes / 2, centres + sizes / 2)
    step = target - points
    length = np.hypot(step[..., 0], step[..., 1])[..., None]
    direction = np.divide(step, length, out=np.zeros_like(step), where=length > 0)
    return points + direction * np.minimum(radii.min(axis=-1, keepdims=True), length), target


def needs_leader(
    points: np.ndarray, centres: np.ndarray, sizes: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """Say which labels lie so far from their marker that a line helps."""
    room = np.abs(points - centres) - sizes / 2 - radii
    return (room > 0.75 * sizes[..., 1:]).any(axis=-1)


class _Scene:
    """The labels placed so far, and what a new one costs."""

    def __init__(
        self,
        points: np.ndarray,
        sizes: np.ndarray,
        radii: np.ndarray,
        frame: tuple[float, float, float, float],
        gap: float,
        centres: np.ndarray,
    ) -> None:
        self.points, self.sizes, self.radii = points, sizes, radii
        self.low, self.high = np.array(frame[:2]), np.array(frame[2:])
        self.gap, self.centres = gap, centres
        widest = np.nanmax(sizes, axis=0)
        # How far from its point the far side of a label can be, at most.
        self.reach = widest + radii.max(axis=0) + gap + RINGS[-1] * widest[1]
        angles = 2 * np.pi * np.arange(N_ANGLES) / N_ANGLES
        self.directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        # Right is read most easily, then left, above, below; slanted places come last.
        corner = np.abs(self.directions).min(axis=1)
        self.dislike = 0.25 * (1 - self.directions[:, 0]) / 2 + 0.3 * corner
        self.dislike += 0.1 * (self.directions[:, 1] < -0.1)

    def best(self, i: int, rings: np.ndarray) -> np.ndarray:
        """Return the cheapest free centre of label i, or NaN."""
        size = self.sizes[i]
        reach = np.abs(self.points - self.points[i])
        far = size + self.radii[i] + self.gap + rings[-1] * size[1]
        near = (reach < far + self.radii + 2 * self.gap).all(axis=1)
        near[i] = False
        around = np.flatnonzero(near)
        # NaN, of labels without a place, is never near.
        placed = np.flatnonzero(
            (np.abs(self.centres - self.points[i]) < 2 * self.reach).all(axis=1)
        )
        for ring in rings:
            places = self._candidates(i, ring)
            free = self._free_of_markers(places, i, around)
            costs = self.dislike[free] + self._crowding(places[free], i, around)
            places = places[free]
            clear = self._free_of_labels(places, i, around, placed)
            if clear.any():
                costs = np.where(clear, costs, np.inf)
                return places[np.argmin(np.round(costs, 6))]
        return np.full(2, np.nan)

    def _candidates(self, i: int, ring: float) -> np.ndarray:
        width, height = self.sizes[i]
        away = self.radii[i] + self.gap + ring * height
        half = np.array([width, height]) / 2
        return self.points[i] + self.directions * away + np.clip(2 * self.directions, -1, 1) * half

    def _free_of_markers(self, places: np.ndarray, i: int, around: np.ndarray) -> np.ndarray:
        half = self.sizes[i] / 2
        inside = ((places - half >= self.low) & (places + half <= self.high)).all(axis=1)
        room = np.abs(places[:, None] - self.points[around]) - half - self.radii[around]
        return np.flatnonzero(inside & ~(room < 0).all(axis=2).any(axis=1))

    def _crowding(self, places: np.ndarray, i: int, around: np.ndarray) -> np.ndarray:
        """Cost of other markers that the label might be taken to belong to."""
        half = self.sizes[i] / 2
        room = np.abs(places[:, None] - self.points[around]) - half - self.radii[around]
        return 0.6 * (room < 2 * self.gap).all(axis=2).sum(axis=1)

    def _free_of_labels(
        self, places: np.ndarray, i: int, around: np.ndarray, placed: np.ndarray
    ) -> np.ndarray:
        """Say which places hit no label, and neither cross a leader line nor are crossed by one."""
        if len(places) == 0:
            return np.zeros(0, dtype=bool)
        size, others = self.sizes[i], self.sizes[placed]
        room = np.abs(places[:, None] - self.centres[placed]) - (size + others) / 2
        hit = (room < 0).all(axis=2).any(axis=1)
        start, radii = (np.tile(a[i], (len(places), 1)) for a in (self.points, self.radii))
        own = self._dots(start, places, np.tile(size, (len(places), 1)), radii)
        hit |= _inside(own, self.centres[placed], others / 2).any(axis=(1, 2))
        hit |= _inside(own, self.points[around], self.radii[around]).any(axis=(1, 2))
        theirs = self._dots(self.points[placed], self.centres[placed], others, self.radii[placed])
        theirs = theirs[~np.isnan(theirs[:, 0, 0])]
        dots = theirs.reshape(-1, 2)
        hit |= (np.abs(places[:, None] - dots) < size / 2).all(axis=2).any(axis=1)
        hit |= _cross(own[:, 0], own[:, -1], theirs[:, 0], theirs[:, -1]).any(axis=1)
        return ~hit

    def _dots(
        self, points: np.ndarray, centres: np.ndarray, sizes: np.ndarray, radii: np.ndarray
    ) -> np.ndarray:
        """Leader lines as dots strictly between marker and label; NaN where none is drawn."""
        begin, end = leader_ends(points, centres, sizes, radii)
        share = np.linspace(0.1, 0.95, N_DOTS)[:, None]
        dots = begin[:, None] + share * (end - begin)[:, None]
        dots[~needs_leader(points, centres, sizes, radii)] = np.nan
        return dots


def _inside(dots: np.ndarray, centres: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Say for each row of dots (k, m, 2) and each box whether a dot is inside: (k, m, boxes)."""
    return (np.abs(dots[:, :, None] - centres) < half).all(axis=3)


def _cross(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Say for each line from a to b and each from c to d whether they cross: (lines, lines)."""

    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
        u, v = q - p, r - p
        return np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])

    a, b, c, d = a[:, None], b[:, None], c[None], d[None]
    return (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)


def _crowded_first(points: np.ndarray, radius: float) -> np.ndarray:
    from scipy.spatial import cKDTree

    crowd = cKDTree(points).query_ball_point(points, radius, return_length=True)
    return np.argsort(-crowd, kind="stable")
