import numpy as np
import pytest

from ordinate import LOE, STE, OrdinalEmbedding, Triplets, sample_points, sample_triplets
from ordinate.estimators.catalogue import METHODS
from ordinate.estimators.methods import choose
from ordinate.evaluation.analysis import analyse


def data(n=40, m=8000, **options):
    points = sample_points(n, 2, random_state=0)
    return points, sample_triplets(points, m, random_state=1, **options)


def test_held_out_accuracy_is_that_on_new_answers():
    """Of 8,000 answers, within three standard errors of the accuracy on 200,000 new ones."""
    points, triplets = data()
    found = analyse(STE(random_state=0), triplets)
    new = sample_triplets(points, 200_000, random_state=9)
    assert found.held_out.accuracy == pytest.approx(
        found.model.score(new), abs=3 * found.held_out.error
    )
    assert found.held_out.accuracy < found.model.score(triplets)
    assert found.held_out.error == pytest.approx(np.sqrt(0.7 * 0.3 / 8000), rel=0.1)
    assert found.held_out.n_triplets == 8000
    assert found.triplets_per_item.sum() == 24_000
    assert np.average(found.accuracy_per_item, weights=found.triplets_per_item) == pytest.approx(
        found.held_out.accuracy
    )
    assert found.warnings == []


def test_rows_of_one_answer_stay_together():
    """Answers repeated ten times over: rows apart would be predicted by their own copies."""
    _, once = data(m=500)
    rows = np.repeat(once.rows, 10, axis=0)
    together = Triplets(rows, answer=np.repeat(np.arange(500), 10))
    model = STE(regularization=0.1, random_state=0)
    apart = analyse(model, Triplets(rows)).held_out
    kept = analyse(model, together).held_out
    assert kept.accuracy < apart.accuracy - 0.03
    assert kept.error > 2 * apart.error


def test_participants_and_weights():
    _, triplets = data()
    who = np.where(np.arange(8000) < 2000, "joker", "expert")
    rows = triplets.rows.copy()
    rows[:2000] = rows[:2000, [0, 2, 1]]
    found = analyse(STE(random_state=0), Triplets(rows, participant=who, weight=np.ones(8000)))
    people = {person["participant"]: person for person in found.participants}
    assert people["joker"]["triplets"] == 2000
    assert people["joker"]["accuracy"] < 0.45 < 0.55 < people["expert"]["accuracy"]


def test_no_folds_judge_nothing_and_many_triplets_are_judged_once(monkeypatch):
    from ordinate.evaluation import held_out

    _, triplets = data()
    assert analyse(STE(), triplets, folds=0).held_out is None
    monkeypatch.setattr(held_out, "MANY", 1000)
    told = []
    found = analyse(STE(), triplets, tell=told.append)
    assert found.held_out.n_triplets == pytest.approx(800, abs=20)
    assert len(told) == 2


def test_warnings_are_kept():
    _, triplets = data()
    found = analyse(STE(), Triplets(triplets.rows, n_items=41), folds=2)
    assert len(found.warnings) == 1
    assert "in no triplet" in found.warnings[0]


def test_the_method_that_suits(monkeypatch):
    from ordinate.estimators import methods

    _, few = data(m=300)
    _, many = data()
    assert isinstance(choose(few, 2).estimator, OrdinalEmbedding)
    assert isinstance(choose(many, 2).estimator, OrdinalEmbedding)
    _, about = data(design="landmarks", landmarks=8)
    assert choose(about, 2).name == "ordinal"
    monkeypatch.setattr(methods, "MANY", 1000)
    assert isinstance(choose(about, 2).estimator, LOE)
    assert choose(many, 2).name == "ordinal"
    for method in METHODS:
        assert type(choose(many, 3, method.name).estimator).__name__ == method.estimator
    with pytest.raises(ValueError, match="loe does not take n_init"):
        choose(many, 2, "loe", n_init=3)
    with pytest.raises(ValueError, match="method must be one of"):
        choose(many, 2, "tsne")
