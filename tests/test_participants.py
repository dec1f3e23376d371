"""Participants who guess: found, listed, weighed, left out; on seeds, with stated tolerances."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import plain
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from typer.testing import CliRunner

import ordinate
from ordinate import (
    CKL,
    GNMDS,
    STE,
    TSTE,
    OrdinalEmbedding,
    ParticipantEmbedding,
    Power,
    PowerEmbedding,
    TripletKFold,
    Triplets,
    answers,
    participants,
    plot_participants,
    procrustes_error,
    sample_points,
    sample_triplets,
    triplet_error,
)
from ordinate.algorithms.participants import CELLS, Rows, adjusted, find_lapses, judge
from ordinate.cli import app
from ordinate.evaluation.analysis import analyse
from ordinate.kernels.losses import power_family

PEOPLE, GUESSING = 30, 6


def study(seed, *, n_guessing=GUESSING, each=150, n_items=40, noise="btl", size=2.0):
    """Answers of 30 people, the first of whom guess."""
    points = size * sample_points(n_items, random_state=seed)
    who = np.repeat(np.arange(PEOPLE), each)
    rows = sample_triplets(points, len(who), noise=noise, random_state=seed + 1000).rows.copy()
    guesses = sample_triplets(points, len(who), noise=0.5, random_state=seed + 2000).rows
    rows[who < n_guessing] = guesses[who < n_guessing]
    return points, Triplets(rows, participant=who, n_items=n_items)


def odd_one_outs(seed, lapse, *, each=80, n_items=20):
    """Each person's three-way answers, guessed at a rate of their own."""
    rng = np.random.default_rng(seed)
    points = 2 * sample_points(n_items, random_state=seed)
    who = np.repeat(np.arange(len(lapse)), each)
    three = rng.random((len(who), n_items)).argsort(axis=1)[:, :3]
    a, b, c = points[three].transpose(1, 0, 2)
    apart = np.column_stack([((x - y) ** 2).sum(axis=1) for x, y in ((b, c), (a, c), (a, b))])
    odd = np.argmax(rng.gumbel(size=apart.shape) - apart, axis=1)
    odd = np.where(rng.random(len(who)) < lapse[who], rng.integers(3, size=len(who)), odd)
    kept = np.array([[1, 2], [0, 2], [0, 1]])[odd]
    at = np.arange(len(who))
    return answers.odd_one_out(
        three[at, kept[:, 0]],
        three[at, kept[:, 1]],
        three[at, odd],
        items=range(n_items),
        participant=who,
    )


def error(model, points):
    return procrustes_error(model.embedding_, points, scale=True, relative=True)


def weigher(**options):
    return ParticipantEmbedding(STE(random_state=0, **options), random_state=0)


@pytest.fixture(scope="module")
def weighed():
    points, triplets = study(0)
    return points, triplets, weigher().fit(triplets)


def test_guessers_are_found_and_hardly_hurt_the_map():
    """On 3 seeds: the list is right, and the error at most 5 % above that without the guessers."""
    for seed in range(3):
        points, triplets = study(seed)
        model = weigher().fit(triplets)
        alone = STE(random_state=0).fit(triplets[triplets.participant >= GUESSING])
        together = STE(random_state=0).fit(triplets)
        assert model.participants_.at_chance.tolist() == list(range(GUESSING))
        assert error(model, points) <= 1.05 * error(alone, points)
        assert error(model, points) < 0.8 * error(together, points)


def test_nothing_is_lost_where_nobody_guesses():
    """On 5 seeds: nobody is left out, and the error grows by 3 % at most."""
    for seed in range(5):
        points, triplets = study(seed, n_guessing=0, each=100)
        model = weigher().fit(triplets)
        assert not len(model.participants_.at_chance)
        assert model.participants_.weight.min() > 0.9
        assert error(model, points) <= 1.03 * error(STE(random_state=0).fit(triplets), points)


def test_those_who_mean_most_answers_are_seldom_left_out():
    """In 20 studies in which all guess three of ten answers, one at most loses anybody."""
    lost = 0
    for seed in range(20):
        found = participants(
            STE(random_state=0, n_init=1), odd_one_outs(seed, np.full(20, 0.3), each=60)
        )
        lost += len(found.at_chance) > 0
    assert lost <= 1


def test_rates_of_three_way_answers():
    """Guesses of one in three: rates are recovered, and intervals hold them."""
    lapse = np.r_[np.ones(4), np.full(8, 0.4), np.zeros(8)]
    triplets = odd_one_outs(3, lapse, each=400)
    assert len(triplets) == 2 * 20 * 400
    found = participants(STE(random_state=0), triplets)
    assert found.at_chance.tolist() == [0, 1, 2, 3]
    assert found.answers.tolist() == [400] * 20
    assert found.triplets.tolist() == [800] * 20
    groups = [found.lapse[:4].mean(), found.lapse[4:12].mean(), found.lapse[12:].mean()]
    assert groups == pytest.approx([1, 0.4, 0], abs=0.08)
    assert ((found.low <= lapse) & (lapse <= found.high)).mean() >= 0.75


def test_rows_of_an_answer_share_a_weight_and_count_as_one():
    triplets = odd_one_outs(0, np.array([0.0, 0.5]), each=50)
    rows = Rows.of(triplets)
    given = np.random.default_rng(0).uniform(0.1, 0.9, len(triplets))
    lapses = find_lapses(given, rows)
    meant = lapses.meant(given, rows)
    assert (meant[::2] == meant[1::2]).all()
    assert rows.share.tolist() == [0.5] * 200
    # The same answers, each row given twice, tell no more.
    twice = Triplets(
        triplets.rows.repeat(2, axis=0),
        answer=triplets.answer.repeat(2),
        participant=triplets.participant.repeat(2),
    )
    again = find_lapses(given.repeat(2), Rows.of(twice))
    np.testing.assert_allclose(again.rate, lapses.rate)


def test_answers_numbered_anew_for_each_participant_stay_apart():
    rows = Rows.of(Triplets([[0, 1, 2]] * 4, answer=[0, 1, 0, 1], participant=["b", "b", "a", "a"]))
    assert rows.labels.tolist() == ["a", "b"]
    assert rows.n_answers.tolist() == [2, 2]
    assert len(set(rows.answer)) == 4


def simulated_rows(lapse, each, seed, sureness=1.0):
    """Probabilities of rows by a map that is too sure, and who gave them."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(lapse)), each)
    odds = rng.normal(scale=2, size=len(who))
    right = rng.random(len(who)) < expit(odds)
    right = np.where(rng.random(len(who)) < lapse[who], rng.random(len(who)) < 0.5, right)
    given = expit(np.where(right, odds, -odds) / sureness)
    return given, Rows.of(Triplets([[0, 1, 2]] * len(who), participant=who))


def test_lapse_rates_follow_their_likelihood():
    """With many answers, the rate is where the plain likelihood is largest."""
    given, rows = simulated_rows(np.array([0.1, 0.5, 0.9]), 4000, 0)
    found = find_lapses(given, rows)
    grid = np.linspace(0.001, 0.999, 999)[:, None]
    for person in range(3):
        own = found.calibrated(given[rows.who == person])
        best = grid[np.log(grid / 2 + (1 - grid) * own).sum(axis=1).argmax(), 0]
        assert found.rate[person] == pytest.approx(best, abs=0.03)
    assert found.rate == pytest.approx([0.1, 0.5, 0.9], abs=0.05)


def test_intervals_hold_the_rate():
    lapse = np.random.default_rng(1).beta(1, 4, 400)
    found = find_lapses(*simulated_rows(lapse, 150, 2))
    assert 0.92 <= ((found.low <= lapse) & (lapse <= found.high)).mean() <= 0.98
    assert found.typical == pytest.approx(0.2, abs=0.04)


def test_the_rates_of_those_with_few_answers_are_drawn_to_the_others():
    """Three wrong answers of four make nobody a guesser among careful people."""
    given, rows = simulated_rows(np.zeros(20), 200, 3)
    given = np.r_[given, [0.1, 0.1, 0.1, 0.9]]
    who = np.r_[rows.who, [20] * 4]
    found = find_lapses(given, Rows.of(Triplets([[0, 1, 2]] * len(who), participant=who)))
    assert found.rate[20] < 0.6
    assert found.high[20] - found.low[20] > 0.5


def test_maps_that_are_too_sure_do_not_make_guessers():
    """Log odds three times too large: careful people remain careful, and nobody is left out."""
    given, rows = simulated_rows(np.zeros(20), 200, 4, sureness=1 / 3)
    found = find_lapses(given, rows)
    assert found.sureness == pytest.approx(1 / 3, rel=0.15)
    assert found.rate.max() < 0.1
    assert set(judge(found.calibrated(given), rows)) == {"better than chance"}


def test_verdicts():
    lapse = np.r_[np.ones(5), np.zeros(5)]
    given, rows = simulated_rows(lapse, 300, 5)
    assert judge(given, rows).tolist() == ["no better than chance"] * 5 + ["better than chance"] * 5
    few, their_rows = simulated_rows(lapse, 19, 5)
    assert "no better than chance" not in judge(few, their_rows)
    # A map that knows nothing says nothing about anybody.
    assert set(judge(np.full(len(given), 0.5), rows)) == {"too few answers to tell"}


def test_adjusted_p_values_rise_together():
    found = adjusted(np.array([0.04, 0.001, 0.03, 0.9]))
    np.testing.assert_allclose(found, [0.04 * 4 / 3, 0.004, 0.04 * 4 / 3, 0.9])


def test_weights_follow_the_formula():
    given, rows = simulated_rows(np.array([0.0, 1.0]), 300, 6)
    lapses = find_lapses(given, rows)._replace(sureness=1.0)
    own = lapses.rate[rows.who]
    expected = (1 - own) * given / ((1 - own) * given + own / 2)
    np.testing.assert_allclose(lapses.meant(given, rows), expected, rtol=1e-6)


def test_unseen_answers_are_likelier(weighed):
    """Held-out likelihood with the participants' own rates beats the plain one's."""
    _, triplets, _ = weighed
    train, test = triplets.split(random_state=0)
    plain_fit, model = STE(random_state=0).fit(train), weigher().fit(train)
    gain = np.log(model.predict_proba(test)[:, 1]) - np.log(plain_fit.predict_proba(test)[:, 1])
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))
    # Someone unknown, or nobody named: the usual rate.
    nobody = model.predict_proba(test.rows)
    stranger = Triplets(test.rows, participant=["new"] * len(test), n_items=40)
    np.testing.assert_array_equal(nobody, model.predict_proba(stranger))
    guesser = test[test.participant == 0]
    of_guesser = model.predict_proba(guesser)
    assert np.abs(of_guesser - 0.5).max() < np.abs(model.predict_proba(guesser.rows) - 0.5).max()
    np.testing.assert_allclose(nobody.sum(axis=1), 1)


def test_accuracy_shown_is_of_answers_that_took_no_part(weighed):
    """A participant's held-out answers, turned around, leave the maps that judge them alone."""
    _, triplets, _ = weighed
    fitted = []

    class Watched(ParticipantEmbedding):
        def fit(self, X, y=None):
            fitted.append(X)
            return super().fit(X, y)

    found = analyse(Watched(STE(random_state=0, n_init=1), random_state=0), triplets, folds=2)
    assert [len(part) for part in fitted] == [len(triplets) // 2] * 2 + [len(triplets)]
    people = {int(person["participant"]): person for person in found.participants}
    right = [people[k]["accuracy"] for k in range(PEOPLE)]
    assert np.mean(right[:GUESSING]) == pytest.approx(0.5, abs=0.05)
    assert np.mean(right[GUESSING:]) > 0.7
    assert isinstance(found.model, STE)
    assert people[0]["verdict"] == "no better than chance"
    assert people[0]["weight"] < 0.3 < 0.9 < people[20]["weight"]


@pytest.mark.parametrize(
    ("estimator", "answering"),
    [
        (TSTE(random_state=0), {"noise": Power(power=0, slope=1), "size": 5.0}),
        (CKL(random_state=0), {"noise": Power(power=0, slope=1), "size": 9.0}),
        (PowerEmbedding(power=0.5, slope=1.0, lapse=0.05, random_state=0), {}),
        (STE(noise="thurstone", random_state=0), {"noise": "thurstone"}),
        (OrdinalEmbedding(random_state=0), {"noise": Power(power=0.5, slope=1), "size": 4.0}),
    ],
    ids=lambda given: "" if isinstance(given, dict) else type(given).__name__,
)
def test_any_method_with_probabilities(estimator, answering):
    """Of people who answer as the method supposes, or nearly so."""
    points, triplets = study(7, n_items=20, each=100, **answering)
    model = ParticipantEmbedding(estimator, random_state=0).fit(triplets)
    found = model.participants_
    assert set(found.at_chance) <= set(range(GUESSING))
    assert found.lapse[:GUESSING].min() > found.lapse[GUESSING:].max()
    wrong, without = (
        triplet_error(fitted.embedding_, truth=points, random_state=0)
        for fitted in (model, clone(estimator).fit(triplets))
    )
    assert wrong <= without + 0.005
    assert isinstance(model.estimator_, type(estimator))


def test_a_common_lapse_rate_gives_way_to_those_of_participants():
    _, triplets = study(7, n_items=20, each=60)
    power = PowerEmbedding(lapse=0.1, random_state=0, n_init=1)
    model = ParticipantEmbedding(power, random_state=0).fit(triplets)
    assert model.estimator_.lapse == 0
    assert (power.lapse, model.estimator_.init, model.estimator_.n_init) == (0.1, "auto", 1)
    chosen = ParticipantEmbedding(OrdinalEmbedding(random_state=0), random_state=0).fit(triplets)
    assert chosen.estimator_.lapse_ == 0
    assert chosen.estimator_.maker_["lapse"] == 0
    assert chosen.estimator_.describe_choice()
    assert power_family(1, 1, 0.3).without_lapses == power_family(1, 1, 0)


def test_a_fit_again_ends_where_a_fit_does(weighed):
    _, triplets, _ = weighed
    model = STE(random_state=0, tol=1e-8).fit(triplets[:3000])
    again = model._fitted_again(triplets)
    fresh = STE(random_state=0, tol=1e-8).fit(triplets)
    assert again.loss_ == pytest.approx(fresh.loss_, rel=1e-6)
    assert again.n_iter_ < 20
    assert again.get_params() == model.get_params()


def test_scikit_learn_conventions(weighed, tmp_path):
    _, triplets, model = weighed
    again = clone(model)
    assert not hasattr(again, "embedding_")
    assert again.get_params()["estimator__random_state"] == 0
    again.set_params(estimator__n_components=1)
    assert again.fit(triplets).embedding_.shape == (40, 1)
    assert ParticipantEmbedding().n_components == 2
    same = weigher().fit(triplets)
    np.testing.assert_array_equal(same.embedding_, model.embedding_)
    assert model.score(triplets[triplets.participant >= GUESSING]) > model.score(triplets)
    assert model.classes_.tolist() == [-1, 1]
    shares = cross_val_score(weigher(n_init=1), triplets, cv=TripletKFold(2, random_state=0))
    assert shares == pytest.approx([0.75, 0.75], abs=0.1)
    model.save(tmp_path / "map")
    kept = ordinate.load(tmp_path / "map")
    assert isinstance(kept, STE)
    np.testing.assert_allclose(kept.embedding_, model.embedding_)
    turned = weigher(n_init=1).fit(triplets.answered(-np.ones(len(triplets))), -np.ones(4500))
    assert turned.participants_.at_chance.tolist() == list(range(GUESSING))


def test_answers_keep_the_weights_they_had():
    _, triplets = study(2, n_items=20, each=60)
    once, thrice = (
        weigher(n_init=1).fit(triplets.weighed(np.full(len(triplets), w))) for w in (1, 3)
    )
    np.testing.assert_allclose(
        once.participants_.accuracy, thrice.participants_.accuracy, atol=1e-3
    )
    # Three times as many answers: intervals are narrower.
    wide, narrow = (m.participants_.high - m.participants_.low for m in (once, thrice))
    assert narrow.mean() < 0.8 * wide.mean()


def test_what_cannot_be_judged_is_refused():
    rows = sample_triplets(sample_points(10, random_state=0), 200, random_state=0)
    with pytest.raises(ValueError, match=r"do not say who .* columns=\{'participant': 'worker'\}"):
        weigher().fit(rows)
    _, triplets = study(0, each=20)
    with pytest.raises(ValueError, match="GNMDS gives no probabilities"):
        ParticipantEmbedding(GNMDS()).fit(triplets)
    with pytest.raises(ValueError, match="4 answers cannot judge participants: 5 are the least"):
        weigher().fit(triplets[:4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of few answers, rates may not settle
        found = participants(STE(random_state=0), triplets)
    with pytest.raises(ValueError, match="do not say who answered"):
        found.without_chance(rows)
    everybody = found._replace(verdict=np.full(PEOPLE, "no better than chance"))
    with pytest.raises(ValueError, match="all 30 participants .* nobody left"):
        everybody.without_chance(triplets)
    with pytest.raises(TypeError, match="must come from participants"):
        plot_participants([1, 2])


def test_rates_that_do_not_settle_are_told(monkeypatch):
    from ordinate.estimators import participants as module

    monkeypatch.setattr(module, "SETTLED", -1.0)
    monkeypatch.setattr(module, "ROUNDS", 1)
    _, triplets = study(0, each=20, n_items=10)
    with pytest.warns(UserWarning, match="still moved by .* after 1 rounds"):
        model = weigher(n_init=1).fit(triplets)
    assert (model.n_rounds_, model.settled_) == (1, False)


def test_one_participant_and_few_answers():
    rows = sample_triplets(sample_points(6, random_state=0), 12, random_state=0).rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = weigher(regularization=1.0).fit(Triplets(rows, participant=["only"] * 12))
    assert model.participants_.verdict.tolist() == ["too few answers to tell"]
    assert 0 <= model.participants_.low[0] <= model.participants_.lapse[0] <= 1


def test_the_figure_names_and_sorts(weighed):
    _, _, model = weighed
    axes = plot_participants(model).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert set(names[-GUESSING:]) == {str(k) for k in range(GUESSING)}
    found = model.participants_
    hostile = found._replace(participant=np.array(["$a_b$\x07" + "x" * 200] * PEOPLE))
    assert plot_participants(hostile).axes[0].get_yticklabels()[0].get_text().endswith("…")
    many = type(found)(*(np.concatenate([column] * 4) for column in found))
    axes = plot_participants(many).axes[0]
    assert (axes.get_ylabel(), len(axes.get_yticks())) == ("120 participants", 0)


@pytest.mark.parametrize("size", [(1200, 1000), (360, 700)])
def test_the_report_shows_rates_and_verdicts(show, weighed, size):
    points, _, model = weighed
    page = show(points, title="People", participants=model.participants_.rows(), size=size)
    head = page.js("document.querySelector('#participants thead').innerText")
    for column in ("lapse rate", "weight", "verdict"):
        assert column in head.lower()
    assert "no better than chance" in page.js("document.querySelector('#participants').innerText")
    assert page.js("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command; relative paths are in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


def write(path, triplets):
    names = np.array([f"=p{k}" for k in range(PEOPLE)])[triplets.participant]
    table = np.column_stack([triplets.rows, names])
    np.savetxt(path, table, "%s", delimiter=",", header="anchor,near,far,participant", comments="")


def table(path):
    with Path(path).open(newline="") as file:
        return {row["participant"]: row for row in csv.DictReader(file)}


def test_weighing_on_the_command_line(run):
    _, triplets = study(0, n_items=20)
    write("answers.csv", triplets)
    result = run("fit", "answers.csv", "-o", "out", "--weigh-participants", "--folds", 2)
    assert "30 participants: 24 better than chance, 6 no better than chance\n" in result.stdout
    assert "participants.csv, participants.png, participants.svg" in result.stdout
    record = json.loads(Path("out/run.json").read_text())
    assert record["settings"]["weigh_participants"] is True
    assert record["participants"]["left_out"] == []
    assert record["method"] == "ste"
    people = table("out/participants.csv")
    assert list(people)[:GUESSING] == sorted(
        list(people)[:GUESSING], key=lambda name: -float(people[name]["lapse"])
    )
    guesser, careful = people["=p2"], people["=p20"]
    assert float(guesser["lapse_low"]) <= float(guesser["lapse"]) <= float(guesser["lapse_high"])
    assert float(guesser["weight"]) < 0.3 < 0.9 < float(careful["weight"])
    assert guesser["verdict"] == "no better than chance"
    assert guesser["left_out"] == "false"
    assert "left out" not in result.stderr
    page = Path("out/report.html").read_text()
    assert '"verdict":"no better than chance"' in page
    assert isinstance(ordinate.load("out"), STE)


def test_leaving_guessers_out_is_said_loudly(run):
    _, triplets = study(0, n_items=20)
    write("answers.csv", triplets)
    result = run("fit", "answers.csv", "-o", "out", "--exclude-chance", "--defuse", "--folds", 2)
    said = (
        "6 of 30 participants answer no better than chance, and 900 of 4,500 answers were left out "
        "with them: =p0, =p1, =p2, =p3, =p4 and 1 more"
    )
    assert f"warning: {said}" in result.stderr
    assert "30 participants: 24 better than chance, 6 no better than chance (left out)" in (
        result.stdout
    )
    record = json.loads(Path("out/run.json").read_text())
    names = [f"=p{k}" for k in range(GUESSING)]
    assert said in record["dropped"]
    assert record["problems"][0]["what"] == said
    assert record["problems"][0]["names"] == names
    assert record["participants"]["left_out"] == names
    assert record["data"]["n_participants"] == 24
    assert record["held_out"]["n_triplets"] == 3600
    people = table("out/participants.csv")
    assert {name for name, row in people.items() if row["left_out"] == "true"} == {
        f"'{name}" for name in names
    }
    assert [float(people[name]["weight"]) for name in ("'=p0", "'=p9")] == [0, 1]
    assert said in Path("out/report.html").read_text()
    assert not [p for p in record["problems"] if "agree with the others hardly" in p["what"]]
    unjudged = run("fit", "answers.csv", "-o", "unjudged", "--exclude-chance", "--folds", 0)
    assert "(left out)" in unjudged.stdout
    assert 0.6 < float(table("unjudged/participants.csv")["=p9"]["accuracy"]) < 1
    both = run(
        *("fit", "answers.csv", "-o", "both", "--exclude-chance", "--weigh-participants"),
        *("--folds", 0),
    )
    assert "(left out)" in both.stdout
    people = table("both/participants.csv")
    assert float(people["=p0"]["weight"]) == 0
    assert 0.8 < float(people["=p9"]["weight"]) <= 1


def test_nobody_to_leave_out_is_said_too(run):
    _, triplets = study(0, n_guessing=0, n_items=20, each=60)
    write("answers.csv", triplets)
    result = run("fit", "answers.csv", "-o", "out", "--exclude-chance", "--folds", 0)
    assert "nobody was left out" in result.stderr
    assert json.loads(Path("out/run.json").read_text())["data"]["n_rows"] == 1800


def test_wrong_use_on_the_command_line(run):
    rows = sample_triplets(sample_points(10, random_state=0), 300, random_state=0).rows
    np.savetxt("a.csv", rows, "%d", delimiter=",", header="anchor,near,far", comments="")
    for option in ("--weigh-participants", "--exclude-chance"):
        result = run("fit", "a.csv", "-o", "out", option, code=2)
        assert "as in --columns participant=worker" in result.stderr
    _, triplets = study(0, each=20)
    write("b.csv", triplets)
    result = run("fit", "b.csv", "-o", "out", "--weigh-participants", "--method", "soe", code=2)
    assert "gives no probabilities" in result.stderr
    run("convert", "b.csv", "-o", "fast", "--fast")
    for option in ("--weigh-participants", "--exclude-chance"):
        result = run("fit", "fast", "-o", "out", option, "--memory-limit", "1KiB", code=2)
        assert f"{option} needs all answers in memory" in result.stderr


def test_cells_of_rates_reach_from_none_to_all():
    assert 0 < CELLS[0] < 1e-3
    assert 0.98 < CELLS[-1] < 1
