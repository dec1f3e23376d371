"""The site's promises: every public name is in the reference, and every command of the tutorials runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ordinate

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
EXAMPLES = HERE.parent / "examples"


def test_every_public_name_is_in_the_reference():
    listed = re.findall(r"^   ([A-Za-z]\w*)(?:\.\w+)?$", (DOCS / "reference.rst").read_text(), re.M)
    assert sorted(set(ordinate.__all__)) == sorted(set(listed))


def test_names_in_the_reference_exist():
    for dotted in re.findall(
        r"^   ([A-Za-z]\w*(?:\.\w+)?)$", (DOCS / "reference.rst").read_text(), re.M
    ):
        value = ordinate
        for part in dotted.split("."):
            value = getattr(value, part)
        assert value.__doc__


def test_every_page_is_in_a_table_of_contents():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    linked = set()
    for page in DOCS.glob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.S):
            linked |= {
                line.strip() for line in tree.splitlines() if line.strip() and line[0] != ":"
            }
    assert pages <= linked


def test_the_gallery_lists_its_scripts():
    listed = re.findall(r'"(plot_\w+\.py)"', (DOCS / "conf.py").read_text())
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("page", ["tutorial_file", "tutorial_study"])
def test_commands_of_the_tutorials_run(page, tmp_path):
    """All blocks of shell and Python, in order, in one folder."""
    text = (DOCS / f"{page}.md").read_text()
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", text, re.S | re.M)
    assert blocks
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, code in blocks:
        program = ["bash", "-euo", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run(
            [*program, code],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
