"""Labels beside points, none over another: greedy with a few repairs, deterministic.

A label stands nearer to its own point than to any other, or a line leads to it. All lengths are in
one unit, such as points of paper or pixels.
"""

import numpy as np

Frame = tuple[float, float, float, float]

RINGS = np.array([0.0, 0.9, 2.0, 3.2])  # distance from the marker, in heights of a label
N_ANGLES = 16
N_SWEEPS = 4
# Of more items than this, labels stay within fewer rings: many long leader lines are a tangle.
RING_LIMITS = (400, 150, 60)
# A leader line is kept clear as this many dots.
DOTS = np.linspace(0.1, 0.95, 8)[:, None]
# Other points must be farther from a label than its own by this share, or a line leads to it.
CLEARLY = 0.25
SHORTEST = 0.5  # leader line that is seen as one, in heights of a label
# Where every label must be placed: cells in the height of a label, how far to look, in heights,
# and what to cover a cell costs, in widths of it away from the point.
CELLS, MOST_REACH, COVERING = 4, 25, 3.0


def place_labels(
    points: np.ndarray,
    sizes: np.ndarray,
    radii: np.ndarray,
    frame: Frame,
    *,
    gap: float = 1.5,
    pad: tuple[float, float] = (0.0, 0.0),
    every: bool = False,
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
    pad : tuple of float
        Room at each side of a label, and above and below it.
    every : bool
        Place every label: one that fits nowhere near goes to the nearest room, or covers others
        where that is too far.

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
    scene = _Scene(points, sizes, radii, frame, gap, np.array(pad), centres)
    order = _crowded_first(points, 4 * np.median(sizes[named, 1]))
    order = order[named[order]]
    for _ in range(N_SWEEPS if len(rings) > 1 else 1):
        before = centres.copy()
        for i in order:
            scene.forget(i)
            scene.choose(i, rings)
        if np.array_equal(before, centres, equal_nan=True):
            break
    if every:
        # Those at the rim first: they find room at hand, which those in the crowd would take.
        _search_the_frame(scene, order[np.isnan(centres[order, 0])][::-1])
    return centres


def leader_ends(
    points: np.ndarray, centres: np.ndarray, sizes: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where leader lines meet the marker and the label, for one point or for each."""
    target = np.clip(points, centres - sizes / 2, centres + sizes / 2)
    step = target - points
    length = np.hypot(step[..., 0], step[..., 1])[..., None]
    direction = np.divide(step, length, out=np.zeros_like(step), where=length > 0)
    return points + direction * np.minimum(radii.min(axis=-1, keepdims=True), length), target


def needs_leader(
    points: np.ndarray, centres: np.ndarray, sizes: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """Say which labels need a line: they lie far from their marker, or as near to another."""
    needed = _far(points, centres, sizes, radii)
    for i in np.flatnonzero(~np.isnan(centres[:, 0]) & ~needed).tolist():
        others = np.delete(np.arange(len(points)), i)
        needed[i] = _unclear(centres[[i]], sizes[i], i, others, points, radii)[0]
    return needed


def _far(
    points: np.ndarray, centres: np.ndarray, sizes: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    room = np.abs(points - centres) - sizes / 2 - radii
    return (room > 0.75 * sizes[..., 1:]).any(axis=-1)


def _unclear(
    places: np.ndarray,
    size: np.ndarray,
    i: int,
    others: np.ndarray,
    points: np.ndarray,
    radii: np.ndarray,
) -> np.ndarray:
    """Say at which places label i is not clearly nearer to its own point than to all others.

    Distances count from the label's edge, both to the middle of a marker and to its edge. No place
    tells points apart that lie on each other: there it is enough not to be nearer to the other.
    """
    near = np.append(others, i)
    unclear = np.zeros(len(places), dtype=bool)
    apart = CLEARLY * np.hypot(*(points[others] - points[i]).T)
    for size_of_marker in (0.0, 1.0):
        distance = _distances(places, size, points[near], size_of_marker * radii[near])
        own = distance[:, -1:]
        unclear |= (distance[:, :-1] < own + np.minimum(CLEARLY * own, apart)).any(axis=1)
    return unclear


def _distances(
    places: np.ndarray, size: np.ndarray, points: np.ndarray, radii: np.ndarray | float = 0.0
) -> np.ndarray:
    """Distance from each place of a label to each marker, edge to edge: (places, points)."""
    room = np.maximum(np.abs(places[:, None] - points) - size / 2 - radii, 0)
    return np.hypot(room[..., 0], room[..., 1])


class _Scene:
    """The labels placed so far, and what a new one costs."""

    def __init__(
        self,
        points: np.ndarray,
        sizes: np.ndarray,
        radii: np.ndarray,
        frame: Frame,
        gap: float,
        pad: np.ndarray,
        centres: np.ndarray,
    ) -> None:
        self.points, self.radii = points, radii
        self.text, self.sizes = sizes, sizes + 2 * pad
        self.low, self.high = np.array(frame[:2]), np.array(frame[2:])
        self.gap, self.centres = gap, centres
        self.led = np.zeros(len(points), dtype=bool)  # labels with a leader line
        self.dots = np.empty((len(points), len(DOTS), 2))  # along it
        widest = np.nanmax(self.sizes, axis=0)
        # How far from its point the far side of a label can be, at most.
        self.reach = widest + radii.max(axis=0) + gap + RINGS[-1] * widest[1]
        angles = 2 * np.pi * np.arange(N_ANGLES) / N_ANGLES
        self.directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        # Right is read most easily, then left, above, below; slanted places come last.
        corner = np.abs(self.directions).min(axis=1)
        self.dislike = 0.25 * (1 - self.directions[:, 0]) / 2 + 0.3 * corner
        self.dislike += 0.1 * (self.directions[:, 1] < -0.1)

    def forget(self, i: int) -> None:
        """Take label i away."""
        self.centres[i], self.led[i] = np.nan, False

    def choose(self, i: int, rings: np.ndarray) -> None:
        """Put label i at its cheapest free place, if there is one."""
        size = self.sizes[i]
        away = self.radii[i] + self.gap + rings[-1] * size[1]
        reach = np.abs(self.points - self.points[i])
        around = (reach < size + (2 + CLEARLY) * away + self.radii + 2 * self.gap).all(axis=1)
        around[i] = False
        others = np.flatnonzero(around)
        # NaN, of labels without a place, is never near.
        placed = np.flatnonzero(
            (np.abs(self.centres - self.points[i]) < 2 * self.reach).all(axis=1)
        )
        for ring in rings:
            places = self._candidates(i, ring)
            free = self._free_of_markers(places, i, others)
            places, costs = places[free], self.dislike[free]
            unclear = _unclear(places, self.text[i], i, others, self.points, self.radii)
            led = unclear | _far(self.points[i], places, self.text[i], self.radii[i])
            clear = self._free_of_labels(places, led, i, others, placed)
            clear &= ~unclear | self.seen(places, i)
            if clear.any():
                costs = costs + self._crowding(places, i, others)
                best = np.argmin(np.round(np.where(clear, costs, np.inf), 6))
                self.put(i, places[best], led[best])
                return

    def put(self, i: int, place: np.ndarray, led: bool) -> None:
        """Put label i at a place, with a leader line or without."""
        self.centres[i], self.led[i] = place, led
        self.dots[i] = _dots(self.points[i], place[None], self.text[i], self.radii[i])[0]

    def seen(self, places: np.ndarray, i: int) -> np.ndarray:
        """Say from which places a leader line would be long enough to be seen."""
        room = np.maximum(np.abs(places - self.points[i]) - self.text[i] / 2, 0)
        length = np.hypot(room[..., 0], room[..., 1]) - self.radii[i].min()
        return length >= SHORTEST * self.text[i, 1]

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
        """Cost of other markers that the label might be taken to belong to at a glance.

        It falls from 0.6 for one as near as the label's own to 0 for one twice as far.
        """
        own = _distances(places, self.text[i], self.points[[i]])
        others = _distances(places, self.text[i], self.points[around])
        return 0.6 * (2 - others / np.maximum(own, self.gap)).clip(0, 1).sum(axis=1)

    def _free_of_labels(
        self,
        places: np.ndarray,
        led: np.ndarray,
        i: int,
        around: np.ndarray,
        placed: np.ndarray,
    ) -> np.ndarray:
        """Say which places hit no label, and neither cross a leader line nor are crossed by one."""
        size, others = self.sizes[i], self.sizes[placed]
        room = np.abs(places[:, None] - self.centres[placed]) - (size + others) / 2
        hit = (room < 0).all(axis=2).any(axis=1)
        theirs = self.dots[placed[self.led[placed]]]
        hit |= _inside(theirs.reshape(1, -1, 2), places, size / 2).any(axis=(0, 1))
        left = np.flatnonzero(led & ~hit)
        if len(left):
            own = _dots(self.points[i], places[left], self.text[i], self.radii[i])
            hit[left] = _inside(own, self.centres[placed], others / 2).any(axis=(1, 2))
            hit[left] |= _inside(own, self.points[around], self.radii[around]).any(axis=(1, 2))
            hit[left] |= _cross(own[:, 0], own[:, -1], theirs[:, 0], theirs[:, -1]).any(axis=1)
        return ~hit


def _dots(
    point: np.ndarray, centres: np.ndarray, size: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """Leader lines as dots strictly between a marker and its label at each of some places."""
    begin, end = leader_ends(point, centres, size, radii)
    return begin[:, None] + DOTS * (end - begin)[:, None]


def _search_the_frame(scene: _Scene, left: np.ndarray) -> None:
    """Put each of these labels where there is room, near its point, or where it covers little.

    The frame is a grid of cells; sums over rectangles of it say what a label would cover.
    """
    cell = float(np.nanmedian(scene.text[:, 1])) / CELLS
    shape = np.maximum(np.ceil((scene.high - scene.low) / cell).astype(int), 1)
    taken = np.zeros(shape[::-1], dtype=np.int32)

    def paint(centre: np.ndarray, half: np.ndarray) -> None:
        first = np.floor((centre - half - scene.low) / cell).astype(int).clip(0)
        last = np.ceil((centre + half - scene.low) / cell).astype(int).clip(0)
        taken[first[1] : last[1], first[0] : last[0]] += 1

    for centre, half in zip(scene.points, scene.radii, strict=True):
        paint(centre, half)
    for i in np.flatnonzero(~np.isnan(scene.centres[:, 0])):
        paint(scene.centres[i], scene.sizes[i] / 2)
    for i in left:
        wide, high = size = np.minimum(np.ceil(scene.sizes[i] / cell).astype(int), shape)
        reach = int(MOST_REACH * high)
        here = ((scene.points[i] - scene.low) / cell).astype(int)
        x0, y0 = np.minimum((here - reach).clip(0), shape - size)
        part = taken[y0 : here[1] + reach + high, x0 : here[0] + reach + wide]
        sums = np.pad(part.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
        covered = sums[high:, wide:] - sums[:-high, wide:] - sums[high:, :-wide]
        covered = covered + sums[:-high, :-wide]
        x = scene.low[0] + cell * (x0 + np.arange(covered.shape[1]) + wide / 2)
        y = scene.low[1] + cell * (y0 + np.arange(covered.shape[0]) + high / 2)
        places = np.stack(np.meshgrid(x, y), axis=-1)
        room = np.maximum(np.abs(places - scene.points[i]) - scene.text[i] / 2, 0)
        cost = np.hypot(room[..., 0], room[..., 1]) + COVERING * cell * covered
        cost[~scene.seen(places, i)] += MOST_REACH * scene.text[i].sum()
        place = places[np.unravel_index(np.argmin(np.round(cost, 6)), cost.shape)]
        scene.put(i, place, led=True)
        paint(scene.centres[i], scene.sizes[i] / 2)


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
