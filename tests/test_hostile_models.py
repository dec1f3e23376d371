"""Models and maps that were edited, cut off or made up: refused with a ValueError, never more."""

import json
import shutil

import pytest

import ordinate
from ordinate.files.maps import read_map


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    points = ordinate.sample_points(12, random_state=0)
    folder = tmp_path_factory.mktemp("models") / "model"
    ordinate.STE(random_state=0).fit(ordinate.sample_triplets(points, 500, random_state=0)).save(
        folder
    )
    return folder


def edited(model, tmp_path, name, text):
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "model" / name).write_text(text)
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fitted": None}, "is no model"),
        ({"fitted": {"predict": 1}}, "nothing called 'predict'"),
        ({"fitted": {"__dict__": {}}}, "nothing called '__dict__'"),
        ({"fitted": {"__doc__": ""}}, "nothing called '__doc__'"),
        ({"labels": "floats"}, "integers or texts"),
        ({"shape": [13, 2]}, "items and dimensions"),
        ({"shape": None}, "items and dimensions"),
    ],
)
def test_records_that_are_made_up(model, tmp_path, change, message):
    record = json.loads((model / "model.json").read_text())
    folder = edited(model, tmp_path, "model.json", json.dumps(record | change))
    with pytest.raises(ValueError, match=message):
        ordinate.load(folder)


def test_nesting_without_end(model, tmp_path):
    folder = edited(model, tmp_path, "model.json", "[" * 100_000)
    with pytest.raises(ValueError, match="cannot be read"):
        ordinate.load(folder)


def test_a_label_beyond_all_integers(model, tmp_path):
    text = (model / "embedding.csv").read_text().replace('"3"', f'"{10**30}"')
    with pytest.raises(ValueError, match="is no model"):
        ordinate.load(edited(model, tmp_path, "embedding.csv", text))


def test_a_map_that_was_cut_off(model, tmp_path):
    lines = (model / "embedding.csv").read_text().splitlines(keepends=True)
    with pytest.raises(ValueError, match=r"\[12, 2\].*but embedding.csv has \[11, 2\]"):
        ordinate.load(edited(model, tmp_path, "embedding.csv", "".join(lines[:-1])))


def test_rows_may_stand_in_any_order(model, tmp_path):
    header, *lines = (model / "embedding.csv").read_text().splitlines(keepends=True)
    folder = edited(model, tmp_path, "embedding.csv", "".join([header, *reversed(lines)]))
    questions = ordinate.Triplets([[0, 1, 2], [5, 11, 3]], items=range(12))
    with pytest.warns(UserWarning, match="the covariance is not used"):
        found = ordinate.load(folder).predict(questions)
    assert found.tolist() == ordinate.load(model).predict(questions).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,dim1,dim3\na,1,2\n", "each once"),
        ("label,dim1,dim1\na,1,2\n", "each once"),
        ("label,dim1,dim9\na,1,2\n", "each once"),
        ("label,dim1,dim2\n", "0 rows"),
        ("label,dim1\na,2020-01-01\n", "must be numbers"),
        ("label,dim1\na,12:00:00\n", "must be numbers"),
        ("label,dim1\na,inf\nb,1\n", "finite"),
    ],
)
def test_tables_that_are_almost_maps(tmp_path, text, message):
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_map(tmp_path / "map.csv")
