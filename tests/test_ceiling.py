"""What repeated answers say about any map: the ceiling of accuracy, two-way and three-way."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import Triplets, answers, metrics
from ordinate.cli import app
from ordinate.data.summary import Agreement, ceiling
from ordinate.evaluation.three_way import three_way


@pytest.mark.parametrize("n_choices", [2, 3])
@pytest.mark.parametrize("concentration", [0.3, 1.0, 5.0])
def test_a_perfect_map_lies_between_the_bounds(n_choices, concentration):
    """Questions of all kinds: the truth is known, and so is how often two answers agree."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(n_choices, concentration), size=20_000)
    bound = ceiling(Agreement(float((p**2).sum(axis=1).mean()), 0.0, 1000), n_choices)
    assert bound.low <= p.max(axis=1).mean() <= bound.high


@pytest.mark.parametrize("n_choices", [2, 3])
def test_the_ceiling_is_reached_where_all_questions_are_alike(n_choices):
    for p in (0.6, 0.8, 1.0):
        others = (1 - p) / (n_choices - 1)
        agree = p**2 + (n_choices - 1) * others**2
        assert ceiling(Agreement(agree, 0.01, 1000), n_choices).high == pytest.approx(p)


def repeated(p, n_questions, times, seed):
    """Questions about 40 items, each asked several times, answered one way with probability p."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(40)[:3] for _ in range(n_questions)]).repeat(times, axis=0)
    return Triplets(rows, n_items=40).answered(rng.random(len(rows)) < p)


def test_its_error_is_that_of_many_runs():
    found = [ceiling(repeated(0.8, 400, 3, seed)._agreement) for seed in range(60)]
    highs = np.array([bound.high for bound in found])
    assert highs.mean() == pytest.approx(0.8, abs=0.01)
    assert highs.std() == pytest.approx(np.mean([bound.error for bound in found]), rel=0.3)


def test_few_repeats_tell_nothing():
    assert ceiling(repeated(0.8, 20, 2, 0)._agreement) is None
    assert repeated(0.8, 20, 2, 0).summarise().ceiling is None


def test_answers_by_chance_have_a_ceiling_near_chance():
    bound = ceiling(Agreement(0.49, 0.02, 1000))
    assert bound.low == bound.high == 0.5
    assert bound.error > 0.03  # the root is steep: it may well be 0.55


def test_the_summary_shows_it():
    summary = repeated(0.8, 400, 3, 0).summarise()
    assert summary.ceiling == pytest.approx(0.8, abs=0.03)
    assert f"{summary.ceiling:.1%}  no map is right more often" in str(summary)


def odd_answers(points, n, wrong, seed):
    rng = np.random.default_rng(seed)
    trio = np.array([rng.permutation(len(points))[:3] for _ in range(n)])
    distance = ((points[trio[:, [1, 0, 0]]] - points[trio[:, [2, 2, 1]]]) ** 2).sum(axis=2)
    odd = distance.argmin(axis=1)  # the closest pair is opposite the odd one
    guess = rng.random(n) < wrong
    odd = np.where(guess, rng.integers(3, size=n), odd)
    first, second = (odd + 1) % 3, (odd + 2) % 3
    at = np.arange(n)
    return answers.odd_one_out(
        trio[at, first], trio[at, second], trio[at, odd], items=range(len(points))
    )


def test_three_way_accuracy_counts_answers_that_are_right_altogether():
    points = np.random.default_rng(1).normal(size=(8, 2))
    found = metrics.accuracy(points, odd_answers(points, 3000, 0.3, 2))
    assert found.three_way.n_answers == 3000
    assert found.three_way.accuracy == pytest.approx(0.8, abs=0.02)  # 0.7 + 0.3 / 3
    assert found.three_way.error == pytest.approx((0.8 * 0.2 / 3000) ** 0.5, rel=0.05)
    assert found.three_way.ceiling.high == pytest.approx(0.8, abs=0.02)
    assert found.three_way.accuracy < found.accuracy < 1


def test_the_most_central_is_three_way_too():
    points = np.array([[0.0], [1], [3]])
    right = answers.most_central([0], [1], [2], centre=[1])
    wrong = answers.most_central([0], [1], [2], centre=[0])
    assert metrics.accuracy(points, right).three_way.accuracy == 1
    assert metrics.accuracy(points, wrong).three_way.accuracy == 0


def test_a_map_that_knows_nothing_picks_any_of_three():
    triplets = answers.odd_one_out([0, 1], [1, 2], [2, 3], items=range(4))
    assert three_way(np.full(4, 0.5), triplets).accuracy == pytest.approx(1 / 3)


def test_other_answers_are_not_three_way():
    assert three_way(np.ones(1), Triplets([[0, 1, 2]])) is None
    ranked = answers.ranking(["a"], [["b", "c", "d"]])
    assert three_way(np.ones(len(ranked)), ranked) is None
    votes = answers.votes([0], [1], [2], [3], [2])
    assert three_way(np.ones(2), votes) is None


def test_commands_show_accuracy_below_its_ceiling(tmp_path):
    points = np.random.default_rng(1).normal(size=(8, 2))
    rows = odd_answers(points, 600, 0.3, 2).rows[::2]
    file = tmp_path / "odd.csv"
    file.write_text(
        "\n".join(["kept_a,kept_b,odd_one_out", *(f"i{a},i{b},i{o}" for a, b, o in rows)])
    )
    run = CliRunner().invoke
    fitted = run(app, ["fit", str(file), "-o", str(tmp_path / "map"), "--folds", "2"])
    assert fitted.exit_code == 0, fitted.output
    assert "(chance 50%, ceiling " in fitted.output
    assert "three-way" in fitted.output
    assert "(chance 33%, ceiling " in fitted.output
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    held_out = record["held_out"]
    assert held_out["accuracy"] < held_out["ceiling"]["high"] < 1
    assert held_out["three_way"]["n_answers"] == 600
    assert "three-way" in (tmp_path / "map" / "report.html").read_text(encoding="utf-8")
    scored = run(app, ["score", str(tmp_path / "map"), str(file), "--json"])
    assert json.loads(scored.stdout)["three_way"]["ceiling"]["high"] < 1
    assert "(chance 33%, ceiling " in run(app, ["score", str(tmp_path / "map"), str(file)]).stdout
