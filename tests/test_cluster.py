"""A cluster of separate processes: the same maps as on one machine, whatever becomes of workers."""

import os
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from ordinate import CKL, LOE, STE, Triplets, ondisk, sample_points, sample_triplets
from ordinate._base import cluster as base
from ordinate.algorithms import landmark_cluster, score_rows
from ordinate.cli import app
from ordinate.files.cluster import of_collection
from ordinate.files.formats.errors import ReadError
from ordinate.files.maps import read_map
from ordinate.passes import store_of

distributed = pytest.importorskip("distributed", reason="dask is not installed")
pytest.importorskip("dask.dataframe", reason="dask is not installed")
import cloudpickle  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know tests

N = 400
POINTS = sample_points(N, 2, random_state=0)
ANY = sample_triplets(POINTS, 200_000, random_state=1).rows  # four parts in memory
ABOUT_LANDMARKS = sample_triplets(
    POINTS, 120_000, design="landmarks", landmarks=8, random_state=2
).rows[np.random.default_rng(0).permutation(120_000)]
SEPARATE = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
LABELS = np.array([f"item {i:03}" for i in range(N)])


def ste(**options):
    return STE(random_state=0, n_init=1, init="spectral", **options)


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Rows of scores in blocks of 100, of which stripes on the cluster have one or several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_rows, "BLOCK", 100)
        patch.setattr(landmark_cluster, "BLOCK", 100)
        yield


@pytest.fixture(scope="module")
def known(small_blocks):
    """Maps of one machine."""
    return {"ste": ste().fit(ANY), "loe": LOE().fit(ABOUT_LANDMARKS)}


@pytest.fixture(scope="module")
def client():
    """Two workers, which come back when they are killed."""
    with (
        distributed.LocalCluster(n_workers=2, silence_logs=50, **SEPARATE) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone():
    """A scheduler and one worker of two threads, started by their commands."""
    with started_by_commands() as client:
        yield client


class started_by_commands:  # noqa: N801
    def __enter__(self):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        file = f"{self.folder.name}/scheduler.json"
        common = ["--scheduler-file", file, "--no-dashboard"]
        dask = [sys.executable, "-m", "dask"]
        commands = (
            [*dask, "scheduler", "--port", "0", *common],
            [*dask, "worker", "--nthreads", "2", "--no-nanny", *common],
        )
        self.processes = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for command in commands
        ]
        deadline = time.monotonic() + 60
        while not os.path.exists(file) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.client = distributed.Client(scheduler_file=file)
        return self.client

    def __exit__(self, *_):
        self.client.close()
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        self.folder.cleanup()


def array_of(rows, chunk=65_536):
    return da.from_array(rows, chunks=(chunk, 3))


@pytest.mark.parametrize("workers", ["client", "alone"])
def test_maps_are_those_of_one_machine_bit_for_bit(workers, known, request):
    """One worker of two threads, or two of one; partitions are the parts in memory."""
    with request.getfixturevalue(workers).as_current():
        found = ste().fit(array_of(ANY))
        assert np.array_equal(found.embedding_, known["ste"].embedding_)
        assert found.loss_ == known["ste"].loss_
        assert found.n_passes_ == known["ste"].n_passes_
        # Parts of columns do not depend on partitions.
        found = LOE().fit(array_of(ABOUT_LANDMARKS, 31_000))
        assert np.array_equal(found.embedding_, known["loe"].embedding_)
        assert (found.n_passes_, found.misfit_) == (known["loe"].n_passes_, known["loe"].misfit_)
        assert np.array_equal(found.scores_, known["loe"].scores_)
        assert np.array_equal(found.covariance_, known["loe"].covariance_)


def test_scores_stay_on_the_workers_until_asked_for(client, known):
    with client.as_current():
        found = LOE().fit(array_of(ABOUT_LANDMARKS))
    assert not hasattr(found._scores, "scores")
    copy = pickle.loads(pickle.dumps(found))
    assert np.array_equal(copy.embedding_, found.embedding_)
    with pytest.raises(AttributeError, match="scores are not saved"):
        _ = copy.scores_
    assert np.array_equal(found.scores_, known["loe"].scores_)
    assert pickle.loads(pickle.dumps(found)).scores_.shape == (N, 8)


# Forms of input


def frame_of(rows, **columns):
    return pd.DataFrame(dict(zip(("anchor", "near", "far"), rows.T, strict=True)) | columns)


def test_dataframes_with_labels_and_weights(client):
    rows, weight = ANY[:20_000], np.random.default_rng(0).integers(1, 4, 20_000) / 2
    frame = frame_of(LABELS[rows], weight=weight)
    here, there = (CKL(n_init=1, init=POINTS, max_iter=3) for _ in range(2))
    with client.as_current(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        here.fit(frame)
        there.fit(dd.from_pandas(frame, npartitions=3))
    assert there.items_.tolist() == here.items_.tolist() == LABELS.tolist()
    assert there.embedding_ == pytest.approx(here.embedding_, abs=1e-9)
    assert there.history_ == pytest.approx(here.history_, rel=1e-12)


def test_folders_of_parquet_files(client, tmp_path, known):
    """Their row groups are partitions; integers are labels, or ids where n_items is given."""
    frame = frame_of(ABOUT_LANDMARKS)
    (tmp_path / "set").mkdir()
    frame[:50_000].to_parquet(tmp_path / "set" / "a.parquet", row_group_size=9_000)
    frame[50_000:].to_parquet(tmp_path / "set" / "b.parquet", row_group_size=30_000)
    triplets = ondisk.open_triplets(tmp_path / "set", client=client, n_items=N)
    assert (len(triplets), triplets.n_items) == (120_000, N)
    assert np.array_equal(LOE().fit(triplets).embedding_, known["loe"].embedding_)
    assert np.array_equal(triplets.load().rows, ABOUT_LANDMARKS)
    few = triplets.sample(5_000, seed=1)
    assert 4_500 < len(few) < 5_500
    labelled = ondisk.open_triplets((tmp_path / "set").as_uri(), client=client)
    assert labelled.items.tolist() == np.unique(ABOUT_LANDMARKS).tolist()


def test_the_fast_layout_is_read_by_workers(client, tmp_path, known):
    ondisk.write([Triplets(ABOUT_LANDMARKS, n_items=N)], tmp_path / "fast")
    triplets = ondisk.open_triplets(tmp_path / "fast", client=client)
    assert np.array_equal(LOE().fit(triplets).embedding_, known["loe"].embedding_)
    here = ste().fit(ondisk.open_triplets(tmp_path / "fast", memory_limit="1MiB").load())
    assert np.array_equal(ste().fit(triplets).embedding_, here.embedding_)


def test_without_room_partitions_are_read_for_every_pass(client, tmp_path, monkeypatch, known):
    """Also columns, from a file in the fast layout; other triplets are refused."""
    ondisk.write([Triplets(ABOUT_LANDMARKS, n_items=N)], tmp_path / "fast")
    monkeypatch.setattr(base, "SHARE", 1e-9)
    monkeypatch.setattr(base.Cluster, "bytes_per_task", 320 * N + 100_000)
    triplets = ondisk.open_triplets(tmp_path / "fast", client=client)
    loe = LOE().fit(triplets)
    assert loe.embedding_ == pytest.approx(known["loe"].embedding_, abs=1e-4)
    triplets.counts  # noqa: B018
    assert triplets.partitions is triplets._parts
    with client.as_current(), pytest.raises(MemoryError, match="15,.* comparisons .* fast layout"):
        LOE().fit(array_of(ABOUT_LANDMARKS))
    with client.as_current():
        found = ste().fit(array_of(ANY))
    assert np.array_equal(found.embedding_, known["ste"].embedding_)


def test_parts_and_missing_items(client):
    rows = [[0, 1, 2], [3, 4, 5], [6, 7, 5], [2, 1, 0]] * 3
    with client.as_current(), pytest.warns(UserWarning, match="no triplet") as told:
        STE(n_items=9, init=POINTS[:9], regularization=1).fit(
            da.from_array(np.array(rows), chunks=(5, 3))
        )
    told = " ".join(str(each.message) for each in told)
    assert "1 item is in no triplet" in told
    assert "the items fall into 2 parts" in told


# What goes wrong


def kill_at_first_call(module, name, killed):
    """Let the first worker that calls a function be killed by a signal; on all workers."""
    import importlib

    function = getattr(importlib.import_module(module), name)

    def first_is_killed(*arguments):
        try:
            os.close(os.open(killed, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return function(*arguments)
        return os.kill(os.getpid(), signal.SIGKILL)

    setattr(importlib.import_module(module), name, first_is_killed)


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(client, known, tmp_path):
    client.run(kill_at_first_call, "ordinate.passes.cluster", "_kernel_sums", str(tmp_path / "1"))
    with client.as_current():
        found = ste().fit(array_of(ANY))
    assert (tmp_path / "1").exists()
    assert np.array_equal(found.embedding_, known["ste"].embedding_)


def test_workers_that_are_killed_one_by_one_change_nothing(known, tmp_path):
    """As pairs are brought together, as columns are ranked, and as the map is recovered."""
    functions = {
        "cut": "ordinate.files.cluster.partitions",
        "_ranked": "ordinate.algorithms.landmark_cluster",
        "_answers": "ordinate.algorithms.landmark_cluster",
    }
    with (
        distributed.LocalCluster(n_workers=4, silence_logs=50, **SEPARATE) as cluster,
        distributed.Client(cluster) as client,
    ):
        for name, module in functions.items():
            client.run(kill_at_first_call, module, name, str(tmp_path / name))
        found = LOE().fit(array_of(ABOUT_LANDMARKS))
        assert {path.name for path in tmp_path.iterdir()} == set(functions)
        assert np.array_equal(found.embedding_, known["loe"].embedding_)
        assert np.array_equal(found.scores_, known["loe"].scores_)


def test_a_broken_partition_is_named(client, tmp_path):
    frame = frame_of(ANY[:3000])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1000)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    import pyarrow.parquet as pq

    third = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(2).column(0)
    content[third.data_page_offset : third.data_page_offset + 40] = bytes(40)
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(ReadError) as told:
        ondisk.open_triplets(tmp_path, client=client)
    assert "row group 2 of" in str(told.value)
    assert "a.parquet" in str(told.value)


def test_bad_rows_and_tables_are_named(client, tmp_path):
    rows = ANY[:3000].copy()
    rows[2500] = [1, 1, 2]
    with client.as_current():
        with pytest.raises(
            ValueError, match=r"partition 2 of 3: row 500 \[1, 1, 2\] names an item"
        ):
            ste().fit(array_of(rows, 1000))
        with pytest.raises(ValueError, match=r"shape \(m, 3\)"):
            ste().fit(da.zeros((5, 2)))
        with pytest.raises(ValueError, match="far are missing among anchor, near"):
            ste().fit(dd.from_pandas(frame_of(rows).drop(columns="far"), npartitions=1))
        with pytest.raises(ValueError, match="y goes with rows in memory"):
            ste().fit(array_of(ANY), np.ones(len(ANY)))
        with pytest.raises(ValueError, match="device='cuda:0' was asked for: leave that out"):
            store_of(of_collection(array_of(ANY)), device="cuda:0")
    with pytest.raises(ReadError, match="holds no Parquet files"):
        ondisk.open_triplets(tmp_path, client=client)
    with pytest.raises(FileNotFoundError, match="nowhere is not there"):
        ondisk.open_triplets(tmp_path / "nowhere", client=client)


def test_without_a_client_one_is_asked_for(monkeypatch):
    def none():
        raise ValueError("no client found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ValueError, match="need a client of it: make one before"):
        ste().fit(array_of(ANY))


def pretend(version):
    """Change a version, on the worker."""
    import ordinate

    ordinate.__version__ = version


def test_versions_are_compared_before_the_work(client, monkeypatch):
    base._checked.clear()
    monkeypatch.setattr(np, "__version__", "0.1")
    with pytest.warns(UserWarning, match="numpy is 0.1 here, and "):
        base.Cluster(client)
    monkeypatch.undo()
    victim = next(iter(client.scheduler_info()["workers"]))
    import ordinate

    base._checked.clear()
    client.run(pretend, "0.0.1", workers=[victim])
    with pytest.raises(
        ValueError, match=r"the same ordinate: ordinate is .* here, and 0.0.1 on tcp"
    ):
        base.Cluster(client)
    client.run(pretend, ordinate.__version__, workers=[victim])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.Cluster(client)


def test_a_client_that_goes_away_leaves_no_work(alone):
    """Whoever fits is killed: soon no task is left on the scheduler."""
    address = alone.scheduler.address
    program = (
        "import dask.array as da, numpy as np, distributed, ordinate\n"
        f"client = distributed.Client({address!r})\n"
        "rows = ordinate.sample_triplets(ordinate.sample_points(300), 300_000).rows\n"
        "data = da.from_array(rows, chunks=(10_000, 3))\n"
        "ordinate.STE(tol=0, max_iter=10**6, n_init=1, callback=lambda step: print('step', flush=True)).fit(data)\n"
    )
    fitting = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert fitting.stdout.readline() == "step\n"
    assert n_tasks(alone) > 30
    fitting.kill()
    fitting.communicate()
    deadline = time.monotonic() + 30
    while n_tasks(alone) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert n_tasks(alone) == 0


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def test_the_command_line_takes_the_address_of_a_cluster(alone, tmp_path, known, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame_of(ABOUT_LANDMARKS).to_parquet(tmp_path / "set.parquet", row_group_size=40_000)

    def fit(*options):
        words = ["fit", "set.parquet", "--method", "loe", "--cluster", *options]
        return CliRunner().invoke(app, words)

    done = fit(alone.scheduler.address)
    assert done.exit_code == 0, done.output
    assert "1 worker; http" in done.stderr
    assert "on a cluster: no answers were held out" in done.stderr
    labels, points = read_map(tmp_path / "set-map" / "embedding.csv")[:2]
    assert [int(label) for label in labels] == list(range(N))
    assert points == pytest.approx(known["loe"].embedding_, abs=1e-6)
    for options, code, told in (
        (["nowhere"], 2, "--cluster must be the address of a scheduler, as in tcp://host:8786"),
        ([alone.scheduler.address, "--folds", "5"], 2, "leave --folds out"),
        ([alone.scheduler.address, "--layout", "plain"], 2, "--layout"),
    ):
        refused = fit(*options, "--output", "other")
        assert refused.exit_code == code
        assert re.search(told, refused.stderr)
        assert not (tmp_path / "other").exists()
