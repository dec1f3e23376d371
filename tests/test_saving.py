"""A model comes back from its folder as it was: the same map, the same answers."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import ordinate
from ordinate import LOE, STE, TSTE, STEKer, Triplets, sample_points, sample_triplets

POINTS = sample_points(30, random_state=0)


@pytest.fixture(scope="module")
def triplets():
    return sample_triplets(POINTS, 3000, random_state=1, design="landmarks", landmarks=8)


@pytest.mark.parametrize(
    "estimator",
    [STE(random_state=0), TSTE(3, alpha=2.5, regularization=0.1, random_state=0), LOE(), STEKer()],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("kind", ["ids", "integers", "texts"])
def test_models_survive(tmp_path, triplets, estimator, kind):
    names = {
        "ids": None,
        "integers": np.arange(30) * 7 - 5,
        "texts": [f"0{i},\"'\n é" for i in range(30)],
    }
    data = Triplets(triplets.rows, items=names[kind], n_items=30)
    model = estimator.fit(data)
    model.save(tmp_path / "model")
    again = ordinate.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.embedding_, model.embedding_)
    assert again.items_.dtype == model.items_.dtype
    assert again.items_.tolist() == model.items_.tolist()
    assert np.array_equal(again.predict(data), model.predict(data))
    assert again.score(data) == model.score(data)
    assert again.converged_ == model.converged_
    assert not list(tmp_path.rglob("*.pkl"))


def test_what_text_cannot_hold_is_named(tmp_path, triplets):
    start = np.random.default_rng(0).normal(size=(30, 2))
    model = STE(init=start, random_state=np.random.default_rng(0)).fit(triplets)
    model.save(tmp_path / "model")
    record = json.loads((tmp_path / "model" / "model.json").read_text())
    assert {"init", "random_state"} <= set(record["not_kept"])
    again = ordinate.load(tmp_path / "model")
    assert again.init == "auto"
    assert np.array_equal(again.embedding_, model.embedding_)


def test_labels_must_be_texts_or_whole_numbers(tmp_path, triplets):
    model = STE(random_state=0).fit(Triplets(triplets.rows, items=[(i, i) for i in range(30)]))
    with pytest.raises(ValueError, match="there are tuple"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_only_if_asked_and_ours(tmp_path, triplets):
    with pytest.raises(NotFittedError):
        STE().save(tmp_path / "model")
    model = STE(random_state=0).fit(triplets)
    model.save(tmp_path / "model")
    with pytest.raises(FileExistsError, match="force=True"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", force=True)
    (tmp_path / "model" / "notes.txt").touch()
    with pytest.raises(FileExistsError, match="notes.txt"):
        model.save(tmp_path / "model", force=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99, "ordinate": "9.9"}, "schema 99, of ordinate 9.9.*update"),
        ({"method": "Embedder__"}, "no method 'Embedder__'"),
        ({"method": "annotations"}, "no method"),
        ({"parameters": {"speed": 3}}, "unexpected keyword argument 'speed'"),
        ({"labels": "integers"}, "invalid literal"),
        (None, "cannot be read"),
    ],
)
def test_folders_that_are_no_models(tmp_path, triplets, change, message):
    STE(random_state=0).fit(Triplets(triplets.rows, items=[f"item {i}" for i in range(30)])).save(
        tmp_path / "model"
    )
    file = tmp_path / "model" / "model.json"
    text = file.read_text()
    file.write_text(text[:50] if change is None else json.dumps(json.loads(text) | change))
    with pytest.raises(ValueError, match=message):
        ordinate.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"holds no model\.json"):
        ordinate.load(tmp_path)
