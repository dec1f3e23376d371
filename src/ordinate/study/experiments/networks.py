"""Networks: maps of graphs from noisy comparisons of shortest paths to landmarks."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from ordinate.data.simulate import Power
from ordinate.estimators import LOE, STE
from ordinate.evaluation.metrics import align
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
from ordinate.study.experiments._massive import Makers, ask_landmarks, maps_of, wrong_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C, D, LANDMARKS, SOURCES = 20, 2, 24, 50
PEOPLE = Power(power=0.5, slope=1.0, lapse=0.02)  # they compare numbers of steps
DRAWN = 20_000  # nodes on a drawn map


def cells(scale: str) -> list[Cell]:
    """Generated graphs of growing size; one that ``--data`` names takes the place of the first."""
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
    """Time and wrong orders of LOE, LOE finished, and landmark MDS with the true distances."""
    from scipy.sparse.csgraph import dijkstra

    seed = cell["trial"]
    real = data if cell["given"] else None
    graph = load_graph(real) if real else generated(cell["n"], seed)
    n = graph.shape[0]
    rng = np.random.default_rng(seed)
    landmarks, sources = (
        np.sort(rng.choice(n, min(k, n // 4), replace=False)) for k in (LANDMARKS, SOURCES)
    )

    def steps(nodes: np.ndarray) -> np.ndarray:
        return dijkstra(graph, unweighted=True, indices=nodes).astype(np.float32)

    columns, far = steps(landmarks), steps(sources)
    m = n_log_n(n, C)
    answers = ask_landmarks(columns**2, landmarks, m, PEOPLE, seed)
    makers: Makers = {
        "landmark MDS": lambda: landmark_mds(columns, landmarks, D),
        "LOE": LOE(D),
        "LOE, finished": STE(D, init="loe"),
    }
    rows: list[Row] = []
    for row, found in maps_of(makers, answers, D):
        name = row["method"]
        row |= {**cell, "graph": real.name if real else "generated"}
        row |= {"nodes": n, "edges": graph.nnz // 2}
        row["wrong"] = wrong_order(found, sources, far, seed)
        rows.append(row)
        if name == "landmark MDS":
            first, drawn = found, rng.choice(n, min(n, DRAWN), replace=False)
        if name != "LOE, finished":
            shown = align(found, first, scale=True)[drawn].tolist()
            rows += [
                {
                    "kind": "place",
                    "n": cell["n"],
                    "method": name,
                    "x": x,
                    "y": y,
                    "steps": int(far[0, k]),
                }
                for k, (x, y) in zip(drawn, shown, strict=True)
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
    numbers = list(dict.fromkeys(r["n"] for r in rows))
    shown = ("LOE", "landmark MDS")
    made, axes = figure(len(numbers) * len(shown), columns=len(shown))
    made.set_size_inches(4.2 * len(shown), 4.2 * len(numbers))
    ends = {(r["n"], r["method"]): r for r in of_kind(rows, "end")}
    for panel, (n, name) in zip(axes, ((n, name) for n in numbers for name in shown), strict=True):
        places = [r for r in of_kind(rows, "place") if (r["n"], r["method"]) == (n, name)]
        end = ends[n, name]
        part = f", {len(places):,} drawn" if len(places) < end["nodes"] else ""
        panel.scatter(
            [r["x"] for r in places],
            [r["y"] for r in places],
            c=[r["steps"] for r in places],
            s=min(8.0, 20_000 / len(places)),
            cmap="viridis",
            linewidths=0,
            rasterized=True,
        )
        panel.set_title(f"{name}: {end['graph']}, {end['nodes']:,} nodes{part}", size=8)
        panel.set_aspect("equal")
        panel.set(xticks=[], yticks=[])
    return made


def judge(rows: list[Row]) -> list[Verdict]:
    """LOE from noisy comparisons against scaling of the true distances."""
    ends = of_kind(rows, "end")
    verdicts = []
    for n in dict.fromkeys(r["n"] for r in ends):
        at = {r["method"]: r for r in ends if r["n"] == n}
        bound, ours = at["landmark MDS"], at["LOE"]
        told = "; ".join(
            f"{name} {r['wrong']:.1%} wrong, {r['seconds']:.1f} s" for name, r in at.items()
        )
        verdicts.append(
            Verdict(
                f"{ours['graph']}, {ours['nodes']:,} nodes, {ours['edges']:,} edges: noisy "
                "comparisons order pairs almost as well as the true distances do",
                f"{told}; peak {max(r['peak_gib'] for r in at.values()):.1f} GiB",
                ours["wrong"] < bound["wrong"] + 0.03,
            )
        )
    return verdicts


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
    triplets=lambda cell: 2.0 * n_log_n(cell["n"], C),
)
