"""The command line on workbooks, folders of participants and files about items."""

import json
from pathlib import Path

import openpyxl
import pytest
from test_cli import run  # noqa: F401
from test_containers import workbook

from ordinate import sample_points, sample_triplets
from ordinate.files.maps import read_map

HEADER = ["anchor", "near", "far"]


@pytest.fixture
def folder(run):  # noqa: F811
    """Three participants, 12 items, in the working folder."""
    rows = sample_triplets(sample_points(12, 2, random_state=0), 900, random_state=1).rows
    Path("study").mkdir()
    for k in range(3):
        lines = [",".join(HEADER), *(",".join(map(str, row)) for row in rows[k::3])]
        Path(f"study/P{k}.csv").write_text("\n".join(lines))
    return Path("study")


def test_a_folder_of_participants(run, folder):  # noqa: F811
    found = json.loads(run("check", "study/", "--json").stdout)
    assert (found["rows"], found["data"]["n_participants"]) == (900, 3)
    assert "each of the 3 files counts as one" in found["notes"][0]
    run("fit", "study/", "-d", 1, "--folds", 0, "-q")
    assert len(read_map("study-map/embedding.csv").labels) == 12
    (folder / "P1.csv").write_text("anchor,near,far\n1,2,3\n1,1,2\n")
    assert "P1.csv, line 3: [1, 1, 2]" in run("check", "study", code=3).stderr


def test_here_is_a_folder_too(run, folder, monkeypatch):  # noqa: F811
    monkeypatch.chdir(folder)
    run("fit", ".", "-d", 1, "--folds", 0, "-q")
    assert Path("../study-map/embedding.csv").exists()
    assert json.loads(Path("../study-map/run.json").read_text())["input"]["rows"] == 900


def test_one_of_several_tables(run):  # noqa: F811
    rows = [HEADER, ["a", "b", "c"], ["b", "c", "a"]]
    workbook(Path("a.xlsx"), **{"Bob's data": rows, "Key": rows})
    message = run("check", "a.xlsx", code=3).stderr
    assert "\n    --table 'Bob'\"'\"'s data'\n" in message
    assert json.loads(run("check", "a.xlsx", "--table", "Bob's data", "--json").stdout)["rows"] == 2
    Path("plain.csv").write_text("anchor,near,far\na,b,c\n")
    message = run("check", "plain.csv", "--table", "x", code=3).stderr
    assert "so that 'x' chooses nothing" in message


def test_names_of_items(run, folder):  # noqa: F811
    names = [f"Fruit {k // 2}" if k < 2 else f"Fruit {k}" for k in range(11)]
    workbook(Path("items.xlsx"), Items=[["no", "name", "kind"], *([k, name, "x"] for k, name in enumerate(names)), [11, None, "y"]])  # fmt: skip
    fit = ("fit", folder, "-d", 1, "--folds", 0, "--items", "items.xlsx")
    result = run(*fit, "-o", "out", "--colour", "kind")
    for note in (
        "--items items.xlsx: items are found by column 'no', which holds all labels",
        "items are shown by column 'name'; --name label shows labels",
        "1 item has no name, and the label is shown: 11",
        "2 items share a name, and have their label in brackets: Fruit 0",
    ):
        assert f"note: {note}" in result.stderr
    found = read_map("out/embedding.csv")
    assert sorted(map(int, found.labels)) == list(range(12))
    assert found.columns["name"][found.labels.index("1")] == "Fruit 0"
    assert found.columns["name"][found.labels.index("11")] in (None, "")
    for file in ("out/embedding.svg", "out/report.html"):
        page = Path(file).read_text(encoding="utf-8")
        assert "Fruit 0 (1)" in page
        assert "Fruit 7" in page
    # A map keeps its names; labels come back when asked for.
    result = run("plot", "out", "-o", "again.svg")
    assert "shown by column 'name'" in result.stderr
    assert "Fruit 7" in Path("again.svg").read_text(encoding="utf-8")
    assert run("plot", "out", "-o", "labels.svg", "--name", "label").stderr == "labels.svg\n"
    assert "Fruit" not in Path("labels.svg").read_text(encoding="utf-8")
    assert run(*fit, "-o", "quiet", "-q").stderr == ""
    message = run(*fit, "-o", "x", "--name", "title", code=2).stderr
    assert "no column 'title' with names; --items names a file" in message
    assert "Known: name, kind" in message
    book = openpyxl.load_workbook("items.xlsx")
    book.create_sheet("More").append([1, 2, 3])
    book.save("items.xlsx")
    message = run(*fit, "-o", "x", code=3).stderr
    assert "2 sheets" in message
    assert "save the one about items as a file of its own" in message
    assert "--table" not in message


def test_paths_are_left_out_of_figures_but_not_of_files(run):  # noqa: F811
    labels = [f"stimuli/set1/cat_{k}.jpg" for k in range(4)]
    rows = [[labels[i], labels[j], labels[k]] for i, j, k in [(0, 1, 2), (1, 2, 3), (3, 2, 0)]]
    Path("a.csv").write_text("\n".join(",".join(row) for row in [HEADER, *rows]))
    run("fit", "a.csv", "-d", 1, "--folds", 0, "-o", "out", "-q")
    assert read_map("out/embedding.csv").labels == labels
    picture = Path("out/embedding.svg").read_text(encoding="utf-8")
    assert "cat_1" in picture
    assert "stimuli" not in picture
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert '"labels":["cat_0","cat_1","cat_2","cat_3"]' in page
