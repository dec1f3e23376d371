"""What a file means does not depend on its size: read as a whole or block by block, all is equal."""

import gc
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import both_ways
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from test_raw_files import RAW
from test_readers import FIXTURES, FOLDER

from ordinate import ondisk, sample_points, sample_triplets
from ordinate._base.memory import memory_size
from ordinate.files import streaming
from ordinate.files.formats import blocks
from ordinate.files.formats.arrow_files import largest_batch
from ordinate.files.inputs import open_in_blocks, open_source
from ordinate.files.readers import ReadError, read

N_FUZZED = 300


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    both_ways.tiny_blocks(monkeypatch)


def check(path, **options):
    assert both_ways.differences(path, **options) == {}, (path, options)


# Files of the fixtures


@pytest.mark.parametrize(("name", "options"), [row[:2] for row in FIXTURES])
def test_every_layout(name, options, monkeypatch):
    check(FOLDER / name, **options)
    monkeypatch.setattr(blocks, "FIRST_LINES", 1)
    check(FOLDER / name, **options)


@pytest.mark.parametrize("name", sorted({row[0] for row in RAW}))
def test_raw_files_their_questions_and_what_settles_them(name):
    waiting = [{}]
    for _ in range(8):
        options = waiting.pop(0)
        check(FOLDER / name, **options)
        try:
            read(FOLDER / name, **options)
        except ReadError as error:
            waiting += [{**options, **remedy.options} for remedy in error.remedies]
        if not waiting:
            break


def test_the_example(tmp_path):
    path = tmp_path / "z.csv"
    path.write_text("anchor,near,far,timeout\na,b,c,1\nb,c,a,0\n")
    said = both_ways.in_blocks(path)
    assert said == both_ways.as_a_whole(path)
    assert said["rows"] == [["b", "c", "a"]]
    assert said["notes"] == ["1 of 2 rows dropped: the time ran out"]


# Generated files

WORDS = ["ash", "elm", "oak", "yew", "fir", "box", "bay", "fig"]
LABELS = {
    "words": lambda rng: WORDS,
    "numbers": lambda rng: [str(k) for k in range(rng.choice([0, 1, 5]), 9)],
    "padded": lambda rng: ["007", "7", "008", "08", "8", "9"],
    "floats": lambda rng: ["1.0", "2.0", "3", "4", "5.00", "6"],
    "with blanks": lambda rng: [f" {word}" if k % 3 else word for k, word in enumerate(WORDS)],
    "images": lambda rng: [f"img/{word}.png" for word in WORDS],
    "large": lambda rng: [str(2**40 + k) for k in range(7)],
    "negative": lambda rng: [str(k - 3) for k in range(8)],
}


def three(rng, labels):
    return rng.sample(labels, 3)


def a_file(rng):
    """Return names of columns, rows of text, and options: a layout, with some of what goes wrong."""
    labels = LABELS[rng.choice([*LABELS])](rng)
    kind = rng.choice(["plain", "response", "odd", "centre", "votes", "salmon", "next", "shown"])
    n_rows = rng.choice([1, 2, 3, 7, 20, 60])
    header, rows = [], []
    for _ in range(n_rows):
        a, b, c = three(rng, labels)
        if kind == "plain":
            header, row = ["anchor", "near", "far"], [a, b, c]
        elif kind == "response":
            header, row = ["anchor", "first", "second", "response"], [a, b, c, rng.choice([b, c])]
        elif kind == "odd":
            header, row = ["first", "second", "third", "odd"], [a, b, c, rng.choice([a, b, c])]
        elif kind == "centre":
            header, row = ["item_1", "item_2", "item_3", "centre"], [a, b, c, b]
        elif kind == "votes":
            header = ["anchor", "first", "second", "votes_first", "votes_second"]
            row = [a, b, c, str(rng.randrange(3)), str(rng.randrange(4))]
        elif kind == "salmon":
            header, row = ["head", "left", "right", "winner", "puid"], [a, b, c, b, "p1"]
        elif kind == "next":
            header, row = ["Center", "Left", "Right", "Answer", "Participant ID"], [a, b, c, c, "7"]
        else:
            header, row = ["query", "shown_1", "shown_2", "chosen_1"], [a, b, c, b]
        rows.append(row)
    codes = {"response": 2, "odd": 3, "centre": 3}.get(kind)
    if codes and rng.random() < 0.5:
        said = rng.choice(
            [["left", "right", "middle"], ["1", "2", "3"], ["f", "j", "k"], ["0", "1", "2"]]
        )
        for row in rows:
            row[-1] = rng.choice(said[:codes])
    more_columns(rng, header, rows)
    return header, rows, what_goes_wrong(rng, header, rows)


def more_columns(rng, header, rows):
    more = {
        "timeout": lambda: rng.choice(["0", "1", "0", "0"]),
        "Weight": lambda: rng.choice(["1", "2.5", "3"]),
        "catch_trial": lambda: rng.choice(["no", "no", "yes"]),
        "trial_kind": lambda: rng.choice(["main", "main", "attention check"]),
        "Participant.ID": lambda: rng.choice(["p1", "p2", "3", ""]),
        "subject": lambda: rng.choice(["11", "12", "13"]),
        "answer": lambda: rng.choice(["a1", "a2", "a3", "4"]),
        "rt": lambda: rng.choice(["0.5", "1.25", "-1", "", "NA"]),
        "response": lambda: rng.choice(["x", "x", "x", "y"]),
    }
    for name in rng.sample([*more], rng.choice([0, 0, 1, 2, 3])):
        if name not in header:
            header.append(name)
            for row in rows:
                row.append(more[name]())


def what_goes_wrong(rng, header, rows):
    """Spoil some cells, and return options that may or may not settle it."""
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(["", "NA", " ", row[0], "left", "zebra", "1_0"])
    options = {}
    if rng.random() < 0.3:
        options["drop"] = rng.sample(["repeated", "unanswered", "unnamed"], rng.randint(1, 3))
    if rng.random() < 0.15 and "subject" in header:
        options["exclude_participants"] = [rng.choice(["11", "99"])]
    if rng.random() < 0.15 and "rt" in header:
        options["min_response_time"] = 0.6
    if rng.random() < 0.1:
        options["first_id"] = rng.choice([0, 1])
    if rng.random() < 0.1:
        options["only"] = {header[-1]: rng.choice([rng.choice(rows)[-1].strip(), "none such"])}
    if rng.random() < 0.1:
        options["keep_checks"] = True
    return options


def write(rng, folder, header, rows):
    """Write a file in one of several forms."""
    form = rng.choice(
        ["csv", "csv", "tsv", "semicolons", "bare", "gz", "parquet", "feather", "utf16"]
    )
    path = folder / f"file.{form}"
    if form in ("parquet", "feather"):
        names = dict.fromkeys(header)
        cells = {name: [row[k] or None for row in rows] for k, name in enumerate(names)}
        table = pa.table({name: typed(rng, column) for name, column in cells.items()})
        if form == "parquet":
            pq.write_table(table, path, row_group_size=rng.choice([1, 5, 100]))
        else:
            pa.feather.write_feather(table, path, chunksize=rng.choice([1, 5, 100]))
        return path
    mark = {"tsv": "\t", "semicolons": ";"}.get(form, ",")
    quote = rng.random() < 0.2
    lines = [] if form == "bare" else [header]
    text = [mark.join(f'"{cell}"' if quote else cell for cell in row) for row in [*lines, *rows]]
    if rng.random() < 0.1:
        text[-1] += mark + "extra"
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    content = end.join(text) + rng.choice([end, "", end * 2])
    encoded = content.encode("utf-16" if form == "utf16" else "utf-8")
    if form == "gz":
        encoded = gzip.compress(encoded)
    path.write_bytes(encoded)
    return path


def typed(rng, column):
    """Return a column as numbers where it can be, sometimes."""
    if rng.random() < 0.6:
        for kind in (int, float):
            try:
                return pa.array([None if cell is None else kind(cell) for cell in column])
            except ValueError:
                continue
    return pa.array(column, pa.string())


@pytest.mark.parametrize("seed", range(10))
def test_generated_files(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "FIRST_LINES", 1 + seed % 4)
    for k in range(N_FUZZED // 10):
        rng = random.Random(f"{seed} {k}")
        header, rows, options = a_file(rng)
        folder = tmp_path / str(k)
        folder.mkdir()
        check(write(rng, folder, header, rows), **options)


# Kinds of files


def test_arrays(tmp_path):
    rows = np.array([[0, 3, 1], [2, 0, 3], [1, 2, 0], [3, 1, 2]])
    path = tmp_path / "rows.npy"
    kinds = [rows.astype(kind) for kind in ("u1", ">i4", "<i4", "u8", float)]
    for array in (rows, *kinds, rows + 1, rows - 1, rows * 9, np.asfortranarray(rows)):
        np.save(path, array)
        check(path)
        check(path, first_id=1)
        check(path, odd="last")
        check(path, columns={"anchor": 2, "near": 1, "far": 0})
    np.save(path, [*rows, [1, 1, 2]])
    check(path)
    check(path, drop="repeated")


def test_ids_of_an_array_stay_where_they_are(tmp_path):
    np.save(tmp_path / "rows.npy", [[0, 3, 1], [2, 0, 3]] * 1000)
    source = open_source(tmp_path / "rows.npy", memory_limit="10kB")
    assert (source.layout, source.notes) == ("plain", [])
    assert source.triplets.arrays["rows"].path == tmp_path / "rows.npy"
    np.save(tmp_path / "rows.npy", [[1, 3, 2], [2, 1, 3]] * 1000)
    with pytest.raises(ReadError, match="0 never occurs"):
        open_source(tmp_path / "rows.npy", memory_limit="10kB")


def test_a_number_of_items_and_ids_that_never_occur(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("anchor,near,far\n0,2,5\n5,2,0\n")
    for n_items in (None, 3, 5, 6, 7):
        check(path, n_items=n_items)
    path.write_text("anchor,near,far\n1,2,-5\n-5,2,1\n0,1,2\n")
    check(path, n_items=7)
    path.write_text("anchor,near,far\na,b,c\n")
    check(path, n_items=7)


def test_folders_of_parquet_files(tmp_path):
    table = pa.table(
        {"anchor": ["a", "b"], "near": ["b", "c"], "far": ["c", "a"], "answer": [1, 2]}
    )
    for name in ("p1", "p2"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    said = both_ways.in_blocks(tmp_path)
    assert said["participant"] == ["p1", "p1", "p2", "p2"]
    assert said["answer"] == [0, 1, 2, 3]
    check(tmp_path)
    check(tmp_path, exclude_participants=["p1"])
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    check(tmp_path)
    pq.write_table(table.slice(0, 1).set_column(1, "near", [["a"]]), tmp_path / "p1.parquet")
    check(tmp_path)
    pq.write_table(table.drop_columns("answer"), tmp_path / "p3.parquet")
    assert both_ways.NOT_IN_BLOCKS in both_ways.in_blocks(tmp_path)


def test_lists_and_numbers_of_every_kind_in_tables(tmp_path):
    path = tmp_path / "table.parquet"
    table = pa.table(
        {"query": [1, 2, 3], "shown": [[2, 3, 4], [3, 1], [1, 2]], "chosen": [[3], [1], [2]]}
    )
    pq.write_table(table, path)
    check(path)
    # The last row alone makes text of floats.
    columns = {"anchor": [1.0, 2.0, 3.5], "near": [2.0, 3.0, 1.0], "far": [3.0, 1.0, 2.0]}
    for n in (2, 3):
        pq.write_table(pa.table(columns).slice(0, n), path)
        check(path)
    pq.write_table(pa.table({**columns, "timeout": [False, None, True]}), path)
    check(path)
    pq.write_table(pa.table({**columns, "anchor": ["a", "b", None]}), path)
    check(path)
    check(path, drop="unnamed")


@pytest.mark.parametrize(
    "numbers", [[0, 1, 2, 3], [3, 50, 7, 9], [-4, 0, 2**40, 2**28], [1, 2, 2**63, 4]]
)
def test_numbers_in_tables(numbers, tmp_path):
    a, b, c, d = numbers
    columns = {"anchor": [a, b, c, d], "near": [b, c, d, a], "far": [c, d, a, b]}
    path = tmp_path / "numbers.parquet"
    kind = pa.uint64() if max(numbers) > 2**62 else pa.int64()
    table = pa.table({name: pa.array(ids, kind) for name, ids in columns.items()})
    pq.write_table(table, path)
    check(path)
    check(path, first_id=0)
    check(path, n_items=51)
    pq.write_table(table.append_column("answer", [[7, 7, 2**50, -1]]), path)
    check(path)
    pq.write_table(table.append_column("response", pa.array(numbers, kind)), path)
    check(path)
    pq.write_table(
        pa.concat_tables([table, table.slice(0, 1).set_column(1, "near", pa.array([a], kind))]),
        path,
    )
    check(path)
    check(path, drop="repeated")


def test_the_first_row_of_the_file_tells_whose_it_is(tmp_path, monkeypatch):
    """As food100 writes its rows; not the first row of each block."""
    both_ways.tiny_blocks(monkeypatch)
    rows = ["images/a.jpg; images/b.jpg; images/c.jpg"] * 20
    rows[10:] = ["images/a.jpg;images/b.jpg;images/c.jpg"] * 10
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    assert both_ways.in_blocks(tmp_path / "x.csv")["layout"] == "food100"
    assert both_ways.differences(tmp_path / "x.csv") == {}


def test_labels_alike(tmp_path):
    path = tmp_path / "alike.csv"
    path.write_text("anchor,near,far\nCat,dog,eel\ndog,cat,Eel\neel, DOG,cat\nbee,Dog,eel\n")
    check(path)
    check(path, merge_labels=True)
    assert len(both_ways.in_blocks(path, merge_labels=True)["items"]) == 4


def test_lines_of_other_lengths_and_quotes(tmp_path):
    path = tmp_path / "lines.csv"
    for text in (
        "anchor,near,far\na,b,c\nb,c\nc,a,b,b\nb,a,c\n",
        'anchor,near,far\na,b,"c\nb,c,a\n',
        'anchor,near,far\na,b,c\nb,c,"a\n',
        'anchor,near,far\n"a, x",b,c\nb,c,"a, x"\n\n',
        "title\n\nanchor,near,far\na,b,c\nb,c,a\n",
        "# made by x\nanchor;near;far\na;b;c\nb;c;a\n",
        ",anchor,near,far\n1,a,b,c\n2,b,c,a\n",
        "anchor near far\n a  b c\nb\tc a \n",
        "anchor,near,far\nä,b,c\nb,c,ä\n".encode("cp1252"),
        "anchor,near,far\nä,b,c\nb,c,ä\n".encode("cp1252") + "ä,c,b\n".encode(),
        "anchor,near,far\na,b,c\nb,c,\0\n",
    ):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        check(path)


# What cannot be read in blocks


def test_what_must_be_read_as_a_whole_says_how_much_memory_that_takes(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps([{"anchor": "a", "near": "b", "far": "c"}] * 100_000))
    with pytest.raises(
        ReadError, match="it is JSON, which cannot be read block by block"
    ) as caught:
        open_source(path, memory_limit="1MB")
    limit = re.search(r"memory_limit='(\d+MiB)'", str(caught.value))[1]
    assert len(open_source(path, memory_limit=limit).triplets) == 100_000
    assert len(open_in_blocks(path, memory_limit=limit).triplets) == 100_000


def test_line_breaks_in_fields_are_read_where_memory_allows(tmp_path):
    path = tmp_path / "breaks.csv"
    path.write_text('anchor,near,far,comment\na,b,c,"so\nso"\nb,c,a,\n')
    assert both_ways.NOT_IN_BLOCKS in both_ways.in_blocks(path)
    assert both_ways.in_blocks(path, "1MB") == both_ways.as_a_whole(path)


def test_large_batches_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "largest_batch", largest_batch)  # as it is outside of tests
    table = pa.table({"anchor": ["a"] * 1000, "near": ["b"] * 1000, "far": ["c"] * 1000})
    pa.feather.write_feather(table, tmp_path / "one.feather", chunksize=1000)
    with pytest.raises(ReadError, match="KiB of it come at once.*memory_limit='1MiB'"):
        open_in_blocks(tmp_path / "one.feather", memory_limit="10kB")
    pa.feather.write_feather(table, tmp_path / "many.feather", chunksize=100)
    assert len(open_in_blocks(tmp_path / "many.feather", memory_limit="10kB").triplets) == 1000


@pytest.mark.parametrize("counted", [100, 0])
def test_labels_that_are_too_many_are_refused(counted, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "LABELS", 0)
    monkeypatch.setattr(streaming, "SMALLEST", 10_000)
    monkeypatch.setattr(streaming, "COUNTED", counted)
    lines = "".join(f"a{k},b{k},c{k}\n" for k in range(3000))
    (tmp_path / "many.csv").write_text("anchor,near,far\n" + 2 * lines)
    told = "the labels of the first .* It takes more than" if counted else "the labels of this file"
    with pytest.raises(ReadError, match=told) as refused:
        open_in_blocks(tmp_path / "many.csv", memory_limit="100kB")
    if not counted:  # 9,000 labels of 800 bytes and their letters
        assert "memory_limit='7MiB'" in str(refused.value)
        assert len(open_in_blocks(tmp_path / "many.csv", memory_limit="7MiB").triplets) == 6000


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_labels_of_any_kind_count(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "LABELS", 0)
    letter = "x" if kind == "texts" else ""
    lines = (f"{letter}{k},{letter}{k + 1},{letter}{k + 2}\n" for k in range(0, 3000, 3))
    (tmp_path / "many.csv").write_text("anchor,near,far\n" + "".join(lines))
    with pytest.raises(ReadError, match="the labels of this file take"):
        open_in_blocks(tmp_path / "many.csv", memory_limit="500kB")


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "long.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,c" + b"x" * (1 << 23)))
    with pytest.raises(ReadError, match="a line has more than 1.0 MiB"):
        open_source(path, memory_limit="1MB")


def test_the_size_of_what_is_packed_is_counted_as_far_as_it_matters(tmp_path, monkeypatch):
    path = tmp_path / "large.csv.gz"
    path.write_bytes(gzip.compress(b"anchor,near,far\n" + b"a,b,c\n" * 1_000_000))
    assert blocks.open_blocks(path).needed == blocks.TEXT * (16 + 6_000_000)
    monkeypatch.setattr(blocks, "CHUNK", 1 << 16)
    monkeypatch.setattr(blocks, "available_memory", lambda: 1 << 20)
    assert blocks.open_blocks(path).needed == blocks.TEXT * 2 * (1 << 16)


def test_damaged_files_are_named(tmp_path):
    pq.write_table(pa.table({"anchor": ["a"], "near": ["b"], "far": ["c"]}), tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(content[:60] + b"\xff" * 20 + content[80:])
    with pytest.raises(ReadError, match="cannot be read"):
        open_in_blocks(tmp_path / "x.parquet")


# The temporary folder


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    path = tmp_path / "file.csv"
    path.write_text("anchor,near,far\n" + "a,b,c\nb,c,a\n" * 5000)
    source = open_source(path, memory_limit="100kB")
    assert source.stored is not None
    assert f"KiB of {tmp_path / 'copies'} hold them" in source.notes[-1]
    del source
    gc.collect()
    assert list((tmp_path / "copies").iterdir()) == []
    path.write_text("anchor,near,far\n" + "a,b,c\n" * 5000 + "a,a,b\n")
    with pytest.raises(ReadError, match="line 5002"):
        open_source(path, memory_limit="100kB")
    assert list((tmp_path / "copies").iterdir()) == []
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    path.write_text("anchor,near,far\n" + "a,b,c\nb,c,a\n" * 5000)
    with pytest.raises(OSError, match="of disk are needed"):
        open_source(path, memory_limit="100kB")
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.parametrize("target", ["folder", "file.parquet"])
def test_what_is_read_in_blocks_is_converted_with_all_that_goes_with_it(target, tmp_path):
    path = tmp_path / "odd.csv"
    lines = [f"{a},{b},{c},p{k}" for k, (a, b, c) in enumerate(["abc", "bca", "dca", "bda"])]
    path.write_text("kept_a,kept_b,odd,participant\n" + "\n".join(lines * 20) + "\n")
    ondisk.write([read(path).triplets], tmp_path / f"whole-{target}")
    source = open_source(path, memory_limit=100)
    assert source.stored is not None
    ondisk.convert(source.triplets, tmp_path / target)
    parts = both_ways.as_a_whole(tmp_path / target)
    assert parts == both_ways.as_a_whole(tmp_path / f"whole-{target}")
    assert parts["people"] == ["p0", "p1", "p2", "p3"]
    assert len({*parts["answer"]}) == 80


# Memory

PEAK = """
import re, sys
from pathlib import Path
import numpy as np
from ordinate import Triplets
from ordinate.files.inputs import open_in_blocks, open_source

def peak():
    # What resource tells begins with the peak of the process that started this one.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])

open_in_blocks(Path(sys.argv[2]), memory_limit="1MB")  # libraries and kernels are loaded
Triplets(np.tile(np.array([[0, 1, 2]], np.int32), (300_000, 1)))
before = peak()
source = open_source(sys.argv[1], memory_limit=sys.argv[3])
assert source.stored is not None
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are told by Linux")
@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_the_memory_limit_is_kept(ending, tmp_path):
    drawn = sample_triplets(sample_points(500, random_state=0), 1_500_000, random_state=0)
    names = np.array([f"item_{k:05}" for k in range(500)], object)
    columns = {name: pa.array(ids) for name, ids in zip("abc", drawn.rows.T, strict=True)}
    labels = [pa.DictionaryArray.from_arrays(ids, pa.array(names)) for ids in columns.values()]
    table = pa.table(labels, names=["anchor", "near", "far"]).cast(
        pa.schema([(name, pa.string()) for name in ("anchor", "near", "far")])
    )
    for name, part in (("large", table), ("small", table.slice(0, 100))):
        path = tmp_path / f"{name}.{ending}"
        if ending == "csv":
            pa.csv.write_csv(part, path)
        elif ending == "parquet":
            pq.write_table(part, path)
        else:
            pa.feather.write_feather(part, path)
    files = [str(tmp_path / f"{name}.{ending}") for name in ("large", "small")]
    for limit in ("30MB", "60MB"):  # Feather has batches of some MB
        command = [sys.executable, "-c", PEAK, *files, limit]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        # The file alone has 45 MB or more, and took several hundred as a whole.
        assert int(said.stdout) < memory_size(limit)
