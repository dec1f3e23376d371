"""A folder of files, one for each participant, is read as one."""

import json
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from test_readers import FIXTURES, FOLDER, dropped, named, write

from ordinate import ondisk
from ordinate.data.simulate import sample_points, sample_triplets
from ordinate.files.readers import ReadError, read

HEADER = "anchor,near,far\n"


def participants(reading):
    triplets = reading.triplets
    return triplets.participant_labels[triplets.participant].tolist()


@pytest.mark.parametrize(("name", "options", "layout", "rows", "notes"), FIXTURES)
def test_any_layout(name, options, layout, rows, notes, tmp_path):
    content = (FOLDER / name).read_bytes()
    for k in "12":
        write(tmp_path, content, f"P{k}{Path(name).suffix}")
    alone, reading = read(FOLDER / name, **options), read(tmp_path, **options)
    assert (reading.layout, sorted(named(reading.triplets))) == (layout, sorted(2 * rows))
    assert (reading.n_rows, reading.n_used) == (2 * alone.n_rows, 2 * alone.n_used)
    assert reading.n_rows == reading.n_used + dropped(reading.notes)
    if alone.triplets.participant is None:
        assert sorted(set(participants(reading))) == ["P1", "P2"]
        assert "no column names participants: each of the 2 files counts as one" in reading.notes
    else:
        assert participants(reading) == 2 * participants(alone)


def test_columns_are_found_by_name(tmp_path):
    write(tmp_path, HEADER + "a,b,c\n", "1.csv")
    write(tmp_path, "Far;anchor;NEAR\nb;c;a\n", "2.txt")
    write(tmp_path, json.dumps([{"near": "c", "far": "b", "anchor": "a"}]), "3.json")
    book = openpyxl.Workbook()
    book.active.append(["far", "near", "anchor", "remark"])
    book.active.append(["c", "a", "b", None])
    book.save(tmp_path / "4.xlsx")
    reading = read(tmp_path)
    assert named(reading.triplets) == ["a|b|c", "c|a|b", "a|c|b", "b|a|c"]
    assert participants(reading) == ["1", "2", "3", "4"]
    assert reading.notes[0] == "columns that few files have are not read: remark"
    # Numbers are numbers in all formats.
    for path in tmp_path.iterdir():
        path.unlink()
    write(tmp_path, HEADER + "1,2,3\n", "1.csv")
    table = pa.table({"anchor": [1.0, 3.0], "near": [3, 2], "far": ["2", "1"]})
    pa.parquet.write_table(table, tmp_path / "2.parquet")
    assert read(tmp_path).triplets.items.tolist() == [1, 2, 3]


def test_what_is_not_read_is_told(tmp_path):
    for name in (
        "README.txt",
        "licence.csv",
        "analysis.R",
        ".DS_Store",
        ".hidden.csv",
        "~$P1.xlsx",
    ):
        write(tmp_path, "x", name)
    (tmp_path / "more").mkdir()
    with pytest.raises(ReadError, match="no file that can be read .3 files were not read: README"):
        read(tmp_path)
    write(tmp_path, HEADER + "a,b,c\n", "P1.csv")
    only = read(tmp_path)
    assert only.notes == ["4 files were not read: README.txt, analysis.R, licence.csv, more"]
    assert only.triplets.participant is None
    write(tmp_path, "", "P2.csv")
    write(tmp_path, HEADER, "P3.csv")
    write(tmp_path, HEADER + "a,c,b\n", "P4.csv")
    reading = read(tmp_path)
    assert reading.notes == [
        "1 files are empty: P2.csv",
        "4 files were not read: README.txt, analysis.R, licence.csv, more",
        "no column names participants: each of the 3 files counts as one",
        "1 files gave no answer: P3.csv",
    ]
    assert participants(reading) == ["P1", "P4"]


def test_participants_can_be_left_out_by_file(tmp_path):
    for name, row in (("P1", "a,b,c"), ("P2", "a,c,b"), ("P3", "b,a,c")):
        write(tmp_path, f"{HEADER}{row}\n", f"{name}.csv")
    reading = read(tmp_path, exclude_participants=["P2"])
    assert participants(reading) == ["P1", "P3"]
    assert reading.notes[-1] == "1 files gave no answer: P2.csv"
    with pytest.raises(ReadError, match=r"not in the file: \['P9'\]"):
        read(tmp_path, exclude_participants="P9")


def test_errors_name_file_and_line(tmp_path):
    write(tmp_path, HEADER + "a,b,c\n" * 3, "P1.csv")
    write(tmp_path, HEADER + "a,b,c\n\na,a,c\n", "P2.csv")
    write(tmp_path, HEADER + "a,b,c\n", "P3.csv")
    with pytest.raises(ReadError, match=r", P2.csv, line 4: \['a', 'a', 'c'\] names an item twice"):
        read(tmp_path)
    write(tmp_path, HEADER + "a,b\n", "P2.csv")
    with pytest.raises(ReadError, match="P2.csv, line 2: not the 3 fields"):
        read(tmp_path)


WRONG = [
    ("anchor,near\na,b\n", "P2.csv has no column 'far', which other files have. Move"),
    ("age,sex,town\n30,f,Ulm\n", "P2.csv has no column 'anchor', which other files have"),
    ("a,b,c\na,c,b\n", "P2.csv seems to have no column names, unlike"),
    ("1,2,3\n", "P2.csv seems to have no column names, unlike"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_files_that_differ(content, message, tmp_path):
    for name in ("P1.csv", "P3.csv"):
        write(tmp_path, HEADER + "a,b,c\nb,c,a\n", name)
    write(tmp_path, content, "P2.csv")
    with pytest.raises(ReadError, match=message):
        read(tmp_path)


def test_files_without_names_of_columns(tmp_path):
    write(tmp_path, "b,a,c\na,b,c\n", "P1.csv")
    # Nothing of this first line occurs again in its own file.
    write(tmp_path, "a,c,b\n", "P2.csv")
    reading = read(tmp_path, layout="plain")
    assert named(reading.triplets) == ["b|a|c", "a|b|c", "a|c|b"]
    write(tmp_path, "a,c,b,1\n", "P3.csv")
    with pytest.raises(ReadError, match="P3.csv has 4 columns, other files have 3"):
        read(tmp_path, layout="plain")
    write(tmp_path, HEADER + "a,c,b\n", "P3.csv")
    with pytest.raises(ReadError, match="P3.csv seems to have column names, unlike"):
        read(tmp_path, layout="plain")


def test_the_same_first_trial_in_all_files_is_kept(tmp_path):
    for name in ("P1.txt", "P2.txt"):
        write(tmp_path, "1 2 3\n2 3 1\n", name)
    assert len(read(tmp_path, layout="plain").triplets) == 4


def test_two_copies_are_not_read_twice(tmp_path):
    write(tmp_path, HEADER + "a,b,c\n", "P1.csv")
    write(tmp_path, HEADER + "a,b,c\n", "P1.txt")
    with pytest.raises(ReadError, match="P1.csv and P1.txt differ in their endings alone"):
        read(tmp_path)


def test_arrays_hold_positions_in_folders_too(tmp_path):
    np.save(tmp_path / "P1.npy", [[0, 1, 2]])
    np.save(tmp_path / "P2.npy", [[4, 2, 1]])
    reading = read(tmp_path)
    assert (reading.triplets.n_items, participants(reading)) == (5, ["P1", "P2"])
    np.save(tmp_path / "P1.npy", [[1, 2, 3]])
    with pytest.raises(ReadError, match="first_id=1"):
        read(tmp_path)
    assert participants(read(tmp_path, first_id=1)) == ["P1", "P2"]
    write(tmp_path, HEADER + "0,1,2\n", "P3.csv")
    with pytest.raises(ReadError, match="P3.csv seems to have column names"):
        read(tmp_path)


def test_lists_of_other_types(tmp_path):
    record = {"query": "q", "ranked": ["a", "b"]}
    write(tmp_path, json.dumps([record]), "1.json")
    write(tmp_path, json.dumps([record | {"ranked": [1, 2]}]), "2.json")
    with pytest.raises(ReadError, match="columns of lists have other types"):
        read(tmp_path)


def test_the_fast_layout_is_no_folder_of_participants(tmp_path):
    triplets = sample_triplets(sample_points(9, random_state=0), 50, random_state=0)
    ondisk.write([triplets], tmp_path / "fast")
    reading = read(tmp_path / "fast")
    assert reading.layout == "fast"
    assert len(reading.triplets) == 50
    with pytest.raises(
        ValueError, match="in the fast layout, as rows alone: first_id cannot apply"
    ):
        read(tmp_path / "fast", first_id=0)


def test_answers_of_one_number_in_two_files_are_two(tmp_path):
    for name in ("P1.csv", "P2.csv"):
        write(tmp_path, "anchor,near,far,answer\na,b,c,1\na,b,d,1\nb,c,d,2\n", name)
    assert read(tmp_path).triplets.answer.tolist() == [0, 0, 1, 2, 2, 3]
