"""Pictures, colours and names that cannot be shown: the fit is kept, and what is missing is told."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import plain
from PIL import Image
from typer.testing import CliRunner

from ordinate import html_report, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.figures.drawing import read_column, thumbnail
from ordinate.figures.plotting import plot_map, save
from ordinate.study import run_folder

ITEMS = [f"item{k}" for k in range(6)]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command in a folder with a small file of answers."""
    monkeypatch.chdir(tmp_path)
    rows = sample_triplets(sample_points(6, random_state=0), 60, random_state=1).rows
    lines = (",".join(ITEMS[k] for k in row) for row in rows)
    Path("answers.csv").write_text("anchor,near,far\n" + "\n".join(lines) + "\n")

    def call(*words, code=0):
        result = CliRunner().invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


def pictures(folder="pictures"):
    Path(folder).mkdir()
    for name in ITEMS:
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
        Image.fromarray(noise).save(f"{folder}/{name}.jpg")
    return Path(folder)


def test_a_picture_is_opened_only_as_what_pictures_are(run):
    folder = pictures()
    (folder / "item0.jpg").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n")
    result = run("fit", "answers.csv", "--images", folder, code=3)
    assert "item0.jpg is not a picture" in result.stderr
    with pytest.raises(OSError, match="cannot identify"):
        thumbnail(folder / "item0.jpg", 8)


def test_a_picture_that_is_cut_off_is_told_before_the_fit(run):
    folder = pictures()
    whole = (folder / "item1.jpg").read_bytes()
    (folder / "item1.jpg").write_bytes(whole[: len(whole) // 2])
    result = run("fit", "answers.csv", "--images", folder, code=3)
    assert "item1.jpg is not a picture: " in result.stderr
    assert "truncated" in result.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_what_is_no_file_is_no_picture(run):
    folder = pictures()
    (folder / "item0.jpg").unlink()
    os.mkfifo(folder / "item0.jpg")
    result = run("fit", "answers.csv", "--images", folder, "--folds", 0)
    assert "none for item0" in result.stderr


def test_a_fit_is_kept_if_its_pictures_vanish(run, monkeypatch):
    folder = pictures()
    real = run_folder.write_map

    def write_map(*given, **options):
        real(*given, **options)
        for picture in folder.iterdir():
            picture.write_bytes(b"")

    monkeypatch.setattr(run_folder, "write_map", write_map)
    result = run("fit", "answers.csv", "-o", "out", "--images", folder, "--folds", 0)
    assert "warning: the figure cannot show pictures, colours and names: " in result.stderr
    assert "embedding.png" in result.stdout
    assert "report.html" in result.stdout
    warned = json.loads(Path("out/run.json").read_text())["warnings"]
    assert [text.split(" cannot")[0] for text in warned] == ["the figure", "the report"]


def test_a_fit_is_kept_if_nothing_can_be_drawn(run, monkeypatch):
    def no_figure(*given, **options):
        raise RuntimeError("no figure today")

    monkeypatch.setattr(run_folder, "plot_map", no_figure)
    result = run("fit", "answers.csv", "-o", "out", "--folds", 0)
    assert (
        "warning: the figure cannot show anything: RuntimeError: no figure today" in result.stderr
    )
    assert "out/: embedding.csv, covariance.npy, model.json, report.html, run.json" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such file names")
def test_file_names_that_are_not_utf8(run):
    name = os.fsdecode(b"pi\xf1a.csv")
    Path("answers.csv").rename(name)
    run("fit", name, "-o", "out", "--folds", 0)
    record = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
    assert record["input"]["file"] == name
    Path("folder").mkdir()
    Path("folder", "other.csv").write_bytes(Path(name).read_bytes())
    Path(name).rename(Path("folder") / name)
    run("convert", "folder", "-o", "both.csv")
    assert r"pi\udcf1a" in Path("both.csv").read_text(encoding="utf-8")


def test_a_title_with_half_a_character():
    html_report([[0, 0], [1, 1]], title="pi\udcf1a").encode()


def test_a_label_without_a_glyph_can_be_drawn_in_every_format(tmp_path):
    figure = plot_map([[0, 0], [1, 1]], ["\ufeff", "b"])
    assert save(figure, tmp_path / "map.pdf").stat().st_size > 1000


def test_a_column_without_values_is_missing_everywhere(tmp_path):
    assert read_column("kind", [None, "", float("nan")], 3).n_missing == 3
    figure = plot_map([[0, 0], [1, 1], [0, 1]], colour=[None, "", float("nan")])
    assert save(figure, tmp_path / "map.png").stat().st_size > 1000
