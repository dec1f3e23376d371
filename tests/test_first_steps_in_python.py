"""What is shown and said to those who try the library for the first time."""

import inspect

import numpy as np
import pytest

from ordinate import (
    STE,
    TSTE,
    Triplets,
    asking,
    bootstrap,
    choose_dimension,
    compare,
    compare_groups,
    participants,
    sample_points,
    sample_triplets,
)

POINTS = 2 * sample_points(12, random_state=0)
TRIPLETS = sample_triplets(POINTS, 600, random_state=0)


def test_an_estimator_in_the_place_of_triplets_is_called_one():
    for swapped in (lambda: choose_dimension(STE(), TRIPLETS), lambda: bootstrap(TRIPLETS, STE())):
        with pytest.raises(TypeError, match="got an estimator; see the arguments' order"):
            swapped()


@pytest.mark.parametrize("function", [bootstrap, participants])
def test_a_class_in_the_place_of_an_estimator_is_called_one(function):
    people = Triplets(TRIPLETS.rows, participant=np.arange(600) % 3)
    with pytest.raises(TypeError, match=r"one with its settings, as TSTE\(\), not the class"):
        function(TSTE, people)


def test_a_number_of_questions_is_refused_by_its_name():
    model = STE(init=POINTS, n_init=1, regularization=0.1).fit(TRIPLETS)
    with pytest.raises(ValueError, match="n_questions must be a whole number"):
        asking.next_questions(model, 0)


def test_results_are_shown_in_a_line():
    """Arrays of thousands of rows, by default, in place of what was found."""
    estimator = STE(init=POINTS, n_init=1, regularization=0.1)
    first, second = (
        estimator.fit(TRIPLETS[part]).embedding_ for part in (slice(300), slice(300, 600))
    )
    assert repr(compare(first, second)).startswith("Comparison(12 items: Whether the maps differ")
    groups = compare_groups(estimator, TRIPLETS, np.repeat(["old", "young"], 300), random_state=0)
    assert repr(groups).startswith("Groups(old, young: The groups do")
    assert repr(groups.groups[0]) == "Group('old', 300 answers)"
    questions = asking.design_questions(12, 100, random_state=0)
    assert repr(questions) == "Questions(100 of kind triplet: 2 check, 93 random, 5 repeat)"


def test_next_questions_names_its_parameters():
    told = inspect.getdoc(asking.next_questions)
    assert all(name in told for name in inspect.signature(asking.next_questions).parameters)
