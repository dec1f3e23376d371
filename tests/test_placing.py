"""New items on a map that stays as it is: where they land, how sure that is, and what is told."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ordinate
from ordinate import (
    CKL,
    GNMDS,
    LOE,
    SOE,
    STE,
    TSTE,
    OrdinalEmbedding,
    PowerEmbedding,
    Triplets,
    align,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms.placing_new import place_new
from ordinate.algorithms.placing_one import About, Extent, place_apart
from ordinate.kernels import backends, losses

LOSSES = [losses.get(name) for name in losses.NAMES]
LIKELIHOODS = [loss for loss in LOSSES if loss.is_likelihood]
plain, fast = backends.load("numpy"), backends.load("numba")


def by_name(value):
    return value.name if isinstance(value, losses.Loss) else None


def answers_about(new, known, m, seed, role=None, scale=1.0):
    """A map with some items left out (NaN), and m answers about each of these, by BTL."""
    rng = np.random.default_rng(seed)
    truth = scale * sample_points(known + new, 2, random_state=seed)
    item = np.repeat(np.arange(known, known + new), m)
    others = np.array([rng.choice(known, 2, replace=False) for _ in item])
    rows = np.column_stack([item, others])
    roles = rng.integers(3, size=len(rows)) if role is None else np.full(len(rows), role)
    rows = np.take_along_axis(rows, (np.arange(3) - roles[:, None]) % 3, axis=1)
    near, far = (((truth[rows[:, 0]] - truth[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    turned = rng.random(len(rows)) > 1 / (1 + np.exp(near - far))
    rows[turned] = rows[turned][:, [0, 2, 1]]
    points = truth.copy()
    points[known:] = np.nan
    return truth, points, rows


def about_of(rows, points, loss, weight=None, backend=fast):
    items = np.flatnonzero(np.isnan(points[:, 0]))
    weight = np.empty(0) if weight is None else weight
    return About.of(rows, weight, items, points, loss, backend)


# The kernel.


@pytest.mark.parametrize("loss", LOSSES, ids=by_name)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_and_its_plain_twin(loss, weighted):
    _, points, rows = answers_about(5, 12, 9, 0)
    weight = np.random.default_rng(0).random(len(rows)) if weighted else None
    chosen = np.array([3, 0, 4])
    places = np.random.default_rng(1).normal(size=(3, 2, 2))
    ours = about_of(rows, points, loss, weight).sums(chosen, places)
    twin = about_of(rows, points, loss, weight, plain).sums(chosen, places)
    for one, other in zip(ours, twin, strict=True):
        assert one == pytest.approx(other, rel=1e-10, abs=1e-10)
    alone = about_of(rows, points, loss, weight).sums(chosen, places, slopes=False)[0]
    assert alone == pytest.approx(ours[0], rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=by_name)
def test_slopes_agree_with_finite_differences(loss, backend):
    _, points, rows = answers_about(1, 12, 30, 3)
    about = about_of(rows, points, loss, backend=backend)

    def value(x):
        return about.sums(np.array([0]), x[None, None], slopes=False)[0][0, 0]

    x = np.array([0.31, -0.17])
    gradient = about.sums(np.array([0]), x[None, None])[1][0, 0]
    assert gradient == pytest.approx(approx_fprime(x, value, 1e-7), rel=1e-4, abs=1e-4)


def test_the_curvature_is_exact_for_an_anchor_of_ste(backend):
    """Where the difference of squared distances is linear, expected and exact are the same."""
    _, points, rows = answers_about(1, 12, 30, 3, role=0)
    about = about_of(rows, points, losses.get("ste"), backend=backend)
    x = np.array([0.31, -0.17])

    def slope(x):
        return about.sums(np.array([0]), x[None, None])[1][0, 0]

    curvature = about.sums(np.array([0]), x[None, None])[2][0, 0]
    assert curvature == pytest.approx(approx_fprime(x, slope, 1e-6), abs=1e-5)


# One optimum, or the best of several.


@pytest.mark.parametrize("name", ["ste", "probit"])
@given(seed=st.integers(0, 10_000))
def test_for_an_anchor_any_start_ends_in_the_same_place(name, seed):
    """Minus the log-likelihood is convex there: chords lie above it, and there is one optimum."""
    _, points, rows = answers_about(3, 15, 25, seed, role=0)
    about = about_of(rows, points, losses.get(name))
    assert about.convex.all()
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=(2, 3, 1, 2)) * 3
    everyone = np.arange(3)
    middle = about.sums(everyone, ends.mean(axis=0))[0]
    assert (
        middle <= (about.sums(everyone, ends[0])[0] + about.sums(everyone, ends[1])[0]) / 2
    ).all()
    extent = Extent.of(points[:15])
    found = [
        place_apart(about, extent, 0.3, starts=rng.normal(size=(3, 1, 2)) * 5)[0] for _ in range(3)
    ]
    assert found[1] == pytest.approx(found[0], abs=1e-6)
    assert found[2] == pytest.approx(found[0], abs=1e-6)


@pytest.mark.parametrize("loss", LIKELIHOODS, ids=by_name)
def test_places_are_as_good_as_the_best_of_many_descents(loss):
    _, points, rows = answers_about(6, 40, 60, 1, scale=3.0)
    about = about_of(rows, points, loss)
    extent, ridge = Extent.of(points[:40]), 0.1
    places, weak = place_apart(about, extent, ridge)
    assert not weak.all()
    for k in np.flatnonzero(~weak):

        def value(x, k=k):
            own = about.sums(np.array([k]), x[None, None])
            return own[0][0, 0] + 0.05 * ((x - extent.centre) ** 2).sum()

        best = min(minimize(value, start, method="BFGS").fun for start in points[:40:2])
        assert value(places[k]) <= best + 0.01


def test_two_optima_are_told_apart():
    """An item that is only ever near or far from items on a line may be on either side of it."""
    known = np.column_stack([np.linspace(-2, 2, 9), np.linspace(0.0, 0.1, 9)])
    points = np.concatenate([known, [[np.nan, np.nan]]])
    truth = np.array([0.4, 1.5])
    rows = []
    for anchor in range(9):
        for other in range(9):
            if anchor != other:
                near = ((known[anchor] - truth) ** 2).sum()
                far = ((known[anchor] - known[other]) ** 2).sum()
                rows.append([anchor, 9, other] if near < far else [anchor, other, 9])
    # One who has seen the truth says on which side it is.
    points[8] = [0.4, 2.0]
    rows += [[8, 9, k] for k in range(8)] * 3
    found = place_new(np.array(rows), None, points, losses.get("ste"), regularization=0.2)
    assert found.points[0, 1] > 0.5


@pytest.mark.parametrize(
    "model",
    [
        STE(tol=1e-12),
        STE(noise="thurstone", tol=1e-12),
        STE(regularization=3.0, tol=1e-12),
        TSTE(tol=1e-12),
        CKL(tol=1e-12),
        PowerEmbedding(regularization=0.3, tol=1e-12),
        OrdinalEmbedding(tol=1e-12),
    ],
    ids=str,
)
def test_a_copy_of_an_item_lands_on_it(model):
    """Under the fit's own loss and ridge, answers about a copy lead to the item's own place."""
    points = 2 * sample_points(20, 2, random_state=4)
    rows = sample_triplets(points, 4000, random_state=5).rows
    model = clone(model).set_params(random_state=0).fit(rows)
    copied = np.array([3, 11])
    new = [
        np.where(about == item, 20 + k, about)
        for k, item in enumerate(copied)
        for about in [rows[(rows == item).any(axis=1)]]
    ]
    placed = model.place(np.concatenate(new))
    size = np.abs(model.embedding_).max()
    assert placed.points == pytest.approx(model.embedding_[copied], abs=2e-3 * size)
    assert not placed.weak.any()


@pytest.mark.parametrize("method", [GNMDS, SOE])
def test_hinges_place_items_without_a_covariance(method):
    points = sample_points(31, 2, random_state=4)
    triplets = sample_triplets(points, 9000, noise=0.1, random_state=5)
    about = (triplets.rows == 30).any(axis=1)
    model = method(random_state=0).fit(triplets.rows[~about])
    placed = model.place(triplets[about])
    assert np.isnan(placed.covariance).all()
    full = np.concatenate([model.embedding_, placed.points])
    off = np.linalg.norm(align(full, points, scale=True) - points, axis=1)
    assert off[30] < 3 * np.median(off)


# Statistics.


@pytest.mark.parametrize("d", [2, 5])
def test_from_20_d_answers_an_item_is_off_by_less_than_twice_the_error_of_a_refit(d):
    known, new = 100, 30
    truth = sample_points(known + new, d, random_state=d)
    many = sample_triplets(truth[:known], 200 * known * d, random_state=d)
    rng = np.random.default_rng(d)
    rows = []
    for item in range(known, known + new):
        for _ in range(20 * d):
            row = rng.permutation([item, *rng.choice(known, 2, replace=False)])
            near, far = (((truth[row[0]] - truth[row[k]]) ** 2).sum() for k in (1, 2))
            rows.append(row if rng.random() < 1 / (1 + np.exp(near - far)) else row[[0, 2, 1]])
    rows = np.array(rows)
    model = STE(d, random_state=0).fit(many)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are weak
        placed = model.place(rows)
    full = STE(d, random_state=0).fit(np.concatenate([many.rows, rows]))
    errors = []
    for found in (np.concatenate([model.embedding_, placed.points]), full.embedding_):
        back = found - found[:known].mean(axis=0)
        goal = truth - truth[:known].mean(axis=0)
        U, _, V = np.linalg.svd(back[:known].T @ goal[:known])
        errors.append(float(np.sqrt(((back @ U @ V - goal)[known:] ** 2).mean())))
    assert errors[0] < 1.2 * errors[1]


@pytest.mark.parametrize("role", [0, None])
def test_covariances_cover(role):
    """Of places, 95 of 100 ellipses of 95 % hold the truth; simulated at a clear scale."""
    truth, points, rows = answers_about(300, 60, 200, 7, role=role, scale=1.5)
    found = place_new(rows, None, points, losses.get("ste"))
    off = found.points - truth[found.items]
    inside = np.einsum("ki,kij,kj->k", off, np.linalg.inv(found.covariance), off) < 5.991
    assert 0.92 <= inside.mean() <= 0.975  # 0.95 with a standard error of 0.013


def test_rows_of_one_answer_do_not_count_as_several():
    """An answer in two rows that say the same tells no more than one of them."""
    _, points, rows = answers_about(50, 60, 80, 8, scale=1.5)
    once = place_new(rows, None, points, losses.get("ste"))
    answer = np.tile(np.arange(len(rows)), 2)
    for kept, times in ((answer, 1.0), (None, 0.5)):
        twice = place_new(
            np.concatenate([rows, rows]), None, points, losses.get("ste"), answer=kept
        )
        strong = ~once.weak & ~twice.weak
        ratio = twice.covariance[strong] / once.covariance[strong]
        assert np.median(ratio) == pytest.approx(times, rel=0.02)
        assert twice.points[strong] == pytest.approx(once.points[strong], abs=1e-4)


def test_weights_count_rows():
    _, points, rows = answers_about(4, 30, 60, 9, scale=2.0)
    times = np.random.default_rng(0).integers(1, 4, len(rows))
    weighted = place_new(rows, times.astype(float), points, losses.get("tste"))
    repeated = place_new(np.repeat(rows, times, axis=0), None, points, losses.get("tste"))
    assert weighted.points == pytest.approx(repeated.points, abs=1e-5)
    assert weighted.covariance == pytest.approx(repeated.covariance, rel=1e-3)


# Few answers, and new items among themselves.


@given(seed=st.integers(0, 10_000), m=st.integers(1, 4))
def test_however_few_answers_places_are_finite_and_near_the_map(seed, m):
    _, points, rows = answers_about(3, 12, m, seed)
    found = place_new(rows, None, points, losses.get("ste"))
    assert np.isfinite(found.points).all()
    reach = np.abs(points[:12]).max()
    assert np.abs(found.points).max() < 4 * reach
    assert (np.linalg.eigvalsh(found.covariance)[:, 0] > 0).all()
    assert found.n_rows.tolist() == [m] * 3


def test_answers_that_set_no_limit_leave_an_item_weak():
    """However many say that an item is farther out than all others, none says how far."""
    known = np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 6, 12)])
    points = np.concatenate([known, np.full((1, 2), np.nan)])
    rows = np.array([[12, near, far] for near in range(3) for far in range(4, 12)] * 20)
    found = place_new(rows, None, points, losses.get("ste"))
    assert found.weak.tolist() == [True]
    assert np.linalg.norm(found.points[0]) < 10
    assert found.points[0] @ known[1] > 0


def test_a_ridge_that_is_stronger_than_the_extent_is_what_helps():
    _, points, rows = answers_about(2, 20, 1, 4)
    strong = place_new(rows, None, points, losses.get("ste"), regularization=50.0)
    plain_ = place_new(rows, None, points, losses.get("ste"))
    assert strong.weak.all()
    assert np.linalg.eigvalsh(strong.covariance).max() <= 1 / 50 + 1e-12
    centre = points[:20].mean(axis=0)
    assert np.abs(strong.points - centre).max() < np.abs(plain_.points - centre).max()
    slight = place_new(rows, None, points, losses.get("ste"), regularization=1e-6)
    assert slight.points == pytest.approx(plain_.points, abs=1e-8)


def test_new_items_that_are_compared_with_each_other_are_placed_together():
    """As by a descent over all of their coordinates at once."""
    truth = 2 * sample_points(40, 2, random_state=2)
    triplets = sample_triplets(truth, 20_000, random_state=3)
    points = truth.copy()
    points[30:] = np.nan
    rows = triplets.rows
    found = place_new(rows, None, points, losses.get("ste"), regularization=0.5)
    centre, loss = truth[:30].mean(axis=0), losses.get("ste")
    about = rows[(rows >= 30).any(axis=1)].astype(np.uint32)

    def value(x):
        whole = np.concatenate([truth[:30], x.reshape(10, 2)])
        cost, gradient = plain.loss_sums(about, np.empty(0), whole, loss)
        away = whole[30:] - centre
        return cost + 0.25 * (away**2).sum(), (gradient[30:] + 0.5 * away).ravel()

    best = minimize(value, found.points.ravel(), jac=True, method="BFGS")
    assert found.points == pytest.approx(best.x.reshape(10, 2), abs=1e-3)
    alone = place_new(rows[(rows >= 30).sum(axis=1) <= 1], None, points, loss, regularization=0.5)
    assert np.abs(found.points - alone.points).max() > 1e-2


def test_an_item_known_only_by_way_of_another_new_one_is_placed_after_it():
    truth = 3 * sample_points(22, 2, random_state=2)
    triplets = sample_triplets(truth, 20_000, random_state=3)
    rows = triplets.rows
    has = (rows == 21).any(axis=1)
    rows = rows[~has | (rows == 20).any(axis=1)]
    points = truth.copy()
    points[20:] = np.nan
    found = place_new(rows, None, points, losses.get("ste"))
    about = rows[(rows >= 20).any(axis=1)].astype(np.uint32)
    cost = [
        plain.loss_sums(about, np.empty(0), np.concatenate([truth[:20], new]), losses.get("ste"))[0]
        for new in (found.points, truth[20:])
    ]
    assert cost[0] < cost[1] < cost[0] + 8


def test_items_that_are_only_ever_compared_in_pairs_are_placed_too():
    """No row is about one new item alone, yet together the rows say where both are."""
    truth = 2 * sample_points(32, 2, random_state=5)
    rows = sample_triplets(truth, 60_000, random_state=6).rows
    rows = rows[(rows >= 30).sum(axis=1) != 1]
    points = truth.copy()
    points[30:] = np.nan
    found = place_new(rows, None, points, losses.get("ste"))
    about = rows[(rows >= 30).any(axis=1)].astype(np.uint32)
    cost = [
        plain.loss_sums(about, np.empty(0), np.concatenate([truth[:30], new]), losses.get("ste"))[0]
        for new in (found.points, truth[30:])
    ]
    assert cost[0] < cost[1]
    assert not found.weak.any()


def test_items_that_nothing_relates_to_the_map_have_no_place():
    _, points, rows = answers_about(2, 12, 30, 0)
    points = np.concatenate([points, np.full((3, 2), np.nan)])
    rows = np.concatenate([rows, [[14, 15, 16], [15, 14, 16]]])
    found = place_new(rows, None, points, losses.get("ste"))
    assert np.isnan(found.points[:, 0]).tolist() == [False, False, True, True, True]
    assert np.isnan(found.covariance[2:]).all()


def test_the_order_of_rows_makes_no_difference():
    _, points, rows = answers_about(5, 20, 40, 1)
    found = place_new(rows, None, points, losses.get("tste"))
    turned = place_new(rows[::-1], None, points, losses.get("tste"))
    assert turned.points == pytest.approx(found.points, abs=1e-6)


# Estimators.


@pytest.fixture(scope="module")
def study():
    """A fitted map with labels, and answers about it and two new items, in a frame."""
    points = 2 * sample_points(22, 2, random_state=0)
    rows = sample_triplets(points, 12_000, random_state=1).rows
    names = np.array([f"item {k:02}" for k in range(20)] + ["zebra", "ant"], object)
    about = (rows >= 20).any(axis=1)
    model = STE(random_state=0).fit(Triplets.from_columns(*names[rows[~about]].T))
    frame = pd.DataFrame(names[rows[about]], columns=["anchor", "near", "far"])
    return model, frame, names, points


def test_new_items_come_in_the_order_of_their_first_answer(study):
    model, frame, names, points = study
    first = [label for label in frame.to_numpy().ravel() if label in ("zebra", "ant")]
    placed = model.place(frame)
    assert placed.items.tolist() == list(dict.fromkeys(first))
    assert placed.n_triplets.tolist() == [
        int((frame == label).to_numpy().any(axis=1).sum()) for label in placed.items
    ]
    assert placed.standard_errors == pytest.approx(
        np.sqrt([np.diag(block) for block in placed.covariance])
    )
    whole = np.concatenate([model.embedding_, placed.points])
    order = [*range(20), *(names.tolist().index(label) for label in placed.items)]
    off = np.linalg.norm(align(whole, points[order]) - points[order], axis=1)
    assert off.max() < 0.5


def test_transform_has_a_row_for_each_item_of_the_answers(study):
    model, frame, _, _ = study
    placed = dict(zip(model.place(frame).items, model.place(frame).points, strict=True))
    known = dict(zip(model.items_, model.embedding_, strict=True))
    labels = ordinate.as_triplets(frame).items
    points = model.transform(frame)
    assert points.shape == (len(labels), 2)
    for label, point in zip(labels, points, strict=True):
        assert point.tolist() == (known | placed)[label].tolist()
    framed = clone(model).set_output(transform="pandas")
    vars(framed).update({k: v for k, v in vars(model).items() if k.endswith("_")})
    table = framed.transform(frame)
    assert table.index.tolist() == labels.tolist()
    assert table.columns.tolist() == ["ste0", "ste1"]
    assert (table.to_numpy() == points).all()
    assert model.embedding_.shape == (20, 2)


def test_responses_turn_rows(study):
    model, frame, _, _ = study
    turned = frame[["anchor", "far", "near"]].set_axis(frame.columns, axis=1)
    y = np.full(len(frame), -1)
    assert (model.place(turned, y).points == model.place(frame).points).all()


def test_what_is_told(study):
    model, frame, _, _ = study
    with pytest.warns(UserWarning, match=r"1 of 1 new items .*too few.* place emu"):
        model.place(Triplets.from_columns(["emu"], ["item 01"], ["item 02"]))
    rows = [["emu", "item 01", "item 02"], ["a", "b", "c"]]
    with (
        pytest.warns(UserWarning, match="3 new items have no place"),
        pytest.warns(UserWarning, match="too few"),
    ):
        placed = model.place(Triplets.from_columns(*np.array(rows).T))
    assert np.isnan(placed.points[1:]).all()
    slip = frame.replace({"zebra": "Item 07 "})
    with pytest.warns(UserWarning, match=r"new only by case.*'item 07' and 'Item 07 '"):
        model.place(slip)
    with pytest.raises(
        ValueError, match=r"none of the 3 items .* name a, b, c, and the map item 00"
    ):
        model.place(Triplets.from_columns(["a"], ["b"], ["c"]))
    with pytest.raises(ValueError, match="ids reach 20.*have labels"):
        model.place([[20, 1, 2]])
    with pytest.raises(NotFittedError):
        STE().place(frame)


def test_no_new_item_is_no_error(study):
    model, _, _, _ = study
    with pytest.warns(UserWarning, match="taken for positions"):
        placed = model.place([[0, 1, 2]])
    assert [len(each) for each in placed] == [0] * 5
    assert placed.standard_errors.shape == (0, 2)


def test_items_of_the_fit_without_a_place_are_new():
    points = sample_points(20, 2, random_state=0)
    rows = sample_triplets(points, 4000, random_state=1).rows
    with pytest.warns(UserWarning, match="no place"):
        model = STE(n_items=21, random_state=0).fit(rows)
    new = np.where(rows == 3, 20, rows)[(rows == 3).any(axis=1)]
    assert model.place(new).items.tolist() == [20]
    assert model.transform(new)[20] == pytest.approx(model.embedding_[3], abs=0.02)


def test_loe_and_models_from_files_place_too(tmp_path):
    points = 2 * sample_points(61, 2, random_state=0)
    triplets = sample_triplets(
        points, 60_000, design="landmarks", landmarks=25, random_state=1
    ).rows
    new = 60 if 60 not in triplets[:, 0] else int(np.setdiff1d(np.arange(61), triplets[:, 0])[0])
    order = np.arange(61)
    order[[new, 60]] = order[[60, new]]
    triplets, points = order[triplets], points[order]
    about = (triplets == 60).any(axis=1)
    for model in (LOE(), STE(random_state=0, n_init=1)):
        model.fit(triplets[~about])
        placed = model.place(triplets[about])
        whole = np.concatenate([model.embedding_, placed.points])
        off = np.linalg.norm(align(whole, points) - points, axis=1)
        assert off[60] < 0.5
        model.save(tmp_path / type(model).__name__)
        again = ordinate.load(tmp_path / type(model).__name__)
        assert again.place(triplets[about]).points == pytest.approx(placed.points, abs=1e-6)
        pickled = pickle.loads(pickle.dumps(model))
        assert pickled.place(triplets[about]).points == pytest.approx(placed.points, abs=1e-12)
