"""Held-out accuracy against chance: noise is called noise, sound answers are not."""

import threading
from collections import Counter

import numpy as np
import pytest

import ordinate
from ordinate import STE, Triplets, answers, metrics, sample_points, sample_triplets
from ordinate.evaluation import held_out
from ordinate.evaluation.analysis import analyse
from ordinate.evaluation.held_out import BETTER, NO_BETTER, TOO_FEW, HeldOut, hold_out

SEEDS = 40
QUICK = STE(n_init=1, tol=1e-2, regularization=0.5, random_state=0)


def questions(n, m, seed):
    return np.random.default_rng(seed).random((m, n)).argsort(axis=1)[:, :3]


def verdicts(make):
    found = (hold_out(QUICK, make(seed), folds=3, random_state=seed)[0] for seed in range(SEEDS))
    return Counter(judged.verdict for judged in found)


@pytest.mark.parametrize("odd", [False, True])
def test_noise_is_called_noise(odd):
    """At least 95 % of sets of random answers, also where each gives two rows."""

    def noise(seed):
        rows = questions(15, 1500, seed)
        return answers.odd_one_out(*rows.T, items=range(15)) if odd else Triplets(rows, n_items=15)

    assert verdicts(noise)[NO_BETTER] >= 0.95 * SEEDS


def test_sound_answers_are_not():
    """With 30 % wrong; in at most 5 % of the sets."""

    def sound(seed):
        return sample_triplets(
            sample_points(15, random_state=seed), 1500, noise=0.3, random_state=seed + 99
        )

    found = verdicts(sound)
    assert found[NO_BETTER] <= 0.05 * SEEDS
    assert found[BETTER] >= 0.9 * SEEDS


def test_few_answers_about_many_items_cannot_tell():
    """Neither noise nor sound answers can be predicted: 5 answers an item, 30 % of them wrong."""

    def sparse(seed, noise):
        return sample_triplets(
            sample_points(100, random_state=seed), 500, noise=noise, random_state=seed + 99
        )

    for noise in (0.3, 0.5):
        found = verdicts(lambda seed, noise=noise: sparse(seed, noise))
        assert found[NO_BETTER] <= 0.05 * SEEDS
        assert found[TOO_FEW] >= 0.7 * SEEDS


def test_a_handful_of_answers_proves_nothing():
    right = Triplets([[0, 1, 2], [0, 1, 2], [0, 1, 2]], answer=[0, 1, 2])
    judged, predicted = hold_out(STE(1, regularization=1.0), right)
    assert predicted.tolist() == [1, 1, 1]
    assert judged.accuracy == 1
    assert judged.error > 0.1
    assert judged.verdict == TOO_FEW


def test_the_verdict_is_a_problem_with_a_remedy():
    noise = Triplets(questions(15, 2000, 0), n_items=15)
    found = analyse(QUICK, noise, random_state=0)
    (problem,) = found.problems
    assert problem.severity == "error"
    share = f"{found.held_out.accuracy:.1%} ± {found.held_out.error:.1%} (chance 50%, ceiling "
    assert problem.what.startswith(f"unseen answers are predicted no better than chance: {share}")
    assert "do not read this map" in problem.remedy
    few = HeldOut(0.55, 0.05, 100, 100, 0.5, TOO_FEW, "")
    (problem,) = few.problems()
    assert problem.severity == "warning"
    assert "55.0% ± 5.0% (chance 50%): too few answers to distinguish" in problem.what
    assert HeldOut(0.8, 0.05, 100, 100, 0.5, BETTER, "").problems() == []


def test_sound_answers_are_asked_for_only_in_doubt():
    told = []
    sure = sample_triplets(sample_points(15, random_state=0), 1500, noise=0.1, random_state=1)
    analyse(QUICK, sure, tell=told.append)
    stages = ["held-out answers", "the map of all answers"]
    assert told == stages
    told.clear()
    analyse(QUICK, Triplets(questions(15, 1500, 0), n_items=15), tell=told.append)
    stages.insert(1, "what sound answers to these questions would give")
    assert told == stages


def test_standard_errors_respect_answers_and_weights():
    """By hand: an answer with all its rows right or wrong counts once, however many rows."""
    rows = sample_triplets(sample_points(10, random_state=0), 400, random_state=1).rows
    right = np.repeat(np.random.default_rng(0).random(100) < 0.7, 4).astype(float)
    apart = metrics.judge(right, Triplets(rows))
    together = metrics.judge(right, Triplets(rows, answer=np.repeat(np.arange(100), 4)))
    assert together.accuracy == apart.accuracy == right.mean()
    assert (together.n_answers, together.n_triplets) == (100, 400)
    assert together.error == pytest.approx(2 * apart.error, rel=0.05)
    p = (right[::4].sum() + 2) / 104
    assert together.error == pytest.approx(np.sqrt(p * (1 - p) / 104))
    assert together.chance_error == pytest.approx(0.05)
    assert apart.chance_error == pytest.approx(0.025)
    thrice = metrics.judge(right, Triplets(rows, weight=np.full(400, 3.0)))
    assert thrice == pytest.approx(apart)
    one = metrics.judge(np.ones(1), Triplets(rows[:1]))
    assert one.error == pytest.approx(np.sqrt(0.6 * 0.4 / 5))


def test_the_standard_error_is_that_of_new_answers():
    """Odd-one-out answers by chance: accuracies of a fixed map vary as each of them says."""
    points = sample_points(20, random_state=0)
    found = [
        metrics.accuracy(points, answers.odd_one_out(*questions(20, 300, seed).T, items=range(20)))
        for seed in range(200)
    ]
    spread = np.std([one.accuracy for one in found])
    assert spread == pytest.approx(np.mean([one.error for one in found]), rel=0.15)
    assert spread > 1.1 * np.sqrt(0.25 / 600)


@pytest.mark.parametrize("few", [0, held_out.FEW])
def test_maps_side_by_side_are_those_that_are_made_one_by_one(monkeypatch, few):
    triplets = sample_triplets(sample_points(15, random_state=0), 1500, random_state=1)
    alone = analyse(STE(random_state=0, n_init=1), triplets, random_state=0).held_out
    monkeypatch.setattr(held_out, "FEW", few)
    seen, usual = set(), STE.fit

    def fit(self, data):
        if len(data) < len(triplets):
            seen.add(threading.current_thread() is threading.main_thread())
        return usual(self, data)

    monkeypatch.setattr(STE, "fit", fit)
    with ordinate.threads(2):
        found = analyse(STE(random_state=0, n_init=1), triplets, random_state=0).held_out
    assert seen == {not few}
    assert (found.accuracy, found.log_likelihood) == (alone.accuracy, alone.log_likelihood)


def test_whoever_watches_sees_one_map_after_the_other():
    triplets = sample_triplets(sample_points(15, random_state=0), 1500, random_state=1)
    seen = set()
    watched = STE(callback=lambda _: seen.add(threading.current_thread()), random_state=0)
    with ordinate.threads(2):
        analyse(watched, triplets, random_state=0)
    assert seen == {threading.main_thread()}
