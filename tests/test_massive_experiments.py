"""What experiments with massive data show: memory, known words, graphs of a folder, kinds of clothes, their pages."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from ordinate import LOE, sample_points
from ordinate.cli import app
from ordinate.files.formats.errors import ReadError
from ordinate.study.experiments import EXPERIMENTS, clothes, networks, words
from ordinate.study.experiments._frame import page, picture, write_rows
from ordinate.study.experiments._known_words import KNOWN
from ordinate.study.experiments._massive import table, watched_memory

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "results_page.py"


def test_memory_is_watched_while_it_is_taken():
    with watched_memory(pause=0.001) as seen:
        taken = np.ones(2**25)  # 256 MiB
        while len(seen) < 5:
            taken += 1
        del taken
    assert 200 * 2**20 < max(seen) - seen[0] < 400 * 2**20


def test_memory_is_watched_to_the_end_of_what_fails():
    with pytest.raises(ZeroDivisionError), watched_memory() as seen:
        raise ZeroDivisionError
    assert len(seen) >= 2


def test_a_table_has_a_line_for_each_result():
    row = {"n": 1234, "method": "LOE", "wrong": 0.123, "seconds": 1.26, "peak_gib": 0.5}
    found = table([row, {**row, "steps": 7}], {"items": lambda r: f"{r['n']:,}"}, {"lost": "wrong"})
    assert found == [
        ["items", "method", "lost", "steps", "seconds", "most memory"],
        ["1,234", "LOE", "12.3%", "", "1.3", "0.5 GiB"],
        ["1,234", "LOE", "12.3%", "7", "1.3", "0.5 GiB"],
    ]


def ends(**further):
    cells = [(n, method) for n in (1000, 2000) for method in words.READ]
    measured = {"d": 5, "neighbours": 0.2, "wrong": 0.2, "seconds": 1.0, "peak_gib": 1.0}
    return [{"kind": "end", "n": n, "method": m, **measured, **further} for n, m in cells]


def test_known_words_are_drawn_in_the_colours_of_what_they_are_about():
    known = [word for group in KNOWN.values() for word in group]
    assert len(set(known)) == len(known)
    vocabulary = [*(f"w{k}" for k in range(100)), *known]
    vectors = sample_points(len(vocabulary), 10, random_state=0)
    places = words.places(vocabulary, vectors, 0)
    assert {(r["label"], r["sort"]) for r in places} == {(w, k) for k in KNOWN for w in KNOWN[k]}
    texts = {
        text.get_text(): text.get_color() for text in words.draw(ends() + places).axes[0].texts
    }
    animals, music = ({texts[w] for w in KNOWN[k] if w in texts} for k in ("animals", "music"))
    assert len(animals) == len(music) == len(animals - music) == 1


def test_common_words_are_drawn_where_few_are_known():
    vocabulary = [
        f"{'abcdefghij'[k % 10]}{'abcdefghij'[k // 10 % 10]}{k // 100 * 'x'}y" for k in range(400)
    ]
    vocabulary[150] = "dog"
    places = words.places(vocabulary, sample_points(400, 10, random_state=0), 0)
    assert [r["label"] for r in places] == vocabulary[100:300]
    assert {r["sort"] for r in places} == {None}
    assert "200 common words" in words.draw(ends() + places).axes[0].get_title()


def test_graphs_of_one_name_are_kept_apart_and_small_ones_refused(tmp_path, monkeypatch):
    mapped = []
    monkeypatch.setattr(networks, "compare", lambda _, about: mapped.append(about["graph"]) or [])
    cell = {"n": 10, "given": True, "trial": 0}
    for k, name in enumerate(("a.txt", "a.tsv", "b.txt")):
        path = np.column_stack([np.arange(20 + k), np.arange(20 + k) + 1])
        np.savetxt(tmp_path / name, path, "%d")
    networks.measure(cell, tmp_path)
    assert mapped == ["a.txt", "a.tsv", "b"]
    np.savetxt(tmp_path / "c.txt", path[:18], "%d")
    with pytest.raises(ReadError, match="c.txt: 19 nodes are connected, and a map takes 20"):
        networks.measure(cell, tmp_path)


def test_every_graph_of_a_folder_is_mapped_the_smallest_first(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("a.txt", 300), ("b.txt", 200)):
        ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
        np.savetxt(tmp_path / name, np.concatenate([ring, rng.integers(n, size=(9, 2))]), "%d")
    rows = networks.measure({"n": 10, "given": True, "trial": 0}, tmp_path)
    found = [(r["graph"], r["nodes"]) for r in rows if r["kind"] == "end"]
    assert list(dict.fromkeys(found)) == [("b", 200), ("a", 300)]
    assert {len(rows) for rows in networks.by_graph(rows, "place", "method").values()} == {200, 300}
    # An edge joins the rows of its nodes' places: colours, steps from one node, differ by one at most.
    places = networks.by_graph(rows, "place", "method")["b", 200, "LOE"]
    edges = networks.by_graph(rows, "edge")["b", 200]
    assert len(edges) >= 200
    assert max(abs(places[r["from"]]["steps"] - places[r["to"]]["steps"]) for r in edges) == 1
    assert len(picture(EXPERIMENTS["networks"], rows).axes) == 4


def test_nodes_far_out_are_counted_and_not_shown():
    rows = [{"kind": "place", "x": x, "y": y} for x, y in np.random.default_rng(0).random((999, 2))]
    rows.append({"kind": "place", "x": 50.0, "y": 0.0})
    about = {"graph": "g", "nodes": 1000, "steps": 1}
    end = {**about, "kind": "end", "wrong": 0.1}
    rows = [{**r, **about, "method": m} for m in networks.SHOWN for r in rows]
    made = networks.draw([*rows, *({**end, "method": m} for m in networks.SHOWN)])
    assert made.axes[0].get_title().endswith("1 beyond the frame")
    assert made.axes[0].get_xlim()[1] < 2


@pytest.mark.parametrize(("counts", "named"), [([7000] * 10, "T-shirt"), ([6999, *[7001] * 9], 0)])
def test_clothes_are_named_and_digits_are_digits(counts, named, monkeypatch):
    kinds = np.repeat(np.arange(10), counts)
    images = np.zeros((len(kinds), 2, 2), np.uint8)
    images[:, 0, 0] = 20 * kinds
    images[:, 1, 1] = np.arange(len(kinds)) % 7
    monkeypatch.setattr(clothes, "load_fashion", lambda path: (images, kinds))
    rows = clothes.measure({"n": 500, "d": 2, "trial": 0}, Path("anywhere"))
    assert named in {r["sort"] for r in rows if r["kind"] == "place"}


def test_pages_join_runs_made_apart_and_keep_what_is_not_given(tmp_path):
    script = runpy.run_path(str(SCRIPT))
    docs = tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    (docs / "results.md").write_text(
        "# Results\n\n## Scaling in the number of items\n\nas it was\n"
    )
    experiment = EXPERIMENTS["clothes"]
    for name, d in (("clothes", 5), ("clothes-2", 10)):
        rows = [
            {
                "kind": "end",
                "n": 70,
                "d": d,
                "method": m,
                "purity": 0.5,
                "seconds": 1,
                "peak_gib": 1,
            }
            for m in ("LOE", clothes.BOUND)
        ] + [{"kind": "place", "d": d, "x": 0.5, "y": 0.5, "sort": "bag"}]
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name / "results.csv", rows)
        command = f"ordinate reproduce clothes --only d={d} --data /some/where -o /tmp/{name}"
        text = page(experiment, rows, "paper", 10 * d, command)
        (tmp_path / name / "README.md").write_text(text)
    script["main"].__globals__["DOCS"] = docs
    script["main"](tmp_path)
    made = (docs / "results_clothes.md").read_text()
    assert "| 70 | 5 | LOE | 0.500 |" in made
    assert "| 70 | 10 | LOE | 0.500 |" in made
    assert "`ordinate reproduce clothes --only d=5 --data PATH -o clothes/` (50 s) and `" in made
    assert "--only d=10 --data PATH -o clothes/` (100 s) at scale paper on " in made
    assert str(tmp_path) not in made
    assert "/tmp" not in made
    assert "as it was" in (docs / "results.md").read_text()
    with Image.open(docs / "images" / "results-clothes.png") as drawn:
        assert drawn.width > 500


def test_the_device_reaches_the_fits(monkeypatch, tmp_path):
    """Experiments that have no use for it say so."""
    found = []
    monkeypatch.setattr(networks, "LOE", lambda d, device: found.append(device) or LOE(d))
    monkeypatch.chdir(tmp_path)
    words_of = ["reproduce", "networks", "--only", "n=2000", "-o", "out", "--device"]
    assert CliRunner().invoke(app, [*words_of, "auto"]).exit_code == 0
    assert found == ["auto"]
    refused = CliRunner().invoke(app, [*words_of, "phone", "--force"])
    assert refused.exit_code == 2
    assert "--device must be" in refused.stderr
    refused = CliRunner().invoke(app, ["reproduce", "scaling", "--device", "cuda"])
    assert refused.exit_code == 2
    assert "--device is for the experiments words, networks, clothes" in refused.stderr.replace(
        "\n", " "
    )
