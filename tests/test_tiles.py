"""Comparisons of very many items, sorted into tiles of them."""

import numpy as np
import pytest

import ordinate
from ordinate import Triplets, sample_points, sample_triplets
from ordinate.kernels import backends, noise
from ordinate.kernels.backends import numba_, numpy_
from ordinate.passes import NO_WEIGHT, MemoryColumns, columns, columns_of

BTL = noise.get("btl")


def some_pairs(n, m, weighted):
    rng = np.random.default_rng(0)
    near = rng.integers(n, size=m)
    pairs = np.column_stack([near, (near + rng.integers(1, n, size=m)) % n]).astype(np.uint32)
    return pairs, rng.random(m) if weighted else NO_WEIGHT


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 16 items, from 50 items on."""
    monkeypatch.setattr(columns, "MANY_ITEMS", 50)
    monkeypatch.setattr(columns, "TILE", 16)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_agrees_with_its_plain_twin(weighted):
    pairs, weight = some_pairs(100, 3000, weighted)
    found = []
    for backend in (numpy_, numba_):
        out = np.empty_like(pairs), np.empty_like(weight)
        backend.scatter_by_tile(pairs, weight, 4, 7, *out)
        found.append(out)
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_tiles_are_in_order_and_the_pairs_of_each_in_theirs(small_tiles, weighted, backend):
    pairs, weight = some_pairs(100, 3000, weighted)
    plain = MemoryColumns([pairs, pairs[:7]], [weight, weight[:7]], 100, backends.load(backend))
    tiled = plain.in_tiles()
    order = np.lexsort((np.arange(3000), pairs[:, 1] // 16, pairs[:, 0] // 16))
    assert np.array_equal(tiled.pairs[0], pairs[order])
    assert np.array_equal(tiled.weights[0], weight[order] if weighted else weight)
    assert tiled.sizes.tolist() == [3000, 7]
    scores = dict(enumerate(np.random.default_rng(1).normal(size=(2, 100))))
    for i, sums in plain.gradient(scores, BTL).items():
        assert tiled.gradient(scores, BTL)[i] == pytest.approx(sums, abs=1e-10)
    assert np.allclose(tiled.counts(), plain.counts())


@pytest.mark.parametrize("most", [4, 128])
def test_tiles_are_few_enough_to_be_written_to_at_once(small_tiles, monkeypatch, most):
    monkeypatch.setattr(columns, "MOST_TILES", most)
    asked = []

    def scatter(pairs, weight, shift, n_tiles, *out):
        asked.append((shift, n_tiles))

    backend = backends.load("numpy")
    monkeypatch.setattr(backend, "scatter_by_tile", scatter)
    MemoryColumns([some_pairs(100, 10, False)[0]], [NO_WEIGHT], 100, backend).in_tiles()
    assert asked == [(5, 4) if most == 4 else (4, 7)]


def test_a_fit_sorts_very_many_items_into_tiles_on_a_cpu(small_tiles):
    triplets = sample_triplets(
        sample_points(60, random_state=0), 3000, design="landmarks", landmarks=[3, 8],
        random_state=0,
    )  # fmt: skip
    landmarks = np.array([3, 8])
    near, far = columns_of(triplets, landmarks).pairs[0].T // 16
    assert (np.diff(near * 4 + far) >= 0).all()
    fewer = Triplets(triplets.rows[(triplets.rows < 49).all(axis=1)], n_items=49)
    kept = columns_of(fewer, landmarks)
    assert np.shares_memory(kept.pairs[0], fewer.grouped()[0].rows)


def test_memory_that_is_short_keeps_rows_where_they_are(small_tiles, monkeypatch):
    pairs, weight = some_pairs(100, 1000, True)
    plain = MemoryColumns([pairs], [weight], 100, backends.load("numba"))
    for available, sorted_ in [(31_999, False), (32_000, True)]:
        monkeypatch.setattr(columns, "available_memory", lambda available=available: available)
        assert (plain.in_tiles() is not plain) == sorted_


def test_maps_of_tiles_are_the_same_on_any_number_of_threads(small_tiles, monkeypatch):
    monkeypatch.setattr(columns, "SMALLEST_PART", 1000)
    points = sample_points(200, random_state=0)
    triplets = sample_triplets(points, 60_000, design="landmarks", landmarks=8, random_state=0)
    maps = []
    for number in (1, 2, 5):
        with ordinate.threads(number):
            maps.append(ordinate.LOE().fit(triplets).embedding_)
    assert np.array_equal(maps[0], maps[1])
    assert np.array_equal(maps[0], maps[2])
    monkeypatch.setattr(columns, "MANY_ITEMS", 1000)
    assert ordinate.LOE().fit(triplets).embedding_ == pytest.approx(maps[0], abs=1e-3)
