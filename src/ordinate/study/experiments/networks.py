"""Networks: maps of graphs from noisy comparisons of shortest paths to landmarks."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from ordinate.data.simulate import Power
from ordinate.estimators import LOE, STE
from ordinate.evaluation.metrics import align
from ordinate.files.formats.errors import ReadError
from ordinate.files.graphs import largest_part, load_graph
from ordinate.study.experiments._frame import (
    PASSES,
    Cell,
    Experiment,
    Row,
    Verdict,
    figure,
    n_log_n,
    of_kind,
)
from ordinate.study.experiments._massive import (
    STEPS,
    Makers,
    ask_landmarks,
    frame,
    maps_of,
    table,
    wrong_order,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

C, D, LANDMARKS, SOURCES = 20, 2, 24, 50
LEAST = 20  # nodes, of which a quarter are landmarks
PEOPLE = Power(power=0.5, slope=1.0, lapse=0.02)  # they compare numbers of steps
DRAWN, LINKED = 20_000, 10_000  # nodes on a drawn map; and on one with its edges
SHOWN = ("LOE", "landmark MDS")


def cells(scale: str) -> list[Cell]:
    """Generated graphs of growing size; those that ``--data`` names take the place of the first."""
    numbers = {"quick": [2000, 10_000], "paper": [10_000, 100_000, 1_000_000]}[scale]
    return [{"n": n, "given": n == numbers[0], "trial": 0} for n in numbers]


def generated(n: int, seed: int) -> csr_array:
    """A random geometric graph: nodes in a square with a hole, linked to those close by."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    nodes = rng.random((int(n / 0.8), 2))
    nodes = nodes[np.linalg.norm(nodes - 0.5, axis=1) > 0.25][:n]
    reach = np.sqrt(10 / (np.pi * len(nodes) / 0.8))  # ten neighbours on average
    return largest_part(cKDTree(nodes).query_pairs(reach, output_type="ndarray"))


def measure(cell: Cell, data: Path | None) -> list[Row]:
    """Time and wrong orders of every graph of the cell."""
    if data is None or not cell["given"]:
        return compare(generated(cell["n"], cell["trial"]), {**cell, "graph": "generated"})
    files = sorted(f for f in data.iterdir() if f.is_file()) if data.is_dir() else [data]
    stems = [file.name.removesuffix(".gz").rsplit(".", 1)[0] for file in files]
    named: dict[str, csr_array] = {}
    for file, stem in zip(files, stems, strict=True):
        graph = load_graph(file)
        if graph.shape[0] < LEAST:
            raise ReadError(
                f"{file}: {graph.shape[0]} nodes are connected, and a map takes {LEAST} or more"
            )
        named[stem if stems.count(stem) == 1 else file.name] = graph
    by_size = sorted(named.items(), key=lambda item: item[1].shape[0])
    return [row for name, graph in by_size for row in compare(graph, {**cell, "graph": name})]


def compare(graph: csr_array, about: Row) -> list[Row]:
    """LOE, LOE finished, and landmark MDS with the true distances; places and edges to draw."""
    from scipy.sparse.csgraph import dijkstra

    n, seed, device = graph.shape[0], about["trial"], about.get("device")
    rng = np.random.default_rng(seed)
    landmarks, sources = (
        np.sort(rng.choice(n, min(k, n // 4), replace=False)) for k in (LANDMARKS, SOURCES)
    )

    def steps(nodes: np.ndarray) -> np.ndarray:
        return dijkstra(graph, unweighted=True, indices=nodes).astype(np.float32)

    columns, far = steps(landmarks), steps(sources)
    answers = ask_landmarks(columns**2, landmarks, n_log_n(n, C), PEOPLE, seed)
    makers: Makers = {
        "landmark MDS": lambda: landmark_mds(columns, landmarks, D),
        "LOE": LOE(D, device=device),
        "LOE, finished": STE(D, device=device, init="loe", max_iter=STEPS),
    }
    about = {**about, "nodes": n, "edges": graph.nnz // 2}
    rows: list[Row] = []
    drawn = rng.choice(n, min(n, DRAWN), replace=False)
    for row, found in maps_of(makers, answers, D):
        row |= {**about, "wrong": wrong_order(found, sources, far, seed)}
        rows.append(row)
        if row["method"] == "landmark MDS":
            first = found
        if row["method"] in SHOWN:
            shown = align(found, first, scale=True)[drawn].tolist()
            place = {"kind": "place", "graph": about["graph"], "nodes": n, "method": row["method"]}
            rows += [
                {**place, "x": x, "y": y, "steps": int(far[0, k])}
                for k, (x, y) in zip(drawn.tolist(), shown, strict=True)
            ]
    if n <= LINKED:
        order = np.argsort(drawn)  # the place of each node among the rows
        ends = graph.tocoo()
        rows += [
            {"kind": "edge", "graph": about["graph"], "nodes": n, "from": int(a), "to": int(b)}
            for a, b in zip(order[ends.row], order[ends.col], strict=True)
            if a < b
        ]
    return rows


def landmark_mds(columns: np.ndarray, landmarks: np.ndarray, d: int) -> np.ndarray:
    """Classical scaling of landmarks, all others by triangulation (de Silva, Tenenbaum 2004)."""
    E = columns[:, landmarks].astype(float) ** 2
    centred = -0.5 * (E - E.mean(axis=0) - E.mean(axis=1)[:, None] + E.mean())
    values, axes = np.linalg.eigh(centred)
    values, axes = values[::-1][:d], axes[:, ::-1][:, :d]
    return -0.5 * (columns.T.astype(float) ** 2 - E.mean(axis=0)) @ (axes / np.sqrt(values))


def draw(rows: list[Row]) -> "Figure":
    """The maps of each graph, coloured by the steps from one node."""
    ends = {(r["graph"], r["nodes"], r["method"]): r for r in of_kind(rows, "end")}
    graphs = list(dict.fromkeys((graph, nodes) for graph, nodes, _ in ends))
    places, edges = by_graph(rows, "place", "method"), by_graph(rows, "edge")
    wide = 2 if len(graphs) > 3 else 1  # pairs of maps side by side
    made, axes = figure(len(graphs) * len(SHOWN), columns=wide * len(SHOWN))
    made.set_size_inches(3.3 * wide * len(SHOWN), 3.5 * -(-len(graphs) // wide))
    for panel, (graph, name) in zip(axes, ((g, m) for g in graphs for m in SHOWN), strict=True):
        end, shown = ends[*graph, name], places[*graph, name]
        at = np.array([(r["x"], r["y"]) for r in shown])
        if graph in edges:
            draw_edges(panel, at, edges[graph])
        panel.scatter(
            *at.T,
            c=[r["steps"] for r in shown],
            s=min(8.0, 20_000 / len(shown)),
            cmap="viridis",
            linewidths=0,
            rasterized=True,
        )
        told = [f"{len(shown):,} drawn"] if len(shown) < end["nodes"] else []
        told += frame(panel, at)
        head = f"{name}: {end['graph']}\n{end['nodes']:,} nodes, {end['wrong']:.1%} wrong\n"
        panel.set_title(head + "; ".join(told), size=8)
    return made


def by_graph(rows: list[Row], kind: str, *further: str) -> dict[tuple, list[Row]]:
    """Rows of a kind by graph, and by further columns."""
    found: dict[tuple, list[Row]] = {}
    for row in of_kind(rows, kind):
        key = (row["graph"], row["nodes"], *(row[name] for name in further))
        found.setdefault(key, []).append(row)
    return found


def draw_edges(panel: "Axes", at: np.ndarray, edges: list[Row]) -> None:
    """Draw the edges between places, below them."""
    from matplotlib.collections import LineCollection

    pairs = at[[(r["from"], r["to"]) for r in edges]]
    panel.add_collection(
        LineCollection(pairs, colors="#BBBBBB", linewidths=0.3, zorder=0, rasterized=True)
    )


def judge(rows: list[Row]) -> list[Verdict]:
    """LOE from noisy comparisons against scaling of the true distances."""
    verdicts = []
    for found in by_graph(rows, "end").values():
        at = {r["method"]: r for r in found}
        bound, ours = at["landmark MDS"], at["LOE"]
        verdicts.append(
            Verdict(
                f"{ours['graph']}, {ours['nodes']:,} nodes: noisy comparisons order pairs almost "
                "as well as the true distances do",
                f"{ours['wrong']:.1%} are in the wrong order, by the true distances "
                f"{bound['wrong']:.1%}",
                ours["wrong"] < bound["wrong"] + 0.03,
            )
        )
    return verdicts


def results(rows: list[Row]) -> list[list[str]]:
    """Every method with every graph."""
    return table(
        of_kind(rows, "end"),
        {
            "graph": lambda r: r["graph"],
            "nodes": lambda r: f"{r['nodes']:,}",
            "edges": lambda r: f"{r['edges']:,}",
        },
        {"pairs in the wrong order": "wrong"},
    )


EXPERIMENT = Experiment(
    "networks",
    "Networks",
    "Shortest paths of a graph to 24 landmarks, by one search from each; 20 n log n noisy answers "
    "about them; d = 2. The paper names such data as future work; we hold LOE against classical "
    "landmark scaling of the true distances.",
    cells,
    measure,
    draw,
    judge,
    passes=lambda cell: 1.0 * PASSES * n_log_n(cell["n"], C),
    triplets=lambda cell: 4.0 * n_log_n(cell["n"], C),
    table=results,
    on_device=True,
)
