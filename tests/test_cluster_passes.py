"""Tasks of a pass on a cluster: few, however many partitions there are, and the same sums."""

import os
import platform
import signal
import sys

import numpy as np
import pytest
from test_cluster import SEPARATE

from ordinate import LOE, STE, Triplets, ondisk, sample_points, sample_triplets
from ordinate._base import cluster as base
from ordinate._base.cluster import Cluster
from ordinate.algorithms import landmark_cluster
from ordinate.files.cluster import handle, of_collection, opening
from ordinate.kernels import losses
from ordinate.passes import columns, store_of

distributed = pytest.importorskip("distributed", reason="dask is not installed")
import cloudpickle  # noqa: E402
import dask.array as da  # noqa: E402

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know tests

POINTS = sample_points(200, 2, random_state=0)
ROWS = sample_triplets(POINTS, 37_000, random_state=1).rows
LOSS = losses.get("ste")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, silence_logs=50, **SEPARATE) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def page_faults():
    """Pages that the system had to provide while arrays were made, one after the other."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        np.ones(100_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other systems give memory otherwise")
def test_workers_make_arrays_of_memory_that_they_have(client):
    cluster = Cluster(client)
    pages = 200 * 100_000 * 8 / 4096
    assert client.submit(page_faults, pure=False).result() > 0.9 * pages  # as Dask has it
    assert cluster.results([cluster.call(page_faults)])[0] < 0.1 * pages


def test_a_task_sums_several_partitions_to_the_same_bits(client, monkeypatch):
    """Of 37 partitions, 4 threads' worth of tasks each: groups of 4; and every one by itself."""
    data = da.from_array(ROWS, chunks=(1000, 3))
    sums, rows = {}, {}
    for for_each in (4, 100):
        monkeypatch.setattr(handle, "FOR_EACH", for_each)
        triplets = of_collection(data, n_items=200, client=client)
        value, gradient = store_of(triplets).loss(POINTS, LOSS)
        sums[len(triplets.groups)] = value, gradient.tobytes()
        rows[for_each] = triplets.load().rows
    assert set(sums) == {10, 37}
    assert sums[10] == sums[37]
    assert np.array_equal(rows[4], ROWS)
    assert np.array_equal(rows[100], ROWS)


def test_partitions_of_a_file_are_long_beside_the_map(client, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "SMALLEST", 1)
    ondisk.write([Triplets(ROWS, n_items=200)], tmp_path / "fast")
    sizes = ondisk.open_triplets(tmp_path / "fast", client=client).sizes
    assert len(sizes) == 24
    assert sizes[0] == 8 * 200


def test_the_pairs_of_a_landmark_stay_on_one_worker_for_the_next_fit(client, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "SMALLEST_PART", 1 << 14)
    table = sample_triplets(POINTS, 200_000, design="landmarks", landmarks=6, random_state=0)
    ondisk.write([table], tmp_path / "fast")
    triplets = ondisk.open_triplets(tmp_path / "fast", client=client)
    model = LOE().fit(triplets)
    assert max(map(len, triplets._columns[1].parts)) > 1
    where = client.who_has(distributed.futures_of(triplets._columns[1].whole))
    assert len(where) == 6
    # Dask may copy one or two to a worker that has nothing else to do.
    assert sum(map(len, where.values())) <= 8
    (tmp_path / "fast").rename(tmp_path / "away")
    assert np.array_equal(LOE().fit(triplets).embedding_, model.embedding_)


def test_there_are_as_many_stripes_as_threads_unless_they_are_large(monkeypatch):
    monkeypatch.setattr(landmark_cluster, "BLOCK", 10)
    for n_items, wanted, most in ((95, 4, 30), (95, 1, 95), (10_000, 100, 160)):
        stripes = landmark_cluster._stripes(n_items, wanted)
        assert stripes[0].stop == most
        assert stripes[-1].stop == n_items
        assert all(part.start % 10 == 0 for part in stripes)


def test_all_workers_restarted_one_by_one_change_nothing(client):
    """Each is killed between passes, and comes back empty: all rows are lost and read again."""
    pids = list(client.run(os.getpid).values())
    left = iter(pids)

    def restart_one(_):
        if (pid := next(left, None)) is not None:
            os.kill(pid, signal.SIGKILL)

    options = {"init": POINTS + 0.1, "n_init": 1, "tol": 1e-6}
    here = STE(**options).fit(ROWS[: 1 << 15])
    rows = da.from_array(ROWS[: 1 << 15], chunks=(1 << 16, 3))
    with client.as_current():
        there = STE(**options, callback=restart_one).fit(rows)
    assert next(left, None) is None
    assert np.array_equal(there.embedding_, here.embedding_)
    client.wait_for_workers(2, timeout=60)
    assert not set(pids) & set(client.run(os.getpid).values())


def test_workers_that_are_all_gone_for_a_moment_are_waited_for(client, monkeypatch):
    cluster, known = Cluster(client), client.scheduler_info
    answers = iter([{"workers": {}}])
    monkeypatch.setattr(
        client, "scheduler_info", lambda **options: next(answers, None) or known(**options)
    )
    assert cluster.n_threads == 2


def test_a_cluster_without_workers_is_told(monkeypatch):
    monkeypatch.setattr(base, "PATIENCE", 0.1)
    with (
        distributed.LocalCluster(n_workers=0, silence_logs=50, **SEPARATE) as cluster,
        distributed.Client(cluster) as nobody,
        pytest.raises(ValueError, match="no workers for 0.1 seconds: start some, as in"),
    ):
        Cluster(nobody)
