"""What a release promises: one version everywhere, a README whose picture and commands are true."""

import re
import runpy
import tomllib
from pathlib import Path

import numpy as np
from PIL import Image
from typer.testing import CliRunner

import ordinate
from ordinate.cli import app

HERE = Path(__file__).parents[1]
README = (HERE / "README.md").read_text(encoding="utf-8")


def test_one_version_and_date_everywhere():
    citation = (HERE / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.+)$", citation, re.M)
    (date,) = re.findall(r"^date-released: (.+)$", citation, re.M)
    headings = re.findall(r"^## (.+)$", (HERE / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert version == ordinate.__version__
    assert headings[:2] == ["[Unreleased]", f"[{version}] - {date}"]


def test_changes_are_of_the_kinds_that_keep_a_changelog_has():
    parts = re.split(r"^## ", (HERE / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)[2:]
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for part in parts:
        found = [kind for kind in re.findall(r"^### (.+)$", part, re.M) if kind in kinds]
        assert found == [kind for kind in kinds if kind in found]
        assert found


def test_readme_shows_what_the_script_draws(tmp_path):
    script = runpy.run_path(str(HERE / "docs" / "readme_picture.py"))
    script["main"](tmp_path / "again.png")
    assert script["PICTURE"].relative_to(HERE).as_posix() in README
    kept, again = (
        np.asarray(Image.open(path).convert("L"), float)
        for path in (script["PICTURE"], tmp_path / "again.png")
    )
    assert kept.shape == again.shape
    assert np.abs(kept - again).mean() < 2  # of 255: other fonts and processors differ a little


def test_commands_in_readme_run(tmp_path, monkeypatch):
    commands = [
        line.partition("#")[0].split()
        for block in re.findall(r"^```sh\n(.*?)^```", README, re.S | re.M)
        for line in block.splitlines()
    ]
    assert [words[:2] for words in commands] == [
        ["ordinate", "check"],
        ["ordinate", "fit"],
        ["make", "demo"],
        ["make", "test"],
    ]
    monkeypatch.chdir(tmp_path)
    made = ["simulate", "--n", "20", "--c", "20", "-o", "responses.csv"]
    assert CliRunner().invoke(app, made).exit_code == 0
    checks = (HERE / ".ci" / "run").read_text(encoding="utf-8")
    for program, *words in commands:
        if program == "make":  # by continuous integration, in fresh environments
            assert re.search(rf"^(\w+= )?make {words[0]}$", checks, re.M)
        else:
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, result.output
    assert Path("responses-map/report.html").exists()


def test_files_that_readme_links_to_exist():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert [link for link in links if not (HERE / link).exists()] == []


def test_metadata_is_complete():
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"name", "description", "readme", "license", "authors", "keywords"} <= set(project)
    said = {c.rpartition(" :: ")[2] for c in project["classifiers"] if "Python :: 3." in c}
    workflow = (HERE / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    (tested,) = re.findall(r"matrix:\n\s+os: .*windows.*\n\s+python: \[(.*)\]", workflow)
    assert said == set(re.findall(r"[\d.]+", tested))
