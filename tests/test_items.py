"""Files about items are found by content; the names shown stay as distinct as labels."""

import json
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_readers import write

from ordinate import html_report, plot_map
from ordinate.files.items import MEDIA, display_names, read_items, short_labels
from ordinate.files.readers import ReadError

distinct = st.lists(st.text(st.sampled_from("ab/\\.() 1"), min_size=1), unique=True)
folders = st.sampled_from(["", "a/", "stimuli/set1/", "C:\\x\\"])
endings = st.sampled_from(["", ".jpg", ".PNG", ".txt", ".1", "."])


@given(distinct, folders, endings)
@example(["a", "a/b"], "", "")
@example([".jpg", "a.jpg"], "", "")
@example(["x/", "x/y"], "", "")
def test_short_labels_are_distinct_parts_of_labels(parts, folder, ending):
    labels = [f"{folder}{part}{ending}" for part in parts]
    short = short_labels(labels)
    assert len(set(short)) == len(set(labels))
    assert all(short)
    # What is left out is the same for all: a folder before, an ending of pictures or sounds after.
    fits = [
        (head, tail)
        for head in {label[:k] for label in labels[:1] for k in range(len(label))}
        for tail in {"", *(e for e in {Path(label).suffix for label in labels} if e)}
        if [f"{head}{s}{tail}" for s in short] == labels
    ]
    assert not labels or any(
        (head == "" or head[-1] in "/\\") and (tail == "" or tail.lower() in MEDIA)
        for head, tail in fits
    )


@pytest.mark.parametrize(
    ("labels", "short"),
    [
        (["stimuli/set1/cat_01.jpg", "stimuli/set1/dog_01.jpg"], ["cat_01", "dog_01"]),
        (["stimuli/a/1.png", "stimuli/b/1.png"], ["a/1", "b/1"]),
        (["C:\\pics\\a.JPG", "C:\\pics\\b.JPG"], ["a", "b"]),
        (["a.jpg", "b.png"], ["a.jpg", "b.png"]),
        (["v1.0", "v2.0"], ["v1.0", "v2.0"]),
        (["catfish", "cattle"], ["catfish", "cattle"]),
        (["s/", "s/a"], ["s/", "s/a"]),
        (["s/one.wav"], ["one"]),
        ([], []),
    ],
)
def test_short_labels(labels, short):
    assert short_labels(labels) == short


@given(distinct, st.data())
def test_names_are_as_distinct_as_labels(labels, data):
    name = st.one_of(
        st.none(), st.just(float("nan")), st.sampled_from([*labels, "a", "a (1)", " "])
    )
    names = data.draw(st.lists(name, min_size=len(labels), max_size=len(labels)))
    shown, _ = display_names(labels, names)
    assert len(set(shown)) == len(labels)
    assert all(text for text in shown)


def test_names_that_labels_cannot_tell_apart():
    names = ["a", "a", "a (1)"]
    assert display_names(["1", "2", "3"], names)[0] == ["1", "2", "3"]
    with pytest.raises(ValueError, match="one name per item: 3, got 2"):
        display_names(["1", "2", "3"], ["a", "b"])


FOUND = [
    ("label,name\n2,b\n1,a\n", {"name": ["a", "b"]}, []),
    ("Label;name\n2.0;b\n1;a\n3;c\n", {"name": ["a", "b"]}, []),
    ("id\tdisplay name\n2\tbig b\n1\ta, a\n", {"display name": ["a, a", "big b"]}, ["'id'"]),
    (
        "id,make and model\n1,A No. 1\n2,B No. 2\n",
        {"make and model": ["A No. 1", "B No. 2"]},
        ["'id'"],
    ),
    ("name,no,size\nb,2,0.5\na,1,NA\n", {"name": ["a", "b"], "size": [None, 0.5]}, ["'no'"]),
    # Several columns hold all labels: the name decides.
    ("rank,item,kind\n2,1,x\n1,2,\n", {"rank": [2, 1], "kind": ["x", None]}, ["'item'"]),
    # A column called label may hold something else.
    ("label,number\nb,2\na,1\n", {"label": ["a", "b"]}, ["'number'"]),
    ("1,a,x\n2,b,y\n", {"column 2": ["a", "b"], "column 3": ["x", "y"]}, ["'column 1'"]),
]


@pytest.mark.parametrize(("content", "columns", "notes"), FOUND)
def test_the_column_of_labels_is_found(content, columns, notes, tmp_path):
    found = read_items(write(tmp_path, content), [1, 2])
    assert found.columns == columns
    assert len(found.notes) == len(notes)
    for note, column in zip(found.notes, notes, strict=True):
        assert note == f"items are found by column {column}, which holds all labels"


def test_items_in_other_formats(tmp_path):
    book = openpyxl.Workbook()
    for row in (["label", "name", "size"], [1, "one", 0.5], [2, "two", 2]):
        book.active.append(row)
    book.save(tmp_path / "items.xlsx")
    columns = {"name": ["two", "one"], "size": [2.0, 0.5]}
    assert read_items(tmp_path / "items.xlsx", ["2", "1"]).columns == columns
    records = [{"label": 1, "name": "one", "size": 0.5}, {"label": 2, "name": "two", "size": 2}]
    write(tmp_path, json.dumps(records), "items.json")
    assert read_items(tmp_path / "items.json", ["2", "1"]).columns == columns


MISSING = [
    ("label,kind\n1,x\n", r"lacks 1 item, not found in its column 'label': 2"),
    ("label,kind\n1,x\n2,y\n2,z\n", r"more than once in column 'label': 2"),
    ("one,two\n1,1\n2,2\n", r"\['one', 'two'\] could all be the labels; call the one"),
    ("name,kind\na,x\nb,y\n", r"no column holds the labels \(1, 2\)"),
]


@pytest.mark.parametrize(("content", "message"), MISSING)
def test_items_that_cannot_be_found(content, message, tmp_path):
    with pytest.raises(ReadError, match=message):
        read_items(write(tmp_path, content), [1, 2])


def texts(figure):
    return {text.get_text() for text in figure.axes[0].texts}


def test_figures_show_names_and_find_pictures_by_label():
    points, labels = np.eye(3), ["x/1.png", "x/2.png", "x/3.png"]
    image = np.zeros((4, 4))
    assert {"1", "2", "3"} <= texts(plot_map(points[:, :2], labels, images={labels[0]: image}))
    figure = plot_map(points[:, :2], labels, names=["a", None, "c"], images={labels[0]: image})
    assert {"a", "x/2.png", "c"} <= texts(figure)


def test_reports_show_names_and_keep_labels():
    def data(page):
        return json.loads(page.split('id="data">')[1].split("</script>")[0])

    labels = ["x/1.png", "x/2.png"]
    found = data(html_report(np.eye(2), labels, title="", images={labels[1]: np.zeros((4, 4))}))
    assert (found["labels"], found["raw_labels"]) == (["1", "2"], labels)
    assert list(found["images"]) == ["1"]
    found = data(html_report(np.eye(2), labels, title="", names=["a", "a"]))
    assert found["labels"] == ["a (x/1.png)", "a (x/2.png)"]
    assert data(html_report(np.eye(2), ["a", "b"], title=""))["raw_labels"] is None


def test_labels_are_found_without_their_folders(tmp_path):
    path = write(tmp_path, "b.jpg\tbread\na.jpg\tapple\n")
    found = read_items(path, ["images/a.jpg", "images/b.jpg"])
    assert found.columns == {"column 2": ["apple", "bread"]}
    assert found.notes[-1] == "labels are found without their folders"
    with pytest.raises(ReadError, match="no column holds the labels"):
        read_items(path, ["one/a.jpg", "two/a.jpg"])
