"""What a new user met: sentences that were wrong or misleading."""

import numpy as np
import pytest
from pyarrow.csv import write_csv
from typer.testing import CliRunner

from ordinate import STE, Triplets, compare, compare_groups, load, sample_points, sample_triplets
from ordinate.cli import app


def test_a_plan_tells_nothing_of_fewer_answers_than_were_simulated(tmp_path):
    items = tmp_path / "items.txt"
    items.write_text("\n".join("abcdef"))
    plan = ["plan", str(items), "-d", "1", "--error"]
    table = CliRunner().invoke(app, [*plan, "0.01"]).stdout.splitlines()
    assert ", half as many one of " in table[0]
    assert " in 1 dimension with " in table[0]
    most, next_most = (float(line.split()[1]) for line in table[3:5])
    told = CliRunner().invoke(app, [*plan, str((most + next_most) / 2)]).stdout
    assert "half as many were not simulated" in told


@pytest.mark.parametrize("output", ["one", "other", "."])
def test_a_comparison_never_replaces_the_maps_that_it_compares(tmp_path, output):
    maps = tmp_path / "one", tmp_path / "other"
    model = STE(random_state=0).fit(sample_triplets(sample_points(6), 200, random_state=0))
    for folder in maps:
        model.save(folder)
    result = CliRunner().invoke(
        app, ["compare", *map(str, maps), "-o", str(tmp_path / output), "--force"]
    )
    assert result.exit_code == 4
    assert "which is needed: name another" in result.stderr
    assert all((folder / "model.json").exists() for folder in maps)


@pytest.mark.parametrize("n_shared", [10, 2])
def test_groups_asked_about_other_items_do_not_differ_for_that(n_shared):
    points = 2 * sample_points(26, random_state=0)
    asked = [np.arange(13 + n_shared // 2), np.arange(13 - n_shared // 2, 26)]
    rows = [
        items[sample_triplets(points[items], 1500, random_state=k).rows]
        for k, items in enumerate(asked)
    ]
    triplets = Triplets(np.concatenate(rows), n_items=26)
    found = compare_groups(STE(2, random_state=0), triplets, np.repeat(["one", "other"], 1500))
    assert found.differ is False


@pytest.fixture
def by_one(tmp_path):
    """A file of answers by one participant."""
    rows = sample_triplets(2 * sample_points(8, random_state=0), 400, random_state=0).rows
    triplets = Triplets(rows, items=list("abcdefgh"), participant=["P1"] * 400)
    write_csv(triplets.to_arrow(), tmp_path / "one.csv")
    return tmp_path / "one.csv"


def test_halves_of_something_need_a_number_of_splits(by_one):
    result = CliRunner().invoke(app, ["fit", str(by_one), "--halves-by", "participant"])
    assert result.exit_code == 2
    assert "--halves-by participant goes with --halves" in result.stderr


def test_one_participant_is_no_plural(by_one):
    words = ["--method", "ste", "--folds", "2", "--exclude-chance"]
    result = CliRunner().invoke(app, ["fit", str(by_one), *words])
    assert "\n1 participant: 1 better than chance" in result.stdout


def test_a_whole_map_and_one_item_less(tmp_path):
    rows = sample_triplets(2 * sample_points(8, random_state=0), 2000, random_state=0).rows
    about_last = (rows == 7).any(axis=1)
    STE(random_state=0).fit(Triplets(rows[~about_last], items=list("abcdefg"))).save(tmp_path / "m")
    new = Triplets(rows[about_last], items=list("abcdefgh"))
    write_csv(new.to_arrow(), tmp_path / "new.csv")
    m, file, more = (str(tmp_path / name) for name in ("m", "new.csv", "more"))
    placed = CliRunner().invoke(app, ["place", m, file, "--append", "-o", more])
    assert "embedding.svg, covariance.npy, model.json" in placed.stdout
    compared = CliRunner().invoke(app, ["compare", m, more, "-o", str(tmp_path / "c")])
    assert "note: 1 item is placed by more alone, and left out: h" in compared.stderr


def test_a_comparison_of_doubtful_maps_says_so():
    points = 2 * sample_points(10, random_state=0)
    models = [STE(random_state=0).fit(sample_triplets(points, 150, random_state=k)) for k in (0, 1)]
    with pytest.warns(UserWarning, match=r"be trusted: of the \w+ map, there are 7\.5 answers"):
        compare(*models)


def test_covariances_of_a_table_that_was_sorted_are_not_taken_for_other_items(tmp_path):
    rows = sample_triplets(sample_points(8, random_state=0), 1000, random_state=0).rows
    STE(random_state=0).fit(Triplets(rows, items=list("abcdefgh"))).save(tmp_path / "map")
    table = tmp_path / "map" / "embedding.csv"
    header, *lines = table.read_text().splitlines()
    table.write_text("\n".join([header, *reversed(lines)]) + "\n")
    with pytest.warns(UserWarning, match="the covariance is not used"):
        model = load(tmp_path / "map")
    assert model.items_.tolist() == list("hgfedcba")
    assert not hasattr(model, "covariance_")
