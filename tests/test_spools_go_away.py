"""Temporary copies of triplets that are streamed: none is left when a model or a command ends."""

import gc
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

import ordinate

COMMAND = """
import sys
from ordinate.cli import main
from ordinate.files import streaming
streaming.LEAST = 0
sys.argv = ["ordinate", *sys.argv[1:]]
main()
"""


def answers(path, n_rows=20_000):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(30), (n_rows, 1)), axis=1)[:, :3]
    lines = "".join(f"{a},{b},{c}\n" for a, b, c in rows.tolist())
    path.write_text("anchor,near,far\n" + lines)


@pytest.fixture
def spools(tmp_path, monkeypatch):
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.filterwarnings("ignore:not converged")
def test_a_model_takes_its_spool_along(tmp_path, spools):
    answers(tmp_path / "x.csv")
    handle = ordinate.open_triplets(tmp_path / "x.csv", memory_limit="600kB")
    model = ordinate.STE(max_iter=2, tol=1.0).fit(handle)
    del handle
    assert len(list(spools.iterdir())) == 1
    assert model.covariance_.shape == (30, 2, 2)  # for which the answers are read again
    del model
    gc.collect()
    assert list(spools.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are told otherwise there")
@pytest.mark.parametrize("way", ["done", "refused", "ended"])
def test_commands_leave_nothing(way, tmp_path, spools):
    answers(tmp_path / "x.csv")
    options = [
        "--memory-limit",
        "600kB",
        "--method",
        "ste",
        "-d",
        "40" if way == "refused" else "2",
    ]
    words = ["fit", "x.csv", "-o", "map", "--folds", "0", *options]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if way == "ended":
        # A folder: first Python itself tries whether files can be made there.
        while process.poll() is None and not any(path.is_dir() for path in spools.iterdir()):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
    said = process.communicate()[1].decode()
    assert (process.returncode != 0) == (way != "done"), said
    assert list(spools.iterdir()) == []
