"""Raw files as labs publish them: found at once, or refused with remedies that work when pasted."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate.cli import app
from ordinate.files.readers import LAYOUTS, ReadError, read

FOLDER = Path(__file__).parent / "fixtures"

# File, the remedies to paste one after the other (the first words of each), layout, rows as labels.
RAW = [
    ("jspsych_keys.csv", [], "response", ["oak|elm|yew", "elm|yew|oak"]),
    (
        "jspsych_buttons.json",
        ["--response 0=first,1=second"],
        "response",
        ["ash.jpg|elm.jpg|oak.jpg", "oak.jpg|ash.jpg|elm.jpg"],
    ),
    (
        "jspsych_buttons.csv",
        ["--layout odd_one_out", "--drop repeated"],
        "odd_one_out",
        ["elm|yew|oak", "yew|elm|oak", "ash|oak|elm", "oak|ash|elm"],
    ),
    (
        "meadows.csv",
        ["--layout odd_one_out", "--drop repeated"],
        "odd_one_out",
        ["oak|elm|yew", "elm|oak|yew", "ash|yew|oak", "yew|ash|oak"],
    ),
    (
        "mturk.csv",
        ["--drop repeated"],
        "response",
        ["oak.jpg|elm.jpg|yew.jpg", "elm.jpg|yew.jpg|oak.jpg"],
    ),
    (
        "mturk_wide.csv",
        ["--columns", "--drop repeated"],
        "response",
        ["oak|elm|yew", "elm|ash|oak", "ash|yew|oak", "yew|ash|elm", "ash|elm|oak"],
    ),
    (
        "qualtrics.csv",
        ["--columns", "--drop repeated"],
        "response",
        ["oak|elm|yew", "elm|ash|oak", "yew|oak|ash", "oak|yew|elm"],
    ),
    (
        "qualtrics_text.csv",
        ["--columns 'anchor=*_Q3_text_a,first=*_Q3_text_b,second=*_Q3_text_c"],
        "response",
        [
            *("oak.png|elm.png|yew.png", "elm.png|oak.png|ash.png", "yew.png|ash.png|oak.png"),
            *("oak.png|yew.png|elm.png", "elm.png|ash.png|oak.png", "yew.png|oak.png|ash.png"),
            "ash.png|yew.png|elm.png",
        ],
    ),
    (
        "bare_participant.txt",
        ["--columns first=0,second=1,odd=2,participant=3", "--drop repeated"],
        "odd_one_out",
        [
            *("4|17|16", "17|4|16", "14|15|10", "15|14|10", "3|15|12", "15|3|12"),
            *("16|4|10", "4|16|10", "12|14|3", "14|12|3"),
        ],
    ),
    (
        "things_choice.csv",
        ["--layout odd_one_out"],
        "odd_one_out",
        ["4|3|1854", "3|4|1854", "2|4|1854", "4|2|1854", "2|4|1854", "4|2|1854"],
    ),
    (
        "stim_names.csv",
        ["--layout most_central", "--drop repeated"],
        "most_central",
        ["elm|oak|yew", "yew|oak|elm", "elm|yew|ash", "ash|yew|elm", "oak|ash|yew", "yew|ash|oak"],
    ),
    (
        "responses_fj.csv",
        ["--drop repeated", "--drop repeated,unanswered"],
        "response",
        ["oak|elm|yew", "elm|yew|oak"],
    ),
    (
        "responses_01.csv",
        ["--response 0=second,1=first"],
        "response",
        ["oak|elm|yew", "elm|yew|oak", "yew|elm|oak"],
    ),
    (
        "near_far_response.csv",
        ["--columns", "--response 1=first,-1=second"],
        "response",
        ["oak|elm|yew", "elm|yew|oak", "yew|oak|elm"],
    ),
]


def rows_of(path):
    text = path.read_text().splitlines()
    return ["|".join(line.replace('"', "").split(",")[:3]) for line in text[1:]]


def paste(tmp_path, name, beginnings):
    """Run ``ordinate convert``, paste the remedies of its errors, and return all options."""
    options, output = [], tmp_path / "triplets.csv"
    for beginning in beginnings:
        result = CliRunner().invoke(app, ["check", str(FOLDER / name), *options])
        assert result.exit_code == 3, result.output
        lines = [line.strip() for line in result.stderr.splitlines() if line.startswith("    --")]
        (line,) = [line for line in lines if line.startswith(beginning)]
        options += shlex.split(line, comments=True)
    result = CliRunner().invoke(
        app, ["convert", str(FOLDER / name), "-o", str(output), "--force", *options]
    )
    assert result.exit_code == 0, result.output
    return output, result.stderr


@pytest.mark.parametrize(("name", "remedies", "layout", "rows"), RAW)
def test_remedies_work_when_pasted(tmp_path, name, remedies, layout, rows):
    output, said = paste(tmp_path, name, remedies)
    assert rows_of(output) == rows
    dropped = [int(n) for n in re.findall(r"note: (\d+) of \d+ rows dropped", said)]
    assert sum(dropped) > 0 or name in ("near_far_response.csv", "mturk_wide.csv")


@pytest.mark.parametrize(("name", "remedies", "layout", "rows"), RAW)
def test_remedies_are_data(name, remedies, layout, rows):
    options = {}
    for beginning in remedies:
        with pytest.raises(ReadError) as caught:
            read(FOLDER / name, **options)
        option = beginning.split()[0].removeprefix("--")
        fitting = [r for r in caught.value.remedies if option in r.options]
        values = re.sub("[,']", "", beginning.partition(" ")[2])
        written = [as_written(r.options[option]) for r in fitting]
        (chosen,) = [r for r, w in zip(fitting, written, strict=True) if w.startswith(values)]
        assert str(chosen) in str(caught.value)
        options |= chosen.options
    reading = read(FOLDER / name, **options)
    triplets = reading.triplets
    assert reading.layout == layout
    assert ["|".join(map(str, row)) for row in triplets.items[triplets.rows]] == rows


def as_written(value):
    if isinstance(value, dict):
        return "".join(f"{key}={entry}" for key, entry in value.items())
    return value if isinstance(value, str) else "".join(value)


def named(triplets):
    return ["|".join(map(str, row)) for row in triplets.items[triplets.rows]]


def write(folder, text, name="file.csv"):
    path = folder / name
    path.write_text(text)
    return path


CODES = [
    "left right",
    "Left RIGHT",
    "first second",
    "A B",
    "a b",
    "f j",
    "F J",
    "ArrowLeft ArrowRight",
    "leftarrow rightarrow",
    "arrow_left arrow_right",
    "37 39",
    "1 2",
    "1.0 2.0",
    "y z",
]


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("header", ["anchor,first,second,response", "head,left,right,winner"])
def test_codes_that_are_plain(tmp_path, codes, header):
    first, second = codes.split()
    path = write(tmp_path, f"{header}\nx,y,z,{first}\nw,y,z,{second}\nx,w,z,NA\n")
    reading = read(path)
    assert named(reading.triplets) == ["x|y|z", "w|z|y"]
    assert any("answers are places" in note for note in reading.notes) == (codes != "y z")


@pytest.mark.parametrize("codes", ["0 1", "1 -1", "+1 -1", "true false", "True False", "up down"])
def test_codes_that_are_asked_about(tmp_path, codes):
    first, second = codes.split()
    rows = f"x,y,z,{first}\n" * 3 + f"w,y,z,{second}\n" * 3
    path = write(tmp_path, f"anchor,first,second,response\n{rows}")
    with pytest.raises(ReadError, match="left and right, first and second, 1 and 2") as caught:
        read(path)
    one, other = (read(path, **remedy.options).triplets for remedy in caught.value.remedies)
    expected = [["x|y|z"] * 3 + ["w|z|y"] * 3, ["x|z|y"] * 3 + ["w|y|z"] * 3]
    assert sorted([named(one), named(other)]) == sorted(expected)
    told = read(path, response={first: "first", second: "second"})
    assert named(told.triplets) == expected[0]
    assert not any("answers are places" in note for note in told.notes)


def test_one_code_alone_does_not_tell_its_pair(tmp_path):
    for word in ("1", "f", "a"):
        path = write(tmp_path, f"anchor,first,second,response\nx,y,z,{word}\nw,y,z,{word}\n")
        with pytest.raises(ReadError, match="files differ"):
            read(path)


POSITIONS = [
    ("1 2 3", None),
    ("0 1 2", None),
    ("A B C", None),
    ("first second third", None),
    ("left middle right", None),
    ("1 2 1", 2),
]


@pytest.mark.parametrize(("places", "n_ways"), POSITIONS)
def test_places_among_three(tmp_path, places, n_ways):
    rows = "".join(f"x,y,z,{place}\n" for place in places.split())
    path = write(tmp_path, f"item_1,item_2,item_3,odd\n{rows}")
    if n_ways is None:
        assert named(read(path).triplets)[::2] == ["y|z|x", "x|z|y", "x|y|z"]
    else:
        with pytest.raises(ReadError) as caught:
            read(path)
        ways = [remedy.options["response"] for remedy in caught.value.remedies]
        assert ways == [{"1": "first", "2": "second"}, {"1": "second", "2": "third"}]


def test_a_place_among_integer_items_is_asked_about(tmp_path):
    path = write(tmp_path, "item_1,item_2,item_3,odd\n1,2,3,1\n3,1,2,3\n")
    with pytest.raises(ReadError, match="items of their rows and may be places") as caught:
        read(path)
    by_place, by_item = (read(path, **r.options).triplets for r in caught.value.remedies)
    assert named(by_place)[::2] == ["2|3|1", "3|1|2"]
    assert named(by_item)[::2] == ["2|3|1", "1|2|3"]
    # Ids that no place has settle it, and so do places that are no ids of their rows.
    items = write(tmp_path, "item_1,item_2,item_3,odd\n1,2,7,1\n3,1,7,7\n")
    assert named(read(items).triplets)[::2] == ["2|7|1", "3|1|7"]
    places = write(tmp_path, "item_1,item_2,item_3,odd\n1,2,7,1\n5,6,7,3\n")
    assert named(read(places).triplets)[::2] == ["2|7|1", "5|6|7"]


def test_what_response_must_be(tmp_path):
    path = write(tmp_path, "anchor,first,second,response\nx,y,z,0\nw,y,z,1\n")
    with pytest.raises(ValueError, match="must be one of 'first', 'second', 'third'"):
        read(path, response={"0": "left"})
    with pytest.raises(ValueError, match="response must be 'item' or say what each code means"):
        read(path, response="first")
    with pytest.raises(ReadError, match="two can be chosen"):
        read(path, response={"0": "first", "1": "third"})
    with pytest.raises(ReadError, match=r"line 3: the answer is '1', not one of \['0'\]"):
        read(path, response={"0": "first"})
    told = read(path, response={0: "second"}, drop="unanswered")
    assert named(told.triplets) == ["x|z|y"]


DROPS = [
    ("anchor,near,far", ["a,b,c"], "a,b,b", "a,b,", None),
    ("anchor,first,second,winner", ["a,b,c,b"], "a,a,c,a", "a,,c,c", "a,b,c,d"),
    ("anchor,first,second,response", ["a,b,c,left", "a,c,b,right"], "a,b,b,left", "a,,c,left", "a,b,c,x"),
    ("head,left,right,winner", ["a,b,c,c"], "a,b,b,b", "a,b,,b", "a,b,c,d"),
    ("head,winner,loser", ["a,b,c"], "a,b,b", "a,b,", None),
    ("Center,Left,Right,Answer", ["a,b,c,c"], "a,b,b,b", "a,b,,b", "a,b,c,d"),
    ("first,second,odd", ["a,b,c"], "a,b,b", "a,,c", None),
    ("first,second,third,odd", ["a,b,c,c"], "a,b,b,a", "a,b,,a", "a,b,c,d"),
    ("first,second,third,centre", ["a,b,c,c"], "a,b,b,a", "a,b,,a", "a,b,c,d"),
    ("anchor,first,second,votes_first,votes_second", ["a,b,c,1,0"], "a,b,b,1,0", "a,,b,1,0", None),
    ("query,shown_1,shown_2,chosen_1", ["a,b,c,b"], "a,b,b,b", ",b,c,b", "a,b,c,d"),
    ("query,reference_1,reference_2,n_select", ["a,b,c,1"], "a,b,b,1", ",b,c,1", "a,b,c,0"),
    ("query,rank_1,rank_2", ["a,b,c"], "a,b,b", ",b,c", None),
]  # fmt: skip


@pytest.mark.parametrize(("header", "good", "repeated", "unnamed", "unanswered"), DROPS)
def test_bad_rows_are_dropped_on_request_in_every_layout(
    tmp_path, header, good, repeated, unnamed, unanswered
):
    good = good * 3
    bad = {"repeated": repeated, "unnamed": unnamed, "unanswered": unanswered}
    expected = named(read(write(tmp_path, "\n".join([header, *good]))).triplets)
    for kind, row in bad.items():
        if row is None:
            continue
        path = write(tmp_path, "\n".join([header, *good, row, good[0]]))
        with pytest.raises(ReadError, match=f"line {len(good) + 2}: ") as caught:
            read(path)
        (remedy,) = caught.value.remedies
        assert remedy.options == {"drop": (kind,)}
        reading = read(path, drop=kind)
        assert reading.n_rows == reading.n_used + 1
        assert any(note.startswith(f"1 of {reading.n_rows} rows dropped") for note in reading.notes)
        one = len(expected) // len(good)
        assert named(reading.triplets) == [*expected, *expected[:one]]
    rows = [row for row in bad.values() if row is not None]
    path = write(tmp_path, "\n".join([header, *good, *rows]))
    assert named(read(path, drop=tuple(bad)).triplets) == expected


def test_remedies_add_to_what_is_dropped_already(tmp_path):
    path = write(tmp_path, "anchor,near,far\na,b,b\na,b,\na,b,c\n")
    with pytest.raises(ReadError) as caught:
        read(path, drop="unnamed")
    assert caught.value.remedies[0].options == {"drop": ("unnamed", "repeated")}
    with pytest.raises(ValueError, match="drop must be one of 'repeated', 'unanswered', 'unnamed'"):
        read(path, drop="twice")


def test_arrays_may_have_rows_dropped_too(tmp_path):
    import numpy as np

    np.save(tmp_path / "rows.npy", np.array([[0, 1, 2], [1, 1, 2], [2, 0, 1]]))
    with pytest.raises(ReadError, match="names an item twice"):
        read(tmp_path / "rows.npy")
    assert read(tmp_path / "rows.npy", drop="repeated").triplets.rows.tolist() == [
        [0, 1, 2],
        [2, 0, 1],
    ]


def test_rows_that_only_bad_rows_made_text_are_numbers_again(tmp_path):
    path = write(tmp_path, "anchor,near,far\n1,2,3\n1,oops,oops\n")
    assert read(path, drop="repeated").triplets.items.tolist() == [1, 2, 3]
    path = write(tmp_path, "anchor,first,second,winner\n1,2,3,2\n1,2,3,oops\n1,2,3,3\n")
    assert read(path, drop="unanswered").triplets.items.tolist() == [1, 2, 3]


MARKED = [
    ("sampleAlg", "check", "random"),
    ("trial_type", "catch", "main"),
    ("condition", "attention_check", "exp"),
    ("condition", "Attention Check 2", "exp"),
    ("sampleSet", "validation", "adaptive"),
    ("catch", "catch", ""),
    ("is_catch", "TRUE", "FALSE"),
    ("is_catch_trial", "yes", "no"),
]


@pytest.mark.parametrize(("column", "mark", "other"), MARKED)
def test_columns_that_mark_check_trials(tmp_path, column, mark, other):
    path = write(tmp_path, f"anchor,near,far,{column}\na,b,c,{other}\nb,a,c,{mark}\n")
    reading = read(path)
    assert named(reading.triplets) == ["a|b|c"]
    (note,) = reading.notes
    assert note == (
        f"1 of 2 rows dropped: check trials, {column} is {mark!r}; keep_checks=True keeps them"
    )
    assert len(read(path, keep_checks=True).triplets) == 2
    assert len(read(path, checks={column: mark}).triplets) == 1
    assert named(read(path, only={column: mark}, keep_checks=True).triplets) == ["b|a|c"]


def test_what_does_not_mark_checks(tmp_path):
    # A part of the data, a column that says the same of all rows, words of other things, items.
    split = write(tmp_path, "anchor,near,far,split\na,b,c,train\nb,a,c,validation\n")
    assert len(read(split).triplets) == 2
    assert read(split).notes == [
        "rows whose split is 'validation' are kept, as a part of the data; checks=... drops them"
    ]
    assert len(read(split, checks={"split": ["validation"]}).triplets) == 1
    same = write(tmp_path, "anchor,near,far,set\na,b,c,validation\nb,a,c,validation\n")
    assert len(read(same).triplets) == 2
    other = write(tmp_path, "anchor,near,far,note\na,b,c,please check this\nb,a,c,fine\n")
    assert (len(read(other).triplets), read(other).notes) == (2, [])
    items = write(tmp_path, "anchor,near,far\ncheck,b,c\nb,check,c\n")
    assert (len(read(items).triplets), read(items).notes) == (2, [])


def test_checks_and_only_must_be_there(tmp_path):
    path = write(tmp_path, "anchor,near,far,kind\na,b,c,x\nb,a,c,y\n")
    with pytest.raises(ReadError, match=r"kind is never 'z', but x, y"):
        read(path, checks={"kind": "z"})
    with pytest.raises(ReadError, match="no column 'sort' for only="):
        read(path, only={"sort": "x"})
    with pytest.raises(TypeError, match="checks must name values by column"):
        read(path, checks="kind=x")
    reading = read(path, only={"kind": ("x", "y")}, checks={"kind": "y"})
    assert reading.notes == ["1 of 2 rows dropped: check trials: kind is 'y'"]


def test_some_columns_are_named_and_the_others_found(tmp_path):
    text = "image_1,image_2,image_3,choice,who,near\nyew,oak,elm,elm,7,z\noak,elm,ash,oak,8,z\n"
    path = write(tmp_path, text)
    reading = read(path, columns={"odd": "choice", "participant": "who"})
    assert (reading.layout, len(reading.triplets)) == ("odd_one_out", 4)
    assert reading.triplets.participant_labels.tolist() == [7, 8]
    assert "first is image_1, second is image_2, third is image_3" in reading.notes[0]
    # A column of the file that has the name of a role gives way to the one named.
    taken = write(tmp_path, "anchor,near,far,closer\na,x,c,b\nb,x,a,c\n")
    assert named(read(taken, columns={"near": "closer"}).triplets) == ["a|b|c", "b|c|a"]
    with pytest.raises(ReadError) as caught:
        read(write(tmp_path, "a1,b1,c1,choice\na,b,c,c\n"), columns={"odd": "choice"})
    assert "of the columns ['a1', 'b1', 'c1', 'choice'], 'choice' fits layout odd_one_out" in str(
        caught.value
    )
    assert all(r.options["columns"]["odd"] == "choice" for r in caught.value.remedies)


def test_a_response_beside_near_and_far_is_not_ignored(tmp_path):
    path = FOLDER / "near_far_response.csv"
    with pytest.raises(ReadError, match="near and far say who is nearer, and so does response"):
        read(path)
    left = read(path, layout="plain")
    assert named(left.triplets) == ["oak|elm|yew", "elm|oak|yew", "yew|oak|elm"]
    assert left.notes == ["the column response is not read: near and far say who is nearer"]
    same = write(tmp_path, "anchor,near,far,winner\na,b,c,b\nb,a,c,a\n")
    assert len(read(same).triplets) == 2


def test_rows_of_several_questions(tmp_path):
    path = write(tmp_path, "who,q1_a,q1_b,q1_c,q2_a,q2_b,q2_c\n7,a,b,c,b,c,a\n8,c,a,b,,,\n")
    columns = {"anchor": "q*_a", "near": "q*_b", "far": "q*_c", "participant": "who"}
    reading = read(path, columns=columns)
    assert named(reading.triplets) == ["a|b|c", "b|c|a", "c|a|b"]
    assert reading.triplets.participant_labels[reading.triplets.participant].tolist() == [7, 7, 8]
    assert reading.n_rows == 4
    with pytest.raises(ReadError, match=r"no numbered columns 'r\*_a' for anchor"):
        read(path, columns={**columns, "anchor": "r*_a"})


def test_names_of_columns_may_hold_commas(tmp_path):
    path = write(tmp_path, '"a, x",near,"far, y"\na,b,c\n')
    result = CliRunner().invoke(
        app, ["check", str(path), "--columns", '"anchor=a, x","far=far, y"']
    )
    assert "layout plain" in result.output
    result = CliRunner().invoke(app, ["check", str(path)])
    assert "near=near" not in result.output or "'" in result.output


def test_help_lists_the_roles_of_each_layout():
    told = CliRunner().invoke(app, ["check", "--help"], env={"COLUMNS": "200"}).output
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", told).split())
    for layout in LAYOUTS:
        if len(layout.roles) > 1:
            assert f"{layout.name}: {', '.join(layout.roles)}" in told
        assert layout.name in told


def test_errors_can_be_pickled(tmp_path):
    import pickle

    with pytest.raises(ReadError) as caught:
        read(FOLDER / "responses_01.csv")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.remedies) == (str(caught.value), caught.value.remedies)


def test_the_advice_is_about_the_layout_asked_for(tmp_path):
    path = write(tmp_path, "x,y,z,w\na,b,c,d\n")
    with pytest.raises(ReadError) as caught:
        read(path, layout="odd_one_out")
    assert "odd_one_out: first, second, third, odd" in str(caught.value)
    assert "anchor" not in str(caught.value)


def test_answers_may_name_a_column(tmp_path):
    text = "trial,ref_img,opt1_img,opt2_img,resp\n1,a,b,c,opt1_img\n2,b,c,a,Opt2_img\n3,c,a,b,opt1_img\n"
    reading = read(write(tmp_path, text))
    assert named(reading.triplets) == ["a|b|c", "b|a|c", "c|a|b"]
    assert "anchor is ref_img, first is opt1_img, second is opt2_img" in reading.notes[0]
    text = "img1,img2,img3,most_different\na,b,c,img1\nb,c,d,img3\n"
    reading = read(write(tmp_path, text))
    assert (reading.layout, named(reading.triplets)[::2]) == ("odd_one_out", ["b|c|a", "b|c|d"])


def test_the_columns_of_psychopy(tmp_path):
    text = (
        "participant,anchor,left,right,key_resp.keys\n1,x,y,z,left\n1,y,x,z,right\n1,z,x,y,None\n"
    )
    assert named(read(write(tmp_path, text)).triplets) == ["x|y|z", "y|z|x"]


PRACTICE = [
    ("practice.thisN,trials.thisN\n{0,},{1,},{,0},{,1}", "--only practice.thisN="),
    ("phase\n{practice 1},{practice 2},{main},{main}", "--only phase=main"),
]


@pytest.mark.parametrize(("marks", "remedy"), PRACTICE)
def test_practice_is_used_and_told_with_what_leaves_it_out(tmp_path, marks, remedy):
    names, cells = marks.split("\n")
    ends = re.findall(r"{(.*?)}", cells)
    rows = [
        f"{row},{end}" for row, end in zip(("a,b,c", "b,c,a", "a,c,b", "c,a,b"), ends, strict=True)
    ]
    path = write(tmp_path, "\n".join([f"anchor,near,far,{names}", *rows]))
    runner = CliRunner()
    shown = runner.invoke(app, ["check", str(path)]).output
    told = f"note: 2 rows that {names.split(',')[0]} marks as practice are used like any other"
    assert f"{told}; {remedy} reads the others alone" in shown
    left = runner.invoke(
        app, ["convert", str(path), *remedy.split(), "-o", str(tmp_path / "x.csv")]
    )
    assert "2 triplets in" in left.output
    assert "marks as practice" not in left.output
    assert named(read(tmp_path / "x.csv").triplets) == ["a|c|b", "c|a|b"]


def test_what_leaves_practice_out_leaves_check_trials_out_as_well(tmp_path):
    rows = ["a,b,c,practice,plain", "b,c,a,main,catch", "a,c,b,main,plain", "c,a,b,main,plain"]
    path = write(tmp_path, "\n".join(["anchor,near,far,phase,trial", *rows]))
    shown = CliRunner().invoke(app, ["check", str(path), "--only", "phase=main"]).output
    assert "check trials, trial is 'catch'" in shown


def test_pictures_of_one_name_in_two_folders_stay_apart(tmp_path):
    rows = [("a/1", "b/1", "a/2"), ("b/1", "a/2", "a/1")]
    lines = ["stimulus,left,right,response,trial_type,trial_index"]
    lines += [f"<img src='{s}.png'>,{x}.png,{y}.png,left,k,1" for s, x, y in rows]
    reading = read(write(tmp_path, "\n".join(lines)))
    assert named(reading.triplets) == ["a/1.png|b/1.png|a/2.png", "b/1.png|a/2.png|a/1.png"]


def test_a_question_that_never_changes_is_no_anchor(tmp_path):
    line = "<p>Which is odd?</p>,{},{},{},{},html-button-response,{}"
    rows = [line.format("abcd"[k % 4], "bcda"[k % 4], "cdab"[k % 4], k % 3, k) for k in range(12)]
    header = "stimulus,choices_1,choices_2,choices_3,button_pressed,trial_type,trial_index"
    path = write(tmp_path, "\n".join([header, *rows]))
    with pytest.raises(ReadError) as caught:
        read(path)
    offered = [remedy.options["layout"] for remedy in caught.value.remedies]
    assert offered == ["odd_one_out", "most_central"]


def test_proposals_come_from_what_columns_hold(tmp_path):
    names = ["elm", "oak", "yew", "ash", "fir"]
    rows = [
        f"{100 + k},{names[k % 5]},{names[(k + 1) % 5]},{names[(k + 3) % 5]},{'up' if k % 2 else 'down'}"
        for k in range(20)
    ]
    path = write(tmp_path, "\n".join(["no,q,v,w,d", *rows]))
    with pytest.raises(ReadError, match="do not fit any known layout") as caught:
        read(path)
    (remedy,) = caught.value.remedies
    columns = {"anchor": "q", "first": "v", "second": "w", "response": "d"}
    assert remedy.options == {"columns": columns}
    with pytest.raises(ReadError, match="'up'") as caught:
        read(path, columns=columns)
    assert len(caught.value.remedies) == 2


def test_numbers_of_rows_are_no_items(tmp_path):
    rows = [f"{k},{k % 7},{(k + 1) % 7},{(k + 3) % 7},{(k + 1) % 7}" for k in range(20)]
    path = write(tmp_path, "\n".join(["n,p,q,r,s", *rows]))
    with pytest.raises(ReadError) as caught:
        read(path)
    columns = caught.value.remedies[0].options["columns"]
    assert columns == {"anchor": "p", "first": "q", "second": "r", "response": "s"}


def test_records_of_several_kinds(tmp_path):
    records = [
        {"anchor": "a", "near": "b", "far": "c", "extra": 1},
        {"anchor": "b", "near": "a", "far": "c", "extra": {"x": [1]}},
        {"extra": "text"},
    ]
    reading = read(write(tmp_path, json.dumps(records), "file.json"))
    assert named(reading.triplets) == ["a|b|c", "b|a|c"]
    assert reading.notes == ["1 of 3 rows dropped: no item is named, so that they are no trials"]


def test_only_mturk_has_names_beyond_its_fields(tmp_path):
    reading = read(FOLDER / "mturk.csv", drop="repeated")
    assert reading.notes[0] == (
        "the header has names beyond the fields of the rows: ['Approve', 'Reject']"
    )
    with pytest.raises(ReadError):
        read(write(tmp_path, "anchor,near,far,x\na,b,c\nb,c,a\n"))


def test_one_line_that_is_no_header_is_refused(tmp_path):
    with pytest.raises(ReadError, match="do not fit any known layout"):
        read(write(tmp_path, "a.jpg; b.jpg; c.jpg; d.jpg; e.jpg\n"))


def test_other_words_for_near_and_far(tmp_path):
    reading = read(write(tmp_path, "reference,closer,farther,puid\na,b,c,1\nb,c,a,1\n"))
    assert (reading.layout, named(reading.triplets)) == ("plain", ["a|b|c", "b|c|a"])
    assert reading.notes == [
        "columns are read by their names: anchor is reference, near is closer, far is farther; "
        "columns=... tells others"
    ]


def test_a_response_that_explains_nothing_is_refused(tmp_path):
    path = write(tmp_path, "anchor,near,far\na,b,c\n")
    with pytest.raises(ReadError, match="response=... has nothing to explain"):
        read(path, response="item")


def test_columns_keep_the_names_of_their_platform(tmp_path):
    columns = {"anchor": "Input.ref*", "first": "optA*", "second": "optB*", "response": "Answer.q*"}
    reading = read(FOLDER / "mturk_wide.csv", columns=columns, drop="repeated")
    assert len(reading.triplets) == 5
    columns = {"anchor": "Input.anchor", "first": "Input.left", "second": "Input.right"}
    assert len(read(FOLDER / "mturk.csv", columns=columns, drop="repeated").triplets) == 2
    columns = {"first": "stim1_id", "second": "stim2_id", "third": "stim3_id", "odd": "label"}
    reading = read(FOLDER / "meadows.csv", columns=columns, drop="repeated")
    assert reading.triplets.items.tolist() == ["ash", "elm", "oak", "yew"]


def test_odd_is_for_columns_without_names(tmp_path):
    path = write(tmp_path, "first,second,odd\na,b,c\n")
    with pytest.raises(ReadError, match="odd=... is for three columns without names"):
        read(path, odd="first")
