"""JSON whose records lie within others, as servers and pandas write it."""

import json

import pytest

from ordinate import readers

ROWS = [
    {"anchor": "ant", "near": "bee", "far": "cod"},
    {"anchor": "bee", "near": "cod", "far": "ant"},
    {"anchor": "cod", "near": "ant", "far": "bee"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
PEOPLE = [{"worker_id": "p1", "trials": ROWS[:2]}, {"worker_id": "p2", "trials": ROWS[2:]}]


def read(folder, data):
    (folder / "data.json").write_text(json.dumps(data))
    return readers.read(folder / "data.json")


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        ({"trials": ROWS}, ["the data are read from 'trials'"]),
        (
            {"version": 2, "trials": ROWS},
            ["the data are read from 'trials'; not read: ['version']"],
        ),
        (
            {"study": {"results": ROWS}},
            ["the data are read from 'study'", "the data are read from 'results'"],
        ),
        ({"study": COLUMNS}, ["the data are read from 'study'"]),
        (
            {**COLUMNS, "events": [{"time": 1}]},
            ["not read, since they are not lists of 3 rows: events"],
        ),
        ([{"trial": row} for row in ROWS], []),
        ({k: {str(i): row[k] for i, row in enumerate(ROWS)} for k in ROWS[0]}, []),
    ],
)
def test_records_within_others(tmp_path, data, notes):
    reading = read(tmp_path, data)
    named = reading.triplets.items[reading.triplets.rows].tolist()
    assert named == [list(row.values()) for row in ROWS]
    assert reading.notes == notes


@pytest.mark.parametrize("data", [PEOPLE, {"sessions": PEOPLE}])
def test_participants_have_records_of_their_own(tmp_path, data):
    triplets = read(tmp_path, data).triplets
    assert triplets.participant_labels[triplets.participant].tolist() == ["p1", "p1", "p2"]


def test_objects_that_name_nobody_stand_for_participants(tmp_path):
    triplets = read(tmp_path, [{"trials": ROWS[:2]}, {"trials": ROWS[2:]}]).triplets
    assert triplets.participant_labels[triplets.participant].tolist() == [1, 1, 2]


def test_fields_within_others_are_told_apart(tmp_path):
    rows = [{"response": None, "trial": row, "extra": {"near": 1}} for row in ROWS]
    (tmp_path / "data.json").write_text(json.dumps(rows))
    columns = {"anchor": "anchor", "near": "trial.near", "far": "far"}
    assert len(readers.read(tmp_path / "data.json", columns=columns).triplets) == 3


def test_a_trial_may_have_records_of_its_own(tmp_path):
    rows = [{**row, "mouse": [{"x": 1, "y": 2}]} for row in ROWS]
    assert len(read(tmp_path, rows).triplets) == 3


def test_several_lists_are_not_chosen_from(tmp_path):
    with pytest.raises(readers.ReadError, match=r"records under \['p1', 'p2'\]; put those"):
        read(tmp_path, {"p1": ROWS, "p2": ROWS})
