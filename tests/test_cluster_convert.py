"""The fast layout written by workers: what one machine writes, whoever dies meanwhile."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from test_cluster import SEPARATE, frame_of, kill_at_first_call, n_tasks
from typer.testing import CliRunner

from ordinate import LOE, Triplets, ondisk, sample_points, sample_triplets
from ordinate._base import cluster as base
from ordinate.cli import app
from ordinate.files.cluster import of_collection, writing
from ordinate.files.formats.errors import ReadError

distributed = pytest.importorskip("distributed", reason="dask is not installed")
import dask.array as da  # noqa: E402

N = 300
POINTS = sample_points(N, 2, random_state=0)
# Some anchors have many rows, others few or none.
ROWS = np.concatenate(
    [
        sample_triplets(POINTS, 60_000, random_state=1).rows,
        sample_triplets(POINTS, 60_000, design="landmarks", landmarks=6, random_state=2).rows,
    ]
)[np.random.default_rng(0).permutation(120_000)]
ROWS = ROWS[ROWS[:, 0] % 7 != 3]
LABELS = np.array([f"item {i:03}" for i in range(N)])
WEIGHT = np.random.default_rng(1).integers(1, 4, len(ROWS)) / 2


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, silence_logs=50, **SEPARATE) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Ranges of anchors, and anchors that are cut into several pieces."""
    monkeypatch.setattr(writing, "LEAST", 1 << 11)


def folder_of(path, frame, *sizes):
    path.mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(frame)), len(sizes))):
        frame.iloc[part].to_parquet(path / f"{k}.parquet", row_group_size=sizes[k])
    return path


def same_files(one, other):
    """Whether two folders hold the same rows, labels and starts; about.json has bounds besides."""
    names = {path.name for path in one.iterdir()}
    assert names == {path.name for path in other.iterdir()}
    return all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names - {"about.json"}
    )


@pytest.mark.parametrize("columns", [{}, {"weight": WEIGHT}])
def test_workers_write_what_one_machine_writes(client, tmp_path, columns):
    source = folder_of(tmp_path / "set", frame_of(LABELS[ROWS], **columns), 9_000, 30_000)
    frame_of(LABELS[ROWS], **columns).to_parquet(tmp_path / "set.parquet")
    ondisk.convert(tmp_path / "set.parquet", tmp_path / "one")
    ondisk.convert(source, tmp_path / "many", client=client)
    assert same_files(tmp_path / "one", tmp_path / "many")
    one, many = (ondisk.open_triplets(tmp_path / name) for name in ("one", "many"))
    assert many.items.tolist() == one.items.tolist()
    found = many.load()  # which compares all checksums
    assert np.array_equal(found.rows, one.load().rows)
    if columns:
        assert np.array_equal(found.weight, one.load().weight)
    assert sorted(os.listdir(tmp_path)) == ["many", "one", "set", "set.parquet"]


def test_arrays_of_dask_and_replacing(client, tmp_path):
    triplets = of_collection(da.from_array(ROWS, chunks=(7_000, 3)), n_items=N, client=client)
    ondisk.convert(triplets, tmp_path / "many")
    ondisk.write([Triplets(ROWS, n_items=N)], tmp_path / "one")
    assert same_files(tmp_path / "one", tmp_path / "many")
    with pytest.raises(FileExistsError, match="force=True replaces it"):
        ondisk.convert(triplets, tmp_path / "many")
    ondisk.convert(triplets, tmp_path / "many", force=True)
    there = ondisk.open_triplets(tmp_path / "many", client=client)
    with pytest.warns(UserWarning, match="not used"):
        maps = [LOE().fit(data).embedding_ for data in (there, Triplets(ROWS, n_items=N))]
    assert np.array_equal(*maps)


def test_what_workers_cannot_write_is_refused(client, tmp_path, monkeypatch):
    triplets = of_collection(da.from_array(ROWS, chunks=(50_000, 3)), client=client)
    with pytest.raises(ValueError, match=r"x\.parquet is the name of one file: name a folder"):
        ondisk.convert(triplets, tmp_path / "x.parquet")
    ondisk.write([Triplets(ROWS, n_items=N)], tmp_path / "fast")
    fast = ondisk.open_triplets(tmp_path / "fast", client=client)
    with pytest.raises(ValueError, match="in the fast layout already"):
        ondisk.convert(fast, tmp_path / "other")
    monkeypatch.setattr(client, "run", lambda *_, **__: {"tcp://far:1": False})
    with pytest.raises(FileNotFoundError, match="a file system that all of them share"):
        ondisk.convert(triplets, tmp_path / "other")
    assert os.listdir(tmp_path) == ["fast"]


@pytest.mark.parametrize("function", ["_sorted", "_written"])
def test_a_worker_that_is_killed_changes_nothing(client, tmp_path, function):
    client.run(
        kill_at_first_call, "ordinate.files.cluster.writing", function, str(tmp_path / "killed")
    )
    triplets = of_collection(da.from_array(ROWS, chunks=(7_000, 3)), n_items=N, client=client)
    ondisk.convert(triplets, tmp_path / "many")
    assert (tmp_path / "killed").exists()
    ondisk.write([Triplets(ROWS, n_items=N)], tmp_path / "one")
    assert same_files(tmp_path / "one", tmp_path / "many")


def test_a_broken_partition_is_named_and_nothing_is_left(client, tmp_path):
    source = folder_of(tmp_path / "set", frame_of(ROWS), 10_000)
    file = source / "0.parquet"
    content = bytearray(file.read_bytes())
    third = pq.ParquetFile(file).metadata.row_group(2).column(1)
    content[third.data_page_offset : third.data_page_offset + 40] = bytes(40)
    file.write_bytes(content)
    with pytest.raises(ReadError, match=r"row group 2 of .*0\.parquet cannot be read"):
        ondisk.convert(source, tmp_path / "fast", client=client, n_items=N)
    assert os.listdir(tmp_path) == ["set"]


def test_a_client_that_is_killed_leaves_no_result(client, tmp_path):
    """But a scratch folder, of which the next command tells."""
    np.save(tmp_path / "rows.npy", ROWS)
    program = (
        "import sys, time, dask.array as da, numpy as np, distributed, ordinate\n"
        "from ordinate.files.cluster import of_collection\n"
        f"client = distributed.Client({client.scheduler.address!r})\n"
        "data = da.from_array(np.load('rows.npy'), chunks=(2_000, 3)).map_blocks(\n"
        "    lambda rows: (time.sleep(0.05), rows)[1])\n"
        "triplets = of_collection(data, n_items=300, client=client)\n"
        "print('begins', flush=True)\n"
        "ordinate.ondisk.convert(triplets, 'fast')\n"
    )
    before = n_tasks(client)  # of tests whose errors hold on to them
    converting = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert converting.stdout.readline() == "begins\n"
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob(".ordinate-*/new/sorted/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    converting.send_signal(signal.SIGKILL)
    converting.communicate()
    assert not (tmp_path / "fast").exists()
    assert list(tmp_path.glob(".ordinate-*"))
    deadline = time.monotonic() + 30
    while n_tasks(client) > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert n_tasks(client) <= before


def test_the_command(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder_of(tmp_path / "set", frame_of(LABELS[ROWS], age=21), 20_000)
    address = client.scheduler.address

    def convert(*options):
        return CliRunner().invoke(app, ["convert", "set", *options])

    done = convert("-o", "fast", "--cluster", address)
    assert done.exit_code == 0, done.output
    assert " workers; http" in done.stderr
    assert f"{len(ROWS):,} triplets in fast" in done.stderr
    assert re.search("note: set: .* is left out: age", done.stderr)
    url = (tmp_path / "set").as_uri()
    done = CliRunner().invoke(app, ["convert", url, "-o", "fast", "--force", "--cluster", address])
    assert done.exit_code == 0, done.output
    assert convert("-o", "one", "--fast").exit_code == 0
    assert same_files(tmp_path / "one", tmp_path / "fast")
    for options, code, told in (
        (["-o", "fast"], 4, "exists"),
        (["-o", "fast.parquet"], 2, "name a folder"),
        (["-o", "other", "--odd", "last"], 2, "--odd"),
    ):
        refused = convert(*options, "--cluster", address)
        assert (refused.exit_code, told in refused.stderr) == (code, True), refused.stderr
    assert sorted(os.listdir(tmp_path)) == ["fast", "one", "set"]


def test_pieces_fit_the_memory_of_workers(client, tmp_path, monkeypatch):
    monkeypatch.setattr(base.Cluster, "bytes_per_task", 8 * 12 * 3_000)
    written = []
    triplets = of_collection(da.from_array(ROWS, chunks=(7_000, 3)), n_items=N, client=client)
    pieces = writing._pieces

    def noted(*arguments):
        written.extend(pieces(*arguments))
        return written

    monkeypatch.setattr(writing, "_pieces", noted)
    ondisk.convert(triplets, tmp_path / "many")
    sizes = [int(np.diff(piece.slices).sum()) for piece in written]
    assert max(sizes) <= 3_000
    assert sum(sizes) == len(ROWS)
    assert {piece.in_order for piece in written} == {True, False}
    assert os.listdir(tmp_path) == ["many"]
