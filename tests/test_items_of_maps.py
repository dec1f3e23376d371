"""Folders of maps where items are asked for, and counts of one in messages."""

import pytest
from typer.testing import CliRunner

from ordinate import STE, Triplets, sample_points, sample_triplets
from ordinate.cli import _shell, app
from ordinate.files.items import read_labels
from ordinate.files.readers import ReadError

LABELS = ["=ant", *(f"item {k}" for k in range(7))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "some-map"
    rows = sample_triplets(sample_points(8, random_state=0), 900, random_state=1).rows
    STE(random_state=0).fit(Triplets(rows, items=LABELS)).save(path)
    (path / "embedding.png").touch()  # fit leaves pictures beside the map
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_items_of_a_map_are_those_of_its_table(folder):
    assert read_labels(folder) == LABELS


def test_planning_takes_the_items_of_a_map(folder, monkeypatch):
    planned = []

    def stop(n, d, **_):
        planned.append((n, d))
        raise KeyboardInterrupt

    monkeypatch.setattr("ordinate.asking.plan_study", stop)
    run("plan", folder)
    assert planned == [(8, 2)]


def test_first_questions_about_a_map_say_how_to_go_on_from_it(folder, tmp_path):
    result = run("ask", folder, "--budget", 20, "-o", tmp_path / "questions.csv")
    assert result.exit_code == 0, result.output
    assert f"--after {folder} asks what teaches most" in " ".join(result.stderr.split())
    assert "20 questions about 8 items" in result.output


def test_other_folders_of_ordinate_and_damaged_maps_are_refused(folder, tmp_path):
    (tmp_path / ".ordinate").touch()
    (tmp_path / "figure.png").touch()
    with pytest.raises(ReadError, match=r"written by ordinate, and holds no map \(embedding.csv\)"):
        read_labels(tmp_path)
    (tmp_path / "embedding.csv").write_text("label,dim1\na,x\n")
    with pytest.raises(ReadError, match="coordinates must be numbers"):
        read_labels(tmp_path)


def test_one_item_is_no_items(folder, tmp_path):
    answers = tmp_path / "answers.csv"
    answers.write_text("anchor,near,far\nitem 1,item 2,koala\nitem 1,item 2,item 3\n")
    assert "1 more triplet was left out, since 1 item is not on the map: koala" in " ".join(
        run("score", folder, answers).output.split()
    )
    answers.write_text("anchor,near,far\nitem 1,item 2,koala\n")
    result = run("score", folder, answers)
    assert result.exit_code == 3
    told = " ".join(result.output.split())
    assert "every answer in" in told
    assert told.endswith("embedding.csv: koala")


def test_lines_that_only_count_on_are_told_now_and_then(capsys, monkeypatch):
    """On a terminal a bar counts; elsewhere hundreds of lines would hide what matters."""
    stages = _shell.Stages()
    for k in range(100):
        stages.begin(f"answers dealt anew, {k} of 99")
    assert len(capsys.readouterr().err.splitlines()) == 10
    stages.begin("figure")
    assert capsys.readouterr().err == "figure ...\n"
    monkeypatch.setattr(_shell, "OFTEN", 0)
    stages.begin("answers dealt anew, 100 of 100")
    assert capsys.readouterr().err.startswith("answers dealt anew, 100")


def test_help_fits_a_terminal():
    """What options mean has room beside their names: no word is cut."""
    for command in ("check", "score", "compare", "place"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).output
        assert "…" not in shown
        assert "--no-" not in shown
