"""The command ``compare``: what it writes and says, and what it refuses."""

import json

import numpy as np
import pytest
from commands import plain
from pyarrow.csv import read_csv, write_csv
from typer.testing import CliRunner

from ordinate import STE, Triplets, compare, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.evaluation.comparison import Map, compare_maps
from ordinate.figures.comparing import plot_comparison
from ordinate.files.maps import write_map

N, MOVED = 12, 5
ITEMS = [f"=item {k}" for k in range(N)]


def run(*words):
    return CliRunner().invoke(app, plain(*words))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two maps, of answers that differ in one item, and the answers."""
    folder = tmp_path_factory.mktemp("compare")
    points = sample_points(N, 2, random_state=0)
    for name, seed in (("one", 1), ("other", 2)):
        rows = sample_triplets(points, 3000, random_state=seed).rows
        triplets = Triplets(rows, items=ITEMS)
        write_csv(triplets.to_arrow(), folder / f"{name}.csv")
        STE(2, random_state=0, init=points, n_init=1).fit(triplets).save(folder / f"{name}-map")
        points[MOVED] += [1.2, 0]
    return folder


@pytest.fixture(scope="module")
def done(folder):
    maps = [folder / "one-map", folder / "other-map" / "embedding.csv"]
    found = run("compare", *maps, "-o", folder / "both", "--defuse")
    assert found.exit_code == 0, found.output
    return found.output, json.loads((folder / "both" / "compare.json").read_text())


def test_says_and_writes_what_python_finds(folder, done):
    output, record = done
    expected = compare(folder / "one-map", folder / "other-map")
    assert record["moved"] == [ITEMS[MOVED]] == expected.moved.tolist()
    assert record["p_value"] == pytest.approx(expected.p_value)
    assert record["relative_error"] == pytest.approx(expected.error)
    assert record["differ"] is True
    assert record["method"] == "covariances"
    assert f"{expected.sentence}." in output
    assert "; without that " in output


def test_the_table_begins_with_the_item_that_moved(folder, done):
    table = read_csv(folder / "both" / "compare.csv").to_pylist()
    assert table[0]["label"] == f"'{ITEMS[MOVED]}"  # defused
    assert table[0]["p_corrected"] < 0.05
    assert table[0]["distance"] > 3 * table[0]["chance"]
    gap = [table[0][f"first_dim{k}"] - table[0][f"second_dim{k}"] for k in (1, 2)]
    assert np.hypot(*gap) == pytest.approx(table[0]["distance"])
    assert len(table) == N


def test_figure_and_report_show_the_sentence(folder, done):
    svg = (folder / "both" / "compare.svg").read_text()
    assert "one-map" in svg
    assert "other-map" in svg
    assert "moved most" in (folder / "both" / "report.html").read_text()
    assert (folder / "both" / "compare.png").stat().st_size > 10_000


def test_answers_are_dealt_anew(folder):
    maps, answers = [folder / "one-map"] * 2, [folder / "one.csv", folder / "other.csv"]
    words = ["compare", *maps, "--answers", *answers, "--permutations", "39", "--json", "-q"]
    found = run(*words, "-o", folder / "dealt")
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    assert record["method"] == "answers"
    assert record["n_permutations"] == 39
    assert record["p_value"] <= 0.05
    assert record["moved"] == [ITEMS[MOVED]]
    assert "fitted anew" in record["notes"][-1]


def test_items_of_one_map_alone_are_told(folder, tmp_path):
    points = sample_points(N, 2, random_state=0)
    write_map(tmp_path / "more.csv", [*ITEMS[1:], "new"], points, {})
    found = run("compare", folder / "one-map", tmp_path / "more.csv", "-o", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert "1 item is placed by one-map alone, and left out: =item 0" in found.output
    assert "1 item is placed by more alone, and left out: new" in found.output
    assert "cannot be told" in found.output
    assert "--answers" in found.output


def test_what_is_refused(folder, tmp_path):
    one, other = folder / "one-map", folder / "other-map"
    exists = run("compare", one, other, "-o", folder / "one-map")
    assert exists.exit_code == 4
    missing = run("compare", one, tmp_path / "none", "-o", tmp_path / "out")
    assert missing.exit_code == 3
    assert "no such file" in missing.output
    bare = tmp_path / "bare.csv"
    write_map(bare, ITEMS, sample_points(N, 2, random_state=0), {})
    answers = [folder / "one.csv", folder / "other.csv"]
    found = run("compare", bare, other, "--answers", *answers, "-o", tmp_path / "out")
    assert found.exit_code == 3
    assert "not known" in found.output
    found = run("compare", one, other, "--answers", *answers, "--by", "x", "-o", tmp_path / "out")
    assert found.exit_code == 2
    assert "--by must be one of" in found.output
    write_map(bare, ITEMS, sample_points(N, 3, random_state=0), {})
    found = run("compare", one, bare, "-o", tmp_path / "out")
    assert found.exit_code == 3
    assert "2 and 3 dimensions" in found.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_maps_of_any_dimension_are_drawn(d):
    points = sample_points(N, d, random_state=0)
    turned = points[:, ::-1].copy()
    turned[0] += 3
    covariance = np.broadcast_to(0.01 * np.eye(d), (N, d, d))
    found = compare_maps(Map(ITEMS, points, covariance), Map(ITEMS, turned, covariance))
    figure = plot_comparison(found, names=("same", "same"))
    arrows = [c for axes in figure.axes for c in axes.collections if "Quiver" in repr(type(c))]
    drawn = [c for axes in figure.axes for c in axes.collections if "Line3D" in repr(type(c))]
    assert len(arrows) + len(drawn) == (0 if d == 1 else 2 * {2: 1, 3: 4, 5: 6}[d])
    ellipses = [c for axes in figure.axes for c in axes.collections if hasattr(c, "_widths")]
    assert len(ellipses) == {1: 0, 2: 1, 3: 3, 5: 6}[d]
    figure.canvas.draw()
