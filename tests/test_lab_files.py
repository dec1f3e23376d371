"""Files in the shapes that labs and platforms write: what they mean is read right, or asked about.

The answers are made of known points on a line, so that a reading that swaps near and far, or takes
the wrong column for the anchor, shows.
"""

import csv
import json
from itertools import permutations

import numpy as np
import openpyxl
import pandas as pd
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

from ordinate import answers, as_triplets
from ordinate.cli import app
from ordinate.files.readers import ReadError, read

NAMES = ["oak", "elm", "yew", "ash", "fir"]
POINTS = {name: float(2**k) for k, name in enumerate(NAMES)}
# (anchor, first, second) and whether the first is nearer: 60 questions, about half each way.
QUESTIONS = [
    (a, b, c, abs(POINTS[a] - POINTS[b]) < abs(POINTS[a] - POINTS[c]))
    for a, b, c in permutations(NAMES, 3)
]


def right(triplets, label=str):
    """Return the share of triplets that agree with the points; weights count."""
    points = np.array([POINTS[label(item)] for item in triplets.items.tolist()])
    anchor, near, far = points[triplets.rows].T
    weight = np.ones(len(near)) if triplets.weight is None else triplets.weight
    agree = np.abs(anchor - near) < np.abs(anchor - far)
    return float((agree * weight).sum() / weight.sum())


def lines(header, row, questions=QUESTIONS):
    """Return a file with a header and a line for each question."""
    return "\n".join([header, *(row(*question) for question in questions)]) + "\n"


def pasted(path, *words, **options):
    """Read a file, each time by the only remedy of the error that has the words."""
    for wanted in words:
        with pytest.raises(ReadError) as caught:
            read(path, **options)
        (remedy,) = [r for r in caught.value.remedies if wanted in str(r.options)]
        options |= remedy.options
    return read(path, **options)


def test_letters_beside_a_reference_are_the_two_options(tmp_path):
    path = tmp_path / "letters.csv"
    path.write_text(
        lines("ref,A,B,response", lambda a, b, c, f: f"{a},{b},{c},{'A' if f else 'B'}")
    )
    reading = read(path)
    assert reading.layout == "response"
    assert right(reading.triplets) == 1
    path.write_text(lines("ref,A,B,response", lambda a, b, c, f: f"{a},{b},{c},{int(not f)}"))
    assert right(pasted(path, "'0': 'first'").triplets) == 1


@pytest.mark.parametrize(
    "header",
    [
        "reference,A,B,votes_A,votes_B",
        "a,b,c,votes_b,votes_c",
        "ref,left,right,votes_left,votes_right",
    ],
)
def test_votes_are_named_for_their_items(header, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(
        lines(header, lambda a, b, c, f: f"{a},{b},{c},{9 if f else 1},{1 if f else 9}")
    )
    reading = read(path)
    assert reading.layout == "votes"
    assert right(reading.triplets) == pytest.approx(0.9)


def test_codes_that_are_names_of_columns_too_are_no_question(tmp_path):
    path = tmp_path / "wide.csv"
    header = ",".join(f"{stem}{q}" for q in (1, 2) for stem in ("ref", "a", "b", "q"))
    rows = [
        ",".join(f"{a},{b},{c},{'A' if f else 'B'}" for a, b, c, f in two)
        for two in zip(QUESTIONS[::2], QUESTIONS[1::2], strict=True)
    ]
    path.write_text("\n".join([header, *rows]))
    assert right(pasted(path, "'response': 'q*'").triplets) == 1


def test_gorilla_names_participants_in_private(tmp_path):
    path = tmp_path / "gorilla.csv"
    header = "Event Index,Participant Public ID,Participant Private ID,target,left,right,Response"
    path.write_text(
        lines(header, lambda a, b, c, f: f"1,BLIND,{len(a + b)},{a},{b},{c},{b if f else c}")
    )
    triplets = read(path).triplets
    assert triplets.participant_labels.tolist() == [6]
    assert right(triplets) == 1


def test_a_word_above_numbers_is_a_name(tmp_path):
    ids = {name: k for k, name in enumerate(NAMES)}
    path = tmp_path / "pandas.csv"
    path.write_text(
        lines("0,1,2,y", lambda a, b, c, f: f"{ids[a]},{ids[b]},{ids[c]},{1 if f else -1}")
    )
    reading = pasted(path, "'response': 'y'", "'1': 'first'")
    assert reading.n_rows == len(QUESTIONS)
    assert right(reading.triplets, lambda k: NAMES[k]) == 1
    path.write_text(
        lines(
            "head,b,c",
            lambda a, b, c, f: ",".join(str(ids[x]) for x in (a, *((b, c) if f else (c, b)))),
        )
    )
    with pytest.raises(ReadError, match="names that say too little") as caught:
        read(path)
    assert len(caught.value.remedies) == 2
    assert right(pasted(path, "'near': 'b'").triplets, lambda k: NAMES[k]) == 1


def test_a_header_of_three_unknown_words_is_settled_in_one_step(tmp_path):
    path = tmp_path / "three.csv"
    path.write_text(
        lines("q,chosen,unchosen", lambda a, b, c, f: f"{a},{b if f else c},{c if f else b}")
    )
    reading = pasted(path, "'near': 'chosen'")
    assert (reading.n_rows, right(reading.triplets)) == (len(QUESTIONS), 1)


def test_where_odd_was_told_the_header_is_asked_about_with_it(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("q,r,s\ncod,cat,lynx\nbus,cat,cod\n")
    reading = pasted(path, "'odd': 'q'", odd="first")
    assert "the odd one is in the column that is named for it" in reading.notes
    rows = reading.triplets.items[reading.triplets.rows].tolist()
    assert rows[0] == ["cat", "lynx", "cod"]


@pytest.mark.parametrize("ending", ["npz", "mat"])
def test_rows_and_responses_of_two_variables_are_one_table(ending, tmp_path):
    ids = {name: k for k, name in enumerate(NAMES, 1)}
    variables = {
        "X": np.array([[ids[a], ids[b], ids[c]] for a, b, c, _ in QUESTIONS]),
        "y": np.array([1 if f else -1 for *_, f in QUESTIONS]),
        "seed": np.array([7]),
    }
    path = tmp_path / f"study.{ending}"
    if ending == "npz":
        np.savez(path, **variables)
    else:
        savemat(path, variables)
    reading = pasted(path, "'response': 'y'", "'1': 'first'")
    assert right(reading.triplets, lambda k: NAMES[k - 1]) == 1
    assert "read: X, y; not read: seed" in reading.notes


def test_psiz_has_the_query_and_the_selected_first(tmp_path):
    rows = []
    for name in NAMES:
        others = sorted(set(NAMES) - {name}, key=lambda other: abs(POINTS[name] - POINTS[other]))
        rows.append([NAMES.index(item) for item in (name, *others)])
    rows.append([*rows[0][:3], -1, -1])  # fewer references
    path = tmp_path / "trials.npz"
    ranked, agent = np.ones(6, bool), np.array([3, 3, 3, 4, 4, 4])
    np.savez(path, stimulus_set=rows, n_select=[2] * 5 + [1], is_ranked=ranked, agent_id=agent)
    reading = read(path)
    assert reading.layout == "selection"
    assert "Triplets(26 rows, 5 items, 6 answers, 2 participants)" in str(reading.triplets)
    assert right(reading.triplets, lambda k: NAMES[k]) == 1


def test_pictures_in_html_and_in_lists_are_the_same_items(tmp_path):
    path = tmp_path / "jspsych.csv"
    rows = [
        {
            "trial_type": "html-button-response",
            "trial_index": k,
            "stimulus": f"<img src='img/{a}.jpg'>",
            "choices": json.dumps([f"img/{b}.jpg", f"img/{c}.jpg"]),
            "button_pressed": int(not f),
        }
        for k, (a, b, c, f) in enumerate(QUESTIONS)
    ]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    reading = pasted(path, "'0': 'first'")
    assert reading.triplets.items.tolist() == sorted(f"{name}.jpg" for name in NAMES)
    assert right(reading.triplets, lambda item: item.removesuffix(".jpg")) == 1


def test_items_named_in_two_ways_are_not_two_items(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text(
        lines(
            "picture,target,left,right,response",
            lambda a, b, c, f: f"p/{a}.png,{a},p/{b}.png,p/{c}.png,{'left' if f else 'right'}",
        )
    )
    with pytest.raises(ReadError, match=r"as 'ash' and 'p/ash.png', .* different items"):
        read(path)
    reading = pasted(path, "'anchor': 'picture'")
    assert right(reading.triplets, lambda item: item[2:-4]) == 1
    # Anchors that are another kind of thing are none of this business.
    path.write_text("anchor,near,far\na word,p/oak.png,p/elm.png\nred,p/oak.png,p/elm.png\n")
    assert read(path).triplets.n_items == 4


LEFT_RIGHT = (
    "anchor,left,right,response",
    lambda a, b, c, f: f"{a},{b},{c},{'left' if f else 'right'}",
)
TABLE = lines(*LEFT_RIGHT)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "utf-8-sig"])
def test_text_as_editors_of_windows_save_it(encoding, tmp_path):
    path = tmp_path / "a.csv"
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    path.write_bytes((mark + TABLE.replace("oak", "Grünkohl")).encode(encoding))
    reading = read(path)
    assert right(reading.triplets, lambda item: item.replace("Grünkohl", "oak")) == 1
    told = [note for note in reading.notes if "not UTF-8, but of Windows" in note]
    assert len(told) == (encoding == "cp1252")


@pytest.mark.parametrize(
    "above",
    ["# Trees\n# of 2021, all\n", "Trees of 2021\n\n", "Trees,,,\n", '"Trees, all",,,\n,,,\n'],
)
def test_titles_and_comments_stand_above_the_table(above, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(above + TABLE)
    reading = read(path)
    assert right(reading.triplets) == 1
    assert reading.n_rows == len(QUESTIONS)
    assert "not read, since the table begins below: [" in reading.notes[0]
    assert "Trees" in reading.notes[0]
    path.write_text(above + TABLE + "oak,elm,oak,left\n")
    with pytest.raises(ReadError, match=f"line {above.count(chr(10)) + 62}: "):
        read(path)


def test_titles_stand_above_the_table_of_a_sheet(tmp_path):
    book = openpyxl.Workbook()
    for row in (["Trees, 2021"], [], *(line.split(",") for line in TABLE.splitlines())):
        book.active.append(row)
    book.active.append(["oak", "elm", "oak", "left"])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(ReadError, match="row 64 of sheet"):
        read(tmp_path / "a.xlsx")
    reading = read(tmp_path / "a.xlsx", drop="repeated")
    assert "not read, since the table begins below: ['Trees, 2021']" in reading.notes
    assert right(reading.triplets) == 1


@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
@pytest.mark.parametrize("quote", ['"', ""])
def test_r_writes_names_of_rows_without_a_header(delimiter, quote, tmp_path):
    path = tmp_path / "a.txt"
    header, *rows = ([f"{quote}{w}{quote}" for w in line.split(",")] for line in TABLE.splitlines())
    numbered = [[str(k), *row] for k, row in enumerate(rows, 1)]
    path.write_text("\n".join(delimiter.join(row) for row in [header, *numbered]))
    reading = read(path)
    assert "the header has no name for the first column" in reading.notes
    assert right(reading.triplets) == 1
    if delimiter != " ":
        path.write_text("\n".join([*map(delimiter.join, [header, *([*r, ""] for r in rows)])]))
        reading = read(path)
        assert "the header has no name for the last column" in reading.notes
        assert right(reading.triplets) == 1


@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("by_line", [True, False])
def test_a_server_keeps_one_list_of_records_for_each_participant(with_id, by_line, tmp_path):
    names = "target", "left", "right", "response"
    lists = [
        [
            dict(zip(names, (a, b, c, "left" if f else "right"), strict=True))
            | ({"PROLIFIC_PID": who} if with_id else {})
            for a, b, c, f in QUESTIONS[k::2]
        ]
        for k, who in enumerate(["5f1", "5f2"])
    ]
    path = tmp_path / "results.txt"
    path.write_text("\n".join(map(json.dumps, lists)) if by_line else json.dumps(lists))
    reading = read(path)
    assert reading.notes[0] == "2 lists of records are read as one"
    assert reading.triplets.participant_labels.tolist() == (["5f1", "5f2"] if with_id else [1, 2])
    assert right(reading.triplets) == 1


def test_folders_within_a_folder_are_read_where_it_has_no_files(tmp_path):
    for name, part in {"sub-1": QUESTIONS[::2], "sub-2": QUESTIONS[1::2]}.items():
        (tmp_path / name / "beh").mkdir(parents=True)
        (tmp_path / name / "beh" / "data.csv").write_text(lines(*LEFT_RIGHT, part))
        (tmp_path / name / ".git").mkdir()
        (tmp_path / name / ".git" / "a.csv").write_text("x")
    (tmp_path / "old-map").mkdir()
    for name in (".ordinate", "embedding.csv"):
        (tmp_path / "old-map" / name).write_text("label,dim1,dim2\n")
    triplets = read(tmp_path).triplets
    assert triplets.participant_labels.tolist() == ["sub-1/beh/data", "sub-2/beh/data"]
    assert right(triplets) == 1
    (tmp_path / "sub-1" / "beh" / "data.tsv").write_text("x\ty\tz\n")
    with pytest.raises(ReadError, match="sub-1/beh/data.csv and sub-1/beh/data.tsv differ"):
        read(tmp_path)


@pytest.mark.parametrize("header", ["anchor,option1,option2,farther", "x1,optL,optR,least_similar"])
@pytest.mark.parametrize("coded", [True, False])
def test_answers_may_name_the_farther_one(header, coded, tmp_path):
    path = tmp_path / "far.csv"

    def row(a, b, c, f):
        far = ("right" if f else "left") if coded else (c if f else b)
        return f"{a},{b},{c},{far}"

    path.write_text(lines(header, row))
    steps = [] if header.startswith("anchor") else ["'farther': 'least_similar'"]
    reading = pasted(path, *steps)
    assert "answers tell which item is farther" in reading.notes
    assert right(reading.triplets) == 1
    path.write_text(lines(f"anchor,left,right,{header.split(',')[-1]}", row))
    assert right(read(path).triplets) == 1


def test_what_the_first_row_says_is_told_in_words(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(TABLE)
    a, b, c, f = QUESTIONS[0]
    says = f"{b if f else c} is closer to {a} than {c if f else b} is"
    assert read(path).example == says
    result = CliRunner().invoke(app, ["check", str(path)])
    assert f"the first says that {says}\n" in result.output
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert json.loads(result.output)["first_says"] == says
    result = CliRunner().invoke(app, ["fit", str(path), "-o", str(tmp_path / "map")])
    assert f"the first answer was read as: {says}\n" in result.stdout
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert record["input"]["the first says"] == says


def test_a_frame_with_responses_is_not_to_be_renamed():
    """Renaming A and B to near and far would drop what was answered."""
    columns = list(zip(*QUESTIONS, strict=True))
    frame = pd.DataFrame(dict(zip(("ref", "A", "B"), columns, strict=False)))
    frame["pick"] = [b if f else c for _, b, c, f in QUESTIONS]
    with pytest.raises(
        ValueError, match=r"missing among .*ordinate.answers .* responses\("
    ) as caught:
        as_triplets(frame)
    assert "winner=" in str(caught.value)
    triplets = answers.responses(frame["ref"], frame["A"], frame["B"], winner=frame["pick"])
    assert right(triplets) == 1


@pytest.mark.parametrize("header", ["A,B,C,closer", "refImage,leftImage,rightImage,mostSimilar"])
def test_answers_may_name_the_nearer_one_in_so_many_words(header, tmp_path):
    path = tmp_path / "near.csv"
    path.write_text(lines(header, lambda a, b, c, f: f"{a},{b},{c},{b if f else c}"))
    assert right(read(path).triplets) == 1
    # A word for near is no slip of one for far.
    path.write_text(
        lines("anchor,left,right,nearerone", lambda a, b, c, f: f"{a},{b},{c},{b if f else c}")
    )
    with pytest.raises(ReadError) as caught:
        read(path)
    assert "farther" not in str([remedy.options for remedy in caught.value.remedies])


def test_a_matrix_of_something_else_is_no_column(tmp_path):
    columns = zip(*((a, *((b, c) if f else (c, b))) for a, b, c, f in QUESTIONS), strict=True)
    variables = dict(zip(("anchor", "near", "far"), map(np.array, columns), strict=True))
    np.savez(tmp_path / "a.npz", points=np.zeros((200, 2)), **variables)
    reading = read(tmp_path / "a.npz")
    assert "not read: points" in reading.notes[0]
    assert right(reading.triplets) == 1


@pytest.mark.parametrize("header", ["target,A,B,C,choice", "ref,option1,option2,option3,closest"])
def test_the_nearest_of_three_beside_a_target_is_no_pair(header, tmp_path):
    path = tmp_path / "three.csv"
    rows = []
    for name, *three in permutations(NAMES, 4):
        rows.append([name, *three, min(three, key=lambda item: abs(POINTS[name] - POINTS[item]))])
    path.write_text("\n".join([header, *map(",".join, rows)]))
    steps = ["selection"] if header.endswith("choice") else []
    reading = pasted(path, *steps)
    assert reading.layout == "selection"
    assert right(reading.triplets) == 1
