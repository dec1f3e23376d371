"""Which accuracy is which: questions drawn at random, and those that a map has chosen."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import STE, Triplets, asking, metrics, readers, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.data.columns import source_words
from ordinate.evaluation.held_out import hold_out
from ordinate.files.inputs import open_in_blocks

WORDS = ["random", "active", "repeat", ""]


@pytest.fixture(scope="module")
def truth():
    return 3 * sample_points(20, random_state=0)


@pytest.fixture(scope="module")
def answers(truth):
    """Return answers to random questions, and worse ones to chosen questions."""
    random = sample_triplets(truth, 400, random_state=1)
    active = sample_triplets(truth, 600, noise=0.4, random_state=2)
    source = ["random"] * 400 + ["active"] * 600
    return Triplets(np.concatenate([random.rows, active.rows]), n_items=20, source=source)


def test_the_column_goes_where_rows_go():
    rows = [[2, 1, 0], [0, 1, 2], [1, 0, 2], [0, 2, 1]]
    triplets = Triplets(rows, source=WORDS)
    assert source_words(triplets[[3, 1]].source).tolist() == ["", "active"]
    assert source_words(triplets.grouped().triplets.source).tolist() == [
        *("active", "", "repeat", "random")
    ]
    both = Triplets.concatenate([triplets, triplets])
    assert source_words(both.source).tolist() == 2 * WORDS
    assert source_words(Triplets.from_frame(both.to_arrow()).source).tolist() == 2 * WORDS
    with pytest.raises(ValueError, match="some tables have the column source"):
        Triplets.concatenate([triplets, Triplets(rows)])


def test_other_words_are_refused_and_columns_of_them_are_something_else():
    with pytest.raises(ValueError, match="source must be one of random, active, repeat, check"):
        Triplets([[0, 1, 2]], source=["MTurk"])
    with pytest.raises(ValueError, match="one value per row"):
        Triplets([[0, 1, 2]], source=["random", "random"])
    frame = Triplets([[0, 1, 2]]).to_arrow().append_column("source", [["MTurk"]])
    assert Triplets.from_frame(frame).source is None


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out"])
def test_readers_carry_the_column(tmp_path, kind):
    asked = asking.design_questions(8, 40, kind=kind, repeats=0.2, checks=0.1, random_state=0)
    path = tmp_path / "questions.csv"
    asking.write_questions(path, asked, [f"item {k}" for k in range(8)])
    rows = list(csv.DictReader(path.read_text().splitlines()))
    answer = "response" if kind == "triplet" else "odd"
    for row in rows:
        row[answer] = row["second"]
        row["participant"] = f"p{row['block']}"
    with path.open("w") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    triplets = readers.read(path).triplets
    expected = [row["source"] for row in rows if row["source"] != "check"]
    per_answer = 1 if kind == "triplet" else 2
    assert source_words(triplets.source).tolist() == np.repeat(expected, per_answer).tolist()
    assert triplets.participant_labels.tolist() == ["p1"]


def test_what_is_read_in_blocks_says_what_it_cannot(tmp_path):
    path = tmp_path / "answers.csv"
    lines = ["anchor,near,far,source", *(f"a,b,c{k},active" for k in range(50))]
    path.write_text("\n".join(lines))
    source = open_in_blocks(path)
    assert source.load().source is None
    assert any("does not keep the column source" in note for note in source.notes)
    path.write_text("\n".join(lines).replace("active", "MTurk"))
    assert open_in_blocks(path).notes == []
    assert readers.read(path).triplets.source is None


def test_what_is_no_such_column_is_left_alone(tmp_path):
    path = tmp_path / "answers.json"
    trials = [{"anchor": "a", "near": "b", "far": f"c{k}", "source": ["x", "y"]} for k in range(9)]
    path.write_text(json.dumps(trials))
    assert readers.read(path).triplets.source is None
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far,source,Source\na,b,c,random,active\nb,a,c,random,active\n")
    assert len(readers.read(path).triplets) == 2
    path.write_text("anchor,near,far,source\na,b,c,Random\nb,a,c,\nc,a,b,active\n")
    assert source_words(readers.read(path).triplets.source).tolist() == ["random", "", "active"]


def test_accuracy_is_that_of_random_questions(truth, answers):
    found = metrics.accuracy(truth, answers)
    alone = metrics.accuracy(truth, Triplets(answers.rows[:400], n_items=20))
    assert found._replace(by_source=None) == alone
    assert found.by_source.random.accuracy == found.accuracy
    assert found.by_source.active.n_triplets == 600
    assert found.by_source.active.accuracy < found.accuracy - 0.1


def test_repeats_count_as_what_they_repeat(truth):
    rows = sample_triplets(truth, 30, noise="none", random_state=0).rows
    rows = np.concatenate([rows, rows[[0, 1, 20]][:, [0, 2, 1]]])  # answered the other way
    source = ["random"] * 15 + ["active"] * 15 + ["repeat"] * 3
    found = metrics.accuracy(truth, Triplets(rows, source=source)).by_source
    assert (found.random.n_triplets, found.active.n_triplets) == (17, 16)
    assert found.random.accuracy == pytest.approx(15 / 17)


def test_nothing_is_chosen_and_nothing_random(truth, answers):
    assert metrics.accuracy(truth, answers[:400]).by_source is None
    found = metrics.accuracy(truth, answers[400:])
    assert found.by_source.random is None
    assert found.accuracy == found.by_source.active.accuracy
    unknown = Triplets(answers.rows[:3], n_items=20, source=["random", "active", ""])
    found = metrics.accuracy(truth, unknown).by_source
    assert (found.random.n_triplets, found.active.n_triplets) == (1, 1)


def test_held_out_accuracy_is_that_of_random_questions(answers):
    held_out, predicted = hold_out(STE(random_state=0), answers, folds=3)
    assert held_out.n_triplets == 400
    assert held_out.accuracy == pytest.approx(predicted[:400].mean())
    assert held_out.by_source.active.accuracy == pytest.approx(predicted[400:].mean())


def test_partial_fit_keeps_the_column_where_all_have_it(answers):
    model = STE(random_state=0).fit(answers[:500])
    model.partial_fit(answers[500:])
    assert (model._data.source == answers.source).all()
    model.partial_fit(answers.rows[:3])
    assert model._data.source is None


def test_commands_say_which_accuracy_is_which(tmp_path, monkeypatch, answers):
    monkeypatch.chdir(tmp_path)
    table = answers.to_arrow().to_pydict()
    with open("answers.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    run = CliRunner().invoke
    said = run(app, ["fit", "answers.csv", "--method", "ste", "--folds", "3", "-o", "out"])
    assert said.exit_code == 0, said.output
    flat = " ".join(said.output.split())
    assert "this is the accuracy of questions drawn at random; of those that were chosen" in flat
    record = json.loads((tmp_path / "out/run.json").read_text())["held_out"]
    assert record["n_triplets"] == 400
    assert record["by_source"]["active"]["n_triplets"] == 600
    assert "of questions drawn at random" in " ".join(
        (tmp_path / "out/report.html").read_text().split()
    ).replace('"of","', "of ")
    said = run(app, ["score", "out", "answers.csv"])
    flat = " ".join(said.output.split())
    assert "of 400 triplets agree" in flat
    assert "of those that were chosen" in flat
    said = run(app, ["score", "out", "answers.csv", "--only", "source=active", "--json"])
    scored = json.loads(said.stdout)
    assert scored["by_source"]["random"] is None
    said = run(app, ["score", "out", "answers.csv", "--only", "source=active"])
    assert "questions that were all chosen" in " ".join(said.output.split())
    said = run(app, ["convert", "answers.csv", "-o", "fast", "--fast"])
    assert "has no column source" in said.output
