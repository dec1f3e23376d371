"""Whatever line of the writer an interruption or a kill comes at, the old or the new is there."""

import gc
import os
import shutil
import sys
from itertools import count
from pathlib import Path

import pytest

from ordinate._base import writing
from ordinate._base.writing import whole_file, whole_folder


def write(path, content, checked=False):
    with whole_folder(path, force=True, checked=checked) as folder:
        (folder / "a").write_text(content)
        (folder / "b").write_text(content)


def interrupted_at(number, action, interrupt):
    """Run, with an interruption before a line of the writer; tell whether it came to that."""
    seen = count()
    came = []

    def trace(frame, event, _):
        if frame.f_code.co_filename != writing.__file__:
            return None
        if event == "line" and next(seen) == number:
            sys.settrace(None)
            came.append(frame.f_lineno)
            interrupt()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return bool(came)


def kill():
    os._exit(9)


def press_control_c():
    raise KeyboardInterrupt


def content(folder):
    texts = {(folder / name).read_text() for name in ("a", "b")}
    assert len(texts) == 1
    return texts.pop()


@pytest.mark.parametrize("in_one_step", [True, False])
def test_an_interruption_leaves_the_old_or_the_new(tmp_path, monkeypatch, in_one_step):
    if not in_one_step:
        monkeypatch.setattr(writing, "_swap", lambda one, other: False)
    path = tmp_path / "out"
    write(path, "0")
    for number in count():
        old = content(path)
        came = interrupted_at(number, lambda n=number: write(path, str(n + 1)), press_control_c)
        assert content(path) in (old, str(number + 1))
        if list(tmp_path.iterdir()) != [path]:
            gc.collect()
        assert list(tmp_path.iterdir()) == [path]
        if not came:
            break
    assert number > 20
    assert content(path) == str(number + 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges folders in one step")
def test_a_kill_leaves_the_old_or_the_new(tmp_path):
    path = tmp_path / "out"
    write(path, "0")
    for number in count():
        old = content(path)
        child = os.fork()
        if not child:
            interrupted_at(number, lambda n=number: write(path, str(n + 1), checked=True), kill)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert content(path) in (old, str(number + 1))
        for left in tmp_path.glob(f"{writing.SCRATCH}*"):
            shutil.rmtree(left)  # or each would have lines of its own
        if not status:
            break
    assert number > 20
    assert content(path) == str(number + 1)


def test_of_two_that_replace_a_folder_at_once_none_is_lost(tmp_path, monkeypatch):
    """One finds that the other has just taken the folder away, the other that it is back."""
    monkeypatch.setattr(writing, "_swap", lambda one, other: False)
    path = tmp_path / "out"
    write(path, "before")
    put_if_free = writing._put_if_free

    def second_writes_meanwhile(new, target):
        monkeypatch.setattr(writing, "_put_if_free", put_if_free)
        write(path, "second")
        put_if_free(new, target)

    monkeypatch.setattr(writing, "_put_if_free", second_writes_meanwhile)
    with pytest.raises(FileExistsError, match="the result is ") as caught:
        write(path, "first")
    assert content(path) == "second"
    assert content(Path(str(caught.value).split("the result is in ")[1])) == "first"


def test_a_result_whose_long_name_is_taken_is_kept(tmp_path):
    path = tmp_path / ("x" * 250)
    with pytest.raises(FileExistsError, match="the result is "), whole_file(path, force=False) as f:
        f.write_text("ours")
        path.write_text("theirs")
    (kept,) = (p for p in tmp_path.iterdir() if p != path)
    assert (kept / path.name).read_text() == "ours"


def test_the_folder_one_is_in_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    with (
        pytest.raises(FileExistsError, match="the folder you are in"),
        whole_folder(".", force=True),
    ):
        pass
    assert Path(".").samefile(tmp_path / "here" / "below")
