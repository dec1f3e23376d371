"""What a file means does not depend on its size: read as a whole or block by block, all is equal."""

import random

import both_ways
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from test_raw_files import RAW
from test_readers import FIXTURES, FOLDER

from ordinate.files.formats import blocks
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
        import gzip

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
