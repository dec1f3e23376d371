"""The number of dimensions, chosen by unseen answers: the function, the estimator, the command."""

import json
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import (
    OrdinalEmbedding,
    Power,
    Triplets,
    choose_dimension,
    plot_dimensions,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms import dimension
from ordinate.algorithms.dimension import DimensionChoice, Tried
from ordinate.algorithms.selection import mean_of_answers
from ordinate.cli import app
from ordinate.cli._before_fit import read_dimensions


def answers(d, per_coordinate=100, n=30, seed=0, noise="btl", size=1.0):
    # Axes of equal length, so that none is weak by chance.
    points = size * np.linalg.qr(sample_points(n, d, random_state=seed))[0] * (n / 2 / d) ** 0.5
    m = per_coordinate * n * d
    return sample_triplets(points, m, noise=noise, random_state=seed + 1000)


@pytest.fixture(scope="module")
def of_three():
    return choose_dimension(answers(3), range(1, 5), random_state=0)


def choice_of(chosen, dimensions):
    rows = [Tried(d, -np.log(2) / 2, 0.0, 0.0, 0.7, 0.0, 0.0) for d in dimensions]
    return DimensionChoice(chosen, rows, np.arange(9.0), n_items=30, n_answers=90)


@pytest.mark.parametrize("d", [1, 2])
def test_the_number_of_dimensions_is_found(d):
    found = choose_dimension(answers(d), range(1, 4), random_state=0)
    assert found.n_components == d
    assert [row.n_components for row in found.tried] == [1, 2, 3]


def test_three_dimensions_are_found_and_the_table_says_why(of_three):
    assert of_three.n_components == 3
    assert of_three.sentence == "three dimensions: a fourth predicts no more unseen answers"
    one, two, three, _ = of_three.tried
    assert min(row.behind for row in of_three.tried) == 0
    assert one.behind > two.behind > two.error
    assert three.behind <= three.error
    assert one.accuracy < two.accuracy < three.accuracy
    assert one.accuracy_behind > one.accuracy_error > 0
    assert of_three.bits > 2 * dimension.LEAST_BITS
    assert one.log_likelihood == pytest.approx(three.log_likelihood - one.behind + three.behind)
    assert len(of_three.eigenvalues) == 5
    assert str(of_three).splitlines()[3].endswith(" *")


def test_people_who_compare_distances_and_lapse():
    noise = Power(power=0.5, slope=1.0, lapse=0.05)
    triplets = answers(2, per_coordinate=50, noise=noise, size=3.0)
    assert choose_dimension(triplets, range(1, 4), random_state=0).n_components == 2


def test_few_answers_are_said_to_be_too_few():
    found = choose_dimension(answers(2, per_coordinate=5), range(1, 4), random_state=0)
    assert found.n_components is None
    assert found.sentence.startswith(
        "too few answers to tell the number of dimensions: 300 about 30 items tell 0."
    )


def test_answers_by_chance_tell_no_dimensions():
    rng = np.random.default_rng(0)
    rows = np.argsort(rng.random((3000, 20)), axis=1)[:, :3]
    assert choose_dimension(rows, range(1, 4), random_state=0).n_components is None


def test_the_same_seed_gives_the_same_choice():
    triplets = answers(1, per_coordinate=50)
    first, again = (choose_dimension(triplets, [1, 2], random_state=5) for _ in range(2))
    assert first.tried == again.tried


def test_errors_are_those_of_answers_not_of_rows():
    triplets = answers(1, per_coordinate=50)
    twice = Triplets(np.repeat(triplets.rows, 2, axis=0), answer=np.repeat(np.arange(1500), 2))
    generator = np.random.default_rng(0)
    parts = [dimension._parts(t, 1, generator, "auto", "cpu")[0] for t in (triplets, twice)]
    values = [[(part.others.rows[:, 1] % 2).astype(float) for part in own] for own in parts]
    (_, one), (_, two) = (mean_of_answers(v, own) for v, own in zip(values, parts, strict=True))
    assert two == pytest.approx(one, rel=0.02)
    assert not any(
        set(part.others.answer) & set(parts[1][0].others.answer) for part in parts[1][1:]
    )


def test_bits_are_what_maps_know_of_answers_per_coordinate_of_a_larger_map():
    assert choice_of(None, [2, 3]).bits == pytest.approx(90 / 2 / (30 * 3))


def test_answers_are_counted_by_weight_and_not_by_rows():
    triplets = answers(1, per_coordinate=20)
    rows, answer = np.repeat(triplets.rows, 2, axis=0), np.repeat(np.arange(600), 2)
    weighed = Triplets(rows, answer=answer, weight=np.full(1200, 3.0))
    assert choose_dimension(weighed, [1], random_state=0).n_answers == 1800


def test_a_sample_of_whole_answers_judges_where_there_are_many(monkeypatch):
    triplets = answers(1, per_coordinate=100)
    monkeypatch.setattr(dimension, "MOST_ROWS", 1000)
    found = choose_dimension(triplets, [1, 2], random_state=0)
    assert found.n_answers == pytest.approx(1000, abs=20)


@pytest.mark.parametrize(
    ("chosen", "tried", "sentence"),
    [
        (1, [1, 2], "one dimension: a second predicts no more unseen answers"),
        (7, [7, 8], "seven dimensions: an eighth predicts no more unseen answers"),
        (2, [2, 5], "two dimensions: more predict no more unseen answers"),
        (11, [11, 12], "11 dimensions: more predict no more unseen answers"),
        (2, [1, 2], "two dimensions, the most that were tried: more may predict unseen"),
        (
            None,
            [1, 2],
            "too few answers to tell the number of dimensions: 90 about 30 items tell 0.75",
        ),
    ],
)
def test_sentences(chosen, tried, sentence):
    assert choice_of(chosen, tried).sentence.startswith(sentence)


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ([], "dimensions must name at least one number"),
        ("many", "dimensions .if it is a word. must be one of 'auto'"),
        ([0, 1], "dimensions must be a whole number of at least 1"),
        (range(1, 31), "dimensions must be less than the number of items, 30; got 30"),
        (2, "dimensions must be several numbers .* got 2"),
    ],
)
def test_dimensions_that_cannot_be_tried_are_refused(dimensions, message):
    with pytest.raises(ValueError, match=message):
        choose_dimension(answers(1, per_coordinate=5), dimensions)


def test_a_handful_of_answers_is_refused():
    with pytest.raises(ValueError, match="9 answers are too few: name the number of dimensions"):
        choose_dimension([[0, 1, 2]] * 9)


def test_auto_tries_no_more_dimensions_than_items_allow():
    assert dimension.check_dimensions("d", "auto", 4) == [1, 2, 3]
    assert dimension.check_dimensions("d", "auto", 40) == [1, 2, 3, 4, 5, 6]


def test_the_estimator_makes_its_map_in_the_dimensions_chosen():
    model = OrdinalEmbedding(range(1, 3), random_state=0).fit(answers(1, per_coordinate=60))
    assert model.n_components_ == model.dimension_.n_components == 1
    assert model.embedding_.shape == (30, 1)
    fixed = OrdinalEmbedding(1, random_state=0).fit(answers(1, per_coordinate=60))
    assert fixed.dimension_ is None
    assert fixed.n_components_ == 1


def test_the_estimator_says_where_answers_are_too_few(capsys):
    model = OrdinalEmbedding([1, 3], random_state=0, verbose=1)
    with pytest.warns(UserWarning, match="too few answers to tell .* The map has 1, which says"):
        model.fit(answers(2, per_coordinate=5))
    assert model.dimension_.n_components is None
    told = capsys.readouterr().err
    assert "[OrdinalEmbedding] 3 dimensions" in told
    assert "log-likelihood" in told


@pytest.mark.parametrize("given", ["best", [0, 1], range(1, 40)])
def test_the_estimator_refuses_what_is_no_dimension(given):
    with pytest.raises(ValueError, match="n_components"):
        OrdinalEmbedding(given).fit(answers(1, per_coordinate=5))


def test_the_figure_shows_chance_and_ceiling(of_three):
    figure = plot_dimensions(of_three, ceiling=0.8)
    likelihood, accuracy, hint = figure.axes
    assert {text.get_text() for text in accuracy.texts} == {"chance", "ceiling"}
    assert {50.0, 80.0} <= {line.get_ydata()[0] for line in accuracy.lines}
    assert likelihood.lines[0].get_ydata().tolist() == [r.log_likelihood for r in of_three.tried]
    assert hint.lines[0].get_ydata().tolist() == of_three.eigenvalues.tolist()
    assert figure.get_suptitle() == "Three dimensions: a fourth predicts no more unseen answers."
    with pytest.raises(ValueError, match="ceiling must be a share"):
        plot_dimensions(of_three, ceiling=80)
    with pytest.raises(TypeError, match="found must come from choose_dimension"):
        plot_dimensions(OrdinalEmbedding())


@pytest.mark.parametrize(
    ("text", "read"),
    [("3", 3), ("auto", "auto"), ("1-4", [1, 2, 3, 4]), ("2,5", [2, 5]), ("1-2, 4", [1, 2, 4])],
)
def test_dimensions_on_the_command_line(text, read):
    assert read_dimensions(text) == read


def run(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CliRunner().invoke(app, ["fit", *map(str, arguments)])


def test_fit_chooses_dimensions(tmp_path):
    data = tmp_path / "answers.csv"
    rows = answers(1, per_coordinate=60).rows
    np.savetxt(data, rows, fmt="%d", delimiter=",", header="anchor,near,far", comments="")
    result = run(data, "-d", "1-2", "--folds", 0)
    assert result.exit_code == 0, result.output
    assert "one dimension: a second predicts no more unseen answers" in result.output
    folder = tmp_path / "answers-map"
    record = json.loads((folder / "run.json").read_text())
    assert record["dimension"]["n_components"] == record["result"]["n_components"] == 1
    assert [row["n_components"] for row in record["dimension"]["tried"]] == [1, 2]
    assert {"dimensions.png", "dimensions.svg"} <= {path.name for path in folder.iterdir()}
    assert "a second predicts no more unseen answers" in (folder / "report.html").read_text()
    assert json.loads((folder / "model.json").read_text())["fitted"]["n_components_"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-d", "0"], "--dimensions must be a number from 1"),
        (["-d", "3-1"], "--dimensions must be a number from 1"),
        (["-d", "two"], "got two"),
        (["-d", "auto", "--method", "ste"], "--dimensions must be one number with method ste"),
        (["-d", "1-30"], "--dimensions must be less than the number of items, 30; got 30"),
    ],
)
def test_fit_refuses_what_it_cannot_choose_among(tmp_path, options, message):
    data = tmp_path / "answers.csv"
    rows = answers(1, per_coordinate=5).rows
    np.savetxt(data, rows, fmt="%d", delimiter=",", header="anchor,near,far", comments="")
    result = run(data, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "answers-map").exists()
