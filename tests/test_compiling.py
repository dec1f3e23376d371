"""Compiling in a process of its own, and what happens where nothing can be kept on disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import ordinate
from ordinate.cli._before_fit import begin_compiling
from ordinate.kernels.backends import compiling
from ordinate.kernels.backends.compiling import CompilingBeside

pytest.importorskip("numba", reason="numba is not installed")

ANSWERS = "anchor,near,far\n" + "a,b,c\nb,c,d\nc,d,a\nd,a,b\n" * 5


def environment(cache: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "NUMBA_CACHE_DIR": str(cache), "ORDINATE_THREADS": "2", **more}


def python(code: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_fit_finds_the_kernel_that_another_process_compiled_away_from_the_current_folder(tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS)
    (tmp_path / "numpy.py").write_text("open('executed', 'w')\n")
    code = """
import sys
from ordinate.cli import app
app(["fit", "answers.csv", "-q", "--method", "ste"], standalone_mode=False)
from ordinate.kernels import losses
from ordinate.kernels.backends.numba_.maps import loss_kernel
stats = loss_kernel(losses.get("ste")).stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
    result = python(code, tmp_path, environment(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("1 0\n")
    assert result.stderr == ""
    assert not (tmp_path / "executed").exists()
    assert len(list(tmp_path.glob("cache/*/maps._loss_sums-*.nbi"))) == 1  # of no other loss


def test_the_process_that_compiles_ends_with_the_one_that_wants_it(tmp_path):
    code = """
import time
from ordinate.kernels.backends.compiling import CompilingBeside
with CompilingBeside("ste") as compiling:
    print(compiling.children[0].pid, flush=True)
    time.sleep(600)
"""
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    child.wait(timeout=120)
    assert not list(tmp_path.glob("*/maps._loss_sums-*.nbi"))


def test_every_kernel_that_takes_long_is_compiled_once_in_some_process(tmp_path):
    """Two threads share the work; of more, one reads the file while the others compile."""
    code = """
from ordinate.kernels.backends.compiling import CompilingBeside
with CompilingBeside("power") as compiling:
    compiling.wait()
print(len(compiling.children), [child.returncode for child in compiling.children])
"""
    for threads, printed in (("2", "1 [0]"), ("4", "2 [0, 0]")):
        cache = tmp_path / threads
        result = python(code, tmp_path, environment(cache, ORDINATE_THREADS=threads))
        assert result.stdout.strip() == printed, result.stderr
        for kernel in ("_loss_sums", "_shape_part"):
            assert len(list(cache.glob(f"*/maps.{kernel}-*.nbi"))) == 1


def test_a_process_that_is_no_longer_wanted_is_ended(tmp_path):
    code = """
from ordinate.kernels.backends.compiling import CompilingBeside
with CompilingBeside("ste") as compiling:
    pass
print(*(child.returncode for child in compiling.children))
"""
    result = python(code, tmp_path, environment(tmp_path / "cache") | {"PYTHONWARNINGS": "error"})
    assert result.stdout.strip() not in ("", "0", "None"), result.stderr
    assert result.stderr == ""


@pytest.fixture
def missing(monkeypatch):
    """A kernel that would have to be compiled; a process that is begun is an error."""
    started = []

    def popen(*command, **_):
        started.append(command)
        raise OSError("no more processes")

    monkeypatch.setattr(compiling.subprocess, "Popen", popen)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    monkeypatch.setenv("ORDINATE_THREADS", "2")
    return started


def test_where_no_process_can_be_had_the_kernel_is_compiled_when_it_is_called(missing):
    with CompilingBeside("ste") as nothing:
        nothing.wait()
    assert len(missing) == 1
    assert nothing.children == []


@pytest.mark.parametrize("why", ["kept", "not kept", "one thread", "no loss", "no numba"])
def test_no_process_is_begun_for_nothing(missing, monkeypatch, why):
    name = "loe" if why == "no loss" else "ste"
    if why == "kept":
        monkeypatch.setattr(Path, "glob", lambda *_: iter(["maps._loss_sums.nbi"]))
    elif why == "not kept":
        uncached = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
        monkeypatch.setattr(
            "ordinate.kernels.backends.numba_.maps.loss_kernel", lambda loss: uncached
        )
    elif why == "one thread":
        monkeypatch.setenv("ORDINATE_THREADS", "1")
    elif why == "no numba":
        monkeypatch.setitem(sys.modules, "ordinate.kernels.backends.numba_.maps", None)
    with CompilingBeside(name) as nothing:
        nothing.wait()
    assert missing == []


@pytest.mark.parametrize(
    ("method", "noise", "device", "loss"),
    [
        ("auto", None, None, "power"),
        ("ordinal", None, None, "power"),
        ("ste", "btl", "cpu", "ste"),
        ("auto", "thurstone", None, "probit"),
        ("tste", None, None, "tste"),
        ("loe", "thurstone", None, "loe"),  # no loss: nothing is compiled
        ("auto", None, "cuda", ""),
    ],
)
def test_the_kernel_of_the_method_is_compiled(monkeypatch, method, noise, device, loss):
    monkeypatch.setattr(compiling, "CompilingBeside", str)
    assert begin_compiling(method, noise, device, quiet=False) == loss


def test_fit_without_numba_says_so_once(tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS)
    env = environment(tmp_path, PYTHONPATH=str(Path(__file__).with_name("without_numba")))
    command = [sys.executable, "-P", "-m", "ordinate", "fit", "answers.csv"]
    result = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("numba") == 2  # the note, and why
    assert "note: numba could not be imported" in result.stderr


def test_without_a_folder_for_compiled_kernels_all_works_with_one_note(tmp_path):
    """A package and a home that cannot be written to; root can write to any, but not into a file."""
    package = tmp_path / "site" / "ordinate"
    shutil.copytree(
        Path(ordinate.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    no_folder = package / "kernels" / "backends" / "numba_" / "__pycache__"
    no_folder.write_text("")
    (tmp_path / "answers.csv").write_text(ANSWERS)
    env = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    env |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"HOME": str(no_folder), "XDG_CACHE_HOME": str(no_folder / "cache")}
    env |= {"LOCALAPPDATA": str(no_folder), "MPLCONFIGDIR": str(tmp_path / "mpl")}
    command = [sys.executable, "-P", "-m", "ordinate", "fit", "answers.csv", "--folds", "0"]
    result = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("NUMBA_CACHE_DIR") == 1
    assert "note: numba finds no folder to keep compiled kernels in" in result.stderr
    assert "Warning" not in result.stderr
    assert (tmp_path / "answers-map" / "embedding.csv").exists()


def test_kernels_are_kept_where_there_is_a_folder(tmp_path):
    code = """
from ordinate.kernels.backends.numba_ import count_anchors
print(count_anchors.stats.cache_path)
"""
    result = python(code, tmp_path, environment(tmp_path / "cache"))
    assert result.stdout.startswith(str(tmp_path / "cache"))
