"""What the experiments with massive data share: answers from columns of distances, and measures."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.base import clone

from ordinate.data.simulate import Noise, sample_points, sample_triplets
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.study.experiments._frame import Row

QUERIES = 300  # items whose neighbours, or distances, are looked up
NEIGHBOURS = 10

Makers = dict[str, Embedder | Callable[[], np.ndarray]]


def ask_landmarks(
    columns: np.ndarray, landmarks: np.ndarray, m: int, noise: Noise, seed: int
) -> Triplets:
    """Noisy answers about landmarks, whose distances to all items are the rows of `columns`."""
    n = columns.shape[1]
    row_of = np.zeros(n, np.intp)
    row_of[landmarks] = np.arange(len(landmarks))
    return sample_triplets(
        n_triplets=m,
        squared_distances=lambda anchor, item: columns[row_of[anchor], item],
        n_items=n,
        noise=noise,
        design="landmarks",
        landmarks=landmarks,
        random_state=seed,
    )


def nearest(points: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The ten items next to each query, by Euclidean distance."""
    from sklearn.neighbors import NearestNeighbors

    tree = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(points)
    found = tree.kneighbors(points[queries], return_distance=False)
    # An item is its own neighbour, first unless others lie in the same place.
    return np.array(
        [[k for k in row if k != q][:NEIGHBOURS] for row, q in zip(found, queries, strict=True)]
    )


def shared(found: np.ndarray, true: np.ndarray) -> float:
    """The share of true neighbours that were found."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]))


def wrong_order(points: np.ndarray, anchors: np.ndarray, columns: np.ndarray, seed: int) -> float:
    """The share of pairs that a map has in the wrong order, seen from anchors with known distances.

    Pairs at the same true distance have no order, and are not counted.
    """
    rng = np.random.default_rng(seed)
    n = columns.shape[1]
    wrong = counted = 0
    for anchor, column in zip(anchors, columns, strict=True):
        i, j = rng.integers(n, size=(2, 2000))
        gap = column[i] - column[j]
        to = [np.sum((points[k] - points[anchor]) ** 2, axis=1) for k in (i, j)]
        told = gap != 0
        wrong += int(np.sum((to[0] - to[1])[told] * gap[told] <= 0))
        counted += int(told.sum())
    return wrong / counted


def maps_of(makers: Makers, answers: Triplets, d: int) -> Iterator[tuple[Row, np.ndarray]]:
    """Yield the map of each method, and a row with its seconds and the memory taken so far.

    Estimators are fitted to the answers; functions make maps of what they know themselves.
    """
    few = sample_triplets(
        sample_points(200, d, random_state=0),
        4000 * (d + 4),
        design="landmarks",
        landmarks=d + 4,
        random_state=0,
    )
    for name, maker in makers.items():
        if isinstance(maker, Embedder):
            clone(maker).fit(few)  # loads kernels, so that no fit is charged for that
        began = time.perf_counter()
        found = maker.fit(answers).embedding_ if isinstance(maker, Embedder) else maker()
        row = {"kind": "end", "method": name, "triplets": len(answers)}
        row["seconds"] = time.perf_counter() - began
        row["peak_gib"] = peak_memory() / 2**30
        yield row, found


def peak_memory() -> float:
    """Bytes of memory that this process took at most."""
    import resource
    import sys

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most if sys.platform == "darwin" else most * 1024)
