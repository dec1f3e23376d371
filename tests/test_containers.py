"""Files that hold tables of other programs: workbooks, variables, packed files."""

import contextlib
import csv
import datetime
import gzip
import io
import re
import struct
import zipfile

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat
from test_readers import FIXTURES, FOLDER, named, write

from ordinate.files.formats import packed as _packed
from ordinate.files.readers import ReadError, read

ROWS = np.array([[1, 2, 3], [4, 3, 1]])


def as_cells(text, delimiter):
    """Cells as Excel would take them: numbers as numbers, unless they begin with a 0."""
    number = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
    for row in csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True):
        yield [float(cell) if number.fullmatch(cell) else cell or None for cell in row]


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


# What a layout is known by is its semicolons, which a sheet does not have.
TEXTS = [row for row in FIXTURES if not row[0].startswith(("food100", "votes.json"))]
DELIMITERS = {"bare.txt": " ", "plain_blanks.csv": ";", "response_winner.tsv": "\t"}


@pytest.mark.parametrize(("name", "options", "layout", "rows", "notes"), TEXTS)
@pytest.mark.parametrize("shift", [0, 2])
def test_a_sheet_reads_as_its_text(shift, name, options, layout, rows, notes, tmp_path):
    cells = as_cells((FOLDER / name).read_text(), DELIMITERS.get(name, ","))
    shifted = [[None] * shift + row for row in cells]
    path = workbook(tmp_path / "a.xlsx", Empty=[], Data=[[]] * shift + shifted, More=[[""]])
    reading = read(path, **options)
    assert (reading.layout, named(reading.triplets)) == (layout, rows)
    assert len(reading.notes) == len(notes)


def test_one_of_several_sheets(tmp_path):
    good = [["anchor", "near", "far"], ["a", "b", "c"]]
    path = workbook(tmp_path / "a.xlsx", **{"Sheet 1": good, "Key": [["x"]], "Empty": []})
    reading = read(path)
    assert reading.notes == ["only sheet 'Sheet 1' is a table; not read: Key"]
    assert named(reading.triplets) == ["a|b|c"]
    path = workbook(path, **{"Sheet 1": good, "Key": good, "Empty": []})
    with pytest.raises(ReadError, match=r"2 sheets .*: Sheet 1, Key.* table='Sheet 1'"):
        read(path)
    assert named(read(path, table="Sheet 1").triplets) == ["a|b|c"]
    with pytest.raises(ReadError, match="no sheet 'Sheet1'; its sheets are .*'Sheet 1', 'Key'"):
        read(path, table="Sheet1")
    with pytest.raises(ReadError, match="sheet 'Empty' is empty"):
        read(path, table="Empty")
    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(path, "deep/a.xlsx")
    assert named(read(packed, table="Sheet 1").triplets) == ["a|b|c"]


def test_cells_are_told_apart(tmp_path):
    rows = [
        [None, "anchor", "near", "far", "check", "when"],
        [],
        ["x", 1.0, 2, "3", True, datetime.datetime(2024, 3, 1, 12)],
        [None, 3, 2, 1, False, datetime.datetime(2024, 3, 2)],
        [None, 1, 3, 2, False, "#N/A"],
    ]
    reading = read(workbook(tmp_path / "a.xlsx", Data=rows))
    assert reading.triplets.items.tolist() == [1, 2, 3]
    assert reading.notes == [
        "2 cells are dates or times, read as text like 2024-03-01 12:00:00",
        "1 cells hold an error such as #N/A, and count as empty",
        "1 of 3 rows dropped: check trials, check is 'TRUE'; keep_checks=True keeps them",
    ]
    rows[4][1] = None
    path = workbook(tmp_path / "a.xlsx", Data=rows)
    with pytest.raises(ReadError, match="a.xlsx, row 5 of sheet 'Data': an item has no name"):
        read(path)


def test_bad_workbooks(tmp_path):
    with pytest.raises(ReadError, match=r"the file is empty, in each of its sheets \['A', 'B'\]"):
        read(workbook(tmp_path / "a.xlsx", A=[], B=[[None, ""]]))
    content = workbook(tmp_path / "a.xlsx", A=[["anchor", "near", "far"], [1, 2, 3]]).read_bytes()
    with pytest.raises(ReadError, match="cut off, damaged"):
        read(write(tmp_path, content[:-30], "cut.xlsx"))
    damaged = content.replace(b"xl/worksheets/sheet1.xml", b"xl/worksheets/sheet9.xml")
    with pytest.raises(ReadError, match="holds no sheet that can be read"):
        read(write(tmp_path, damaged, "damaged.xlsx"))
    protected = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    with pytest.raises(ReadError, match="with a password, or of Excel before 2007"):
        read(write(tmp_path, protected, "a.xls"))
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", "<x/>")
    with pytest.raises(ReadError, match="of another program; save its table as .xlsx or CSV"):
        read(tmp_path / "a.ods")


def test_a_sheet_that_claims_rows_without_end(tmp_path):
    path = workbook(tmp_path / "a.xlsx", A=[["anchor", "near", "far"], [1, 2, 3]])
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b'<row r="2"', b'<row r="99999999999"')
            new.writestr(name, content)
    with pytest.raises(ReadError, match="damaged: sheet 'A' has too many rows"):
        read(tmp_path / "b.xlsx")


SAVERS = {
    "npz": lambda path, variables: np.savez(path, **variables),
    "packed.npz": lambda path, variables: np.savez_compressed(path, **variables),
    "mat": lambda path, variables: savemat(path, variables),
    "packed.mat": lambda path, variables: savemat(path, variables, do_compression=True),
    "v4.mat": lambda path, variables: savemat(path, variables, format="4"),
}


@pytest.mark.parametrize("form", SAVERS)
def test_variables(form, tmp_path):
    path = tmp_path / f"a.{form}"
    SAVERS[form](path, {"triplets": ROWS - 1})
    assert (read(path).triplets.rows == ROWS - 1).all()
    # Ids of arrays are positions, which MATLAB counts from 1.
    SAVERS[form](path, {"triplets": ROWS, "n": np.array([[4]])})
    with pytest.raises(ReadError, match="0 never occurs .* first_id=1"):
        read(path)
    reading = read(path, first_id=1)
    assert named(reading.triplets) == ["1|2|3", "4|3|1"]
    assert reading.notes == ["read: triplets; not read: n"]
    # Answers may stand beside the questions: they are columns of one table.
    SAVERS[form](path, {"triplets": ROWS, "choice": np.array([[1.0], [2.0]])})
    with pytest.raises(ReadError, match="'first': 'triplets_2', .* 'response': 'choice'}"):
        read(path)
    assert named(read(path, table="triplets", first_id=1).triplets) == ["1|2|3", "4|3|1"]
    with pytest.raises(ReadError, match="no variable 'Triplets'; it has 'triplets'"):
        read(path, table="Triplets")
    SAVERS[form](path, {"one": ROWS, "two": ROWS})
    with pytest.raises(ReadError, match="holds 'one' .*, 'two' .* table='one'"):
        read(path)
    # Vectors of equal length are columns with names.
    columns = dict(zip(("anchor", "near", "far", "rt"), [*ROWS.T, np.array([0.5, 2])], strict=True))
    SAVERS[form](path, columns | {"version": np.array([[7]])})
    reading = read(path, min_response_time=1)
    assert named(reading.triplets) == ["4|3|1"]
    assert reading.notes[0].endswith("not read: version")


def test_what_matlab_has(tmp_path):
    path = tmp_path / "a.mat"
    fields = {"anchor": ROWS[:, :1].astype(float), "near": ROWS[:, 1], "far": ROWS[:, 2]}
    savemat(path, {"data": fields})
    assert named(read(path).triplets) == ["1|2|3", "4|3|1"]
    assert read(path).triplets.items.tolist() == [1, 2, 3, 4]
    savemat(path, {"data": fields, "other": {"x": 1}})
    assert named(read(path, table="data").triplets) == ["1|2|3", "4|3|1"]
    with pytest.raises(ReadError, match=r"'data' \(struct of \['anchor', 'near', 'far'\]\)"):
        read(path)
    savemat(path, {"data": {"rows": ROWS, "choice": ROWS[:, 1]}})
    with pytest.raises(ReadError, match="'first': 'rows_2', .* 'response': 'choice'}"):
        read(path)
    assert named(read(path, table="data.rows", first_id=1).triplets) == ["1|2|3", "4|3|1"]
    with pytest.raises(ReadError, match=r"no variable 'row'; it has 'data.rows'"):
        read(path, table="data.row")
    records = np.array(
        [("cat", "lynx", 1.0), ("dog", "fox", 2.0)],
        dtype=[("anchor", object), ("near", object), ("far", object)],
    )
    savemat(path, {"trials": records})
    assert named(read(path).triplets) == ["cat|lynx|1", "dog|fox|2"]
    cells = np.array([["cat", "lynx", "cod"], ["cod", "eel", "cat"]], object)
    savemat(path, {"trials": cells})
    assert named(read(path, layout="plain").triplets) == ["cat|lynx|cod", "cod|eel|cat"]
    savemat(path, {"trials": np.array([[{"a": 1}, 2, 3]], object)})
    with pytest.raises(ReadError, match="'trials' holds objects.* table2struct"):
        read(path)
    savemat(path, {"scores": np.array([[0.5, 1, 2]])})
    with pytest.raises(ReadError, match="labels that are not integers"):
        read(path, layout="plain", first_id=0)


def test_files_of_matlab_that_cannot_be_read(tmp_path):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n"
    with pytest.raises(ReadError, match="version 7.3, which is not read.* '-v7'"):
        read(write(tmp_path, header, "a.mat"))
    savemat(tmp_path / "a.mat", {"triplets": ROWS}, do_compression=True)
    content = (tmp_path / "a.mat").read_bytes()
    with pytest.raises(ReadError, match="cut off, damaged"):
        read(write(tmp_path, content[:-20], "a.mat"))
    savemat(tmp_path / "a.mat", {})
    with pytest.raises(ReadError, match="holds no variables"):
        read(tmp_path / "a.mat")


def part(kind, content):
    return struct.pack(">II", kind, len(content)) + content + bytes(-len(content) % 8)


def test_bytes_in_the_other_order(tmp_path):
    rows = ROWS.astype(">u2").tobytes(order="F")
    matrix = part(6, struct.pack(">II", 6, 0)) + part(5, struct.pack(">ii", 2, 3))
    # A short part shares the eight bytes of its description: here the name.
    short = struct.pack(">HH4s", 1, 1, b"x")
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    content = header + part(14, matrix + short + part(4, rows))
    assert named(read(write(tmp_path, content, "a.mat"), first_id=1).triplets) == ["1|2|3", "4|3|1"]


@pytest.mark.parametrize("form", ["5", "4"])
def test_text_and_sparse_matrices_of_matlab(form, tmp_path):
    path = tmp_path / "a.mat"
    columns = {"anchor": ["cat", "horse"], "near": ["lynx", "cow"], "far": ["cod", "eel"]}
    savemat(path, columns | {"no": sparse.eye(3, format="csc")}, format=form)
    reading = read(path)
    assert named(reading.triplets) == ["cat|lynx|cod", "horse|cow|eel"]
    assert reading.notes == ["read: anchor, near, far; not read: no"]


class Runs:
    """What unpickling this does, must not happen."""

    def __reduce__(self):
        return pytest.fail, ("code in a file was run",)


def test_no_objects_are_unpickled(tmp_path):
    objects = np.array([[Runs(), 1, 2]], object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    with pytest.raises(ReadError, match="Python objects, which are not loaded"):
        read(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", objects=objects, allow_pickle=True)
    with pytest.raises(ReadError, match="'objects' .*objects"):
        read(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", objects=objects, triplets=ROWS - 1)
    reading = read(tmp_path / "a.npz")
    assert (reading.triplets.rows == ROWS - 1).all()
    assert reading.notes == ["read: triplets; not read: objects"]


def test_one_of_several_packed_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, row in (("x/1.csv", "a,b,c"), ("x/2.csv", "c,b,a"), ("x/.DS_Store", "?")):
            archive.writestr(name, f"anchor,near,far\n{row}\n")
    with pytest.raises(ReadError, match="holds 2 files, .* give the folder .* table='x/1.csv'; or"):
        read(tmp_path / "a.zip")
    assert named(read(tmp_path / "a.zip", table="x/2.csv").triplets) == ["c|b|a"]
    with pytest.raises(ReadError, match="none of them '2.csv'"):
        read(tmp_path / "a.zip", table="2.csv")
    with pytest.raises(ReadError, match="single table, so that 'x' chooses nothing"):
        read(FOLDER / "plain.csv", table="x")


def test_packed_twice_but_not_without_end(tmp_path):
    content = b"anchor,near,far\na,b,c\n"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv.gz", gzip.compress(content))
    assert named(read(tmp_path / "a.zip").triplets) == ["a|b|c"]
    for _ in range(4):
        content = gzip.compress(content)
    with pytest.raises(ReadError, match="packed more than 3 times"):
        read(write(tmp_path, content, "a.csv.gz"))


BOMB = b"anchor,near,far\n" + b"1,2,3\n" * 1_000_000


def bombs(folder):
    yield write(folder, gzip.compress(BOMB), "bomb.csv.gz")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.csv", BOMB)
    yield folder / "bomb.zip"
    np.savez_compressed(folder / "bomb.npz", rows=np.zeros((500_000, 3), int))
    yield folder / "bomb.npz"
    savemat(folder / "bomb.mat", {"rows": np.zeros((500_000, 3))}, do_compression=True)
    yield folder / "bomb.mat"
    path = workbook(folder / "bomb.xlsx", A=[["anchor", "near", "far"], [1, 2, 3]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", bytes(10_000_000))
    yield path


def test_what_memory_cannot_hold_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    files = list(bombs(tmp_path))
    monkeypatch.setattr(_packed, "available_memory", lambda: 20_000_000)
    for path in files:
        assert path.stat().st_size < 500_000
        with pytest.raises(ReadError, match=r"holds .* or more; .* 19.1 MiB are free"):
            read(path)


def test_wide_rows_do_not_fill_memory(tmp_path, monkeypatch):
    book = openpyxl.Workbook()
    for row in range(1, 3000):
        book.active.cell(row, 500, 1)
    book.save(tmp_path / "a.xlsx")
    monkeypatch.setattr(_packed, "available_memory", lambda: 40_000_000)
    with pytest.raises(ReadError, match="holds"):
        read(tmp_path / "a.xlsx")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Sound files of binary formats, as bytes by name."""
    folder = tmp_path_factory.mktemp("sound")
    workbook(folder / "a.xlsx", A=[["anchor", "near", "far"], [1, 2, 3], ["a", "b", "c"]])
    np.savez(folder / "a.npz", anchor=ROWS[:, 0], near=ROWS[:, 1], far=ROWS[:, 2])
    savemat(folder / "a.mat", {"data": {"anchor": ROWS[:, 0], "near": ["a", "b"]}, "x": ROWS})
    savemat(folder / "b.mat", {"data": {"anchor": ROWS[:, 0]}, "x": ROWS}, do_compression=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@given(st.sampled_from(["a.xlsx", "a.npz", "a.mat", "b.mat"]), st.data())
def test_damaged_containers(sound, tmp_path_factory, name, data):
    content = bytearray(sound[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    path = write(tmp_path_factory.getbasetemp(), bytes(content), name)
    with contextlib.suppress(ReadError):
        read(path)
