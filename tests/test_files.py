"""Files and folders are written whole or not at all; maps survive being written and read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate._writing import whole_file, whole_folder
from ordinate.map_files import read_map, write_map


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with whole_file(path) as partial:
        partial.write_text("first")
        assert not path.exists()
    assert path.read_text() == "first"
    with pytest.raises(ZeroDivisionError), whole_file(path) as partial:
        partial.write_text(f"{partial.touch()} {1 / 0}")
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    with whole_folder(path) as partial:
        (partial / "a").write_text("1")
        assert not path.exists()
    with pytest.raises(FileExistsError), whole_folder(path):
        pass
    with (
        pytest.raises(ZeroDivisionError),
        whole_folder(path, force=True, own=["a", "b"]) as partial,
    ):
        (partial / "b").write_text(f"{(partial / 'c').touch()} {1 / 0}")
    assert [p.name for p in path.iterdir()] == ["a"]
    with whole_folder(path, force=True, own=["a", "b"]) as partial:
        (partial / "b").write_text("2")
    assert [p.name for p in path.iterdir()] == ["b"]
    assert list(tmp_path.iterdir()) == [path]


labels = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1, unique=True
)


@given(labels, st.integers(1, 12), st.integers(0, 1000))
def test_maps_survive(tmp_path_factory, names, d, seed):
    path = tmp_path_factory.mktemp("maps") / "map.csv"
    points = np.random.default_rng(seed).normal(size=(len(names), d))
    points[0, 0] = np.nan
    write_map(path, names, points, {"count": np.arange(len(names))})
    found = read_map(path)
    assert found.labels == names
    assert np.array_equal(found.points, points, equal_nan=True)
    assert found.columns == {"count": list(range(len(names)))}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("", "not a map"),
        ("a,b\n1,2\n", "needs the columns label"),
        ("label,dim1\nx,red\n", "must be numbers"),
        ("label,dim1\nx,1\nx,2\n", "more than once"),
    ],
)
def test_files_that_are_no_maps(tmp_path, content, message):
    path = tmp_path / "map.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_map(path)


def test_numbers_stay_labels(tmp_path):
    write_map(tmp_path / "map.csv", ["007", "7"], np.zeros((2, 1)), {})
    assert read_map(tmp_path / "map.csv").labels == ["007", "7"]
