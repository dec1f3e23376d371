"""Every loss, driven by one table: derivatives, twins, weights, invariances, planted maps."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone

from ordinate import CKL, GNMDS, SOE, STE, TSTE, PowerEmbedding, procrustes_error, sample_points
from ordinate import sample_triplets as sample
from ordinate._base.device import TORCH_CPU
from ordinate.data.triplets import Triplets
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets

LOSSES = {
    "ste": losses.get("ste"),
    "probit": losses.get("probit"),
    "tste": losses.get("tste", alpha=1.5),
    "ckl": losses.get("ckl", mu=0.1),
    "power": losses.get("power", power=0.4, slope=1.3, lapse=0.05),
    "gnmds": losses.get("gnmds", margin=1.0),
    "soe": losses.get("soe", margin=0.3),
}
ESTIMATORS = {
    "ste": STE(),
    "probit": STE(noise="thurstone"),
    "tste": TSTE(),
    "ckl": CKL(),
    "power": PowerEmbedding(slope=2),
    "gnmds": GNMDS(),
    "soe": SOE(),
}


def test_the_table_is_complete():
    assert set(LOSSES) == set(losses.NAMES) == set(ESTIMATORS)


def problem(n=9, d=3, m=300, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.random((m, n)).argsort(axis=1)[:, :3]
    weight = rng.integers(1, 5, m) * 1.0 if weighted else None
    return Triplets(rows, n_items=n, weight=weight), rng.normal(size=(n, d))


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


def store_of(triplets, backend):
    if backend != "torch":
        return MemoryTriplets.from_triplets(triplets, backend)
    pytest.importorskip("torch", reason="torch is not installed")
    from on_torch import HostTriplets

    return HostTriplets.of(MemoryTriplets.from_triplets(triplets), TORCH_CPU)


BACKENDS = ["numpy", "numba", "torch"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_finite_differences(loss, backend, weighted):
    triplets, points = problem(weighted=weighted)
    store = store_of(triplets, backend)
    value, gradient = store.loss(points, loss)
    assert gradient.sum(axis=0) == pytest.approx(0, abs=1e-9)
    differences = approx_fprime(
        points.ravel(), lambda x: store.loss(x.reshape(points.shape), loss)[0], 1e-7
    )
    assert gradient.ravel() == pytest.approx(differences, abs=2e-5 * max(1, abs(value)))


SHAPED = [name for name, loss in LOSSES.items() if loss.shape]


def with_shape(loss, numbers):
    n = len(loss.link_shape)
    return loss._replace(link_shape=tuple(numbers[:n]), penalty_shape=tuple(numbers[n:]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SHAPED)
def test_derivatives_by_shape_are_finite_differences(name, backend, weighted):
    triplets, points = problem(weighted=weighted)
    store, loss = store_of(triplets, backend), LOSSES[name]
    value, gradient, by_shape, information = store.shape(points, loss)
    expected, expected_gradient = store.loss(points, loss)
    assert value == expected
    assert np.array_equal(gradient, expected_gradient)
    assert information.shape == (len(loss.shape),) * 2
    for k, number in enumerate(loss.shape):
        moved = [
            with_shape(loss, [*loss.shape[:k], number + step, *loss.shape[k + 1 :]])
            for step in (1e-5, -1e-5)
        ]
        up, down = (store.loss(points, other)[0] for other in moved)
        assert by_shape[k] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SHAPED)
def test_the_information_of_shape_numbers_is_that_of_the_questions(name, backend):
    """Squares of the derivatives, expected over both answers to each question."""
    triplets, points = problem(m=60)
    loss, swapped = LOSSES[name], triplets.rows[:, [0, 2, 1]]
    expected = np.zeros((len(loss.shape),) * 2)
    for row, other, w in zip(triplets.rows, swapped, triplets.weight, strict=True):
        for answer in (row, other):
            store = store_of(Triplets([answer], n_items=9), "numpy")
            value, _, g, _ = store.shape(points, loss)
            expected += w * np.exp(-value) * np.outer(g, g)
    assert np.linalg.eigvalsh(expected)[0] > 0
    for rows in (triplets.rows, swapped):  # whatever the answers
        store = store_of(Triplets(rows, n_items=9, weight=triplets.weight), backend)
        assert store.shape(points, loss)[3] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_all_kernels_agree_with_the_plain_ones(loss, d, weighted, backend):
    triplets, points = problem(n=30, d=d, m=2000, weighted=weighted)
    plain, fast = store_of(triplets, "numpy"), store_of(triplets, backend)
    for scale in (1e-3, 1.0, 20.0):
        ours, twin = fast.loss(scale * points, loss), plain.loss(scale * points, loss)
        assert ours[0] == pytest.approx(twin[0], rel=1e-12)
        assert ours[1] == pytest.approx(twin[1], rel=1e-9, abs=1e-10 * np.abs(twin[1]).max())
        for block, twin_block in zip(
            fast.curvature(scale * points, loss), plain.curvature(scale * points, loss), strict=True
        ):
            assert block == pytest.approx(twin_block, rel=1e-9, abs=1e-10 * np.abs(block).max())
        found, twins = fast.shape(scale * points, loss), plain.shape(scale * points, loss)
        for sums, twin in zip(found, twins, strict=True):
            largest = np.abs(twin).max(initial=0)
            assert sums == pytest.approx(twin, rel=1e-9, abs=max(1e-10 * largest, 1e-12))
    vectors = np.random.default_rng(1).normal(size=(30, 8)).astype(np.float32)
    assert fast.similarity(vectors) == pytest.approx(plain.similarity(vectors), abs=1e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_similarity_is_the_product_with_the_matrix(backend):
    triplets, _ = problem()
    S = np.zeros((9, 9))
    for (a, near, far), w in zip(triplets.rows, triplets.weight, strict=True):
        S[a, far] += w
        S[a, near] -= w
    V = np.random.default_rng(0).normal(size=(9, 8)).astype(np.float32)
    assert store_of(triplets, backend).similarity(V) == pytest.approx((S + S.T) @ V, abs=1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_curvature_is_that_of_the_penalty(backend):
    """For STE the blocks are the expected second derivatives of the items' own coordinates."""
    triplets, points = problem(m=40)
    store = store_of(triplets, backend)
    F, G = store.curvature(points, LOSSES["ste"])
    i, step = 4, 1e-5
    J = np.zeros((3, 3))
    for a in range(3):
        moved = points.copy()
        moved[i, a] += step
        J[a] = (
            store.loss(moved, LOSSES["ste"])[1][i] - store.loss(points, LOSSES["ste"])[1][i]
        ) / step
    # What the second derivatives of squared distances add has the slope as its factor.
    rows, w = triplets.rows, triplets.weight
    near, far = ((points[rows[:, [0, 0]]] - points[rows[:, 1:]]) ** 2).sum(axis=2).T
    slope = w / (1 + np.exp(far - near))
    bend = 2 * (slope * ((rows[:, 1] == i) * 1.0 - (rows[:, 2] == i))).sum()
    assert F[i] == pytest.approx(J - bend * np.eye(3), abs=1e-3)
    assert (np.linalg.eigvalsh(G[i]) > 0).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_count_as_repeats(loss, backend):
    triplets, points = problem()
    repeated = Triplets(np.repeat(triplets.rows, triplets.weight.astype(int), axis=0), n_items=9)
    once, often = store_of(triplets, backend), store_of(repeated, backend)
    assert once.total == often.total
    assert once.loss(points, loss)[0] == pytest.approx(often.loss(points, loss)[0], rel=1e-12)
    assert once.loss(points, loss)[1] == pytest.approx(often.loss(points, loss)[1], rel=1e-9)
    for one, other in ((once.curvature, often.curvature), (once.shape, often.shape)):
        for a, b in zip(one(points, loss), other(points, loss), strict=True):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_rotation_shift_and_relabelling_change_nothing(loss, backend):
    triplets, points = problem()
    store = store_of(triplets, backend)
    rng = np.random.default_rng(3)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    value, gradient = store.loss(points, loss)
    moved_value, moved_gradient = store.loss(points @ turn + 5, loss)
    assert moved_value == pytest.approx(value, rel=1e-9)
    assert moved_gradient == pytest.approx(gradient @ turn, abs=1e-7)
    order = rng.permutation(9)
    renamed = Triplets(np.argsort(order)[triplets.rows], n_items=9, weight=triplets.weight)
    new_value, new_gradient = store_of(renamed, backend).loss(points[order], loss)
    assert new_value == pytest.approx(value, rel=1e-12)
    assert new_gradient == pytest.approx(gradient[order], abs=1e-9)


def test_the_same_sums_on_any_number_of_threads(loss):
    import ordinate

    triplets, points = problem(n=50, d=2, m=200_000)
    sums = []
    for number in (1, 2, 3):
        with ordinate.threads(number):
            sums.append(store_of(triplets, "numba").loss(points, loss))
    assert all(value == sums[0][0] and (g == sums[0][1]).all() for value, g in sums)


def planted(truth, loss, m, seed=0):
    """Answers about a map: by the probability that the loss stands for, or without noise."""
    rng = np.random.default_rng(seed)
    rows = sample(truth, m, noise="none", random_state=seed).rows
    near, far = ((truth[rows[:, [0, 0]]] - truth[rows[:, 1:]]) ** 2).sum(axis=2).T
    wrong = np.zeros(m, bool)
    if loss.is_likelihood:
        wrong = rng.random(m) > loss.probability(near, far)
    return np.where(wrong[:, None], rows[:, [0, 2, 1]], rows)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("d", "device"), [(2, "cpu"), (3, "cpu"), (2, "torch")])
def test_planted_maps_are_found(name, d, device):
    """The error is 0.01 to 0.06 from 300,000 answers; with the scale, where answers tell it well."""
    truth = 2 * sample_points(60, d, random_state=d)
    where = None
    if device == "torch":
        where = pytest.importorskip("torch", reason="torch is not installed").device("cpu")
    model = clone(ESTIMATORS[name]).set_params(n_components=d, device=where, random_state=0)
    loss = model._loss(d)
    has_scale = loss.name in ("ste", "probit", "tste")
    if loss.name in ("gnmds", "soe"):
        model.set_params(regularization=1.0, tol=1e-2)
    # torch's CPU is slow: fewer answers, and a larger error.
    m, most = (300_000, 0.08) if device == "cpu" else (30_000, 0.25)
    model.fit(planted(truth, loss, m))
    error = procrustes_error(model.embedding_, truth, scale=not has_scale, relative=True)
    assert error < most


@pytest.mark.parametrize("backend", BACKENDS)
def test_coinciding_points_cost_no_nan(loss, backend):
    triplets, points = problem()
    store = store_of(triplets, backend)
    for place in (np.zeros_like(points), np.where(np.arange(9)[:, None] < 5, 0.0, points)):
        value, gradient = store.loss(place, loss)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert all(np.isfinite(block).all() for block in store.curvature(place, loss))
        assert all(np.isfinite(sums).all() for sums in store.shape(place, loss))
