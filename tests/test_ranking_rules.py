"""What decides how a column is ranked: whether items mix, where first scores lie, what a step leaves."""

import numpy as np
import pytest

from ordinate.algorithms import mixing, ranking
from ordinate.algorithms.mean_field import mean_field
from ordinate.algorithms.mixing import MIXING, SAMPLE, SURELY, contraction, well_mixed
from ordinate.algorithms.ranking import rank_columns
from ordinate.kernels import backends, noise
from ordinate.passes import NO_WEIGHT, MemoryColumns

BTL = noise.get("btl")


def answered(asked, true, rng):
    """A column of answers to pairs of items (m, 2)."""
    a, b = asked[asked[:, 0] != asked[:, 1]].T
    b_far = rng.random(len(a)) < 1 / (1 + np.exp(true[a] - true[b]))
    pairs = np.column_stack([np.where(b_far, a, b), np.where(b_far, b, a)]).astype(np.int32)
    return MemoryColumns([pairs], [NO_WEIGHT], len(true), backends.load("numba"))


def two_groups(n, m, between, rng):
    """Pairs within the even or the odd items, but for a share between them."""
    a, b = rng.integers(n, size=(2, m))
    return np.column_stack([a, b // 2 * 2 + (a + (rng.random(m) < between)) % 2])


def like_ranks(n, m, rng):
    """Pairs whose ranks differ by less than 0.6 n."""
    a = rng.integers(n, size=m)
    b = a + rng.integers(1, int(0.6 * n), size=m) * rng.choice([-1, 1], m)
    return np.column_stack([a, b])[(b >= 0) & (b < n)]


def off(found, columns, true):
    """Error of the optimisation, as a share of the statistical error."""
    strict = rank_columns(columns, BTL, regularization=found.regularization[0], tol=1e-14).scores
    return (found.scores - strict).std() / (strict[:, 0] - true + true.mean()).std()


@pytest.mark.parametrize(("per_item", "most_passes"), [(12, 18), (24, 11), (60, 6), (115, 4.5)])
def test_few_comparisons_that_mix_take_few_passes(per_item, most_passes):
    """Some 12 of 16 comparisons per item in all passes over the sample; of all, three or four."""
    rng = np.random.default_rng(0)
    n = 3000
    true = rng.normal(size=n)
    columns = answered(rng.integers(n, size=(per_item * n // 2, 2)), true, rng)
    found = rank_columns(columns, BTL)
    assert found.converged.all()
    assert found.n_passes < most_passes
    assert off(found, columns, true) < 0.15


def test_a_small_column_does_not_slow_down_the_others():
    rng = np.random.default_rng(0)
    true = rng.normal(size=1000)
    many, few = (answered(rng.integers(1000, size=(m, 2)), true, rng) for m in (200_000, 4000))
    both = MemoryColumns([*many.pairs, *few.pairs], [NO_WEIGHT] * 2, 1000, many.backend)
    assert rank_columns(both, BTL).n_passes < 4


@pytest.mark.parametrize("between", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_groups_that_hardly_meet_are_noticed_among_many_items(between, seed):
    """They are 1 / sqrt(n) of a random error: plain power iteration sees the other items alone."""
    rng = np.random.default_rng(seed)
    n = 20_000
    columns = answered(two_groups(n, SAMPLE * n // 2, between, rng), np.zeros(n), rng)
    assert contraction(columns, np.zeros((1, n), np.float32), BTL)[0] > MIXING


def test_items_that_are_never_compared_do_not_hide_that_the_others_mix():
    rng = np.random.default_rng(0)
    n, compared = 4000, 2000
    pairs = np.sort(rng.permuted(np.tile(np.arange(compared), (60, 1)), axis=1).reshape(-1, 2))
    columns = MemoryColumns([pairs.astype(np.int32)], [NO_WEIGHT], n, backends.load())
    assert contraction(columns, np.zeros((1, n), np.float32), BTL)[0] < SURELY


def test_items_that_meet_only_the_other_group_do_not_mix():
    """Steps with the diagonal alone then go back and forth: the eigenvalue is -1."""
    rng = np.random.default_rng(0)
    columns = answered(two_groups(500, 4000, 1.0, rng), np.zeros(500), rng)
    assert contraction(columns, np.zeros((1, 500), np.float32), BTL)[0] > 0.9


def test_answers_too_clear_for_the_mean_field_are_summed_and_solved():
    """No scores explain the shares. Trusted nevertheless, they would be off by a fifth, and the
    curvature that goes with them by a factor.
    """
    rng = np.random.default_rng(0)
    n = 600
    true = np.linspace(-15, 15, n)
    columns = answered(rng.integers(n, size=(60_000, 2)), true, rng)
    far, near = columns.counts()
    field = mean_field(far, near, BTL)
    assert not field.solved.any()
    assert well_mixed(columns.sample(SAMPLE * n // 2), field.scores, BTL)[1].all()
    found = rank_columns(columns, BTL)
    assert off(found, columns, true) < 0.02
    summed = columns.information({0: found.scores[:, 0]}, BTL)[0]
    assert found.information[:, 0] == pytest.approx(summed)


def test_first_scores_far_from_the_maximum_are_not_trusted(monkeypatch):
    """Items meet their like: the mean field has a solution, and tells a wrong curvature."""
    rng = np.random.default_rng(0)
    true = np.linspace(-2, 2, 400)
    columns = answered(like_ranks(400, 160_000, rng), true, rng)
    far, near = columns.counts()
    field = mean_field(far, near, BTL)
    assert field.solved.all()
    assert well_mixed(columns.sample(SAMPLE * 200), field.scores, BTL)[1].all()

    def curvature_found():
        found = rank_columns(columns, BTL)
        assert off(found, columns, true) < 0.05
        summed = columns.information({0: found.scores[:, 0]}, BTL)[0]
        return np.median(found.information[:, 0] / summed)

    assert curvature_found() == pytest.approx(1)
    monkeypatch.setattr(ranking, "NEAR", np.inf)
    assert curvature_found() < 0.99


def test_a_step_that_leaves_too_much_is_not_taken_for_enough(monkeypatch):
    """Two groups that meet half as often as by chance: a step leaves half of what is between them."""
    rng = np.random.default_rng(0)
    n = 400
    true = 0.3 * rng.normal(size=n) + 0.3 * (-1.0) ** np.arange(n)
    columns = answered(two_groups(n, 60_000, 0.25, rng), true, rng)
    assert off(rank_columns(columns, BTL), columns, true) < 0.1
    monkeypatch.setattr(ranking.StepCheck, "left", lambda *_: (np.zeros(1), np.zeros(1)))
    assert off(rank_columns(columns, BTL), columns, true) > 0.5


def test_groups_that_meet_seldom_are_solved_in_every_direction(monkeypatch):
    """A small gradient goes with an error between the groups that is several times as large."""
    rng = np.random.default_rng(0)
    n = 400
    true = 0.3 * rng.normal(size=n) + 0.1 * (-1.0) ** np.arange(n)
    columns = answered(two_groups(n, 60_000, 0.1, rng), true, rng)
    assert off(rank_columns(columns, BTL), columns, true) < 0.05
    monkeypatch.setattr(mixing, "SURELY", MIXING)
    assert off(rank_columns(columns, BTL), columns, true) > 0.2


def test_wide_scores_are_trusted_where_opponents_are_met_at_random(monkeypatch):
    """Most answers are clear, so that items far out hang on one or two others: slow directions, but
    of a few scores each.
    """
    rng = np.random.default_rng(0)
    n = 30_000
    true = 4 * rng.normal(size=n)
    columns = answered(rng.integers(n, size=(20 * n, 2)), true, rng)
    found = rank_columns(columns, BTL)
    assert found.n_passes < 16
    monkeypatch.setattr(mixing, "LEAST", 0.0)
    strict = rank_columns(columns, BTL)
    assert strict.n_passes > 30
    errors = [(some.scores[:, 0] - true + true.mean()).std() for some in (found, strict)]
    assert errors[0] < 1.01 * errors[1]


@pytest.mark.parametrize("seed", range(3))
def test_wide_scores_do_not_hide_groups_that_hardly_meet(seed):
    """Steps go on until a group would stand out from what is found."""
    rng = np.random.default_rng(seed)
    n = 20_000
    true = 3 * rng.normal(size=n)
    columns = answered(two_groups(n, SAMPLE * n // 2, 0.02, rng), true, rng)
    assert contraction(columns, true[None].astype(np.float32), BTL)[0] > SURELY


def test_first_scores_may_be_as_far_off_as_random_opponents_explain():
    rng = np.random.default_rng(0)
    n = 2000
    for width in (1.0, 3.5):
        true = width * rng.normal(size=n)
        columns = answered(rng.integers(n, size=(30 * n, 2)), true, rng)
        far, near = columns.counts()
        field = mean_field(far, near, BTL)
        gradient = columns.gradient({0: field.scores[0]}, BTL)[0]
        information = (far + near)[0] * field.information(field.scores)[0]
        squared = (gradient**2 / (information + 0.05)).sum()
        assert 0.8 < field.by_chance(far, near)[0] / squared < 1.5


@pytest.mark.parametrize("per_item", [40, 100, 400])
def test_what_a_sample_leaves_by_chance_is_not_taken_for_more(per_item):
    """With random opponents a step leaves less than is asked for; a sample of four says so."""
    rng = np.random.default_rng(0)
    n = 3000
    columns = answered(rng.integers(n, size=(per_item * n // 2, 2)), rng.normal(size=n), rng)
    far, near = columns.counts()
    field = mean_field(far, near, BTL)
    mean = field.information(field.scores)
    gradient = columns.gradient({0: field.scores[0]}, BTL)[0]
    information = (far + near) * mean
    step = gradient[None] / (information + 0.1)
    sample = columns.sample(SAMPLE * n // 2)
    check = mixing.StepCheck.of(sample, BTL, field.scores, mean, information, columns)
    left = columns.gradient({0: (field.scores + step)[0]}, BTL)[0]
    assert (left**2 / information).sum() < check.left(slice(None), step)[0][0] < 0.02 * n


def test_a_step_is_stretched_as_a_sample_tells(monkeypatch):
    """First scores are too far apart by chance; a step leaves them too near, in every column."""
    rng = np.random.default_rng(1)
    n = 3000
    true = 1.5 * rng.normal(size=n)
    columns = answered(rng.integers(n, size=(50 * n, 2)), true, rng)

    def too_near():
        found = rank_columns(columns, BTL)
        assert found.n_passes < 4  # by one step
        strict = rank_columns(columns, BTL, regularization=found.regularization[0], tol=1e-12)
        return 1 - found.scores[:, 0] @ strict.scores[:, 0] / (strict.scores**2).sum()

    assert abs(too_near()) < 0.002
    left = mixing.StepCheck.left
    monkeypatch.setattr(mixing.StepCheck, "left", lambda *given: (left(*given)[0], np.zeros(1)))
    assert too_near() > 0.006
