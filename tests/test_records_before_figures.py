"""A disk that fills while a fit is drawn costs the drawings, not the fit nor its record."""

import errno
import json
import os
from pathlib import Path

import pytest
from test_cli import answers, run  # noqa: F401

import ordinate
from ordinate._base.writing import MARK, DiskFullError
from ordinate.study import run_folder


@pytest.fixture
def full(monkeypatch):
    """Let the disk be full for files of some names."""

    def fill(*names, first=lambda: None):
        for method in ("write_bytes", "write_text"):
            monkeypatch.setattr(Path, method, failing(getattr(Path, method), names, first))

    return fill


def failing(write, names, first):
    def attempt(path, *args, **kwargs):
        if path.name in names:
            first()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *args, **kwargs)

    return attempt


def test_a_disk_that_fills_while_figures_are_drawn(run, answers, full, monkeypatch, tmp_path):  # noqa: F811
    full("embedding.png", "report.html")
    told = run("fit", answers, "-o", "map", "--folds", 0, "-q", code=4).stderr.replace("\n", " ")
    assert "the figure and the report could not be written; the map is in map" in told
    kept = {path.name for path in (tmp_path / "map").iterdir()}
    assert kept == {"embedding.csv", "covariance.npy", "model.json", "run.json", MARK}
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert record["warnings"] == [
        "the disk is full, and the figure could not be written",
        "the disk is full, and the report could not be written",
    ]
    assert ordinate.load(tmp_path / "map").embedding_.shape[1] == 2
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    run("fit", answers, "-o", "map", "--folds", 0, "-q", "--force")
    assert (tmp_path / "map" / "report.html").exists()


def test_the_record_is_there_before_anything_is_drawn(run, answers, full, monkeypatch, tmp_path):  # noqa: F811
    """And stays, where its last version cannot be written."""
    write, written = run_folder.write_json, []

    def once(path, record):
        if written:
            raise DiskFullError(errno.ENOSPC, "full")
        written.append(path.name)
        write(path, record)

    before = []
    monkeypatch.setattr(run_folder, "write_json", once)
    full("embedding.png", first=lambda: before.extend(written))
    told = run("fit", answers, "-o", "map", "--folds", 0, code=4).stderr.replace("\n", " ")
    assert "the figure and the end of the record could not be written" in told
    assert before == ["run.json"]
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert record["result"]["converged"]
    assert (tmp_path / "map" / "report.html").exists()
