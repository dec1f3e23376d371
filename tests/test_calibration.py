"""Whether probabilities can be taken at their word, and the curve that shows it."""

import json
import re

import numpy as np
import pytest

from ordinate import Triplets, html_report, metrics
from ordinate.evaluation.metrics import judge_probabilities


def test_honest_probabilities_have_no_calibration_error_but_for_chance():
    generator = np.random.default_rng(0)
    p = generator.uniform(0.5, 1.0, 100_000)
    right = generator.random(len(p)) < p
    found = metrics.calibration(p, right)
    assert found.error < 2 * 0.4 * np.sqrt(10 / len(p))
    assert found.counts.tolist() == [10_000] * 10
    assert np.allclose(found.predicted, np.linspace(0.525, 0.975, 10), atol=0.005)
    boastful = metrics.calibration((1 + p) / 2, right)
    assert boastful.error == pytest.approx(((1 + p) / 2 - p).mean(), abs=0.005)


def test_bins_hold_equal_counts_and_weights_count():
    p, right = [0.9, 0.6, 0.8, 0.7, 0.5], [1, 0, 1, 0.5, 1]
    found = metrics.calibration(p, right, n_bins=2)
    assert found.counts.tolist() == [3, 2]
    assert found.predicted == pytest.approx([0.6, 0.85])
    assert found.observed == pytest.approx([0.5, 1.0])
    assert found.error == pytest.approx((3 * 0.1 + 2 * 0.15) / 5)
    repeated = metrics.calibration([0.6, 0.9, 0.9, 0.9], [0, 1, 1, 1], n_bins=1)
    weighted = metrics.calibration([0.6, 0.9], [0, 1], weight=[1, 3], n_bins=1)
    assert weighted.error == pytest.approx(repeated.error)
    assert len(metrics.calibration([0.6], [1]).counts) == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([0.5], [1, 0]), "same length"),
        (([], []), "same length"),
        (([1.5], [1]), "probabilities must lie between 0 and 1"),
        (([np.nan], [1]), "probabilities must lie between 0 and 1"),
        (([0.5], [2]), "right must lie between 0 and 1"),
    ],
)
def test_what_is_no_probability_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        metrics.calibration(*given)
    with pytest.raises(ValueError, match="weight must be of shape"):
        metrics.calibration([0.5], [1], weight=[1, 2])


def test_answers_are_judged_by_their_probability_and_the_likelier_ones_by_calibration():
    triplets = Triplets([[0, 1, 2]] * 4, weight=[1, 1, 2, 1])
    given = np.array([0.8, 0.2, 0.5, 0.0])
    likelihood, curve = judge_probabilities(given, triplets, n_bins=1)
    tiny = np.finfo(float).tiny
    assert likelihood == pytest.approx(np.log([0.8, 0.2, 0.5, 0.5, tiny]).mean())
    assert curve.predicted == pytest.approx([(0.8 + 0.8 + 0.5 + 0.5 + 1) / 5])
    assert curve.observed == pytest.approx([(1 + 0 + 0.5 + 0.5 + 0) / 5])


CURVE = {"error": 0.04, "predicted": [0.6, 0.9], "observed": [0.55, 0.87], "counts": [50, 50]}


def test_the_report_holds_the_curve():
    page = html_report([[0, 0], [1, 0], [0, 2]], title="Three", calibration=CURVE)
    text = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(text)["calibration"] == CURVE
    with pytest.raises(ValueError, match="calibration needs the keys .* missing"):
        html_report([[0, 0], [1, 0]], title="", calibration={"error": 0.1})
    with pytest.raises(ValueError, match="calibration observed"):
        html_report([[0, 0], [1, 0]], title="", calibration={**CURVE, "observed": [0.5]})
