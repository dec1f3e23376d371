"""Groups of answers: their column in every layout, their maps, and whether they differ."""

import csv
import json

import numpy as np
import pytest
from commands import plain
from pyarrow.csv import read_csv, write_csv
from test_readers import FIXTURES, FOLDER, named
from typer.testing import CliRunner

from ordinate import (
    SOE,
    STE,
    Triplets,
    compare_groups,
    load,
    readers,
    sample_points,
    sample_triplets,
)
from ordinate.cli import app
from ordinate.evaluation.group_gains import Gain
from ordinate.figures.grouping import MOST_GROUPS, plot_groups
from ordinate.files.inputs import open_source

STARTED = {"n_init": 1, "random_state": 0}


@pytest.fixture(scope="module")
def points():
    return sample_points(12, 2, random_state=0)


def two_groups(first, second, m=1200, seed=0):
    sets = [sample_triplets(p, m, random_state=seed + k) for k, p in enumerate((first, second))]
    return Triplets.concatenate(sets), np.repeat(["a", "b"], m)


def test_groups_of_one_population_do_not_differ(points):
    """Answers by chance sorted into groups: at most one alarm in twelve."""
    estimator = STE(2, init=points, **STARTED)
    alarms = []
    for seed in range(12):
        triplets, _ = two_groups(points, points, m=500, seed=10 * seed)
        whose = np.random.default_rng(seed).permutation(np.repeat(["a", "b"], 500))
        alarms.append(compare_groups(estimator, triplets, whose, folds=2, random_state=0).differ)
    assert sum(alarms) <= 1


def test_groups_that_differ_are_told_apart(points):
    away = points.copy()
    away[:3] = points[[1, 2, 0]]
    triplets, whose = two_groups(points, away)
    found = compare_groups(STE(2, init=points, **STARTED), triplets, whose)
    assert found.differ
    assert found.p_value <= 0.01
    assert "differ beyond chance" in found.sentence
    assert set(found.apart.tolist()) & {0, 1, 2}
    assert found.apart[0] in {0, 1, 2}
    assert [group.name for group in found.groups] == ["a", "b"]
    for group in found.groups:
        # A gain is the difference of the likelihoods that it is a gain of.
        assert group.over_common.mean == pytest.approx(group.own - group.common)
        assert group.n_answers == len(group.rows) == 1200
    # Two answers to two questions, which need not agree.
    better, worse = Gain(0.02, 0.001), Gain(-0.02, 0.001)
    assert (
        "; own maps predict unseen answers better than the common map does (+0.0200 ± 0.0010"
        in (found._replace(over_common=better).sentence)
    )
    assert "; own maps, which are of fewer answers, predict unseen answers no better than" in (
        found._replace(over_common=worse).sentence
    )
    assert "do not differ beyond chance (p = .50); own maps predict unseen answers no better" in (
        found._replace(over_common=worse, p_value=0.5).sentence
    )
    # The maps are of the group's own answers.
    own = [group.model.score(triplets[group.rows]) for group in found.groups]
    other = [
        group.model.score(triplets[rest.rows])
        for group, rest in zip(found.groups, found.groups[::-1], strict=True)
    ]
    assert min(own) > max(other)


def test_few_answers_and_no_group_are_told(points):
    triplets, whose = two_groups(points, points, m=300)
    whose = whose.astype(object)
    whose[:20], whose[20:30], whose[30:34] = "few", None, ["", np.nan, None, ""]
    estimator = STE(2, init=points, **STARTED)
    with pytest.warns(UserWarning, match="no group|no map") as caught:
        found = compare_groups(estimator, triplets, whose, folds=2)
    told = [str(each.message) for each in caught]
    assert any("14 of 600 triplets name no group" in text for text in told)
    assert any("few (20)" in text for text in told)
    assert found.skipped == {"few": 20}
    assert [row["group"] for row in found.table()] == ["a", "b", "few"]
    with pytest.raises(ValueError, match="no row names a group"):
        compare_groups(estimator, triplets, [None] * 600)
    with pytest.raises(ValueError, match="none of the 600 groups"):  # said once
        compare_groups(estimator, triplets, range(600))


def test_what_groups_may_be(points):
    triplets, whose = two_groups(points, points, m=300)
    estimator = STE(2, init=points, **STARTED)
    with pytest.raises(ValueError, match="who answered"):
        compare_groups(estimator, triplets)
    with pytest.raises(ValueError, match="readers.read"):
        compare_groups(estimator, triplets, "condition")
    with pytest.raises(ValueError, match="one value per row"):
        compare_groups(estimator, triplets, whose[:-1])
    with pytest.raises(ValueError, match="SOE gives no probabilities"):
        compare_groups(SOE(2), triplets, whose)
    named = Triplets(triplets.rows, participant=whose)
    found = compare_groups(estimator, named, folds=2)
    assert [group.name for group in found.groups] == ["a", "b"]


def test_people_are_held_out_as_a_whole(points):
    """What sets people apart, and not their groups, is no difference of groups."""
    generator = np.random.default_rng(0)
    sets, who = [], []
    for person in range(12):
        own = points + generator.normal(scale=0.5, size=points.shape)
        sets.append(sample_triplets(own, 150, random_state=person))
        who += [person] * 150
    rows = np.concatenate([each.rows for each in sets])
    triplets = Triplets(rows, participant=who)
    whose = np.where(np.array(who) < 6, "a", "b")
    estimator = STE(2, init=points, **STARTED)
    found = compare_groups(estimator, triplets, whose, folds=3)
    assert found.by == "participant"
    assert not found.differ
    assert "unseen participants" in found.sentence
    assert compare_groups(estimator, triplets, whose, folds=3, by="answer").by == "answer"
    # With few people, or people in both groups, answers are.
    crossed = np.where(np.arange(len(who)) % 2, "a", "b")
    assert compare_groups(estimator, triplets, crossed, folds=2).by == "answer"
    few = np.where(np.array(who) < 4, "a", "b")
    assert compare_groups(estimator, triplets, few, folds=2).by == "answer"
    # Two people are never held out together.
    two = compare_groups(estimator, triplets[:600], np.array(who[:600]) // 2, by="participant")
    assert len(two.groups) == 2
    with pytest.raises(ValueError, match="by='participant' needs at least two"):
        compare_groups(estimator, triplets, by="participant")


def test_groups_of_unequal_size_do_not_differ_by_that(points):
    triplets, whose = two_groups(points, points, m=600)
    whose = np.where(np.arange(1200) < 1000, "large", "small")
    found = compare_groups(STE(2, init=points, **STARTED), triplets, whose, folds=2)
    assert not found.differ
    assert not found.uneven


NAMED = [
    row
    for row in FIXTURES
    if row[0].endswith(".csv") and "," in (FOLDER / row[0]).read_text("utf-8").splitlines()[0]
]


def test_all_layouts_that_name_columns_are_here():
    assert {row[2] for row in NAMED} == {layout.name for layout in readers.LAYOUTS} - {"food100"}


@pytest.mark.parametrize(("name", "options", "layout", "rows", "notes"), NAMED)
def test_a_column_of_groups_comes_along_in_every_layout(
    name, options, layout, rows, notes, tmp_path
):
    """Each row names itself as its group: its triplets are about items in it, and no others."""
    header, *lines = csv.reader((FOLDER / name).read_text("utf-8").splitlines())
    cells = [line for line in lines if any(line)]
    path = tmp_path / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header, "cohort"])
        for k, line in enumerate(cells):
            writer.writerow([*line, f"{k}: {' '.join(line)}"])
    plain, found = readers.read(path, **options), readers.read(path, groups="cohort", **options)
    assert named(found.triplets) == named(plain.triplets) == rows
    for column in ("answer", "participant", "participant_labels", "weight"):
        one, other = getattr(plain.triplets, column), getattr(found.triplets, column)
        assert (one is None) == (other is None)
        assert one is None or one.tolist() == other.tolist()
    assert found.notes == plain.notes
    assert plain.groups is None
    assert len(found.groups) == len(found.triplets)
    assert len(set(found.groups)) == found.n_used
    for labels, group in zip(found.triplets.items[found.triplets.rows], found.groups, strict=True):
        assert all(str(label) in group for label in labels)


def test_columns_that_have_roles_and_people_may_be_groups(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,c,who,kind\nx,y,z,p,1\ny,x,z,q,\nz,x,y,p,2\n")
    roles = {"anchor": "a", "near": "b", "far": "c", "participant": "who"}
    for groups in ("who", "participant"):
        found = readers.read(path, columns=roles, groups=groups)
        assert found.groups.tolist() == ["p", "q", "p"]
    found = readers.read(path, columns=roles, groups="kind")
    assert [None if g is None else str(g) for g in found.groups] == ["1", None, "2"]
    with pytest.raises(readers.ReadError, match="no column 'age' for groups"):
        readers.read(path, columns=roles, groups="age")
    people = tmp_path / "people"
    people.mkdir()
    for person in "pq":
        (people / f"{person}.csv").write_text("anchor,near,far\nx,y,z\n")
    assert readers.read(people, groups="participant").groups.tolist() == ["p", "q"]


def test_groups_need_the_file_as_a_whole(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far,kind\n" + "x,y,z,k\n" * 5000)
    with pytest.raises(readers.ReadError, match="to be told apart by groups"):
        open_source(path, groups="kind", memory_limit="30kB")
    with pytest.raises(ValueError, match="no file: groups cannot apply"):
        open_source([[0, 1, 2]], groups="kind")


@pytest.fixture(scope="module")
def fitted(points, tmp_path_factory):
    """A folder of ``fit --groups``, and what was printed."""
    folder = tmp_path_factory.mktemp("groups")
    away = points.copy()
    away[:3] = points[[1, 2, 0]]
    triplets, whose = two_groups(points, away, m=700)
    table = triplets.to_arrow().append_column("kind/of", [[*whose[:-10], *["x"] * 10]])
    write_csv(table, folder / "answers.csv")
    words = ["fit", folder / "answers.csv", "--groups", "kind/of", "--folds", "2", "--halves", "2"]
    done = CliRunner().invoke(app, plain(*words, "-o", folder / "map"))
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_fit_writes_a_map_for_each_group(fitted):
    folder, output = fitted
    assert "The groups differ beyond chance" in output
    assert "Distances in maps of two halves of the answers correlate" in output
    assert "x (10)" in output
    record = json.loads((folder / "map" / "run.json").read_text())
    assert record["settings"]["folds"] == 2  # not those that judge the groups
    assert record["groups"]["differ"] is True
    assert record["groups"]["skipped"] == {"x": 10}
    assert len(record["split_half"]["correlation"]) == 2
    table = read_csv(folder / "map" / "groups.csv").to_pylist()
    assert [row["group"] for row in table] == ["a", "b", "x"]
    assert (folder / "map" / "groups.png").stat().st_size > 10_000
    for row in table[:2]:
        model = load(folder / "map" / row["folder"])
        assert model.embedding_.shape == (12, 2)
        own = json.loads((folder / "map" / row["folder"] / "run.json").read_text())
        assert own["data"]["n_rows"] == row["triplets"]
        assert own["input"]["group"] == row["group"]
    assert "The groups differ" in (folder / "map" / "report.html").read_text()


def test_group_folders_can_be_compared_and_replaced_but_not_with_what_is_not_ours(fitted):
    folder, _ = fitted
    run = CliRunner().invoke
    maps = [folder / "map" / "groups" / name for name in "ab"]
    done = run(app, plain("compare", *maps, "-o", folder / "both"))
    assert done.exit_code == 0, done.output
    words = plain("fit", folder / "answers.csv", "-o", folder / "map", "--folds", "0", "--force")
    mine = maps[0] / "mine.txt"
    mine.write_text("keep me")
    done = run(app, words)
    assert done.exit_code == 4
    assert "groups/a/mine.txt" in done.output
    mine.unlink()
    assert run(app, words).exit_code == 0
    assert not maps[0].exists()


def test_wrong_use_of_groups_and_halves(fitted):
    folder, _ = fitted
    run = CliRunner().invoke
    fit = ["fit", folder / "answers.csv", "-o", folder / "other"]
    done = run(app, plain(*fit, "--groups", "kin"))
    assert done.exit_code == 3
    assert "no column 'kin' for --groups" in done.output
    done = run(app, plain(*fit, "--groups", "kind/of", "--method", "soe"))
    assert done.exit_code == 2
    assert "SOE gives no probabilities" in done.output
    assert "the map of all answers" not in done.output
    done = run(app, plain(*fit, "--halves", "2", "--halves-by", "people"))
    assert done.exit_code == 2
    assert "--halves-by must be one of" in done.output


def test_many_groups_and_lines_are_drawn(points):
    generator = np.random.default_rng(0)
    triplets = sample_triplets(points[:4], 4000, random_state=0)
    whose = generator.integers(MOST_GROUPS + 2, size=4000)
    start = points[:4, :1]
    found = compare_groups(STE(1, init=start, **STARTED), triplets, whose, folds=2)
    figure = plot_groups(found)
    assert len(figure.axes[1].texts) == 1 + MOST_GROUPS
    assert "2 smaller groups" in figure.texts[-1].get_text()
