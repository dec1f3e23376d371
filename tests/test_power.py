"""The power family: accuracy, its known points, probabilities, simulated answers."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from typer.testing import CliRunner

import ordinate
from ordinate import (
    CKL,
    GNMDS,
    SOE,
    STE,
    TSTE,
    Power,
    PowerEmbedding,
    Triplets,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.cli import app
from ordinate.kernels import functions, losses
from ordinate.kernels.formulas import LINKS, PENALTIES
from ordinate.passes import MemoryTriplets

SIGMAS = 4.5  # a frequency farther than this from its probability is a fault, not chance
LAPSING = PENALTIES["lapsing logistic"]
DISTANCES = np.array([0.0, 1e-14, 1e-6, 0.1, 0.5, 3.0, 100.0, 1e6])
POWERS = [-0.7, -1e-3, -1e-9, -1e-300, 0.0, 1e-320, 1e-16, 1e-8, 1e-4, 0.01, 0.5, 1.0, 1.5]


def exact_power(u, p):
    """Long doubles have three digits more."""
    L = np.log1p(u.astype(np.longdouble))
    p = np.longdouble(p)
    value = L + p * L**2 / 2 + p**2 * L**3 / 6 if abs(p) < 1e-7 else np.expm1(p * L) / p
    by_power = sum(
        p**n * L ** (n + 2) * (n + 1) / np.prod(np.arange(1.0, n + 3)) for n in range(80)
    )
    return value.astype(float), by_power.astype(float)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("power", POWERS)
def test_the_link_is_accurate_through_power_zero(power, backend):
    link = LINKS["power"]
    value, slope, by_power, by_slope = (
        of_backend(formula, backend)(DISTANCES, power, 2.0)
        for formula in (link.value, link.slope, *link.by_shape)
    )
    exact, exact_by_power = exact_power(DISTANCES, power)
    assert value == pytest.approx(2 * exact, rel=1e-13, abs=1e-300)
    assert by_slope == pytest.approx(exact, rel=1e-13, abs=1e-300)
    assert slope == pytest.approx(2 * (1 + DISTANCES) ** (power - 1), rel=1e-13)
    assert by_power == pytest.approx(2 * exact_by_power, rel=1e-12, abs=1e-300)


def of_backend(formula, backend):
    if backend == "numpy":
        return formula
    from ordinate.kernels.backends.numba_.functions import DOUBLE

    compiled = DOUBLE.translate(formula)
    return lambda x, *shape: np.array([compiled(number, *shape) for number in x])


def test_the_series_meets_the_difference():
    x = np.nextafter(functions.SMALL, [0.0, 1.0])
    for side in (x, -x):
        one, other = functions.exprel_slope(side)
        assert one == pytest.approx(other, rel=1e-14)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_without_lapses_it_is_the_logistic(backend):
    """As far out as a cost of 690; beyond, single answers cost no more."""
    z = np.array([-1e8, -700.0, -40.0, -3.0, 0.0, 0.5, 20.0, 80.0, 690.0])
    plain = PENALTIES["logistic"]
    value, slope = (of_backend(f, backend)(z, 0.0) for f in (LAPSING.value, LAPSING.slope))
    assert value == pytest.approx(plain.value(z), rel=1e-13, abs=1e-15)
    assert slope == pytest.approx(plain.slope(z), rel=1e-13, abs=1e-15)
    assert LAPSING.curvature(z, 0.0) == pytest.approx(plain.curvature(z), rel=1e-13, abs=1e-15)
    far = np.array([1e4, 1e8, np.inf])
    value, slope = (of_backend(f, backend)(far, 0.0) for f in (LAPSING.value, LAPSING.slope))
    assert (value > 690).all()
    assert np.isfinite(value).all()
    assert slope == pytest.approx(np.ones(3))


@pytest.mark.parametrize("lapse", [1e-9, 0.02, 0.5, 0.99])
def test_lapses_bound_what_an_answer_costs(lapse):
    z = np.array([-np.inf, -1e8, -50.0, 0.0, 50.0, 1e8, np.inf])
    value = LAPSING.value(z, lapse)
    assert value[[0, 1]] == pytest.approx(-np.log1p(-lapse / 2), rel=1e-6)
    assert value[3] == pytest.approx(np.log(2))
    assert value[[5, 6]] == pytest.approx(-np.log(lapse / 2))
    for of_shape in (LAPSING.slope, LAPSING.curvature, *LAPSING.by_shape):
        assert np.isfinite(of_shape(z, lapse)).all()
    assert LAPSING.slope(z, lapse)[[0, 1, 5, 6]] == pytest.approx(0, abs=1e-30)


def answers(n=12, d=3, m=500, seed=0):
    rng = np.random.default_rng(seed)
    triplets = Triplets(rng.random((m, n)).argsort(axis=1)[:, :3], n_items=n)
    return triplets, rng.normal(size=(n, d))


# A relative, the point of the family that it is, and how much larger its map is.
POINTS_OF_THE_FAMILY = {
    "STE": (losses.get("ste"), {"power": 1, "slope": 1}, 1.0),
    "STE, steeper": (losses.get("ste"), {"power": 1, "slope": 4}, 2.0),
    "CKL": (losses.get("ckl", mu=0.05), {"power": 0, "slope": 1}, 0.05**0.5),
    "t-STE": (losses.get("tste", alpha=1), {"power": 0, "slope": 1}, 1.0),
    "t-STE, alpha 4": (losses.get("tste", alpha=4), {"power": 0, "slope": 2.5}, 2.0),
}


@pytest.mark.parametrize("name", POINTS_OF_THE_FAMILY)
def test_relatives_are_points_of_the_family(name):
    relative, shape, larger = POINTS_OF_THE_FAMILY[name]
    triplets, points = answers()
    store = MemoryTriplets.from_triplets(triplets)
    value, gradient = store.loss(points, losses.get("power", **shape))
    same, same_gradient = store.loss(larger * points, relative)
    assert value == pytest.approx(same, rel=1e-12)
    assert gradient == pytest.approx(larger * same_gradient, rel=1e-9, abs=1e-11)
    for block, same_block in zip(
        store.curvature(points, losses.get("power", **shape)),
        store.curvature(larger * points, relative),
        strict=True,
    ):
        assert block == pytest.approx(larger**2 * same_block, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize(
    ("relative", "shape", "larger"),
    [
        (STE, {"power": 1}, 1.0),
        (CKL, {"power": 0}, 0.05**0.5),
        (TSTE, {"power": 0}, 1.0),
    ],
)
def test_fits_of_relatives_are_those_of_the_family(relative, shape, larger):
    triplets = sample_triplets(2 * sample_points(40, random_state=0), 20_000, random_state=0)
    options = {"tol": 1e-10, "random_state": 0}
    ours = PowerEmbedding(lapse=0, **shape, **options).fit(triplets)
    theirs = relative(**options).fit(triplets)
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-9)
    error = procrustes_error(larger * ours.embedding_, theirs.embedding_, relative=True)
    assert error < 1e-4
    assert ours.predict_proba(triplets) == pytest.approx(theirs.predict_proba(triplets), abs=1e-4)


def test_a_map_is_found_where_a_relative_errs():
    """The error is 0.019, where STE's, its scale left open, is 0.036."""
    truth = 3 * sample_points(50, random_state=0)
    noise = Power(power=0.5, slope=3, lapse=0.05)
    triplets = sample_triplets(truth, 60_000, noise=noise, random_state=0)
    model = PowerEmbedding(power=0.5, slope=3, lapse=0.05, random_state=0).fit(triplets)
    error = procrustes_error(model.embedding_, truth, relative=True)
    other = STE(random_state=0).fit(triplets).embedding_
    assert error < 0.03
    assert error < 0.75 * procrustes_error(other, truth, relative=True, scale=True)


def test_shape_numbers_are_found_again_by_newton_steps():
    """Given the map, steps of gradient over information end within 4 standard errors."""
    truth = 3 * sample_points(60, random_state=0)
    shape = np.array([0.4, 2.0, 0.05])
    noise = Power(*shape)
    store = MemoryTriplets.from_triplets(
        sample_triplets(truth, 100_000, noise=noise, random_state=0)
    )
    found = np.array([1.0, 1.0, 0.02])
    for _ in range(12):
        power, slope, lapse = found
        loss = losses.get("power", power=power, slope=slope, lapse=lapse)
        _, _, gradient, information = store.shape(truth, loss)
        found = found - np.linalg.solve(information, gradient)
    assert np.abs(gradient @ np.linalg.solve(information, gradient)) < 1e-8
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    assert (np.abs(found - shape) < 4 * errors).all()
    assert (errors < [0.1, 0.2, 0.01]).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            PowerEmbedding(power="half"),
            "power must be a number of at least -10 and below 10; got 'half'",
        ),
        (
            PowerEmbedding(power=-np.inf),
            "power must be a number of at least -10 and below 10; got -inf",
        ),
        (
            PowerEmbedding(power=np.nan),
            "power must be a number of at least -10 and below 10; got nan",
        ),
        (PowerEmbedding(power=11), "power must be a number of at least -10 and below 10; got 11"),
        (PowerEmbedding(slope=0), "slope must be a number above 0; got 0"),
        (PowerEmbedding(lapse=1), "lapse must be a number of at least 0 and below 1; got 1"),
        (PowerEmbedding(lapse=-0.1), "lapse must be a number of at least 0 and below 1"),
    ],
)
def test_numbers_outside_the_family(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0, 1, 2], [0, 2, 3]])
    names = ("power", "slope", "lapse")
    with pytest.raises(ValueError, match=message):
        Power(**{name: getattr(model, name) for name in names})


# Probabilities


def fitted(model, labels=None):
    table = sample_triplets(sample_points(20, random_state=0), 3000, random_state=0)
    if labels is not None:
        table = Triplets.from_columns(*labels[table.rows.T])
    return model.set_params(random_state=0).fit(table)


FORMULAS = {
    "STE": (STE(), lambda near, far: expit(far - near)),
    "CKL": (CKL(mu=0.1), lambda near, far: (0.1 + far) / (0.2 + near + far)),
    "t-STE": (TSTE(alpha=2), lambda near, far: expit(1.5 * np.log((2 + far) / (2 + near)))),
    "power": (
        PowerEmbedding(power=0.5, slope=3, lapse=0.1),
        lambda near, far: 0.05 + 0.9 * expit(6 * (np.sqrt(1 + far) - np.sqrt(1 + near))),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_probabilities_are_those_of_the_formula(name):
    model, formula = FORMULAS[name]
    model = fitted(model)
    questions = np.random.default_rng(1).random((200, 20)).argsort(axis=1)[:, :3]
    found = model.predict_proba(questions)
    anchor, one, other = model.embedding_[questions.T]
    expected = formula(((anchor - one) ** 2).sum(axis=1), ((anchor - other) ** 2).sum(axis=1))
    assert model.classes_.tolist() == [-1, 1]
    assert found.shape == (200, 2)
    assert found[:, 1] == pytest.approx(expected, rel=1e-9)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-15)
    assert (model.classes_[found.argmax(axis=1)] == model.predict(questions)).all()
    assert model.predict_proba(questions[:, [0, 2, 1]]) == pytest.approx(found[:, ::-1], rel=1e-9)


def test_normal_noise_has_probabilities_too():
    from scipy.stats import norm

    model = fitted(STE(noise="thurstone"))
    near, far = ((model.embedding_[0] - model.embedding_[[1, 2]]) ** 2).sum(axis=1)
    assert model.predict_proba([[0, 1, 2]])[0, 1] == pytest.approx(norm.cdf(far - near))


def test_probabilities_of_questions_with_labels():
    labels = np.array([f"item {i}" for i in range(20)])
    model = fitted(PowerEmbedding(), labels)
    frame = pd.DataFrame({"anchor": ["item 3"], "near": ["item 7"], "far": ["item 1"]})
    table = Triplets.from_columns(["item 3"], ["item 7"], ["item 1"])
    place = {label: row for row, label in enumerate(model.items_)}
    ids = [[place["item 3"], place["item 7"], place["item 1"]]]
    expected = fitted(PowerEmbedding(), labels).predict_proba(ids)
    for questions in (frame, table):
        assert np.array_equal(model.predict_proba(questions), expected)
    with pytest.raises(ValueError, match="item 99"):
        model.predict_proba(Triplets.from_columns(["item 99"], ["item 7"], ["item 1"]))


def test_an_item_without_a_place_makes_a_toss_up():
    with pytest.warns(UserWarning, match="1 item is in no triplet"):
        model = PowerEmbedding(1, n_items=5, random_state=0, regularization=1).fit(
            [[0, 1, 2], [1, 2, 3], [3, 2, 0]]
        )
    assert model.predict_proba([[0, 1, 4], [4, 0, 1]]).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert model.predict([[0, 1, 4]]).tolist() == [0]


def test_who_has_probabilities():
    for model in (GNMDS(), SOE()):
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        STE().predict_proba([[0, 1, 2]])


def test_probabilities_of_a_model_that_was_saved(tmp_path):
    model = fitted(PowerEmbedding(power=0.3, slope=2.0, lapse=0.04))
    model.save(tmp_path / "model")
    again = ordinate.load(tmp_path / "model")
    assert again.get_params()["lapse"] == 0.04
    questions = [[0, 1, 2], [5, 9, 3]]
    assert again.predict_proba(questions) == pytest.approx(model.predict_proba(questions))


def test_probabilities_of_answers_that_were_cut_in_two():
    trials = ordinate.answers.odd_one_out(list("abcd"), list("bcda"), list("cdab"))
    model = STE(1, regularization=1.0, random_state=0).fit(trials[[0, 2, 4, 6]])
    with pytest.warns(UserWarning, match="belong to answers whose other rows"):
        model.predict_proba(trials[[1, 3, 5, 7]])


# Simulated answers


@pytest.mark.parametrize(
    "noise",
    [Power(), Power(lapse=0.2), Power(0.5, 4, 0.05), Power(0, 3), Power(-0.5, 5.0, 0.1)],
    ids=str,
)
@pytest.mark.parametrize("design", ["uniform", "landmarks"])
def test_simulated_answers_have_the_probabilities_of_the_family(noise, design):
    points = 2 * sample_points(100, random_state=1)
    landmarks = {"landmarks": 7} if design == "landmarks" else {}
    triplets = sample_triplets(
        points, 200_000, noise=noise, design=design, random_state=2, **landmarks
    )
    anchor, near, far = triplets.rows.T
    low, high = np.minimum(near, far), np.maximum(near, far)
    u, v = (((points[anchor] - points[k]) ** 2).sum(axis=1) for k in (low, high))

    def link(u):
        p = noise.power
        return ((1 + u) ** p - 1) / p if p else np.log1p(u)

    called = noise.lapse / 2 + (1 - noise.lapse) * expit(noise.slope * (link(u) - link(v)))
    for chosen in (u - v < -2, np.abs(u - v) < 1, u - v > 1, u + v < 2, u + v > 8):
        p = called[chosen]
        error = np.sqrt((p * (1 - p)).sum()) / len(p)
        assert abs((far == low)[chosen].mean() - p.mean()) < SIGMAS * error


def test_without_lapses_power_one_is_btl():
    points = sample_points(50, random_state=0)
    ours, btl = (
        sample_triplets(points, 50_000, noise=noise, random_state=3).rows
        for noise in (Power(), "btl")
    )
    assert (ours != btl).any(axis=1).mean() < 1e-4  # rounding may turn a close one


def test_powers_of_negative_numbers_are_refused():
    D = -np.ones((4, 4))
    with pytest.raises(ValueError, match="must be at least 0 for Power .* got -1"):
        sample_triplets(squared_distances=D, n_triplets=10, noise=Power(0.5), random_state=0)


# The command line


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


def test_simulated_on_the_command_line(run):
    options = ("--n", 30, "--triplets", 5000, "--seed", 4)
    shape = ("--noise", "power", "--power", 0.5, "--slope", 3, "--lapse", 0.1)
    run("simulate", *options, *shape, "-o", "ours.csv")
    truth = sample_points(30, random_state=4)
    expected = sample_triplets(truth, 5000, noise=Power(0.5, 3, 0.1), random_state=5)
    assert np.array_equal(np.loadtxt("ours.csv", int, delimiter=",", skiprows=1), expected.rows)
    run("fit", "ours.csv", "-o", "map", "--method", "power", "--folds", 0)
    assert isinstance(ordinate.load("map"), PowerEmbedding)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--power 0.5 --lapse 0.1", "--power and --lapse can only go with --noise power"),
        ("--noise none --slope 2", "--slope can only go with --noise power; it is none"),
        ("--noise power --lapse 1.5", "--lapse must be a number of at least 0 and below 1"),
        ("--noise power --slope 0", "--slope must be a number above 0; got 0.0"),
        (
            "--noise power --power nan",
            "--power must be a number of at least -10 and below 10; got nan",
        ),
        ("--noise loud", "--noise must be one of none, btl, thurstone and power, or a share"),
        ("--noise 0.7", "0 to 1/2; got 0.7"),
    ],
)
def test_wrong_noise_on_the_command_line(run, words, message):
    result = run("simulate", "--n", 9, "-o", "x.csv", *words.split(), code=2)
    assert message in " ".join(result.stderr.split())
