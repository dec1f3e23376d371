"""Ctrl-C at an early moment ends the command line with one line at most, and the code 130."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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


def test_an_interruption_in_a_callback_which_would_swallow_an_exception(tmp_path):
    how = "globals().pop('thing')"
    assert run(tmp_path, "module", INTERRUPT.format(module="typer", how=how)) == (130, "")


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
