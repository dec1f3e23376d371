"""Few answers: wherever covariances are used, it is said that they are not to be trusted."""

import json

import numpy as np
import pytest
from commands import plain
from test_error_marks import drawn
from typer.testing import CliRunner

from ordinate import (
    LOE,
    STE,
    compare,
    html_report,
    load,
    plot_map,
    sample_points,
    sample_triplets,
)
from ordinate.cli import app
from ordinate.figures.comparing import plot_comparison


def fitted(n, d, seed):
    """12 answers per coordinate, about few landmarks: enough for a map, and no more."""
    points = sample_points(n, d, random_state=seed)
    answers = sample_triplets(
        points, 12 * n * d, design="landmarks", landmarks=d + 4, random_state=1000 + seed
    )
    return LOE(d).fit(answers)


def below(figure):
    return " ".join(" ".join(text.get_text().split()) for text in figure.texts)


@pytest.mark.parametrize(("n", "d"), [(60, 2), (60, 5), (200, 2), (200, 5)])
def test_every_fit_of_few_answers_is_doubted(n, d):
    """Where 92 to 97 of 100 ellipses do not hold what they should; see docs/uncertainty.md."""
    for seed in range(8):
        model = fitted(n, d, seed)
        assert model.covariance_doubt_ is not None
        with pytest.warns(UserWarning, match="the covariance is not to be trusted"):
            model.covariance()


def test_figures_and_reports_say_so():
    model = fitted(60, 2, 0)
    assert not drawn(plot_map(model))
    assert "Not shown: how sure places are (not to be trusted)" in below(plot_map(model))
    asked = plot_map(model, ellipses=True)
    assert drawn(asked)
    assert f"That is not to be trusted: {model.covariance_doubt_}." in below(asked)
    assert "trusted" not in below(plot_map(model, ellipses=False))
    assert f"This is not to be trusted: {model.covariance_doubt_}." in html_report(model, title="x")
    given = plot_map(model.embedding_, covariance=model.covariance_, doubt="of a test")
    assert "That is not to be trusted: of a test." in below(given)


def test_commands_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = sample_points(60, 2, random_state=0)
    answers = sample_triplets(points, 1440, design="landmarks", landmarks=6, random_state=1000).rows
    table = np.vstack([["anchor", "near", "far"], np.char.add("item ", answers.astype(str))])
    (tmp_path / "a.csv").write_text("\n".join(map(",".join, table)))
    figures = []
    monkeypatch.setattr("ordinate.figures.plotting.save", lambda figure, _: figures.append(figure))

    def run(*words):
        result = CliRunner().invoke(app, plain(*words))
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    told = run("fit", "a.csv", "--method", "loe", "--folds", 0, "-o", "map")
    assert "Not to be trusted: there are 12.0 answers" in told
    doubt = load("map").covariance_doubt_
    assert "This is not to be trusted: there are 12.0 answers" in (
        tmp_path / "map/report.html"
    ).read_text(encoding="utf-8")
    assert "no ellipses are drawn: they are not to be trusted" in run("plot", "map", "-o", "x.png")
    assert "(not to be trusted)" in below(figures[-1])
    run("plot", "map", "-o", "y.png", "--ellipses")
    assert f"That is not to be trusted: {doubt}." in below(figures[-1])


def test_a_comparison_of_doubtful_maps_says_so_wherever_it_is_told(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    points = 3 * sample_points(20, random_state=0)
    for seed, name in ((1, "few"), (2, "many")):
        n_rows = 250 if name == "few" else 8000
        STE(random_state=0, regularization=0.1).fit(
            sample_triplets(points, n_rows, random_state=seed)
        ).save(name)
    with pytest.warns(UserWarning, match="chance is not to be trusted: of the first map"):
        found = compare("few", "many")
    assert "of the first map, there are" in found.doubt
    assert str(found.sentence).endswith(f"Chance is not to be trusted here: {found.doubt}")
    assert found.doubt in below(plot_comparison(found))
    CliRunner().invoke(app, ["compare", "few", "many", "-o", "out"])
    assert json.loads((tmp_path / "out/compare.json").read_text())["doubt"] == found.doubt
    assert "Chance is not to be trusted here" in (tmp_path / "out/report.html").read_text()
    with pytest.warns(UserWarning, match="of the second map"):
        assert "of the second map" in compare("many", "few").doubt
