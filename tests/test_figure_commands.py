"""Figures and distances from the command line."""

import csv

import numpy as np
import pytest
from commands import plain
from PIL import Image
from typer.testing import CliRunner

from ordinate import sample_points, sample_triplets
from ordinate.cli import app
from ordinate.files import maps as map_files
from ordinate.files.maps import write_distances, write_map
from ordinate.study.experiments import food

LABELS = ["a, b", 'say "c"', "1", "NA", "ü", "x y", "$x_{$", "tab\there"]


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def call(*words, code=0):
        result = runner.invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


@pytest.fixture
def some_map(tmp_path):
    points = sample_points(8, random_state=0)
    write_map(tmp_path / "embedding.csv", LABELS, points, {"$x_{$": [1e308, *range(7)]})
    return points


def read_distances(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[0] == ""
    numbers = [[float("nan") if v == "NA" else float(v) for v in row[1:]] for row in rows]
    return header[1:], [row[0] for row in rows], np.array(numbers)


def test_distances_come_back_as_they_were(run, some_map, tmp_path):
    assert "distances.csv" in run("export", "embedding.csv").stderr
    across, down, found = read_distances("distances.csv")
    assert across == down == LABELS
    expected = np.linalg.norm(some_map[:, None] - some_map, axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert (found == found.T).all()
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv("distances.csv", index_col=0, keep_default_na=False)
    assert table.index.tolist() == table.columns.tolist() == LABELS
    assert "distances.csv exists: --force" in run("export", "embedding.csv", code=4).stderr
    over = ("-o", "embedding.csv", "--force")
    assert "would overwrite another file" in run("export", "embedding.csv", *over, code=4).stderr
    run("export", tmp_path, "-o", "new/other.csv", "-q")
    run("export", tmp_path, "-o", "new/other.csv", "--force")
    assert "there is no such file" in run("export", "nowhere.csv", "-o", "x.csv", code=3).stderr


def test_distances_of_items_without_a_place_are_not_known(tmp_path):
    points = np.array([[0.0, 0], [np.nan, np.nan], [3, 4]])
    write_distances(tmp_path / "d.csv", "abc", points)
    found = read_distances(tmp_path / "d.csv")[2]
    assert found[0, 2] == 5
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()
    with pytest.raises(ValueError, match=r"got shape \(3, 2\) and 2 labels"):
        write_distances(tmp_path / "d.csv", "ab", points)


def test_an_enormous_table_must_be_asked_for(run, some_map, tmp_path, monkeypatch):
    monkeypatch.setattr(map_files, "LARGE", 1000)
    monkeypatch.setattr(map_files, "BYTES", 10**8)
    told = "the distances between 8 items would take about 6.4 GB as text: say "
    assert f"{told}--large to write them" in run("export", "embedding.csv", code=2).stderr
    with pytest.raises(ValueError, match=f"{told}large=True"):
        write_distances(tmp_path / "d.csv", LABELS, some_map)
    assert not (tmp_path / "distances.csv").exists()
    run("export", "embedding.csv", "--large")
    assert (tmp_path / "distances.csv").exists()


@pytest.mark.parametrize("ending", ["eps", "tiff", "tif", "svg", "pdf"])
def test_every_format_and_the_strangest_column(run, some_map, ending):
    result = run("plot", "embedding.csv", "-o", f"map.{ending}", "--colour", "$x_{$")
    assert result.stderr.strip() == f"map.{ending}"


def test_options_of_figures(run, some_map, tmp_path):
    for row, label in enumerate(LABELS):
        shade = np.full((20, 20), 255, np.uint8)
        shade[5:15, 5:15] = 20 * row
        if label.isalnum():
            Image.fromarray(shade).save(tmp_path / f"{label}.png")
    pictures = ("--images", ".", "--image-size", 9, "--image-alpha", 0.5, "--keep-white")
    run("plot", "embedding.csv", "-o", "map.png", "--labels", "all", *pictures)
    run("plot", "embedding.csv", "-o", "map.svg", "--labels", 3)
    assert "5 of 8 labels" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    run("plot", "embedding.csv", "-o", "bare.svg", "--labels", "none")
    assert "say &quot;c" not in (tmp_path / "bare.svg").read_text(encoding="utf-8")
    for wrong in ("some", "-1", "1.5"):
        result = run("plot", "embedding.csv", "-o", "x.png", f"--labels={wrong}", code=2)
        assert "--labels must be 'auto', 'all', 'none' or a number of labels" in result.stderr
    result = run("plot", "embedding.csv", "-o", "x.png", "--image-size", 0, code=2)
    assert "--image-size must be 1 to 200 mm" in result.stderr
    assert "'svg', 'tif', 'tiff'" in run("plot", "embedding.csv", "-o", "x.bmp", code=2).stderr


def test_fit_draws_as_asked_and_tells_of_missing_characters_once(run, tmp_path):
    triplets = sample_triplets(sample_points(12, random_state=0), 600, random_state=1)
    names = [f"\U0001f9ff{k}" for k in range(12)]
    rows = [",".join(names[i] for i in row) for row in triplets.rows]
    (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far", *rows]), encoding="utf-8")
    result = run("fit", "answers.csv", "-o", "out", "--labels", 4, "--folds", 0)
    assert "8 of 12 labels" in (tmp_path / "out/embedding.svg").read_text(encoding="utf-8")
    assert result.stderr.count("note: no installed font can draw 4 labels in full") <= 1
    assert "Glyph" not in result.stderr + result.output
    assert "--labels must be" in run("fit", "answers.csv", "--labels", "x", code=2).stderr


def test_the_food_experiment_names_dishes():
    rows = [
        {"kind": "place", "method": method, "label": label, "x": x, "y": y}
        for method in ("STE, cold", "LOE-STE")
        for label, x, y in [("Mt. Fuji Roll", 0, 0), ("images/ab.jpg", 1, 3), (7, 2, 1)]
    ]
    for axes in food.draw(rows).axes:
        assert {text.get_text() for text in axes.texts} == {"Mt. Fuji Roll", "ab", "7"}
