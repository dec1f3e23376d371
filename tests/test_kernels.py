"""Every compiled kernel against its plain twin, and derivatives against finite differences."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from ordinate.kernels import backends, noise
from ordinate.passes import NO_WEIGHT, MemoryColumns
from ordinate.passes.columns import count_sums

plain, fast = backends.load("numpy"), backends.load("numba")
functions = import_module("ordinate.kernels.backends.numba_.functions")
models = st.sampled_from([noise.get(name) for name in noise.NAMES])


@st.composite
def comparisons(draw):
    n = draw(st.integers(2, 20))
    m = draw(st.integers(1, 700))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    near = rng.integers(n, size=m)
    far = (near + 1 + rng.integers(n - 1, size=m)) % n
    weight = rng.integers(1, 5, size=m) * 1.0 if draw(st.booleans()) else np.empty(0)
    scores = rng.normal(size=n) * draw(st.sampled_from([0.1, 1.0, 30.0]))
    return np.column_stack([near, far]).astype(np.uint32), weight, scores


@given(comparisons(), st.sampled_from([np.uint32, np.float64]))
def test_count_sums(data, dtype):
    pairs, weight, scores = data
    for ours, twin in zip(
        fast.count_sums(pairs, weight, len(scores), dtype),
        plain.count_sums(pairs, weight, len(scores), dtype),
        strict=True,
    ):
        assert (ours == twin).all()


@given(comparisons(), models)
def test_score_sums(data, model):
    pairs, weight, scores = data
    twin = plain.score_sums(pairs, weight, scores, model)
    size = 1 + np.abs(scores).max()
    assert fast.score_sums(pairs, weight, scores, model) == pytest.approx(
        twin, abs=1e-10 * size * len(pairs)
    )
    single = fast.score_sums(pairs, weight, scores.astype(np.float32), model)
    assert single == pytest.approx(twin, abs=1e-5 * size * len(pairs))
    # Rows of a table of triplets are pairs with a stride.
    rows = np.column_stack([pairs[:, 0], pairs]).astype(np.uint32)
    assert (
        fast.score_sums(rows[:, 1:], weight, scores, model)
        == fast.score_sums(pairs, weight, scores, model)
    ).all()


@given(comparisons(), models)
def test_pair_information_and_neighbour_sums(data, model):
    pairs, weight, scores = data
    twin = plain.pair_information(pairs, weight, scores, model)
    assert fast.pair_information(pairs, weight, scores, model) == pytest.approx(twin, abs=1e-12)
    values = np.cos(np.arange(len(scores)))
    sums = plain.neighbour_sums(pairs, twin, values)
    assert fast.neighbour_sums(pairs, twin, values) == pytest.approx(sums, abs=1e-9)


@given(comparisons())
def test_count_parts(data):
    pairs, _, scores = data
    n_compared = len(np.unique(pairs))
    parts = plain.count_parts(pairs, len(scores), n_compared)
    assert fast.count_parts(pairs, len(scores), n_compared) == parts
    assert 1 <= parts <= n_compared // 2


@given(comparisons(), st.integers(1, 700))
def test_joining_parts_block_by_block(data, size):
    pairs, _, scores = data
    n_compared = len(np.unique(pairs))
    for backend in (plain, fast):
        parent, left = np.arange(len(scores), dtype=np.uint32), n_compared
        for start in range(0, len(pairs), size):
            left = backend.join_parts(pairs[start : start + size], parent, left)
        assert left == plain.count_parts(pairs, len(scores), n_compared)


@given(comparisons(), st.integers(0, 22), st.integers(1, 20))
def test_scan_pairs(data, anchor, n_items):
    pairs, _, _ = data
    pairs = pairs.copy()
    pairs[::7, 0] = pairs[::7, 1]
    n_bad = sum(len({anchor, *row}) < 3 or max(row) >= n_items for row in pairs.tolist())
    assert plain.scan_pairs(pairs, anchor, n_items) == n_bad
    assert fast.scan_pairs(pairs, anchor, n_items) == n_bad


@pytest.mark.parametrize("model", noise.NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_score_sums_are_the_derivative_of_the_log_likelihood(backend, model, weighted):
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(6, 2, replace=False) for _ in range(40)]).astype(np.uint32)
    weight = rng.random(40) if weighted else np.empty(0)
    f = noise.get(model)

    def log_likelihood(scores):
        values = np.log(f.probability(scores[pairs[:, 1]] - scores[pairs[:, 0]]))
        return values @ weight if weighted else values.sum()

    scores = rng.normal(size=6)
    gradient = backend.score_sums(pairs, weight, scores, f)
    assert gradient == pytest.approx(approx_fprime(scores, log_likelihood, 1e-7), abs=1e-5)


def test_the_fast_logistic_is_exact_to_rounding():
    x = np.linspace(-60, 60, 4001)
    ours = np.array([functions.expit(v) for v in x])
    assert ours == pytest.approx(1 / (1 + np.exp(-x)), rel=1e-13)
    singles = np.array([functions.single_expit(np.float32(v)) for v in x])
    assert singles == pytest.approx(1 / (1 + np.exp(-x.astype(np.float32).astype(float))), abs=2e-7)
    assert functions.expit(-1e9) == pytest.approx(0, abs=1e-300)
    assert functions.expit(1e9) == 1


def test_more_ones_than_single_precision_can_add_up():
    # In single precision alone, 20 million ones would stop at 2^24.
    pairs = np.tile(np.array([[0, 1]], np.uint32), (20_000_000, 1))
    far, near = MemoryColumns([pairs], [NO_WEIGHT], 2, fast).counts()
    assert far.tolist() == [[0, 20_000_000]]
    assert near.tolist() == [[20_000_000, 0]]
    # Sums of more items move to double precision less often.
    for n_items in (2, 3_000_000):
        scores = np.zeros(n_items, np.float32)
        scores[0] = 40
        gradient = fast.score_sums(pairs, np.empty(0), scores, noise.get("btl"))
        assert gradient[:2] == pytest.approx([-20_000_000, 20_000_000], rel=1e-6)


def test_more_ones_than_small_whole_numbers_can_add_up():
    asked = []

    class Counting:
        @staticmethod
        def count_sums(pairs, weight, n_items, dtype):
            asked.append(dtype)
            return np.zeros((2, n_items), dtype)

    for n_rows in ((1 << 32) - 1, 1 << 32):
        count_sums(Counting, np.broadcast_to(np.uint32(0), (n_rows, 2)), NO_WEIGHT, 1)
    assert asked == [np.uint32, np.float64]


@given(st.integers(1, 4), st.integers(0, 1000))
def test_placing(d, seed):
    rng = np.random.default_rng(seed)
    truth, landmarks = rng.normal(size=(30, d)), rng.normal(size=(d + 4, d))
    distances = ((truth[:, None] - landmarks) ** 2).sum(axis=2)
    weight = rng.random(distances.shape) + 0.1
    start = truth + 0.1 * rng.normal(size=truth.shape)
    noisy = distances + 0.2 * rng.normal(size=distances.shape)
    for target in (distances, noisy):
        ours = fast.place_items(start, landmarks, target, weight)
        twin = plain.place_items(start, landmarks, target, weight)
        assert ours == pytest.approx(twin, abs=1e-6)

        def cost(x, target=target):
            return (weight * (target - ((x[:, None] - landmarks) ** 2).sum(axis=2)) ** 2).sum(
                axis=1
            )

        assert (cost(ours) <= cost(start) + 1e-12).all()


def test_points_without_information_stay(backend):
    points = np.array([[1.0, 2.0]])
    placed = backend.place_items(points, np.eye(2), np.ones((1, 2)), np.zeros((1, 2)))
    assert (placed == points).all()
