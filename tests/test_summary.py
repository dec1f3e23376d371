import json

import numpy as np
import pytest

from ordinate import Triplets, sample_points, sample_triplets


def test_a_small_table_counted_by_hand():
    rows = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2], [4, 5, 6]]
    summary = Triplets(
        rows, n_items=9, answer=[0, 1, 2, 3, 3], participant=list("aabbb")
    ).summarise()
    assert (summary.n_rows, summary.n_items) == (5, 9)
    assert (summary.n_unused, summary.unused) == (3, [3, 7, 8])
    assert (summary.n_anchors, summary.rows_per_anchor) == (3, (1, 1, 3))
    assert (summary.n_questions, summary.n_duplicates) == (3, 1)
    assert (summary.n_contradicted, summary.contradicted_share) == (1, 1.0)
    # Three answers to one question make three pairs, of which one agrees.
    assert (summary.consistency, summary.n_agreement_pairs) == (pytest.approx(1 / 3), 3)
    assert summary.n_parts == 2
    assert not summary.looks_one_based
    assert (summary.n_answers, summary.n_participants) == (4, 2)
    assert summary.rows_per_participant == (2, 2, 3)
    text = " ".join(str(summary).split())
    assert "answers 4 participants 2 with 2 to 3 triplets each" in text
    assert "ids [3, 7, 8]" in text
    assert "parts cannot be placed" in text
    json.dumps(summary.as_dict())


def test_weights_count_as_repeats():
    rows = [[0, 1, 2], [0, 2, 1], [1, 0, 2]]
    weighted = Triplets(rows, weight=[2, 1, 1]).summarise()
    repeated = Triplets([rows[0], *rows]).summarise()
    assert weighted.consistency == repeated.consistency == pytest.approx(1 / 3)
    assert weighted.contradicted_share == repeated.contradicted_share


def test_unknown_consistency_is_said():
    summary = Triplets([[0, 1, 2], [1, 2, 0]]).summarise()
    assert summary.consistency is None
    assert "no question was asked twice" in str(summary)


@pytest.mark.parametrize(
    ("triplets", "one_based"),
    [
        (Triplets([[1, 2, 3], [2, 3, 4]]), True),
        (Triplets([[1, 2, 3], [2, 3, 4]], n_items=5), False),
        (Triplets([[1, 2, 3], [2, 3, 0]]), False),
        (Triplets.from_columns([1], [2], [3]), False),
    ],
)
def test_ids_that_count_from_one_are_noticed(triplets, one_based):
    assert triplets.summarise().looks_one_based == one_based
    assert ("subtract 1?" in str(triplets.summarise())) == one_based


def test_consistency_estimates_the_noise():
    # Two answers, each wrong with probability p, agree with probability 1 - 2 p (1 - p).
    points = sample_points(8, random_state=0)
    for p in (0.0, 0.15, 0.5):
        summary = sample_triplets(points, 20_000, noise=p, random_state=1).summarise()
        assert summary.consistency == pytest.approx(1 - 2 * p * (1 - p), abs=0.01)


def test_very_many_items_do_not_overflow():
    n = 3_000_000
    rows = np.array([[n - 1, n - 2, n - 3], [n - 1, n - 3, n - 2], [0, 1, 2]])
    summary = Triplets(rows, n_items=n).summarise()
    assert (summary.n_questions, summary.n_contradicted, summary.n_parts) == (2, 1, 2)
