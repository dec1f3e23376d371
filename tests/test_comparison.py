"""Two maps beside each other: laid onto each other, held against covariances, or against answers."""

import warnings

import numpy as np
import pandas as pd
import pytest

from ordinate import (
    SOE,
    STE,
    OrdinalEmbedding,
    PowerEmbedding,
    Triplets,
    compare,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.evaluation.comparison import (
    Map,
    _alignment_moves,
    _total,
    compare_maps,
    holm,
    lay_onto,
)
from ordinate.evaluation.permutation import compare_answers, permutation_p_values
from ordinate.files.maps import write_map

N, D = 30, 2
TURN = np.array([[0.6, 0.8], [0.8, -0.6]])  # turns and mirrors


@pytest.fixture(scope="module")
def points():
    return sample_points(N, D, random_state=3)


def two_maps(points, seed, size=0.05, moved=None):
    """Two maps with errors of known covariances, the second turned, moved and twice as large."""
    generator = np.random.default_rng(seed)
    factors = size * generator.normal(size=(2, N, D, D))
    covariances = factors @ factors.transpose(0, 1, 3, 2) + size**2 / 10 * np.eye(D)
    errors = [
        np.einsum("iab,ib->ia", np.linalg.cholesky(c), generator.normal(size=(N, D)))
        for c in covariances
    ]
    second = points.copy()
    if moved is not None:
        second[moved] += [0.8, 0]
    return (
        Map(range(N), points + errors[0], covariances[0]),
        Map(
            range(N),
            2 * (second + errors[1]) @ TURN + 5,
            4 * TURN.T @ covariances[1] @ TURN,
        ),
    )


def test_false_alarms_where_covariances_are_right(points):
    found = [compare_maps(*two_maps(points, seed)) for seed in range(300)]
    p = np.array([each.p_value for each in found])
    assert 0.02 <= (p <= 0.05).mean() <= 0.09
    named = np.mean([len(each.moved) > 0 for each in found])
    assert named <= 0.09
    # What chance makes is what chance made: the alignment's part is taken off.
    ratio = np.mean([(e.distance**2).sum() / (e.chance**2).sum() for e in found])
    assert ratio == pytest.approx(1, abs=0.06)


def test_the_item_that_moved_is_named(points):
    found = [compare_maps(*two_maps(points, seed, moved=7)) for seed in range(20)]
    assert all(each.differ for each in found)
    assert all(each.moved[0] == 7 for each in found)
    assert sum(each.moved.tolist() == [7] for each in found) >= 17
    assert "7 moved most" in found[0].sentence
    assert found[0].factor == pytest.approx(0.5, rel=0.05)


def test_understated_covariances_make_no_item_move(points):
    """Where all squared distances are four times what covariances say, none stands out."""
    found = []
    for seed in range(100):
        first, second = two_maps(points, seed)
        found.append(
            compare_maps(
                first._replace(covariance=first.covariance / 4),
                second._replace(covariance=second.covariance / 4),
            )
        )
    # Of 100 runs: 5 % are expected, and 11 happen in one set of seeds out of a hundred.
    assert np.mean([len(each.moved) > 0 for each in found]) <= 0.11
    assert np.median([each.dispersion for each in found]) == pytest.approx(4, rel=0.15)


def test_errors_with_and_without_scale(points):
    found = compare_maps(Map(range(N), points), Map(range(N), 3 * points @ TURN))
    assert found.error == pytest.approx(0, abs=1e-12)
    assert found.rigid_error == pytest.approx(2)
    assert found.factor == pytest.approx(1 / 3)
    np.testing.assert_allclose(found.second, points, atol=1e-12)
    assert found.p_value is None
    assert found.differ is None
    assert "cannot be told" in found.sentence


def test_one_item_does_not_pull_the_others(points):
    away = points.copy()
    away[0] += 20
    laid = lay_onto(points, away @ TURN)
    np.testing.assert_allclose(laid.points[1:], points[1:], atol=0.01)
    assert procrustes_error(away, points, scale=True) > 1  # as least squares would have it


def test_items_are_matched_by_label_and_the_others_told(points):
    names = [f"i{k}" for k in range(N)]
    first = Map(names, np.where(np.arange(N)[:, None] == 2, np.nan, points))
    order = np.random.default_rng(0).permutation(N)[: N - 1]
    second = Map([*(names[k] for k in order), "new"], np.vstack([points[order], [[9, 9]]]))
    found = compare_maps(first, second)
    assert found.error == pytest.approx(0, abs=1e-12)
    assert len(found.items) == len(set(found.items)) == len({*order} - {2})
    assert found.only_first == [name for k, name in enumerate(names) if k not in order and k != 2]
    assert {*found.only_second} == {"new", *({"i2"} if 2 in order else ())}


def test_what_cannot_be_compared_is_refused(points):
    with pytest.raises(ValueError, match="2 and 1 dimensions"):
        compare(points, points[:, :1])
    with pytest.raises(ValueError, match="share 0 items"):
        compare((list("abcde"), points[:5]), (list("vwxyz"), points[:5]))
    with pytest.raises(ValueError, match="shape"):
        compare(points[:, 0], points)
    with pytest.raises(TypeError, match="DataFrame"):
        compare("a map".split, points)
    with pytest.raises(ValueError, match="label, dim1"):
        compare(pd.DataFrame({"label": ["a"]}), points)
    with pytest.raises(ValueError, match="more than once"):
        compare((list("aacde"), points[:5]), points)
    with pytest.raises(ValueError, match="estimator="):
        compare(points, points, answers=([[0, 1, 2]], [[0, 1, 2]]))


def test_holm_is_what_it_should_be():
    p = np.array([0.001, 0.2, 0.04, 0.012])
    assert holm(p) == pytest.approx([0.004, 0.2, 0.08, 0.036])


def test_maps_in_any_form_give_the_same(points, tmp_path):
    triplets = sample_triplets(points, 4000, random_state=1)
    models = [
        STE(D, random_state=0, init=points, n_init=1).fit(half)
        for half in triplets.split(0.5, random_state=0)
    ]
    for k, model in enumerate(models):
        model.save(tmp_path / f"map{k}")
    expected = compare(*models).distance
    write_map(tmp_path / "alone.csv", range(N), models[1].embedding_, {})
    frame = pd.read_csv(tmp_path / "alone.csv")
    others = (
        models[1],
        models[1].embedding_,
        (range(N), models[1].embedding_),
        frame,
        Map(range(N), models[1].embedding_),
    )
    for other in others:
        np.testing.assert_allclose(compare(models[0], other).distance, expected, atol=1e-9)
    # Labels of files are texts.
    np.testing.assert_allclose(compare(models[0], tmp_path / "map1").distance, expected, atol=1e-9)
    for other in (tmp_path / "map1", tmp_path / "map1" / "embedding.csv", tmp_path / "alone.csv"):
        np.testing.assert_allclose(compare(tmp_path / "map0", other).distance, expected, atol=1e-9)


def test_answers_dealt_anew_name_the_item_that_moved():
    points = sample_points(12, D, random_state=0)
    away = points.copy()
    away[5] += [1.2, 0]
    sets = [sample_triplets(p, 1500, random_state=k) for k, p in enumerate((points, away))]
    found = compare(
        STE(D, random_state=0).fit(sets[0]), None, answers=tuple(sets), n_permutations=39
    )
    assert found.p_value == pytest.approx(1 / 40)
    assert found.moved.tolist() == [5]
    assert found.method == "answers"
    assert found.chance.max() < found.distance[5]


def test_permutation_p_values_hold_for_any_distribution():
    """Heavy tails, items of different sizes, and items that depend on each other."""
    generator = np.random.default_rng(1)
    overall, items = [], []
    for _ in range(400):
        together = generator.standard_cauchy(size=(40, 1)) ** 2
        squares = (together + generator.normal(size=(40, 8)) ** 2) * np.arange(1, 9)
        p_value, p_items = permutation_p_values(squares)
        overall.append(p_value <= 0.05)
        items.append((p_items <= 0.05).any())
    assert 0.02 <= np.mean(overall) <= 0.08
    assert np.mean(items) <= 0.08


def test_items_without_a_place_count_against_a_difference():
    squares = np.ones((20, 3))
    squares[0] = [9, np.nan, 1]
    p_value, p_items = permutation_p_values(squares)
    assert p_value == pytest.approx(1 / 20)
    assert p_items[1] == 1


def answered_by(people, n_rows=400, seed=0):
    points = sample_points(8, D, random_state=0)
    rows = sample_triplets(points, n_rows, random_state=seed).rows
    who = np.random.default_rng(seed).choice(people, n_rows)
    return Triplets(rows, n_items=8, participant=who)


def test_people_are_dealt_anew_where_nobody_is_in_both_sets(monkeypatch):
    dealt = []
    groups = Triplets.groups

    def spy(self, by="answer"):
        dealt.append(by)
        return groups(self, by)

    monkeypatch.setattr(Triplets, "groups", spy)
    one, other = answered_by(["a", "b", "c"]), answered_by(["d", "e", "f"], seed=1)
    estimator = STE(D, random_state=0, regularization=1.0)
    compare_answers(estimator, one, other, n_permutations=19)
    assert "participant" in dealt
    dealt.clear()
    compare_answers(estimator, one, answered_by(["c", "d"], seed=1), n_permutations=19)
    assert "participant" not in dealt
    with pytest.raises(ValueError, match="1 participants are in both"):
        compare_answers(estimator, one, answered_by(["c", "d"]), by="participant")
    with pytest.raises(ValueError, match="who gave them"):
        compare_answers(estimator, one, Triplets(other.rows), by="participant")


def test_answers_about_items_of_one_set_alone_are_left_out():
    one = sample_triplets(sample_points(8, D, random_state=0), 300, random_state=0)
    both = Triplets(one.rows, items=list("abcdefgh"))
    other = Triplets(one.rows, items=list("abcdefgz"))
    with pytest.warns(UserWarning, match="left out: they are about items"):
        found = compare_answers(STE(D, regularization=1.0), both, other, n_permutations=19)
    assert found.only_first == ["h"]
    assert found.only_second == ["z"]
    with warnings.catch_warnings(), pytest.raises(ValueError, match="items that both have"):
        warnings.simplefilter("ignore")
        compare_answers(STE(D), both, Triplets(one.rows, items=list("stuvwxyz")))


def test_what_was_chosen_is_chosen_once():
    points = sample_points(10, D, random_state=0)
    model = OrdinalEmbedding(D, random_state=0).fit(sample_triplets(points, 600, random_state=0))
    again = model._settled()
    assert isinstance(again, PowerEmbedding)
    assert {name: getattr(again, name) for name in model.maker_} == model.maker_
    assert SOE(3)._settled().get_params() == SOE(3).get_params()
    begun = model._from_here()
    np.testing.assert_array_equal(begun.init, model.embedding_ / model.scale_)
    assert begun.n_init == 1


def test_the_statistic_of_all_items_has_its_degrees_of_freedom(points):
    """The sum over items, less what the alignment takes, is chi-square with so many."""
    statistics = []
    for seed in range(200):
        first, second = two_maps(points, seed, size=0.01)
        laid = lay_onto(first.points, second.points)
        both = first.covariance + laid.turn.T @ second.covariance @ laid.turn
        moves = _alignment_moves(laid.points)
        statistics.append(_total(first.points - laid.points, both, moves))
    assert np.mean(statistics) == pytest.approx(N * D - 4, rel=0.03)
    assert np.var(statistics) == pytest.approx(2 * (N * D - 4), rel=0.3)
