"""How sure a map is, on the command line: one line, the record, the figures, and plot again."""

import json
import shutil

import numpy as np
import pytest
from commands import plain
from typer.testing import CliRunner

import ordinate
from ordinate import STE, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.evaluation.uncertainty import map_size, place_errors
from ordinate.figures import error_marks
from ordinate.figures.plotting import plot_map


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What fit leaves of twelve items."""
    folder = tmp_path_factory.mktemp("study")
    triplets = sample_triplets(sample_points(12, random_state=0), 800, random_state=0)
    rows = [",".join(f"item {k}" for k in row) for row in triplets.rows]
    (folder / "answers.csv").write_text("\n".join(["anchor,near,far", *rows]))
    words = ("fit", folder / "answers.csv", "--method", "ste", "--folds", "0", "-o", folder / "map")
    told = CliRunner().invoke(app, plain(*words))
    assert told.exit_code == 0, told.stderr
    (folder / "told.txt").write_text(told.stdout)
    return folder


@pytest.fixture
def run():
    def call(*words, code=0):
        result = CliRunner().invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


@pytest.fixture
def seen(monkeypatch):
    """Covariances that are drawn."""
    found = []
    draw = error_marks.draw_ellipses
    monkeypatch.setattr(
        "ordinate.figures.panels.draw_ellipses",
        lambda axes, xy, C, styles: (found.append(C), draw(axes, xy, C, styles)),
    )
    return found


def test_fit_tells_how_sure_the_map_is(folder):
    model = ordinate.load(folder / "map")
    errors, size = place_errors(model.covariance_), map_size(model.embedding_)
    worst = model.items_[np.argmax(errors)]
    told = (folder / "told.txt").read_text()
    assert (
        f"how sure: the standard error of an item's place is {np.median(errors) / size:.1%} of the "
        f"map's size at the median; least certain: {worst} ({errors.max() / size:.1%}), "
    ) in told
    record = json.loads((folder / "map/run.json").read_text())["uncertainty"]
    assert record["told"] in told
    assert record["relative"] == pytest.approx(np.median(errors) / size)
    assert [each["item"] for each in record["least_certain"]] == [
        str(each.item) for each in model.least_certain(3)
    ]
    assert '"sure":{"told":"The standard error' in (folder / "map/report.html").read_text("utf-8")
    figure = (folder / "map/embedding.svg").read_text("utf-8")
    assert "Ellipses hold the true places" in figure


def test_plot_draws_them_again(folder, run, seen, tmp_path):
    model = ordinate.load(folder / "map")
    run("plot", folder / "map", "-o", tmp_path / "a.png")
    np.testing.assert_array_equal(seen[-1], model.covariance_)
    drawn = len(seen)
    run("plot", folder / "map/embedding.csv", "-o", tmp_path / "b.png", "--no-ellipses")
    assert len(seen) == drawn
    plot_map(model)
    np.testing.assert_array_equal(seen[-1], model.covariance_)


def test_fit_can_do_without(folder, run, seen, tmp_path):
    words = ("fit", folder / "answers.csv", "--method", "ste", "--folds", "0", "-o", tmp_path / "m")
    run(*words, "--no-ellipses")
    assert not seen
    page = (tmp_path / "m/report.html").read_text("utf-8")
    assert '"ellipses":false' in page


def test_a_method_that_does_not_know_says_nothing(folder, run, tmp_path):
    words = ("fit", folder / "answers.csv", "--method", "gnmds", "--folds", "0")
    told = run(*words, "-o", tmp_path / "m").stdout
    assert "how sure" not in told
    assert json.loads((tmp_path / "m/run.json").read_text())["uncertainty"] is None
    refused = run(*words, "-o", tmp_path / "n", "--ellipses", code=2).stderr
    assert "--ellipses: method gnmds cannot tell how sure its map is" in refused
    assert not (tmp_path / "n").exists()
    run("plot", tmp_path / "m", "-o", tmp_path / "a.png")
    refused = run("plot", tmp_path / "m", "-o", tmp_path / "b.png", "--ellipses", code=3).stderr
    assert "GNMDS is no likelihood" in refused


def test_a_table_that_was_changed_gets_no_ellipses(folder, run, seen, tmp_path):
    """Covariances go by rows: sorted otherwise, they would be those of other items."""
    copy = shutil.copytree(folder / "map", tmp_path / "map")
    header, *rows = (copy / "embedding.csv").read_text().splitlines()
    (copy / "embedding.csv").write_text("\n".join([header, *sorted(rows, reverse=True)]))
    told = run("plot", copy, "-o", tmp_path / "a.png").stderr
    assert "note: no ellipses are drawn:" in told
    assert "has other standard errors than covariance.npy" in told
    refused = run("plot", copy, "-o", tmp_path / "b.png", "--ellipses", code=3).stderr
    assert "error: --ellipses:" in refused
    (copy / "covariance.npy").write_bytes(b"nonsense")
    told = run("plot", copy, "-o", tmp_path / "c.png").stderr
    assert "covariance.npy cannot be read" in told
    assert not seen


def test_doubtful_ellipses_are_drawn_only_if_asked_for(run, seen, tmp_path):
    triplets = sample_triplets(sample_points(12, random_state=0), 60, random_state=0)
    model = STE(init="random", regularization=1.0, random_state=0).fit(triplets)
    model.save(tmp_path / "m")
    told = run("plot", tmp_path / "m", "-o", tmp_path / "a.png").stderr
    assert f"no ellipses are drawn: they are not to be trusted: {model.covariance_doubt_}" in told
    assert not seen
    told = run("plot", tmp_path / "m", "-o", tmp_path / "b.png", "--ellipses").stderr
    assert "trusted" not in told
    assert seen


def test_a_fit_whose_errors_cannot_be_computed_is_drawn(folder, run, tmp_path, monkeypatch):
    def failing(self, by):
        raise np.linalg.LinAlgError("no inverse")

    monkeypatch.setattr(STE, "_covariances", failing)
    words = ("fit", folder / "answers.csv", "--method", "ste", "--folds", "0", "-o", tmp_path / "m")
    told = run(*words)
    assert "could not be computed" in told.stderr
    assert "how sure" not in told.stdout
    assert (tmp_path / "m/embedding.png").exists()
    assert '"sure":null' in (tmp_path / "m/report.html").read_text("utf-8")


def test_a_map_alone_is_drawn_without_a_word(folder, run, seen, tmp_path):
    shutil.copy(folder / "map/embedding.csv", tmp_path / "other.csv")
    told = run("plot", tmp_path / "other.csv", "-o", tmp_path / "a.png").stderr
    assert "ellipses" not in told
    assert not seen
    refused = run("plot", tmp_path / "other.csv", "-o", tmp_path / "b.png", "--ellipses", code=3)
    assert "there is no model.json of other.csv beside it" in refused.stderr


def test_many_items_only_if_asked_for(run, seen, tmp_path, monkeypatch):
    monkeypatch.setattr(error_marks, "MOST", 5)
    triplets = sample_triplets(sample_points(8, random_state=0), 400, random_state=0)
    model = STE(init="random", random_state=0).fit(triplets)
    model.save(tmp_path / "m")
    run("plot", tmp_path / "m", "-o", tmp_path / "a.png")
    assert not seen
    run("plot", tmp_path / "m", "-o", tmp_path / "b.png", "--ellipses")
    assert seen
