"""More answers for a fitted map: the same as a fit to all of them, from where the map is."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

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
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms.race import ALIKE

LIKELY = [
    STE(random_state=0),
    STE(noise="thurstone", regularization=2.0, random_state=0),
    STE(solver="scipy", tol=1e-6, random_state=0),
    TSTE(random_state=0),
    CKL(random_state=0),
    PowerEmbedding(regularization=1.0, random_state=0),
]


@pytest.fixture(scope="module")
def triplets():
    return sample_triplets(2 * sample_points(40, 2, random_state=0), 12_000, random_state=1)


@pytest.mark.parametrize("model", LIKELY, ids=str)
def test_a_stream_of_answers_ends_where_a_fit_to_all_does(model, triplets):
    """Within what counts as no difference between starts; in far fewer passes."""
    full = clone(model).fit(triplets)
    streamed = clone(model)
    for part in np.split(np.arange(len(triplets)), [9000, 10_000, 11_000]):
        assert streamed.partial_fit(triplets[part]) is streamed
    n_coordinates = full.embedding_.size
    allowed = max(10 * model.tol * n_coordinates / len(triplets), 1.5 * ALIKE)
    assert streamed.history_[-1] <= full.history_[-1] + allowed
    assert procrustes_error(streamed.embedding_, full.embedding_, scale=True, relative=True) < 0.03
    assert streamed.n_passes_ < full.n_passes_ / 2
    assert streamed.converged_
    assert streamed.init_.name == "the map so far"
    assert sorted(end.name for end in streamed.starts_) == ["more dimensions", "the map so far"]


def test_starts_race_again_once_answers_have_grown(triplets, capsys):
    """A few answers may have led to a poor optimum, which later ones must be able to leave."""
    model = TSTE(random_state=0, verbose=1).fit(triplets[:3000])
    model.partial_fit(triplets[3000:4000])
    assert (len(model.starts_), model.n_triplets_at_fit_) == (2, 3000)
    capsys.readouterr()
    model.partial_fit(triplets[4000:])
    assert "12,000 triplets, 3,000 when the map was last fitted" in capsys.readouterr().err
    assert model.n_triplets_at_fit_ == 12_000
    assert len(model.starts_) > 2
    assert "the map so far" in {end.name for end in model.starts_}
    full = TSTE(random_state=0).fit(triplets)
    assert model.loss_ <= full.loss_ + 1e-4
    given = TSTE(init="spectral", random_state=0).fit(triplets[:3000])
    assert len(given.partial_fit(triplets[3000:]).starts_) == 1


def test_poor_optima_are_left_as_answers_come():
    """By simulation: a stream ends as low as fits do at all times but few, in few of their passes.

    Without a start that challenges the map, 28 % of these maps are worse than those of a fit.
    """
    worse, passes = [], []
    for seed in range(8):
        points = 2 * sample_points(30, random_state=seed)
        answers = sample_triplets(points, 1400, random_state=seed + 100)
        model = TSTE(random_state=seed).fit(answers[:500])
        for end in range(600, 1500, 100):
            model.partial_fit(answers[end - 100 : end])
            full = TSTE(random_state=seed).fit(answers[:end])
            worse.append(model.loss_ > full.loss_ + 1e-4)
            passes.append(model.n_passes_ / full.n_passes_)
    assert np.mean(worse) <= 0.15
    assert np.median(passes) < 0.3


def test_a_lower_map_takes_over(triplets, capsys):
    """Another start leads away from a poor map: one whose items were confused."""
    model = TSTE(random_state=0).fit(triplets[:1500])
    good = model.loss_
    model.embedding_ = np.random.default_rng(1).permutation(model.embedding_)
    model.verbose = 1
    before, few = model.embedding_, triplets[1500:1550]
    assert len(model.partial_fit(few).starts_) == 1  # 1,550 triplets are hardly more
    model.embedding_ = before
    model.partial_fit(few)
    assert model.loss_ < good + 1e-2
    assert model.starts_[1].loss > model.loss_ + 1e-2
    assert (model.n_triplets_at_fit_, model.n_triplets_at_race_) == (1500, 1600)
    assert "another start ends lower than the map so far" in capsys.readouterr().err
    assert model.init_.name == model.starts_[0].name == "more dimensions"
    chosen = TSTE(init="spectral", random_state=0).fit(triplets[:9000])
    assert len(chosen.partial_fit(triplets[9000:]).starts_) == 1


@pytest.mark.parametrize("model", [GNMDS(random_state=0), SOE(random_state=0)], ids=str)
def test_hinges_end_as_low(model, triplets):
    full = clone(model).fit(triplets)
    streamed = clone(model).partial_fit(triplets[:9000]).partial_fit(triplets[9000:])
    assert streamed.loss_ <= 1.01 * full.loss_


def test_loe_is_fitted_anew():
    points = sample_points(40, 2, random_state=0)
    triplets = sample_triplets(points, 20_000, design="landmarks", landmarks=12, random_state=1)
    streamed = LOE().partial_fit(triplets[:15_000]).partial_fit(triplets[15_000:])
    assert (streamed.embedding_ == LOE().fit(triplets).embedding_).all()


def test_new_items_join_behind_the_others(triplets):
    names = np.array([f"item {k:02}" for k in range(38)] + ["zebra", "ant"], object)
    labelled = Triplets.from_columns(*names[triplets.rows].T)
    new = np.isin(labelled.items[labelled.rows], ["zebra", "ant"]).any(axis=1)
    model = STE(random_state=0).fit(Triplets.from_columns(*names[triplets.rows[~new]].T))
    before = model.items_.tolist()
    later = Triplets.from_columns(*names[triplets.rows[new]].T)
    order = model.place(later).items.tolist()
    model.partial_fit(later)
    assert model.items_.tolist() == before + order
    full = STE(random_state=0).fit(labelled)
    at = [full.items_.tolist().index(label) for label in model.items_]
    assert procrustes_error(model.embedding_, full.embedding_[at], relative=True) < 0.02
    assert model.loss_ == pytest.approx(full.loss_, abs=1e-4)
    with pytest.warns(UserWarning, match="taken for positions"):  # of the items by now
        model.partial_fit([[0, 1, 2]])


def test_plain_ids_grow_too(triplets):
    new = (triplets.rows >= 38).any(axis=1)
    model = STE(random_state=0).fit(triplets.rows[~new]).partial_fit(triplets.rows[new])
    assert model.items_.tolist() == list(range(40))
    assert model.loss_ == pytest.approx(STE(random_state=0).fit(triplets).loss_, abs=1e-4)
    held = STE(n_items=40, random_state=0).fit(triplets)
    with pytest.raises(ValueError, match="n_items is 40, but the triplets have 42"):
        held.partial_fit([[41, 1, 2]])
    assert len(held.items_) == len(held.embedding_) == 40


def test_what_belongs_to_answers_is_kept(triplets):
    rows = triplets.rows
    first = Triplets(rows[:6000], answer=np.arange(6000) // 2, participant=["x"] * 6000)
    second = Triplets(rows[6000:9000], n_items=40, weight=np.full(3000, 2.0))
    model = STE(random_state=0).partial_fit(first).partial_fit(second)
    kept = model._data
    assert len(np.unique(kept.answer)) == 3000 + 3000
    assert kept.weight.tolist() == [1.0] * 6000 + [2.0] * 3000
    assert kept.participant is None
    full = STE(random_state=0).fit(
        Triplets(rows[:9000], weight=np.repeat([1.0, 2.0], [6000, 3000]))
    )
    assert model.loss_ == pytest.approx(full.loss_, abs=1e-4)
    people = STE(random_state=0).fit(first)
    people.partial_fit(Triplets(rows[6000:], n_items=40, participant=["y"] * 6000))
    assert people._data.participant_labels.tolist() == ["x", "y"]


def test_responses_turn_rows(triplets):
    rows = triplets.rows
    model = STE(random_state=0).fit(rows[:9000]).partial_fit(rows[9000:])
    turned = STE(random_state=0).fit(rows[:9000])
    turned.partial_fit(rows[9000:][:, [0, 2, 1]], np.full(3000, -1))
    assert (turned.embedding_ == model.embedding_).all()


def test_a_model_without_its_answers_says_what_to_do(triplets, tmp_path):
    model = STE(random_state=0).fit(triplets[:9000])
    model.save(tmp_path / "map")
    for again in (ordinate.load(tmp_path / "map"), pickle.loads(pickle.dumps(model))):
        assert again._data is None
        with pytest.raises(ValueError, match=r"no answers to add to.*triplets_so_far=\.\.\."):
            again.partial_fit(triplets[9000:])
        again.partial_fit(triplets[9000:], triplets_so_far=triplets[:9000])
        assert again.loss_ == pytest.approx(STE(random_state=0).fit(triplets).loss_, abs=1e-4)
        again.partial_fit(triplets[:1])  # once is enough
    old = ordinate.load(tmp_path / "map")
    del old.n_triplets_at_race_  # as a folder of an earlier version has it
    old.partial_fit(triplets[9000:9010], triplets_so_far=triplets[:9000])
    assert old.n_triplets_at_race_ == 9010
    with pytest.raises(ValueError, match="not among those of the fit: 40, 41"):
        model.partial_fit(triplets[9000:], triplets_so_far=[[41, 1, 2]])
    with pytest.raises(ValueError, match="not fitted"):
        STE().partial_fit(triplets, triplets_so_far=triplets)


def test_a_streamed_file_cannot_be_added_to(triplets, tmp_path):
    ordinate.ondisk.write([triplets] * 20, tmp_path / "rows")
    stored = ordinate.open_triplets(tmp_path / "rows", memory_limit="3MB")
    assert not stored.fits
    model = STE(random_state=0, n_init=1).fit(stored)
    with pytest.raises(ValueError, match="streamed stays in its file"):
        model.partial_fit(triplets[:10])


def test_what_interrupts_leaves_the_model_as_it_was(triplets):
    model = STE(random_state=0).fit(triplets[:9000])
    before = dict(vars(model))

    def interrupt(step):
        raise KeyboardInterrupt

    model.callback = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.where(triplets.rows == 39, 40, triplets.rows))
    model.callback = None
    assert all(vars(model)[name] is value for name, value in before.items())


def test_nothing_new_changes_nothing_much(triplets):
    """From a map that has converged, a single answer more takes few steps."""
    model = STE(random_state=0).fit(triplets)
    steps = model.n_iter_
    assert model.partial_fit(triplets[:1]).n_iter_ <= max(steps // 2, 2)


def test_what_was_chosen_stays_until_answers_have_grown(triplets, capsys):
    model = OrdinalEmbedding(random_state=0).fit(triplets[:4000])
    chosen, power = model.maker_, model.power_
    model.verbose = 1
    model.partial_fit(triplets[4000:5000])
    assert "stay as they were chosen" in capsys.readouterr().err
    assert model.maker_ is chosen
    assert model.power_ == power
    assert model.n_triplets_at_fit_ == 4000
    made = PowerEmbedding(**chosen, random_state=0).fit(triplets[:5000])
    assert model.history_[-1] == pytest.approx(made.history_[-1], abs=1e-4)
    assert procrustes_error(model.embedding_, model.scale_ * made.embedding_, relative=True) < 0.05
    model.partial_fit(triplets[5000:7000])
    assert "7,000 triplets, 4,000 when" in capsys.readouterr().err
    assert model.n_triplets_at_fit_ == 7000
    model.verbose = 0
    again = OrdinalEmbedding(random_state=0).fit(triplets[:7000])
    assert (model.embedding_ == again.embedding_).all()
