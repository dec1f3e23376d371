"""The one door: whatever a user has becomes triplets here, in memory or as a file to be streamed.

Every estimator, metric, splitter and command comes through :func:`open_source`. A path may be a
file or a folder of the fast layout, which :mod:`ordinate.ondisk` opens, or anything that
:mod:`ordinate.readers` reads: as a whole, or block by block where that would take too much memory.
"""

import os
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.memory import available_memory, in_words, memory_size
from ordinate._base.messages import Message, Option, some
from ordinate.data.columns import is_table, source_words
from ordinate.data.labels import label_array, places
from ordinate.data.triplets import Triplets, table_of
from ordinate.files.cluster import PartitionedTriplets, is_collection, of_collection
from ordinate.files.formats.blocks import Blocks, open_blocks
from ordinate.files.ondisk.files import sha256_of
from ordinate.files.ondisk.grouped import open_grouped
from ordinate.files.ondisk.handles import FastTriplets, TripletFile
from ordinate.files.ondisk.unsorted import fast_triplets
from ordinate.files.readers import (
    FAST,
    IS_FAST,
    How,
    ReadError,
    Reading,
    how_to_read,
    read,
    refuse_options,
)
from ordinate.files.streaming import (
    MIB,
    Streamed,
    frugal,
    read_in_blocks,
    refuse_other_count,
    refuse_small_limit,
)

HANDLE = "handle"


class Source(NamedTuple):
    """What came through the door.

    Attributes
    ----------
    triplets : Triplets or TripletFile
        A handle for what lies in the fast layout or is too large for memory.
    path : Path or None
        Of a file or folder.
    layout : str
        The layout that was found in a file: one of the readers', or "fast"; "memory" and "handle"
        for what is no file, but triplets in memory or an open file.
    n_rows, n_used : int
        Rows there are, and rows that gave triplets.
    notes : list of str
        What was dropped or left unread, how much of it and why.
    read_sha256 : str
        Of what was read; empty for what stays in a file, or on a cluster.
    groups : ndarray, shape (m,), or None
        The group of each triplet, if a column of groups was asked for.
    """

    triplets: Triplets | TripletFile
    path: Path | None
    layout: str
    n_rows: int
    n_used: int
    notes: list[str]
    read_sha256: str = ""
    groups: np.ndarray | None = None

    @property
    def stored(self) -> TripletFile | None:
        """The handle, where the triplets do not fit into memory and must be streamed."""
        found = self.triplets
        return None if isinstance(found, Triplets) or found.fits else found

    @property
    def example(self) -> str:
        """The first triplet in words; nothing for what stays in a file."""
        return self.triplets.example if isinstance(self.triplets, Triplets) else ""

    @property
    def sha256(self) -> str:
        """Of what was read; a file that is not yet read is, and must not have been changed."""
        found = self.triplets
        if isinstance(found, (Triplets, PartitionedTriplets)):
            return self.read_sha256
        return sha256_of(found.path, found.source)

    def load(self) -> Triplets:
        """Return the triplets in memory, or raise if they cannot be there."""
        found = self.triplets
        if isinstance(found, Triplets):
            return found
        if found.loaded_bytes > found.memory_limit:
            raise _too_large(self, found.memory_limit)
        return found.load()

    def warn(self, stacklevel: int = 2) -> None:
        """Repeat the notes in one warning; ``stacklevel`` is counted from the caller."""
        if self.notes:
            told = Message(f"{self.path}: ", Message.joined("; ", self.notes))
            warnings.warn(UserWarning(told), stacklevel=stacklevel + 1)


def open_source(
    data: Any,
    *,
    n_items: int | None = None,
    memory_limit: int | str | None = None,
    stream: bool = True,
    working: int = 0,
    **reading: Any,
) -> Source:
    """Take triplets in any form that ordinate's functions and commands accept.

    Parameters
    ----------
    data : Triplets, array-like of int (m, 3), DataFrame, Arrow table, TripletFile, or path
        Arrays and dataframes of Dask stay on the cluster of the current client.
    n_items : int, optional
        The number of items, if some may occur in no row. Integers in tables and files are then
        ids ``0..n_items-1``.
    memory_limit : int or str, optional
        Memory that a fit may take, by default half of what is free.
    stream : bool
        A file whose triplets are too many for that may be handed out to be streamed; else it is
        refused. What a file means does not depend on either.
    working : int
        Bytes of memory that each row takes in what is done with them, where all are in memory:
        more of them than the limit has room for are refused.
    **reading
        Options of :func:`ordinate.readers.read`, where they differ from the defaults.

    Returns
    -------
    Source
    """
    if isinstance(data, (str, os.PathLike)):
        try:
            source = _of_path(Path(data), n_items, memory_limit, stream, working, reading)
        except ReadError as error:
            error.for_reader = True  # who gives a path here, gives no options
            raise
        limit = memory_size(memory_limit)
        if not stream and working * len(source.triplets) > limit:
            raise _too_large(source, limit, working)
        return source
    refuse_options("these triplets are no file", reading)
    if is_collection(data):
        data = of_collection(data, n_items=n_items, memory_limit=memory_limit)
    if isinstance(data, TripletFile):
        if n_items not in (None, data.n_items):
            raise ValueError(f"n_items is {n_items}, but the triplets have {data.n_items} items")
        layout = FAST if isinstance(data, FastTriplets) else HANDLE
        return Source(data, data.path, layout, len(data), len(data), [])
    triplets = table_of(data, n_items=n_items)
    return Source(triplets, None, "memory", len(triplets), len(triplets), [])


def as_triplets(data: Any, *, n_items: int | None = None) -> Triplets:
    """Take triplets in any form that ordinate's functions accept, and bring them into memory.

    Parameters
    ----------
    data : Triplets, array-like of int (m, 3), DataFrame, Arrow table, TripletFile, or path
        A table must have the columns anchor, near and far. A path names a file of the fast layout,
        or a file or a folder of files of any layout that :func:`ordinate.readers.read` finds by
        itself; a warning repeats what it notes, such as dropped rows.
    n_items : int, optional
        The number of items, if some may occur in no row. Integers in tables and files are then
        ids ``0..n_items-1``.

    Returns
    -------
    Triplets
    """
    source = open_source(data, n_items=n_items, stream=False)
    source.warn(stacklevel=2)
    return source.load()


def over_labels(data: Any, items: np.ndarray) -> Triplets:
    """Return triplets over these items, in this order; what has no labels of its own holds ids."""
    known = isinstance(data, (Triplets, TripletFile, str, os.PathLike))
    if not (known or is_table(data) or is_collection(data)):
        return Triplets(data, items=items)
    triplets = as_triplets(data)
    if np.array_equal(triplets.items, items):
        return triplets
    if triplets._items is None:
        return Triplets(triplets.rows, items=items, weight=triplets.weight)
    rows = places(triplets.items.tolist(), items.tolist())[triplets.rows]
    unknown = np.unique(triplets.rows[rows < 0])
    if len(unknown):
        raise ValueError(
            f"{(rows < 0).any(axis=1).sum():,} triplets name {len(unknown):,} items that are not "
            f"among the {len(items):,} of the fit: {some(triplets.items[unknown])}"
        )
    return Triplets(rows, items=items, weight=triplets.weight)


def answered(X: Any, triplets: Any, y: Any) -> Any:
    """Return the triplets that X became, answered as ``y`` says; None means as they stand.

    The rows of a file may come in another order, or not all: nobody can say what belongs to which.
    """
    if y is None:
        return triplets
    if isinstance(X, (str, os.PathLike, TripletFile)) or is_collection(X):
        raise ValueError(
            "y goes with rows in memory, and X is a file or on a cluster, whose rows may be "
            "dropped or sorted as they are read: leave y out if the file says what was nearer, or "
            "read it first, with ordinate.readers.read(path).triplets, and give y for the "
            "rows that came out"
        )
    return triplets.answered(y)


class Grown(NamedTuple):
    """Triplets that may name items beyond those of a map.

    Attributes
    ----------
    triplets : Triplets
        Over the items of the map, in their order, and after them those that are new, in the order
        in which the rows first name them.
    labels : ndarray, shape (k,)
        What the rows are about: the items of the input, in its own order.
    places : ndarray of int64, shape (k,)
        Where each of these is among ``triplets.items``; -1 for what is new and in no row.
    """

    triplets: Triplets
    labels: np.ndarray
    places: np.ndarray


def beyond_labels(data: Any, items: np.ndarray) -> Grown:
    """Return triplets over these items and new ones; what has no labels of its own holds ids."""
    triplets, n = as_triplets(data), len(items)
    if triplets._items is None:
        own = np.arange(max(triplets.n_items, n))
        if len(own) > n and not np.array_equal(items, np.arange(n)):
            raise ValueError(
                f"ids reach {triplets.n_items - 1:,}, but the map's {n:,} items have labels, as "
                f"{some(items, 2)}: give new items labels too, as in "
                "Triplets.from_columns(anchor, near, far)"
            )
        labels = own_labels = items if len(own) == n else own
        codes = own
        _warn_of_ids(items, stacklevel=4)
    else:
        own_labels = triplets.items
        codes = places(own_labels.tolist(), items.tolist())
        unknown = triplets.rows[codes[triplets.rows] < 0]
        found, first = np.unique(unknown, return_index=True)
        new = found[np.argsort(first)]
        codes[new] = n + np.arange(len(new))
        labels = label_array([*items.tolist(), *own_labels[new].tolist()])
    who = triplets.participant
    grown = Triplets(
        codes[triplets.rows],
        items=labels,
        answer=triplets.answer,
        participant=None if who is None else np.asarray(triplets.participant_labels)[who],
        weight=triplets.weight,
        source=None if triplets.source is None else source_words(triplets.source),
    )
    return Grown(grown, own_labels, codes)


def _warn_of_ids(items: np.ndarray, stacklevel: int) -> None:
    """Say what ids are taken for, where the map has labels: they may have been meant as such."""
    if not np.array_equal(items, np.arange(len(items))):
        warnings.warn(
            f"these rows have no labels, and the map's {len(items):,} items have: they are taken "
            f"for positions, so that 0 is {some(items[:1])}. Labels can be given as "
            "Triplets.from_columns(anchor, near, far)",
            UserWarning,
            stacklevel=stacklevel,
        )


def _of_path(
    path: Path,
    n_items: int | None,
    memory_limit: Any,
    stream: bool,
    working: int,
    reading: dict[str, Any],
) -> Source:
    limit = memory_size(memory_limit)  # what is no size is an error, whatever the file
    grouped = open_grouped(path) if path.is_file() or path.is_dir() else None
    if grouped is not None:
        refuse_options(f"{path} {IS_FAST}", reading)
        stored = fast_triplets(grouped, n_items, limit)
        refuse_small_limit(path, limit, stored.fitting_bytes)
        return Source(stored, path, FAST, len(stored), len(stored), [])
    how = how_to_read(**reading)
    blocks = _too_large_to_read(path, how, memory_limit)
    if blocks is None:
        with nullcontext() if memory_limit is None else frugal():
            found = read(path, **reading)
        source = _source_of(found, path)
        triplets = _with_items(found.triplets, path, n_items)
        return source._replace(triplets=triplets, read_sha256=found.sha256, groups=found.groups)
    streamed = read_in_blocks(path, blocks, how, limit, n_items)
    source = _source_of(streamed, path)
    if source.stored is None:
        return source._replace(triplets=source.load(), read_sha256=source.sha256)
    if not stream:
        raise _too_large(source, limit, working)
    n_bytes = sum(file.stat().st_size for file in streamed.folder.iterdir())
    if not n_bytes:
        return source
    note = (
        f"too many triplets for the memory limit: {in_words(n_bytes)} of {streamed.folder.parent} "
        "hold them while they are used"
    )
    return source._replace(notes=[*source.notes, note])


def _source_of(found: Reading | Streamed, path: Path) -> Source:
    return Source(found.triplets, path, found.layout, found.n_rows, found.n_used, found.notes)


def open_in_blocks(
    path: Path, *, n_items: int | None = None, memory_limit: Any = None, **reading: Any
) -> Source:
    """Read a file block by block, whatever its size, and leave its triplets in files."""
    try:
        blocks = open_blocks(path)
    except Exception:  # decoders raise errors of many kinds at broken files
        read(path, **reading)  # which knows what to say
        raise
    found = read_in_blocks(path, blocks, how_to_read(**reading), memory_size(memory_limit), n_items)
    return _source_of(found, path)


def _too_large_to_read(path: Path, how: How, memory_limit: Any) -> Blocks | None:
    """Return the blocks of a file that takes more memory than there is; None for all else.

    What cannot be opened is left to the readers, who know what to say.
    """
    if not (path.is_file() or path.is_dir()):
        return None  # what comes through a pipe comes once
    try:
        blocks = open_blocks(path)
    except Exception:  # decoders raise errors of many kinds at broken files
        return None
    if blocks.needed <= memory_size(memory_limit):
        return None
    if (blocks.tables is None or how.table is not None) and memory_limit is None:
        # Half of the memory is a guess at what others need: all that is free is worth a try.
        return None if blocks.needed <= available_memory() else blocks
    return blocks


def _with_items(triplets: Triplets, path: Path, n_items: int | None) -> Triplets:
    """Take the labels of a file for ids, if there are more of these than were named."""
    if n_items in (None, triplets.n_items):
        return triplets
    refuse_other_count(path, triplets.items, triplets.n_items, n_items)
    return Triplets.from_frame(triplets.to_arrow(), n_items=n_items)


def _too_large(source: Source, limit: int, working: int = 0) -> MemoryError:
    found = source.triplets
    loaded = 0 if isinstance(found, Triplets) else found.fitting_bytes
    enough = f"{-(-max(loaded, working * len(found)) // MIB)}MiB"
    return MemoryError(
        Message(
            f"{source.path} has {len(found):,} rows, too many for a memory limit of "
            f"{in_words(limit)}, and all are needed at once here. Allow more, as in ",
            Option("memory_limit", enough),
            ", or take fewer rows; most fits, and conversion to the fast layout, take them block "
            "by block",
        )
    )
