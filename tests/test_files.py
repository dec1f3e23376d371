"""Files and folders are written whole or not at all; maps survive being written and read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import ondisk
from ordinate._base import writing
from ordinate._base.writing import check_replaceable, whole_file, whole_folder
from ordinate.files.maps import read_map, write_map


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
    with pytest.raises(FileExistsError, match="exists: force=True"), whole_folder(path):
        pass
    with pytest.raises(ZeroDivisionError), whole_folder(path, force=True) as partial:
        (partial / "b").write_text(f"{(partial / 'c').touch()} {1 / 0}")
    assert names(path) == [".ordinate", "a"]
    with whole_folder(path, force=True) as partial:
        (partial / "b").write_text("2")
    assert names(path) == [".ordinate", "b"]
    assert names(tmp_path) == ["out"]


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("written", [False, True])
def test_a_folder_with_anything_else_in_it_is_never_replaced(tmp_path, written):
    """Not even one with the names of our files, or one that was ours and got a file more."""
    path = tmp_path / "out"
    if written:
        with whole_folder(path) as partial:
            (partial / "run.json").write_text("ours")
    path.mkdir(exist_ok=True)
    (path / "notes.txt").write_text("theirs")
    with (
        pytest.raises(FileExistsError, match=r"did not write \(notes.txt\), which are never"),
        whole_folder(path, force=True),
    ):
        pass
    assert (path / "notes.txt").read_text() == "theirs"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_that_gets_files_meanwhile_stays_and_the_result_is_kept(
    tmp_path, monkeypatch, exchange
):
    if not exchange:
        monkeypatch.setattr(writing, "_swap", lambda *_: False)
    path = tmp_path / "out"
    with whole_folder(path) as partial:
        (partial / "a").touch()
    with (
        pytest.raises(FileExistsError, match="out was changed in the meantime, and stays"),
        whole_folder(path, force=True) as partial,
    ):
        (partial / "b").touch()
        (path / "added meanwhile").write_text("theirs")
    assert names(path) == [".ordinate", "a", "added meanwhile"]
    (kept,) = set(tmp_path.iterdir()) - {path}
    assert names(kept / "out") == [".ordinate", "b"]


@pytest.mark.parametrize("force", [False, True])
def test_work_done_before_a_folder_is_written_is_kept_whatever_appeared(tmp_path, force):
    path = tmp_path / "out"
    check_replaceable(path, force)
    path.mkdir()
    (path / "theirs").touch()
    with (
        pytest.raises(FileExistsError, match="in the meantime, and stays as it is"),
        whole_folder(path, force=force, checked=True) as partial,
    ):
        (partial / "ours").touch()
    assert names(path) == ["theirs"]
    (kept,) = set(tmp_path.iterdir()) - {path}
    assert names(kept / "out") == [".ordinate", "ours"]


@pytest.mark.parametrize("whole", [whole_file, whole_folder])
def test_what_appears_meanwhile_stays_and_the_result_is_kept(tmp_path, whole):
    path = tmp_path / "out"
    with (
        pytest.raises(FileExistsError, match="appeared in the meantime"),
        whole(path, force=False) as new,
    ):
        path.mkdir()
        (path / "theirs").touch()
        if whole is whole_folder:
            (new / "ours").touch()
        else:
            new.write_text("ours")
    assert names(path) == ["theirs"]
    (kept,) = set(tmp_path.iterdir()) - {path}
    assert (kept / "out").exists()


def test_a_file_is_not_written_over_a_folder_nor_a_folder_over_a_file(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is a folder"), whole_file(tmp_path / "folder"):
        pass
    with (
        pytest.raises(FileExistsError, match="is a file"),
        whole_folder(tmp_path / "file", force=True),
    ):
        pass
    with (
        pytest.raises(FileExistsError, match="exists"),
        whole_file(tmp_path / "file", force=False),
    ):
        pass
    assert names(tmp_path) == ["file", "folder"]


def test_a_folder_comes_back_if_its_place_cannot_be_taken(tmp_path, monkeypatch):
    path = tmp_path / "out"
    with whole_folder(path) as partial:
        (partial / "a").write_text("before")
    monkeypatch.setattr(writing, "_swap", lambda one, other: False)
    with pytest.raises(OSError, match="went wrong"), whole_folder(path, force=True) as partial:
        real = Path.rename

        def rename(source, target):
            if source == partial:
                raise OSError("went wrong")
            return real(source, target)

        monkeypatch.setattr(Path, "rename", rename)
    assert (path / "a").read_text() == "before"
    assert names(tmp_path) == ["out"]


def test_unfinished_work_of_another_is_neither_used_nor_in_the_way(tmp_path):
    """Temporary names are new each time: what a killed process left is no obstacle."""
    seen = set()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "x") as new:
            seen.add(new.parent.name)
            raise KeyboardInterrupt
    assert len(seen) == 3
    assert names(tmp_path) == []


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


@pytest.mark.parametrize("target", ["there", "there.parquet"])
def test_large_files_are_written_over_what_is_ours_alone(tmp_path, target):
    path, rows = tmp_path / target, [[0, 1, 2]]
    ondisk.write([rows], path, n_items=3)
    source = tmp_path / "rows.npy"
    np.save(source, np.array([[0, 1, 2], [2, 1, 0]]))
    for write in (
        lambda **options: ondisk.write([rows], path, n_items=3, **options),
        lambda **options: ondisk.convert(source, path, **options),
    ):
        with pytest.raises(FileExistsError, match="exists: force=True"):
            write()
        write(force=True)
    assert len(ondisk.open_triplets(path)) == 2
    if path.is_dir():
        (path / "thesis.tex").write_text("theirs")
        with pytest.raises(FileExistsError, match="thesis.tex"):
            ondisk.convert(source, path, force=True)
        assert (path / "thesis.tex").read_text() == "theirs"
