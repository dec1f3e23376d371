"""Every store through the same cases: what the two protocols of ordinate.passes promise."""

import inspect
import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from ordinate import Triplets, ondisk, threads
from ordinate._base.arrays import beside, on_host
from ordinate._base.device import TORCH_CPU
from ordinate._base.trees import in_tree
from ordinate.algorithms.ranking import rank_columns
from ordinate.files.ondisk import handles
from ordinate.kernels import backends, losses, noise
from ordinate.kernels.backends import numpy_
from ordinate.passes import (
    ClusterColumns,
    ClusterTriplets,
    ColumnStore,
    DeviceColumns,
    DeviceTriplets,
    MemoryColumns,
    MemoryTriplets,
    SentColumns,
    SentTriplets,
    StreamedColumns,
    StreamedTriplets,
    TripletStore,
    adding,
    columns,
    device,
    sampling,
    triplets,
)
from ordinate.passes.columns import ColumnPasses

WITH_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
ON_HOST = ["memory", "folder", "file.parquet", "rows.npy"]
ON_DEVICE = [
    pytest.param(kind, marks=WITH_TORCH)
    for kind in ("device", "sent", "folder on device", "folder sent")
]
WITH_DASK = pytest.mark.skipif(find_spec("distributed") is None, reason="dask is not installed")
ON_CLUSTER = [pytest.param("cluster", marks=WITH_DASK)]
N, M = 20, 3000
NO_WEIGHT = np.empty(0)


@pytest.fixture(scope="module")
def workers():
    """Threads of this process, so that parts may be made small there too."""
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.Client(processes=False, **options) as client:
        yield client


@pytest.fixture(params=[*ON_HOST, *ON_DEVICE, *ON_CLUSTER])
def kind(request):
    if request.param == "cluster":
        request.getfixturevalue("workers")
    return request.param


@pytest.fixture(params=["whole", "tiny"])
def blocks(request, monkeypatch):
    """Parts and blocks as they are, which hold all rows here, or many of each."""
    if request.param == "tiny":
        monkeypatch.setattr(triplets, "SMALL_PART", 700)
        monkeypatch.setattr(columns, "SMALLEST_PART", 200)
        for module, size in ((triplets, 301), (columns, 128), (handles, 128)):
            monkeypatch.setattr(module, "BLOCK", size)
        monkeypatch.setattr(handles, "SMALLEST_BLOCK", 16)
        if find_spec("torch") is not None:
            from ordinate.kernels.backends import torch_

            monkeypatch.setattr(torch_, "BLOCK", 600)
    return request.param


@pytest.fixture
def triplets_in(kind, tmp_path):
    """Put triplets into a store of this kind."""
    return lambda table: triplet_store(kind, table, tmp_path)


@pytest.fixture
def columns_in(kind, tmp_path):
    """Put the columns of landmarks into a store of this kind."""
    return lambda table, landmarks: column_store(kind, table, np.asarray(landmarks), tmp_path)


def triplet_store(kind, table, folder):
    if kind == "memory":
        return MemoryTriplets.from_triplets(table)
    if kind == "device":
        return DeviceTriplets.of(triplet_store("memory", table, folder), TORCH_CPU)
    if kind == "sent":
        return SentTriplets(triplet_store("memory", table, folder), TORCH_CPU)
    if kind == "folder on device":
        return DeviceTriplets.of(triplet_store("folder", table, folder), TORCH_CPU)
    if kind == "folder sent":
        return SentTriplets(triplet_store("folder", table, folder), TORCH_CPU)
    if kind == "cluster":
        return ClusterTriplets.from_triplets(on_cluster(table))
    return StreamedTriplets.from_triplets(opened(kind, table, folder))


def column_store(kind, table, landmarks, folder):
    if kind == "memory":
        return MemoryColumns.from_triplets(table, landmarks)
    if kind == "device":
        return DeviceColumns.of(column_store("memory", table, landmarks, folder), TORCH_CPU)
    if kind == "sent":
        return SentColumns(column_store("memory", table, landmarks, folder), TORCH_CPU)
    if kind == "folder on device":
        return DeviceColumns.of(column_store("folder", table, landmarks, folder), TORCH_CPU)
    if kind == "folder sent":
        return SentColumns(column_store("folder", table, landmarks, folder), TORCH_CPU)
    if kind == "cluster":
        return ClusterColumns.from_triplets(on_cluster(table), landmarks)
    return StreamedColumns.from_triplets(opened(kind, table, folder), landmarks)


def on_cluster(table):
    """Put triplets on a cluster, in a few partitions."""
    import dask.array as da
    import dask.dataframe as dd

    from ordinate.files.cluster import of_collection

    if table.weight is None:
        data = da.from_array(table.rows, chunks=(max(len(table) // 3, 1), 3))
    else:
        data = dd.from_pandas(table.to_arrow().to_pandas(), npartitions=3)
    return of_collection(data, n_items=table.n_items)


def opened(name, table, folder):
    """Write triplets, in the order of their anchors, and open the file."""
    grouped = table.grouped().triplets
    if name != "rows.npy" or table.weight is not None:
        ondisk.write([grouped], folder / name.replace("rows.npy", "weighted"), force=True)
        return ondisk.open_triplets(folder / name.replace("rows.npy", "weighted"))
    np.save(folder / name, grouped.rows)
    return ondisk.open_triplets(folder / name, n_items=table.n_items)


def some_triplets(n_rows=M, n_items=N, *, weighted=False, seed=0):
    """Random triplets, in the order of their anchors; the last two items occur in none."""
    rng = np.random.default_rng(seed)
    anchor = np.sort(rng.integers(n_items - 2, size=n_rows))
    near = (anchor + 1 + rng.integers(n_items - 4, size=n_rows)) % (n_items - 2)
    far = (near + 1 + rng.integers(n_items - 4, size=n_rows)) % (n_items - 2)
    far = np.where(far == anchor, (far + 1) % (n_items - 2), far)
    keep = (far != near) & (far != anchor) & (near != anchor)
    rows = np.column_stack([anchor, near, far])[keep]
    weight = rng.integers(1, 5, len(rows)) / 2 if weighted else None
    return Triplets(rows, n_items=n_items, weight=weight)


def weight_of(table):
    return NO_WEIGHT if table.weight is None else table.weight


def asked(call, *arrays, like):
    """Call with arrays where the store computes; what it answers as NumPy's."""
    found = call(*(beside(like, array) for array in arrays))
    return tuple(map(on_host, found)) if isinstance(found, tuple) else on_host(found)


POINTS = np.random.default_rng(1).normal(size=(N, 2))
VECTORS = np.random.default_rng(2).normal(size=(N, 8)).astype(np.float32)


# Triplets


@pytest.mark.parametrize("weighted", [False, True])
def test_passes_over_triplets_are_those_of_the_plain_kernels(triplets_in, blocks, weighted):
    table = some_triplets(weighted=weighted)
    store, rows, weight = triplets_in(table), table.rows, weight_of(table)
    like = store.counts
    assert (len(store), store.n_items, store.weighted) == (len(table), N, weighted)
    assert store.total == pytest.approx(weight.sum() if weighted else len(table))
    assert np.array_equal(on_host(store.counts), numpy_.count_mentions(rows, N))
    assert store.n_passes == 0
    for name in losses.NAMES:
        loss = losses.get(name)
        value, gradient = asked(lambda x, loss=loss: store.loss(x, loss), POINTS, like=like)
        twin, twin_gradient = numpy_.loss_sums(rows, weight, POINTS, loss)
        assert float(value) == pytest.approx(twin, rel=1e-12)
        assert gradient == pytest.approx(twin_gradient, rel=1e-9, abs=1e-9)
        found = asked(lambda x, loss=loss: store.curvature(x, loss), POINTS, like=like)
        twins = numpy_.curvature_sums(rows, weight, POINTS, loss)
        for block, twin in zip(found, twins, strict=True):
            assert block == pytest.approx(twin, rel=1e-9, abs=1e-9)
        found = asked(lambda x, loss=loss: store.shape(x, loss), POINTS, like=like)
        twins = numpy_.shape_sums(rows, weight, POINTS, loss)
        for sums, twin in zip(found, twins, strict=True):
            assert sums.shape == np.shape(twin)
            assert sums == pytest.approx(twin, rel=1e-9, abs=1e-9)
    product = asked(store.similarity, VECTORS, like=like)
    twin = numpy_.similarity_sums(rows, weight, VECTORS.astype(float))
    assert product == pytest.approx(twin, rel=1e-5, abs=1e-3)
    assert store.n_passes == 3 * len(losses.NAMES) + 1


@pytest.mark.parametrize("rows", [[[0, 1, 2]], [[4, 0, 2]]])
def test_one_triplet(triplets_in, rows):
    table = Triplets(rows, n_items=5)
    store, loss = triplets_in(table), losses.get("ste")
    value, gradient = asked(lambda x: store.loss(x, loss), POINTS[:5], like=store.counts)
    twin, twin_gradient = numpy_.loss_sums(table.rows, NO_WEIGHT, POINTS[:5], loss)
    assert float(value) == pytest.approx(twin, rel=1e-12)
    assert gradient == pytest.approx(twin_gradient, rel=1e-12)
    assert (len(store), store.total, store.n_parts()) == (1, 1, 1)
    assert store.sample(1) is store
    assert store.sample(0) is store


@pytest.mark.parametrize(
    ("rows", "n_parts"),
    [
        ([[0, 1, 2], [2, 3, 4], [4, 5, 6]], 1),
        ([[0, 1, 2], [3, 4, 5], [6, 7, 5]], 2),
        ([[0, 1, 2], [3, 4, 5], [6, 7, 8]], 3),
        ([[i, (i + 1) % 9, (i + 2) % 9] for i in range(9)] * 50, 1),
    ],
)
def test_parts_of_the_items_that_occur(triplets_in, blocks, rows, n_parts):
    assert triplets_in(Triplets(rows, n_items=11)).n_parts() == n_parts


def numbered(weighted):
    """Triplets whose anchor is the number of the row."""
    m = 900
    rows = np.column_stack([(np.arange(m) + shift) % m for shift in range(3)])
    return Triplets(rows, n_items=m, weight=1.0 + np.arange(m) if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_of_triplets(triplets_in, kind, blocks, weighted):
    """One row of each stretch, with its weight, the same every time, and counted by its share."""
    store = triplets_in(numbered(weighted))
    few = store.sample(95)  # stretches of 9 rows
    chosen = np.flatnonzero(on_host(few.counts)[0])
    assert len(few) == len(chosen) == 100
    assert (chosen // 9 == np.arange(100)).all()
    assert len(set((chosen % 9).tolist())) == 9
    assert (few.weighted, few.n_items) == (weighted, 900)
    assert few.total == (1.0 + chosen).sum() if weighted else 100
    assert np.array_equal(on_host(store.sample(95).counts), on_host(few.counts))
    if "device" not in kind:  # where the numbers are drawn by torch
        known = MemoryTriplets.from_triplets(numbered(weighted)).sample(95)
        assert np.array_equal(known.counts, on_host(few.counts))
    points = np.random.default_rng(0).normal(size=(900, 2))
    asked(lambda x: few.loss(x, losses.get("ste")), points, like=store.counts)
    fewer = few.sample(50)
    asked(lambda x: fewer.loss(x, losses.get("ste")), points, like=store.counts)
    assert (fewer.n_passes, few.n_passes) == (1, 1.5)
    assert store.n_passes == pytest.approx(150 / 900)
    assert store.sample(900) is store
    assert store.sample(451) is store


def test_sums_over_triplets_on_any_number_of_threads(triplets_in, blocks):
    store, loss = triplets_in(some_triplets(weighted=True)), losses.get("ste")
    power = losses.get("power", power=0.3, lapse=0.1)
    found = []
    for number in (1, 2, 3):
        with threads(number):
            sums = asked(lambda x: store.loss(x, loss), POINTS, like=store.counts)
            sums += asked(lambda x: store.curvature(x, loss), POINTS, like=store.counts)
            sums += asked(lambda x: store.shape(x, power), POINTS, like=store.counts)
            found.append([*sums, asked(store.similarity, VECTORS, like=store.counts)])
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("name", ON_HOST[1:])
def test_files_are_summed_as_memory_is_bit_for_bit(name, tmp_path, monkeypatch):
    """Where a part is no longer than a block."""
    monkeypatch.setattr(triplets, "SMALL_PART", 400)
    monkeypatch.setattr(columns, "SMALLEST_PART", 60)
    table, loss, f = some_triplets(), losses.get("ckl"), noise.get("btl")
    landmarks = np.arange(0, N - 2, 3)
    here, there = (triplet_store(kind, table, tmp_path) for kind in ("memory", name))
    for method in (here.loss, here.curvature, here.shape):
        found = getattr(there, method.__name__)(POINTS, loss)
        assert all(np.array_equal(a, b) for a, b in zip(method(POINTS, loss), found, strict=True))
    assert np.array_equal(here.similarity(VECTORS), there.similarity(VECTORS))
    here, there = (column_store(kind, table, landmarks, tmp_path) for kind in ("memory", name))
    for dtype in (np.float32, np.float64):
        scores = np.random.default_rng(0).normal(size=(len(landmarks), N)).astype(dtype)
        every = dict(enumerate(scores))
        for method in (here.gradient, here.information):
            found = getattr(there, method.__name__)(every, f)
            assert all(np.array_equal(sums, found[i]) for i, sums in method(every, f).items())
        coupled = there.coupling(every, f)(every)
        assert all(
            np.array_equal(sums, coupled[i]) for i, sums in here.coupling(every, f)(every).items()
        )


@WITH_TORCH
@pytest.mark.parametrize("kind", ["device", "sent"])
def test_terms_in_single_precision(kind):
    """On a device, where asked for: close to double precision, and not the same."""
    host = MemoryTriplets.from_triplets(some_triplets())
    make = DeviceTriplets.of if kind == "device" else SentTriplets
    sums = [
        asked(lambda x, store=store: store.loss(x, losses.get("ste")), POINTS, like=store.counts)
        for store in (make(host, TORCH_CPU, precision) for precision in ("double", "single"))
    ]
    assert sums[1][1] == pytest.approx(sums[0][1], abs=1e-3)
    assert not np.array_equal(sums[0][1], sums[1][1])


# Columns


def pairs_of(table, landmark):
    mine = table.rows[:, 0] == landmark
    return table.rows[mine, 1:], NO_WEIGHT if table.weight is None else table.weight[mine]


# The last two items are the anchors of no triplet: their columns are empty.
LANDMARKS = np.array([0, 3, N - 2, 7, N - 1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", noise.NAMES)
def test_passes_over_columns_are_those_of_the_plain_kernels(columns_in, blocks, weighted, model):
    table, f = some_triplets(weighted=weighted), noise.get(model)
    store = columns_in(table, LANDMARKS)
    own = [pairs_of(table, landmark) for landmark in LANDMARKS]
    assert (len(store), store.n_items, store.weighted) == (5, N, weighted)
    assert store.sizes.tolist() == [len(pairs) for pairs, _ in own]
    assert store.sizes[2] == store.sizes[4] == 0
    far, near = store.counts()
    twins = [numpy_.count_sums(pairs, weight, N, float) for pairs, weight in own]
    assert np.array_equal(on_host(far), [twin for twin, _ in twins])
    assert np.array_equal(on_host(near), [twin for _, twin in twins])
    scores = 2 * np.random.default_rng(3).normal(size=(5, N))
    values = np.random.default_rng(4).normal(size=(5, N))
    for dtype, close in ((np.float64, 1e-10), (np.float32, 1e-3)):
        x = beside(far, scores.astype(dtype))
        gradient = store.gradient(dict(enumerate(x)), f)
        information = store.information(dict(enumerate(x)), f)
        given = dict(enumerate(beside(far, values.astype(dtype))))
        coupled = store.coupling(dict(enumerate(x)), f)(given)
        for i, (pairs, weight) in enumerate(own):
            twin = numpy_.score_sums(pairs, weight, scores[i], f)
            assert on_host(gradient[i]) == pytest.approx(twin, abs=close * (1 + len(pairs)))
            curvature = numpy_.pair_information(pairs, weight, scores[i], f)
            twin = numpy_.neighbour_sums(pairs, curvature, np.ones(N))
            assert on_host(information[i]) == pytest.approx(twin, abs=close * (1 + len(pairs)))
            twin = numpy_.neighbour_sums(pairs, curvature, values[i])
            assert on_host(coupled[i]) == pytest.approx(twin, abs=close * (1 + len(pairs)))
    some = store.coupling({3: x[3], 0: x[0]}, f)({3: given[3], 0: given[0]})
    assert list(some) == [3, 0]
    assert all(np.array_equal(on_host(sums), on_host(coupled[i])) for i, sums in some.items())
    some = store.gradient({3: x[3], 0: x[0]}, f)
    assert list(some) == [3, 0]
    assert all(np.array_equal(on_host(sums), on_host(gradient[i])) for i, sums in some.items())
    some = store.information({1: x[1]}, f)
    assert list(some) == [1]
    assert np.array_equal(on_host(some[1]), on_host(information[1]))


def test_one_pair(columns_in):
    store, f = columns_in(Triplets([[0, 1, 2]], n_items=4), [0]), noise.get("btl")
    far, near = store.counts()
    assert (on_host(far).tolist(), on_host(near).tolist()) == ([[0, 0, 1, 0]], [[0, 1, 0, 0]])
    x = beside(far, np.zeros((1, 4)))
    assert on_host(store.gradient({0: x[0]}, f)[0]).tolist() == [0, -0.5, 0.5, 0]
    assert on_host(store.information({0: x[0]}, f)[0]).tolist() == [0, 0.25, 0.25, 0]
    assert store.n_parts(np.array([2])).tolist() == [1]
    assert store.sample(1).sizes.tolist() == [1]


def test_weights_are_repeats(columns_in, kind, tmp_path):
    table, f = some_triplets(), noise.get("thurstone")
    often = np.random.default_rng(5).integers(1, 4, len(table))
    weighted = Triplets(table.rows, n_items=N, weight=often)
    repeated = Triplets(np.repeat(table.rows, often, axis=0), n_items=N)
    (tmp_path / "repeated").mkdir()
    stores = (
        columns_in(weighted, [0, 3]),
        column_store(kind, repeated, np.array([0, 3]), tmp_path / "repeated"),
    )
    counts = [on_host(far) for far, _ in (store.counts() for store in stores)]
    assert np.array_equal(*counts)
    scores = np.random.default_rng(3).normal(size=(2, N))
    for method in ("gradient", "information"):
        x = dict(enumerate(beside(stores[0].counts()[0], scores)))
        once, twice = (getattr(store, method)(x, f) for store in stores)
        assert all(on_host(once[i]) == pytest.approx(on_host(twice[i]), abs=1e-9) for i in x)


def test_parts_of_the_items_that_are_compared(columns_in, blocks):
    """A chain of all items but its landmark, in the order that is worst; pairs apart; nothing."""
    n = 500
    chain = [[0, i, i - 1] for i in range(n - 1, 1, -1)]
    apart = [[1, i, i + 1] for i in range(2, n - 1, 2)]
    store = columns_in(Triplets(chain + apart, n_items=n), [0, 1, 2])
    n_parts = store.n_parts(np.array([n - 1, len(apart) * 2, 0]))
    assert n_parts.tolist() == [1, len(apart), 0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 40, 300, 100_000])
def test_samples_of_columns(columns_in, blocks, weighted, size):
    """Runs of rows, the same in every store, of each column as long as there are enough."""
    table = some_triplets(20_000, weighted=weighted)
    store = columns_in(table, LANDMARKS)
    (far, near), few = store.counts_and_sample(size)
    for one, other in ((store.counts(), (far, near)), (few.counts(), store.sample(size).counts())):
        assert all(np.array_equal(on_host(a), on_host(b)) for a, b in zip(one, other, strict=True))
    assert (few.sizes <= store.sizes).all()
    if size == 100_000:
        assert (few.sizes == store.sizes).all()
    found_far, found_near = map(on_host, few.counts())
    for i, landmark in enumerate(LANDMARKS):
        pairs, weight = pairs_of(table, landmark)
        rows = expected_runs(len(pairs), size)
        assert few.sizes[i] == len(rows)
        twin = numpy_.count_sums(pairs[rows], weight[rows] if weighted else weight, N, float)
        assert np.array_equal((found_far[i], found_near[i]), twin)
    assert few.weighted == weighted


def expected_runs(n_rows, size):
    step = n_rows * 16 // max(size, 16)
    if step <= 16:
        return np.arange(n_rows)
    middle = (step - 16) // 2
    return np.concatenate(
        [np.arange(at + middle, at + middle + 16) for at in range(0, n_rows // step * step, step)]
    )


def test_sums_over_columns_on_any_number_of_threads(columns_in, blocks):
    store, f = columns_in(some_triplets(weighted=True), LANDMARKS), noise.get("btl")
    found = []
    for number in (1, 2, 3):
        with threads(number):
            far, near = store.counts()
            x = beside(far, np.random.default_rng(3).normal(size=(5, N)))
            every = dict(enumerate(x))
            sums = [far, near, *store.coupling(every, f)(every).values()]
            for method in (store.gradient, store.information):
                sums += method(dict(enumerate(x)), f).values()
            found.append(list(map(on_host, sums)))
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_parts_are_even_and_a_sample_is_one():
    n = 1_000_000
    assert columns.column_parts(8 * n + 5000, n) == [slice(0, 8 * n + 5000)]
    lengths = [part.stop - part.start for part in columns.column_parts(21 * n, n)]
    assert lengths == [7 * n] * 3
    assert len(columns.column_parts(10**12, n)) == columns.MOST_PARTS
    assert columns.column_parts(0, n) == [slice(0, 0)]


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 100, 1000])
@pytest.mark.parametrize("size", [0, 1, 16, 50, 999])
def test_runs_that_are_taken_block_by_block(n_rows, size):
    runs = sampling.Runs.of(n_rows, size)
    column = np.arange(n_rows)
    whole = runs.take(column)
    assert len(whole) == runs.n_rows
    assert whole.tolist() == expected_runs(n_rows, size).tolist()
    pieces = np.full(runs.n_rows, -1)
    for start in range(0, n_rows, 7):
        block = column[start : start + 7]
        places, rows = runs.between(start, start + len(block))
        pieces[places] = block[rows]
    assert (pieces == whole).all()


# The contract itself


class PartsElsewhere(ColumnPasses):
    """Columns in parts that only pickles reach, as on a cluster: a map over them, and a sum."""

    def __init__(self, host):
        self.host, self.n_items, self.sizes = host, host.n_items, host.sizes
        self.weighted, self.n_parts = host.weighted, host.n_parts

    def sample(self, size):
        return self.host.sample(size)

    def _sum(self, kernel, arguments):
        def summed(i, part):
            there = pickle.dumps((kernel, self.host.pairs[i][part], arguments[i]))
            task, pairs, asked_with = pickle.loads(there)
            return task(backends.load(), pairs, NO_WEIGHT, *asked_with)

        return {
            i: in_tree(
                adding.total_of,
                [summed(i, part) for part in columns.column_parts(self.sizes[i], self.n_items)],
            )
            for i in arguments
        }


def test_a_store_is_a_map_over_parts_and_a_sum(monkeypatch):
    """One method is enough for LOE's scores, to the same bits; what it sends can be pickled."""
    monkeypatch.setattr(columns, "SMALLEST_PART", 200)
    table, landmarks = some_triplets(20_000), np.arange(5)
    host = MemoryColumns.from_triplets(table, landmarks)
    known, found = (
        rank_columns(store, noise.get("btl"), owners=landmarks, tol=1e-8)
        for store in (host, PartsElsewhere(host))
    )
    assert np.array_equal(found.scores, known.scores)
    assert np.array_equal(found.information, known.information)
    assert found.n_passes == known.n_passes > 3


def promised(protocol):
    return {
        name: member
        for name, member in vars(protocol).items()
        if not name.startswith("_") or name == "__len__"
    }


@pytest.mark.parametrize(
    ("protocol", "store"),
    [
        *(
            (TripletStore, s)
            for s in (
                MemoryTriplets,
                StreamedTriplets,
                DeviceTriplets,
                SentTriplets,
                ClusterTriplets,
            )
        ),
        *(
            (ColumnStore, s)
            for s in (MemoryColumns, StreamedColumns, DeviceColumns, SentColumns, ClusterColumns)
        ),
    ],
)
def test_stores_offer_what_is_promised_and_nothing_beside(protocol, store):
    """Methods of the same arguments; beside them how a store is made, and how it is sent."""
    for name, member in promised(protocol).items():
        if inspect.isfunction(member):
            ours = inspect.signature(getattr(store, name)).parameters
            assert list(ours) == list(inspect.signature(member).parameters), name
    methods = {name for name, _ in inspect.getmembers(store, callable) if not name.startswith("_")}
    beside_it = {"from_triplets", "of", "in_tiles", "each_block", "count_pass"}
    assert methods - set(promised(protocol)) <= beside_it


def test_a_device_without_room_is_sent_blocks(monkeypatch, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    from ordinate.passes import columns_of, store_of

    table = some_triplets()
    in_file = opened("folder", table, tmp_path)
    assert isinstance(store_of(table), MemoryTriplets)
    assert isinstance(store_of(in_file), StreamedTriplets)
    assert isinstance(columns_of(table, LANDMARKS), MemoryColumns)
    assert isinstance(columns_of(in_file, LANDMARKS), StreamedColumns)
    assert isinstance(store_of(table, device=TORCH_CPU), DeviceTriplets)
    assert isinstance(columns_of(in_file, LANDMARKS, device=TORCH_CPU), DeviceColumns)
    monkeypatch.setattr(device, "has_room", lambda device, n_bytes: False)
    for source in (table, in_file):
        with pytest.warns(UserWarning, match="sent there again for every pass"):
            assert isinstance(store_of(source, device=TORCH_CPU), SentTriplets)
        with pytest.warns(UserWarning, match="sent there again for every pass"):
            assert isinstance(columns_of(source, LANDMARKS, device=TORCH_CPU), SentColumns)
