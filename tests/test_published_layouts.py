"""Files as programs of others write them: what is read of them, and what is advised."""

import csv
import json

import pytest

from ordinate import readers

ITEMS = ["apple", "pear", "bus", "car", "dog", "wolf"]
# Questions about items by their places in that list, and whether the first was nearer.
QUESTIONS = [
    (a, (a + s) % 6, (a + t) % 6, (a + s) % 2 == 0)
    for a in range(6)
    for s, t in [(1, 2), (3, 1), (2, 5)]
]


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    return path


def labels(triplets):
    return triplets.items[triplets.rows].tolist()


def answered(ending=""):
    named = [([ITEMS[k] + ending for k in ids], first) for *ids, first in QUESTIONS]
    return [[a, b, c] if first else [a, c, b] for (a, b, c), first in named]


def test_three_pictures_in_the_html_of_a_jspsych_trial(tmp_path):
    """Other trials have a stimulus of one part, which is no anchor of those that have three."""
    kind = "html-keyboard-response"
    rows = [["stimulus", "response", "trial_type", "trial_index"], ["<p>Hello</p>", " ", kind, 0]]
    for *ids, first in QUESTIONS:
        pictures = "".join(f"<img src='img/{ITEMS[k]}.png'>" for k in ids)
        rows.append(["<div>+</div>", "", kind, len(rows)])
        rows.append([f"<div>{pictures}</div>", "f" if first else "j", kind, len(rows)])
    path = write(tmp_path / "data.csv", rows)
    with pytest.raises(readers.ReadError, match="names do not tell what was asked") as caught:
        readers.read(path)
    assert "'stimulus'," not in str(caught.value)
    assert labels(readers.read(path, layout="response").triplets) == answered(".png")


def test_questions_whose_options_are_numbered_too(tmp_path):
    """opt1_7 is the first option of question 7: there are more questions than options."""
    numbers = range(1, len(QUESTIONS) + 1)
    names = [f"{role}_{k}" for k in numbers for role in ("anchor", "opt1", "opt2", "Q")]
    cells = [
        cell
        for *ids, first in QUESTIONS
        for cell in (*(ITEMS[k] for k in ids), "1" if first else "2")
    ]
    header = ["ResponseId", *names]
    ids = [json.dumps({"ImportId": name}) for name in header]
    path = write(tmp_path / "survey.csv", [header, header, ids, ["R_1", *cells], ["R_2", *cells]])
    with pytest.raises(readers.ReadError, match="do not fit any known layout") as caught:
        readers.read(path)
    (remedy,) = caught.value.remedies
    assert remedy.options["columns"] == {
        "anchor": "anchor_*",
        "first": "opt1_*",
        "second": "opt2_*",
        "response": "Q_*",
    }
    assert labels(readers.read(path, **remedy.options).triplets) == answered() * 2


@pytest.mark.parametrize("name", ["sub", "subject_nr", "Participant Number", "participant.code"])
def test_names_of_the_column_of_participants(tmp_path, name):
    rows = [["anchor", "near", "far", name], [*"abc", "01"], [*"bca", "02"]]
    found = readers.read(write(tmp_path / "answers.csv", rows))
    assert found.triplets.participant_labels.tolist() == ["01", "02"]


def test_a_participant_whose_name_says_that_there_is_none_is_told(tmp_path):
    rows = [["anchor", "near", "far", "subject"], [*"abc", "1"], [*"bca", "NA"], [*"cab", "NA"]]
    (note,) = readers.read(write(tmp_path / "answers.csv", rows)).notes
    assert note.startswith("a participant is called 'NA': if that means that nobody is named")


def test_answers_that_name_two_of_three_columns_are_about_the_other(tmp_path):
    """ABX: is X more like A or like B?"""
    rows = [["trial", "stim_A", "stim_B", "stim_X", "verdict"]]
    for k, (a, b, c, first) in enumerate(QUESTIONS):
        rows.append([k, ITEMS[b], ITEMS[c], ITEMS[a], "A" if first else "B"])
    path = write(tmp_path / "abx.csv", rows)
    with pytest.raises(readers.ReadError, match="By what they hold") as caught:
        readers.read(path)
    (remedy,) = caught.value.remedies
    assert remedy.options["columns"]["anchor"] == "stim_X"
    assert labels(readers.read(path, **remedy.options).triplets) == answered()


@pytest.mark.parametrize("mark", ["#", "%"])
def test_comments_above_a_table_as_programs_mark_them(tmp_path, mark):
    path = tmp_path / "triplets.txt"
    path.write_text(f"{mark} i is closer to j than to k\n1 2 3\n2 3 1\n3 1 2\n")
    found = readers.read(path, layout="plain")
    assert found.triplets.items[found.triplets.rows].tolist() == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert "not read, since the table begins below" in found.notes[0]


def test_labels_that_begin_with_a_mark_of_comments_are_labels(tmp_path):
    path = tmp_path / "shares.txt"
    path.write_text("%5 of %10 %20\n%5 %10 %20\n%10 %5 %20\n%20 %10 %5\n")
    with pytest.raises(readers.ReadError):
        readers.read(path, layout="plain")
