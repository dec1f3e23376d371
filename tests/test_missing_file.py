"""A file that is not there is refused at once, with the name of one that is called almost so."""

import subprocess
import sys

import pytest

NOTHING_LOADED = """
import sys
sys.argv = {words!r}
from ordinate.cli import app
try:
    app()
except SystemExit as ended:
    print(ended.code, [name for name in ("numpy", "pyarrow", "numba") if name in sys.modules])
"""


@pytest.mark.parametrize("words", [("fit", "answers.cvs"), ("check", "answer.csv")])
def test_nothing_is_loaded_to_say_that_a_file_is_not_there(tmp_path, words):
    (tmp_path / "answers.csv").write_text("anchor,near,far\na,b,c\n")
    code = NOTHING_LOADED.format(words=["ordinate", *words])
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "3 []\n", done.stderr
    assert f"{words[1]}: there is no such file; there is answers.csv" in done.stderr


@pytest.mark.parametrize("name", ["elsewhere/answers.csv", "a-file/answers.csv", "x" * 300])
def test_no_name_is_offered_where_none_is_alike(tmp_path, monkeypatch, name):
    from typer.testing import CliRunner

    from ordinate.cli import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("")
    result = CliRunner().invoke(app, ["check", name])
    assert result.exit_code == 3
    assert "there is no such file\n" in result.stderr.replace("\n    ", " ")
