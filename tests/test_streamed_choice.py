"""What is chosen where all answers are too many: by a sample of whole answers, and so it is told."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import (
    OrdinalEmbedding,
    Power,
    Triplets,
    answers,
    ondisk,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.cli import app
from ordinate.data.folds import in_sample, sampled_answers
from ordinate.estimators import ordinal

POINTS = sample_points(15, random_state=0)
LIMIT = "1500KiB"  # too little for what follows, and enough to stream it


def odd_ones_out(n=20_000):
    """Answers of two rows each, with different anchors: an order by anchor tears them apart."""
    rng = np.random.default_rng(0)
    trio = np.array([rng.permutation(15)[:3] for _ in range(n)])
    distance = ((POINTS[trio[:, [1, 0, 0]]] - POINTS[trio[:, [2, 2, 1]]]) ** 2).sum(axis=2)
    odd = (distance + rng.gumbel(size=distance.shape)).argmin(axis=1)
    at = np.arange(n)
    first, second = (odd + 1) % 3, (odd + 2) % 3
    return answers.odd_one_out(trio[at, first], trio[at, second], trio[at, odd], items=range(15))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "answers"
    ondisk.write([odd_ones_out()], path)
    return path


def opened(path):
    found = ondisk.open_triplets(path, memory_limit=LIMIT)
    assert not found.fits
    return found


def test_a_sample_of_a_file_has_whole_answers_wherever_their_rows_lie(stored):
    file = opened(stored)
    assert file.block_rows < len(file) / 4
    sample = file.sample(4000, seed=1)
    assert set(np.bincount(sample.answer)) == {2}
    assert len(sample) == pytest.approx(4000, rel=0.1)
    assert (sample.rows == file.sample(4000, seed=1).rows).all()
    assert len(np.unique(np.vstack([sample.rows, file.sample(4000, seed=2).rows]), axis=0)) > 100
    whole = file.load()
    assert len(file.sample(len(file), seed=1)) == len(whole)
    assert {tuple(row) for row in sample.rows.tolist()} <= {tuple(r) for r in whole.rows.tolist()}


def test_samples_of_consecutive_numbers_are_as_random_as_any():
    numbers = np.arange(100_000)
    taken = in_sample(numbers, 0.3, 5)
    assert taken.mean() == pytest.approx(0.3, abs=0.01)
    assert np.mean(taken[1:] & taken[:-1]) == pytest.approx(0.09, abs=0.01)
    assert np.mean(taken & in_sample(numbers, 0.3, 6)) == pytest.approx(0.09, abs=0.01)
    assert in_sample(numbers, 1.0, 5).all()


def test_a_sample_chooses_for_a_stream_and_all_rows_make_the_map(stored):
    file = opened(stored)
    steps = []
    model = OrdinalEmbedding(random_state=0, callback=steps.append).fit(file)
    assert model.n_chosen_by_ == pytest.approx(1500 * 1024 / 4 / ordinal.CHOOSING, rel=0.1)
    assert model.sample_ == f"{model.n_chosen_by_:,} of 40,000 triplets, whole answers"
    assert f"chosen by unseen answers of a sample ({model.sample_})" in model.describe_choice()
    assert len({step.n_passes for step in steps}) > 1
    of_sample = OrdinalEmbedding(random_state=0).fit(file.sample(1900, 3))
    errors = [
        procrustes_error(each.embedding_, POINTS, scale=True, relative=True)
        for each in (model, of_sample)
    ]
    assert errors[0] < errors[1] / 2  # which is near 1 / sqrt(20)
    again = OrdinalEmbedding(random_state=0).fit(opened(stored))
    assert again.choice_ == model.choice_


def test_rows_stand_for_answers_where_a_file_keeps_none(tmp_path):
    rows = odd_ones_out().rows
    ondisk.write([Triplets(rows, n_items=15)], tmp_path / "rows")
    file = ondisk.open_triplets(tmp_path / "rows", memory_limit="900KiB")
    assert not file.fits
    model = OrdinalEmbedding(random_state=0, max_iter=3)
    with pytest.warns(UserWarning, match="not converged"):
        model.fit(file)
    assert model.sample_.endswith("rows taken for answers, as nothing says which belong together")


def test_no_dimension_is_chosen_for_a_stream(stored):
    with pytest.raises(ValueError, match=r"n_components must be one number for .*none is chosen"):
        OrdinalEmbedding("auto").fit(opened(stored))


def test_in_memory_a_sample_chooses_too(monkeypatch, capsys):
    triplets = odd_ones_out(2000)
    sample = sampled_answers(triplets, 900, np.random.default_rng(0))
    assert len(sample) == 900
    assert set(np.bincount(sample.groups("answer"))) == {2}
    assert sampled_answers(triplets, 4000, np.random.default_rng(0)) is triplets
    monkeypatch.setattr(ordinal, "MOST_ROWS", 900)
    model = OrdinalEmbedding(random_state=0, verbose=1).fit(triplets)
    assert re.search(
        r"chosen: power .* accuracy [\d.]+% \(chance 50%, ceiling ", capsys.readouterr().err
    )
    assert model.sample_ == "900 of 4,000 triplets, whole answers"
    assert OrdinalEmbedding(random_state=0).fit(triplets[:900]).sample_ == ""


def test_the_map_of_all_answers_says_how_people_answer(monkeypatch):
    """Maps of few answers are poor: what follows them poorly follows the map of all answers well."""
    noise = Power(0.5, slope=1.0, lapse=0.05)
    monkeypatch.setattr(ordinal, "MOST_ROWS", 600)
    likelihood = {2: 0.0, 1000: 0.0}
    for seed in range(3):
        points = 2 * sample_points(50, random_state=seed)
        seen, unseen = (
            sample_triplets(points, 8000, noise=noise, random_state=10 * seed + k) for k in (2, 3)
        )
        for times in likelihood:
            monkeypatch.setattr(ordinal, "MANY_MORE", times)
            model = OrdinalEmbedding(random_state=0).fit(seen)
            likelihood[times] += np.log(model.predict_proba(unseen)[:, 1]).mean() / 3
    assert likelihood[2] > likelihood[1000] + 0.02


def test_memory_that_is_too_little_is_told_before_anything_is_chosen(tmp_path, monkeypatch):
    points = sample_points(3000, random_state=0)
    ondisk.write([sample_triplets(points, 60_000, random_state=0)], tmp_path / "many")
    file = ondisk.open_triplets(tmp_path / "many", memory_limit="1MiB")
    monkeypatch.setattr(type(file), "sample", None)  # it comes to no sample
    with pytest.raises(MemoryError, match="of memory are needed for 3,000 items"):
        OrdinalEmbedding(random_state=0).fit(file)


def test_the_command_streams_and_says_what_it_did_not_compute(stored, tmp_path):
    options = ["--memory-limit", LIMIT, "-o", str(tmp_path / "map")]
    result = CliRunner().invoke(app, ["fit", str(stored), *options])
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "map" / "run.json").read_text())
    assert record["method"] == "ordinal"
    assert "of 40,000 triplets, whole answers)" in record["choice"]["told"]
    assert record["choice"]["told"] in result.output
    assert record["held_out"] is None
    assert "no answers were held out" in result.output
    refused = CliRunner().invoke(app, ["fit", str(stored), *options, "-d", "auto", "--force"])
    assert refused.exit_code == 2
    assert "--dimensions must be one number" in " ".join(refused.output.split())
