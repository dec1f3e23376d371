"""How many answers a map needs."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import (
    STE,
    Power,
    PowerEmbedding,
    asking,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.asking import planning
from ordinate.cli import app
from ordinate.kernels import losses
from ordinate.kernels.losses import power_family


@pytest.fixture(scope="module")
def plan():
    return asking.plan_study(40, 2)


@pytest.mark.parametrize("per_coordinate", [20, 80])
def test_predicted_errors_are_those_of_other_studies(plan, per_coordinate):
    """Ten studies with seeds of their own; the prediction is within 15 %."""
    errors = []
    for seed in range(10):
        points = 3 * sample_points(40, 2, random_state=100 + seed)
        answers = sample_triplets(
            points, per_coordinate * 80, noise=Power(0.5, 4.0, 0.05), random_state=seed
        )
        model = PowerEmbedding(2, power=0.5, slope=4.0, lapse=0.05, random_state=0)
        found = model.set_params(regularization=4 / 9).fit(answers).embedding_
        errors.append(procrustes_error(found, points, scale=True, relative=True))
    assert plan.error_of(per_coordinate * 80) == pytest.approx(np.mean(errors), rel=0.15)


def test_few_clear_answers_take_the_ridge_of_a_first_map():
    """The prior of the truth is far wider than a map of few clear answers, which it lets grow."""
    loss, errors = Power(0.5, 4.0, 0.05), []
    pilot = PowerEmbedding(2, power=0.5, slope=4.0, lapse=0.05)
    pilot.embedding_ = 10 * sample_points(1000, 2, random_state=0)
    for seed in range(12):
        points = 10 * sample_points(60, 2, random_state=100 + seed)
        answers = sample_triplets(points, 660, noise=loss, random_state=seed)
        model = PowerEmbedding(2, power=0.5, slope=4.0, lapse=0.05, random_state=0)
        found = model.set_params(regularization=1.0).fit(answers).embedding_
        errors.append(procrustes_error(found, points, scale=True, relative=True))
    predicted = asking.plan_study(60, 2, pilot=pilot).error_of(660)
    assert predicted == pytest.approx(np.mean(errors), rel=0.15)


def test_simulated_maps_are_as_large_as_that_of_the_pilot(monkeypatch):
    sizes = []

    def study(points, *_):
        sizes.append(points.var(axis=0).sum())
        return np.ones(7)

    monkeypatch.setattr("ordinate.asking.planning._study", study)
    pilot = STE()
    pilot.embedding_ = 2 * sample_points(6, 2, random_state=0)
    pilot.embedding_ = np.vstack([pilot.embedding_, [np.nan, np.nan]])  # an item without a place
    asking.plan_study(6, 2, pilot=pilot)
    assert sizes == pytest.approx([np.nanvar(pilot.embedding_, axis=0).sum()] * len(sizes))


def test_a_pilot_with_all_items_in_one_place_is_refused():
    pilot = STE()
    pilot.embedding_ = np.zeros((6, 2))
    with pytest.raises(ValueError, match="all items in one place"):
        asking.plan_study(6, 2, pilot=pilot)


def test_the_size_of_clear_maps():
    """Whatever the unit of length and the truth's size; of answers never clear, the largest."""
    points = sample_points(30, 2, random_state=0)

    def size(scale, loss):
        return scale * planning._clear_size(scale * points, loss, np.random.default_rng(0))

    clear, noisy = (size(scale, power_family(1, 1, 0)) for scale in (10, 1))
    assert clear == pytest.approx(noisy, rel=0.1)
    assert size(100, power_family(1, 0.01, 0)) == pytest.approx(10 * clear)
    assert size(1, losses.get("ckl")) == planning.SIZES[-1]


def test_errors_fall_and_are_inverted(plan):
    assert (np.diff(plan.error) <= 0).all()
    for error in (0.2, 0.1, 0.05, 0.02, 0.005):
        assert plan.error_of(plan.answers_for(error)) == pytest.approx(error, rel=0.01)
    assert plan.answers_for(0.005) == pytest.approx(4 * plan.answers_for(0.01), rel=0.01)


def test_an_error_that_any_study_has_needs_no_number(plan):
    assert plan.answers_for(0.99) is None


def test_a_pilot_with_unclear_answers_needs_more():
    needed = {}
    for scale in (1.0, 4.0):
        points = scale * sample_points(30, 2, random_state=0)
        pilot = STE(random_state=0).fit(sample_triplets(points, 3000, random_state=0))
        needed[scale] = asking.plan_study(30, 2, pilot=pilot).answers_for(0.1)
    assert needed[1.0] > 5 * needed[4.0]


def test_the_same_seed_plans_the_same():
    one, other, third = (asking.plan_study(5, 1, random_state=seed).error for seed in (1, 1, 2))
    assert (one == other).all()
    assert (one != third).any()


def test_command_as_json(tmp_path, monkeypatch, plan):
    monkeypatch.setattr(asking, "plan_study", lambda *args, **options: plan)
    items = tmp_path / "items.txt"
    items.write_text("".join(f"item {k}\n" for k in range(40)))
    result = CliRunner().invoke(app, ["plan", str(items), "--json", "--error", "0.2"])
    record = json.loads(result.stdout)
    assert record["items"] == 40
    assert record["answers"] == plan.answers_for(0.2)
    assert record["curve"]["answers"] == plan.answers.tolist()


def test_command(tmp_path):
    items = tmp_path / "items.txt"
    items.write_text("".join(f"item {k}\n" for k in range(12)))
    picture = tmp_path / "plan.png"
    runner = CliRunner()
    result = runner.invoke(app, ["plan", str(items), "-o", str(picture)])
    assert result.exit_code == 0, result.output
    assert "give a map of 12 items in 2 dimensions with an error of 0.1" in result.output
    assert picture.stat().st_size > 5000
    again = runner.invoke(app, ["plan", str(items), "-o", str(picture)])
    assert again.exit_code == 4
    assert runner.invoke(app, ["plan", str(items), "--error", "2"]).exit_code == 2
