"""How sure maps are: covariances of items, where they are kept, and how often they hold the truth."""

import json
import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.stats import chi2

import ordinate
from ordinate import (
    CKL,
    GNMDS,
    LOE,
    STE,
    TSTE,
    OrdinalEmbedding,
    Power,
    PowerEmbedding,
    Triplets,
    ondisk,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms import covariance as module
from ordinate.algorithms.covariance import covariances, honest_scale
from ordinate.estimators import loe
from ordinate.files.maps import read_map
from ordinate.kernels import losses
from ordinate.kernels.backends import numpy_
from ordinate.passes import store_of

WITH_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
STE_LOSS = losses.get("ste")
NO_WEIGHT = np.empty(0)


@pytest.fixture(scope="module")
def answers():
    return sample_triplets(sample_points(30, random_state=0), 6000, random_state=0)


@pytest.fixture(scope="module")
def about_landmarks():
    points = sample_points(60, random_state=0)
    return sample_triplets(points, 20_000, design="landmarks", landmarks=24, random_state=0)


def laid_over(model, truth):
    """Squared errors in units of the covariance, errors and expected ones, after alignment."""
    X, Y = model.embedding_ - model.embedding_.mean(axis=0), truth - truth.mean(axis=0)
    U, S, Vt = np.linalg.svd(X.T @ Y)
    turn = S.sum() / (X**2).sum() * U @ Vt
    E, C = X @ turn - Y, turn.T @ model.covariance_ @ turn
    return (E * np.linalg.solve(C, E[:, :, None])[:, :, 0]).sum(axis=1)


def coverage(make, ask, n, d, each, runs, size=1.0):
    held = []
    for seed in range(runs):
        truth = size * sample_points(n, d, random_state=seed)
        held.append(laid_over(make(truth).fit(ask(truth, each * n * d, 1000 + seed)), truth))
    return (np.concatenate(held) <= chi2.ppf(0.95, d)).mean()


def uniform(truth, m, seed):
    return sample_triplets(truth, m, random_state=seed)


def landmarks(truth, m, seed):
    number = 8 * truth.shape[1] + 8
    return sample_triplets(truth, m, design="landmarks", landmarks=number, random_state=seed)


def human(truth, m, seed):
    return sample_triplets(truth, m, noise=Power(0.5, 1.0, 0.02), random_state=seed)


def odd_one_out(truth, m, seed):
    """Pairs of three are picked in proportion to exp(-distance^2); two rows each."""
    rng = np.random.default_rng(seed)
    three = np.array([rng.choice(len(truth), 3, replace=False) for _ in range(m)])
    i, j = three[:, [1, 2, 0]], three[:, [2, 0, 1]]
    away = ((truth[i] - truth[j]) ** 2).sum(axis=2)
    odd = (rng.gumbel(size=away.shape) - away).argmax(axis=1)[:, None]
    i, j, k = (np.take_along_axis(items, odd, axis=1)[:, 0] for items in (i, j, three))
    rows = np.stack([np.column_stack([i, j, k]), np.column_stack([j, i, k])], axis=1)
    return Triplets(rows.reshape(-1, 3), n_items=len(truth), answer=np.repeat(np.arange(m), 2))


def ste(truth):
    return STE(truth.shape[1], init=truth)


@pytest.mark.parametrize(
    ("make", "ask", "d", "each", "size"),
    [
        (ste, uniform, 1, 40, 1),
        (ste, uniform, 2, 40, 1),
        (ste, uniform, 2, 200, 1),
        (ste, landmarks, 2, 40, 1),
        (ste, odd_one_out, 2, 40, 1),
        (lambda x: PowerEmbedding(x.shape[1], slope=1.0, init=x), human, 2, 40, 3),
        (lambda x: LOE(x.shape[1]), landmarks, 1, 200, 1),
        (lambda x: LOE(x.shape[1]), landmarks, 2, 200, 1),
        (lambda x: LOE(x.shape[1]), landmarks, 2, 40, 1),
        (lambda x: LOE(x.shape[1]), landmarks, 5, 40, 1),
        (lambda x: LOE(x.shape[1]), landmarks, 5, 200, 1),
    ],
)
def test_ellipses_hold_the_truth(make, ask, d, each, size):
    """Six runs of 60 items: 360 that are held or not, with a standard error of about 1.5 %."""
    assert 0.91 <= coverage(make, ask, 60, d, each, 6, size) <= 0.985


def test_rows_of_an_answer_are_not_independent():
    """Two rows that say nearly the same: without regard to that, ellipses are too small."""
    truth = sample_points(60, 2, random_state=0)
    triplets = odd_one_out(truth, 12_000, 0)
    model = ste(truth).fit(triplets)
    by_row, by_answer = (
        np.trace(model.covariance(by), axis1=1, axis2=2) for by in ("row", "answer")
    )
    assert model.covariance_kind_ == "answer"
    assert np.median(by_answer / by_row) > 1.1
    without = Triplets(triplets.rows, n_items=60)
    alone = ste(truth).fit(without)
    # Close: what is left out to find the scale is a row here, and an answer there.
    assert np.trace(alone.covariance_, axis1=1, axis2=2) == pytest.approx(by_row, rel=0.12)


def test_weights_count_votes(answers):
    """A row of weight 3 is three answers; for participants, all of one person."""
    twice = Triplets.concatenate([answers, answers, answers])
    weighted = Triplets(answers.rows, n_items=30, weight=np.full(len(answers), 3.0))
    points = np.random.default_rng(0).normal(size=(30, 2)) / 2
    once, often = (covariances(store_of(t), points, STE_LOSS) for t in (weighted, twice))
    assert once == pytest.approx(often, rel=1e-9)
    one = Triplets(
        answers.rows, n_items=30, weight=np.full(len(answers), 3.0), participant=range(6000)
    )
    by_one = covariances(store_of(one, by="participant"), points, STE_LOSS)
    assert np.median(by_one / once) == pytest.approx(3, rel=0.1)


def test_participants_who_repeat_themselves_tell_less(answers):
    """Every answer is given ten times by the same person."""
    rows, who = np.repeat(answers.rows, 10, axis=0), np.repeat(np.arange(6000), 10)
    triplets = Triplets(rows, n_items=30, participant=who)
    model = STE(random_state=0).fit(triplets)
    surer = np.trace(model.covariance(), axis1=1, axis2=2)
    honest = np.trace(model.covariance("participant"), axis1=1, axis2=2)
    assert np.median(honest / surer) > 5


def test_a_map_without_an_answer_is_one_newton_step_away(answers):
    """The loss of answers in maps that were fitted without them, refitted one by one."""
    few = answers[:600]
    model = STE(2, init=sample_points(30, random_state=0), regularization=2.0, tol=1e-9)
    points = model.fit(few).embedding_
    blocks = numpy_.curvature_sums(few.rows, NO_WEIGHT, points, STE_LOSS)[0]
    inverse = np.linalg.inv(blocks + 2 * np.eye(2))
    rows = few.rows[:12]
    found = [
        float(numpy_.left_out_sums(row[None], NO_WEIGHT, points, STE_LOSS, inverse, np.ones(1))[0])
        for row in rows
    ]
    seen = [numpy_.loss_sums(row[None], NO_WEIGHT, points, STE_LOSS)[0] for row in rows]
    again = STE(2, init=points, regularization=2.0, tol=1e-9)
    refitted = []
    for k, row in enumerate(rows):
        without = again.fit(few[np.arange(600) != k]).embedding_
        refitted.append(numpy_.loss_sums(row[None], NO_WEIGHT, without, STE_LOSS)[0])
    rise, expected = np.array(found) - seen, np.array(refitted) - seen
    assert (rise > 0).all()
    assert rise.sum() == pytest.approx(expected.sum(), rel=0.25)


@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_left_out_whole(weighted, answers):
    """An answer that says the same twice goes with both rows; by weight it counts as often."""
    rows, points = answers.rows[:400], np.random.default_rng(0).normal(size=(30, 2)) / 2
    twice, number = np.repeat(rows, 2, axis=0), np.repeat(np.arange(400), 2)
    inverse, scales = np.tile(np.eye(2) / 50, (30, 1, 1)), np.array([0.5, 1.0])
    together = numpy_.left_out_sums(twice, NO_WEIGHT, points, STE_LOSS, inverse, scales, number)
    apart = numpy_.left_out_sums(twice, NO_WEIGHT, points, STE_LOSS, inverse, scales)
    assert together[1] > apart[1]
    weight = np.full(800, 3.0) if weighted else NO_WEIGHT
    heavy = numpy_.left_out_sums(twice, weight, points, STE_LOSS, inverse, scales, number)
    assert heavy == pytest.approx((3 if weighted else 1) * together)
    store = store_of(Triplets(twice, n_items=30, answer=number), by="answer")
    assert store.left_out(points, STE_LOSS, inverse, scales) == pytest.approx(together)


@WITH_TORCH
def test_on_torch_too(answers, about_landmarks):
    import torch

    device = torch.device("cpu")
    sizes = [
        np.trace(LOE(device=where).fit(about_landmarks[::5]).covariance_, axis1=1, axis2=2)
        for where in (device, None)
    ]
    assert np.median(sizes[0] / sizes[1]) == pytest.approx(1, abs=0.02)  # scores differ a little
    model = STE(init=sample_points(30, random_state=0), device=device).fit(answers)
    on_cpu = STE(init=model.embedding_).fit(answers)
    assert model.covariance_ == pytest.approx(on_cpu.covariance_, rel=0.02, abs=1e-4)


def test_samples_take_whole_answers(monkeypatch):
    truth = sample_points(30, 2, random_state=0)
    store = store_of(odd_one_out(truth, 3000, 0), by="answer")
    few = store.sample(500)
    _, counts = np.unique(few.answers.number, return_counts=True)
    assert (counts == 2).all()
    assert 400 <= len(few) <= 1000
    monkeypatch.setattr(module, "ENOUGH", 0)
    monkeypatch.setattr(module, "LEAST", 4)
    sampled = honest_scale(store, truth, STE_LOSS)
    monkeypatch.undo()
    assert sampled == pytest.approx(honest_scale(store, truth, STE_LOSS), rel=0.1)


def test_the_honest_scale_shrinks_what_follows_chance(answers):
    """Few answers make a map too large; many leave it as it is."""
    few, many = (
        answers[:600],
        sample_triplets(sample_points(30, random_state=0), 60_000, random_state=1),
    )
    scales = []
    for triplets in (few, many):
        model = STE(init=sample_points(30, random_state=0)).fit(triplets)
        scales.append(honest_scale(store_of(triplets), model.embedding_, STE_LOSS))
    assert scales[0] < 0.8
    assert 0.95 < scales[1] <= 1


def test_the_honest_scale_takes_a_part_of_a_pass_where_nothing_shrinks():
    """200 triplets per coordinate tell the curvature, and a second round would tell the same."""
    truth = sample_points(30, random_state=0)
    store = store_of(sample_triplets(truth, 120_000, random_state=1))
    model = STE(init=truth).fit(sample_triplets(truth, 120_000, random_state=1))
    assert honest_scale(store, model.embedding_, STE_LOSS) == 1
    assert store.n_passes == pytest.approx((200 * 60 + 10_000) / 120_000, rel=0.1)


@pytest.mark.parametrize("kind", [STE, TSTE, CKL, PowerEmbedding, OrdinalEmbedding])
def test_every_likelihood_model_has_one(kind, answers):
    model = kind(random_state=0).fit(answers)
    C = model.covariance_
    assert C.shape == (30, 2, 2)
    assert np.array_equal(C, C.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(C) > 0).all()
    assert model.covariance_ is C
    assert model.covariance_doubt_ is None
    spread = np.sqrt((model.embedding_**2).mean())
    assert 0.01 < np.sqrt(np.diagonal(C, axis1=1, axis2=2)).mean() / spread < 0.5


def test_the_chosen_map_has_the_covariance_of_its_maker(answers):
    """Scaled with the map, and made with the loss and ridge that made it."""
    model = OrdinalEmbedding(random_state=0).fit(answers)
    made = PowerEmbedding(init=model.embedding_ / model.scale_, **model.maker_).fit(answers)
    expected = model.scale_**2 * np.linalg.det(made.covariance_) ** 0.5
    assert np.linalg.det(model.covariance_) ** 0.5 == pytest.approx(expected, rel=0.05)


def test_probit_and_numpy_alone(answers):
    model = STE(noise="thurstone", random_state=0).fit(answers)
    plain = STE(noise="thurstone", backend="numpy", init=model.embedding_).fit(answers)
    assert plain.covariance_ == pytest.approx(model.covariance_, rel=0.05, abs=1e-4)


def test_a_ridge_makes_surer(answers):
    few = answers[:1500]
    loose, tight = (
        STE(init=sample_points(30, random_state=0), regularization=ridge).fit(few)
        for ridge in (0.0, 20.0)
    )
    assert np.trace(tight.covariance_.mean(axis=0)) < np.trace(loose.covariance_.mean(axis=0))


def test_items_that_answers_leave_open():
    """One triplet says little about an item, and none nothing: large and finite, or NaN."""
    points = sample_points(20, random_state=0)
    rows = sample_triplets(points, 4000, random_state=0).rows
    triplets = Triplets(np.concatenate([rows, [[20, 0, 1]]]), n_items=22)
    with pytest.warns(UserWarning, match="in no triplet"):
        model = STE(random_state=0, regularization=0.1).fit(triplets)
    errors = np.sqrt(np.diagonal(model.covariance_, axis1=1, axis2=2)).max(axis=1)
    assert np.isnan(model.covariance_[21]).all()
    assert np.isfinite(errors[:21]).all()
    assert errors[20] > 4 * np.median(errors[:20])


def test_loe_knows_its_landmarks_error(about_landmarks):
    model = LOE().fit(about_landmarks)
    C, at = model.covariance_, model.landmarks_
    assert (np.linalg.eigvalsh(C) > 0).all()
    assert model.covariance_kind_ == "score"
    assert np.array_equal(C, LOE().fit(about_landmarks).covariance_)  # the same every time
    # A landmark's own column says nothing about it: all that is known comes from the others.
    assert 0.2 < np.median(np.linalg.det(C[at])) / np.median(np.linalg.det(C)) < 5


def test_loe_says_where_it_cannot_tell(about_landmarks, monkeypatch):
    """Scores of few comparisons, or without lifting, where the likelihood is not to be asked."""
    few = LOE(recovery="lift").fit(about_landmarks[::5])
    without_answers = pickle.loads(pickle.dumps(few))
    assert without_answers.covariance_kind_ == "score"
    assert few.covariance_kind_ == "answer"
    monkeypatch.setattr(loe, "FEW", 3999)
    with pytest.warns(UserWarning, match=r"a score comes from .* comparisons"):
        scores = few.covariance()
    assert np.array_equal(scores, without_answers.covariance_)
    model = LOE(recovery="edm").fit(about_landmarks)
    assert "landmarks' error cannot be told" in model.covariance_doubt_


def test_many_items_make_up_for_few_comparisons_of_a_score(monkeypatch):
    """6.7 comparisons a score, fewer than the 10 that few items need."""
    doubts, kinds = [], []
    for n in (100, 400):
        truth = sample_points(n, 2, random_state=0)
        asked = sample_triplets(truth, 80 * n, design="landmarks", landmarks=24, random_state=0)
        model = LOE().fit(asked)
        assert model.covariance_doubt_ is None
        kinds.append(model.covariance_kind_)
        with monkeypatch.context() as patched:
            patched.setattr(loe, "FEW", 0)
            doubts.append(LOE().fit(asked).covariance_doubt_)
    assert "6.7 comparisons on average, and it takes 10 in 2 dimensions, or 1" in doubts[0]
    assert doubts[1] is None
    assert kinds == ["answer", "score"]


def test_the_likelihood_of_few_comparisons_tells_how_sure_loe_is(about_landmarks):
    """The mean square of the truth about LOE's place, given the likeliest one: C + (x-y)(x-y)'."""
    few = about_landmarks[::5]
    model = LOE().fit(few)
    likeliest = STE(init=model.embedding_).fit(few)
    X, Y = model.embedding_, likeliest.embedding_
    U, S, Vt = np.linalg.svd(Y.T @ X)
    turn = U @ Vt * (X**2).sum() / S.sum()  # by which X would be laid over Y, and back
    off = X - Y @ turn
    expected = turn.T @ likeliest.covariance_ @ turn + off[:, :, None] * off[:, None, :]
    assert model.covariance_ == pytest.approx(expected, rel=1e-3, abs=1e-6)
    assert model.covariance_doubt_ is None


def test_the_likelihood_tells_where_scores_find_nothing_but_noise(monkeypatch):
    """Scores enough, on one line, that may be chance by more than half: LOE asks the likelihood."""
    truth = sample_points(60, 1, random_state=0)
    model = LOE(1).fit(landmarks(truth, 2400, 1000))
    assert model.covariance_kind_ == "score"
    monkeypatch.setattr("ordinate.estimators.uncertain.MOST_NOISE", 0.09)
    vars(model).pop("_covariance")
    assert model.covariance_kind_ == "answer"


def test_comparisons_of_an_answer_are_not_independent_where_the_likelihood_tells(about_landmarks):
    rows = about_landmarks[::5].rows
    twice = Triplets(np.repeat(rows, 2, axis=0), n_items=60, answer=np.repeat(np.arange(4000), 2))
    model = LOE(recovery="edm").fit(twice)
    by_row, by_answer = (
        np.median(np.trace(model.covariance(by), axis1=1, axis2=2)) for by in ("row", "answer")
    )
    assert by_answer > 1.2 * by_row


def test_the_likelihood_knows_only_what_loe_used(about_landmarks):
    """Rows about other anchors make no difference, and items in no others have no place."""
    few = about_landmarks[::5]
    alone = LOE().fit(few)
    at = alone.landmarks_
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(60)[:3] for _ in range(2000)])
    rows = np.concatenate([few.rows, rows[~np.isin(rows[:, 0], at)]])
    with pytest.warns(UserWarning, match="triplets were not used"):
        model = LOE(landmarks=at).fit(Triplets(rows, n_items=60))
    assert np.array_equal(model.covariance_, alone.covariance_)
    rows[-1, 2] = 60
    with pytest.warns(UserWarning, match=r"not used|no place"):
        model = LOE(landmarks=at).fit(Triplets(rows, n_items=61))
    assert np.isnan(model.covariance_[60]).all()
    assert model.covariance_doubt_ is None
    assert model.covariance_[:60] == pytest.approx(alone.covariance_, rel=0.05, abs=1e-3)


def test_answers_without_contradictions_have_no_likeliest_map():
    truth = sample_points(60, 2, random_state=0)
    asked = sample_triplets(
        truth, 4800, noise="none", design="landmarks", landmarks=24, random_state=0
    )
    assert "was not found" in LOE().fit(asked).covariance_doubt_


def test_too_few_answers_are_told(answers):
    model = STE(init=sample_points(30, random_state=0)).fit(answers[:400])
    with pytest.warns(UserWarning, match=r"not to be trusted: there are 6\.7 answers per item"):
        model.covariance()
    assert model.covariance_doubt_.startswith("there are 6.7")


def test_a_map_of_chance_is_told():
    """Answers enough, and all of them tossed up."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(12)[:3] for _ in range(600)])
    model = STE(random_state=0).fit(rows)
    assert "of the map's spread may be chance" in model.covariance_doubt_


def test_files_take_rows_for_answers(answers, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, answers.rows)
    stored = ondisk.open_triplets(path, n_items=30, memory_limit=60_000_000)
    stored.fits  # noqa: B018
    model = STE(init=sample_points(30, random_state=0)).fit(answers)
    expected = model.covariance_
    model._data = stored
    del model._covariance
    assert model.covariance_ == pytest.approx(expected, rel=1e-9)
    assert model.covariance_kind_ == "row"
    with pytest.raises(ValueError, match="streamed from a file"):
        model.covariance("participant")


def test_saved_and_loaded(answers, tmp_path):
    named = Triplets(answers.rows, items=[f"item {k}" for k in range(30)])
    model = STE(random_state=0).fit(named)
    model.save(tmp_path / "map")
    again = ordinate.load(tmp_path / "map")
    assert np.array_equal(again.covariance_, model.covariance_)
    assert (again.covariance_kind_, again.covariance_doubt_) == ("answer", None)
    table = read_map(tmp_path / "map" / "embedding.csv")
    assert table.points.shape == (30, 2)
    errors = np.sqrt(np.diagonal(model.covariance_, axis1=1, axis2=2))
    assert np.column_stack([table.columns["se1"], table.columns["se2"]]) == pytest.approx(errors)
    again.save(tmp_path / "again")
    assert np.array_equal(ordinate.load(tmp_path / "again").covariance_, model.covariance_)
    GNMDS(random_state=0).fit(named).save(tmp_path / "gnmds")
    assert not (tmp_path / "gnmds" / "covariance.npy").exists()


def test_a_model_without_answers_says_what_to_do(answers, tmp_path):
    model = pickle.loads(pickle.dumps(STE(random_state=0).fit(answers)))
    with pytest.raises(AttributeError, match="fit it again"):
        model.covariance_  # noqa: B018
    assert not hasattr(model, "covariance_")
    model.save(tmp_path / "map")
    assert not hasattr(ordinate.load(tmp_path / "map"), "covariance_")
    fitted = STE(random_state=0).fit(answers)
    known = fitted.covariance_
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).covariance_, known)
    fitted.fit(answers[:3000])
    assert not np.array_equal(fitted.covariance_, known)


@pytest.mark.parametrize("damage", ["shape", "text", "missing", "kind"])
def test_damaged_covariances_are_refused(answers, tmp_path, damage):
    STE(random_state=0).fit(answers).save(tmp_path / "map")
    path = tmp_path / "map" / "covariance.npy"
    if damage == "shape":
        np.save(path, np.zeros((30, 3, 3)))
    elif damage == "text":
        path.write_text("not an array")
    elif damage == "missing":
        path.unlink()
    else:
        record = json.loads((tmp_path / "map" / "model.json").read_text())
        record["covariance"]["by"] = "magic"
        (tmp_path / "map" / "model.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"covariance"):
        ordinate.load(tmp_path / "map")


def test_no_map_is_lost_because_of_its_errors(answers, tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError("no room")

    model = STE(random_state=0).fit(answers)
    monkeypatch.setattr(STE, "_covariances", fail)
    with pytest.warns(UserWarning, match="how sure the map is could not be computed.*no room"):
        model.save(tmp_path / "map")
    again = ordinate.load(tmp_path / "map")
    assert np.array_equal(again.embedding_, model.embedding_)
    assert not hasattr(again, "covariance_")


def test_unknown_kinds_are_refused(answers):
    model = STE(random_state=0).fit(answers)
    with pytest.raises(ValueError, match="by must be"):
        model.covariance("item")
    with pytest.raises(ValueError, match="who answered"):
        model.covariance("participant")
