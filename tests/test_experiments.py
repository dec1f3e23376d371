"""Every experiment at its quick scale, as a user runs it."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate import sample_points, sample_triplets
from ordinate.cli import app
from ordinate.cli.reproduce import choose_cells
from ordinate.study.experiments import EXPERIMENTS
from ordinate.study.experiments._frame import mean_by


def reproduce(*words, code=0):
    result = CliRunner().invoke(app, ["reproduce", *map(str, words)])
    assert result.exit_code == code, result.output + result.stderr
    return result


@pytest.fixture
def made_up_food(tmp_path):
    """Answers about 60 made-up dishes in the published layout."""
    triplets = sample_triplets(sample_points(60, 2, random_state=0), 40_000, random_state=1)
    path = tmp_path / "all-triplets.csv"
    rows = ("; ".join(f"images/dish{i}.jpg" for i in row) for row in triplets.rows)
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def made_up_words(tmp_path):
    """Vectors of 2,000 words, in GloVe's layout."""
    vectors = sample_points(2000, 20, random_state=2)
    path = tmp_path / "vectors.txt"
    letters = [chr(97 + k) for k in range(26)]
    words = ["".join(letters[(k // 26**p) % 26] for p in range(3)) for k in range(2000)]
    path.write_text(
        "".join(
            f"{word} {' '.join(f'{v:.4f}' for v in vector)}\n"
            for word, vector in zip(words, vectors, strict=True)
        )
    )
    return path


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs(name, tmp_path, made_up_food, made_up_words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = {
        "food": ["--data", made_up_food],
        "mnist": ["--data", "digits"],
        "clothes": ["--data", "digits"],
        "words": ["--data", made_up_words],
    }.get(name, [])
    result = reproduce(name, "-o", "out", *data)
    assert "runs, about" in result.stderr
    assert sorted(p.name for p in Path("out").iterdir()) == [
        ".ordinate",
        "README.md",
        "figure.png",
        "figure.svg",
        "results.csv",
    ]
    page = Path("out/README.md").read_text()
    assert EXPERIMENTS[name].claim in page
    assert "| claim | measured | verdict |" in page
    # Claims about time may fail on a busy machine; those about errors may not.
    if name in ("consistency", "landmarks", "networks", "words"):
        assert "DOES NOT HOLD" not in result.output
    if name == "food":
        assert "holds: every start ends in the same solution" in result.output
    with open("out/results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for value in ("error", "purity", "loss"):
        if value in rows[0]:
            found = [float(row[value]) for row in rows if row[value]]
            assert all(0 <= v < 20 for v in found)


def test_the_list_and_wrong_use(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = reproduce("list").output
    assert all(name in output for name in EXPERIMENTS)
    assert "must be one of" in reproduce("unheard-of", code=2).stderr
    assert "scale must be one of" in reproduce("food", "--scale", "huge", code=2).stderr
    assert "a run is n=2000" in reproduce("scaling", "--only", "n=7", code=2).stderr
    Path("out").mkdir()
    assert "--force" in reproduce("frontier", "-o", "out", code=4).stderr


def test_no_data_is_said_and_digits_offered_by_name(tmp_path, monkeypatch):
    from ordinate import datasets

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path / "cache"))
    monkeypatch.setitem(datasets.load_mnist.__kwdefaults__, "url", "http://127.0.0.1:9/")
    result = reproduce("mnist", code=3)
    assert "could not be fetched" in result.stderr
    assert "--data digits" in result.stderr
    assert not Path("reproduce-mnist").exists()


def test_some_runs_only():
    cells = EXPERIMENTS["scaling"].cells("paper")
    kept = choose_cells(cells, ["n=20000", "n=100000", "trial=0"])
    assert [cell["n"] for cell in kept] == [20_000, 100_000]


def test_means():
    rows = [{"a": 1, "v": 2.0}, {"a": 1, "v": 4.0}, {"a": 2, "v": None}]
    assert mean_by(rows, "a", value="v") == {(1,): (3.0, 1.0)}


def test_an_interruption_keeps_what_was_measured(tmp_path, monkeypatch):
    from ordinate.study.experiments import landmarks

    monkeypatch.chdir(tmp_path)
    calls = iter([[{"error": 0.5}], None])

    def measure(cell, data):
        found = next(calls)
        if found is None:
            raise KeyboardInterrupt
        return found

    stopped = landmarks.EXPERIMENT._replace(measure=measure)
    monkeypatch.setitem(EXPERIMENTS, "landmarks", stopped)
    result = reproduce("landmarks", "-o", "out", code=130)
    assert "the results so far are in out-partial.csv" in result.stderr
    assert Path("out-partial.csv").read_text() == "error\n0.5\n"
    assert not Path("out").exists()
