"""What a fit has found is not lost, whatever happens to its folder while it works."""

from test_cli import answers, run  # noqa: F401

from ordinate.cli import fit


def test_a_folder_that_appears_while_a_fit_works_stays_and_so_does_the_fit(
    run,  # noqa: F811
    answers,  # noqa: F811
    monkeypatch,
    tmp_path,
):
    found = fit.analysed

    def slow(*args, **kwargs):
        (tmp_path / "map").mkdir()
        (tmp_path / "map" / "thesis.tex").touch()
        return found(*args, **kwargs)

    monkeypatch.setattr(fit, "analysed", slow)
    refused = run("fit", answers, "-o", "map", "--folds", 0, "-q", code=4)
    assert "map appeared in the meantime, and stays as it is" in refused.stderr
    assert [entry.name for entry in (tmp_path / "map").iterdir()] == ["thesis.tex"]
    (kept,) = tmp_path.glob("map-*/map/embedding.csv")
    assert str(kept.parent) in refused.stderr.replace("\n", "")


def test_what_a_fit_warns_of_names_options_of_the_command(run, answers):  # noqa: F811
    told = run("fit", answers, "-o", "map", "--folds", 0, "--max-iter", 1).stderr
    assert "not converged after 1 steps: raise --max-iter or --tol" in told
