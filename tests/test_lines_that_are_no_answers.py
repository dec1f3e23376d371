"""Lines of descriptions below the names, and the names again further down: told, and no answers."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from both_ways import as_a_whole, differences, in_blocks, tiny_blocks

WORDS = ["cat", "dog", "fox", "cow", "pig", "hen"]
NUMBERS = ["1", "2", "3", "4", "5", "6"]
DESCRIBES = "describes the columns, and is no answer"


def lines(items, n=30, seed=0):
    rng = random.Random(seed)
    return [",".join(rng.sample(items, 3)) for _ in range(n)]


def read(tmp_path, monkeypatch, content, name="answers.csv", **options):
    """Return what a text says, which is the same in blocks of a few lines."""
    path = tmp_path / name
    path.write_text("\n".join(content) + "\n")
    whole = as_a_whole(path, **options)
    tiny_blocks(monkeypatch)
    assert differences(path, **options) == {}
    return whole


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("Reference,More similar,Less similar", NUMBERS),
        ("The anchor item,The near item,The far item", WORDS),
        ("The anchor item,,The far item", WORDS),
    ],
)
def test_a_line_that_describes_the_columns_is_noted(line, items, tmp_path, monkeypatch):
    plain = read(tmp_path, monkeypatch, ["anchor,near,far", *lines(items)], "plain.csv")
    said = read(tmp_path, monkeypatch, ["anchor,near,far", line, *lines(items)])
    assert said["rows"] == plain["rows"]
    assert (said["n_rows"], said["n_used"]) == (30, 30)
    assert [note for note in said["notes"] if DESCRIBES in note], said["notes"]


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("Reference,More similar,Less similar", WORDS),  # may be items
        ("anchor item,near item,far item", [*WORDS, "far item"]),  # one of them is
        ("zebra,near,7", NUMBERS),  # of words and numbers
        ("zebra,1,2", NUMBERS),  # in one column alone numbers follow words
    ],
)
def test_a_line_that_may_be_an_answer_is_kept(line, items, tmp_path, monkeypatch):
    said = read(tmp_path, monkeypatch, ["anchor,near,far", line, *lines(items)])
    assert said["rows"][0] == line.split(",")
    assert said["n_used"] == 31
    assert not [note for note in said["notes"] if DESCRIBES in note]


def test_a_word_far_below_shows_that_the_line_is_an_answer(tmp_path, monkeypatch):
    content = ["anchor,near,far", "a,b,c", *lines(NUMBERS), "c,a,b"]
    assert read(tmp_path, monkeypatch, content)["n_used"] == 32


def test_files_without_names_are_not_described(tmp_path, monkeypatch):
    content = ["dog,cat,fox", "hotdog,catfish,fox", *lines(WORDS)]
    said = read(tmp_path, monkeypatch, content, layout="plain")
    assert said["n_used"] == 32
    assert said["notes"] == []


def test_tables_with_types_may_have_such_a_line(tmp_path):
    rows = [line.split(",") for line in ("The anchor,The near one,The far one", *lines(WORDS))]
    columns = dict(zip(("anchor", "near", "far"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(cells) for name, cells in columns.items()}), tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / "x.parquet")
    assert as_a_whole(tmp_path / "x.parquet")["n_used"] == 30


def test_qualtrics_ids_alone_are_no_answer(tmp_path, monkeypatch):
    ids = '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"'
    said = read(tmp_path, monkeypatch, ["anchor,near,far", ids, *lines(WORDS)])
    assert said["n_used"] == 30
    assert said["notes"] == ["the ids of Qualtrics' questions, a line, are no answer"]


def test_each_file_of_a_folder_may_have_qualtrics_lines(tmp_path):
    ids = '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"'
    for k in (1, 2):
        content = ["anchor,near,far", f"Text {k},Q2,Q3", ids, *lines(WORDS, seed=k)]
        (tmp_path / f"{k}.csv").write_text("\n".join(content) + "\n")
    said = as_a_whole(tmp_path)
    assert (said["n_used"], said["items"]) == (60, sorted(WORDS))
    assert len({*said["participant"][:30]}) == 1


@pytest.mark.parametrize("items", [WORDS, NUMBERS])
def test_names_that_come_again_are_dropped_and_counted(items, tmp_path, monkeypatch):
    names = "Worker ID,anchor,near,far"
    first, second = (
        [f"{who},{line}" for line in lines(items, 15, k)] for k, who in enumerate("xy")
    )
    content = [names, *first, names, *second, names]
    said = read(tmp_path, monkeypatch, content)
    assert (said["n_rows"], said["n_used"], len(said["items"])) == (32, 30, 6)
    assert said["notes"] == ["2 of 32 rows dropped: they repeat the names of the columns"]
    assert said["people"] == ["x", "y"]


def test_names_of_platforms_come_again_as_the_file_has_them(tmp_path, monkeypatch):
    names = "Input.anchor,Input.first,Input.second,Answer.response,WorkerId"
    rows = [f"{line},{1 + k % 2},w" for k, line in enumerate(lines(WORDS))]
    said = read(tmp_path, monkeypatch, [names, *rows, names, *rows])
    assert (said["n_rows"], said["n_used"]) == (61, 60)


def test_an_item_called_as_its_column_is_kept(tmp_path, monkeypatch):
    said = read(tmp_path, monkeypatch, ["anchor,near,far", "anchor,near,cat", *lines(WORDS)])
    assert said["n_used"] == 31


def test_files_of_nothing_but_names_are_refused(tmp_path, monkeypatch):
    said = read(tmp_path, monkeypatch, ["anchor,near,far", "anchor,near,far", "anchor,near,far"])
    assert "no row is left. 2 of 2 rows dropped: they repeat the names" in said


def test_a_folder_in_blocks_knows_the_names_again(tmp_path, monkeypatch):
    (tmp_path / "one.csv").write_text("\n".join(["anchor,near,far", *lines(WORDS)]) + "\n")
    assert in_blocks(tmp_path)["n_used"] == 30


def test_names_in_another_order_further_down_are_refused(tmp_path, monkeypatch):
    content = ["anchor,near,far", *lines(WORDS), "anchor,far,near", *lines(WORDS)]
    said = read(tmp_path, monkeypatch, content)
    assert "line 32: ['anchor', 'far', 'near'] are names of columns in another order" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AssignmentStatus", "Rejected"),
        ("Status", "Survey Preview"),
        ("DistributionChannel", "preview"),
    ],
)
def test_rows_that_a_platform_marks_as_of_no_use_are_told(name, value, tmp_path, monkeypatch):
    rows = [f"{line},{value if k == 20 else 'fine'}" for k, line in enumerate(lines(WORDS))]
    said = read(tmp_path, monkeypatch, [f"anchor,near,far,{name}", *rows])
    assert said["n_used"] == 30
    assert [
        note
        for note in said["notes"]
        if note.startswith(f"1 rows whose {name} is '{value.lower()[:6]}")
    ]
    chosen = read(tmp_path, monkeypatch, [f"anchor,near,far,{name}", *rows], only={name: "fine"})
    assert chosen["n_used"] == 29
    assert not [note for note in chosen["notes"] if "are used" in note]
