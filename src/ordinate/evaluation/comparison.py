"""Whether two maps of the same items differ by more than chance, and which items moved.

Maps have no place, no direction and no size of their own, so the second is first laid onto the
first. What is then left between the two places of an item is held against how unsure both are:
by their covariances here, by the answers themselves in :mod:`ordinate.evaluation.permutation`.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.messages import Message, Option, counted, some
from ordinate.data.labels import places
from ordinate.evaluation.metrics import procrustes_error

LEVEL = 0.05  # of chance, below which maps or items are said to differ
# Maps may differ much in an item, or a little everywhere. Of the false alarms that are allowed,
# so many are for the first, which relies on covariances only to tell items from each other; few
# are for the second, which takes them at their word.
FOR_ITEMS = 0.8
# The median item sets the unit for the others, since covariances are of errors about the truth, of
# which two maps have a part in common: both are too large. But not below this share of what they
# say: with few items, the median one may be near by chance.
LEAST_UNIT = 0.8
# Covariances are estimates too, and some are too small: gaps in units of them have a longer tail
# than chi-square. That of an F distribution with so many degrees of freedom, however many items
# there are, raised about 5 false alarms in 100 in simulations with 20 to 200 items.
BEHIND_A_COVARIANCE = 100
MOST_ALIGNMENTS, SETTLED = 100, 1e-6
BY_COVARIANCES, BY_ANSWERS = "covariances", "answers"


class Map(NamedTuple):
    """A map: labels, coordinates (n, d) and, where known, covariances (n, d, d).

    ``doubt`` says why the covariances are not to be trusted, if there is a reason.
    """

    items: Sequence[Any] | np.ndarray
    points: np.ndarray
    covariance: np.ndarray | None = None
    doubt: str | None = None


class Comparison(NamedTuple):
    """How far two maps are apart.

    Attributes
    ----------
    items : ndarray, shape (n,)
        The items that both maps place, in the order of the first.
    first, second : ndarray, shape (n, d)
        Their places: of the first map as given, of the second as it was laid onto the first, by
        moving, turning, mirroring and stretching, so that most items lie where the first has them.
    error : float
        The relative Procrustes error: 0 for the same map, near 1 for maps that have nothing in
        common. It is the same whichever map comes first.
    rigid_error : float
        The same without stretching, relative to the first map.
    factor : float
        By how much the second was stretched. People who answer more clearly have larger maps.
    distance : ndarray, shape (n,)
        Between the two places of each item, in the unit of the first map.
    chance : ndarray, shape (n,)
        The distance to be expected if nothing moved (a root mean square); NaN where unknown.
    p_items : ndarray, shape (n,)
        How often chance alone moves some item this far: corrected for the number of items.
        NaN where unknown.
    p_value : float or None
        How often chance alone makes maps differ as much; None where nothing tells.
    dispersion : float or None
        How much larger squared distances are than the covariances say, in the median item.
    method : str or None
        What tells: "covariances" of the maps, or their "answers".
    only_first, only_second : list
        Items that the other map does not place.
    n_permutations : int or None
        How often answers were dealt anew, where answers tell.
    covariance : ndarray, shape (n, d, d), or None
        Of the gaps between two places, if nothing moved, where covariances tell.
    doubt : str or None
        Why these are not to be trusted, and what is said of chance with them.
    """

    items: np.ndarray
    first: np.ndarray
    second: np.ndarray
    error: float
    rigid_error: float
    factor: float
    distance: np.ndarray
    chance: np.ndarray
    p_items: np.ndarray
    p_value: float | None
    dispersion: float | None
    method: str | None
    only_first: list
    only_second: list
    n_permutations: int | None = None
    covariance: np.ndarray | None = None
    doubt: str | None = None

    def __repr__(self) -> str:
        return f"Comparison({counted(len(self.items), 'item')}: {self.sentence})"

    @property
    def differ(self) -> bool | None:
        """Whether the maps differ beyond chance; None where nothing tells."""
        return None if self.p_value is None else bool(self.p_value <= LEVEL)

    @property
    def moved(self) -> np.ndarray:
        """The items that moved beyond chance, the farthest beyond first; none if maps do not."""
        beyond = np.flatnonzero(self.p_items <= (LEVEL if self.differ else -1))
        return self.items[beyond[np.argsort(-(self.distance / self.chance)[beyond])]]

    @property
    def sentence(self) -> Message:
        """What was found, in words.

        Examples
        --------
        >>> points = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0], [2, 2]])
        >>> print(compare_maps(Map("abcde", points), Map("abcde", 2 * points)).sentence)
        Whether the maps differ beyond chance cannot be told: not both have covariances; ...
        """
        if self.p_value is None:
            return Message(
                "Whether the maps differ beyond chance cannot be told: not both have covariances; "
                "give the ",
                Option("answers", ...),
                f" that they were made from. They are {self.error:.1%} apart",
            )
        p = p_in_words(self.p_value)
        doubt = "" if self.doubt is None else f". Chance is not to be trusted here: {self.doubt}"
        if not self.differ:
            return Message(
                f"The maps do not differ beyond chance ({p}); they are {self.error:.1%} "
                f"apart{doubt}"
            )
        moved, which = self.moved, "no single item stands out"
        if len(moved):
            others = f", and so did {some(moved[1:])}" if len(moved) > 1 else ""
            which = f"{some(moved[:1])} moved most{others}"
        return Message(
            f"The maps differ beyond chance ({p}): {which}; they are {self.error:.1%} apart{doubt}"
        )


def compare_maps(first: Map, second: Map) -> Comparison:
    """Lay a map onto another, and hold what is left against what chance makes.

    Parameters
    ----------
    first, second : Map
        Items are matched by their labels, as texts.

    Returns
    -------
    Comparison
        With p-values where both maps have covariances.
    """
    items, own, other, only_first, only_second = _shared(first, second)
    A, B = np.asarray(first.points)[own], np.asarray(second.points)[other]
    aligned, turn, weight = lay_onto(A, B)
    gap = A - aligned
    distance = np.linalg.norm(gap, axis=1)
    comparison = Comparison(
        items,
        A,
        aligned,
        procrustes_error(B, A, scale=True, relative=True),
        procrustes_error(B, A, relative=True),
        float(abs(np.linalg.det(turn)) ** (1 / A.shape[1])),
        distance,
        chance=np.full(len(items), np.nan),
        p_items=np.full(len(items), np.nan),
        p_value=None,
        dispersion=None,
        method=None,
        only_first=only_first,
        only_second=only_second,
    )
    if first.covariance is None or second.covariance is None:
        return comparison
    both = first.covariance[own] + turn.T @ second.covariance[other] @ turn
    comparison = comparison._replace(doubt=doubt_of(first, second))
    return _by_covariances(comparison, gap, both, weight)


def doubt_of(first: Map, second: Map) -> str | None:
    """Say which map's covariances are not to be trusted, and why."""
    told = (("first", first.doubt), ("second", second.doubt))
    doubts = [f"of the {which} map, {doubt}" for which, doubt in told if doubt is not None]
    return "; ".join(doubts) or None


def _shared(first: Map, second: Map) -> tuple[np.ndarray, np.ndarray, np.ndarray, list, list]:
    """Match items by label: those that both place, their rows, and those of one map alone."""
    placed = [np.isfinite(np.asarray(each.points)).all(axis=1) for each in (first, second)]
    d = [np.asarray(each.points).shape[1] for each in (first, second)]
    if d[0] != d[1]:
        raise ValueError(
            f"the maps have {d[0]} and {d[1]} dimensions: fit both with the same number"
        )
    labels = [
        [label for label, here in zip(each.items, seen, strict=True) if here]
        for each, seen in zip((first, second), placed, strict=True)
    ]
    # As texts: the same numbers are texts where a map comes from a file.
    texts = [list(map(str, each)) for each in labels]
    for text in texts:
        if len(set(text)) < len(text):
            raise ValueError("some labels of a map occur more than once: items are matched by them")
    found = places(texts[0], texts[1])
    own, other = np.flatnonzero(placed[0])[found >= 0], np.flatnonzero(placed[1])[found[found >= 0]]
    items = np.empty(len(own), object)
    items[:] = [first.items[row] for row in own]
    known = set(map(str, items))
    only = [[label for label in each if str(label) not in known] for each in labels]
    least = d[0] + 2  # fewer can be laid onto each other whatever they are
    if len(items) < least:
        raise ValueError(
            f"the maps share {len(items):,} item{'s' * (len(items) != 1)} by their labels, and "
            f"{least} are the least: the "
            f"first has {some(labels[0], 3)}, the second {some(labels[1], 3)}"
        )
    return items, own, other, only[0], only[1]


class Laid(NamedTuple):
    """A map laid onto another: its places, the matrix that turned its rows, items' weights."""

    points: np.ndarray
    turn: np.ndarray
    weight: np.ndarray


def lay_onto(reference: np.ndarray, points: np.ndarray) -> Laid:
    """Move, turn, mirror and stretch a map so that most of its items lie where others have them.

    Least squares would shrink a whole map to bring a single item nearer that lies elsewhere. So
    an item counts by ``1 / (1 + (distance / typical distance)^2)``, and the alignment is repeated
    until that settles; it begins with the medians of coordinates and of sizes, and with directions
    alone.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0], [0.5, 0.5]])
    >>> moved = np.vstack([square[:4], [[5, 5]]])
    >>> bool(np.allclose(lay_onto(square, 2 * moved).points[:4], square[:4], atol=1e-3))
    True
    """
    weight = _weights(reference, _by_directions(reference, points))
    for _ in range(MOST_ALIGNMENTS):
        share = (weight / weight.sum())[:, None]
        centre, own = (share * reference).sum(axis=0), (share * points).sum(axis=0)
        X, Y = points - own, reference - centre
        # As in metrics.align, with weights.
        U, S, Vt = np.linalg.svd(X.T @ (share * Y))
        norm = (share * X**2).sum()
        turn = (S.sum() / norm if norm > 0 else 1.0) * (U @ Vt)
        laid = X @ turn + centre
        before, weight = weight, _weights(reference, laid)
        if np.abs(weight - before).max() < SETTLED:
            break
    return Laid(laid, turn, before)


def _weights(reference: np.ndarray, laid: np.ndarray) -> np.ndarray:
    squares = ((laid - reference) ** 2).sum(axis=1)
    return 1 / (1 + squares / (float(np.median(squares)) or 1.0))


def _by_directions(reference: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Lay a map onto another by the directions of items from the middle, all alike."""
    middle = np.median(reference, axis=0)
    X, Y = points - np.median(points, axis=0), reference - middle
    x, y = (np.linalg.norm(Z, axis=1, keepdims=True) for Z in (X, Y))
    x, y = np.maximum(x, np.finfo(float).tiny), np.maximum(y, np.finfo(float).tiny)
    U, _, Vt = np.linalg.svd((X / x).T @ (Y / y))
    return np.median(y) / np.median(x) * X @ (U @ Vt) + middle


def _by_covariances(
    found: Comparison, gap: np.ndarray, both: np.ndarray, weight: np.ndarray
) -> Comparison:
    """Add what covariances say: ``both`` (n, d, d) has those of the gaps before the alignment."""
    from scipy.stats import chi2  # here, since it takes long to import
    from scipy.stats import f as f_distribution

    n, d = gap.shape
    J = _alignment_moves(found.second)
    left = _after_alignment(both, J, weight)
    statistic = np.einsum("ia,iab,ib->i", gap, np.linalg.pinv(left, hermitian=True), gap)
    dispersion = float(np.median(statistic) / chi2.median(d))
    unit = max(dispersion, LEAST_UNIT)
    p_items = holm(f_distribution.sf(statistic / unit / d, d, BEHIND_A_COVARIANCE))
    p_total = float(chi2.sf(_total(gap, both, J), n * d - J.shape[2]))
    p_value = min(1.0, p_items.min() / FOR_ITEMS, p_total / (1 - FOR_ITEMS))
    return found._replace(
        chance=np.sqrt(np.trace(left, axis1=1, axis2=2)),
        p_items=p_items,
        p_value=float(p_value),
        dispersion=dispersion,
        method=BY_COVARIANCES,
        covariance=left,
    )


def _total(gap: np.ndarray, V: np.ndarray, J: np.ndarray) -> float:
    """Sum of squared gaps by their covariances, less what an alignment by them would take.

    Chi-square with n d - q degrees of freedom, if nothing but errors of covariances V is there.
    """
    W = np.linalg.pinv(V, hermitian=True)
    b = np.einsum("iaq,iab,ib->q", J, W, gap)
    taken = b @ np.linalg.lstsq(np.einsum("iaq,iab,ibr->qr", J, W, J), b, rcond=None)[0]
    return float(np.einsum("ia,iab,ib->", gap, W, gap) - taken)


def _alignment_moves(X: np.ndarray) -> np.ndarray:
    """How moving, turning and stretching a map moves its items: (n, d, d + d (d - 1) / 2 + 1)."""
    n, d = X.shape
    X = X - X.mean(axis=0)
    moves = [np.broadcast_to(axis, (n, d)) for axis in np.eye(d)]
    for k, l in combinations(range(d), 2):
        turned = np.zeros((n, d))
        turned[:, k], turned[:, l] = -X[:, l], X[:, k]
        moves.append(turned)
    return np.stack([*moves, X], axis=2)


def _after_alignment(V: np.ndarray, J: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Covariances (n, d, d) of gaps once the alignment has taken its part of them.

    To first order gaps are ``(I - H) e``, with errors e of covariances V and
    H = J (J'WJ)^-1 J'W, W the weights of the alignment.
    """
    G = np.linalg.pinv(np.einsum("i,iaq,iar->qr", weight, J, J), hermitian=True)
    M = G @ np.einsum("i,iaq,iab,ibr->qr", weight**2, J, V, J) @ G
    H = np.einsum("iaq,qr,ibr,i->iab", J, G, J, weight)
    HV = H @ V
    return V - HV - HV.transpose(0, 2, 1) + np.einsum("iaq,qr,ibr->iab", J, M, J)


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p-values for their number, by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    corrected = np.empty(len(p))
    corrected[order] = stepped
    return corrected


def p_in_words(p: float) -> str:
    """Write a p-value as papers do.

    >>> p_in_words(0.4149), p_in_words(0.00004)
    ('p = .41', 'p < .001')
    """
    return "p < .001" if p < 0.001 else f"p = {p:.{3 if p < 0.1 else 2}f}".replace("0.", ".")
