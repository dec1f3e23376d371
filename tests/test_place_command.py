"""`ordinate place`: from a map and a file about new items to their places."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection
from test_cli import run  # noqa: F401

import ordinate
from ordinate import STE, STEKer, Triplets, sample_points, sample_triplets
from ordinate.figures.placed import plot_placed
from ordinate.files.maps import read_map

NAMES = np.array([f"animal {k}" for k in range(20)] + ["zebra", "emu"], object)


def write(path, rows, names=NAMES):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["anchor", "near", "far"])
        writer.writerows(names[rows].tolist())
    return path


@pytest.fixture(scope="module")
def rows():
    return sample_triplets(2 * sample_points(22, 2, random_state=0), 6000, random_state=1).rows


@pytest.fixture(scope="module")
def map_folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "map"
    known = rows[(rows < 20).all(axis=1)]
    STE(random_state=0).fit(Triplets.from_columns(*NAMES[known].T)).save(folder)
    return folder


@pytest.fixture
def new(rows, tmp_path):
    return write(tmp_path / "new.csv", rows[(rows >= 20).any(axis=1)])


def test_the_folder_that_placing_leaves(run, map_folder, new):  # noqa: F811
    told = run("place", map_folder, new).output
    assert sorted(os.listdir("new-placed")) == [
        ".ordinate",
        "embedding.csv",
        "embedding.png",
        "embedding.svg",
        "run.json",
    ]
    model = ordinate.load(map_folder)
    placed = model.place(ordinate.as_triplets(new))
    found = read_map("new-placed/embedding.csv")
    assert found.labels == placed.items.tolist()
    assert found.points == pytest.approx(placed.points)
    errors = np.column_stack([found.columns["se1"], found.columns["se2"]])
    assert errors == pytest.approx(placed.standard_errors)
    assert found.columns["triplets"] == placed.n_triplets.tolist()
    assert found.columns["weak"] == [False, False]
    record = json.loads(Path("new-placed/run.json").read_text())
    assert record["result"]["n_new"] == 2
    assert record["input"]["layout"] == "plain"
    assert len(record["input"]["sha256"]) == 64
    assert "2 new items on the map" in told
    assert "new-placed/: embedding.csv, embedding.png, embedding.svg, run.json" in told


def test_append_writes_a_map_that_all_commands_take(run, map_folder, new, rows, tmp_path):  # noqa: F811
    run("place", map_folder / "embedding.csv", new, "-o", "more", "--append", "-q")
    found = read_map("more/embedding.csv")
    before = read_map(map_folder / "embedding.csv")
    assert found.labels[:20] == before.labels
    assert (found.points[:20] == before.points).all()
    assert found.columns["new"] == [False] * 20 + [True] * 2
    assert found.columns["se1"][:20] == before.columns["se1"]
    model = ordinate.load("more")
    old, placed = (
        ordinate.load(map_folder),
        ordinate.load(map_folder).place(ordinate.as_triplets(new)),
    )
    assert (model.covariance_ == np.concatenate([old.covariance_, placed.covariance])).all()
    assert model.embedding_.shape == (22, 2)
    assert model.items_.tolist() == found.labels
    everything = write(tmp_path / "all.csv", rows)
    score = json.loads(run("score", "more", everything, "--json").stdout)
    assert (score["left_out"], score["log_likelihood"] > -0.5) == (0, True)
    run("plot", "more", "-o", "map.png", "--colour", "new", "-q")
    assert Path("map.png").exists()
    names = np.array([*NAMES[:20], "zebra", "gnu"], object)
    third = write(tmp_path / "third.csv", rows[(rows == 21).any(axis=1)], names)
    run("place", "more", third, "-o", "most", "--append", "-q")
    assert read_map("most/embedding.csv").labels[-1] == "gnu"
    assert read_map("most/embedding.csv").columns["new"] == [False] * 22 + [True]


def test_a_column_of_ones_own_is_kept(run, map_folder, new, tmp_path):  # noqa: F811
    own = tmp_path / "own"
    own.mkdir()
    for name in ("model.json", "covariance.npy"):
        (own / name).write_bytes((map_folder / name).read_bytes())
    lines = (map_folder / "embedding.csv").read_text().splitlines()
    texts = [f'{line},"{"yes" if number else "new"}"' for number, line in enumerate(lines)]
    (own / "embedding.csv").write_text("\n".join(texts))
    run("place", own, new, "-o", "more", "--append", "-q")
    columns = read_map("more/embedding.csv").columns
    assert columns["items_new"] == ["yes"] * 20 + [""] * 2
    assert columns["new"] == [False] * 20 + [True] * 2


def test_what_cannot_be_placed_is_refused(run, map_folder, new, rows, tmp_path):  # noqa: F811
    known = write(tmp_path / "known.csv", rows[(rows < 20).all(axis=1)])
    refused = run("place", map_folder, known, code=3).output
    assert "all 20 items" in refused
    assert "nothing to place; `ordinate score" in refused
    strange = write(tmp_path / "strange.csv", rows, np.array([f"x{k}" for k in range(22)], object))
    refused = run("place", map_folder, strange, code=3).output
    assert "none of the 22 items" in refused
    assert "x0, x1, x10" in refused
    assert "no model.json" in run("place", tmp_path, new, code=3).output.replace("\n", " ")
    run("place", map_folder, new, "-q")
    assert "--force" in run("place", map_folder, new, code=4).output
    run("place", map_folder, new, "-q", "--force")
    assert "say where they go with --output" in run("place", map_folder, "-", code=2).output
    with pytest.warns(UserWarning, match="not converged"):
        STEKer(max_iter=3).fit(rows).save(tmp_path / "kernel")
    assert (
        "places no further items"
        in run("place", tmp_path / "kernel", new, "-o", "k", code=2).output
    )


def test_neither_the_map_nor_the_answers_are_overwritten(run, map_folder, new):  # noqa: F811
    before = (map_folder / "embedding.csv").read_bytes()
    for target in (map_folder, map_folder.parent, new.parent):
        assert (
            "which is needed"
            in run("place", map_folder, new, "-o", target, "--force", code=4).output
        )
    assert (map_folder / "embedding.csv").read_bytes() == before
    assert new.exists()


def test_items_without_a_place_are_counted(run, map_folder, rows, tmp_path):  # noqa: F811
    names = np.array(["a", "b", "c", *NAMES], object)
    some = rows[(rows == 20).any(axis=1) & (rows != 21).all(axis=1)] + 3
    result = run(
        "place", map_folder, write(tmp_path / "f.csv", np.concatenate([some, [[0, 1, 2]]]), names)
    )
    assert "1 of 4 new items on the map" in result.stdout
    assert "3 new items have no place" in result.stderr
    assert np.isnan(read_map("f-placed/embedding.csv").points).sum() == 6


def test_slips_in_labels_are_refused_or_merged(run, map_folder, rows, tmp_path):  # noqa: F811
    slip = NAMES.copy()
    slip[7] = "Animal  7"
    file = write(tmp_path / "slip.csv", rows, slip)
    refused = run("place", map_folder, file, code=3).output
    assert "'animal 7' and 'Animal  7'" in refused
    assert "--merge-labels" in refused
    run("place", map_folder, file, "--merge-labels", "-o", "merged", "-q")
    assert sorted(read_map("merged/embedding.csv").labels) == ["emu", "zebra"]
    run("place", map_folder, write(tmp_path / "right.csv", rows), "-o", "right", "-q")
    assert read_map("merged/embedding.csv").points == pytest.approx(
        read_map("right/embedding.csv").points
    )


def test_numbers_are_labels_too(run, rows, tmp_path):  # noqa: F811
    """A map of numbers, and a file with a new item that has a name."""
    numbers = np.array([*range(22)], object)
    fitted = Triplets.from_columns(*numbers[rows[(rows < 20).all(axis=1)]].T)
    STE(random_state=0).fit(fitted).save(tmp_path / "map")
    some = rows[(rows >= 20).any(axis=1)]
    run("place", "map", write(tmp_path / "ids.csv", some, numbers), "-o", "ids", "-q", "--append")
    assert read_map("ids/embedding.csv").labels[-2:] in (["20", "21"], ["21", "20"])
    assert ordinate.load("ids").items_.dtype.kind == "i"
    named = np.array([*range(20), "zebra", "emu"], object)
    run("place", "map", write(tmp_path / "names.csv", some, named), "-o", "names", "-q", "--append")
    assert set(read_map("names/embedding.csv").labels[-2:]) == {"zebra", "emu"}
    assert read_map("names/embedding.csv").points == pytest.approx(
        read_map("ids/embedding.csv").points
    )


def test_what_is_weak_is_told(run, map_folder, rows, tmp_path):  # noqa: F811
    few = rows[(rows == 20).any(axis=1) & (rows != 21).all(axis=1)][:1]
    result = run("place", map_folder, write(tmp_path / "few.csv", few))
    assert "warning: answers tell less about 1 of 1 new items" in result.stderr
    record = json.loads(Path("few-placed/run.json").read_text())
    assert record["result"]["n_weak"] == 1
    assert "tell less" in record["warnings"][0]
    together = np.concatenate([few, rows[(rows < 20).all(axis=1)][:7]])
    told = run("place", map_folder, write(tmp_path / "more.csv", together), "--json", "-o", "j")
    assert json.loads(told.stdout)["result"]["n_triplets_about_known_items"] == 7


def test_no_result_is_lost_to_a_picture(run, map_folder, new, monkeypatch):  # noqa: F811
    def broken(*args, **kwargs):
        raise RuntimeError("no ink")

    monkeypatch.setattr("ordinate.study.placed_folder.plot_placed", broken)
    assert "no figure could be drawn: RuntimeError: no ink" in run("place", map_folder, new).stderr
    assert read_map("new-placed/embedding.csv").labels


def test_new_items_are_drawn_over_a_grey_map():
    rng = np.random.default_rng(0)
    known, points = rng.normal(size=(12, 2)), np.array([[0.5, 0.5], [-1.0, 0.2]])
    covariance = np.array([[[0.04, 0.0], [0.0, 0.01]], np.full((2, 2), np.nan)])
    figure = plot_placed(known, [f"k{i}" for i in range(12)], points, ["emu", "yak"], covariance)
    assert {"emu", "yak"} <= {text.get_text() for text in figure.axes[0].texts}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["new", "on the map"]
    (ellipses,) = figure.findobj(EllipseCollection)
    assert ellipses.get_offsets().tolist() == [[0.5, 0.5]]
    assert ellipses.get_widths() == pytest.approx([2 * 2.4477 * 0.2], rel=1e-3)
    assert ellipses.get_heights() == pytest.approx([2 * 2.4477 * 0.1], rel=1e-3)
    flat = plot_placed(
        rng.normal(size=(5, 3)), list("abcde"), rng.normal(size=(1, 3)), ["emu"], covariance
    )
    assert not flat.findobj(EllipseCollection)
