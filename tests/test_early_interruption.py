"""Ctrl-C at an early moment ends the command line with one line at most, and the code 130."""

import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pyarrow.csv
import pytest

from ordinate import readers
from ordinate.files.maps import read_map

# Python runs this by itself when it starts: Ctrl-C, when a module is about to be imported.
INTERRUPT = """
import os, sys, weakref

def interrupt(*_):
    os.kill(os.getpid(), 2)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            {how}

class Thing: pass
thing = Thing()
reference = weakref.ref(thing, interrupt)
sys.meta_path.insert(0, Interrupt())
"""
PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
ENTRY, _, FUNCTION = PROJECT["project"]["scripts"]["ordinate"].partition(":")
WAYS = {  # what an installed command says, and the module
    "command": ["-c", f"import sys; from {ENTRY} import {FUNCTION}; sys.exit({FUNCTION}())"],
    "module": ["-m", "ordinate"],
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")

SAID = "error: interrupted; nothing is left half written\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("signal", ""),
        ("ordinate.cli", ""),
        ("typer", ""),
        ("ordinate.cli._shell", ""),
        ("ordinate.cli.reproduce", ""),
        ("numpy", SAID),
        ("pyarrow", SAID),
    ],
)
def test_an_interruption_when_a_module_is_imported(tmp_path, way, module, said):
    assert run(tmp_path, way, INTERRUPT.format(module=module, how="interrupt()")) == (130, said)


@pytest.mark.parametrize(("module", "said"), [("typer", ""), ("pyarrow", SAID)])
def test_an_interruption_in_a_callback_which_would_swallow_an_exception(tmp_path, module, said):
    how = "globals().pop('thing'); import time; time.sleep(10)"
    assert run(tmp_path, "module", INTERRUPT.format(module=module, how=how)) == (130, said)


def test_an_interruption_that_is_ignored_stays_so(tmp_path):
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    for module in ("typer", "pyarrow"):
        site = ignoring + INTERRUPT.format(module=module, how="interrupt()")
        assert run(tmp_path, "module", site) == (0, "")


def run(folder, way, site):
    (folder / "sitecustomize.py").write_text(site)
    (folder / "answers.csv").write_text("anchor,near,far\na,b,c\n")
    result = subprocess.run(
        [sys.executable, "-P", *WAYS[way], "check", "answers.csv"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    return result.returncode, result.stderr


def test_signals_that_come_while_text_is_read_are_left_to_python(tmp_path, monkeypatch):
    """Arrow handles them itself when it is called from the main thread, and loses some."""
    usual, of_main = pyarrow.csv.read_csv, []

    def noted(*args, **kwargs):
        of_main.append(threading.current_thread() is threading.main_thread())
        return usual(*args, **kwargs)

    monkeypatch.setattr(pyarrow.csv, "read_csv", noted)
    (tmp_path / "answers.csv").write_text("anchor,near,far\na,b,c\n")
    (tmp_path / "map.csv").write_text("label,dim1\na,1\nb,2\n")
    readers.read(tmp_path / "answers.csv")
    read_map(tmp_path / "map.csv")
    assert of_main == [False, False]
