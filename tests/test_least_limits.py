"""The least memory limit: below it a file is refused before the work, and the one named is enough."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from test_cli import run  # noqa: F401

from ordinate import Triplets, ondisk
from ordinate.files import streaming
from ordinate.files.formats import blocks
from ordinate.files.formats.arrow_files import largest_batch
from ordinate.files.inputs import open_source
from ordinate.files.readers import ReadError

LEAST = 24_000_000  # of streaming; the harness, in the same process, has it smaller


@pytest.fixture(autouse=True)
def least(any_memory_limit, monkeypatch):
    """As it is outside of tests."""
    monkeypatch.setattr(streaming, "LEAST", LEAST)
    monkeypatch.setattr(blocks, "largest_batch", largest_batch)


def table(n_rows, n_items=40):
    rows = np.random.default_rng(0).integers(n_items, size=(n_rows, 1))
    rows = (rows + np.arange(3)) % n_items
    return Triplets(rows, items=[f"item {i:03}" for i in range(n_items)]).to_arrow()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A text that takes more than the least limit to read as a whole."""
    path = tmp_path_factory.mktemp("large") / "large.csv"
    write_csv(table(120_000), path)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("convert", "-o", "rows.csv"),
        ("convert", "-o", "fast", "--fast"),
        ("fit", "-o", "map", "--method", "ste", "--folds", 0),
    ],
)
def test_commands_refuse_before_they_work(command, large, run, tmp_path):  # noqa: F811
    words = (command[0], large, *command[1:])
    refused = run(*words, "--memory-limit", "5MB", code=3)
    assert "a memory limit of 4.8 MiB cannot be kept" in refused.stderr
    assert "and 22.9 MiB to have it block by block" in refused.stderr
    assert "as in --memory-limit 23MiB" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_limit_that_is_named_is_enough(large, run):  # noqa: F811
    run("convert", large, "-o", "fast", "--fast", "--memory-limit", "23MiB")
    assert len(ondisk.open_triplets("fast")) == 120_000


def test_small_files_need_no_more_than_they_take(tmp_path, run):  # noqa: F811
    write_csv(table(1000), tmp_path / "small.csv")
    refused = run("check", "small.csv", "--memory-limit", "10kB", code=3)
    assert "as in --memory-limit 1MiB" in refused.stderr
    run("check", "small.csv", "--memory-limit", "1MiB")


@pytest.mark.parametrize("target", ["fast", "fast.parquet"])
def test_the_fast_layout_has_the_same_least_limit(target, tmp_path, large):
    ondisk.convert(large, tmp_path / target)
    for opened in (open_source, ondisk.open_triplets):
        with pytest.raises(ReadError, match="limit of 976.6 KiB cannot be kept.*'3MiB'"):
            opened(tmp_path / target, memory_limit="1MB")
        assert opened(tmp_path / target, memory_limit="3MiB") is not None  # it fits as a whole


@pytest.mark.parametrize("command", [("check",), ("convert", "-o", "rows.csv")])
def test_what_has_all_rows_in_memory_counts_what_it_does_with_them(
    command,
    large,
    run,  # noqa: F811
):
    words = (command[0], large, *command[1:])
    refused = run(*words, "--memory-limit", "23MiB", code=2)
    assert "120,000 rows, too many for a memory limit of 23.0 MiB" in refused.stderr
    enough = re.search(r"as in --memory-limit (\d+MiB)", refused.stderr)[1]
    assert enough == "27MiB"
    run(*words, "--memory-limit", enough)


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_batches_of_arrow_files_are_counted_unpacked(compression, tmp_path):
    path, rows = tmp_path / "x.feather", table(50_000)
    for n_rows in (50_000, 5000):
        pa.feather.write_feather(rows, path, compression=compression, chunksize=n_rows)
        batch = pa.ipc.open_file(path).get_batch(0)
        packed = 0 if compression == "uncompressed" else path.stat().st_size * n_rows / 50_000
        held = largest_batch(path)
        assert batch.nbytes <= held <= 1.05 * (batch.nbytes + packed) + 1000
    coded = rows.set_column(0, "anchor", rows["anchor"].dictionary_encode())
    pa.feather.write_feather(coded, path, compression=compression)
    assert largest_batch(path) >= pa.ipc.open_file(path).get_batch(0).nbytes


def test_a_large_batch_is_named_in_the_refusal(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "LEAST", 1_000_000)
    path = tmp_path / "x.feather"
    pa.feather.write_feather(table(100_000), path, chunksize=100_000)
    with pytest.raises(ReadError, match="MiB of it come at once.*memory_limit='(7|8|9)MiB'") as no:
        open_source(path, memory_limit="2MB")
    enough = re.search(r"memory_limit='(\d+MiB)'", str(no.value))[1]
    assert len(open_source(path, memory_limit=enough).triplets) == 100_000


@pytest.mark.parametrize("order", ["anchor", "answer"])
@pytest.mark.parametrize("target", ["fast", "fast.parquet"])
def test_writing_keeps_to_the_rule_of_conversion(target, order, tmp_path):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(40), (60_000, 1)), axis=1)[:, :3]
    triplets = Triplets(rows, n_items=40, answer=np.arange(60_000) % 1000)
    pieces = [triplets[:30_000], triplets[30_000:]]
    path = tmp_path / target
    for limit in ("1kB", "3MB"):  # of which the second has room for the first piece
        with pytest.raises(MemoryError, match="cannot be kept, since.*memory_limit='23MiB'"):
            ondisk.write(pieces, path, memory_limit=limit, order=order)
        assert list(tmp_path.iterdir()) == []
    for limit in ("23MiB", "5MB"):  # of which the second has room for all
        ondisk.write(pieces, path, memory_limit=limit, order=order, force=True)
        assert len(ondisk.open_triplets(path)) == 60_000


def test_labels_raise_the_least_limit_of_writing(tmp_path):
    labels = [f"item {k}" for k in range(100_000)]
    triplets = Triplets(np.arange(99_999).reshape(-1, 3), items=labels)
    with pytest.raises(MemoryError, match="memory_limit='49MiB'"):
        ondisk.write([triplets] * 40, tmp_path / "x", memory_limit="30MB")
    ondisk.write([triplets] * 2, tmp_path / "x", memory_limit="49MiB")
