"""Maps of very many items: tables in parts, read by all that reads maps."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import ordinate
from ordinate import LOE, STE, Triplets, ondisk, plot_map, sample_points, sample_triplets
from ordinate.cli import app
from ordinate.estimators import loe
from ordinate.files import maps
from ordinate.files.maps import read_map, write_map, write_table
from ordinate.study import run_folder

N = 250
POINTS = sample_points(N, 2, random_state=0)
TRIPLETS = sample_triplets(POINTS, 40_000, design="landmarks", landmarks=8, random_state=1)
LABELS = np.array([f"=item {i:03}" for i in range(N)], object)


@pytest.fixture(autouse=True)
def many(monkeypatch, request):
    """A hundred items are many."""
    for module, name in ((maps, "MANY"), (run_folder, "MANY"), (loe, "MANY_ITEMS")):
        monkeypatch.setattr(module, name, getattr(request, "param", 100))


def test_a_map_in_parts_is_read_as_it_was(tmp_path):
    columns = {"triplets": np.arange(N), "kind": ["=a", None] * (N // 2)}
    points = POINTS.copy()
    points[7] = np.nan
    for labels in (LABELS, np.arange(N) + 5):
        path = tmp_path / "embedding.parquet"
        write_map(path, labels, points, columns, defuse=True)
        found = read_map(path)
        assert found.labels == [str(label) for label in labels]
        assert np.array_equal(found.points, points, equal_nan=True)
        assert found.columns == {"triplets": list(range(N)), "kind": ["=a", None] * (N // 2)}
        table = pq.read_table(path)  # as others read it
        assert table.column_names == ["label", "dim1", "dim2", "triplets", "kind"]
        assert table["label"].to_pylist() == labels.tolist()
    assert sorted(part.name for part in path.glob("*.parquet")) == [
        f"part-000{k}.parquet" for k in range(3)
    ]


def test_bad_parts_are_refused(tmp_path):
    path = tmp_path / "embedding.parquet"
    with pytest.raises(ValueError, match="there is no such file"):
        read_map(path)
    write_map(path, LABELS, POINTS, {})
    shutil.copy(path / "part-0000.parquet", path / "part-0003.parquet")
    with pytest.raises(ValueError, match="occur more than once"):
        read_map(path)
    (path / "part-0003.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(ValueError, match="is not a map: part-0003.parquet"):
        read_map(path)
    for part in path.iterdir():
        part.unlink()
    with pytest.raises(ValueError, match="there is no such file"):
        read_map(path)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_items_of_a_part_that_is_gone_are_missed(tmp_path, part):
    path = tmp_path / "embedding.parquet"
    write_map(path, LABELS, POINTS, {})
    (path / f"part-000{part}.parquet").unlink()
    with pytest.raises(ValueError, match=f"lacks part-000{part}.parquet"):
        read_map(path)


@pytest.mark.parametrize("many", [100, 1000], indirect=True)
def test_folders_of_results_have_any_name(tmp_path, many):
    model = LOE().fit(TRIPLETS)
    model.save(tmp_path / "saved.parquet")
    again = ordinate.load(tmp_path / "saved.parquet")
    assert np.allclose(again.embedding_, model.embedding_)


def test_two_maps_in_one_folder_are_not_chosen_between(tmp_path):
    STE(random_state=0).fit(TRIPLETS).save(tmp_path / "both")
    write_map(tmp_path / "both" / "embedding.csv", LABELS, POINTS, {})
    with pytest.raises(ValueError, match="has two maps, embedding.csv and embedding.parquet"):
        ordinate.load(tmp_path / "both")


def test_models_of_many_items_are_saved_and_loaded(tmp_path):
    model = LOE().fit(TRIPLETS)
    model.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "embedding.parquet" / "part-0002.parquet").exists()
    assert not (tmp_path / "saved" / "embedding.csv").exists()
    again = ordinate.load(tmp_path / "saved")
    assert np.array_equal(again.embedding_, model.embedding_)
    assert np.array_equal(again.covariance_, model.covariance_)
    assert ordinate.compare(tmp_path / "saved", model).error == pytest.approx(0, abs=1e-9)
    model.save(tmp_path / "saved", force=True)
    (tmp_path / "saved" / "embedding.parquet" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="mine.txt"):
        model.save(tmp_path / "saved", force=True)


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_commands_take_maps_in_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ondisk.write([TRIPLETS], "set.parquet")
    done = run("fit", "set.parquet", "--method", "loe", "-o", "map", "--folds", 0)
    assert done.exit_code == 0, done.output
    assert "a report shows each item, up to 100: there is none of 250" in done.stderr
    assert "embedding.parquet" in done.stdout
    left = {path.name for path in (tmp_path / "map").iterdir()}
    assert {"embedding.parquet", "embedding.png", "model.json", "run.json"} <= left
    assert not left & {"embedding.csv", "report.html"}
    for where in ("map", "map/embedding.parquet"):
        done = run("plot", where, "-o", "figure.png", "--force")
        assert done.exit_code == 0, done.output
        done = run("score", where, "set.parquet", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["same_file"] is True
    done = run("compare", "map", "map/embedding.parquet", "-o", "compared")
    assert done.exit_code == 0, done.output


def test_places_on_maps_in_parts_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    STE(random_state=0, tol=0.1).fit(TRIPLETS[:5000]).save("map")
    rows = "".join(f"new,{i},{i + 1}\n" for i in range(20))
    (tmp_path / "new.csv").write_text(f"anchor,near,far\n{rows}")
    done = run("place", "map", "new.csv", "-o", "placed", "--append")
    assert done.exit_code == 0, done.output
    assert "placed/: embedding.parquet, " in done.stdout
    assert read_map(tmp_path / "placed" / "embedding.parquet").labels[-1] == "new"


def test_scores_on_a_cluster_are_not_brought_for_a_map_of_many_items(tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    import dask.array as da
    from test_cluster import SEPARATE

    with (
        distributed.LocalCluster(n_workers=1, silence_logs=50, **SEPARATE) as cluster,
        distributed.Client(cluster),
    ):
        model = LOE().fit(da.from_array(TRIPLETS.rows, chunks=(10_000, 3)))
        with pytest.warns(UserWarning, match="bring the scores of all items here"):
            model.save(tmp_path / "saved")
        assert not hasattr(model._scores, "scores")
        assert not (tmp_path / "saved" / "covariance.npy").exists()
        assert model.covariance_.shape == (N, 2, 2)  # asked for
        model.save(tmp_path / "saved", force=True)
    assert (tmp_path / "saved" / "covariance.npy").exists()
    assert np.array_equal(ordinate.load(tmp_path / "saved").embedding_, model.embedding_)


def test_some_of_many_items_are_drawn_as_they_should_look(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("answers.csv", Triplets(TRIPLETS.rows, items=LABELS).to_arrow())
    rows = [f"{label},{i % 2},name {i}" for i, label in enumerate(LABELS)]
    Path("items.csv").write_text("\n".join(["label,kind,title", *rows]))
    drawn = []

    def spy(*arguments, **options):
        drawn.append((arguments, options))
        return plot_map(*arguments, **options)

    monkeypatch.setattr(run_folder, "plot_map", spy)
    looks = ("--items", "items.csv", "--colour", "kind", "--name", "title")
    result = run("fit", "answers.csv", "-o", "map", "--method", "loe", "--folds", 0, *looks)
    assert result.exit_code == 0, result.output
    (((points, labels), options),) = drawn
    assert len(points) == len(labels) == 84
    assert options["names"] == [f"name {i}" for i in range(0, N, 3)]
    assert options["colour"] == [i % 2 for i in range(0, N, 3)]
    assert options["caption"].endswith("Shown: one item in 3.")
