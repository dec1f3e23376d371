"""Labels that differ in trifles, masks, and other things that are told or asked, never guessed."""

import numpy as np
import pytest
from test_cli import run  # noqa: F401

from ordinate import STE, Triplets, as_triplets, readers, triplet_error
from ordinate.data.labels import alike

CAFES = ["café", "cafe\u0301", "Cafe\u0301", "\u200bcafé", "CAFÉ", "café\u00a0", "\ufeffcafé"]


def write(folder, text, name="answers.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("cat", "Cat", "'Cat' and 'cat'"),
        ("ice cream", "ice  cream", "'ice  cream' and 'ice cream'"),
        ("ice cream", "ice\u00a0cream", r"'ice cream' and 'ice\xa0cream'"),
        ("café", "cafe\u0301", r"'cafe\\u0301' and 'caf\\xe9'"),
        ("cat", "c\u200bat", r"'cat' and 'c\\u200bat'"),
    ],
)
def test_labels_that_differ_in_trifles_are_told(tmp_path, one, other, shown):
    path = write(tmp_path, f"anchor,near,far\n{one},dog,eel\n{other},eel,dog\n")
    reading = readers.read(path)
    assert reading.triplets.n_items == 4
    (note,) = reading.notes
    assert shown.replace("\\\\", "\\") in note or shown in note
    assert "merge_labels=True makes one item of them" in note
    with pytest.warns(UserWarning, match="are different items"):
        as_triplets(path)
    merged = readers.read(path, merge_labels=True)
    assert merged.triplets.items.tolist() == sorted([one, "dog", "eel"])
    assert merged.triplets.rows[0, 0] == merged.triplets.rows[1, 0]
    (note,) = merged.notes
    assert note.startswith("1 items have several spellings")


def test_spellings_of_all_kinds_are_one(tmp_path):
    rows = "".join(f"{name},dog,eel\n" for name in CAFES)
    reading = readers.read(write(tmp_path, f"anchor,near,far\n{rows}"), merge_labels=True)
    assert reading.triplets.items.tolist() == ["café", "dog", "eel"]


@pytest.mark.parametrize("labels", [["a", "A", "b", "B"], ["cat", "cats"], [1, 2], ["x²", "x2"]])
def test_labels_that_are_meant_to_differ(labels):
    assert alike(labels) == []


def test_an_answer_may_name_an_item_in_another_spelling(tmp_path):
    text = "anchor,first,second,winner,participant\nant,Bee,Cod,bee,p1\nBee,ant,Cod,cod,P1\n"
    path = write(tmp_path, text)
    with pytest.raises(readers.ReadError, match="the answer is 'bee', not one of"):
        readers.read(path)
    merged = readers.read(path, merge_labels=True).triplets
    assert merged.items[merged.rows].tolist() == [["ant", "Bee", "Cod"], ["Bee", "Cod", "ant"]]
    assert merged.participant_labels.tolist() == ["P1", "p1"]


def test_merging_is_told_on_the_command_line(run, tmp_path):  # noqa: F811
    path = write(tmp_path, "anchor,near,far\ncat,dog,eel\nCat,eel,dog\ndog,eel,cat\n")
    assert "--merge-labels makes one item of them" in run("check", path).output
    assert "'Cat' and 'cat'" in run("check", path, "--merge-labels").output
    run("convert", path, "-o", "merged.csv", "--merge-labels")
    assert readers.read(tmp_path / "merged.csv").triplets.n_items == 3


MASKED = np.ma.masked_array([[0, 1, 2], [2, 1, 0], [1, 0, 2]], mask=[[0] * 3, [0, 0, 1], [0] * 3])


@pytest.mark.parametrize(
    "use",
    [
        as_triplets,
        Triplets,
        STE().fit,
        lambda rows: triplet_error(np.eye(3), rows),
        lambda rows: Triplets.from_columns(*rows.T),
        lambda rows: Triplets(rows.data, weight=np.ma.masked_less(rows.data[:, 0] + 1.0, 2)),
        lambda rows: Triplets(rows.data, participant=rows[:, 2]),
        lambda rows: Triplets(rows.data).answered(np.ma.masked_array([1, -1, 1], [0, 1, 0])),
        lambda rows: triplet_error(np.ma.masked_array(np.eye(3), rows.mask), rows.data),
    ],
)
def test_masked_values_are_not_taken_for_others(use):
    with pytest.raises(ValueError, match=r"row [01] has masked values \(1 such rows of 3\)"):
        use(MASKED)


def test_an_array_that_masks_nothing_is_an_array():
    rows = np.ma.compress_rows(MASKED)
    assert as_triplets(np.ma.masked_array(rows)).rows.tolist() == rows.tolist()


@pytest.mark.parametrize("separator", [",", ";", "; ", "\t"])
@pytest.mark.parametrize("folder", ["", "pictures/"])
def test_pictures_without_names_are_asked_about_whatever_separates_them(
    tmp_path, separator, folder
):
    rows = [("a.jpg", "b.jpg", "c.jpg"), ("d.jpg", "a.jpg", "b.jpg")]
    text = "".join(separator.join(folder + cell for cell in row) + "\n" for row in rows)
    with pytest.raises(readers.ReadError, match="can be read in several ways") as caught:
        readers.read(write(tmp_path, text))
    assert [remedy.options for remedy in caught.value.remedies] == [
        {"layout": "plain"},
        {"odd": "last"},
        {"odd": "first"},
        {"odd": "middle"},
    ]


@pytest.mark.parametrize(
    ("said", "asked"), [("1", False), ("-1", True), ("0", True), ("far", True)]
)
def test_a_response_that_contradicts_near_and_far_is_asked_about(tmp_path, said, asked):
    path = write(tmp_path, f"anchor,near,far,response\na,b,c,{said}\nb,c,a,{said}\n")
    if not asked:
        assert "the column response is not read" in readers.read(path).notes[0]
        return
    with pytest.raises(readers.ReadError, match="does not say that all rows are as they stand"):
        readers.read(path)
