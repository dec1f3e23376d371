"""What answers said about the number of dimensions comes back with a saved model."""

import json

import numpy as np
import pytest

import ordinate
from ordinate import OrdinalEmbedding, answers, plot_dimensions


@pytest.fixture(scope="module")
def model():
    """Made from questions that were asked more than once, so that accuracy has a ceiling."""
    points = 3 * ordinate.sample_points(10, random_state=0)
    triplets = ordinate.sample_triplets(points, 1500, random_state=0)
    return OrdinalEmbedding([1, 2], random_state=0).fit(triplets)


def test_it_is_kept_and_brought_back(model, tmp_path):
    model.save(tmp_path / "map")
    again = ordinate.load(tmp_path / "map")
    assert again.n_components == [1, 2]
    assert again.dimension_.tried == model.dimension_.tried
    assert np.array_equal(again.dimension_.eigenvalues, model.dimension_.eigenvalues)
    assert str(again.dimension_) == str(model.dimension_)
    assert again.dimension_.ceiling == model.dimension_.ceiling
    assert plot_dimensions(again).get_suptitle() == plot_dimensions(model).get_suptitle()
    record = json.loads((tmp_path / "map" / "model.json").read_text())
    assert "dimension_" not in record["not_kept"]
    assert record["fitted"]["dimension_"]["told"] == model.dimension_.sentence


def test_a_number_that_was_given_leaves_nothing_to_bring_back(tmp_path):
    model = OrdinalEmbedding(1, random_state=0)
    model.embedding_, model.items_, model.dimension_ = np.zeros((3, 1)), np.arange(3), None
    model.save(tmp_path / "map")
    assert ordinate.load(tmp_path / "map").dimension_ is None


@pytest.mark.parametrize(
    "change",
    [
        {"tried": []},
        {"tried": None},
        {"tried": [{"n_components": 1}]},
        {"n_components": 3},
        {"eigenvalues": []},
        {"eigenvalues": ["many"]},
        {"n_answers": "some"},
    ],
)
def test_what_cannot_be_is_refused(model, tmp_path, change):
    model.save(tmp_path / "map")
    path = tmp_path / "map" / "model.json"
    record = json.loads(path.read_text())
    record["fitted"]["dimension_"].update(change)
    path.write_text(json.dumps(record))
    with pytest.raises(ValueError, match="is no model"):
        ordinate.load(tmp_path / "map")


def test_dimensions_none_of_which_is_best_are_refused(model, tmp_path):
    model.save(tmp_path / "map")
    path = tmp_path / "map" / "model.json"
    record = json.loads(path.read_text())
    for row in record["fitted"]["dimension_"]["tried"]:
        row["behind"] = 1.0
    path.write_text(json.dumps(record))
    with pytest.raises(ValueError, match="what it says of dimensions cannot be"):
        ordinate.load(tmp_path / "map")


def test_the_table_and_the_figure_show_the_ceiling(model):
    found = model.dimension_
    assert 0.5 < found.ceiling < 1
    assert f"accuracy: chance 50%, ceiling {found.ceiling:.1%}" in str(found)
    shown = {text.get_text() for text in plot_dimensions(model).axes[1].texts}
    assert shown == {"chance", "ceiling"}


def test_answers_to_different_questions_have_no_ceiling():
    once = answers.odd_one_out(range(12), range(12, 24), range(24, 36), items=range(36))
    found = ordinate.choose_dimension(once, [1, 2], random_state=0)
    assert found.ceiling is None
    assert "ceiling" not in str(found)
