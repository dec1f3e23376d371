"""Landmark ordinal embedding on a cluster: columns are ranked by workers, and recovered there.

Columns are ranking problems of their own: each is ranked by a task, with all of its comparisons at
hand. What it finds is cut into stripes of rows, which stay on the workers; a map is recovered by
asking them. Nothing as large as items times landmarks is ever here.
"""

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.cluster import Cluster, Delayed
from ordinate._base.memory import in_words
from ordinate._base.threads import blocks
from ordinate.algorithms.ranking import Scores, rank_columns
from ordinate.algorithms.score_rows import BLOCK, Block
from ordinate.files.cluster import PartitionedTriplets
from ordinate.files.cluster.partitions import Rows, Stretch, opened, writeable
from ordinate.files.ondisk.handles import GroupedTriplets
from ordinate.kernels import backends
from ordinate.kernels.noise import Noise
from ordinate.passes import ClusterColumns, MemoryColumns, StreamedColumns

MOST_STRIPES = 64
STRIPE = 1 << 26  # bytes from which there is a stripe more; threads have one each
PAIR, WEIGHT, SCORE = 8, 8, 320  # bytes, the last of all that ranking needs for an item
COPIES = 2  # of a column, while its parts are joined
BY_ITEM = ("scores", "information", "n_compared")  # what is known of each item in a column
OF_COLUMN = [field.name for field in fields(Scores) if field.name not in BY_ITEM]


class Column(NamedTuple):
    """What a worker is to know about the column that it ranks."""

    landmark: int
    n_items: int
    fewest: int  # comparisons of any column
    noise: Noise
    regularization: float | str
    tol: float
    backend: str
    memory: int  # bytes for comparisons


class ClusterScores:
    """Scores of all columns, in stripes of rows on the workers, and how they came about.

    Attributes
    ----------
    n_items, n_landmarks : int
    n_one_sided, n_parts, regularization, converged, n_passes, n_triplets
        As in :class:`.Scores`.
    """

    def __init__(
        self, cluster: Cluster, columns: list[Delayed], landmarks: np.ndarray, n_items: int
    ) -> None:
        call, columns = cluster.call, cluster.kept(columns)
        self._cluster, self.n_items, self.n_landmarks = cluster, n_items, len(landmarks)
        told = cluster.results(
            [call(_told, column) for column in columns], f"ranking {len(columns)} columns"
        )
        shared, stripes = cluster.share(landmarks), []
        n_bytes = len(BY_ITEM) * 8 * n_items * len(landmarks)
        for part in _stripes(n_items, max(cluster.n_threads, n_bytes // STRIPE)):
            slices = [call(_slice, column, part.start, part.stop) for column in columns]
            stripes.append(call(_stripe, part.start, BLOCK, shared, *slices))
        self._stripes = cluster.kept(stripes)
        about = {name: np.hstack([column[name] for column in told]) for name in told[0]}
        self.n_one_sided, self.n_parts = about["n_one_sided"], about["n_parts"]
        self.regularization, self.converged = about["regularization"], about["converged"]
        self.n_triplets = about["n_triplets"]
        n_read = (about["n_passes"] * self.n_triplets).sum()
        self.n_passes = float(n_read / self.n_triplets.sum())

    def each(self, function: Any, *arguments: Any) -> list[Any]:
        """Call ``function(block, *arguments)`` for every block; results in the blocks' order."""
        shared = self._cluster.share((function, arguments))
        tasks = [self._cluster.call(_answers, stripe, shared) for stripe in self._stripes]
        return [answer for found in self._cluster.results(tasks, "recovering") for answer in found]

    @property
    def compared_by_item(self) -> np.ndarray:
        """How often each item was compared, over all columns: (n,)."""
        tasks = [self._cluster.call(_compared, stripe) for stripe in self._stripes]
        return np.concatenate(self._cluster.results(tasks))

    def on_host(self) -> Scores:
        """Bring all scores here."""
        tasks = [self._cluster.call(_by_item, stripe) for stripe in self._stripes]
        found = zip(*self._cluster.results(tasks, "bringing scores"), strict=True)
        known: dict[str, Any] = {
            name: np.concatenate(parts) for name, parts in zip(BY_ITEM, found, strict=True)
        }
        return Scores(**known, **{name: getattr(self, name) for name in OF_COLUMN})


def rank_on_cluster(
    triplets: PartitionedTriplets,
    landmarks: np.ndarray,
    noise: Noise,
    regularization: float | str,
    tol: float,
    backend: str,
) -> ClusterScores:
    """Rank all columns on the workers; as :func:`.rank_columns`.

    A column's comparisons are in the memory of the worker that ranks it; where that is too small,
    it reads them from a file in the fast layout for every pass.
    """
    cluster, n, file = triplets.cluster, triplets.n_items, triplets.grouped_file
    sizes = triplets.anchor_counts[landmarks]
    memory = cluster.bytes_per_task - SCORE * n
    needed = COPIES * int(sizes.max()) * (PAIR + WEIGHT * triplets.weighted)
    if memory <= 0 or (needed > memory and file is None):
        raise MemoryError(
            f"a landmark's {sizes.max():,} comparisons of {n:,} items take "
            f"{in_words(needed + SCORE * n)} of a worker's memory for each of its threads, and "
            f"there are {in_words(cluster.bytes_per_task)}: take workers with more memory or fewer "
            "threads, or bring the triplets into the fast layout, whose columns are read in blocks"
        )
    told = [
        Column(i, n, int(sizes.min()), noise, regularization, tol, backend, memory)
        for i in landmarks.tolist()
    ]
    shared = map(cluster.share, told)
    if file is not None and needed > memory:
        where = Stretch.of(file, slice(0, 0))
        columns = [cluster.call(_ranked_from_file, where, column) for column in shared]
    else:
        whole = ClusterColumns(triplets, landmarks, backend).whole
        columns = [cluster.call(_ranked, *both) for both in zip(shared, whole, strict=True)]
    return ClusterScores(cluster, columns, landmarks, n)


def _ranked(column: Column, own: Rows) -> Scores:
    """Rank a column whose comparisons are in memory."""
    pairs, weight = Rows.of(*own)
    backend = backends.load(column.backend)
    store = MemoryColumns([pairs], [weight], column.n_items, backend)
    return _scores(store, column)


def _ranked_from_file(where: Stretch, column: Column) -> Scores:
    """Rank a column whose comparisons are read from a file for every pass."""
    file = GroupedTriplets(opened(where.path, where.seal), memory_limit=column.memory)
    landmarks = np.array([column.landmark])
    return _scores(StreamedColumns(file, landmarks, backends.load(column.backend)), column)


def _scores(store: Any, column: Column) -> Scores:
    return rank_columns(
        store,
        column.noise,
        owners=np.array([column.landmark]),
        regularization=column.regularization,
        tol=column.tol,
        fewest=column.fewest,
    )


def _told(column: Scores) -> dict[str, Any]:
    """What is known of a column as a whole."""
    return {name: getattr(column, name) for name in OF_COLUMN}


def _stripes(n_items: int, wanted: int) -> list[slice]:
    """Cut the rows into about so many stripes, of whole blocks: how many changes no result."""
    n_blocks = -(-n_items // BLOCK)
    return blocks(n_items, -(-n_blocks // min(wanted, MOST_STRIPES)) * BLOCK)


class Stripe(NamedTuple):
    """Consecutive rows of all columns, and how often each item was compared in them."""

    blocks: list[Block]
    information: np.ndarray
    n_compared: np.ndarray


def _slice(column: Scores, start: int, stop: int) -> np.ndarray:
    return np.stack([getattr(column, name)[start:stop, 0] for name in BY_ITEM])


def _stripe(first: int, size: int, landmarks: np.ndarray, *slices: np.ndarray) -> Stripe:
    scores, information, n_compared = np.ascontiguousarray(np.stack(slices, axis=2))
    cut = [
        Block.of(scores[part], information[part], first + part.start, landmarks)
        for part in blocks(len(scores), size)
    ]
    return Stripe(cut, information, n_compared)


def _answers(stripe: Stripe, asked: tuple[Any, tuple]) -> list[Any]:
    function, arguments = asked
    given = [writeable(argument) for argument in arguments]
    return [function(Block(*map(writeable, block)), *given) for block in stripe.blocks]


def _compared(stripe: Stripe) -> np.ndarray:
    return stripe.n_compared.sum(axis=1)


def _by_item(stripe: Stripe) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scores = np.concatenate([block.scores for block in stripe.blocks])
    return scores, stripe.information, stripe.n_compared
