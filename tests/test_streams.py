"""Triplets in files: the layout, what may go wrong with it, and fits that stream from it."""

import gc
import resource
import shutil
import tempfile
import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import triplet_rows

from ordinate import LOE, STE, Triplets, ondisk, sample_points, sample_triplets
from ordinate._base.memory import memory_size
from ordinate._base.threads import ahead, in_order
from ordinate.data.simulate import iter_triplets
from ordinate.estimators import STEKer
from ordinate.files import inputs
from ordinate.files.inputs import open_source
from ordinate.files.ondisk import grouped, handles, unsorted, writing
from ordinate.files.ondisk.sorting import ranges
from ordinate.files.readers import ReadError
from ordinate.kernels import losses, noise
from ordinate.passes import columns, columns_of, store_of

# Of a folder it is told that its files are participants.
pytestmark = pytest.mark.filterwarnings("ignore:.*/parts. no column names participants")
BTL = noise.get("btl")
TARGETS = ["folder", "file.parquet"]


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Many blocks and stretches from few rows."""
    monkeypatch.setattr(handles, "BLOCK", 512)
    monkeypatch.setattr(handles, "SMALLEST_BLOCK", 16)
    for module in (grouped, writing):
        monkeypatch.setattr(module, "STRETCH", 128)
    monkeypatch.setattr(writing, "LONG", 64)


@pytest.fixture(scope="module")
def points():
    return sample_points(60, random_state=0)


@pytest.fixture(scope="module")
def landmark_triplets(points):
    return sample_triplets(points, 20_000, design="landmarks", landmarks=7, random_state=0)


@pytest.fixture(scope="module")
def uniform_triplets(points):
    return sample_triplets(points, 20_000, random_state=1)


def save(triplets, path):
    """Write a table in the format that the name tells."""
    table = triplets.to_arrow()
    if path.suffix == ".npy":
        np.save(path, triplets.rows)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table, max_chunksize=999)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=777)
    else:
        path.mkdir()
        for i, start in enumerate(range(0, len(table), 6000)):
            pq.write_table(table.slice(start, 6000), path / f"part-{i}.parquet")
    return path


PLAIN = ["x.npy", "x.csv", "x.arrow", "x.parquet", "parts"]


# Reading and writing


@pytest.mark.parametrize("name", PLAIN)
def test_plain_files_are_read_in_blocks(name, tmp_path, uniform_triplets, tiny_blocks):
    opened = ondisk.open_triplets(save(uniform_triplets, tmp_path / name))
    assert (len(opened), opened.n_items) == (20_000, 60)
    assert (opened.load().rows == uniform_triplets.rows).all()
    sizes = []
    for block in opened.blocks(1000):
        sizes.append((len(block.rows), block.last))
        opened.buffers.give(block.rows)
    assert sizes == 20 * [(512, False), (488, True)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PLAIN)
def test_any_plain_file_is_converted(name, target, tmp_path, uniform_triplets, tiny_blocks):
    source = save(uniform_triplets, tmp_path / name)
    ondisk.convert(source, tmp_path / target, memory_limit=40_000)
    opened = ondisk.open_triplets(tmp_path / target)
    sorted_rows, starts = uniform_triplets.grouped()
    assert (opened.load().rows == sorted_rows.rows).all()
    assert (opened.starts == starts).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, target])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(triplet_rows(), st.sampled_from(TARGETS), st.booleans(), st.integers(1, 20), st.data())
def test_writing_pieces_in_any_order(tiny_blocks, tmp_path, data, target, weighted, size, draw):
    rows, n_items = data
    weight = np.arange(1.0, len(rows) + 1) if weighted else None
    whole = Triplets(rows, n_items=n_items, weight=weight)
    if draw.draw(st.booleans()):
        whole = whole.grouped().triplets
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    ondisk.write(iter(pieces), tmp_path / target, memory_limit=1000, force=True)
    opened = ondisk.open_triplets(tmp_path / target)
    expected = whole.grouped().triplets
    found = opened.load()
    assert (found.rows == expected.rows).all()
    assert found.n_items == n_items
    if weighted:
        assert (found.weight == expected.weight).all()
    assert {path.name for path in tmp_path.iterdir()} <= set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_simulated_sets_are_written_in_a_stream(target, tmp_path, points, landmark_triplets):
    pieces = iter_triplets(points, 20_000, design="landmarks", landmarks=7, random_state=0)
    ondisk.write(pieces, tmp_path / target)
    assert (ondisk.open_triplets(tmp_path / target).load().rows == landmark_triplets.rows).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "labels", [["ant", "bee", "cat", "dog"], [3, 50, 1000, 2**40], [-5, 0, 7, 9]]
)
def test_labels_are_kept(labels, target, tmp_path):
    triplets = Triplets([[3, 1, 2], [0, 1, 3], [3, 0, 1]], items=labels)
    ondisk.convert(save(triplets, tmp_path / "x.parquet"), tmp_path / target)
    found = ondisk.open_triplets(tmp_path / target)
    assert found.items.tolist() == labels
    assert (found.load().rows == triplets.grouped().triplets.rows).all()
    ondisk.write([triplets], tmp_path / "again")
    assert ondisk.open_triplets(tmp_path / "again").items.tolist() == labels


def test_weights_go_along(tmp_path, uniform_triplets, tiny_blocks):
    weight = 1.0 + np.arange(20_000) % 5
    weighted = Triplets(uniform_triplets.rows, weight=weight)
    source = save(weighted, tmp_path / "x.parquet")
    assert (ondisk.open_triplets(source).load().weight == weight).all()
    ondisk.convert(source, tmp_path / "folder", memory_limit=40_000)
    found = ondisk.open_triplets(tmp_path / "folder").load()
    assert (found.weight == weighted.grouped().triplets.weight).all()


@pytest.mark.parametrize(("n_items", "width"), [(256, 1), (257, 2), (65_536, 2), (65_537, 4)])
def test_ids_are_compact(n_items, width, tmp_path):
    rows = [[0, 1, n_items - 1], [1, n_items - 2, 2]]
    ondisk.write([rows], tmp_path / "folder", n_items=n_items)
    assert np.load(tmp_path / "folder" / "pairs.npy").dtype.itemsize == width
    assert ondisk.open_triplets(tmp_path / "folder").load().rows.tolist() == rows


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 50))
def test_ranges_of_anchors_are_small_or_single(counts, most):
    bounds = ranges(np.array(counts), most)
    assert bounds[0] == 0
    assert bounds[-1] == len(counts)
    for low, high in pairwise(bounds):
        assert high > low
        assert sum(counts[low:high]) <= most or high == low + 1


# Passes


def test_long_columns_sum_bit_for_bit_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "MOST_PARTS", 2)
    points = sample_points(30, random_state=0)
    triplets = sample_triplets(
        points, 13_000_000, design="landmarks", landmarks=[4], random_state=0
    )
    ondisk.write([triplets], tmp_path / "folder")
    ours = columns_of(ondisk.open_triplets(tmp_path / "folder", memory_limit="2GiB"), np.array([4]))
    known = columns_of(triplets, np.array([4]))
    scores = {0: np.random.default_rng(0).normal(size=30).astype(np.float32)}
    assert len(list(ours._tasks([0]))) == 4
    assert (ours.gradient(scores, BTL)[0] == known.gradient(scores, BTL)[0]).all()


def test_large_samples_stay_within_the_limit(tmp_path, uniform_triplets):
    store = store_of(
        ondisk.open_triplets(save(uniform_triplets, tmp_path / "x.npy"), memory_limit=112_000)
    )
    assert 900 < len(store.sample(5000)) <= 1000
    # Drawing one takes a pass over the file: small ones are kept.
    assert store.sample(50) is store.sample(50)
    assert store.sample(5000) is not store.sample(5000)


# Fits


@pytest.mark.parametrize("target", TARGETS)
def test_loe_from_a_file_is_loe_in_memory(target, tmp_path, landmark_triplets, tiny_blocks, capsys):
    ondisk.write([landmark_triplets], tmp_path / target)
    known = LOE().fit(landmark_triplets)
    loaded = LOE(verbose=1).fit(tmp_path / target)
    assert "read into memory" in capsys.readouterr().err
    opened = ondisk.open_triplets(tmp_path / target, memory_limit=400_000)
    streamed = LOE(verbose=1).fit(opened)
    said = capsys.readouterr().err
    assert "20,000 rows, streamed; the memory limit is" in said
    assert "needs about" in said
    for model in (loaded, streamed):
        assert model.embedding_ == pytest.approx(known.embedding_, abs=1e-5)
        assert (model.landmarks_ == known.landmarks_).all()
        assert model.n_triplets_used_ == 20_000
        assert model.score(opened) == pytest.approx(known.score(landmark_triplets), abs=1e-3)
    fewer = LOE(landmarks=5)
    with pytest.warns(UserWarning, match="5,714 of 20,000 triplets were not used"):
        chosen = fewer.fit(opened).landmarks_.tolist()
    with pytest.warns(UserWarning, match="were not used"):
        assert fewer.fit(landmark_triplets).landmarks_.tolist() == chosen


def test_the_copy_of_an_unordered_file_lives_as_long_as_it_is_used(
    tmp_path, landmark_triplets, monkeypatch
):
    """A fit that is given a path holds on to the copy in the order of anchors, and nothing else."""
    shuffled = landmark_triplets[np.random.default_rng(0).permutation(20_000)]
    save(shuffled, tmp_path / "x.npy")
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    monkeypatch.setattr(inputs, "memory_size", lambda limit: memory_size("900kB"))
    model = LOE().fit(tmp_path / "x.npy")
    assert model.embedding_ == pytest.approx(LOE().fit(shuffled).embedding_, abs=1e-5)
    gc.collect()
    assert list((tmp_path / "copies").iterdir()) == []

    def fail(*arguments):
        raise OSError("no more room")

    monkeypatch.setattr(unsorted, "regroup", fail)
    with pytest.raises(OSError, match="no more room"):
        LOE().fit(tmp_path / "x.npy")
    assert list((tmp_path / "copies").iterdir()) == []


def test_loe_from_an_unordered_file(tmp_path, landmark_triplets, tiny_blocks):
    shuffled = landmark_triplets[np.random.default_rng(0).permutation(20_000)]
    opened = ondisk.open_triplets(save(shuffled, tmp_path / "x.csv"), memory_limit=400_000)
    known = LOE().fit(shuffled)
    assert LOE().fit(opened).embedding_ == pytest.approx(known.embedding_, abs=1e-5)


@pytest.mark.parametrize("name", PLAIN)
def test_ste_from_a_file_is_ste_in_memory(name, tmp_path, uniform_triplets, tiny_blocks):
    opened = ondisk.open_triplets(save(uniform_triplets, tmp_path / name), memory_limit=400_000)
    assert not opened.fits
    known = STE(n_init=1, random_state=0).fit(uniform_triplets)
    found = STE(n_init=1, random_state=0).fit(opened)
    assert found.embedding_ == pytest.approx(known.embedding_, abs=1e-6)
    assert found.n_passes_ == pytest.approx(known.n_passes_)


def test_a_warm_start_from_files(tmp_path, landmark_triplets, uniform_triplets, tiny_blocks):
    ondisk.write([landmark_triplets], tmp_path / "about")
    opened = ondisk.open_triplets(save(uniform_triplets, tmp_path / "x.npy"), memory_limit=400_000)
    model = STE(init="loe").fit(opened, init_triplets=tmp_path / "about")
    assert model.init_.name == "loe"


def test_kernel_forms_load_what_fits(tmp_path, points):
    triplets = sample_triplets(points[:15], 2000, random_state=0)
    ondisk.write([triplets], tmp_path / "x")
    opened = ondisk.open_triplets(tmp_path / "x", memory_limit=30_000)
    with pytest.raises(
        MemoryError,
        match="STEKer reads it whole: .* STE, TSTE, CKL, PowerEmbedding, SOE, GNMDS, LOE$",
    ):
        STEKer().fit(opened)
    opened = ondisk.open_triplets(tmp_path / "x", memory_limit=60_000)
    model = STEKer(max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(opened)
    assert model.embedding_.shape == (15, 2)


def test_plain_files_are_streamed_only_if_they_are_large(tmp_path, uniform_triplets, monkeypatch):
    path = save(uniform_triplets, tmp_path / "x.npy")
    assert isinstance(open_source(path).triplets, Triplets)
    monkeypatch.setattr(inputs, "memory_size", lambda limit: memory_size(400_000))
    assert open_source(path).stored.path == path
    with pytest.raises(ReadError, match="there is no such file"):
        open_source(str(tmp_path / "nothing.csv"))
    with pytest.raises(ValueError, match="n_items is 61, but the triplets have 60 items"):
        open_source(ondisk.open_triplets(path), n_items=61)


def test_a_streamed_fit_tells_what_was_dropped(tmp_path, uniform_triplets, monkeypatch):
    """As one does that is read into memory."""
    path = save(uniform_triplets, tmp_path / "x.csv")
    path.write_text(path.read_text() + ",,\n")
    monkeypatch.setattr(inputs, "memory_size", lambda limit: memory_size(900_000))
    assert open_source(path).stored is not None
    with pytest.warns(
        UserWarning, match="1 of 20,001 rows dropped: no item is named.*memory limit"
    ):
        STE(n_init=1, random_state=0).fit(path)


def test_too_little_memory_is_an_error(tmp_path, landmark_triplets):
    ondisk.write([landmark_triplets], tmp_path / "x")
    opened = ondisk.open_triplets(tmp_path / "x", memory_limit=100_000)
    with pytest.raises(MemoryError, match="are needed for 60 items, but the memory limit is"):
        LOE().fit(opened)
    with pytest.raises(MemoryError, match="raise it"):
        STE().fit(ondisk.open_triplets(tmp_path / "x", memory_limit=40_000))


def test_sizes_of_memory():
    assert memory_size("1.5 kB") == 1500
    assert memory_size(None) > 0
    for bad in ("lots", "0", -3, "1.2.3GB"):
        with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
            memory_size(bad)


# What may go wrong


def spoil(path, at, values=b"\xff\xff\xff"):
    """Overwrite some bytes, as a failing disk would."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(values)


def both_fits(path):
    """Fits that must fail, from a file that is opened now."""
    for model in (LOE(), STE()):
        yield lambda model=model: model.fit(ondisk.open_triplets(path, memory_limit=400_000))


@pytest.mark.parametrize(("name", "at"), [("folder", 70_001), ("file.parquet", 90_001)])
def test_corrupt_files_are_found(name, at, tmp_path, landmark_triplets, tiny_blocks):
    ondisk.write([landmark_triplets], tmp_path / name)
    path = tmp_path / name
    spoil(path / "pairs.npy" if name == "folder" else path, at // 4, b"\x07")
    for fit in both_fits(path):
        with pytest.raises(ReadError, match="corrupt"):
            fit()


@pytest.mark.parametrize("name", [*PLAIN, *TARGETS])
def test_truncated_files_are_found(name, tmp_path, landmark_triplets):
    path = tmp_path / name
    if name in TARGETS:
        ondisk.write([landmark_triplets], path)
    else:
        save(landmark_triplets, path)
    file = {"parts": path / "part-2.parquet", "folder": path / "pairs.npy"}.get(name, path)
    keep = file.stat().st_size - 5
    with file.open("r+b") as handle:
        handle.truncate(keep)
    if name == "x.csv":
        file.write_text(file.read_text().rstrip()[:-3].rsplit(",", 1)[0])
    for fit in both_fits(path):
        with pytest.raises((OSError, ValueError), match="truncated|corrupt|ends after|expected"):
            fit()


@pytest.mark.parametrize("name", ["x.npy", "folder", "file.parquet"])
def test_files_that_change_between_passes_are_found(name, tmp_path, landmark_triplets, points):
    path = tmp_path / name
    if name == "x.npy":
        save(landmark_triplets, path)
    else:
        ondisk.write([landmark_triplets], path)
    store = store_of(ondisk.open_triplets(path))
    store.loss(points, losses.get("ste"))
    file = path / "pairs.npy" if name == "folder" else path
    spoil(file, 500)
    with pytest.raises(ReadError, match="changed, or went away, since it was opened"):
        store.loss(points, losses.get("ste"))
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(ReadError, match="went away"):
        store.loss(points, losses.get("ste"))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ([0, 3, 3], "(row 1001|line 1003).* names an item twice"),
        ([-1, 2, 3], "row 1001 .* has a negative id|are positions from 0, but one is -1"),
        ([60, 2, 3], "row 1001 .* has an id beyond 59.*count from 1"),
    ],
)
def test_bad_rows_are_named(name, bad, what, tmp_path, uniform_triplets, tiny_blocks):
    rows = uniform_triplets.rows.copy()
    rows[1001] = bad
    fake = Triplets.__new__(Triplets)
    fake.rows, fake._items = rows, None
    fake.answer = fake.participant = fake.participant_labels = fake.weight = fake.source = None
    path = save(fake, tmp_path / name)
    with pytest.raises(ValueError, match=what):
        ondisk.open_triplets(path, n_items=60, memory_limit=400_000)


def test_bad_ids_in_the_fast_layout_are_named(tmp_path, landmark_triplets, tiny_blocks):
    rows = landmark_triplets.grouped().triplets.rows.copy()
    rows[1001, 1:] = [3, 200]
    writing.write_grouped(tmp_path / "x", [(rows, {})], writing.Whole(60, None))
    for fit in both_fits(tmp_path / "x"):
        with pytest.raises(ValueError, match="row 1001 .* has an id beyond 59"):
            fit()


def test_bad_weights_and_missing_values_are_found(tmp_path):
    table = pa.table({"anchor": [0, 1], "near": [1, 2], "far": [2, 0], "weight": [1.0, 0.0]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ReadError, match=r"row 1 \(from 0\): the weight is 0.0, not positive"):
        ondisk.open_triplets(tmp_path / "x.parquet").load()
    pq.write_table(
        pa.table({"anchor": [0, None], "near": [1, 2], "far": [2, 0]}), tmp_path / "y.parquet"
    )
    with pytest.raises(ReadError, match=r"row 1 \(from 0\): an item has no name"):
        ondisk.open_triplets(tmp_path / "y.parquet")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ordered", [True, False])
def test_a_full_disk_leaves_nothing(target, ordered, tmp_path, uniform_triplets):
    whole = uniform_triplets.grouped().triplets if ordered else uniform_triplets
    ondisk.write([whole[:100]], tmp_path / target)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        with pytest.raises(OSError, match="the disk is full .* nothing is left of it"):
            ondisk.write([whole[:10_000], whole[10_000:]], tmp_path / target, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == [target]
    assert len(ondisk.open_triplets(tmp_path / target)) == 100


def test_too_little_room_is_known_beforehand(tmp_path, uniform_triplets, monkeypatch):
    source = save(uniform_triplets, tmp_path / "x.npy")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=300_000))
    for target in ("target", "target.parquet"):
        with pytest.raises(OSError, match=f"KiB of disk are needed in {tmp_path}, but"):
            ondisk.convert(source, tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_messages_about_files(tmp_path, uniform_triplets):
    with pytest.raises(ReadError, match="there is no such file"):
        ondisk.open_triplets(tmp_path / "nothing.parquet")
    (tmp_path / "x.json").write_text('{"anchor": ["a"], "near": ["b"], "far": ["c"]}')
    with pytest.raises(ReadError, match="it is JSON, which cannot be read block by block"):
        ondisk.open_triplets(tmp_path / "x.json", memory_limit=10)
    (tmp_path / "y.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ReadError, match="line 1 .* may be a header or data"):
        ondisk.open_triplets(tmp_path / "y.csv")
    (tmp_path / "empty.csv").write_text("anchor,near,far\n")
    with pytest.raises(ReadError, match="there are column names, but no rows"):
        ondisk.open_triplets(tmp_path / "empty.csv")
    np.save(tmp_path / "far.npy", [[0, 1, 2**30]])
    with pytest.raises(ValueError, match="ids reach 1,073,741,824 in 1 rows"):
        ondisk.open_triplets(tmp_path / "far.npy")
    source = save(uniform_triplets, tmp_path / "x.npy")
    with pytest.raises(ValueError, match="the target is the source itself"):
        ondisk.convert(source, source)
    with pytest.raises(ValueError, match="no triplets to write"):
        ondisk.write([], tmp_path / "x")
    with pytest.raises(ValueError, match="arrays of ids need n_items"):
        ondisk.write([[[0, 1, 2]]], tmp_path / "x")
    with pytest.raises(ValueError, match="all pieces must be over the same items"):
        ondisk.write([uniform_triplets, Triplets([[0, 1, 2]])], tmp_path / "x")
    ondisk.write([uniform_triplets], tmp_path / "x")
    with pytest.raises(ValueError, match="n_items is 5, but .* has 60 items"):
        ondisk.open_triplets(tmp_path / "x", n_items=5)


def test_labels_of_several_kinds_are_text(tmp_path):
    table = pa.table({"anchor": [1, 2], "near": ["a", "b"], "far": ["c", "d"]})
    pq.write_table(table, tmp_path / "x.parquet")
    known = ["1", "2", "a", "b", "c", "d"]
    assert ondisk.open_triplets(tmp_path / "x.parquet").items.tolist() == known
    with pytest.raises(ValueError, match="n_items is 7, but .* names 6 items"):
        ondisk.open_triplets(tmp_path / "x.parquet", n_items=7)


# Threads


def test_results_come_in_order_and_not_too_early():
    begun = []

    def work(i):
        begun.append(i)
        return i * i

    results = in_order(work, iter(range(100)), workers=3, ahead=4)
    assert next(results) == 0
    assert max(begun) <= 5
    assert list(results) == [i * i for i in range(1, 100)]


def test_errors_pass_through_threads():
    def fail():
        yield 1
        raise KeyError("broken")

    results = ahead(fail(), 2)
    assert next(results) == 1
    with pytest.raises(KeyError, match="broken"):
        next(results)
    assert list(ahead(iter("abc"), 2)) == ["a", "b", "c"]
