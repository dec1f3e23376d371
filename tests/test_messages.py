"""Options that messages name are data: Python and the command line spell them, each in its way."""

import json
import pickle
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest
from test_cli import run  # noqa: F401

from ordinate import ondisk, readers
from ordinate._base.messages import Message, Option, message_of
from ordinate.cli import _shell as shell
from ordinate.files.datasets import DownloadError

PLAIN = "anchor,near,far\na,b,c\nb,c,a\nc,a,b\na,b,d\n"
CHECKS = "anchor,near,far,check\na,b,c,1\nb,c,a,0\nb,a,c,0\n"


def test_messages_keep_their_options_through_all_that_is_done_to_them():
    message = Message("say ", Option("drop", ("repeated",)), " or ", Option("odd", ...))
    assert message == "say drop=('repeated',) or odd=..."
    assert message.spelled(lambda option: option.name.upper()) == "say DROP or ODD"
    within = Message("file: ", Message.joined("; ", ["a note", message]))
    assert within == f"file: a note; {message}"
    assert [part for part in within.parts if isinstance(part, Option)] == [
        Option("drop", ("repeated",)),
        Option("odd", ...),
    ]
    copy = pickle.loads(pickle.dumps(message))
    assert (copy, copy.parts) == (message, message.parts)
    assert json.dumps([message]) == json.dumps([str(message)])
    assert Message.joined("; ", []) == ""
    for error in (ValueError, MemoryError, FileExistsError, DownloadError, UserWarning):
        assert str(error(message)) == message
        assert message_of(error(message)).parts == message.parts
    assert message_of(OSError(2, "gone")) == "[Errno 2] gone"


@pytest.mark.parametrize(
    ("option", "python", "spelled"),
    [
        (Option("force", True), "force=True", "--force"),
        (Option("memory_limit", "4GiB"), "memory_limit='4GiB'", "--memory-limit 4GiB"),
        (Option("n_components"), "n_components", "--dimensions"),
        (Option("columns", ...), "columns=...", "--columns"),
        (Option("only", {"a b": "c"}), "only={'a b': 'c'}", "--only 'a b=c'"),
        (Option("n_items", 7), "n_items=7", "n_items=7"),  # the command has none such
    ],
)
def test_an_option_is_spelled_where_it_is_said(option, python, spelled):
    heard = []

    @shell.command
    def fit(dimensions=None, columns=None, only=None, memory_limit=None, force=None):
        heard.append(shell.spelled(Message("say ", option)))

    fit()
    assert Message("say ", option) == f"say {python}"
    assert heard == [f"say {spelled}"]


CASES = {
    "exists": ("convert in.csv -o in.csv.copy.csv", 4, "in.csv.copy.csv exists: --force replaces"),
    "dimensions": ("fit in.csv -d 4 -o x", 2, "--dimensions must be less than the number of items"),
    "memory": ("fit in.csv --memory-limit lots -o x", 2, "--memory-limit must be a number"),
    "folds": ("fit in.csv --folds 1 -o x", 2, "--folds must be 0, or at least 2"),
    "noise": ("fit in.csv --noise what -o x --folds 0", 2, "--noise must be one of 'btl'"),
    "labels": ("fit in.csv --labels what -o x", 2, "--labels must be 'auto', 'all'"),
    "roles": ("check in.csv --columns x=y", 3, "--columns names roles ['x']"),
    "mixed": ("check in.csv --columns anchor=z", 3, "cannot be mixed in --columns"),
    "ids": ("check in.csv --first-id 1", 3, "--first-id is 1, but the file has labels"),
    "times": ("check in.csv --min-response-time 1", 3, "--min-response-time needs a column"),
    "response": ("check in.csv --response item", 3, "so that --response has nothing to explain"),
    "layout": ("check in.csv --layout what", 2, "--layout must be one of 'auto', 'plain'"),
    "place": ("check in.csv --response f=what", 2, "what --response says of a code must be one of"),
    "fast": ("check fast --odd last", 2, "--odd cannot apply to it"),
    "design": ("simulate --n 9 --landmarks 3 --design uniform -o x.csv", 2, "--design landmarks"),
    "method": ("fit in.csv --method loe --starts 3 -o x", 2, "loe does not take --starts"),
}


@pytest.mark.parametrize(("words", "code", "message"), CASES.values(), ids=CASES)
def test_errors_name_options_of_the_command_line(words, code, message, run):  # noqa: F811
    for name in ("in.csv", "in.csv.copy.csv"):
        Path(name).write_text(PLAIN)
    ondisk.convert("in.csv", "fast")
    assert message in run(*shlex.split(words), code=code).stderr


def test_notes_name_options_of_the_command_line(run):  # noqa: F811
    Path("in.csv").write_text(CHECKS)
    (note,) = readers.read("in.csv").notes
    assert note.endswith("; keep_checks=True keeps them")
    told = json.loads(run("check", "in.csv", "--json").output)["notes"]
    assert told == [note.replace("keep_checks=True", "--keep-checks")]
    assert told[0] in run("convert", "in.csv", "-o", "out.csv").stderr


def test_warnings_name_options_of_the_command_line(capsys):
    @shell.command
    def plot(keep_checks=None):
        with shell.warnings_as_notes():
            warnings.warn(
                UserWarning(Message(Option("keep_checks", True), " is old")), stacklevel=1
            )
            warnings.warn("and keep_checks=True is text", stacklevel=1)

    plot()
    told = "note: --keep-checks is old\nnote: and keep_checks=True is text\n"
    assert capsys.readouterr().err == told


def test_a_folder_of_answers_may_have_an_about_json_of_its_own(tmp_path):
    (tmp_path / "about.json").write_text('{"study": 1}')
    for name in ("p1.csv", "p2.csv"):
        (tmp_path / name).write_text(PLAIN)
    with pytest.raises(readers.ReadError):  # it is a table, but none of answers
        readers.read(tmp_path)
    np.save(tmp_path / "starts.npy", np.zeros(3))
    with pytest.raises(readers.ReadError, match="is not what ordinate wrote"):
        readers.read(tmp_path)
