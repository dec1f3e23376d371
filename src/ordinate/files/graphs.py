"""Graphs from files: graph-tool's binary format, lists of edges, Matrix Market."""

import gzip
import os
from pathlib import Path

import numpy as np
from scipy.io import mmread
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ordinate.files.local import BROKEN, existing
from ordinate.files.readers import ReadError

GT_MAGIC = b"\xe2\x9b\xbe gt\x01"


def load_graph(path: str | os.PathLike) -> csr_array:
    r"""Load the largest connected part of a graph, its edges without direction or weight.

    Parameters
    ----------
    path : str or path
        A file of graph-tool (``.gt``), of Matrix Market (``.mtx``), or a list of edges, two node
        numbers on each line and comments behind ``#`` or ``%`` (SNAP, KONECT), each also in gzip.
        Debian's ``python3-graph-tool`` has graphs of up to 40,000 nodes in
        ``graph_tool/collection``.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)
        Symmetric, with ones.

    Raises
    ------
    ordinate.readers.ReadError
        The file does not hold a graph.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinate import datasets
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "edges.txt"
    >>> _ = path.write_text("# a path of four nodes, and two others\n0 1\n1 2\n2 3\n8 9\n")
    >>> datasets.load_graph(path).shape
    (4, 4)
    """
    file = existing(path)
    try:
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        name = file.name.removesuffix(".gz")
        if content.startswith(GT_MAGIC):
            edges = _graph_tool(content)
        elif name.endswith(".mtx"):
            edges = _matrix_market(file)
        else:
            edges = _edge_list(content)
        return largest_part(edges)
    except (*BROKEN, IndexError, MemoryError) as error:
        raise ReadError(f"{file} cannot be read as a graph: {error}") from error


def largest_part(edges: np.ndarray) -> csr_array:
    """The largest connected part of a graph, given as rows (from, to)."""
    nodes, ends = np.unique(edges, return_inverse=True)
    ends = ends.reshape(-1, 2)
    ends = ends[ends[:, 0] != ends[:, 1]]
    if not len(ends):
        raise ValueError("it has no edges between different nodes")
    both = np.concatenate([ends, ends[:, ::-1]])
    graph = coo_array((np.ones(len(both), np.int8), both.T), shape=(len(nodes),) * 2).tocsr()
    graph.data[:] = 1  # an edge that is named twice is one edge
    _, part = connected_components(graph, directed=False)
    inside = np.flatnonzero(part == np.bincount(part).argmax())
    return graph[inside][:, inside]


def _graph_tool(content: bytes) -> np.ndarray:
    """Edges of a .gt file: a header, then each node's degree and its neighbours."""
    order = ">" if content[len(GT_MAGIC)] else "<"
    at = len(GT_MAGIC) + 1
    length = int(np.frombuffer(content, f"{order}u8", 1, at)[0])
    at += 8 + length + 1  # the comment, and whether edges have a direction
    n = int(np.frombuffer(content, f"{order}u8", 1, at)[0])
    at += 8
    width = next(size for size in (1, 2, 4, 8) if n <= 1 << (8 * size))
    edges = []
    for node in range(n):
        degree = int(np.frombuffer(content, f"{order}u8", 1, at)[0])
        neighbours = np.frombuffer(content, f"{order}u{width}", degree, at + 8)
        edges.append(np.column_stack([np.full(degree, node), neighbours.astype(np.int64)]))
        at += 8 + degree * width
    return np.concatenate(edges)


def _matrix_market(file: Path) -> np.ndarray:
    found = coo_array(mmread(file))
    return np.column_stack([found.row, found.col])


def _edge_list(content: bytes) -> np.ndarray:
    lines = [
        line
        for line in content.splitlines()
        if line.strip() and not line.lstrip().startswith((b"#", b"%"))
    ]
    try:
        return np.array([line.replace(b",", b" ").split()[:2] for line in lines], np.int64)
    except ValueError as error:
        raise ValueError(f"two node numbers are expected on each line ({error})") from error
