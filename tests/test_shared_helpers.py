"""What many modules share: names in messages, places of labels, files of plain values."""

import json

import numpy as np
import pytest

from ordinate import STE, Triplets
from ordinate._base.messages import some
from ordinate._base.writing import write_json
from ordinate.estimators.saving import write_model


@pytest.mark.parametrize(
    ("names", "most", "text"),
    [
        ([], 3, ""),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
        (np.arange(2345), 3, "0, 1, 2 and 2,342 more"),
        (np.array(["cat", "dog"], object), 1, "cat and 1 more"),
        ({"x": 1, "y": 2}, 1, "x and 1 more"),
        (["New York"], 3, "New York"),
        (
            ["", " a", "b ", "c,d", "e\nf", "\x1b[31m"],
            9,
            r"'', ' a', 'b ', 'c,d', 'e\nf', '\x1b[31m'",
        ),
        (["x" * 60], 1, "x" * 60),
        (["x" * 70_000], 1, "x" * 57 + "..."),
    ],
)
def test_some_of_many_names(names, most, text):
    assert some(names, most) == text


def test_json_of_names_that_are_not_utf8(tmp_path):
    write_json(tmp_path / "a.json", {"name": "a\udcff", "ü": [1, None]})
    text = (tmp_path / "a.json").read_text("utf-8")
    assert json.loads(text) == {"name": "a\udcff", "ü": [1, None]}
    assert "ü" in text
    assert text.endswith("}\n")


def test_json_without_nan_leaves_nothing_half_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"loss": float("nan")})
    assert list(tmp_path.iterdir()) == []


ROWS = [[0, 1, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1]] * 5


def test_a_model_whose_parameters_are_not_utf8_is_written(tmp_path):
    model = STE(1, regularization=1.0, random_state=0).fit(ROWS)
    model.device_ = "a\udcff"
    write_model(tmp_path / "model.json", model)
    assert (
        json.loads((tmp_path / "model.json").read_text("utf-8"))["fitted"]["device_"] == "a\udcff"
    )


def test_triplets_are_matched_to_a_map_by_label():
    items = ["a", "b", "c", "d"]
    model = STE(1, regularization=1.0, random_state=0).fit(Triplets(ROWS, items=["a", "b", "c"]))
    shuffled = Triplets([[2, 1, 0], [1, 2, 0]], items=["c", "b", "a"], weight=[1.0, 2.0])
    same = Triplets([[0, 1, 2], [1, 0, 2]], items=["a", "b", "c"])
    assert np.array_equal(model.predict(shuffled), model.predict(same))
    # An item that no row names may be missing from the map.
    assert np.array_equal(model.predict(Triplets(same.rows, items=items)), model.predict(same))
    strange = Triplets([[0, 1, 2], [0, 1, 3], [3, 1, 4]], items=["a", "b", "c", "x", "y"])
    with pytest.raises(
        ValueError, match="2 triplets name 2 items that are not among the 3 of the fit: x, y$"
    ):
        model.predict(strange)
