"""Starts that race: they end lower than one alone, and say how many of them agree."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import ordinate
from ordinate import CKL, GNMDS, SOE, STE, TSTE, sample_points, sample_triplets
from ordinate.algorithms.optimise import Found, minimise
from ordinate.algorithms.starts import Ending, Race, agreement, endings
from ordinate.cli import app
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets

ALL = [STE, TSTE, CKL, GNMDS, SOE]


def groups(m=6000, seed=0):
    """Seven groups, all as far from each other, have several good arrangements in the plane."""
    rng = np.random.default_rng(6)
    points = 2 * np.repeat(np.eye(7), 3, axis=0) + 0.5 * rng.normal(size=(21, 7))
    return sample_triplets(points, m, random_state=seed)


@pytest.fixture(scope="module")
def rugged():
    return groups()


@pytest.mark.parametrize("method", ALL)
def test_the_race_ends_as_low_as_many_starts(rugged, method):
    random = [
        method(init="random", n_init=1, random_state=seed).fit(rugged).loss_ for seed in range(20)
    ]
    model = method(random_state=0).fit(rugged)
    scale = np.median(random)
    assert model.loss_ < min(random) + 1e-3 * scale
    assert len(model.starts_) > 3
    assert model.starts_[0].distance < 1e-6
    assert [end.loss for end in model.starts_] == sorted(end.loss for end in model.starts_)


@pytest.mark.parametrize("method", [TSTE, GNMDS])
def test_the_same_with_the_same_seed_on_any_number_of_threads(rugged, method):
    found = []
    for number in (1, 2, 2):
        with ordinate.threads(number):
            found.append(method(random_state=3).fit(rugged))
    assert all((model.embedding_ == found[0].embedding_).all() for model in found)
    assert all(model.starts_ == found[0].starts_ for model in found)


def test_a_start_that_is_asked_for_runs_alone(rugged):
    model = STE(init="spectral", random_state=0).fit(rugged)
    assert [(end.name, end.distance < 1e-6) for end in model.starts_] == [("spectral", True)]
    assert len(STE(n_init=4, random_state=0).fit(rugged).starts_) == 4


def test_large_data_keep_one_start():
    triplets = sample_triplets(sample_points(1200, 2, random_state=0), 250_000, random_state=0)
    assert len(STE(random_state=0, tol=1e-2).fit(triplets).starts_) == 1


def test_items_in_no_triplet_do_not_matter(rugged):
    with pytest.warns(UserWarning, match="occur in no triplet|no triplet"):
        more = TSTE(random_state=0, n_items=rugged.n_items + 5).fit(rugged.rows)
    assert np.isnan(more.embedding_[-5:]).all()
    assert more.loss_ == pytest.approx(TSTE(random_state=0).fit(rugged).loss_, abs=2e-3)


def test_as_many_dimensions_as_items_allow():
    triplets = sample_triplets(sample_points(5, 4, random_state=0), 400, random_state=0)
    assert STE(4, regularization=1.0, random_state=0).fit(triplets).embedding_.shape == (5, 4)


def test_the_first_stays_among_equals():
    triplets = sample_triplets(sample_points(40, 2, random_state=0), 20_000, random_state=0)
    model = STE(random_state=0).fit(triplets)
    assert model.init_.name == "spectral"
    assert model.init_.gap > 1
    assert all(end.agrees for end in model.starts_)


def test_lifting_leaves_a_local_optimum(rugged):
    store, loss = MemoryTriplets.from_triplets(rugged), losses.get("ste")
    race = Race(store, loss, np.random.default_rng(0), regularization=0.0, max_iter=200)
    ends = [
        minimise(store, loss, np.random.default_rng(seed).normal(size=(21, 2)), tol=1e-3)
        for seed in range(6)
    ]
    worst = max(ends, key=lambda found: found.history[-1])
    lifted = [race._lifted(worst.points).history[-1] for _ in range(4)]
    assert min(lifted) < worst.history[-1] - 1e-4


def test_agreement_is_about_maps_and_not_losses():
    square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    turned = 3 * square @ [[0, 1], [-1, 0]] + 5
    crossed = square[[0, 2, 1, 3]]
    found = [Found(points, 1, True, [0.5]) for points in (square, turned, crossed)]
    ended = endings(["spectral", "random", "given"], found)
    assert [end.agrees for end in ended] == [True, True, False]
    assert agreement(ended) == (
        "2 of 3 starts end in this map; the others have losses of 0.50000 to 0.50000"
    )
    assert agreement(ended[:2]) == "all 2 starts end in this map"


def test_equal_rows_are_taken_once():
    triplets = sample_triplets(sample_points(8, 2, random_state=0), 3000, random_state=0)
    store, points = MemoryTriplets.from_triplets(triplets), sample_points(8, 2, random_state=1)
    once = store.collapsed()
    assert len(once) < 8 * 7 * 6 + 1
    assert once.total == store.total
    for (value, gradient), (known, slope) in [
        (once.loss(points, losses.get("ste")), store.loss(points, losses.get("ste")))
    ]:
        assert value == pytest.approx(known)
        assert gradient == pytest.approx(slope)
    again = MemoryTriplets(
        np.array([[0, 1, 2]] * 3, np.int32), np.array([1.0, 2, 0.5]), 3, store.backend
    ).collapsed()
    assert again.weight.tolist() == [3.5]
    different = sample_triplets(sample_points(60, 2, random_state=0), 500, random_state=0)
    few = MemoryTriplets.from_triplets(different)
    assert few.collapsed() is few


def test_the_command_says_so_where_starts_disagree(tmp_path):
    triplets = sample_triplets(sample_points(60, 2, random_state=0), 150, random_state=0)
    file = tmp_path / "few.csv"
    file.write_text(
        "\n".join(["anchor,near,far", *(f"i{a},i{b},i{c}" for a, b, c in triplets.rows)])
    )
    arguments = ["fit", str(file), "-o", str(tmp_path / "map"), "--folds", "0", "--method", "tste"]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    assert "warning: starts end in different maps: 1 of " in run.output
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert len(record["result"]["starts"]) > 1
    assert set(record["result"]["starts"][0]) == set(Ending._fields)
    assert "starts end in different maps" in (tmp_path / "map" / "report.html").read_text("utf-8")
