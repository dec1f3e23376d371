"""What the experiments with massive data share: answers from columns of distances, and measures."""

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ordinate._base.memory import give_back
from ordinate.data.simulate import Noise, sample_points, sample_triplets
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder
from ordinate.study.experiments._frame import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUERIES = 300  # items whose neighbours, or distances, are looked up
NEIGHBOURS = 10
# Of STE, at most: for time, and since in one trial (2,000 words, one seed) more steps explained the
# answers better and ordered other pairs worse. Chosen after that trial, so no neutral setting.
STEPS = 20

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
    """Yield the map of each method, and a row with its seconds and the most memory in use.

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is told
            if isinstance(maker, Embedder):
                clone(maker).fit(few)  # loads kernels, so that no fit is charged for that
            give_back()  # what earlier methods took
            began = time.perf_counter()
            with watched_memory() as seen:
                found = maker.fit(answers).embedding_ if isinstance(maker, Embedder) else maker()
            seconds = time.perf_counter() - began
        row = {"kind": "end", "method": name, "triplets": len(answers), "seconds": seconds}
        row["steps"] = getattr(maker, "n_iter_", None)
        row["peak_gib"] = max(seen) / 2**30
        yield row, found


@contextmanager
def watched_memory(pause: float = 0.05) -> Iterator[list[int]]:
    """Look at the bytes in use by this process now and then: the data's and those of the block.

    Systems also know the most that a process ever took, but that is not the most of this block.
    """
    import psutil

    process, done = psutil.Process(), threading.Event()
    seen = [process.memory_info().rss]

    def look() -> None:
        while not done.wait(pause):
            seen.append(process.memory_info().rss)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
        seen.append(process.memory_info().rss)


def frame(panel: "Axes", at: np.ndarray) -> list[str]:
    """Frame all but a few places far out by a light square; say how many lie beyond, if any do."""
    low, high = np.percentile(at, [0.5, 99.5], axis=0)
    middle, half = (low + high) / 2, 0.6 * float((high - low).max()) or 1.0
    panel.set(xlim=middle[0] + [-half, half], ylim=middle[1] + [-half, half], aspect="equal")
    panel.set(xticks=[], yticks=[])
    panel.grid(False)
    panel.spines[:].set(visible=True, color="#CCCCCC", linewidth=0.5)
    beyond = int((np.abs(at - middle) > half).any(axis=1).sum())
    return [f"{beyond:,} beyond the frame"] if beyond else []


def table(
    ends: Sequence[Row], about: Mapping[str, Callable[[Row], str]], measures: Mapping[str, str]
) -> list[list[str]]:
    """Rows of a table, its heading first: what each line is about, then what was measured.

    Parameters
    ----------
    ends : sequence of dict
    about : dict of functions
        What the first columns say, by their headings.
    measures : dict of str
        Names of further columns in the results, by their headings.
    """
    formats = {"wrong": ".1%", "neighbours": ".1%", "purity": ".3f"}
    heading = [*about, "method", *measures, "steps", "seconds", "most memory"]
    lines = [
        [
            *(tell(row) for tell in about.values()),
            row["method"],
            *(format(row[name], formats[name]) for name in measures.values()),
            str(row.get("steps") or ""),
            f"{row['seconds']:.1f}",
            f"{row['peak_gib']:.1f} GiB",
        ]
        for row in ends
    ]
    return [heading, *lines]
