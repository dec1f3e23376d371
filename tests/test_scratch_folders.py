"""Scratch folders: removed whenever an interruption comes, and told of where a kill left one."""

import errno
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest

from ordinate._base import writing
from ordinate._base.writing import MARK, whole_file, whole_folder

ONLY_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")


def write(folder):
    with whole_file(folder / "out") as path:
        path.write_text("new")


@pytest.mark.parametrize(("module", "name"), [(os, "mkdir"), (shutil, "rmtree")])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interruption_within_the_standard_library_leaves_nothing(
    tmp_path, monkeypatch, module, name, when
):
    """Between making a folder and noting that, or between noting that it goes and removing it."""
    usual, calls = getattr(module, name), []

    def interrupted(path, *args, **kwargs):
        calls.extend([path] * (writing.SCRATCH in str(path)))
        if when == "after" or len(calls) != 1:
            usual(path, *args, **kwargs)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path)
    gc.collect()
    assert calls
    assert {path.name for path in tmp_path.iterdir()} <= {"out"}


# Python runs this by itself when it starts: SIGTERM twice, each while a folder is removed.
TWICE = """
import os, shutil, signal

usual, calls = shutil.rmtree, []

def interrupted(path, *args, **kwargs):
    calls.append(path)
    if len(calls) < 3:
        os.kill(os.getpid(), signal.SIGTERM)
    usual(path, *args, **kwargs)

shutil.rmtree = interrupted
"""


@ONLY_POSIX
def test_a_command_that_is_told_twice_to_end_removes_its_scratch(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(TWICE)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "answers.csv").write_text("anchor,near,far\na,b,c\nb,c,a\n")
    ended = subprocess.run(
        [sys.executable, "-m", "ordinate", "convert", "answers.csv", "-o", "rows.csv"],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (
        130,
        "error: interrupted; nothing is left half written\n",
    )
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["answers.csv"]


HELD = """
import sys
from ordinate._base.writing import Scratch
from ordinate.cli import _shell, main

def interrupted(file):
    scratch = Scratch()
    scratch.itself = scratch
    raise KeyboardInterrupt

_shell.refuse_missing = interrupted
sys.argv = ["ordinate", "check", "answers.csv"]
main()
"""


def test_a_command_that_is_interrupted_removes_scratch_that_python_would_keep_a_while(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", HELD],
        env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path))},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 130, ended.stderr
    assert list(tmp_path.iterdir()) == []


FORKED = """
import os, sys
from ordinate._base.writing import Scratch

class Owner: pass

scratch, owner = Scratch(), Owner()
scratch.keep_for(owner)
if os.fork() == 0:
    sys.exit()
os.wait()
print(scratch.path.exists())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_that_was_forked_off_leaves_scratch_to_its_parent(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", FORKED],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (ended.stdout, ended.stderr) == ("True\n", "")
    assert list(tmp_path.iterdir()) == []


def test_scratch_that_cannot_be_removed_at_the_end_is_told_of_and_no_error(tmp_path, monkeypatch):
    def refused(folder):
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    scratch = writing.Scratch(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refused)
        with pytest.warns(UserWarning, match="delete it") as told:
            writing.remove_scratch()
    assert str(scratch.path) in str(told[0].message)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks of folders")
def test_what_a_kill_left_is_told_of_and_what_is_in_use_is_not(tmp_path):
    child = os.fork()
    if not child:
        with whole_file(tmp_path / "other"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = tmp_path.glob(f"{writing.SCRATCH}*")
    with whole_file(tmp_path / "slow") as path:
        path.touch()
        for scratch in tmp_path.glob(f"{writing.SCRATCH}*"):
            os.utime(scratch, (0, time.time() - 2 * writing.LEFT))
        with pytest.warns(UserWarning, match="commands left that were killed") as told:
            write(tmp_path)
    assert str(told[0].message).count(writing.SCRATCH) == 1
    assert left.name in str(told[0].message)
    shutil.rmtree(left)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(tmp_path)


@ONLY_POSIX
def test_a_folder_that_is_protected_from_writing_is_replaced_and_removed():
    """By somebody for whom protection counts, as it does not for root."""
    home = tempfile.TemporaryDirectory()
    folder = Path(home.name) / "out"
    os.chmod(home.name, 0o777)
    child = os.fork()
    if not child:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            for content in ("old", "new"):
                with whole_folder(folder, force=True) as new:
                    (new / "below").mkdir()
                    (new / "below" / "a").write_text(content)
                (folder / "below").chmod(0o555)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert (folder / "below" / "a").read_text() == "new"
    assert list(Path(home.name).iterdir()) == [folder]
    (folder / "below").chmod(0o755)
    home.cleanup()


def test_a_full_disk_has_room_for_the_mark(tmp_path):
    """The mark takes what was kept for it."""
    with whole_folder(tmp_path / "out") as new:
        (room,) = (path for path in new.parent.parent.iterdir() if path.is_file())
        assert room.stat().st_size >= 1024
        (new / "a").write_text("a")
    assert (tmp_path / "out" / MARK).read_text() == "a\n"


def test_folders_may_have_the_names_of_what_is_in_scratch_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_swap", lambda one, other: False)
    for name in ("before", "new", "room"):
        for content in ("old", "new"):
            with whole_folder(tmp_path / name, force=True) as new:
                (new / "a").write_text(content)
        assert (tmp_path / name / "a").read_text() == "new"
