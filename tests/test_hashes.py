"""What run.json says of the input: the hash of what was read, while it was read, once."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from test_cli import run  # noqa: F401

from ordinate import ondisk, readers
from ordinate.evaluation import analysis
from ordinate.files.formats import packed
from ordinate.files.inputs import open_source

TEXT = b"anchor,near,far\n" + b"ant,bee,cod\nbee,cod,ant\ncod,ant,bee\nant,cod,bee\n" * 20
OTHER = TEXT + b"bee,ant,cod\n"
TABLE = pa.table({"anchor": ["ant", "bee"], "near": ["bee", "cod"], "far": ["cod", "ant"]})


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def _zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("answers.csv", TEXT)


def _workbook(path):
    book = openpyxl.Workbook()
    for row in (TABLE.column_names, *(list(row.values()) for row in TABLE.to_pylist())):
        book.active.append(row)
    book.save(path)


FORMATS = {
    "a.csv": lambda path: path.write_bytes(TEXT),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(TEXT)),
    "a.zip": _zip,
    "a.xlsx": _workbook,
    "a.json": lambda path: path.write_text(json.dumps(TABLE.to_pylist())),
    "a.parquet": lambda path: parquet.write_table(TABLE, path),
    "a.feather": lambda path: feather.write_feather(TABLE, path),
    "a.npy": lambda path: np.save(path, np.array([[0, 1, 2], [2, 1, 0]])),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_hash_is_that_of_the_file_as_it_lies(tmp_path, name):
    FORMATS[name](tmp_path / name)
    wanted = sha256((tmp_path / name).read_bytes())
    assert readers.read(tmp_path / name).sha256 == wanted
    assert open_source(tmp_path / name).sha256 == wanted


@pytest.mark.parametrize("n_files", [1, 2])
def test_files_of_a_folder_are_hashed_as_sha256sum_lists_them(tmp_path, n_files):
    listed = ""
    for k in range(n_files):
        (tmp_path / f"p{k}.csv").write_bytes([TEXT, OTHER][k])
        listed += f"{sha256([TEXT, OTHER][k])}  p{k}.csv\n"
    (tmp_path / "README.md").write_text("not read")
    assert readers.read(tmp_path).sha256 == sha256(listed.encode())
    # Names are read as well: they tell participants apart.
    (tmp_path / "p0.csv").rename(tmp_path / "p9.csv")
    assert readers.read(tmp_path).sha256 != sha256(listed.encode())


@pytest.mark.parametrize("target", ["fast", "fast.parquet"])
def test_a_file_that_stays_one_must_not_change_before_it_is_hashed(tmp_path, target):
    (tmp_path / "a.csv").write_bytes(TEXT)
    ondisk.convert(tmp_path / "a.csv", tmp_path / target)
    source = open_source(tmp_path / target)
    if target == "fast":
        names = ["about.json", "pairs.npy", "starts.npy"]
        lines = (f"{sha256((tmp_path / target / n).read_bytes())}  {n}\n" for n in names)
        wanted = sha256("".join(lines).encode())
    else:
        wanted = sha256((tmp_path / target).read_bytes())
    assert source.sha256 == readers.read(tmp_path / target).sha256 == wanted
    file = tmp_path / target / "pairs.npy" if target == "fast" else tmp_path / target
    # The same size and the same time, but another file.
    known = file.stat()
    (tmp_path / "other").write_bytes(file.read_bytes())
    os.utime(tmp_path / "other", ns=(known.st_atime_ns, known.st_mtime_ns))
    os.replace(tmp_path / "other", file)
    with pytest.raises(readers.ReadError, match="changed, or went away, since it was opened"):
        _ = source.sha256


@pytest.mark.parametrize("inside", [False, True])
def test_an_input_that_is_replaced_during_the_fit(run, tmp_path, monkeypatch, inside):  # noqa: F811
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "answers.csv"
    file.write_bytes(TEXT)
    real = analysis.analyse

    def replace_and_analyse(*args, **kwargs):
        file.write_bytes(OTHER)
        return real(*args, **kwargs)

    monkeypatch.setattr(analysis, "analyse", replace_and_analyse)
    given = file.parent if inside else file
    run("fit", given, "-o", "map", "--folds", 0, "-q")
    listed = f"{sha256(TEXT)}  answers.csv\n".encode() if inside else TEXT
    record = json.loads((tmp_path / "map" / "run.json").read_text())["input"]
    assert (record["file"], record["sha256"]) == (str(given), sha256(listed))
    # The map knows its answers again, and others.
    assert "was made from a file other than" in run("score", "map", given).output
    file.write_bytes(TEXT)
    assert "the map was made from the answers in" in run("score", "map", given).output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.parquet"])
def test_what_comes_through_a_pipe_is_read_once(tmp_path, name):
    os.mkfifo(tmp_path / name)
    writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(TEXT,))
    writer.start()
    source = open_source(tmp_path / name)
    writer.join()
    assert source.sha256 == sha256(TEXT)
    assert (source.layout, source.n_rows) == ("plain", 80)


@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
def test_standard_input(tmp_path, path):
    if path != "-" and not os.path.exists(path):
        pytest.skip("a system without /dev/stdin")
    command = [sys.executable, "-m", "ordinate", "fit", path, "--folds", "0", "-q"]
    given = {"input": TEXT, "cwd": tmp_path, "capture_output": True}
    nameless = subprocess.run(command, **given)
    assert nameless.returncode == 2
    assert b"say where they go with --output" in nameless.stderr
    subprocess.run([*command, "-o", "map"], check=True, **given)
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert record["input"]["sha256"] == sha256(TEXT)
    assert [entry.name for entry in tmp_path.iterdir()] == ["map"]


class _Stream(io.TextIOWrapper):
    def isatty(self):
        return True


def test_nobody_waits_for_answers_to_be_typed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", _Stream(io.BytesIO(TEXT)))
    with pytest.raises(readers.ReadError, match="nothing is sent to standard input"):
        readers.read("-")


def test_a_pipe_is_read_as_far_as_memory_reaches(monkeypatch):
    monkeypatch.setattr(packed, "available_memory", lambda: 20_000_000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(50_000_000))))
    with pytest.raises(readers.ReadError, match=r"standard input holds 8\.0 MiB or more"):
        readers.read("-")
    assert sys.stdin.buffer.tell() < 10_000_000


def test_a_file_may_be_called_like_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_bytes(TEXT)
    assert readers.read("-").sha256 == sha256(TEXT)
