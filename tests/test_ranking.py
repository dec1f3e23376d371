import choix
import numpy as np
import pytest
from scipy.optimize import minimize

import ordinate
from ordinate import rank_items
from ordinate.algorithms.mean_field import mean_field
from ordinate.algorithms.mixing import MIXING, contraction
from ordinate.algorithms.ranking import rank_columns
from ordinate.kernels import backends, noise
from ordinate.passes import NO_WEIGHT, MemoryColumns


def simulate_pairs(scores, m, rng, model="btl", pairs=None):
    """Pairs (loser, winner) drawn at random, or as given, and answered by a noise model."""
    n = len(scores)
    if pairs is None:
        a = rng.integers(n, size=m)
        b = (a + 1 + rng.integers(n - 1, size=m)) % n
    else:
        a, b = pairs.T
    b_wins = rng.random(len(a)) < noise.get(model).probability(scores[b] - scores[a])
    return np.column_stack([np.where(b_wins, a, b), np.where(b_wins, b, a)]).astype(np.int32)


def columns_of(*pairs, n, backend="numba"):
    return MemoryColumns(pairs, [NO_WEIGHT] * len(pairs), n, backends.load(backend))


def slow_scores(pairs, n, ridge, model, weight=None):
    """The same maximum by an independent route: scipy, on the plain log-likelihood."""
    f = noise.get(model)
    weight = np.ones(len(pairs)) if weight is None else weight

    def cost(theta):
        x = theta[pairs[:, 1]] - theta[pairs[:, 0]]
        pull = weight * f.residual(x)
        gradient = np.bincount(pairs[:, 0], pull, n) - np.bincount(pairs[:, 1], pull, n)
        return (
            -(weight * np.log(f.probability(x))).sum() + ridge / 2 * theta @ theta,
            gradient + ridge * theta,
        )

    found = minimize(cost, np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-10})
    return found.x - found.x.mean()


@pytest.mark.parametrize("model", noise.NAMES)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_scores_agree_with_an_independent_solver(model, backend):
    rng = np.random.default_rng(0)
    true = rng.normal(size=15)
    pairs = simulate_pairs(true, 600, rng, model)
    weight = rng.integers(1, 4, size=600) * 1.0
    for ridge in (0.0, 0.3):
        ranking = rank_items(
            pairs[:, 1],
            pairs[:, 0],
            weight=weight,
            noise=model,
            regularization=ridge,
            tol=1e-20,
            backend=backend,
        )
        assert ranking.converged
        assert ranking.scores == pytest.approx(
            slow_scores(pairs, 15, ridge, model, weight), abs=1e-6
        )


def test_scores_agree_with_choix():
    rng = np.random.default_rng(1)
    pairs = simulate_pairs(rng.normal(size=12), 400, rng)
    ours = rank_items(pairs[:, 1], pairs[:, 0], regularization=0.2, tol=1e-20).scores
    data = [(int(winner), int(loser)) for loser, winner in pairs]
    theirs = choix.opt_pairwise(12, data, alpha=0.1, tol=1e-12)
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-6)


@pytest.mark.parametrize("model", noise.NAMES)
def test_mean_field_is_close_where_opponents_are_random(model):
    rng = np.random.default_rng(2)
    true = rng.normal(size=2000)
    true -= true.mean()
    pairs = simulate_pairs(true, 400_000, rng, model)
    far, near = (np.bincount(pairs[:, k], minlength=2000) * 1.0 for k in (1, 0))
    start = mean_field(far, near, noise.get(model)).scores
    # 400 comparisons per item of information about 0.2 each: a standard error near 0.11.
    assert (start - true).std() < 0.2
    exact = rank_items(
        pairs[:, 1], pairs[:, 0], items=range(2000), noise=model, regularization=0.0, tol=1e-6
    ).scores
    assert (start - exact).std() < 0.08


def test_mean_field_keeps_unbeaten_items_finite():
    far, near = np.array([50.0, 10.0, 0.0, 0.0]), np.array([0.0, 30.0, 30.0, 0.0])
    scores = mean_field(far, near, noise.get("btl")).scores
    assert np.isfinite(scores).all()
    assert scores[0] > scores[1] > scores[2]
    assert scores[3] == 0


def test_one_newton_step_lands_on_the_maximum():
    """Many comparisons at random: two passes and samples, close to the strict optimum."""
    rng = np.random.default_rng(3)
    n = 2000
    true = rng.normal(size=n)
    pairs = [simulate_pairs(true, 600 * n // 2, rng) for _ in range(2)]
    columns = columns_of(*pairs, n=n)
    quick = rank_columns(columns, noise.get("btl"))
    strict = rank_columns(columns, noise.get("btl"), tol=1e-16)
    assert quick.converged.all()
    assert quick.n_passes < 3
    assert strict.n_passes > 5
    statistical = (strict.scores - (true - true.mean())[:, None]).std()
    assert (quick.scores - strict.scores).std() < 0.05 * statistical


def clustered_design(rng, n, m, n_bridges):
    """Pairs within two halves, and a few between them."""
    half = rng.integers(2, size=m) * (n // 2)
    a = rng.integers(n // 2, size=m)
    b = (a + 1 + rng.integers(n // 2 - 1, size=m)) % (n // 2)
    bridges = rng.choice(m, n_bridges, replace=False)
    pairs = np.column_stack([a + half, b + half])
    pairs[bridges] = np.column_stack(
        [rng.integers(n // 2, size=n_bridges), n // 2 + rng.integers(n // 2, size=n_bridges)]
    )
    return pairs


def chain_design(rng, n, m):
    """Pairs of near neighbours alone, as an active design asks them."""
    a = rng.integers(n - 3, size=m)
    return np.column_stack([a, a + 1 + rng.integers(3, size=m)])


@pytest.mark.parametrize("design", ["clusters", "chain"])
def test_poorly_mixed_designs_are_noticed_and_solved(design):
    """From counts alone these look solved: the offset of the halves, or the chain, is missed."""
    rng = np.random.default_rng(4)
    n, m = 300, 60_000
    if design == "clusters":
        true = rng.normal(size=n) + np.where(np.arange(n) < n // 2, -2, 2)
        asked = clustered_design(rng, n, m, 300)
    else:
        true = np.linspace(-6, 6, n)
        asked = chain_design(rng, n, m)
    true -= true.mean()
    pairs = simulate_pairs(true, m, rng, pairs=asked)
    columns = columns_of(pairs, n=n)
    far, near = columns.counts()
    start = mean_field(far[0], near[0], noise.get("btl")).scores
    assert contraction(columns, start[None], noise.get("btl"))[0] > MIXING
    found = rank_columns(columns, noise.get("btl"))
    strict = rank_columns(columns, noise.get("btl"), tol=1e-16, max_passes=2000)
    assert found.converged.all()
    assert strict.converged.all()
    # The slowest direction, too, is found well below its own standard error, here about 0.5.
    assert np.abs(found.scores - strict.scores).max() < 0.2
    assert np.corrcoef(found.scores[:, 0], true)[0, 1] > 0.95
    assert (start - true).std() > 1.0


def test_well_mixed_designs_are_recognised():
    rng = np.random.default_rng(5)
    true = rng.normal(size=400)
    columns = columns_of(simulate_pairs(true, 8 * 400, rng), n=400)
    assert contraction(columns, true[None], noise.get("btl"))[0] < 0.7


def test_no_convergence_is_said():
    rng = np.random.default_rng(6)
    pairs = simulate_pairs(np.linspace(-6, 6, 300), 0, rng, pairs=chain_design(rng, 300, 5000))
    found = rank_columns(columns_of(pairs, n=300), noise.get("btl"), tol=1e-20, max_passes=3)
    assert not found.converged.any()


@pytest.mark.parametrize("ridge", [0.0, "auto", 1.0])
def test_degenerate_comparisons_give_finite_scores(ridge):
    """Never compared, disconnected, always far: finite scores, and a report."""
    pairs = np.array([[0, 1], [1, 0], [0, 2], [1, 2], [3, 4], [4, 3], [3, 4]], np.int32)
    found = rank_columns(columns_of(pairs, n=6), noise.get("btl"), regularization=ridge)
    scores = found.scores[:, 0]
    assert np.isfinite(scores).all()
    assert found.n_parts.tolist() == [2]
    assert found.n_one_sided.tolist() == [1]
    assert found.n_compared[:, 0].tolist() == [3, 3, 2, 3, 3, 0]
    assert scores[2] > max(scores[0], scores[1])
    assert scores[4] > scores[3]
    assert abs(scores.mean()) < 1e-9


@pytest.mark.parametrize(
    ("n", "pairs"),
    [
        (12, [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]]),
        (30, [[3, 7]]),
        (100, [[0, 1], [1, 0]]),
    ],
)
def test_items_that_are_never_compared_do_not_grow_in_the_check_of_mixing(n, pairs):
    found = rank_columns(columns_of(np.array(pairs, np.int32), n=n), noise.get("btl"))
    assert np.isfinite(found.scores).all()
    assert found.converged.all()


def test_a_landmark_is_not_ranked_in_its_own_column():
    rng = np.random.default_rng(7)
    pairs = simulate_pairs(rng.normal(size=9), 300, rng) + 1  # item 0 is the landmark
    found = rank_columns(columns_of(pairs, n=10), noise.get("btl"), owners=np.array([0]))
    assert found.scores[0, 0] == 0
    assert abs(found.scores[1:, 0].mean()) < 1e-9


@pytest.mark.parametrize("n", [50, 3000])
def test_scores_are_the_same_on_any_number_of_threads(n):
    rng = np.random.default_rng(8)
    true = rng.normal(size=n)
    columns = columns_of(*[simulate_pairs(true, 150 * n, rng) for _ in range(3)], n=n)
    results = []
    for number in (1, 2, 5):
        with ordinate.threads(number):
            results.append(rank_columns(columns, noise.get("btl")).scores)
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def test_weights_are_repeats():
    rng = np.random.default_rng(9)
    pairs = simulate_pairs(rng.normal(size=10), 200, rng)
    weight = rng.integers(1, 4, size=200)
    weighted = rank_items(pairs[:, 1], pairs[:, 0], weight=weight, items=range(10))
    repeated = np.repeat(pairs, weight, axis=0)
    plain = rank_items(repeated[:, 1], repeated[:, 0], items=range(10))
    assert weighted.scores == pytest.approx(plain.scores, abs=1e-8)
    assert weighted.standard_errors == pytest.approx(plain.standard_errors, rel=1e-8)
    assert weighted.n_compared.tolist() == plain.n_compared.tolist()


@pytest.mark.parametrize("model", noise.NAMES)
def test_standard_errors_are_those_of_repeated_experiments(model):
    rng = np.random.default_rng(10)
    true = rng.normal(size=8)
    true -= true.mean()
    z = []
    for _ in range(300):
        pairs = simulate_pairs(true, 500, rng, model)
        ranking = rank_items(
            pairs[:, 1], pairs[:, 0], items=range(8), noise=model, regularization=0.0, tol=1e-8
        )
        z.append((ranking.scores - true) / ranking.standard_errors)
    # 2400 standardised errors: their standard deviation is known to about 0.02.
    assert np.std(z) == pytest.approx(1, abs=0.08)
    assert abs(np.mean(z)) < 0.05


def test_standard_errors_from_the_diagonal_are_close_for_many_items():
    rng = np.random.default_rng(11)
    n = 1100
    pairs = simulate_pairs(rng.normal(size=n), 20 * n, rng)
    beyond = rank_items(pairs[:, 1], pairs[:, 0], items=range(n))
    kept = pairs[(pairs < 1000).all(axis=1)]
    exact = rank_items(kept[:, 1], kept[:, 0], items=range(1000))
    ratio = beyond.standard_errors[:1000] / exact.standard_errors
    assert np.median(ratio) == pytest.approx(0.95, abs=0.05)


def test_items_never_compared_have_no_bound():
    # Two comparisons of a quarter each: a variance of 2 of the difference, half a unit of each.
    known = rank_items("ab", "ba", items="abc", regularization=0.0).standard_errors
    assert known.tolist() == pytest.approx([0.5**0.5, 0.5**0.5, np.inf])
    ranking = rank_items("ab", "ba", items="abc", regularization=4.0)
    assert ranking.scores[2] == 0
    assert 0 < ranking.standard_errors[2] <= 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ab", "aa"), "row 0 compares 'a' with itself .1 such rows"),
        (([], []), "empty"),
        (("ab", "b"), "equal lengths"),
    ],
)
def test_bad_comparisons_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank_items(*arguments)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="weights must be from"):
        rank_items("ab", "ba", weight=[1, 0])
    for ridge in (-1, np.inf, "much", [1]):
        with pytest.raises(ValueError, match="regularization"):
            rank_items("ab", "ba", regularization=ridge)


def test_a_table_of_the_ranking():
    table = rank_items(["ant", "ant", "bee"], ["bee", "cat", "cat"]).to_arrow()
    assert table["label"].to_pylist() == ["ant", "bee", "cat"]
    assert table.column_names == ["label", "score", "standard_error", "n_compared"]


def test_thurstone_scores_of_few_comparisons_are_found():
    """Slopes of a normal distribution vanish far out; equations must not become singular."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pairs = simulate_pairs(3 * rng.normal(size=8), 32, rng)
        found = rank_columns(columns_of(pairs, n=8), noise.get("thurstone"))
        assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("max_passes", [0, 1])
def test_no_passes_are_no_convergence(max_passes):
    rng = np.random.default_rng(0)
    pairs = simulate_pairs(rng.normal(size=30), 300, rng)
    found = rank_columns(
        columns_of(pairs, n=30), noise.get("btl"), tol=1e-20, max_passes=max_passes
    )
    assert not found.converged.any()
    assert np.isfinite(found.scores).all()
