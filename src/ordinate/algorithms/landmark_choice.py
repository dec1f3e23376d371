"""Which items are landmarks, and how many to ask about when data is still to be collected."""

from typing import Any

import numpy as np

from ordinate._base.checks import check_choice, check_whole
from ordinate._base.messages import some
from ordinate.algorithms.mean_field import mean_field
from ordinate.data.labels import places
from ordinate.data.triplets import Triplets
from ordinate.files.ondisk import TripletFile
from ordinate.kernels import noise
from ordinate.passes import columns_of

ENOUGH = 20  # comparisons per item that make a column worth ranking; docs/loe.md has the study
FEW = 4  # comparisons per item below which a column is mostly noise
PLANNED = 40  # comparisons per item and column to plan for
CANDIDATES = 3  # times as many as wanted are considered for a spread choice


def n_landmarks(n_items: int, n_components: int, n_triplets: int) -> int:
    """How many landmarks to share a budget of triplets among.

    More landmarks steady the map; fewer comparisons per column blur each ranking. In between, the
    error is flat over a wide range: the rule is ``8 d + 8`` landmarks, fewer if each item would be
    compared fewer than 40 times per column, but at least ``d + 3``.

    Parameters
    ----------
    n_items, n_components : int
        Number of items n and of dimensions d.
    n_triplets : int
        How many questions will be asked in all.

    Returns
    -------
    int

    Examples
    --------
    >>> n_landmarks(10_000, 2, 18_000_000)
    24
    >>> n_landmarks(10_000, 2, 2_000_000)
    10
    """
    n = check_whole("n_items", n_items, least=3)
    d = check_whole("n_components", n_components)
    m = check_whole("n_triplets", n_triplets)
    return min(n, max(d + 3, min(8 * d + 8, 2 * m // (PLANNED * n))))


def asks_about_landmarks(n_rows: np.ndarray, n_components: int) -> bool:
    """Whether at most a quarter of the items are anchors, each of enough comparisons for LOE.

    Parameters
    ----------
    n_rows : ndarray, shape (n_items,)
        How many triplets each item is the anchor of.
    n_components : int
    """
    least = n_components + 3
    n_anchors = int(np.count_nonzero(n_rows))
    if not least <= n_anchors <= len(n_rows) / 4:
        return False
    return bool(2 * np.sort(n_rows)[-least] >= FEW * len(n_rows))


def choose_landmarks(
    triplets: Triplets | TripletFile,
    n_components: int,
    landmarks: Any = "auto",
    *,
    backend: str = "auto",
) -> np.ndarray:
    """Choose landmarks among the anchors of existing triplets.

    Parameters
    ----------
    triplets : Triplets or TripletFile
    n_components : int
    landmarks : "auto", int or sequence
        "auto": every anchor with at least 20 comparisons per item; or with half as many as the
        ``d + 3`` best have, if that is less, but at least 4. A number: that many anchors, spread
        out among those with the most comparisons. A sequence: these labels, or ids.
    backend : str

    Returns
    -------
    ndarray of int, shape (n_landmarks,)
        Ids in increasing order.
    """
    grouped, starts = triplets.grouped(backend=backend)
    counts = np.diff(starts)
    least = n_components + 3
    if not isinstance(landmarks, str) and np.ndim(landmarks) == 1:
        return _given(triplets, landmarks, least, counts)
    n_anchors = int((counts > 0).sum())
    order = np.argsort(-counts, kind="stable")
    if isinstance(landmarks, str):
        check_choice("landmarks (if it is a word)", landmarks, ("auto",))
        per_item = 2 * counts[order] / (triplets.n_items - 1)
        needed = per_item[least - 1] if n_anchors >= least else 0.0
        if needed < FEW:
            raise ValueError(
                f"{n_components} dimensions need at least {least} landmarks: anchors with {FEW} or "
                f"more comparisons per item ({ENOUGH} are better). Of {n_anchors:,} anchors, "
                f"{np.count_nonzero(per_item >= FEW):,} have as many. Ask more questions about "
                "fewer anchors, or embed in fewer dimensions"
            )
        return np.sort(order[per_item >= min(ENOUGH, max(FEW, needed / 2))])
    wanted = check_whole("landmarks", landmarks, least=least)
    if n_anchors < wanted:
        raise ValueError(f"{wanted} landmarks are wanted, but only {n_anchors:,} items are anchors")
    candidates = order[: min(CANDIDATES * wanted, n_anchors)]
    return np.sort(_spread_out(grouped, candidates, wanted, backend))


def _given(
    triplets: Triplets | TripletFile, landmarks: Any, least: int, counts: np.ndarray
) -> np.ndarray:
    """Return the ids of labels (or ids), or raise."""
    names = landmarks.tolist() if hasattr(landmarks, "tolist") else list(landmarks)
    ids = places(names, triplets.items.tolist())
    unknown = [name for name, i in zip(names, ids, strict=True) if i < 0]
    if unknown:
        raise ValueError(f"these landmarks are not among the items: {some(unknown)}")
    if len(np.unique(ids)) < len(ids):
        raise ValueError("landmarks must differ; some are named twice")
    if len(ids) < least:
        raise ValueError(f"{least - 3} dimensions need at least {least} landmarks; got {len(ids)}")
    silent = [name for name, i in zip(names, ids, strict=True) if counts[i] == 0]
    if silent:
        raise ValueError(f"these landmarks are the anchor of no triplet: {some(silent)}")
    return np.sort(ids)


def _spread_out(
    triplets: Triplets | TripletFile, candidates: np.ndarray, wanted: int, backend: str
) -> np.ndarray:
    """Choose candidates one by one, each as far as can be from those chosen before.

    Distances between candidates come from first scores in each other's columns, counted from the
    nearest item's.
    """
    if len(candidates) == wanted:
        return candidates
    distance = np.empty((len(candidates), len(candidates)))
    for row, candidate in enumerate(candidates):
        column = columns_of(triplets, np.array([candidate]), backend)
        far, near = column.counts()
        scores = mean_field(far[0], near[0], noise.get("btl")).scores
        distance[row] = scores[candidates] - scores.min()
    distance = (distance + distance.T) / 2
    chosen = [0]
    nearest = distance[0].copy()
    while len(chosen) < wanted:
        nearest[chosen] = -np.inf
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, distance[chosen[-1]])
    return candidates[chosen]
