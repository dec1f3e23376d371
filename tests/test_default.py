"""What a fit does where no method is named: unseen answers choose, and everyone is told."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ordinate
from ordinate import STE, OrdinalEmbedding, Triplets, ondisk, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.estimators.methods import choose
from ordinate.evaluation import held_out
from ordinate.evaluation.analysis import analyse


def some_triplets(n=12, m=600, seed=0):
    return sample_triplets(2 * sample_points(n, random_state=seed), m, random_state=seed + 1)


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


def write_answers(path, triplets):
    rows = [",".join(f"item {k}" for k in row) for row in triplets.rows]
    Path(path).write_text("\n".join(["anchor,near,far", *rows]) + "\n")


def test_the_choice_is_told_everywhere(run):
    write_answers("answers.csv", some_triplets())
    write_answers("new.csv", some_triplets(m=300, seed=0)[:200])
    told = run("fit", "answers.csv", "-o", "out", "--folds", 2).stdout
    record = json.loads(Path("out/run.json").read_text())
    assert record["method"] == "ordinal"
    assert "by ordinal (what predicts unseen answers best)" in told
    choice, judged = record["choice"], record["held_out"]
    assert choice["told"] in told
    assert "chosen by unseen answers" in choice["told"]
    assert choice["n_triplets"] == 600
    assert len(choice["tried"]) > 1
    chosen = {name: choice["maker"][name] for name in ("power", "slope", "regularization")}
    assert chosen.items() <= choice["tried"][0].items()
    likelihood, error = judged["log_likelihood"], judged["calibration"]["error"]
    assert -np.log(2) < likelihood < 0
    assert f"held-out log-likelihood {likelihood:.4f} per triplet" in told
    assert f"expected calibration error {error:.1%}" in told
    page = Path("out/report.html").read_text(encoding="utf-8")
    for text in (choice["told"], "how people answer", f"{likelihood:.4f}", '"predicted":['):
        assert text in page

    model = ordinate.load("out")
    assert model.describe_choice() == choice["told"]
    assert model.maker_ == choice["maker"]

    scored = json.loads(run("score", "out", "new.csv", "--json").stdout)
    answers = ordinate.as_triplets("new.csv")
    given = model.predict_proba(answers)[:, 1]
    assert scored["log_likelihood"] == pytest.approx(np.log(given).mean())
    assert 0 <= scored["calibration_error"] < 0.3
    shown = run("score", "out", "new.csv").stdout
    assert f"log-likelihood {scored['log_likelihood']:.4f} per triplet" in shown
    assert f"expected calibration error {scored['calibration_error']:.1%}" in shown


def test_maps_without_probabilities_are_scored_all_the_same(run):
    write_answers("answers.csv", some_triplets())
    run("fit", "answers.csv", "-o", "out", "--method", "soe", "--folds", 0, "-q")
    assert json.loads(run("score", "out", "answers.csv", "--json").stdout)["log_likelihood"] is None
    Path("out/model.json").write_text("{}")
    result = run("score", "out", "answers.csv")
    assert "no probabilities are known: out/model.json" in result.stderr.replace("\\", "/")
    assert "log-likelihood" not in result.stdout
    Path("out/model.json").unlink()
    assert json.loads(run("score", "out", "answers.csv", "--json").stdout)["log_likelihood"] is None


def test_where_nothing_can_be_chosen_the_most_likely_map_is_made(tmp_path):
    many = some_triplets()
    given = choose(many, 2, noise="thurstone", n_init=2)
    assert isinstance(given.estimator, STE)
    assert (given.estimator.noise, given.estimator.n_init) == ("thurstone", 2)
    assert given.estimator.regularization == 0.0
    assert "nothing was chosen by unseen answers, since " in given.reason
    assert "noise" in given.reason
    assert choose(many, 2, regularization=0.5).estimator.regularization == 0.5
    handful = choose(many[:40], 2)
    assert handful.estimator.regularization == 1.0
    assert "fewer than 50 answers cannot choose" in handful.reason
    assert "with a ridge of 1, as answers are few" in handful.reason
    ondisk.write(many, tmp_path / "fast")
    stored = choose(ondisk.open_triplets(tmp_path / "fast", memory_limit=1000), 2)
    assert isinstance(stored.estimator, OrdinalEmbedding)


def test_the_command_line_names_its_own_options(run):
    write_answers("answers.csv", some_triplets())
    told = run("fit", "answers.csv", "-o", "out", "--folds", 0, "--starts", 2).stdout
    assert "by ste" in told
    assert "since --starts was given" in told


def test_a_handful_of_answers_is_refused():
    triplets = some_triplets()
    with pytest.raises(ValueError, match="4 answers cannot choose what makes a map: 5 are the"):
        OrdinalEmbedding().fit(triplets[:4])


def test_of_many_answers_one_fifth_is_held_out_where_each_fit_chooses(monkeypatch):
    triplets = some_triplets()
    monkeypatch.setattr(held_out, "MANY_TO_CHOOSE_BY", 500)
    told = []
    found = analyse(OrdinalEmbedding(random_state=0), triplets, tell=told.append).held_out
    assert told == ["held-out answers", "the map of all answers"]
    assert found.n_triplets == pytest.approx(120, abs=5)
    assert found.how.startswith("one fifth of the rows are predicted by a map of the rest")
    found = analyse(STE(random_state=0), triplets).held_out
    assert (found.n_triplets, found.how[:8]) == (len(triplets), "each row")


def test_held_out_probabilities_are_those_of_maps_that_had_not_seen_the_answers():
    triplets = some_triplets(m=2000)
    found = analyse(STE(random_state=0), triplets)
    judged, seen = found.held_out, np.log(found.model.predict_proba(triplets)[:, 1]).mean()
    assert -np.log(2) < judged.log_likelihood < seen
    assert judged.calibration.counts.sum() == 2000
    assert judged.calibration.predicted.min() >= 0.5
    assert judged.calibration.error < 0.05
    assert analyse(ordinate.SOE(random_state=0), triplets).held_out.log_likelihood is None


def of_choice(*rows):
    model = OrdinalEmbedding()
    names = ("power", "slope", "regularization", "behind", "error", "accuracy")
    model.embedding_ = np.zeros((3, 2))
    model.choice_ = [dict(zip(names, row, strict=True)) for row in rows]
    return model.describe_choice()


def test_a_choice_in_a_sentence():
    best, near = (0.5, 0.3, 0.0213, 0.0, 0.0, 0.8), (0.25, 1.0, 0.1, 0.001, 0.0012, 0.79)
    assert of_choice(best) == "power 0.5, slope 0.3, ridge 0.0213: chosen by unseen answers"
    assert of_choice(best, near) == (
        "power 0.5, slope 0.3, ridge 0.0213: chosen by unseen answers; next best power 0.25, slope "
        "1, ridge 0.1, behind by 0.0010 ± 0.0012 in log-likelihood"
    )
    assert of_choice((*near[:-1], 0.81), best) == (
        "power 0.25, slope 1, ridge 0.1: chosen by unseen answers; right more often (by 1.0% of "
        "them) than power 0.5, slope 0.3, ridge 0.0213, and behind its log-likelihood by no more "
        "than 0.0010 ± 0.0012"
    )


def test_one_answer_is_one_answer():
    one = Triplets(some_triplets().rows, answer=np.zeros(len(some_triplets()), int))
    with pytest.raises(ValueError, match="1 answer cannot choose"):
        OrdinalEmbedding().fit(one)
    with pytest.raises(ValueError, match="1 answer is too few: name the number"):
        ordinate.choose_dimension(one)


def test_dimensions_to_choose_among_can_be_read_again():
    with pytest.raises(ValueError, match="n_components must be a list, a range"):
        OrdinalEmbedding(d for d in (1, 2)).fit(some_triplets())
