"""What the command line says of chance: fit, score and check of answers that mean nothing."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import plain
from typer.testing import CliRunner

from ordinate import Triplets, answers, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.data.advice import problems
from ordinate.data.summary import agreement, questions
from ordinate.evaluation.metrics import in_words
from ordinate.study import demo


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command; relative paths are in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


def random_rows(n, m, seed):
    return np.random.default_rng(seed).random((m, n)).argsort(axis=1)[:, :3]


def write(path, rows, **columns):
    table = np.column_stack([rows, *columns.values()])
    header = ",".join(["anchor", "near", "far", *columns])
    np.savetxt(path, table, "%s", delimiter=",", header=header, comments="")


def test_a_map_of_noise_says_so_everywhere(run):
    write("noise.csv", random_rows(30, 3000, 0))
    result = run("fit", "noise.csv", "-o", "out")
    record = json.loads(Path("out/run.json").read_text())
    held_out = record["held_out"]
    share = in_words(held_out)
    assert share.startswith(f"{held_out['accuracy']:.1%} ± {held_out['error']:.1%} (chance 50%, ")
    assert held_out["chance"] == 0.5
    assert held_out["verdict"] == "no better than chance"
    said = f"unseen answers are predicted no better than chance: {share}"
    assert f"error: {said} (do not read this map" in result.stderr
    assert f"held-out accuracy {share}: no better than chance" in result.stdout
    assert record["problems"][0]["what"] == said
    assert said in Path("out/report.html").read_text()
    picture = Path("out/embedding.svg").read_text()
    assert "chance" in picture
    assert "no better than" in picture.replace("\n", " ")


def test_a_sound_map_shows_chance_without_alarm(run):
    rows = sample_triplets(sample_points(30, random_state=0), 3000, random_state=1).rows
    write("sound.csv", rows)
    result = run("fit", "sound.csv", "-o", "out")
    assert re.search(r"\(chance 50%(, ceiling [\d.]+%)?\): better than chance", result.stdout)
    assert "error" not in result.stderr
    record = json.loads(Path("out/run.json").read_text())
    assert record["held_out"]["verdict"] == "better than chance"
    assert not [p for p in record["problems"] if "unseen" in p["what"]]
    page = Path("out/report.html").read_text()
    assert '"verdict":null' in page


def test_too_few_answers_to_tell(run):
    write("few.csv", random_rows(8, 30, 0))
    result = run("fit", "few.csv", "-o", "out")
    assert "too few answers to distinguish that from chance" in result.stderr
    assert json.loads(Path("out/run.json").read_text())["held_out"]["verdict"] == (
        "too few answers to tell"
    )


def test_a_score_of_the_maps_own_answers_is_called_that(run):
    rows = sample_triplets(sample_points(30, random_state=0), 4000, random_state=1).rows
    write("train.csv", rows[:3000])
    write("test.csv", rows[3000:])
    run("fit", "train.csv", "-o", "out", "-q")
    held_out = json.loads(Path("out/run.json").read_text())["held_out"]
    for place in ("out", "out/embedding.csv"):
        own = run("score", place, "train.csv").stdout
        assert "warning: the map was made from the answers in train.csv" in own
        assert f"which is {in_words(held_out)}" in own
    new = run("score", "out", "test.csv").stdout
    assert "made from a file other than test.csv" in new
    assert "warning" not in new
    own, new = (
        json.loads(run("score", "out", name, "--json").stdout) for name in ("train.csv", "test.csv")
    )
    assert own["same_file"] is True
    assert new["same_file"] is False
    assert new["chance"] == 0.5
    p = new["accuracy"]
    assert new["error"] == pytest.approx(np.sqrt(p * (1 - p) / 1000), rel=0.01)
    assert f"{p:.1%} ± {new['error']:.1%} (chance 50%) of 1,000 triplets" in (
        run("score", "out", "test.csv").stdout
    )
    run("fit", "train.csv", "-o", "unjudged", "-q", "--folds", 0)
    assert run("score", "unjudged", "train.csv").stdout.endswith("its accuracy on new ones\n")


def test_a_map_without_its_record_is_not_known(run):
    rows = sample_triplets(sample_points(30, random_state=0), 3000, random_state=1).rows
    write("train.csv", rows)
    run("fit", "train.csv", "-o", "out", "-q", "--folds", 0)
    Path("out/other.csv").write_bytes(Path("out/embedding.csv").read_bytes())
    Path("out/embedding.csv").rename("map.csv")
    for place in ("map.csv", "out/other.csv"):
        assert "there is no run.json" in run("score", place, "train.csv").stdout
        assert json.loads(run("score", place, "train.csv", "--json").stdout)["same_file"] is None
    Path("run.json").write_text("[1, 2]")
    Path("map.csv").rename("embedding.csv")
    assert "there is no run.json" in run("score", "embedding.csv", "train.csv").stdout


def test_answers_about_unknown_items_are_counted(run):
    Path("map.csv").write_text("label,dim1\n1,0\n2,1\n3,4\n")
    Path("answers.csv").write_text("anchor,near,far\n1,2,3\n1,3,2\n1,2,4\n5,2,3\n")
    result = run("score", "map.csv", "answers.csv")
    assert "50.0% ± " in result.stdout
    assert "of 2 triplets" in result.stdout
    assert "2 more triplets were left out, since 2 items are not on the map: 4, 5" in (
        result.stdout
    )
    record = json.loads(run("score", "map.csv", "answers.csv", "--json").stdout)
    assert (record["triplets"], record["left_out"]) == (2, 2)
    assert record["unknown_items"] == ["4", "5"]
    Path("answers.csv").write_text("anchor,near,far\n1,2,4\n5,2,3\n")
    assert (
        "every answer in answers.csv names an item"
        in run("score", "map.csv", "answers.csv", code=3).stderr
    )


def test_scores_know_answers_of_several_rows(run):
    write("train.csv", random_rows(10, 400, 0))
    run("fit", "train.csv", "-o", "out", "-q", "--folds", 0)
    odd = random_rows(10, 200, 1)
    np.savetxt("odd.csv", odd, "%d", delimiter=",", header="kept_a,kept_b,odd_one_out", comments="")
    record = json.loads(run("score", "out", "odd.csv", "--json").stdout)
    assert (record["triplets"], record["answers"]) == (400, 200)
    assert "of 400 triplets of 200 answers" in run("score", "out", "odd.csv").stdout


def check(triplets, word):
    return [p.severity for p in problems(triplets) if word in p.what]


COIN = "coin tosses"


def test_check_knows_noise_by_questions_asked_again():
    """In 95 % of sets of random answers; never where 30 % are wrong."""
    noise = [check(Triplets(random_rows(10, 2500, seed)), COIN) for seed in range(40)]
    assert sum(found == ["error"] for found in noise) >= 38
    sound = [
        sample_triplets(sample_points(10, random_state=s), 2500, noise=0.3, random_state=s + 99)
        for s in range(40)
    ]
    assert sum(bool(check(triplets, COIN)) for triplets in sound) == 0


def test_answers_of_two_rows_are_not_two_proofs():
    """Each odd-one-out twice: pairs of rows agree or not together."""
    odd = random_rows(12, 400, 0)
    twice = np.concatenate([odd, odd[:, np.random.default_rng(1).permutation(3)]])
    rows = answers.odd_one_out(*twice.T, items=range(12))
    asked = questions(rows.rows, rows.n_items)
    apart, together = agreement(asked, None, None), agreement(asked, None, rows.answer)
    assert together.share == apart.share
    assert together.error == pytest.approx(np.sqrt(2) * apart.error)


def test_weak_but_sure_agreement_is_no_coin():
    """Of 60,000 pairs 51.5 % agree: far from people at their best, and from chance."""
    rng = np.random.default_rng(0)
    first = random_rows(60, 60_000, 0)
    again = np.where((rng.random(60_000) < 0.515)[:, None], first, first[:, [0, 2, 1]])
    found = check(
        Triplets(np.concatenate([first, again])), "two answers to the same question agree"
    )
    assert found == ["warning"]
    assert not check(Triplets(np.concatenate([first, again])), COIN)


def test_few_questions_asked_again_cannot_tell():
    assert check(Triplets(random_rows(50, 3000, 0)), "too few to tell whether people agree") == [
        "note"
    ]
    assert check(Triplets(random_rows(10, 500, 1)), "too few to distinguish that from") == [
        "warning"
    ]


def test_people_who_agree_with_themselves_alone():
    """Each answers by a coin, and the same when asked again: consistent, and no map of all."""
    asked = random_rows(8, 300, 0)
    rows, people = [], []
    for person in range(10):
        turn = np.random.default_rng(person).random(300) < 0.5
        own = np.where(turn[:, None], asked, asked[:, [0, 2, 1]])
        rows += [own, own]
        people += [f"p{person}"] * 600
    both = Triplets(np.concatenate(rows), participant=people)
    assert check(both, "two participants agree on a question in") == ["error"]
    assert "error" not in check(both, "two answers to the same question agree in")
    alike = Triplets(np.concatenate([rows[0]] * 20), participant=people)
    assert not check(alike, "two participants agree")


def test_check_counts_participants_that_are_left(run):
    rows = random_rows(10, 400, 0)
    write("people.csv", rows, participant=np.arange(400) % 4)
    words = ("--exclude-participants", "0,1")
    record = json.loads(run("check", "people.csv", *words, "--json").stdout)
    assert record["data"]["n_participants"] == 2


def test_the_demo_repeats_itself(run, monkeypatch):
    monkeypatch.setattr(demo, "draw", lambda *_: None)

    def figures():
        lines = run("demo", "-o", "digits.png", "--triplets", 20_000).output.splitlines()
        return [line for line in lines if not line.startswith("embedded in")]

    first = figures()
    assert first == figures()
    assert "(chance 50%, at best 85%)" in first[1]
