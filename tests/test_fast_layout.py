"""Layout 2 of the fast layout: what it keeps, and that nothing in it changes unnoticed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from ordinate import STE, TripletKFold, Triplets, as_triplets, metrics, ondisk, readers
from ordinate.files.ondisk import grouped, layout, writing
from ordinate.files.ondisk.layout import sealed

LAYOUT_1 = Path(__file__).parent / "fixtures" / "layout_1"
TARGETS = ["folder", "file.parquet"]
ITEMS = ["ant ä", "bee", "cat", "dog", "eel"]


@pytest.fixture
def short_stretches(monkeypatch):
    """Several stretches from few rows."""
    for module in (grouped, writing):
        monkeypatch.setattr(module, "STRETCH", 8)
    monkeypatch.setattr(writing, "LONG", 4)


def answered(n_answers=10, seed=0):
    """Odd-one-out answers by some participants: two rows each, whose anchors differ."""
    rng = np.random.default_rng(seed)
    a, b, odd = np.array([rng.permutation(len(ITEMS))[:3] for _ in range(n_answers)]).T
    answers = rng.permutation(n_answers)
    return Triplets(
        np.stack([[a, b, odd], [b, a, odd]], axis=1).transpose(2, 1, 0).reshape(-1, 3),
        items=ITEMS,
        answer=answers.repeat(2),
        participant=np.array(["Zoë", "ben", "Al"])[answers % 3].repeat(2),
        weight=1 + answers.repeat(2) / 4,
    )


def same(found, expected):
    """Whether two tables say the same, in the order of their anchors."""
    found, expected = found.grouped().triplets, expected.grouped().triplets
    names = [t.participant_labels[t.participant].tolist() for t in (found, expected)]
    return (
        found.items.tolist() == expected.items.tolist()
        and found.rows.tolist() == expected.rows.tolist()
        and found.answer.tolist() == expected.answer.tolist()
        and found.weight.tolist() == expected.weight.tolist()
        and names[0] == names[1]
    )


# What is kept


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("size", [3, 100])
def test_answers_participants_and_weights_are_kept(
    target, ordered, size, tmp_path, short_stretches
):
    table = answered(40)
    if ordered:
        table = table.grouped().triplets
    pieces = (table[at : at + size] for at in range(0, len(table), size))
    ondisk.write(pieces, tmp_path / target, memory_limit=2000)
    assert same(ondisk.open_triplets(tmp_path / target).load(), table)
    ondisk.convert(tmp_path / target, tmp_path / "again")
    assert same(as_triplets(tmp_path / "again"), table)
    assert same(readers.read(tmp_path / "again").triplets, table)


def test_answers_of_different_tables_stay_apart(tmp_path):
    first, second = answered(10), answered(8, seed=1)
    ondisk.write([first[:7], first[7:], second], tmp_path / "x")
    expected = Triplets.concatenate([first, second])
    assert same(as_triplets(tmp_path / "x"), expected)
    with pytest.raises(ValueError, match="all or none with weights, answers and participants"):
        ondisk.write([first, Triplets(first.rows, items=ITEMS)], tmp_path / "y")


@pytest.mark.parametrize("target", TARGETS)
def test_folders_mean_what_their_source_means(target, tmp_path):
    table = answered(300).grouped().triplets
    csv.write_csv(table.to_arrow(), tmp_path / "x.csv")
    ondisk.write([readers.read(tmp_path / "x.csv").triplets], tmp_path / target)
    known, found = tmp_path / "x.csv", tmp_path / target
    for by in ("answer", "participant"):
        folds = TripletKFold(3, by=by, random_state=0)
        for ours, theirs in zip(folds.split(found), folds.split(known), strict=True):
            assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]
    model = STE(n_init=1, random_state=0)
    points = model.fit(known).embedding_
    assert (model.fit(found).embedding_ == points).all()
    assert metrics.accuracy(points, found) == metrics.accuracy(points, known)


@pytest.mark.parametrize("label", [1.5, "007", True, 2**70])
def test_labels_come_back_as_they_were(label, tmp_path):
    ondisk.write([Triplets([[0, 1, 2]], items=["a", label, "c"])], tmp_path / "x")
    found = ondisk.open_triplets(tmp_path / "x").items.tolist()
    assert found == ["a", label, "c"]
    assert type(found[1]) is type(label)


@pytest.mark.parametrize("label", [("a", 1), b"a", np.datetime64("2020-01-01").item()])
def test_labels_that_would_change_are_refused(label, tmp_path):
    for given in (
        Triplets([[0, 1, 2]], items=[label, "b", "c"]),
        Triplets([[0, 1, 2], [1, 0, 2]], participant=["a", label]),
    ):
        with pytest.raises(ValueError, match="labels that are texts or numbers.*into texts first"):
            ondisk.write([given], tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["weighted", "weighted.parquet", "ids"])
def test_layout_1_is_still_read(name, tmp_path):
    opened = ondisk.open_triplets(LAYOUT_1 / name)
    found = opened.load()
    table = readers.read(LAYOUT_1 / "source.csv").triplets.to_arrow()
    labels = ondisk.open_triplets(LAYOUT_1 / "weighted").items
    source = Triplets.from_frame(table, items=labels).grouped().triplets
    assert found.rows.tolist() == source.rows.tolist()
    if name == "ids":
        assert found.weight is None
        assert found.items.tolist() == list(range(9))
    else:
        assert found.weight.tolist() == source.weight.tolist()
        assert found.items.tolist() == source.items.tolist()
    ondisk.convert(opened, tmp_path / "2")
    assert as_triplets(tmp_path / "2").rows.tolist() == found.rows.tolist()
    assert ondisk.open_triplets(tmp_path / "2").file.about.version == 2


# What may go wrong


def read(path):
    return ondisk.open_triplets(path).load()


@pytest.fixture
def folder(tmp_path, short_stretches):
    ondisk.write([answered(8)], tmp_path / "folder")
    return tmp_path / "folder"


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_every_flipped_byte_of_a_folder_is_noticed(folder, mask):
    known = answered(8)
    assert same(read(folder), known)
    names = ("about.json", "pairs.npy", "starts.npy", "weight.npy", "answer.npy", "participant.npy")
    assert {path.name for path in folder.iterdir()} == {*names, ".ordinate"}
    for name in names:
        content = (folder / name).read_bytes()
        for at in range(len(content)):
            flipped = bytearray(content)
            flipped[at] ^= mask
            (folder / name).write_bytes(flipped)
            with pytest.raises(readers.ReadError, match=r"corrupt|not what ordinate wrote"):
                read(folder)
        (folder / name).write_bytes(content)
    # Who may replace the folder has no part in what it holds.
    (folder / ".ordinate").write_bytes(b"\xff")
    assert same(read(folder), known)


def test_every_flipped_byte_of_a_parquet_file_is_noticed_or_changes_nothing(tmp_path):
    """Of the columns, the anchors are not read: they follow from the numbers of rows."""
    path, known = tmp_path / "x.parquet", answered(4)
    ondisk.write([known], path)
    content = path.read_bytes()
    noticed = 0
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 0xFF
        path.write_bytes(flipped)
        try:
            assert same(read(path), known), at
        except readers.ReadError:  # also if it is no longer seen to be ours, but a broken Parquet
            noticed += 1
    assert noticed > len(content) / 4


def test_truncated_missing_and_foreign_files_are_noticed(folder, tmp_path):
    ondisk.write([answered(8, seed=1)], tmp_path / "other")
    names = sorted(path.name for path in folder.iterdir() if path.name != ".ordinate")
    for name in names:
        content = (folder / name).read_bytes()
        for kept in (content[:-1], content[:100], b"", content + b"\0", content + content):
            (folder / name).write_bytes(kept)
            with pytest.raises(readers.ReadError, match="truncated or corrupt|ends after"):
                read(folder)
        (folder / name).unlink()
        with pytest.raises(readers.ReadError, match=f"incomplete: {name} is missing"):
            read(folder)
        shutil.copy(tmp_path / "other" / name, folder / name)
        with pytest.raises(readers.ReadError, match="corrupt"):
            read(folder)
        for other in set(names) - {name}:
            swapped = (folder / other).read_bytes()
            (folder / name).write_bytes(swapped)
            (folder / other).write_bytes(content)
            with pytest.raises(readers.ReadError, match="corrupt"):
                read(folder)
            (folder / other).write_bytes(swapped)
        (folder / name).write_bytes(content)
    assert same(read(folder), answered(8))


def test_an_array_that_the_folder_does_not_speak_of_is_noticed(tmp_path):
    ondisk.write([Triplets([[0, 1, 2]], n_items=3)], tmp_path / "x")
    np.save(tmp_path / "x" / "weight.npy", np.ones(1))
    with pytest.raises(
        readers.ReadError, match=r"weight.npy is there, but about.json does not mention it"
    ):
        read(tmp_path / "x")
    (tmp_path / "x" / "weight.npy").rename(tmp_path / "x" / "notes.npy")
    assert len(read(tmp_path / "x")) == 1


def reseal(folder, **changes):
    """Write a description that fits its checksum, but not the folder; None takes an entry out."""
    path = folder / "about.json"
    about = json.loads(path.read_bytes()) | changes
    del about["checksum"]
    kept = {name: value for name, value in about.items() if value != "none of it"}
    path.write_bytes(sealed(json.dumps(kept).encode().removesuffix(b"}")))


WRONG = [None, True, -1, 1.5, "text", [], [1], {}, {"a": 1}, [[1]], 10**30]


@pytest.mark.parametrize("name", layout.KINDS)
def test_descriptions_that_cannot_be_are_refused(folder, name):
    content = (folder / "about.json").read_bytes()
    was = json.loads(content)[name]
    reseal(folder, **{name: "none of it"})
    with pytest.raises(readers.ReadError, match=f"its description lacks '{name}'"):
        read(folder)
    for value in WRONG:
        (folder / "about.json").write_bytes(content)
        reseal(folder, **{name: value})
        if value == was or (name, value) == ("labels", None):
            read(folder)
            continue
        with pytest.raises((OSError, ValueError), match="descri|corrupt|checksum|participants"):
            read(folder)


def test_layouts_to_come_are_refused(folder):
    assert json.loads((folder / "about.json").read_bytes())["order"] == "anchor"
    for changes, what in (
        (
            {"version": 3},
            "in layout 3, ordered by 'anchor', and this version knows layouts 1 and 2",
        ),
        ({"version": 2, "order": "far"}, "ordered by 'far', .* by 'anchor' or 'answer': install"),
        ({"order": "answer"}, "its description says of 'types' what cannot be"),
    ):
        reseal(folder, **changes)
        with pytest.raises(readers.ReadError, match=what):
            read(folder)


def test_participants_beyond_their_labels_are_refused(tmp_path):
    rows = {"participant": np.array([0, 2])}
    whole = writing.Whole(3, None, ("participant",), ["a", "b"])
    writing.write_grouped(tmp_path / "x", [(np.array([[0, 1, 2], [1, 0, 2]]), rows)], whole)
    with pytest.raises(ValueError, match="participants that it does not know"):
        read(tmp_path / "x")


@pytest.mark.parametrize("key", ["n_items", "labels", "weighted", "n_rows", "dtype", "bounds"])
def test_missing_entries_of_layout_1_are_named(key, tmp_path):
    shutil.copytree(LAYOUT_1 / "weighted", tmp_path / "x")
    about = json.loads((tmp_path / "x" / "about.json").read_text())
    for value in ("gone", {"a": "dict"}):
        changed = {**about, key: value}
        if value == "gone":
            del changed[key]
        (tmp_path / "x" / "about.json").write_text(json.dumps(changed))
        with pytest.raises(readers.ReadError, match=f"its description (lacks|has) '{key}'"):
            read(tmp_path / "x")


def test_a_copy_by_another_program_does_not_pass_for_the_original(tmp_path):
    ondisk.write([answered()], tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet").select(["anchor", "near", "far"])
    known = pq.read_metadata(tmp_path / "x.parquet").metadata
    for copied in (table.slice(0, 5), table):
        pq.write_table(copied.replace_schema_metadata(known), tmp_path / "y.parquet")
        with pytest.raises(readers.ReadError, match="leave out the metadata 'ordinate'"):
            read(tmp_path / "y.parquet")
    pq.write_table(table.replace_schema_metadata(), tmp_path / "y.parquet")
    assert len(read(tmp_path / "y.parquet")) == 20


@pytest.mark.parametrize("target", TARGETS)
def test_each_stretch_is_checked_once_and_before_it_is_used(
    target, tmp_path, short_stretches, monkeypatch
):
    """Also where blocks are smaller than stretches, of which each holds several."""
    table = answered(40)
    ondisk.write([table], tmp_path / target)
    opened = ondisk.open_triplets(tmp_path / target)
    taken = []
    crc = grouped.checksum
    monkeypatch.setattr(grouped, "checksum", lambda *arrays: taken.append(1) or crc(*arrays))
    n_stretches = len(opened.file.about.bounds) - 1
    assert n_stretches >= 10
    pairs = np.empty((1, 2), np.uint32)
    for _ in range(2):
        for start in range(len(opened)):
            opened.file.read(start, {"pairs": pairs})
            assert pairs[0].tolist() == table.grouped().triplets.rows[start, 1:].tolist()
    assert len(taken) == n_stretches
