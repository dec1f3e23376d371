"""What keeps conversion within the memory limit; benchmarks/bench_memory.py measures that it does."""

import re

import numpy as np
import pyarrow as pa
import pytest

from ordinate import Triplets, ondisk
from ordinate.files import inputs, streaming
from ordinate.files.inputs import open_source
from ordinate.files.ondisk import sorting, unsorted, writing


def rows(n, n_items=50, seed=0):
    found = np.random.default_rng(seed).permuted(np.tile(np.arange(n_items), (n, 1)), axis=1)
    return found[:, :3].astype(np.int32)


def test_fewer_rows_wait_to_be_written_where_memory_is_short(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "LEAST", 100)
    monkeypatch.setattr(writing, "LONG", 1 << 30)
    for columns, row_bytes in (({}, 12), ({"weight": np.ones(5000)}, 20)):
        triplets = Triplets(rows(5000), **columns)
        for limit, longest in ((1, 100), (writing.WAITING * row_bytes * 700, 700), ("1GiB", 5000)):
            ondisk.write([triplets], tmp_path / "x", memory_limit=limit, force=True)
            bounds = ondisk.open_triplets(tmp_path / "x").file.about.bounds
            assert np.diff(bounds).max() <= longest
            assert np.diff(bounds).max() > 0.5 * longest


def test_rows_that_are_too_many_to_be_sorted_are_refused_with_a_limit_that_is_enough(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sorting, "LEAST", 1000)
    monkeypatch.setattr(sorting, "MOST_FILES", 8)
    np.save(tmp_path / "x.npy", rows(100_000))
    stored = ondisk.open_triplets(tmp_path / "x.npy", memory_limit="200kB")
    with pytest.raises(MemoryError, match="100,000 rows are too many to be sorted") as refused:
        ondisk.convert(stored, tmp_path / "fast")
    enough = re.search(r"memory_limit='(\d+MiB)'", str(refused.value))
    stored = ondisk.open_triplets(tmp_path / "x.npy", memory_limit=enough[1])
    ondisk.convert(stored, tmp_path / "fast")
    assert len(ondisk.open_triplets(tmp_path / "fast")) == 100_000


def test_arrow_takes_no_memory_in_advance_while_blocks_are_read(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("anchor,near,far\na,b,c\nb,c,a\n")
    read, pools, returned = streaming._read, [], []

    def noting(*args):
        pools.append(pa.default_memory_pool().backend_name)
        return read(*args)

    monkeypatch.setattr(streaming, "_read", noting)
    monkeypatch.setattr(streaming, "give_back", lambda: returned.append(True))
    before = pa.default_memory_pool().backend_name
    open_source(path, memory_limit=1)
    assert (pools, returned) == (["system"], [True])
    assert pa.default_memory_pool().backend_name == before


def test_nor_where_a_limit_has_room_for_the_whole_file(tmp_path, monkeypatch):
    """A file of 1.3 MB took 32 MiB within a limit of 23."""
    path = tmp_path / "x.csv"
    path.write_text("anchor,near,far\na,b,c\nb,c,a\n")
    read, pools = inputs.read, []

    def noting(*args, **options):
        pools.append(pa.default_memory_pool().backend_name)
        return read(*args, **options)

    monkeypatch.setattr(inputs, "read", noting)
    usual = pa.default_memory_pool().backend_name
    for limit in ("1GB", None):
        open_source(path, memory_limit=limit)
    assert pools == ["system", usual]
    assert pa.default_memory_pool().backend_name == usual


def test_labels_leave_less_room_for_sorting(tmp_path, monkeypatch):
    monkeypatch.setattr(sorting, "LEAST", 1)
    path = tmp_path / "x.csv"
    path.write_text("anchor,near,far\n" + "".join(f"a{k % 7},b,c\n" for k in range(200)))
    stored = ondisk.open_triplets(path, memory_limit=20_000)
    sizes = []

    def noting(blocks, counts, folder, whole):
        sizes.append((whole.memory_limit, whole.held))
        return sort_by_anchor(blocks, counts, folder, whole)

    sort_by_anchor = unsorted.sort_by_anchor
    monkeypatch.setattr(unsorted, "sort_by_anchor", noting)
    ondisk.convert(stored, tmp_path / "fast")
    assert sizes == [(20_000 - 9 * sorting.LABEL, 9 * sorting.LABEL)]
