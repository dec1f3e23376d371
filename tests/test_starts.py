"""Starts that race: they end lower than one alone, and say how many of them agree."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import ordinate
from ordinate import CKL, GNMDS, SOE, STE, TSTE, Triplets, sample_points, sample_triplets
from ordinate.algorithms import race as racing
from ordinate.algorithms import starts
from ordinate.algorithms.optimise import Found, minimise
from ordinate.algorithms.race import Race
from ordinate.algorithms.starts import Ending, agreement, endings
from ordinate.cli import app
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets, store_of
from ordinate.passes.triplets import collapsed

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
    assert len(model.starts_) >= 3
    if model.init_.name not in ("lifted", "recombined"):
        assert min(end.distance for end in model.starts_) < 0.05
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
    triplets = sample_triplets(sample_points(2100, 2, random_state=0), 450_000, random_state=0)
    assert len(STE(random_state=0, tol=1e-2).fit(triplets).starts_) == 1


@pytest.mark.parametrize(("method", "n", "n_rows"), [(STE, 600, 60_000), (GNMDS, 60, 310_000)])
def test_starts_race_up_to_many_rows(method, n, n_rows):
    triplets = sample_triplets(sample_points(n, 2, random_state=0), n_rows, random_state=0)
    assert len(method(random_state=0, tol=1e-2).fit(triplets).starts_) > 1


def test_rows_that_are_not_at_hand_race_on_a_sample(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    triplets = sample_triplets(sample_points(20, 2, random_state=0), 3000, random_state=0)
    ordinate.ondisk.write([triplets], tmp_path / "rows.parquet")
    file = store_of(ordinate.ondisk.open_triplets(tmp_path / "rows.parquet"))
    there = store_of(triplets, device="torch:cpu")
    for store in (file, there):
        assert not isinstance(store, MemoryTriplets)
        assert starts.n_on_sample(store, losses.get("tste"), 40) == 10
        assert starts.n_on_sample(store, losses.get("gnmds"), 40) == 1
    model = STE(random_state=0, tol=1e-2, device=torch.device("cpu")).fit(triplets)
    assert sorted(end.name for end in model.starts_) == ["random"] * 9 + ["spectral"]
    assert len(GNMDS(tol=1e-2, device=torch.device("cpu")).fit(triplets).starts_) == 1


def test_the_best_of_a_sample_goes_on(rugged):
    store, loss = MemoryTriplets.from_triplets(rugged), losses.get("ste")
    rng = np.random.default_rng(0)
    field = [starts.Start("random", rng.normal(size=(21, 2))) for _ in range(8)]

    def descend(rows, loss, start, options, watch):
        steps = {"max_iter": 1} if start is field[0] else {}
        return minimise(rows, loss, start.points, **options | steps)

    options = {"regularization": 0.1, "tol": 1e-4, "max_iter": 200}
    winner, ended = starts.race_on_sample(store, loss, field, descend, options)
    known = [minimise(store, loss, start.points, **options).history[-1] for start in field[1:]]
    assert [end.loss for end in ended] == sorted(end.loss for end in ended)
    assert ended[0].loss == pytest.approx(min(known), abs=2e-3)
    again = minimise(store, loss, winner.points, **options)
    assert again.history[0] == pytest.approx(ended[0].loss, abs=1e-9)


def test_the_first_stays_unless_another_is_better_by_enough_to_matter(rugged):
    store, loss = MemoryTriplets.from_triplets(rugged), losses.get("ste")
    first = starts.Start("spectral", np.random.default_rng(0).normal(size=(21, 2)), 2.0)
    turned = starts.Start("random", first.points @ [[0.0, 1], [-1, 0]])

    def descend(rows, loss, start, options, watch):
        found = minimise(rows, loss, first.points, **options)
        return found._replace(points=found.points * (1 if start is turned else 1.001))

    options = {"regularization": 0.0, "tol": 1e-4, "max_iter": 200}
    assert starts.race_on_sample(store, loss, [first, turned], descend, options)[0] is first


@pytest.mark.parametrize("method", [STE, SOE])
def test_the_scale_of_weights_makes_no_difference(rugged, method):
    ended = []
    for scale in (1.0, 1024.0):
        weighted = Triplets(rugged.rows, weight=np.full(len(rugged), scale))
        ended.append(method(random_state=0, regularization=0.5 * scale).fit(weighted).starts_)
    assert [end.name for end in ended[0]] == [end.name for end in ended[1]]
    assert [end.loss for end in ended[0]] == pytest.approx([end.loss for end in ended[1]])


def test_rows_that_stand_for_several_are_fitted_as_well_as_these():
    triplets = sample_triplets(sample_points(20, 2, random_state=0), 1000, random_state=0)
    store = MemoryTriplets.from_triplets(Triplets(np.tile(triplets.rows, (300, 1))))
    race = Race(
        store,
        losses.get("ste"),
        np.random.default_rng(0),
        regularization=0.0,
        tol=1e-4,
        max_iter=200,
    )
    assert len(race.store) <= 1000
    start = sample_points(20, 2, random_state=1)
    lowest = minimise(store, race.loss, start, tol=1e-9).history[-1]
    found = race._descend(race.store, start, 1e-1)
    assert (found.history[-1] - lowest) * store.total < 10 * 1e-1 * start.size


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
    race = Race(store, loss, np.random.default_rng(0), regularization=0.0, tol=1e-4, max_iter=200)
    ends = [
        minimise(store, loss, np.random.default_rng(seed).normal(size=(21, 2)), tol=1e-3)
        for seed in range(6)
    ]
    worst = max(ends, key=lambda found: found.history[-1])
    lifted = [race._lifted(worst.points, by).history[-1] for by in (1, 2, 1, 2)]
    assert min(lifted) < worst.history[-1] - 1e-4


def test_agreement_is_about_maps_and_not_losses():
    square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    turned = 3 * square @ [[0, 1], [-1, 0]] + 5
    crossed = square[[0, 2, 1, 3]]
    found = [Found(points, 1, True, [0.5]) for points in (square, turned, crossed)]
    ended = endings(["spectral", "random", "given"], found)
    assert [end.agrees for end in ended] == [True, True, False]
    assert agreement(ended) == (
        "2 of 3 starts end in this map; the loss of the other is 0.5, of this one 0.5"
    )
    assert agreement(ended[:2]) == "all 2 starts end in this map"


def test_one_place_for_all_items_is_no_map():
    square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    found = [Found(points, 1, True, [0.5]) for points in (0 * square, 0 * square + 2, square)]
    assert [end.distance for end in endings(["spectral", "random", "ste"], found)] == [0, 0, 1]


def test_equal_rows_are_taken_once():
    triplets = sample_triplets(sample_points(8, 2, random_state=0), 3000, random_state=0)
    store, points = MemoryTriplets.from_triplets(triplets), sample_points(8, 2, random_state=1)
    once = collapsed(store)
    assert len(once) < 8 * 7 * 6 + 1
    assert once.total == store.total
    for (value, gradient), (known, slope) in [
        (once.loss(points, losses.get("ste")), store.loss(points, losses.get("ste")))
    ]:
        assert value == pytest.approx(known)
        assert gradient == pytest.approx(slope)
    again = MemoryTriplets(
        np.array([[0, 1, 2]] * 3, np.int32), np.array([1.0, 2, 0.5]), 3, store.backend
    )
    assert collapsed(again).weight.tolist() == [3.5]
    different = sample_triplets(sample_points(60, 2, random_state=0), 500, random_state=0)
    few = MemoryTriplets.from_triplets(different)
    assert collapsed(few) is few


def test_the_command_says_so_where_starts_disagree(tmp_path):
    triplets = sample_triplets(sample_points(60, 2, random_state=0), 150, random_state=0)
    file = tmp_path / "few.csv"
    file.write_text(
        "\n".join(["anchor,near,far", *(f"i{a},i{b},i{c}" for a, b, c in triplets.rows)])
    )
    arguments = ["fit", str(file), "-o", str(tmp_path / "map"), "--folds", "0", "--method", "tste"]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    assert "warning: starts end in different maps: " in run.output
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert len(record["result"]["starts"]) > 1
    assert set(record["result"]["starts"][0]) == set(Ending._fields)
    assert "starts end in different maps" in (tmp_path / "map" / "report.html").read_text("utf-8")


def race_of(triplets, name="ste"):
    store = MemoryTriplets.from_triplets(triplets)
    options = {"regularization": 0.0, "tol": 1e-4, "max_iter": 500}
    return Race(store, losses.get(name), np.random.default_rng(0), **options)


def test_few_answers_are_fitted_in_more_dimensions_as_far_as_many():
    """What chance explains says little there: a tenth of it would be no fit at all."""
    truth = sample_points(150, 2, random_state=0)
    race = race_of(sample_triplets(truth, 6000, noise="btl", random_state=0), "tste")
    start = np.random.default_rng(1).normal(size=(150, 4))

    def left(found):
        return found.history[-1] - race._descend(race.store, found.points, 1e-5).history[-1]

    by_chance = race._descend(race.store, start, race.rough)
    assert left(race._roughly(race.store, start)) < left(by_chance) / 5


def test_costs_are_counted_in_coordinates(rugged):
    race = race_of(rugged)
    spent = []
    for d in (2, 4):
        before = race.spent
        race.original.loss(np.zeros((21, d)), race.loss)
        race._count(np.zeros((21, d)))
        spent.append(race.spent - before)
    assert spent == pytest.approx([2 * len(rugged), 4 * len(rugged)])


def test_where_a_lift_brings_nothing_another_start_comes(rugged, monkeypatch):
    tried = []
    from_start, descend = Race._from, Race._descend

    def in_vain(self, points, by):
        tried.append(f"{by}")
        return descend(self, self.store, points, 1.0)

    def starting(self, field, points, d):
        tried.append("start")
        return from_start(self, field, points, d)

    monkeypatch.setattr(Race, "_lifted", in_vain)
    monkeypatch.setattr(Race, "_from", starting)
    model = TSTE(random_state=0).fit(rugged)
    turns = "".join(kind[0] for kind in tried).lstrip("s")
    assert turns.startswith("12")
    assert "s" in turns
    assert len(model.starts_) == 1 + tried.count("start")
    # Lifts that come back to the same optimum are no starts that agree.
    assert len(tried) - tried.count("start") > racing.AGREEING


def test_a_race_ends_when_nothing_helps(rugged, monkeypatch):
    tried, descend = [], Race._descend

    def in_vain(self, points, *_, **__):
        tried.append(points)
        assert len(tried) < 20
        return descend(self, self.store, points, 1e9)

    monkeypatch.setattr(racing, "MOST_IN_VAIN", 7)
    monkeypatch.setattr(Race, "_lifted", in_vain)
    monkeypatch.setattr(Race, "_from", lambda self, field, points, d: in_vain(self, points[:, :d]))
    monkeypatch.setattr(Race, "_recombine", lambda self, best, others: best)
    monkeypatch.setattr(Race, "_costs_more", lambda *_: False)
    TSTE(random_state=0).fit(rugged)
    assert len(tried) == 7
