"""Outputs that cannot be written are refused before the work; messages are fit for a terminal."""

import json
import os
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from test_cli import run  # noqa: F401

from ordinate import STE, html_report, plot_map, readers
from ordinate._base.messages import LONGEST, readable
from ordinate._base.writing import DiskFullError, whole_file, whole_folder
from ordinate.figures import plotting
from ordinate.figures.plotting import save

PLAIN = "anchor,near,far\na,b,c\nb,c,a\nc,a,b\na,b,d\n"
CONTROL = "".join(map(chr, [*range(32), *range(0x7F, 0xA0), 0xFEFF, 0xFFFE, 0xFFFF, 0xDCF1]))


@contextmanager
def files_of_at_most(size):
    """A disk that is full after so many bytes of a file, in the words of the system."""
    resource = pytest.importorskip("resource", reason="only Unix limits the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


OUTPUTS = ("fit in.csv --folds 0 -o", "convert in.csv --fast -o", "simulate --n 9 --force -o")


@pytest.mark.parametrize("command", OUTPUTS)
def test_where_nothing_can_be_written_is_told_before_the_work(run, command):  # noqa: F811
    Path("in.csv").write_text(PLAIN)
    told = run(*command.split(), "in.csv/below/out", code=4).stderr
    assert "nothing can be written to" in told
    assert "reading" not in told
    assert Path("in.csv").read_text() == PLAIN


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize("command", OUTPUTS)
def test_a_link_that_leads_to_itself(run, command):  # noqa: F811
    Path("in.csv").write_text(PLAIN)
    Path("loop").symlink_to("loop")
    told = run(*command.split(), "loop", code=4).stderr
    assert told == "error: loop is a symbolic link that leads back to itself: name another\n"
    for whole in (whole_file, whole_folder):
        with pytest.raises(FileExistsError, match="leads back to itself"), whole("loop"):
            pass


def test_a_folder_in_place_of_a_file_of_ours_is_not_ours(tmp_path):
    path = tmp_path / "out"
    with whole_folder(path) as new:
        (new / "report.html").write_text("ours")
    (path / "report.html").unlink()
    (path / "report.html").mkdir()
    (path / "report.html" / "thesis.tex").write_text("theirs")
    with (
        pytest.raises(FileExistsError, match=r"did not write \(report.html/\)"),
        whole_folder(path, force=True),
    ):
        pass
    assert (path / "report.html" / "thesis.tex").read_text() == "theirs"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "tiff", "eps"])
def test_figures_on_a_full_disk(tmp_path, ending):
    figure = plot_map([[0, 0], [1, 0], [0, 2]], ["cat", "lynx", "bus"])
    path = tmp_path / f"map.{ending}"
    path.write_text("before")
    with files_of_at_most(100), pytest.raises(DiskFullError, match="the disk is full"):
        save(figure, path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_a_full_disk_is_told_of_the_output_and_not_of_a_file_in_the_making(tmp_path):
    model = STE(random_state=0).fit([[0, 1, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1], [1, 0, 2]])
    with files_of_at_most(10), pytest.raises(DiskFullError) as caught:
        model.save(tmp_path / "model")
    assert f"{tmp_path / 'model'} could not be written" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such file names")
def test_outputs_whose_names_are_not_utf8(run):  # noqa: F811
    Path("in.csv").write_text(PLAIN)
    name = os.fsdecode(b"pi\xf1a")
    told = run("fit", "in.csv", "--folds", 0, "-d", 1, "-o", name).stdout
    assert r"pi\udcf1a/: embedding.csv" in told
    told = run("fit", "in.csv", "--folds", 0, "-d", 1, "-o", name, "--force", "--json").stdout
    assert json.loads(told)["output"] == name
    run("plot", name, "-o", f"{name}.svg")
    for ending in (".csv", ".tsv", ".feather", ".parquet"):
        run("convert", "in.csv", "-o", f"{name}{ending}")
        assert Path(f"{name}{ending}").exists()


def test_messages_have_no_more_than_a_screen():
    assert len(readable("word " * 100_000)) < LONGEST + 100
    assert readable("a\x1b[31m\u202e\udcf1\nb\tc") == r"a\x1b[31m\u202e\udcf1" + "\nb\tc"


@pytest.mark.parametrize(
    "text", [f"{PLAIN}{'x' * 70_000},{'x' * 70_000},b\n", f"a,b,c,response\nx,y,z,{'q' * 70_000}\n"]
)
def test_long_cells_are_cut_short_in_messages(run, text):  # noqa: F811
    Path("in.csv").write_text(text)
    with pytest.raises(readers.ReadError) as caught:
        readers.read("in.csv")
    assert len(str(caught.value)) < LONGEST + 100
    assert len(run("check", "in.csv", code=3).stderr) < LONGEST + 100


def test_long_labels_are_cut_short_in_warnings():
    items = [f"{k}{'x' * 70_000}" for k in range(5)]
    from ordinate import Triplets

    with pytest.warns(UserWarning, match="in no triplet") as caught:
        STE(1, regularization=1.0, random_state=0).fit(Triplets([[0, 1, 2]] * 9, items=items))
    assert max(len(str(each.message)) for each in caught) < LONGEST


def test_control_characters_do_not_reach_the_terminal(run):  # noqa: F811
    rows = "anchor,near,far\n" + "a\x07,b,c\nb,c,a\x07\nc,a\x07,b\n" * 3
    Path("in.csv").write_text(rows)
    result = run("fit", "in.csv", "--folds", 0, "-d", 1)
    assert "\x07" not in result.stdout + result.stderr
    assert "a\\x07" in result.stdout


def test_control_characters_make_neither_svg_nor_html_malformed(tmp_path):
    labels = [f"{sign}{k}" for k, sign in enumerate(CONTROL)]
    points = np.random.default_rng(0).normal(size=(len(labels), 2))
    given = {"title": CONTROL, "names": labels}
    figure = plot_map(
        points,
        labels,
        colour=labels,
        colour_name=CONTROL,
        caption=CONTROL,
        show_labels="all",
        **given,
    )
    ElementTree.parse(save(figure, tmp_path / "map.svg"))
    page = html_report(points, labels, columns={CONTROL: labels}, **given)
    assert not {*"\x00\x01\x0b\x1f"} & {*page}


def test_a_colour_beyond_all_floats_is_missing():
    figure = plot_map([[0, 0], [1, 0], [0, 2]], colour=[10**400, -(10**400), 3])
    texts = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert figure.axes
    assert "inf" not in texts


def test_of_very_many_labels_some_are_tried_and_the_others_counted(monkeypatch):
    monkeypatch.setattr(plotting, "MOST_LABELS", 4)
    points = np.random.default_rng(0).normal(size=(9, 2))
    figure = plot_map(points, [f"item{k}" for k in range(9)])
    assert len(figure.axes[0].texts) <= 4
    caption = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert "5 of 9 labels" in caption
