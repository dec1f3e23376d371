"""What a cluster is given that it cannot use, and interruptions of its client."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ordinate import STE, ondisk, sample_points, sample_triplets
from ordinate._base.cluster import Cluster
from ordinate.files.formats.errors import ReadError

distributed = pytest.importorskip("distributed", reason="dask is not installed")
pytest.importorskip("dask.dataframe", reason="dask is not installed")
import cloudpickle  # noqa: E402
import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know tests

ROWS = sample_triplets(sample_points(30, 2, random_state=0), 2000, random_state=1).rows
TEXT = np.array([f"item {i:02}" for i in range(30)])


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as client:
        yield client


def frame_of(labels):
    return pd.DataFrame(labels[ROWS], columns=["anchor", "near", "far"])


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (np.arange(30), r"a.parquet holds text; anchor of .*b.parquet holds numbers"),
        (np.arange(30).astype("datetime64[ns]"), r"b.parquet holds timestamp\[ns\]"),
        (np.array(["", *TEXT[1:]]), "b.parquet, row group 0: an item has no name"),
    ],
)
def test_labels_that_one_machine_would_refuse_or_join(client, tmp_path, labels, told):
    """As text and numbers, 7 and '7' would be two items."""
    frame_of(TEXT).to_parquet(tmp_path / "a.parquet")
    frame_of(labels).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ReadError, match=told):
        ondisk.open_triplets(tmp_path, client=client)


def test_files_without_row_groups_hold_no_triplets(client, tmp_path):
    schema = pa.Table.from_pandas(frame_of(TEXT)).schema
    pq.ParquetWriter(tmp_path / "a.parquet", schema).close()
    with pytest.raises(ValueError, match="there are no triplets"):
        ondisk.open_triplets(tmp_path, client=client)
    frame_of(TEXT).to_parquet(tmp_path / "b.parquet")
    assert len(ondisk.open_triplets(tmp_path, client=client)) == len(ROWS)


def test_a_file_that_changes_after_it_was_opened_is_refused(client, tmp_path):
    frame_of(TEXT).to_parquet(tmp_path / "a.parquet")
    opened = ondisk.open_triplets(tmp_path, client=client)
    frame_of(TEXT)[:-1].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"row group 0 of .*another file than the one"):
        STE().fit(opened)


def test_partitions_that_are_no_tables_of_triplets_are_named(client):
    @dask.delayed
    def partition(names):
        return frame_of(TEXT).set_axis(names, axis=1)

    usual = partition(["anchor", "near", "far"])
    frames = dd.from_delayed(
        [usual, partition(["anchor", "near", "other"])],
        meta=frame_of(TEXT)[:0],
        verify_meta=False,
    )
    with client.as_current():
        with pytest.raises(ReadError, match="partition 1 of 2: there is no column 'far'"):
            STE().fit(frames)
        with pytest.raises(TypeError, match="partition 0 of 1: triplets must hold integer ids"):
            STE(n_items=30).fit(dd.from_delayed([usual], meta=frame_of(TEXT)[:0]))


def test_clients_that_cannot_be_used(client, tmp_path):
    frame_of(TEXT).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(TypeError, match=r"client must be a distributed.Client .* got 'tcp:"):
        ondisk.open_triplets(tmp_path, client="tcp://host:8786")
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        opened = ondisk.open_triplets(tmp_path, client=other)
    for use in (STE().fit, lambda _: ondisk.open_triplets(tmp_path, client=other)):
        with pytest.raises(ValueError, match="is closed: make another"):
            use(opened)


@pytest.mark.parametrize("method", ["results", "kept"])
def test_an_interruption_ends_tasks_though_its_traceback_is_kept(client, method):
    cluster, before = Cluster(client), n_tasks(client)  # those of other tests
    tasks = [cluster.call(time.sleep, 0.5) for _ in range(100)]
    threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt) as told:
        getattr(cluster, method)(tasks)
    deadline = time.monotonic() + 10
    while n_tasks(client) > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert told.tb
    assert n_tasks(client) <= before


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_a_command_that_is_told_twice_to_end_does_so_at_once(tmp_path):
    frame_of(TEXT).to_parquet(tmp_path / "set.parquet")
    (tmp_path / "tmp").mkdir()
    command = ["fit", "set.parquet", "--tol", "0", "--max-iter", "1000000", "--cluster", "local:2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ordinate", *command],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stderr=subprocess.PIPE,
        text=True,
    )
    while "workers;" not in (process.stderr.readline() or "workers;"):
        pass
    began = time.monotonic()
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    said = process.communicate(timeout=60)[1]
    assert time.monotonic() - began < 10
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == "error: interrupted; nothing is left half written"
    assert "Traceback" not in said
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"set.parquet", "tmp"}
