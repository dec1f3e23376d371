"""Triplets in files that may be larger than memory: opening, converting and writing them.

The fast layout, which :func:`convert` and :func:`write` make, is described in
:mod:`ordinate.ondisk.grouped`; docs/large.md says when it pays.
"""

import os
import tempfile
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ordinate._base.checks import check_choice
from ordinate._base.memory import in_words, memory_size
from ordinate._base.messages import Message, Option
from ordinate._base.threads import ahead
from ordinate.data.triplets import Triplets, table_of
from ordinate.files.formats.errors import ReadError
from ordinate.files.ondisk.grouped import open_grouped
from ordinate.files.ondisk.handles import TripletFile
from ordinate.files.ondisk.layout import COLUMNS, ORDERS
from ordinate.files.ondisk.sorting import (
    Rows,
    Whole,
    read_spool,
    record_type,
    sort_by_anchor,
    sort_by_answer,
    until_out_of_order,
    write_spool,
)
from ordinate.files.ondisk.unsorted import all_rows, fast_triplets, regroup
from ordinate.files.ondisk.writing import whole_target, write_grouped

__all__ = ["TripletFile", "convert", "open_triplets", "write"]

PathLike = str | os.PathLike


def open_triplets(
    path: PathLike,
    *,
    n_items: int | None = None,
    memory_limit: int | str | None = None,
    client: Any = None,
) -> TripletFile:
    """Open a file of triplets without reading it into memory.

    Parameters
    ----------
    path : str or path
        What :func:`convert` or :func:`write` made; or a file that :func:`ordinate.readers.read`
        reads, of any layout: a text table, Parquet, Arrow or .npy, also a folder of Parquet files.
        It is read once, block by block, and its triplets are kept in a temporary folder. A warning
        repeats what is noted, such as dropped rows.
    n_items : int, optional
        Number of items: the file then holds ids from 0, some of which may occur in no row.
    memory_limit : int or str, optional
        Memory that a fit may use: bytes, or text such as "4GiB". By default half of what is free.
    client : distributed.Client, optional
        Of a cluster of Dask, whose workers read the fast layout, or a folder of Parquet files with
        the columns anchor, near and far, and run the passes. See docs/cluster.md.

    Returns
    -------
    TripletFile

    Examples
    --------
    >>> import tempfile
    >>> from ordinate import sample_points, sample_triplets, ondisk
    >>> folder = tempfile.TemporaryDirectory()
    >>> triplets = sample_triplets(sample_points(50, random_state=0), 1000, random_state=0)
    >>> ondisk.write([triplets], f"{folder.name}/answers")
    >>> ondisk.open_triplets(f"{folder.name}/answers")
    GroupedTriplets(1,000 rows, 50 items)
    >>> folder.cleanup()
    """
    if client is not None:
        from ordinate.files.cluster import open_on_cluster

        return open_on_cluster(os.fspath(path), client, n_items, memory_limit)
    # The readers know the fast layout, too.
    from ordinate.files.inputs import open_in_blocks
    from ordinate.files.streaming import refuse_small_limit

    grouped = open_grouped(Path(path))
    if grouped is not None:
        stored = fast_triplets(grouped, n_items, memory_limit)
        refuse_small_limit(Path(path), stored.memory_limit, stored.fitting_bytes)
        return stored

    try:
        source = open_in_blocks(Path(path), n_items=n_items, memory_limit=memory_limit)
    except ReadError as error:
        error.for_reader = True  # no options are given here
        raise
    source.warn(stacklevel=2)
    assert isinstance(source.triplets, TripletFile)
    return source.triplets


def convert(
    source: PathLike | TripletFile,
    target: PathLike,
    *,
    n_items: int | None = None,
    memory_limit: int | str | None = None,
    client: Any = None,
    order: str = "anchor",
    force: bool = False,
) -> None:
    r"""Turn a file into the fast layout: rows in order, as compact numbers with checksums.

    Parameters
    ----------
    source : path or TripletFile
        See :func:`open_triplets`, as for `n_items`, `memory_limit` and `client`. Of triplets on a
        cluster, workers write the folder, each a part of it.
    target : str or path
        A Parquet file if it ends in ``.parquet``; else a folder of arrays, which is read faster.
        Rows not yet in order need another 12 bytes each while they are sorted, and 8 for each of
        weight and answer, 4 for the participant.
    n_items : int, optional
    memory_limit : int or str, optional
    client : distributed.Client, optional
    order : {"anchor", "answer"}
        What rows are sorted by: their anchors, as LOE reads them; or the answers that they came
        from, so that how sure a map is can be told by answer as the file is streamed.
    force : bool
        Replace an existing target; a folder only if ordinate wrote everything in it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinate import ondisk
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name, "pets.csv")
    >>> _ = table.write_text("anchor,near,far\ndog,fox,fish\ncat,lynx,fish\n")
    >>> ondisk.convert(table, f"{folder.name}/pets")
    >>> ondisk.open_triplets(f"{folder.name}/pets").items.tolist()
    ['cat', 'dog', 'fish', 'fox', 'lynx']
    >>> folder.cleanup()
    """
    check_choice("order", order, ORDERS)
    if not isinstance(source, TripletFile):
        source = open_triplets(source, n_items=n_items, memory_limit=memory_limit, client=client)
    target = Path(target)
    if target.resolve() == source.path.resolve():
        raise ValueError(f"the target is the source itself, {source.path}: name another")
    from ordinate.files.cluster import PartitionedTriplets

    if isinstance(source, PartitionedTriplets):
        from ordinate.files.cluster.writing import refuse_target, write_on_cluster

        refuse_target(source, target, order)
        with whole_target(target, force) as new:
            write_on_cluster(source, new)
        return
    with whole_target(target, force) as new:
        regroup(source, new, order)


def write(
    pieces: Iterable[Any],
    target: PathLike,
    *,
    n_items: int | None = None,
    memory_limit: int | str | None = None,
    order: str = "anchor",
    force: bool = False,
) -> None:
    """Write triplets that come in pieces in the fast layout.

    Weights, answers and participants go along. Answers of different tables stay apart; slices of
    one table, one after the other, share theirs. Participants of one name are the same.

    Pieces in order are written as they come. From the first that is not, they go to a temporary
    file beside the target, which is then sorted.

    Parameters
    ----------
    pieces : iterable of Triplets or arrays (k, 3)
        For example :func:`ordinate.simulate.iter_triplets`. All over the same items, whose labels
        are texts or numbers.
    target : str or path
        See :func:`convert`.
    n_items : int, optional
        Needed for pieces that are arrays.
    memory_limit : int or str, optional
        For sorting and writing, besides the pieces; one that cannot be kept is refused.
    order : {"anchor", "answer"}
        See :func:`convert`.
    force : bool
        See :func:`convert`.

    Examples
    --------
    >>> import tempfile
    >>> from ordinate import simulate, ondisk
    >>> folder = tempfile.TemporaryDirectory()
    >>> points = simulate.sample_points(100, random_state=0)
    >>> ondisk.write(
    ...     simulate.iter_triplets(points, 5000, random_state=0), f"{folder.name}/set.parquet"
    ... )
    >>> len(ondisk.open_triplets(f"{folder.name}/set.parquet"))
    5000
    >>> folder.cleanup()
    """
    check_choice("order", order, ORDERS)
    target, limit = Path(target), memory_size(memory_limit)
    tables = _same_items(pieces, n_items)
    try:
        first = next(tables)
    except StopIteration:
        raise ValueError("there are no triplets to write") from None
    labels = None if first._items is None else first.items.tolist()
    columns = tuple(name for name in COLUMNS if getattr(first, name) is not None)
    participants: dict[Hashable, int] = {}
    whole = Whole.within(limit, first.n_items, labels, columns, participants, order=order)
    rest: list[Iterator[Rows]] = []
    with (
        whole_target(target, force) as new,
        tempfile.TemporaryDirectory(dir=new.parent) as folder,
    ):
        head, spool = Path(folder) / f"head{target.suffix}", Path(folder) / "rows"
        joined = _joined(chain([first], tables), participants)
        rows = ahead(_within(limit, joined, target, whole), 1)
        write_grouped(head, until_out_of_order(rows, rest, order), whole)
        if not rest:
            if new.is_dir():
                new.rmdir()
            head.rename(new)
            return
        # What was in order is read back.
        counts = write_spool(spool, chain(all_rows(open_triplets(head)), *rest), first.n_items)
        spooled = read_spool(spool, record_type(columns), whole.most_rows)
        if order == "anchor":
            in_order = sort_by_anchor(spooled, counts, Path(folder), whole)
        else:
            in_order = sort_by_answer(spooled, int(counts.sum()), Path(folder), whole)
        write_grouped(new, in_order, whole)


def _within(limit: int, blocks: Iterable[Rows], target: Path, whole: Whole) -> Iterator[Rows]:
    """Yield blocks, and raise as soon as they are too many for a limit that cannot be kept.

    It can be from the least one of files on, or where it has room for all rows.
    """
    from ordinate.files.streaming import least_limit

    n_rows, row_bytes = 0, record_type(whole.columns).itemsize
    for rows, columns in blocks:
        n_rows += len(rows)
        held = whole.label_bytes
        least = least_limit(held)
        if limit < min(least, 4 * row_bytes * n_rows + held):
            raise MemoryError(
                Message(
                    f"{target}: a memory limit of {in_words(limit)} cannot be kept, since there "
                    f"are {n_rows:,} rows or more. It takes {in_words(least)} to write any number "
                    "of them: allow that much, as in ",
                    Option("memory_limit", f"{-(-least >> 20)}MiB"),
                )
            )
        yield rows, columns


def _same_items(pieces: Iterable[Any], n_items: int | None) -> Iterator[Triplets]:
    """Yield pieces as tables over the same items, or raise."""
    first: Triplets | None = None
    for piece in pieces:
        if not isinstance(piece, Triplets) and n_items is None:
            raise ValueError("arrays of ids need n_items, the number of items of the whole set")
        table = table_of(piece, n_items=n_items)
        first = first or table
        same_columns = all(
            (getattr(table, name) is None) == (getattr(first, name) is None) for name in COLUMNS
        )
        same_labels = table._items is first._items or np.array_equal(table.items, first.items)
        if not same_columns or table.n_items != first.n_items or not same_labels:
            raise ValueError(
                "all pieces must be over the same items, and all or none with weights, answers and "
                "participants: give all labels, or n_items, to each"
            )
        yield table


def _joined(tables: Iterable[Triplets], participants: dict[Hashable, int]) -> Iterator[Rows]:
    """Yield rows and columns; answers of different tables stay apart, participants are numbered.

    Slices of one table have its answers, which may begin in one and end in the next.
    """
    origin, first_answer, n_answers = None, 0, 0
    for table in tables:
        columns = {}
        if table.weight is not None:
            columns["weight"] = table.weight
        if table.answer is not None:
            if table._origin is not origin:
                origin, first_answer = table._origin, n_answers
            columns["answer"] = table.answer + first_answer
            n_answers = max(n_answers, int(columns["answer"].max()) + 1)
        if table.participant is not None and table.participant_labels is not None:
            labels = table.participant_labels.tolist()
            codes = [participants.setdefault(label, len(participants)) for label in labels]
            columns["participant"] = np.array(codes, np.int32)[table.participant]
        yield table.rows, columns
