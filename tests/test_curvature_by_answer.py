"""Curvature and the spread of gradients by answer: every backend against plain sums, any store."""

from importlib.util import find_spec

import numpy as np
import pytest

from ordinate import Triplets, threads
from ordinate._base.arrays import distinct_and_places, on_host
from ordinate._base.device import TORCH_CPU
from ordinate.data.answers import independent_answers
from ordinate.kernels import losses
from ordinate.kernels.backends import load, numpy_
from ordinate.passes import store_of, triplets

N = 12
WITH_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
BACKENDS = [
    "numpy",
    pytest.param(
        "numba",
        marks=pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed"),
    ),
]


def answers_of_several_rows(n_answers=400, *, weighted=False, seed=0):
    """Answers of one to four rows, which share items; rows of an answer are not together."""
    rng = np.random.default_rng(seed)
    answer = np.repeat(np.arange(n_answers), rng.integers(1, 5, n_answers))
    rows = np.array([rng.permutation(5)[:3] + 7 * (a % 2) for a in answer])
    order = rng.permutation(len(answer))
    weight = rng.integers(1, 4, n_answers)[answer] / 1.0 if weighted else None
    return Triplets(
        rows[order],
        n_items=N,
        answer=answer[order],
        participant=answer[order] % 7,
        weight=None if weight is None else weight[order],
    )


def by_hand(table, by, points, loss):
    """The gradients of each answer by finite sums, and their outer products."""
    d = points.shape[1]
    spread = np.zeros((N, d, d))
    groups = independent_answers(table) if by == "answer" else table.groups(by)
    for group in np.unique(groups):
        mine = groups == group
        weight = np.ones(mine.sum()) if table.weight is None else table.weight[mine]
        total = np.zeros((N, d))
        for row, w in zip(table.rows[mine], weight, strict=True):
            gradient = numpy_.loss_sums(row[None], np.empty(0), points, loss)[1]
            total += gradient * (w if by == "participant" else np.sqrt(w))
        spread += total[:, :, None] * total[:, None, :]
    return spread


@pytest.fixture(params=["few", "many"])
def compiled(request, monkeypatch):
    """Rows few enough for NumPy's terms, and enough for compiled ones."""
    if request.param == "many" and find_spec("numba") is not None:
        from ordinate.kernels.backends.numba_ import maps

        monkeypatch.setattr(maps, "MANY", 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by", ["row", "answer", "participant"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_gradients_are_added_up_by_answer(backend, by, weighted, d, compiled, monkeypatch):
    monkeypatch.setattr(triplets, "SMALL_PART", 100)
    table = answers_of_several_rows(weighted=weighted)
    points = np.random.default_rng(1).normal(size=(N, d))
    loss = losses.get("power", power=0.4, slope=2.0, lapse=0.05)
    store = store_of(table, backend, by=by)
    F, S = store.curvature(points, loss)
    assert pytest.approx(by_hand(table, by, points, loss), rel=1e-9, abs=1e-9) == S
    weight = np.empty(0) if table.weight is None else table.weight
    blocks = numpy_.curvature_sums(table.rows, weight, points, loss)[0]
    assert pytest.approx(blocks, rel=1e-9, abs=1e-9) == F
    assert store.n_passes == 1


@pytest.mark.parametrize("name", losses.NAMES)
@pytest.mark.parametrize("answers", [False, True])
def test_compiled_curvature_is_that_of_its_twin(name, answers, compiled):
    table = answers_of_several_rows(weighted=True)
    order = np.argsort(table.answer, kind="stable")
    rows, weight = table.rows[order].view(np.uint32), table.weight[order]
    number = table.answer[order] if answers else np.empty(0, np.int64)
    points, loss = np.random.default_rng(1).normal(size=(N, 2)), losses.get(name)
    given = rows, weight, points, loss, number
    twins = numpy_.curvature_sums(*given)
    for sums, twin in zip(load().curvature_sums(*given), twins, strict=True):
        assert sums == pytest.approx(twin, rel=1e-9, abs=1e-9)


@WITH_TORCH
@pytest.mark.parametrize("block", [1 << 22, 300])
@pytest.mark.parametrize("by", ["row", "answer", "participant"])
def test_on_a_device_too(by, block, monkeypatch):
    from ordinate.kernels.backends import torch_

    monkeypatch.setattr(torch_, "BLOCK", block)
    table, loss = answers_of_several_rows(weighted=True), losses.get("ste")
    points = np.random.default_rng(1).normal(size=(N, 2))
    expected = store_of(table, "numpy", by=by).curvature(points, loss)
    import torch

    store, at = store_of(table, device=TORCH_CPU, by=by), torch.from_numpy(points)
    for sums, twin in zip(store.curvature(at, loss), expected, strict=True):
        assert on_host(sums) == pytest.approx(twin, rel=1e-9, abs=1e-9)
    inverse, scales = np.tile(np.eye(2) / 50, (N, 1, 1)), np.array([0.5, 1.0])
    given = store_of(table, "numpy", by=by).left_out(points, loss, inverse, scales)
    found = store.left_out(at, loss, torch.from_numpy(inverse), torch.from_numpy(scales))
    assert on_host(found) == pytest.approx(given, rel=1e-9)
    few = store.sample(200)
    numbers, counts = np.unique(on_host(few.answers.number), return_counts=True)
    whole = np.bincount(on_host(store.answers.number))
    assert (counts == whole[numbers]).all()
    assert len(few) < len(store)


def test_sums_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(triplets, "SMALL_PART", 100)
    table, loss = answers_of_several_rows(weighted=True), losses.get("ste")
    points = np.random.default_rng(1).normal(size=(N, 2))
    found = []
    for number in (1, 3):
        with threads(number):
            found.append(store_of(table, by="answer").curvature(points, loss))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("values", [[], [7], [3, 3, 1, 2, 1], [2, 2, 5, 4, 4, 9]])
def test_values_are_numbered_in_order(values):
    values = np.array(values, np.int64)
    for found, expected in zip(
        distinct_and_places(values), np.unique(values, return_inverse=True), strict=True
    ):
        assert np.array_equal(found, expected)
