"""The one door: every kind of input through every function that takes triplets, labels kept."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from test_cli import run  # noqa: F401

import ordinate
from ordinate import (
    LOE,
    STE,
    TripletKFold,
    Triplets,
    as_triplets,
    metrics,
    ondisk,
    readers,
    sample_points,
    sample_triplets,
    triplet_error,
)
from ordinate.files.inputs import open_source
from ordinate.files.maps import read_map

# Of a folder it is told that its files are participants.
pytestmark = pytest.mark.filterwarnings("ignore:.*/people. no column names participants")
N_ITEMS = 12
LABELS = [f"item {letter}" for letter in "abcdefghijkl"]


@pytest.fixture(scope="module")
def named():
    """Triplets with labels, in the order of their anchors, as the fast layout has them."""
    drawn = sample_triplets(sample_points(N_ITEMS, 2, random_state=0), 900, random_state=1)
    rows = drawn.rows[np.argsort(drawn.rows[:, 0], kind="stable")]
    return Triplets(rows, items=LABELS)


def _responses(named, folder):
    """Another layout: two items shown in the order of their names, and the nearer of them."""
    names = named.items[named.rows]
    table = pa.table(
        {
            "anchor": names[:, 0],
            "first": names[:, 1:].min(axis=1),
            "second": names[:, 1:].max(axis=1),
            "winner": names[:, 1],
        }
    )
    csv.write_csv(table, folder / "responses.csv")
    return folder / "responses.csv"


def _folder(named, folder):
    table = named.to_arrow()
    (folder / "people").mkdir()
    csv.write_csv(table.slice(0, 400), folder / "people" / "p1.csv")
    csv.write_csv(table.slice(400), folder / "people" / "p2.csv")
    return folder / "people"


def _file(name, write):
    def make(named, folder):
        write(named, folder / name)
        return folder / name

    return make


def _handle(make):
    return lambda named, folder: ordinate.open_triplets(make(named, folder))


def _write_csv(named, path):
    csv.write_csv(named.to_arrow(), path)


def _write_fast(named, path):
    ondisk.write([named], path)


PATHS = {
    "CSV": _file("answers.csv", _write_csv),
    "Parquet": _file("answers.parquet", lambda t, path: parquet.write_table(t.to_arrow(), path)),
    "Feather": _file("answers.feather", lambda t, p: feather.write_feather(t.to_arrow(), str(p))),
    "responses": _responses,
    "folder": _folder,
    "fast folder": _file("fast", _write_fast),
    "fast Parquet": _file("fast.parquet", _write_fast),
}
LABELLED = {
    "Triplets": lambda named, _: named,
    "pandas": lambda named, _: named.to_arrow().to_pandas(),
    "polars": lambda named, _: pytest.importorskip("polars").from_arrow(named.to_arrow()),
    "Arrow table": lambda named, _: named.to_arrow(),
    **PATHS,
    "text of a path": lambda named, folder: str(PATHS["CSV"](named, folder)),
    "handle of CSV": _handle(PATHS["CSV"]),
    "handle of Feather": _handle(PATHS["Feather"]),
    "handle of fast folder": _handle(PATHS["fast folder"]),
}
OF_IDS = {
    "array": lambda named, _: named.rows,
    "list": lambda named, _: named.rows.tolist(),
    "npy": _file("rows.npy", lambda named, path: np.save(path, named.rows)),
}
KINDS = {**LABELLED, **OF_IDS}


@pytest.fixture(scope="module")
def model(named):
    return STE(n_init=1, random_state=0).fit(named)


@pytest.fixture(params=KINDS)
def data(request, named, tmp_path):
    """Each kind of input, and the labels of its items."""
    labels = list(range(N_ITEMS)) if request.param in OF_IDS else LABELS
    return KINDS[request.param](named, tmp_path), labels


def test_every_kind_becomes_the_same_triplets(data, named):
    given, labels = data
    found = as_triplets(given)
    assert found.items.tolist() == labels
    assert found.rows.tolist() == named.rows.tolist()
    assert as_triplets(given, n_items=N_ITEMS).items.tolist() == labels
    source = open_source(given)
    assert source.triplets.items.tolist() == labels
    assert (source.n_rows, source.n_used, source.stored) == (900, 900, None)
    with pytest.raises(ValueError, match=f"{N_ITEMS - 1}|11"):
        as_triplets(given, n_items=N_ITEMS - 1)


@pytest.mark.parametrize("estimator", [STE(n_init=1, random_state=0), LOE()], ids=["STE", "LOE"])
def test_every_kind_gives_the_same_map(estimator, data, named):
    given, labels = data
    known = estimator.fit(named).embedding_
    fitted = estimator.fit(given)
    assert fitted.items_.tolist() == labels
    assert fitted.embedding_.tolist() == known.tolist()


def test_every_kind_is_judged_alike(data, named, model):
    given, _ = data
    assert model.score(given) == model.score(named)
    assert model.predict(given).tolist() == model.predict(named).tolist()
    points = model.embedding_
    assert triplet_error(points, given) == triplet_error(points, named)
    assert metrics.accuracy(points, given) == metrics.accuracy(points, named)


def test_every_kind_is_split_alike(data, named):
    given, _ = data
    known = TripletKFold(3, random_state=0).split(named)
    for ours, theirs in zip(TripletKFold(3, random_state=0).split(given), known, strict=True):
        assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]


@pytest.mark.parametrize("kind", PATHS)
def test_every_file_is_read_alike(kind, named, tmp_path):
    found = readers.read(PATHS[kind](named, tmp_path)).triplets
    assert found.items.tolist() == LABELS
    assert found.rows.tolist() == named.rows.tolist()


@pytest.mark.parametrize("kind", ["CSV", "Parquet", "Feather", "fast folder", "fast Parquet"])
@pytest.mark.parametrize("target", ["new", "new.parquet"])
def test_every_file_that_streams_is_converted_alike(kind, target, named, tmp_path):
    ondisk.convert(PATHS[kind](named, tmp_path), tmp_path / target)
    found = as_triplets(tmp_path / target)
    assert found.items.tolist() == LABELS
    assert found.rows.tolist() == named.rows.tolist()


@pytest.mark.parametrize("kind", PATHS)
def test_every_file_goes_through_the_commands(kind, named, model, run, tmp_path):  # noqa: F811
    path = PATHS[kind](named, tmp_path)
    checked = json.loads(run("check", path, "--json").output)
    known = named.summarise().as_dict()
    own = {"n_participants", "rows_per_participant", "n_answers"}
    for name in known.keys() - own:
        assert checked["data"][name] == json.loads(json.dumps(known[name])), name
    for target, options in (("plain.csv", []), ("quick", ["--fast"])):
        run("convert", path, "-o", target, *options)
        assert as_triplets(target).rows.tolist() == named.rows.tolist()
        assert as_triplets(target).items.tolist() == LABELS
    model.save("map")
    scored = json.loads(run("score", "map/embedding.csv", path, "--json").output)
    assert scored["accuracy"] == pytest.approx(model.score(named))


@pytest.mark.parametrize("kind", ["CSV", "folder", "fast folder"])
def test_every_file_is_fitted_alike(kind, named, run, tmp_path):  # noqa: F811
    run("fit", PATHS[kind](named, tmp_path), "-o", "map", "--method", "loe", "--folds", 0, "-q")
    found = read_map(Path("map/embedding.csv"))
    assert list(found.labels) == LABELS
    assert found.points == pytest.approx(LOE().fit(named).embedding_, abs=1e-6)


# What is too large


def test_a_file_larger_than_memory_is_streamed_or_refused_but_never_cut(named, tmp_path):
    people = Triplets(named.rows, items=LABELS, participant=np.arange(900) % 3)
    path = PATHS["CSV"](people, tmp_path)
    streamed = open_source(path, memory_limit="20kB")
    assert (streamed.layout, streamed.stored.path) == ("plain", path)
    assert "too many triplets for the memory limit: 14.1 KiB of" in streamed.notes[-1]
    assert streamed.triplets.load().participant.tolist() == people.participant.tolist()
    with pytest.raises(MemoryError, match="900 rows, too many for a memory limit of 19.5 KiB"):
        open_source(path, memory_limit="20kB", stream=False)
    # Its triplets fit into memory, but not the file: it is read in blocks, and means the same.
    for stream in (True, False):
        loaded = open_source(path, memory_limit="60kB", stream=stream)
        assert loaded.triplets.participant.tolist() == people.participant.tolist()
        assert loaded.sha256 == open_source(path).sha256
    handle = ordinate.open_triplets(path, memory_limit=900 * 16 - 1)
    with pytest.raises(MemoryError, match="memory_limit='1MiB', or take fewer rows; most fits"):
        as_triplets(handle)
    assert len(as_triplets(ordinate.open_triplets(path, memory_limit=900 * 16))) == 900


def test_a_file_larger_than_memory_is_checked_as_it_is_opened(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("anchor,near,far\n" + "a,b,c\n" * 100 + "a,b,\n")
    with pytest.raises(readers.ReadError, match=r"bad\.csv, line 102: an item has no name"):
        open_source(path, memory_limit="1kB")
    np.save(tmp_path / "bad.npy", np.tile([[0, 1, -2]], (100, 1)))
    path = tmp_path / "bad.npy"
    with pytest.raises(readers.ReadError, match=r"bad\.npy: .* positions from 0, but one is -2"):
        open_source(path, memory_limit="1kB")


def test_options_of_reading_apply_to_files_that_are_read(named, tmp_path):
    with pytest.raises(ValueError, match="are no file: layout, odd cannot apply to it"):
        open_source(named, layout="plain", odd="last")
    path = PATHS["fast folder"](named, tmp_path)
    with pytest.raises(ValueError, match="in the fast layout.*drop cannot apply"):
        open_source(path, memory_limit="20kB", drop="repeated")
    path = PATHS["CSV"](named, tmp_path)
    for limit in (None, "20kB"):
        assert open_source(path, memory_limit=limit, drop="repeated").layout == "plain"


def test_a_limit_that_is_none_is_refused_for_every_file(named, tmp_path):
    for make in PATHS.values():
        with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
            open_source(make(named, tmp_path), memory_limit="lots")
        for made in tmp_path.glob("*"):
            if made.is_dir():
                made.rename(tmp_path.parent / f"{tmp_path.name}-{made.name}")


def test_notes_become_one_warning(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("kept_a,kept_b,odd_one_out\ncat,lynx,cod\ncod,eel,NA\n")
    with pytest.warns(UserWarning, match=r"answers\.csv: 1 of 2 rows dropped"):
        assert len(as_triplets(path)) == 2


def test_ids_of_a_file_are_not_cut_short(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("anchor,near,far\n0,2,5\n5,2,0\n")
    assert as_triplets(path).items.tolist() == [0, 2, 5]
    assert as_triplets(path, n_items=7).n_items == 7
    path.write_text("anchor,near,far\n1,2,5\n5,2,1\n")
    with pytest.raises(ValueError, match="n_items is 7, but .* names 3 items"):
        as_triplets(path, n_items=7)


# No work twice


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of what takes time."""
    counted = Counter()

    def count(place, name):
        function = getattr(place, name)

        def call(*args, **kwargs):
            counted[name] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(place, name, call)

    from ordinate.data import triplets
    from ordinate.files import inputs
    from ordinate.files.formats import files as _files

    for place, name in (
        (_files, "load"),
        (inputs, "open_blocks"),
        (inputs, "read"),
        (triplets, "questions"),
        (triplets, "agreement"),
        (triplets, "summarise"),
        (triplets, "group_by_anchor"),
    ):
        count(place, name)
    return counted


@pytest.mark.parametrize("kind", ["CSV", "Parquet"])
def test_no_work_is_done_twice(kind, named, run, tmp_path, calls):  # noqa: F811
    path = PATHS[kind](named, tmp_path)
    once = {"load": 1, "open_blocks": 1, "read": 1, "questions": 1, "agreement": 1, "summarise": 1}
    run("check", path)
    assert calls == once
    calls.clear()
    run("fit", path, "-o", "map", "--method", "loe", "--folds", 0, "-q")
    assert calls == {**once, "group_by_anchor": 1}
