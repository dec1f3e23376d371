"""The report shows every accuracy between chance and the ceiling, where that is known."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate import sample_points, sample_triplets
from ordinate.cli import app

POINTS = sample_points(6, random_state=0)


def options(**more):
    people = [{"participant": f"P{k}", "triplets": 9, "accuracy": 0.5 + k / 20} for k in range(6)]
    return {
        "title": "A report",
        "accuracy_per_item": np.linspace(0.4, 0.9, 6),
        "colour": "accuracy",
        "participants": people,
        "held_out": {"accuracy": 0.7, "n_triplets": 100},
        **more,
    }


def texts(page, selector):
    return page.js(f"[...document.querySelectorAll('{selector}')].map(node => node.textContent)")


@pytest.mark.parametrize(
    ("ceiling", "levels"), [(0.8, "chance 50%, ceiling 80.0%"), (None, "chance 50%")]
)
def test_wherever_accuracy_stands(show, ceiling, levels):
    page = show(POINTS, **options(ceiling=ceiling))
    said = page.js("document.body.textContent")
    assert f"accuracy on held-out answers ({levels})" in said
    for part in ("items", "participants"):
        assert f"accuracy ({levels})" in " ".join(texts(page, f"#{part} th"))
        assert f"({levels})." in texts(page, f"#{part} figcaption")[0]
        marks = texts(page, f"#{part} figure .chance-text")
        assert marks == ["chance 50%", "ceiling 80.0%"][: 1 + bool(ceiling)]
        about = "The ceiling is that of all answers" in texts(page, f"#{part}")[0]
        assert about == (ceiling is not None)
    assert texts(page, ".legend .note") == [f"({levels})"]
    assert len(texts(page, ".gauge .chance")) == len(texts(page, ".strip .chance")) == len(marks)
    page.js("document.querySelector('#items td button').click()")
    assert f"({levels})" in page.js("document.getElementById('item').textContent")


def test_the_two_levels_do_not_cover_each_other(show):
    page = show(POINTS, **options(ceiling=0.55))
    boxes = page.js(
        "[...document.querySelectorAll('#items figure .chance-text, #items figure .mean-text')]"
        ".map(node => { const b = node.getBoundingClientRect(); "
        "return [b.left, b.top, b.right, b.bottom]; })"
    )
    for k, a in enumerate(boxes):
        for b in boxes[:k]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_fit_hands_it_to_the_report_and_the_figure(tmp_path):
    triplets = sample_triplets(3 * POINTS, 1200, random_state=0)
    rows = "\n".join(",".join(map(str, row)) for row in triplets.rows.tolist())
    (tmp_path / "a.csv").write_text(f"anchor,near,far\n{rows}\n")
    result = CliRunner().invoke(
        app, ["fit", str(tmp_path / "a.csv"), "-d", "1-2", "--folds", "2", "--seed", "1"]
    )
    assert result.exit_code == 0, result.output
    folder = tmp_path / "a-map"
    record = json.loads((folder / "run.json").read_text())
    high = record["held_out"]["ceiling"]["high"]
    assert record["dimension"]["ceiling"] == high
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f'"ceiling":{high}' in page
    shown = re.findall(r"accuracy \d+\.\d% (\([^)]*\))", page)
    assert len(shown) > 2  # of each dimension, and of each model that was tried
    assert set(shown) == {f"(chance 50%, ceiling {high:.1%})"}
    assert "ceiling" in (folder / "dimensions.svg").read_text()
