"""Lists of questions in the hands of those who ask: their items, their answers, their pools."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import STE, Triplets, asking, readers, sample_points, sample_triplets
from ordinate.asking import designs
from ordinate.cli import app

LABELS = ["Äpfel", "猫", "кот", "🐱", "a, b", "cat.jpg"]


@pytest.fixture
def listed(tmp_path):
    """Return a list of questions for a language model, as records."""
    asked = asking.design_questions(len(LABELS), 40, checks=0.1, random_state=0)
    path = tmp_path / "questions.jsonl"
    asking.write_questions(path, asked, LABELS)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path, records):
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def picks(record):
    """Return a place, 0 or 1, that depends on the question alone."""
    return record["question"] % 2


@pytest.mark.parametrize(
    "spelled",
    [
        lambda record: ("first", "second")[picks(record)],
        lambda record: ("First", "Second")[picks(record)],
        lambda record: (1, 2)[picks(record)],
        lambda record: ("1", "2")[picks(record)],
        lambda record: ("A", "B")[picks(record)],
        lambda record: record[("first", "second")[picks(record)]],
    ],
    ids=["first", "First", "1", "'1'", "A", "label"],
)
def test_answers_of_a_language_model_come_back(tmp_path, listed, spelled):
    filled = [record | {"response": spelled(record)} for record in listed]
    triplets = readers.read(write(tmp_path / "answered.jsonl", filled)).triplets
    asked = [record for record in listed if record["source"] != "check"]
    expected = [
        [
            record["anchor"],
            *(record[("first", "second")[k]] for k in (picks(record), 1 - picks(record))),
        ]
        for record in asked
    ]
    assert triplets.items[triplets.rows].tolist() == expected


def test_a_refusal_is_named_and_dropped_on_request(tmp_path, listed):
    filled = [record | {"response": 1 + picks(record)} for record in listed]
    row = next(k for k, record in enumerate(filled) if k > 3 and record["source"] != "check")
    filled[row]["response"] = "I cannot answer that."
    path = write(tmp_path / "answered.jsonl", filled)
    with pytest.raises(readers.ReadError, match=rf"row {row} .*'I cannot answer that.'"):
        readers.read(path)
    kept = readers.read(path, drop="unanswered")
    assert kept.n_used == sum(record["source"] != "check" for record in listed) - 1
    filled[row]["response"] = None  # nothing said is nothing to ask about
    assert readers.read(write(path, filled)).n_used == kept.n_used


def test_a_timeline_of_jspsych_takes_the_list_and_its_data_come_back(tmp_path):
    """A trial's data are its timeline variables and what the plugin adds; two files of people."""
    asked = asking.design_questions(len(LABELS), 30, blocks=2, random_state=0)
    path = tmp_path / "questions.json"
    asking.write_questions(path, asked, LABELS)
    variables = json.loads(path.read_text(encoding="utf-8"))["timeline_variables"]
    assert {frozenset(one) for one in variables} == {
        frozenset(["question", "anchor", "first", "second", "response", "block", "source"])
    }
    folder = tmp_path / "data"
    folder.mkdir()
    for block in (1, 2):
        trials = [{"trial_type": "html-keyboard-response", "response": " ", "rt": 900}]
        trials += [
            variable
            | {"trial_type": "html-button-response", "response": "first", "rt": 700}
            | {"stimulus": f"Which is more like {variable['anchor']}?", "trial_index": k}
            for k, variable in enumerate(variables)
            if variable["block"] == block
        ]
        (folder / f"p{block}.json").write_text(json.dumps(trials), encoding="utf-8")
    found = readers.read(folder)
    expected = [v for v in variables if v["source"] != "check"]
    assert len(found.triplets) == len(expected)
    assert {*found.triplets.participant_labels.tolist()} == {"p1", "p2"}


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("label\ncat\ndog\n", "--budget 5", "names 2 items, and a question compares three"),
        ("label\ncat\ndog\ncat\nant\n", "--budget 5", "labels occur more than once: cat"),
        ("label\ncat\ndog\nant\n", "--budget 9", "there are 3 different questions, and 9"),
        ("label\ncat\ndog\nant\n", "--budget 3 --random-share 0.5", "--random-share goes with"),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path, content, arguments, message):
    items = tmp_path / "items.csv"
    items.write_text(content)
    output = tmp_path / "questions.csv"
    options = [*arguments.split(), "--repeats", "0", "--checks", "0", "-o", str(output)]
    said = CliRunner().invoke(app, ["ask", str(items), *options])
    assert said.exit_code
    assert message in " ".join(said.output.split())
    assert not output.exists()


def test_a_budget_of_one(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("label\ncat\ndog\nant\n")
    said = CliRunner().invoke(app, ["ask", str(items), "--budget", "1", "-o", f"{items}.tsv"])
    assert "1 question about 3 items" in " ".join(said.output.split())


@pytest.fixture(scope="module")
def model():
    points = 3 * sample_points(20, random_state=0)
    return STE(random_state=0).fit(sample_triplets(points, 1500, random_state=0))


def test_only_some_questions_can_be_asked(model):
    pool = designs.draw_questions(20, 200, np.random.default_rng(0))
    asked = asking.next_questions(model, 60, among=pool, random_state=0)
    code = designs.question_code(asked, 20)
    assert len(np.unique(code)) == 60
    assert np.isin(code, designs.question_code(pool, 20)).all()
    gains = asking.active.gain(model.embedding_, model.covariance_, model._loss(2), asked)
    of_all = asking.active.gain(model.embedding_, model.covariance_, model._loss(2), pool)
    assert gains.mean() > 1.3 * of_all.mean()
    every = asking.next_questions(model, 200, among=pool, random_state=0)
    assert len(np.unique(designs.question_code(every, 20))) == 200
    about = asking.next_questions(model, 10, among=pool, about=[3], random_state=0)
    assert (about == 3).any(axis=1).all()


@pytest.mark.parametrize(
    ("among", "options", "message"),
    [
        ([[0, 1, 2], [0, 2, 1]], {}, "there are 1 different questions, and 5 are wanted"),
        ([[0, 1, 20]], {}, "has an id beyond 19"),
        ([[0, 1, 2]], {"landmarks": 4}, "landmarks and among do not go together"),
        ([[0, 1, 2]], {"new": [20]}, "among and new do not go together"),
    ],
)
def test_pools_that_do_not_do(model, among, options, message):
    with pytest.raises(ValueError, match=message):
        asking.choose_questions(model, 5, among=among, **options)


def test_answers_that_must_be_explained_can_be_converted_for_ask(tmp_path):
    """`ask` has no options for that, so that remedies must say where they can be given."""
    points = 2 * sample_points(8, random_state=0)
    names = [f"item {k}" for k in range(8)]
    rows = sample_triplets(points, 400, random_state=0).rows
    model = STE(init=points, n_init=1, regularization=0.1).fit(Triplets(rows, items=names))
    model.save(tmp_path / "map")
    codes = tmp_path / "about koala.csv"
    told = ["koala,item 1,item 2,0", "koala,item 3,item 4,1", "koala,item 5,item 1,0"]
    codes.write_text("\n".join(["anchor,first,second,response", *told]))

    def ask(answers):
        words = f"ask --after {tmp_path}/map --new koala --budget 2 -o {tmp_path}/more.csv".split()
        return CliRunner().invoke(app, [*words, "--answers", str(answers)])

    done = ask(codes)
    assert done.exit_code == 3
    said = " ".join(done.output.split())
    assert f"`ordinate convert '{codes}' -o plain.csv` does" in said
    assert "--response 0=first,1=second" in said
    plain = tmp_path / "plain.csv"
    words = ["convert", str(codes), "-o", str(plain), "--response", "0=first,1=second"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert ask(plain).exit_code == 0
