import numpy as np
import pytest

from ordinate import Triplets, sample_points, sample_triplets
from ordinate.data.advice import SEVERITIES, problems

POINTS = sample_points(20, random_state=0)


def asked(noise, n_rows=4000, **columns):
    rows = sample_triplets(POINTS, n_rows, noise=noise, random_state=1).rows
    return Triplets(rows, n_items=20, **columns)


def found(triplets, word, notes=()):
    return [problem for problem in problems(triplets, notes) if word in problem.what]


def test_sound_data_has_no_problems():
    assert not [p for p in problems(asked(0.1)) if p.severity != "note"]


def test_the_most_severe_come_first_and_each_has_a_remedy():
    listed = problems(Triplets([[0, 1, 2], [3, 4, 5]], n_items=8), notes=["3 rows dropped: slow"])
    ranks = [SEVERITIES.index(problem.severity) for problem in listed]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == 3
    assert all(problem.what and problem.remedy for problem in listed)
    assert listed[-1].what == "3 rows dropped: slow"


def test_few_repeats_do_not_condemn_the_data():
    """Answers agree in 53 % of 194 cases, and make a good map all the same."""
    points = sample_points(500, 2, random_state=0)
    triplets = sample_triplets(points, 155_000, random_state=0)
    assert 100 < triplets.summarise().n_agreement_pairs < 400
    assert "error" not in [problem.severity for problem in problems(triplets)]


@pytest.mark.parametrize(
    ("triplets", "severity", "words"),
    [
        (Triplets([[1, 2, 3], [2, 3, 4]]), "error", "ids look 1-based"),
        (Triplets([[0, 1, 2]], items=list("abcd")), "warning", "1 item is in no row: d"),
        (Triplets([[0, 1, 2], [3, 4, 5]]), "error", "2 parts that share no row"),
        (asked(0.1, 100), "warning", "100 answers about 20 items are few: .* about 173"),
        (Triplets([[0, 1, 2]]), "warning", "3 items are in fewer than 3 rows: 0, 1, 2"),
        (asked(0.5), "error", "as coin tosses would"),
        (asked(0.32, 20_000), "warning", "agree in 5.% of"),
        (asked(0.1), "note", "were answered both ways"),
        (Triplets([[0, 1, 2], [0, 1, 2]], answer=[0, 0]), "warning", "1 row repeats a row of the"),
        (Triplets([[0, 1, 2], [0, 2, 3]] * 3), "warning", "every row occurs 3 times"),
        (Triplets([[0, 1, 2], [1, 0, 2]], answer=[0, 0]), "note", "1 answer gives 2 triplets"),
    ],
)
def test_each_problem_is_found(triplets, severity, words):
    import re

    matching = [p for p in problems(triplets) if re.search(words, p.what)]
    assert [p.severity for p in matching] == [severity]


def test_questions_asked_again_are_not_copies():
    assert not found(Triplets([[0, 1, 2], [0, 1, 2], [1, 0, 2]], answer=[0, 1, 2]), "occurs")
    assert not found(Triplets([[0, 1, 2]] * 2), "occurs")


def test_votes_count_as_answers():
    rows = asked(0.1, 100).rows
    assert found(Triplets(rows, n_items=20), "are few")
    assert not found(Triplets(rows, n_items=20, weight=np.full(100, 2.0)), "are few")


def test_participants_who_guess_are_named():
    sure = asked(0.05, 4000, participant=np.repeat(["Ida", "Bo"], 2000))
    guess = asked(0.5, 500)
    both = Triplets(
        np.concatenate([sure.rows, guess.rows]),
        participant=["Ida"] * 2000 + ["Bo"] * 2000 + ["Eve"] * 500,
    )
    (problem,) = found(both, "hardly more often than by chance")
    assert problem.what.endswith("chance: Eve")
    assert not found(sure, "chance")
    # Where nobody agrees with anybody, no one is singled out.
    assert not found(asked(0.5, participant=np.arange(4000) % 5), "participants agree")


def test_very_few_and_very_many_answers_of_one_person():
    people = ["Ida"] * 3000 + ["Bo"] * 995 + ["Eve"] * 5
    triplets = asked(0.1, participant=people)
    assert found(triplets, "participant Ida gave 75% of the answers")
    assert found(triplets, "1 of 3 participants gave fewer than 10 answers")
    # Rows of one answer count once.
    once = asked(0.1, participant=people, answer=[0] * 3000 + list(range(1, 1001)))
    assert not found(once, "Ida")


def test_unbalanced_anchors():
    rows = [[0, 1 + i % 5, 6 + i % 3] for i in range(60)] + [[i, 0, i % 8 + 1] for i in range(3, 8)]
    assert found(Triplets(rows), "anchors are unbalanced: one has 60 rows")


def test_many_answers_to_few_questions_are_few_questions():
    few, many = asked(0.1, 100).rows, asked(0.1, 2000).rows
    often = Triplets(np.repeat(few, 20, axis=0), n_items=20)
    (told,) = found(often, "are to")
    assert told.severity == "warning"
    assert told.what.startswith("2,000 answers are to 98 questions: a map in 2 dimensions needs")
    assert not found(Triplets(many, n_items=20), "are to")
    # Of four items there are but 12 questions to ask.
    every = [[a, b, c] for a in range(4) for b in range(4) for c in range(b) if a not in (b, c)]
    every = Triplets([row for row in every if len(set(row)) == 3] * 5, n_items=4)
    assert not found(every, "are to")


def test_as_many_answers_as_are_needed_are_not_few():
    rows = sample_triplets(sample_points(18, random_state=0), 150, random_state=0).rows
    assert not found(Triplets(rows, n_items=18), "about 150")
    assert found(Triplets(rows[1:], n_items=18), "needs about 150")
