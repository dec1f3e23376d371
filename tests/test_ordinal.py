"""The estimator that chooses by unseen answers, and the two steps beneath it."""

import warnings

import numpy as np
import pytest

import ordinate
from ordinate import (
    STE,
    OrdinalEmbedding,
    Power,
    PowerEmbedding,
    Triplets,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms import selection
from ordinate.algorithms.response import LAPSES, POWERS, fit_response
from ordinate.kernels.losses import power_family
from ordinate.passes import store_of


def answers(noise, n=30, m=12_000, seed=0, size=3.0):
    points = size * sample_points(n, random_state=seed)
    return points, sample_triplets(points, m, noise=noise, random_state=seed + 1)


def relative_error(points, truth):
    return procrustes_error(points, truth, scale=True, relative=True)


def test_the_response_of_a_known_map_is_found():
    truth = Power(power=0.5, slope=1.0, lapse=0.1)
    points, triplets = answers(truth, m=200_000)
    # The map is given at another scale, and the search begins at STE.
    found = fit_response([(store_of(triplets), points / 2)], power_family(1.0, 1.0, 0.0))
    assert found.lapse == pytest.approx(0.1, abs=0.02)
    # Power, slope and scale trade for each other: the likelihood is that of the truth.
    of_truth = store_of(triplets).loss(points, power_family(0.5, 1.0, 0.1))[0] / len(triplets)
    assert found.value == pytest.approx(of_truth, abs=1e-4)
    near, far = np.linspace(0, 20, 50), np.linspace(20, 0, 50)
    scaled = found.scale / 2
    assert np.allclose(
        found.loss.probability(scaled**2 * near, scaled**2 * far),
        power_family(0.5, 1.0, 0.1).probability(near, far),
        atol=0.02,
    )


def test_the_response_is_that_of_all_maps_together():
    points, triplets = answers(Power(power=0.5, slope=1.0, lapse=0.1))
    first, second = store_of(triplets[:6000]), store_of(triplets[6000:])
    start = power_family(0.5, 1.0, 0.05)
    both = fit_response([(first, points), (second, points)], start)
    assert both.value == pytest.approx(fit_response([(store_of(triplets), points)], start).value)
    assert POWERS[0] <= both.power <= POWERS[1]
    assert LAPSES[0] <= both.lapse <= LAPSES[1]


def test_a_response_begins_where_that_of_a_similar_map_ended():
    """The sizes of maps differ, and what answers follow differs little."""
    points, triplets = answers(Power(power=0.5, slope=1.0, lapse=0.1))
    store = store_of(triplets)
    known = fit_response([(store, points)], power_family(1.0, 1.0, 0.0))
    before = store.n_passes
    again = fit_response([(store, 7 * points)], known)
    assert store.n_passes - before <= 5
    assert again.scale == pytest.approx(known.scale / 7, rel=1e-3)
    assert again.value == pytest.approx(known.value, abs=1e-7)
    assert again.spread == pytest.approx(known.spread, rel=1e-2)


def test_a_response_ends_at_the_same_likelihood_wherever_it_begins():
    """Scale, power and slope do much the same: a search over these alone stops on the way."""
    points, triplets = answers(Power(power=0.5, slope=1.0, lapse=0.05), m=20_000)
    seen = [(store_of(triplets), points)]
    begun = [(1.0, 1.0), (0.5, 0.03), (0.0, 2.5), (0.25, 0.3)]
    ended = [fit_response(seen, power_family(*shape, 0.02)).value for shape in begun]
    assert max(ended) - min(ended) < 2e-5


def parts_of(triplets, n_components=2):
    fitted, others = triplets.split(test_size=0.2, random_state=0)
    start = STE(n_components, random_state=0).fit(fitted).embedding_
    return [selection.Part(store_of(fitted), store_of(others), others, start)]


def test_the_chosen_maker_is_on_par_with_the_best_and_no_such_is_right_more_often():
    _, triplets = answers(Power(power=0.25, slope=1.0, lapse=0.05), m=6000)
    judged = selection.choose_maker(parts_of(triplets))
    chosen, others = judged[0], judged[1:]
    assert len(judged) == selection.CONTENDERS
    assert chosen.on_par
    assert min(tried.behind for tried in judged) == 0
    assert all(tried.accuracy <= chosen.accuracy for tried in others if tried.on_par)
    assert [tried.behind for tried in others] == sorted(tried.behind for tried in others)


@pytest.mark.parametrize("nearby", [0, 3, 6])
def test_ridges_are_tried_to_both_sides_of_the_best(nearby):
    _, triplets = answers("btl", n=40, m=1500, size=1.0)
    part = parts_of(triplets)[0]
    found = selection._along_ridges(part, 0.5, 0.3, nearby)
    best = min(found, key=lambda place: found[place].response.value)
    assert 0 < best < len(selection.RIDGES) - 1
    assert {best - 1, best + 1, nearby} <= set(found)
    assert sorted(found) == list(range(min(found), max(found) + 1))
    # What was tried on the way makes no difference to a map beyond the tolerance.
    alone = selection.fit_map(part, found[best].maker, part.start)
    assert relative_error(found[best].maps[0], alone) < 0.1


def test_what_is_behind_is_a_paired_difference_between_answers():
    _, triplets = answers(Power(power=0.5, slope=1.0, lapse=0.05), m=4000)
    part = parts_of(triplets)[0]
    judged = selection.choose_maker([part])
    best = min(judged, key=lambda tried: tried.behind)
    anchor, near, far = part.others.rows.T

    def losses(tried):
        points = tried.response.scale * tried.maps[0]
        near_, far_ = (((points[anchor] - points[i]) ** 2).sum(axis=1) for i in (near, far))
        return -np.log(tried.response.loss.probability(near_, far_))

    for tried in judged[:3]:
        difference = losses(tried) - losses(best)
        assert tried.behind == pytest.approx(difference.mean(), abs=1e-12)
        assert tried.error == pytest.approx(difference.std() / len(difference) ** 0.5)
        assert tried.response.value == pytest.approx(losses(tried).mean())


@pytest.mark.parametrize(
    ("noise", "right"),
    [
        ("btl", STE(random_state=0)),
        (Power(power=0.5, slope=1.0, lapse=0.05), PowerEmbedding(slope=1.0, lapse=0.05)),
    ],
    ids=["btl", "power"],
)
def test_the_map_is_as_good_as_that_of_the_right_model(noise, right):
    ratios = []
    for seed in range(3):
        size = 1.0 if noise == "btl" else 3.0
        points, triplets = answers(noise, n=40, m=8000, seed=seed, size=size)
        ours = OrdinalEmbedding(random_state=seed).fit(triplets).embedding_
        ratios.append(
            relative_error(ours, points) / relative_error(right.fit(triplets).embedding_, points)
        )
    assert np.mean(ratios) < 1.05


def test_where_answers_are_few_the_ridge_pays():
    points, triplets = answers("btl", n=60, m=500, size=1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = STE(random_state=0).fit(triplets)
        ours = OrdinalEmbedding(random_state=0).fit(triplets)
    assert ours.maker_["regularization"] > 0
    assert relative_error(ours.embedding_, points) < relative_error(plain.embedding_, points)


@pytest.mark.parametrize(("n", "m", "least"), [(10, 40, 0.7), (30, 120, 0.65)])
def test_few_clear_answers_are_not_mapped_to_one_place(n, m, least):
    """Four answers per item once gave a map of no size, and a ridge of 1e9."""
    scores = []
    for seed in range(3):
        _, triplets = answers("none", n=n, m=m, seed=seed)
        _, unseen = answers("none", n=n, m=4000, seed=seed)
        model = OrdinalEmbedding(random_state=0).fit(triplets)
        assert model.maker_["regularization"] < 1e3
        scores.append(model.score(unseen.rows))
    assert np.mean(scores) > least


def test_few_answers_make_nothing_certain():
    """Answers that are all predicted rightly once gave unseen ones a probability of 1e-308."""
    points, triplets = answers("none", n=10, m=20)
    for weight in (None, np.full(20, 1e-3)):
        store = store_of(Triplets(triplets.rows, n_items=10, weight=weight))
        found = fit_response([(store, points)], power_family(1.0, 1.0, 0.0))
        assert found.lapse >= 1 / 21
    often = store_of(Triplets(triplets.rows, n_items=10, weight=np.full(20, 50.0)))
    assert fit_response([(often, points)], power_family(1.0, 1.0, 0.0)).lapse < 0.01


def test_probabilities_of_unseen_answers_are_calibrated():
    _, triplets = answers(Power(power=0.5, slope=1.0, lapse=0.1), m=30_000)
    fitted, unseen = triplets[:10_000], triplets[10_000:]
    model = OrdinalEmbedding(random_state=0).fit(fitted)
    assert list(model.classes_) == [-1, 1]
    sure = model.predict_proba(unseen).max(axis=1)
    right = (model.predict(unseen) == 1).astype(float)
    edges = np.quantile(sure, np.linspace(0, 1, 11)[1:-1])
    bin_of = np.searchsorted(edges, sure)
    off = [abs(sure[bin_of == k].mean() - right[bin_of == k].mean()) for k in range(10)]
    assert np.mean(off) < 0.02


def test_the_same_seed_gives_the_same_choice_and_map():
    _, triplets = answers("btl", m=3000)
    first, again = (OrdinalEmbedding(random_state=3).fit(triplets) for _ in range(2))
    assert first.choice_ == again.choice_
    assert (first.embedding_ == again.embedding_).all()


def test_a_sample_of_whole_answers_chooses_where_there_are_many(monkeypatch):
    points, triplets = answers("btl", m=4000)
    triplets = Triplets(triplets.rows, n_items=30, answer=np.arange(4000) // 2)
    monkeypatch.setattr("ordinate.estimators.ordinal.MOST_ROWS", 1000)
    model = OrdinalEmbedding(random_state=0).fit(triplets)
    assert 900 <= model.n_chosen_by_ <= 1000
    assert relative_error(model.embedding_, points) < 0.5


def test_choice_and_response_are_saved(tmp_path):
    _, triplets = answers("btl", m=3000)
    model = OrdinalEmbedding(random_state=0).fit(triplets)
    model.save(tmp_path / "map")
    again = ordinate.load(tmp_path / "map")
    assert again.choice_ == model.choice_
    assert again.maker_ == model.maker_
    assert (again.predict_proba(triplets) == model.predict_proba(triplets)).all()
