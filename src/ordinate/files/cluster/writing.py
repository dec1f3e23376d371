"""The fast layout, written by the workers of a cluster: each its own rows of the same files.

Partitions are sorted by anchor, each into a file of its own in a folder that all workers see; then
pieces of the result are put together from these files, and written to where they belong. A task
that is done twice, since its worker was lost, writes the same bytes again.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ordinate._base.cluster import Cluster
from ordinate._base.messages import Message, Option, some
from ordinate._base.threads import blocks
from ordinate.data.rows import group_by_anchor
from ordinate.files.cluster.handle import PartitionedTriplets
from ordinate.files.cluster.partitions import Rows
from ordinate.files.ondisk.files import check_space, read_into
from ordinate.files.ondisk.sorting import (
    LEAST,
    Whole,
    ranges,
    record_type,
    records_of,
    rows_of,
)
from ordinate.files.ondisk.writing import FolderWriter, Written, is_parquet
from ordinate.kernels import backends

MANY = 64  # pieces of a result that has rows enough


class Piece(NamedTuple):
    """Consecutive rows of the result, from ``first`` on.

    ``slices`` (n_partitions, 2) are the rows of each sorted partition that they are; those of one
    anchor follow each other ``in_order``.
    """

    first: int
    slices: np.ndarray
    in_order: bool


class Place(NamedTuple):
    """Where sorted partitions are, and where the result is to be."""

    sorted: Path
    target: Path
    whole: Whole


def write_on_cluster(triplets: PartitionedTriplets, target: Path) -> None:
    """Write triplets in the fast layout to a new folder, which all workers must see.

    What is written beside it, in the same folder, is whoever's who made that folder to remove.
    """
    cluster = triplets.cluster
    labels = None if triplets._items is None else triplets._items.tolist()
    whole = Whole(triplets.n_items, labels, triplets.columns, (), cluster.bytes_per_task)
    # The result, and all rows besides, sorted by partition.
    check_space(target.parent, 2 * record_type(whole.columns).itemsize * len(triplets))
    place = Place(target.parent / "sorted", target, whole._replace(labels=None))
    place.sorted.mkdir()
    _refuse_unseen(cluster, place.sorted)
    writer = FolderWriter(target, whole)
    try:
        writer.counts = triplets.anchor_counts
        for part in _written_by_workers(triplets, place):
            writer.take(part)
        writer.close()
    finally:
        writer.abandon()
        # Under another name tasks that still run, if one has failed, find no place to write to.
        shutil.rmtree(place.sorted.rename(target.parent / "done"))


def refuse_target(triplets: PartitionedTriplets, target: Path, order: str) -> None:
    """Raise if workers cannot write a target, or need not."""
    if order != "anchor":
        raise ValueError(
            Message(
                "workers put rows in the order of their anchors, as each counts as an answer of "
                "its own there: leave ",
                Option("order", order),
                " out",
            )
        )
    if is_parquet(target):
        raise ValueError(
            f"workers write a folder of arrays, each a part of it, and {target} is the name of one "
            "file: name a folder"
        )
    if triplets.grouped_file is not None:
        raise ValueError(
            f"{triplets.path} is in the fast layout already, which workers read as it is"
        )


def _refuse_unseen(cluster: Cluster, folder: Path) -> None:
    """Raise, before the work, if some workers do not see a folder."""
    seen = cluster.client.run(os.path.isdir, str(folder), on_error="return")
    blind = [worker for worker, sees in seen.items() if sees is not True]
    if blind:
        raise FileNotFoundError(
            f"{folder.parent.parent.parent} is another folder on {some(blind)}: workers write "
            "their parts of the result themselves, to a file system that all of them share"
        )


def _written_by_workers(triplets: PartitionedTriplets, place: Place) -> list[Written]:
    """Have all rows sorted and written; the parts of the result are in their order."""
    cluster, counts, shared = triplets.cluster, triplets.anchor_counts, triplets.cluster.share
    most_rows = min(place.whole.most_rows, max(len(triplets) // MANY, LEAST))
    bounds = ranges(counts, most_rows)
    asked = shared((place, bounds))
    found = cluster.results(
        [cluster.call(_sorted, part, p, asked) for p, part in enumerate(triplets.partitions)],
        "sorting",
    )
    pieces = _pieces(np.array(found), bounds, most_rows)
    asked = shared(place)
    return cluster.results([cluster.call(_written, piece, asked) for piece in pieces], "writing")


def _sorted(part: Rows, number: int, asked: tuple[Place, np.ndarray]) -> np.ndarray:
    """Write a partition in the order of its anchors, and tell where ranges of them begin."""
    place, bounds = asked
    weights = (part.weight,) if place.whole.columns else ()
    rows, starts, columns = group_by_anchor(
        part.rows.view(np.int32), place.whole.n_items, backends.load(), weights
    )
    records = records_of(rows, dict(zip(place.whole.columns, columns, strict=True)))
    # A worker that was given up may be at it, too.
    new = place.sorted / f"{number}-{secrets.token_hex(8)}"
    with new.open("wb") as file:
        file.write(records.view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(place.sorted / f"{number}")
    return starts[bounds]


def _pieces(starts: np.ndarray, bounds: np.ndarray, most_rows: int) -> Iterator[Piece]:
    """Cut the result into pieces that are small enough: ranges of anchors, or parts of one anchor.

    ``starts`` (n_partitions, n_ranges + 1) tell where each range begins in each partition.
    """
    row = 0
    for k, (low, high) in enumerate(pairwise(bounds)):
        first, last = starts[:, k], starts[:, k + 1]
        ends = np.cumsum(last - first)
        for part in blocks(int(ends[-1]), most_rows):
            slices = [np.clip(last - (ends - at), first, last) for at in (part.start, part.stop)]
            yield Piece(row + part.start, np.column_stack(slices), bool(high - low == 1))
        row += int(ends[-1])


def _written(piece: Piece, place: Place) -> Written:
    """Put a piece together, and write it to where it belongs."""
    kind, sizes = record_type(place.whole.columns), np.diff(piece.slices)[:, 0]
    records, at = np.empty(int(sizes.sum()), kind), 0
    for p in np.flatnonzero(sizes):
        part = records[at : at + int(sizes[p])].view(np.uint8)
        read_into(place.sorted / f"{p}", part, int(piece.slices[p, 0]) * kind.itemsize)
        at += int(sizes[p])
    rows, columns = rows_of(records)
    if not piece.in_order:
        rows, _, ordered = group_by_anchor(
            rows, place.whole.n_items, backends.load(), tuple(columns.values())
        )
        columns = dict(zip(columns, ordered, strict=True))
    writer = FolderWriter(place.target, place.whole, piece.first)
    try:
        writer.add(rows, columns)
        return writer.close_part()
    finally:
        writer.abandon()
