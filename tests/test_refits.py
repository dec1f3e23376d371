"""Maps fitted again to other answers: what they keep of the first fit; and copies of models."""

import copy
import pickle

import numpy as np
import pytest

from ordinate import (
    LOE,
    STE,
    Triplets,
    bootstrap,
    compare,
    sample_points,
    sample_triplets,
    split_half,
)
from ordinate.estimators.base import Embedder


@pytest.fixture
def answers():
    """About 12 landmarks, the last of which has so few answers that half of them are not enough."""
    points = sample_points(30, random_state=0)
    many = sample_triplets(points, 18_000, design="landmarks", landmarks=range(11), random_state=0)
    few = sample_triplets(points, 360, design="landmarks", landmarks=[11], random_state=1)
    return Triplets(np.concatenate([many.rows, few.rows]))


@pytest.fixture
def landmarks(monkeypatch):
    """The landmarks of every fit of LOE."""
    seen = []
    fit = LOE.fit

    def spy(self, X, y=None):
        found = fit(self, X, y)
        seen.append(found.landmarks_.tolist())
        return found

    monkeypatch.setattr(LOE, "fit", spy)
    return seen


REFITS = {
    "halves": lambda answers: split_half(LOE(2), answers, n_splits=2),
    "bootstrap": lambda answers: bootstrap(LOE(2), answers, n_boot=3, random_state=0),
    "dealt anew": lambda answers: compare(
        LOE(2), None, answers=(answers[::2], answers[1::2]), n_permutations=19
    ),
}


@pytest.mark.parametrize("refit", REFITS.values(), ids=REFITS)
def test_loe_keeps_the_landmarks_of_all_answers(refit, answers, landmarks):
    with pytest.warns(UserWarning, match="not one of the 11 landmarks"):
        alone = LOE(2).fit(answers[::2]).landmarks_.tolist()
    landmarks.clear()
    refit(answers)
    assert landmarks[0] != alone, "half of the answers would choose others"
    assert len(landmarks) > 3
    assert all(each == landmarks[0] for each in landmarks)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_the_answers_and_a_pickle_does_not(copied, answers):
    model = STE(random_state=0).fit(answers)
    twin = copied(model)
    assert np.array_equal(twin.covariance_, model.covariance_)
    assert "_covariance" not in vars(pickle.loads(pickle.dumps(STE(random_state=0).fit(answers))))
    before = model.embedding_.copy()
    twin.partial_fit(answers[:50])
    assert np.array_equal(model.embedding_, before)
    assert twin.n_triplets_at_fit_ == model.n_triplets_at_fit_
    with pytest.raises(ValueError, match="no answers to add to"):
        pickle.loads(pickle.dumps(model)).partial_fit(answers[:50])


def test_a_deep_copy_shares_the_data_alone(answers):
    model = STE(random_state=0).fit(answers)
    twin = copy.deepcopy([model, model])
    assert twin[0] is twin[1]
    assert isinstance(twin[0], Embedder)
    twin[0].embedding_[:] = 0
    assert model.embedding_.any()
    assert twin[0]._data is model._data
    assert copy.copy(model).embedding_ is model.embedding_
