"""Individual differences: axes that participants stretch, found where they are there."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import plain
from typer.testing import CliRunner

from ordinate import (
    GNMDS,
    STE,
    OrdinalEmbedding,
    Triplets,
    individual_differences,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms.stretching import Own, Seen, Stretched
from ordinate.cli import app
from ordinate.data.simulate import pair_distances
from ordinate.estimators.differences import IndividualDifferences
from ordinate.kernels import losses

PEOPLE = 16


def study(seed, *, by_axis, clarity=0.0, each=250, n_items=15):
    """Answers of people whose log weights vary so much, by axis and together."""
    rng = np.random.default_rng(seed)
    points = 2 * sample_points(n_items, random_state=seed)
    weights = np.exp(
        rng.normal(scale=by_axis, size=(PEOPLE, 2)) + rng.normal(scale=clarity, size=(PEOPLE, 1))
    )
    weights /= weights.mean(axis=0)
    rows = [
        sample_triplets(np.sqrt(own) * points, each, random_state=1000 * seed + person).rows
        for person, own in enumerate(weights)
    ]
    who = np.repeat(np.arange(PEOPLE), each)
    return points, weights, Triplets(np.concatenate(rows), participant=who, n_items=n_items)


def test_gradients_agree_with_finite_differences():
    rng = np.random.default_rng(0)
    rows = sample_triplets(sample_points(6, random_state=0), 200, random_state=0).rows
    who, weight = np.arange(200) % 3, rng.uniform(0.5, 2, 200)
    for name, shape in (("ste", {}), ("power", {"power": 0.5, "slope": 2.0, "lapse": 0.1})):
        seen = Seen(Triplets(rows, weight=weight), who, 3, losses.get(name, **shape), 0.7)
        at = [rng.normal(size=size) for size in ((6, 2), 3, (3, 2))]
        own = Own(1.0, 0.5)
        gradients = seen.value(*at, own)[1:]
        for k, gradient in enumerate(gradients):
            assert gradient.shape == at[k].shape
            for place in np.ndindex(at[k].shape):
                both = []
                for step in (1e-6, -1e-6):
                    moved = [part.copy() for part in at]
                    moved[k][place] += step
                    both.append(seen.value(*moved, own)[0])
                assert gradient[place] == pytest.approx((both[0] - both[1]) / 2e-6, rel=1e-4)


def test_the_objective_is_that_of_each_participants_own_map():
    points, weights, triplets = study(0, by_axis=0.5, each=30)
    seen = Seen(triplets, triplets.participant, PEOPLE, losses.get("ste"), 0.0)
    value = seen.value(points, np.zeros(PEOPLE), np.log(weights), Own(1.0, 0.5))[0]
    prior = (np.log(weights) ** 2).sum() / (2 * 0.5**2)
    found = Stretched(points, weights, value)
    by_row = found.log_likelihood(triplets, triplets.participant, losses.get("ste"))
    assert value == pytest.approx(prior - by_row.sum())
    anchor, near, _ = triplets.rows.T
    for person in (0, 7):
        own = triplets.participant == person
        expected = pair_distances(np.sqrt(weights[person]) * points, anchor[own], near[own])
        stretched = found.distances(triplets.participant[own], anchor[own], near[own])
        np.testing.assert_allclose(stretched, expected)


def test_more_of_their_own_fits_better_and_weights_are_1_on_average():
    _, _, triplets = study(1, by_axis=0.7)
    seen = Seen(triplets, triplets.participant, PEOPLE, losses.get("ste"), 0.0)
    start = STE(random_state=0).fit(triplets).embedding_
    fits = [seen.fit(start, own) for own in (Own(), Own(1.0), Own(1.0, 0.5))]
    assert fits[0].value > fits[1].value > fits[2].value
    assert (fits[0].weights == 1).all()
    np.testing.assert_allclose(fits[1].weights[:, 0], fits[1].weights[:, 1])
    for fitted in fits:
        np.testing.assert_allclose(fitted.weights.mean(axis=0), 1)
        np.testing.assert_allclose(fitted.points.mean(axis=0), 0, atol=1e-9)


def test_stretched_axes_are_recovered():
    """On 3 seeds: the test says so, axes correlate with the true ones by 0.97, log weights 0.9."""
    for seed in (1, 2, 3):
        points, weights, triplets = study(seed, by_axis=0.8)
        found = individual_differences(STE(random_state=0), triplets)
        assert found.helps
        assert str(found).startswith("the participants' answers are predicted better with axes")
        alike = np.abs(np.corrcoef(found.embedding.T, points.T)[:2, 2:])
        order = alike.argmax(axis=1)
        assert sorted(order) == [0, 1]
        assert alike.max(axis=1).min() > 0.97
        true, own = np.log(weights[:, order]).ravel(), np.log(found.weights).ravel()
        assert np.corrcoef(true, own)[0, 1] > 0.9
        size = (found.embedding**2).sum(axis=0)
        assert size[0] >= size[1]


def test_nothing_is_found_where_nothing_is():
    """On 4 seeds, half of them with people who differ in clarity alone."""
    for seed in range(4):
        clarity = 0.8 * (seed % 2)
        _, _, triplets = study(seed, by_axis=0.0, clarity=clarity)
        found = individual_differences(STE(random_state=0), triplets)
        assert not found.helps
        assert "are predicted no better with axes of their own" in str(found)
        assert ("and better with a clarity" in str(found)) == bool(clarity)


def test_narrower_priors_draw_weights_to_1():
    _, _, triplets = study(1, by_axis=0.7)
    seen = Seen(triplets, triplets.participant, PEOPLE, losses.get("ste"), 0.0)
    start = STE(random_state=0).fit(triplets).embedding_
    for widths in ([Own(width) for width in (1.0, 0.3, 0.0)], [Own(0.3, w) for w in (0.5, 0.2)]):
        spread = [np.log(seen.fit(start, own).weights).std() for own in widths]
        assert spread == sorted(spread, reverse=True)
    # Axes may differ although clarity does not.
    weights = seen.fit(start, Own(axes=0.5)).weights
    assert np.log(weights).std() > 0.1


@pytest.mark.parametrize(("n_items", "each"), [(15, 20), (60, 40), (60, 20)])
def test_where_answers_are_few_nothing_is_lost(n_items, each):
    """Maps of 2.7 to 11 answers per coordinate, which axes of their own made far worse."""
    for seed in range(3):
        _, _, triplets = study(seed, by_axis=0.0, each=each, n_items=n_items)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the map is sure of every answer")
            found = individual_differences(STE(random_state=0), triplets)
        assert not found.helps
        assert found.gain >= -2 * found.error
        assert found.clarity_gain >= -2 * found.clarity_error
        assert found.gain > -0.05
        assert found.clarity_gain > -0.05
        assert "are predicted no better with axes of their own" in str(found)


def test_few_answers_tell_of_large_differences():
    """100 answers of each participant."""
    for seed in range(3):
        _, _, triplets = study(seed, by_axis=1.0, each=100)
        assert individual_differences(STE(random_state=0), triplets).helps


def test_what_predicts_best_is_told_where_nothing_differs():
    none = np.zeros((2, 2))
    found = IndividualDifferences(np.arange(2), none, none, np.arange(2), 0.0, 0.0, 0.0, 0.0)
    assert str(found) == (
        "the participants' answers are predicted no better with axes of their own (best without "
        "any difference), and no better with a clarity of their own (best without any difference)"
    )
    assert "(+0.2000 ± 0.0500 in log-likelihood per unseen answer), and" in str(
        found._replace(gain=0.2, error=0.05)
    )


def test_a_fitted_model_is_used_as_it_is():
    _, _, triplets = study(2, by_axis=0.8, each=150)
    model = OrdinalEmbedding(random_state=0).fit(triplets)
    before = model.embedding_.copy()
    found = individual_differences(model, triplets)
    np.testing.assert_array_equal(model.embedding_, before)
    assert found.helps
    assert found.participant.tolist() == list(range(PEOPLE))
    again = individual_differences(model, triplets)
    np.testing.assert_array_equal(found.weights, again.weights)


def test_items_without_a_place_have_none():
    _, _, triplets = study(2, by_axis=0.8, each=60)
    more = Triplets(triplets.rows, n_items=16, participant=triplets.participant)
    with pytest.warns(UserWarning, match="1 item is in no triplet"):
        found = individual_differences(STE(random_state=0), more)
    assert np.isnan(found.embedding[15]).all()
    assert np.isfinite(found.embedding[:15]).all()
    assert np.isfinite(found.gain)


def test_wrong_use():
    _, _, triplets = study(0, by_axis=0.0, each=20)
    with pytest.raises(ValueError, match="do not say who gave them"):
        individual_differences(STE(), triplets.rows)
    with pytest.raises(ValueError, match="gives no probabilities"):
        individual_differences(GNMDS(), triplets)
    with pytest.raises(ValueError, match="one dimension has no axes"):
        individual_differences(STE(1, random_state=0), triplets)
    with pytest.raises(ValueError, match="at least two participants"):
        individual_differences(STE(), triplets[triplets.participant == 0])
    many = Triplets([[0, 1, 2]], n_items=1_000_000)
    with pytest.raises(ValueError, match="the product must be at most 10,000,000"):
        Seen(many, np.array([0]), 11, losses.get("ste"), 0.0)
    fitted = STE(random_state=0).fit(sample_triplets(sample_points(9), 300).rows)
    with pytest.raises(ValueError, match="fitted to other items"):
        individual_differences(fitted, triplets)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command; relative paths are in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


def write(path, triplets):
    table = np.column_stack([triplets.rows, triplets.participant])
    np.savetxt(path, table, "%d", delimiter=",", header="anchor,near,far,participant", comments="")


def read(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_command_line_writes_axes_that_help(run):
    _, weights, triplets = study(3, by_axis=0.8)
    write("answers.csv", triplets)
    words = ("fit", "answers.csv", "--individual-differences", "--folds", 0)
    result = run(*words, "-o", "out")
    assert "predicted better with axes of their own (+" in result.stdout
    assert "participants.csv, axes.csv" in result.stdout
    record = json.loads(Path("out/run.json").read_text())
    assert record["individual_differences"]["helps"] is True
    assert record["individual_differences"]["told"] in result.stdout
    assert record["participants"] is None
    people = {int(row["participant"]): row for row in read("out/participants.csv")}
    own = np.array([[float(people[k][f"axis{d}"]) for d in (1, 2)] for k in range(PEOPLE)])
    np.testing.assert_allclose(own.mean(axis=0), 1, atol=1e-3)
    assert max(np.corrcoef(own[:, 0], weights[:, k])[0, 1] for k in (0, 1)) > 0.9
    assert list(read("out/axes.csv")[0]) == ["label", "dim1", "dim2"]
    both = run(*words, "--weigh-participants", "-o", "both")
    assert "16 participants: 16 better than chance" in both.stdout
    assert {"lapse", "weight", "axis1"} <= set(read("both/participants.csv")[0])


def test_the_command_line_says_plainly_that_axes_do_not_help(run):
    _, _, triplets = study(0, by_axis=0.0)
    write("answers.csv", triplets)
    words = ("fit", "answers.csv", "--individual-differences", "--folds", 0)
    result = run(*words, "-o", "out")
    assert "the participants' answers are predicted no better with axes of their own (" in (
        result.stdout
    )
    assert not Path("out/axes.csv").exists()
    assert not Path("out/participants.csv").exists()
    assert "predicted no better with axes" in Path("out/report.html").read_text()
    # No map is lost where axes cannot differ.
    result = run(*words, "-d", 1, "-o", "line")
    assert "warning: no individual differences: a map in one dimension" in result.stderr
    assert json.loads(Path("line/run.json").read_text())["individual_differences"] is None
    result = run("fit", "answers.csv", "--individual-differences", "--method", "soe", code=2)
    assert "gives no probabilities" in result.stderr
