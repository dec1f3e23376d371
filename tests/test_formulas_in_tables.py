"""Labels that spreadsheets would compute: kept as they are, or defused, and always restored."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cli import run  # noqa: F401

import ordinate
from ordinate.files.maps import read_map, write_distances, write_map

LABELS = ["=1+1", "+cmd", "-5", "@sum", "'=x", "''@y", "'plain'", "plain", "\tx"]
POINTS = np.arange(2.0 * len(LABELS)).reshape(-1, 2)


def cells(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("defuse", [False, True])
def test_maps_are_restored(tmp_path, defuse):
    columns = {"=head": LABELS, "kind": [None, *LABELS[1:]], "n": list(range(len(LABELS)))}
    write_map(tmp_path / "map.csv", LABELS, POINTS, columns, defuse=defuse)
    found = read_map(tmp_path / "map.csv")
    assert found.labels == LABELS
    assert found.columns["=head"] == LABELS
    assert found.columns["kind"] == ["", *LABELS[1:]]
    assert found.columns["n"] == list(range(len(LABELS)))
    written = [cell for row in cells(tmp_path / "map.csv") for cell in (row[0], row[3], row[4])]
    assert any(cell[:1] in ("=", "+", "-", "@", "\t") for cell in written) != defuse


@given(labels=st.lists(st.text("=+-@'\ta1 ", min_size=1), min_size=1, unique=True))
def test_any_label_is_restored(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("map") / "map.csv"
    for defuse in (False, True):
        write_map(path, labels, np.zeros((len(labels), 1)), {}, defuse=defuse)
        assert read_map(path).labels == labels


def test_distances_are_defused(tmp_path):
    write_distances(tmp_path / "d.csv", LABELS, POINTS, defuse=True)
    (_, *header), *rows = cells(tmp_path / "d.csv")
    assert header == [row[0] for row in rows]
    assert all(name[0] not in "=+-@\t" for name in header)
    write_distances(tmp_path / "d.csv", LABELS, POINTS)
    assert cells(tmp_path / "d.csv")[0][1:] == LABELS


def test_a_fit_of_formulas(run, tmp_path):  # noqa: F811
    names = ["=a()", "-b", "@c", "d"]
    rows = [(a, b, c) for a in names for b in names for c in names if len({a, b, c}) == 3]
    text = "".join(",".join(row) + "\n" for row in [("anchor", "near", "far"), *rows])
    (tmp_path / "answers.csv").write_text(text)
    run("fit", "answers.csv", "-o", "map", "--folds", 0, "--defuse", "-q")
    assert [row[0] for row in cells(tmp_path / "map" / "embedding.csv")[1:]] == [
        "'-b",
        "'=a()",
        "'@c",
        "d",
    ]
    assert ordinate.load(tmp_path / "map").items_.tolist() == sorted(names)
    assert "of 24 triplets agree" in run("score", "map", "answers.csv").output
    run("export", "map", "-o", "d.csv", "--defuse")
    assert cells(tmp_path / "d.csv")[0][1:3] == ["'-b", "'=a()"]
