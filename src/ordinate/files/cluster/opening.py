"""Opening triplets on a cluster: collections of Dask, folders of Parquet files, the fast layout."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ordinate._base.cluster import Cluster, Delayed
from ordinate._base.messages import some
from ordinate._base.optional import require
from ordinate._base.threads import blocks
from ordinate.data.columns import COLUMNS
from ordinate.data.labels import label_array, sorted_labels
from ordinate.data.rows import count_items
from ordinate.files.cluster import partitions
from ordinate.files.cluster.handle import Layout, PartitionedTriplets
from ordinate.files.cluster.partitions import RowGroups, Stretch
from ordinate.files.formats.errors import ReadError
from ordinate.files.ondisk.files import reading
from ordinate.files.ondisk.grouped import GroupedFile, open_grouped

MANY = 64  # partitions of a file that has rows enough
SMALLEST, LARGEST = 1 << 16, 1 << 25  # rows of such a partition
BESIDE = 8  # rows for each item: sums of a pass are as many as coordinates, for every partition
TOGETHER = 1 << 22  # rows up to which row groups make one partition


def is_collection(data: Any) -> bool:
    """Tell whether data are an array or a dataframe of Dask."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "npartitions")


def of_collection(
    data: Any, *, n_items: int | None = None, client: Any = None, memory_limit: Any = None
) -> PartitionedTriplets:
    """Take an array (m, 3) of ids, or a dataframe with the columns anchor, near and far."""
    cluster = Cluster(client)
    if hasattr(data, "columns"):
        refuse_missing(list(data.columns), "a dataframe of triplets")
        weighted = "weight" in data.columns
        names = [*COLUMNS, "weight"] if weighted else list(COLUMNS)
        tell_of_left_out("the dataframe", [name for name in data.columns if name not in names])
        tables = data[names].to_delayed()
    else:
        if data.ndim != 2 or data.shape[1] != 3:
            raise ValueError(
                f"triplets must be an array of shape (m, 3), rows (anchor, near, far); got shape "
                f"{data.shape}"
            )
        weighted, tables = False, data.rechunk({1: 3}).to_delayed().ravel().tolist()
    where = [f"partition {p} of {len(tables)}" for p in range(len(tables))]
    are_ids = not hasattr(data, "columns") or n_items is not None
    path = Path(f"the {type(data).__name__} of Dask")
    return _partitioned(cluster, path, tables, where, are_ids, weighted, n_items, memory_limit)


def open_on_cluster(
    path: str, client: Any, n_items: int | None = None, memory_limit: Any = None
) -> PartitionedTriplets:
    """Open the fast layout, or a Parquet file or a folder of them, for the workers of a cluster.

    Parameters
    ----------
    path : str
        All workers must see the same files there; any that fsspec reads, for Parquet files with the
        columns anchor, near and far.
    client : distributed.Client
    n_items : int, optional
    memory_limit : int, str or None
        Of this process.
    """
    cluster = Cluster(client)
    grouped = open_grouped(Path(path)) if "://" not in path else None
    if grouped is not None:
        tell_of_left_out(path, [name for name in grouped.about.columns if name != "weight"])
        return _of_grouped(cluster, grouped, n_items, memory_limit)
    groups, weighted = _row_groups(path)
    tables = [cluster.call(partitions.read_groups, each) for each in groups]
    where = list(map(str, groups))
    are_ids = n_items is not None
    return _partitioned(
        cluster, Path(path), tables, where, are_ids, weighted, n_items, memory_limit
    )


def _of_grouped(
    cluster: Cluster, file: GroupedFile, n_items: int | None, memory_limit: Any
) -> PartitionedTriplets:
    about = file.about
    if n_items not in (None, about.n_items):
        raise ValueError(f"n_items is {n_items}, but {file.path} has {about.n_items} items")
    file.path = file.path.resolve()  # workers have folders of their own
    least = max(SMALLEST, BESIDE * about.n_items)
    cuts = blocks(len(file), min(max(-(-len(file) // MANY), least), LARGEST))
    parts = [cluster.call(partitions.read_triplets, Stretch.of(file, cut)) for cut in cuts]
    items = None if about.labels is None else label_array(about.labels)
    layout = Layout(
        np.array([cut.stop - cut.start for cut in cuts]),
        about.n_items,
        items,
        "weight" in about.types,
    )
    by_anchor = file if about.order == "anchor" else None
    return PartitionedTriplets(cluster, file.path, parts, layout, memory_limit, by_anchor)


def _row_groups(path: str) -> tuple[list[RowGroups], bool]:
    """Find the row groups of all Parquet files, and whether they have weights."""
    import pyarrow.parquet as pq

    fsspec = require("fsspec", extra="dask")
    system, root = fsspec.core.url_to_fs(path)
    if not system.exists(root):
        raise FileNotFoundError(f"{path} is not there")
    files = [root] if system.isfile(root) else sorted(system.find(root))
    files = [file for file in files if file.lower().endswith((".parquet", ".pq"))]
    if not files:
        raise ReadError(
            f"{path} holds no Parquet files: a cluster takes those, with the columns anchor, near "
            "and far, and the fast layout, which `ordinate convert --fast` makes of any other file"
        )
    found: list[RowGroups] = []
    kinds: dict[str, str] = {}
    weighted: dict[bool, str] = {}
    others: dict[str, None] = {}
    for file in files:
        with reading(Path(file)), system.open(file) as opened:
            metadata = pq.ParquetFile(opened).metadata
            schema, seal = metadata.schema.to_arrow_schema(), partitions.seal_of(opened)
        names = schema.names
        refuse_missing(names, file)
        for name in COLUMNS:
            kinds.setdefault(_kind(schema.field(name).type), f"{name} of {file}")
        weighted["weight" in names] = file
        columns = (*COLUMNS, "weight") if "weight" in names else COLUMNS
        others |= dict.fromkeys(name for name in names if name not in columns)
        url = system.unstrip_protocol(file)
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        found += [RowGroups(url, together, columns, seal) for together in _together(sizes)]
    if len(weighted) > 1:
        raise ReadError(f"{weighted[True]} has weights, and {weighted[False]} has none")
    kinds.pop("nothing", None)
    if len(kinds) > 1 or not kinds.keys() <= {"numbers", "text"}:
        held = "; ".join(f"{where} holds {kind}" for kind, where in kinds.items())
        raise ReadError(
            f"{path}: labels must be either text in all files and columns, or numbers: {held}"
        )
    tell_of_left_out(path, list(others))
    return found, True in weighted


def _kind(of_column: Any) -> str:
    """Say what labels a column of Arrow holds."""
    import pyarrow as pa

    if pa.types.is_dictionary(of_column):
        return _kind(of_column.value_type)
    if pa.types.is_integer(of_column) or pa.types.is_floating(of_column):
        return "numbers"
    if pa.types.is_null(of_column):
        return "nothing"
    kind = str(of_column)
    return "text" if kind in ("string", "large_string", "string_view") else kind


def _together(sizes: list[int]) -> list[tuple[int, ...]]:
    """Put consecutive row groups together, up to a number of rows."""
    found: list[list[int]] = []
    room = 0
    for group, size in enumerate(sizes):
        if not found or size > room:
            found.append([])
            room = TOGETHER
        found[-1].append(group)
        room -= size
    return [tuple(groups) for groups in found]


def _partitioned(
    cluster: Cluster,
    path: Path,
    tables: list[Delayed],
    where: list[str],
    are_ids: bool,
    weighted: bool,
    n_items: int | None,
    memory_limit: Any,
) -> PartitionedTriplets:
    """Count rows and items, and let workers give ids to labels: both are done once."""
    call = cluster.call
    sizes = [call(partitions.size_of, table) for table in tables]
    items, shared = None, None
    if not tables:
        n_rows, n_items = [], 0
    elif not are_ids:
        each = [call(partitions.labels_of, *part) for part in zip(tables, where, strict=True)]
        labels, *n_rows = cluster.results(
            [cluster.in_tree(partitions.either, each), *sizes], "finding the items"
        )
        items = sorted_labels([labels.tolist()])
        n_items, shared = len(items), cluster.share(items)
    elif n_items is None:
        each = [call(partitions.largest_of, *part) for part in zip(tables, where, strict=True)]
        found = cluster.results([*each, *sizes], "finding the items")
        largest, n_rows = found[: len(tables)], found[len(tables) :]
        n_items = count_items(max(largest), sum(n_rows))
    else:
        n_rows = cluster.results(sizes, "counting")
    if not sum(n_rows):
        raise ValueError(f"{path}: there are no triplets")
    some_rows = [p for p, n in enumerate(n_rows) if n]
    parts = [call(partitions.coded, tables[p], where[p], shared, n_items) for p in some_rows]
    layout = Layout(np.array(n_rows)[some_rows], n_items, items, weighted)
    return PartitionedTriplets(cluster, path, parts, layout, memory_limit)


def tell_of_left_out(what: str, columns: list[str]) -> None:
    """Warn of columns that are not read: some say which rows are no answers, or whose they are."""
    if columns:
        warnings.warn(
            f"{what}: on a cluster each row counts as an answer of its own, and what else is known "
            f"of it is left out: {some(columns)}",
            UserWarning,
            stacklevel=4,
        )


def refuse_missing(names: list[str], what: str) -> None:
    """Raise if a table lacks columns of triplets."""
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ReadError(
            f"{what} needs the columns anchor, near and far; {some(missing)} are missing among "
            f"{some(names)}: rename the columns if they mean that, or let `ordinate convert "
            "--fast` read the file, which knows other layouts"
        )
