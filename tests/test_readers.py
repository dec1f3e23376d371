"""Readers: a new layout is one module and one row of FIXTURES."""

import gzip
import json
import re
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ordinate
from ordinate import Triplets, as_triplets, readers
from ordinate.files.readers import LAYOUTS, ReadError, read

FOLDER = Path(__file__).parent / "fixtures"

# File, options, layout, rows as labels, what the notes begin with.
FIXTURES = [
    (
        "plain.csv",
        {},
        "plain",
        ["007|oak, old|NA", "oak, old|NA|007", "NA|007|oak, old"],
        ["an item is called 'NA'"],
    ),
    ("plain_blanks.csv", {}, "plain", ["3|1|2", "1|3|2"], []),
    ("bare.txt", {"layout": "plain"}, "plain", ["1|2|3", "2|3|1", "3|1|2"], []),
    (
        "bare.txt",
        {"odd": "last"},
        "odd_one_out",
        ["1|2|3", "2|1|3", "2|3|1", "3|2|1", "3|1|2", "1|3|2"],
        [],
    ),
    (
        "bare.txt",
        {"layout": "odd_one_out", "odd": "first"},
        "odd_one_out",
        ["2|3|1", "3|2|1", "3|1|2", "1|3|2", "1|2|3", "2|1|3"],
        [],
    ),
    (
        "response_sign.csv",
        {"response": {"1": "first", -1: "second"}},
        "response",
        ["ash|elm|yew", "elm|yew|ash"],
        ["1 of 3 rows dropped: the answer is missing"],
    ),
    (
        "response_sign.csv",
        {"response": {"+1": "second", "-1": "first"}, "min_response_time": 0.5},
        "response",
        ["ash|yew|elm"],
        ["1 of 3 rows dropped: faster than 0.5", "1 of 2 rows dropped: the answer is missing"],
    ),
    (
        "response_winner.tsv",
        {},
        "response",
        ["1|3|2"],
        ["1 of 2 rows dropped: the answer is missing"],
    ),
    ("salmon_old.csv", {}, "salmon", ["a.png|c.png|b.png", "c.png|a.png|b.png"], []),
    (
        "salmon_old.csv",
        {"exclude_participants": ["p2"]},
        "salmon",
        ["a.png|c.png|b.png"],
        ["1 of 2 rows dropped: 1 participant excluded"],
    ),
    ("salmon_new.csv", {}, "salmon", ["4|6|5"], ["1 of 2 rows dropped: check trials, sampler"]),
    (
        "salmon_new.csv",
        {"keep_checks": True, "min_response_time": 1},
        "salmon",
        ["4|6|5", "5|4|6"],
        ["1 rows have no response time"],
    ),
    ("next.csv", {}, "next", ["i01|i03|i02", "i02|i03|i01"], []),
    (
        "odd_one_out.csv",
        {},
        "odd_one_out",
        ["p|q|w", "q|p|w", "p|w|q", "w|p|q"],
        ["1 of 3 rows dropped: the answer is missing"],
    ),
    (
        "odd_of_three.csv",
        {"response": "item"},
        "odd_one_out",
        ["2|3|1", "3|2|1", "2|4|3", "4|2|3"],
        [],
    ),
    (
        "odd_of_three.csv",
        {"response": {1: "first", 3: "third"}},
        "odd_one_out",
        ["2|3|1", "3|2|1", "2|3|4", "3|2|4"],
        [],
    ),
    ("most_central.csv", {}, "most_central", ["1|2|3", "3|2|1", "2|4|3", "3|4|2"], []),
    (
        "food100.csv",
        {},
        "food100",
        ["images/a.jpg|images/b.jpg|images/c.jpg", "images/b.jpg|images/c.jpg|images/a.jpg"],
        ["the file does not tell which rows come from one screen"],
    ),
    ("votes.csv", {}, "votes", ["x|y|z", "x|z|y"], ["1 of 2 rows dropped: nobody voted"]),
    ("votes.json", {}, "votes", ["0|1|2", "2|1|0", "2|0|1"], ["not read"]),
    (
        "selection.csv",
        {},
        "selection",
        ["q|b|a", "q|b|c", "b|c|a"],
        ["1 of 3 rows dropped: none or all"],
    ),
    (
        "selection_ranked.csv",
        {},
        "selection",
        ["1|2|4", "1|2|5", "1|3|4", "1|3|5", "1|2|3", "2|3|5", "2|4|5"],
        [],
    ),
    (
        "ranking.csv",
        {},
        "ranking",
        ["q|a|b", "q|a|c", "q|b|c", "a|q|b"],
        ["1 of 4 rows dropped: check trials", "1 of 3 rows dropped: fewer than two"],
    ),
]


def named(triplets):
    return ["|".join(map(str, row)) for row in triplets.items[triplets.rows]]


def write(folder, text, name="file.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def dropped(notes):
    counts = [re.match(r"([\d,]+) of [\d,]+ rows dropped", note) for note in notes]
    return sum(int(count[1].replace(",", "")) for count in counts if count)


@pytest.mark.parametrize(("name", "options", "layout", "rows", "notes"), FIXTURES)
def test_layouts(name, options, layout, rows, notes):
    reading = read(FOLDER / name, **options)
    assert reading.layout == layout
    assert named(reading.triplets) == rows
    assert len(reading.notes) == len(notes)
    for note, beginning in zip(reading.notes, notes, strict=True):
        assert note.startswith(beginning)
    assert reading.n_rows == reading.n_used + dropped(reading.notes)
    # Nothing but what occurs is an item.
    assert reading.triplets.summarise().n_unused == 0


def test_every_layout_is_tested_and_described():
    assert {layout.name for layout in LAYOUTS} == {row[2] for row in FIXTURES}
    for layout in LAYOUTS:
        assert layout.description


@pytest.mark.parametrize(("name", "options", "layout", "rows", "notes"), FIXTURES)
@pytest.mark.parametrize("how", ["gzip", "zip", "bom", "crlf"])
def test_wrapping_changes_nothing(how, name, options, layout, rows, notes, tmp_path):
    content = (FOLDER / name).read_bytes()
    path = tmp_path / f"{name}.{how}"
    if how == "gzip":
        path.write_bytes(gzip.compress(content, mtime=0))
    elif how == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__MACOSX/._x", b"junk")
            archive.writestr(f"folder/{name}", content)
    elif how == "bom":
        path.write_bytes(b"\xef\xbb\xbf" + content)
    else:
        path.write_bytes(content.replace(b"\n", b"\r\n"))
    reading = read(path, **options)
    assert (reading.layout, named(reading.triplets)) == (layout, rows)


TYPED = {
    "parquet": pa.parquet.write_table,
    "feather": pa.feather.write_feather,
    "json": lambda table, path: path.write_text(json.dumps(table.to_pylist())),
    "columns.json": lambda table, path: path.write_text(json.dumps(table.to_pydict())),
    "jsonl": lambda table, path: path.write_text(
        "\n".join(json.dumps(record) for record in table.to_pylist())
    ),
    "csv": pa.csv.write_csv,
    "tsv": lambda table, path: pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t")),
}


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


TYPED["arrows"] = write_stream


@pytest.mark.parametrize("form", TYPED)
def test_formats(form, tmp_path):
    triplets = Triplets.from_columns(
        ["a", "é\n,\"", "NA"], ["é\n,\"", "NA", "a"], ["NA", "a", "é\n,\""],
        participant=["p", "q", "q"], weight=[1, 2, 3.5], answer=[5, 5, 6],
    )  # fmt: skip
    path = tmp_path / f"file.{form}"
    TYPED[form](triplets.to_arrow(), path)
    reading = read(path).triplets
    assert named(reading) == named(triplets)
    assert reading.participant_labels[reading.participant].tolist() == ["p", "q", "q"]
    assert reading.weight.tolist() == [1, 2, 3.5]
    assert reading.answer.tolist() == [0, 0, 1]


def test_types_of_columns_may_differ(tmp_path):
    table = pa.table({
        "anchor": pa.array(["1", "2"]).dictionary_encode(),
        "first": pa.array([2, 3], pa.int16()),
        "second": pa.array([3.0, 1.0]),
        "winner": pa.array([2.0, np.nan]),
        "timeout": pa.array([False, None]),
    })  # fmt: skip
    pa.parquet.write_table(table, tmp_path / "file.parquet")
    reading = read(tmp_path / "file.parquet")
    assert named(reading.triplets) == ["1|2|3"]
    assert reading.notes == ["1 of 2 rows dropped: the answer is missing"]
    rows = write(tmp_path, "[[1, 2, 3], [2, 3, 1]]", "rows.json")
    assert named(read(rows, layout="plain").triplets) == ["1|2|3", "2|3|1"]


def test_salmon_without_the_two_shown(tmp_path):
    path = write(tmp_path, "head,winner,loser,rt\n0,1,2,-1\n1,,2,0.5\n2,0,1,\n1,2,0,0.1\n")
    reading = read(path, min_response_time=0.2)
    assert named(reading.triplets) == ["0|1|2", "2|0|1"]
    assert reading.n_rows == reading.n_used + dropped(reading.notes) == 4


def test_lists_in_tables(tmp_path):
    table = pa.table({"query": [1, 2], "shown": [[2, 3, 4], [3, 1]], "chosen": [[3], [1]]})
    pa.parquet.write_table(table, tmp_path / "file.parquet")
    assert named(read(tmp_path / "file.parquet").triplets) == ["1|3|2", "1|3|4", "2|1|3"]
    write(tmp_path, json.dumps([{"query": "q", "ranked": ["a", "b"]}]), "file.json")
    assert named(read(tmp_path / "file.json").triplets) == ["q|a|b"]


def test_text_stays_text_and_whole_numbers_become_integers(tmp_path):
    assert read(FOLDER / "plain.csv").triplets.items.tolist() == ["007", "NA", "oak, old"]
    assert read(FOLDER / "bare.txt", layout="plain").triplets.items.tolist() == [1, 2, 3]
    gaps = write(tmp_path, "anchor,near,far\n1,2.0,3\n2,3.0,1\n")
    assert read(gaps).triplets.items.tolist() == [1, 2, 3]
    # One label that is not a number makes all of them text, the same in every column.
    mixed = write(tmp_path, "anchor,near,far\n1,2,x\n2,x,1\n")
    assert read(mixed).triplets.items.tolist() == ["1", "2", "x"]


def test_participants_times_and_weights_are_kept():
    plain = read(FOLDER / "plain.csv").triplets
    assert plain.participant_labels[plain.participant].tolist() == ["Ida", "Bo", "Bo"]
    assert (plain.weight.tolist(), plain.answer.tolist()) == ([2, 1, 1.5], [0, 0, 1])
    votes = read(FOLDER / "votes.json").triplets
    assert (votes.weight.tolist(), votes.answer.tolist()) == ([2, 1, 4], [0, 1, 1])
    ranked = read(FOLDER / "selection_ranked.csv").triplets
    assert ranked.answer.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert read(FOLDER / "next.csv").triplets.participant_labels.tolist() == [11, 12]


def test_columns_by_name_and_by_number(tmp_path):
    text = "who,x,y,z\nIda,a,b,c\nBo,d,e,f\n"
    path = write(tmp_path, text)
    columns = {"anchor": "x", "near": "z", "far": "y", "participant": "who"}
    reading = read(path, columns=columns)
    assert named(reading.triplets) == ["a|c|b", "d|f|e"]
    assert reading.triplets.participant_labels.tolist() == ["Bo", "Ida"]
    counted = read(path, columns={"first": 1, "second": 2, "odd": 3})
    assert counted.layout == "odd_one_out"
    assert len(counted.triplets) == 6
    salmon = read(
        FOLDER / "salmon_old.csv", columns={"anchor": "head", "near": "winner", "far": "loser"}
    )
    assert (salmon.layout, named(salmon.triplets)) == ("plain", ["0|2|1", "2|0|1"])
    with pytest.raises(ReadError, match="no column 'w' for far; the columns are"):
        read(path, columns={**columns, "far": "w"})
    with pytest.raises(ReadError, match=r"roles \['who'\] that no layout has. They are"):
        read(path, columns={**columns, "who": "who"})
    with pytest.raises(ReadError, match="cannot be mixed"):
        read(path, columns={"anchor": 0, "near": "x", "far": 9})


def test_arrays_hold_positions(tmp_path):
    path = tmp_path / "rows.npy"
    rows = np.array([[0, 1, 2], [4, 2, 1]], np.int32)
    np.save(path, rows)
    assert read(path).triplets.n_items == 5
    assert (read(path).triplets.rows == rows).all()
    np.save(path, rows + 1)
    with pytest.raises(ReadError, match="0 never occurs .* first_id=1 .* first_id=0"):
        read(path)
    assert read(path, first_id=1).triplets.items.tolist() == [1, 2, 3, 4, 5]
    assert (read(path, first_id=1).triplets.rows == rows).all()
    assert read(path, first_id=0).triplets.n_items == 6
    with pytest.raises(ReadError, match="first_id is 2, but ids begin at 1"):
        read(path, first_id=2)
    assert len(read(path, odd="last", first_id=1).triplets) == 4
    swapped = read(path, columns={"anchor": 0, "near": 2, "far": 1}, first_id=1).triplets
    assert swapped.items[swapped.rows].tolist() == [[1, 3, 2], [5, 2, 3]]
    assert swapped.n_items == 5
    np.save(path, rows.astype(">i8"))
    assert (read(path).triplets.rows == rows).all()
    np.save(path, rows - 1)
    with pytest.raises(ReadError, match="positions from 0, but one is -1"):
        read(path)
    np.save(path, np.array([["a", "b", "c"], ["b", "c", "a"]]))
    assert named(read(path, layout="plain").triplets) == ["a|b|c", "b|c|a"]
    np.save(path, np.array([[0, 1, np.nan]]))
    with pytest.raises(ReadError, match=r"row 0 \(from 0\): an item has no name"):
        read(path, layout="plain")
    structured = np.array([(1, 2, 3)], dtype=[("anchor", int), ("near", int), ("far", int)])
    np.save(path, structured)
    assert named(read(path).triplets) == ["1|2|3"]
    for wrong in (np.arange(3), np.zeros((2, 2, 2)), np.array([[{}]], object)):
        np.save(path, wrong, allow_pickle=True)
        with pytest.raises(ReadError):
            read(path)


def test_ids_in_text_are_labels_unless_counted(tmp_path):
    path = write(tmp_path, "anchor,near,far\n1,2,5\n")
    assert read(path).triplets.items.tolist() == [1, 2, 5]
    assert read(path, first_id=1).triplets.items.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ReadError, match="first_id is 2, but the file has ids from 1"):
        read(path, first_id=2)
    with pytest.raises(ReadError, match="labels that are not integers"):
        read(FOLDER / "food100.csv", first_id=0)
    with pytest.raises(ReadError, match="almost all items would be in no row"):
        read(write(tmp_path, "anchor,near,far\n1,2,900000000\n"), first_id=0)


def test_empty_participants_count_as_one(tmp_path):
    reading = read(write(tmp_path, "anchor,near,far,puid,worker\n1,2,3,,9\n1,2,3,7,8\n"))
    assert reading.triplets.participant_labels.tolist() == ["", "7"]
    assert reading.notes == [
        "participants are not read from column 'worker'",
        "1 rows name no participant; they count as one, ''",
    ]


@pytest.mark.parametrize(
    ("header", "answers", "layout"),
    [
        ("target,left,right,choice", "Left RIGHT NA", "response"),
        ("anchor,first,second,response", "first second NA", "response"),
        ("a,b,c,winner", "left second NA", "response"),
        ("head,left,right,winner", "left right NA", "salmon"),
        ("Center,Left,Right,Answer", "Left Right NA", "next"),
    ],
)
def test_answers_may_name_a_side(header, answers, layout, tmp_path):
    rows = [
        f"{row},{a}" for row, a in zip(["0,1,2", "0,1,2", "2,0,1"], answers.split(), strict=True)
    ]
    reading = read(write(tmp_path, "\n".join([header, *rows])))
    assert (reading.layout, named(reading.triplets)) == (layout, ["0|1|2", "0|2|1"])
    assert reading.triplets.items.tolist() == [0, 1, 2]
    assert dropped(reading.notes) == 1


def test_items_may_be_called_left_and_right(tmp_path):
    text = "anchor,first,second,{}\nup,right,left,left\n"
    with pytest.raises(ReadError, match="are items of their rows .* response='item'"):
        read(write(tmp_path, text.format("choice")))
    assert named(read(write(tmp_path, text.format("winner"))).triplets) == ["up|left|right"]
    # Where not all can be items, all are sides.
    beside = text.format("choice") + "left,down,up,right\n"
    assert named(read(write(tmp_path, beside)).triplets) == ["up|right|left", "left|up|down"]


AMBIGUOUS = [
    ("1 2 3\n2 3 1\n", "Say layout='plain' .* odd='last' .*THINGS.* odd='first' .* odd='middle'"),
    ("a,b,c\nb,c,a\n", "several ways"),
    ("a,b,c,response\n1,2,3,1\n", "response={'1': 'first'} .* response={'1': 'second'}"),
    ("a,b,c,response\n2,1,3,1\n", "are items of their rows and may be places .* response='item'"),
    ("a;b,c;d,e;f\nb;a,d;c,f;e\n", r"separated by any of \[',', ';'\]"),
    ("anchor,near,far,first,second,odd\n1,2,3,1,2,3\n", "layout='plain' .* odd='last'"),
]


@pytest.mark.parametrize(("text", "message"), AMBIGUOUS)
def test_ambiguity_lists_the_choices(text, message, tmp_path):
    with pytest.raises(ReadError, match=message):
        read(write(tmp_path, text))


def test_a_first_line_that_may_be_a_header_is_asked_about(tmp_path):
    path = write(tmp_path, "x,y,z\n1,2,3\n2,3,1\n")
    with pytest.raises(ReadError, match=r"line 1 .* may be a header or data.* 'far': 2}"):
        read(path, layout="plain")
    with pytest.raises(ReadError, match="may be a header"):
        read(path, odd="last")


INCOMPLETE = [
    (
        "anchor,near,farr",
        {},
        "of the columns ['anchor', 'near', 'farr'], 'anchor', 'near' fit layout plain, but far (is "
        "it 'farr'?) is missing. Say columns={'anchor': 'anchor', 'near': 'near', 'far': 'farr'}",
    ),
    ("anchor,near,farr", {"layout": "plain"}, "far (is it 'farr'?) is missing"),
    (
        "anchor,Naer,Farr,puid",
        {},
        "near (is it 'Naer'?), far (is it 'Farr'?) are missing. Say columns={"
        "'anchor': 'anchor', 'near': 'Naer', 'far': 'Farr', 'participant': 'puid'}",
    ),
    (
        "anchor,near,participant",
        {},
        "'anchor', 'near' fit layout plain, but far is missing, and no column is left for it",
    ),
    ("anchor,near", {}, "but far is missing, and no column is left for it"),
    (
        "anchor,near,x,y",
        {},
        "far is missing. Say columns={'anchor': 'anchor', 'near': 'near', 'far': 'x'} if that is the "
        "far; or columns={'anchor': 'anchor', 'near': 'near', 'far': 'y'} if that is the far",
    ),
    (
        "thing,left,right,choice",
        {},
        "'left', 'right', 'choice' fit layout response, but anchor is missing. Say columns={"
        "'first': 'left', 'second': 'right', 'response': 'choice', 'anchor': 'thing'}",
    ),
    (
        "head,left,right,winer",
        {},
        "layout salmon, but winner (is it 'winer'?) is missing. Say columns={"
        "'anchor': 'head', 'first': 'left', 'second': 'right', 'winner': 'winer'}",
    ),
    ("first,second,third,x", {}, "layout odd_one_out, but odd is missing; or"),
    (
        "first,second,third,x",
        {},
        "or 'first', 'second', 'third' fit layout most_central, but centre",
    ),
    (
        "x,y,z",
        {"columns": {"anchor": "x", "near": "z"}},
        "of the columns ['x', 'y', 'z'], 'x', 'z' fit layout plain, "
        "but far is missing. Say columns={'anchor': 'x', 'near': 'z', 'far': 'y'}",
    ),
]


@pytest.mark.parametrize(("header", "options", "message"), INCOMPLETE)
def test_a_missing_column_is_named(header, options, message, tmp_path):
    row = ",".join("tuvw"[: header.count(",") + 1])
    with pytest.raises(ReadError, match=re.escape(message)):
        read(write(tmp_path, f"{header}\n{row}\n"), **options)


def test_the_remedy_for_a_missing_column_works(tmp_path):
    path = write(tmp_path, "anchor,near,farr,puid\na,b,c,7\n")
    with pytest.raises(ReadError) as caught:
        read(path)
    (remedy,) = caught.value.remedies
    assert read(path, **remedy.options).triplets.participant_labels.tolist() == [7]


@pytest.mark.parametrize(
    "text", ["near,far,left\nfar,left,near\n", "a,b,c\nd,e,f\n", "odd,even,prime\none,two,six\n"]
)
def test_a_first_row_of_data_lacks_no_column(text, tmp_path):
    with pytest.raises(ReadError, match="several ways"):
        read(write(tmp_path, text))


BAD = [
    ("", {}, "the file is empty"),
    ("\n \n", {}, "the file is empty"),
    ("anchor,near,far\n", {}, "no rows"),
    ("anchor,near,far\n1,2,3\n1,2\n", {}, "line 3: not the 3 fields of line 1 .1 such rows"),
    ("anchor,near,far\n1,2,3\n\n1,2,\n", {}, r"line 4: an item has no name in \['1', '2', ''\]"),
    ('anchor,near,far\n"a\nb",2,3\n1,1,3\n', {}, r"line 4: \['1', '1', '3'\] names an item twice"),
    ("anchor,first,second,winner\n1,2,3,4\n", {}, r"line 2: the answer is 4, not one of \[2, 3\]"),
    ("first,second,third,odd\n1,2,3,4\n", {}, r"line 2: the answer is 4, not one of \[1, 2, 3\]"),
    ("first,second,third,centre\n1,2,3,4\n", {}, "line 2: the answer is 4"),
    ("anchor,near,far,weight\n1,2,3,-1\n", {}, "line 2: the weight is -1.0, not positive"),
    ("anchor,near,far,weight\n1,2,3,x\n", {}, "line 2: the weight is 'x', not a number"),
    ("anchor,near,far,check\n1,2,3,x\n", {}, "check may mark check trials, .*Say checks={'check': 'x'}"),
    ("anchor,near,far,check\n1,2,3,yes\n", {}, "no row is left. 1 of 1 rows dropped: check trials"),
    ("anchor,near,far,answer\n1,2,3,\n", {}, "line 2: the answer has no id"),
    ("query,rank_1,rank1,rank_2\nq,a,b,c\n", {}, "column 'rank1' occurs twice"),
    ("anchor,near,near,far\n1,2,2,3\n", {}, "column 'near' occurs twice"),
    ("anchor,first,second,votes_first,votes_second\n1,2,3,-1,2\n", {}, "the votes are"),
    ("query,shown_1,shown_2,chosen_1\nq,a,b,c\n", {}, "the answer is .c., not one of"),
    ("query,shown_1,shown_2,chosen_1\nq,a,a,a\n", {}, "names an item twice"),
    ("query,shown_1,shown_2,chosen_1\n,a,b,a\n", {}, "there is no query"),
    ("query,reference_1,reference_2,n_select\nq,a,b,0\n", {}, "n_select is 0"),
    ("query,rank_1,rank_2\nq,a,a\n", {}, "names an item twice"),
    ("anchor, near, far\na, \"b\", c\n", {}, "a quote follows a blank"),
    ('anchor,near,far\na,b,"c\nd,e,f\n', {}, "never closed"),
    ("1 2 3\n2 3 1\n", {"layout": "odd_one_out"}, "the odd one may be any. Say odd='last'"),
    ("anchor,near,far,rt\n1,2,3,inf\n", {"min_response_time": 1}, "time is 'inf', not a number"),
    ("anchor,near,far\né,b,".encode() + b"\xe9\n", {}, "line 2: the text is not UTF-8"),
    (b"anchor,near,far\n\x81,b,c\n", {}, "line 2: the text is not UTF-8; save"),
    ("anchor,near,far\n".encode("utf-16"), {}, "no rows"),
    (b"\x7fELF\x00\x01", {}, "binary file"),
    (gzip.compress(b"anchor,near,far\n1,2,3\n" * 99, mtime=0)[:-20], {}, "cut off"),
    (b"PK\x05\x06" + bytes(18), {}, "holds 0 files"),
    (b"PAR1" + bytes(20), {}, "cannot be read"),
    (b"ARROW1" + bytes(20), {}, "cannot be read"),
    ("one,two\n1,2\n", {}, "no three columns were found"),
    ("x,y,z,w\n1,2,3,4\n", {}, "do not fit any known layout. Name yours in columns="),
    ("anchor,near,far\n1,2,3\n", {"layout": "next"}, "do not fit NEXT's CSV"),
    ("1,2,3,4\n", {"odd": "last"}, "do not fit"),
    ("anchor,near,far\n1,2,3\n", {"min_response_time": 1}, "needs a column of response times"),
    ("anchor,near,far\n1,2,3\n", {"exclude_participants": "Bo"}, "no column names participants"),
    ("anchor,near,far,puid\n1,2,3,4\n", {"exclude_participants": [5]}, "not in the file: .'5'."),
    ("head,left,right,winner\n1,2,3,4\n", {}, "the answer is 4, not one of"),
    ("a,b,c,choice\n1,2,3,left\n1,2,3,lft\n", {}, "line 3: the answer is 'lft', not one of .'left', 'first'"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "options", "message"), BAD)
def test_bad_files_are_refused_with_one_clear_message(content, options, message, tmp_path):
    path = write(tmp_path, content)
    with pytest.raises(ReadError, match=message) as caught:
        read(path, **options)
    assert "file.csv" in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"anchor": [1], "near": [2]', "cannot be read"),
        ("[1, 2]", "records, columns, or rows"),
        ('[[1, 2], [3]]', "rows of equal length"),
        ('{"answers": [[1, 2]], "agreement": [[1, 0]]}', "row 0 .*must hold lists of 3"),
        ('{"anchor": [1], "near": [[2]], "far": [3]}', "list"),
        ("{}", "no rows"),
    ],
)  # fmt: skip
def test_bad_json(text, message, tmp_path):
    with pytest.raises(ReadError, match=message):
        read(write(tmp_path, text, "file.json"))


def test_bad_paths(tmp_path):
    with pytest.raises(ReadError, match="there is no such file"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(ReadError, match="holds no file that can be read .it is empty."):
        read(tmp_path)
    with pytest.raises(ReadError, match="cannot be read"):
        read("a\0b")
    with pytest.raises(ValueError, match="layout must be one of 'auto', 'plain'"):
        read(FOLDER / "plain.csv", layout="plane")
    with pytest.raises(ValueError, match="odd must be one of"):
        read(FOLDER / "plain.csv", odd="left")


def test_weights_that_a_layout_cannot_use_are_said(tmp_path):
    path = write(tmp_path, "first,second,odd,weight\na,b,c,3\n")
    assert read(path).notes == ["the column weight is not read in layout odd_one_out"]


def test_stray_answers_of_salmon_are_dropped_while_they_are_few(tmp_path):
    good = "0,1,2,2\n" * 30
    reading = read(write(tmp_path, f"head,left,right,winner\n{good}1,0,2,7\n"))
    assert reading.notes == ["1 of 31 rows dropped: the winner is neither left nor right"]
    assert reading.triplets.items.tolist() == [0, 1, 2]


def test_files_are_triplets_everywhere(tmp_path):
    path = FOLDER / "plain_blanks.csv"
    assert named(as_triplets(str(path))) == named(as_triplets(path)) == ["3|1|2", "1|3|2"]
    with pytest.warns(UserWarning, match="odd_one_out.csv: 1 of 3 rows dropped: the answer is"):
        as_triplets(FOLDER / "odd_one_out.csv")
    zero_based = write(tmp_path, "anchor,near,far\n0,1,3\n")
    assert as_triplets(zero_based, n_items=5).n_items == 5
    assert ordinate.triplet_error(np.arange(5.0)[:, None], zero_based) == 0
    with pytest.raises(ValueError, match="not ids from 0"):
        as_triplets(path, n_items=5)
    assert as_triplets(path, n_items=3).items.tolist() == [1, 2, 3]


def survives(content, folder, **options):
    """Read bytes; whatever they are, the result is sound or a ReadError."""
    path = folder / "fuzz"
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reading = read(path, **options)
    except ReadError:
        return
    assert reading.n_rows == reading.n_used + dropped(reading.notes)
    assert len(reading.triplets) >= 1


@given(st.binary(max_size=200))
def test_random_bytes(tmp_path_factory, content):
    survives(content, tmp_path_factory.getbasetemp())


@given(st.data())
def test_damaged_files(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    name, options, *_ = data.draw(st.sampled_from(FIXTURES))
    content = bytearray((FOLDER / name).read_bytes())
    form = data.draw(st.sampled_from(["as it is", "gzip", "parquet", "feather", "npy"]))
    if form == "gzip":
        content = bytearray(gzip.compress(bytes(content), mtime=0))
    elif form != "as it is":
        content = bytearray(typed_bytes(form))
        options = {}
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "delete"]))
        if what == "flip":
            content[at] = data.draw(st.integers(0, 255))
        elif what == "cut":
            content = content[: at + 1]
        elif what == "insert":
            content[at:at] = data.draw(
                st.sampled_from([b",", b'"', b"\n", b";", b"\0", b"\xff", b"[{"])
            )
        elif len(content) > 1:
            del content[at]
    survives(bytes(content), folder, **options)


def typed_bytes(form):
    table = Triplets([[0, 1, 2], [2, 1, 0]], items=["a", "b", "c"]).to_arrow()
    sink = pa.BufferOutputStream()
    if form == "parquet":
        pa.parquet.write_table(table, sink)
    elif form == "feather":
        pa.feather.write_feather(table, sink, compression="uncompressed")
    else:
        import io

        file = io.BytesIO()
        np.save(file, np.array([[0, 1, 2], [2, 1, 0]], np.int32))
        return file.getvalue()
    return sink.getvalue().to_pybytes()


LABEL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


@given(
    st.lists(LABEL.filter(lambda s: s.strip() == s), min_size=3, max_size=6, unique=True),
    st.lists(st.permutations(range(3)), min_size=1, max_size=9),
    st.sampled_from([",", "\t", ";", "|"]),
)
@example(["a,b;c", 'd"e', "f\r\ng"], [[0, 1, 2]], ",")
@example(["1", "01", "1.0"], [[0, 1, 2]], ";")
def test_any_label_survives_a_quoted_file(tmp_path_factory, labels, orders, delimiter):
    import csv

    path = tmp_path_factory.getbasetemp() / "labels.csv"
    rows = [[labels[i] for i in order] for order in orders]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([["anchor", "near", "far"], *rows])
    read_rows = read(path).triplets
    whole = all(re.fullmatch(r"-?(0|[1-9][0-9]*)(\.0+)?", label) for row in rows for label in row)
    if not whole:
        assert read_rows.items[read_rows.rows].tolist() == rows
    assert len(read_rows) == len(rows)


def test_rows_are_never_lost_silently(tmp_path):
    rng = np.random.default_rng(0)
    winners = rng.choice(["1", "2", "", "NA"], 500)
    checks = rng.integers(0, 2, 500)
    lines = [
        f"0,1,2,{w},{c},p{i % 7}" for i, (w, c) in enumerate(zip(winners, checks, strict=True))
    ]
    path = write(tmp_path, "\n".join(["anchor,first,second,winner,check,puid", *lines]))
    reading = read(path, exclude_participants=["p3", "p5"])
    assert reading.n_rows == 500
    assert reading.n_used == len(reading.triplets) == 500 - dropped(reading.notes)
    kept = [
        w
        for i, (w, c) in enumerate(zip(winners, checks, strict=True))
        if c == 0 and i % 7 not in (3, 5)
    ]
    nearer = Counter(reading.triplets.items[reading.triplets.rows[:, 1]].tolist())
    assert (nearer[1], nearer[2]) == (kept.count("1"), kept.count("2"))


@pytest.mark.parametrize(
    "text", ["  1  2 3\n 10 20 30 \n", "1 2\t 3\r\n10 20 30", "1 2 3\n10 20 30"]
)
def test_columns_aligned_with_blanks(text, tmp_path):
    assert named(read(write(tmp_path, text), layout="plain").triplets) == ["1|2|3", "10|20|30"]


def test_a_single_line_without_an_end(tmp_path):
    assert named(read(write(tmp_path, "1,2,3"), layout="plain").triplets) == ["1|2|3"]


def test_importing_readers_is_public():
    assert readers.read is read
    assert ordinate.readers is readers
