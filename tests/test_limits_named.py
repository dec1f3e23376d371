"""A memory limit that is too small is refused with one that is enough."""

import re

import numpy as np
from pyarrow.csv import write_csv
from test_cli import run  # noqa: F401

from ordinate import Triplets


def test_the_limit_that_a_refusal_names_is_enough(run, tmp_path):  # noqa: F811
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(40), (60_000, 1)), axis=1)[:, :3]
    path = tmp_path / "answers.csv"
    write_csv(Triplets(rows, items=[f"item {i}" for i in range(40)]).to_arrow(), path)
    refused = run("convert", path, "-o", "rows.csv", "--memory-limit", "500kB", code=2)
    named = re.search(r"as in --memory-limit (\d+MiB)", refused.output)
    assert named is not None, refused.output
    assert "Fits of STE" not in refused.output
    run("convert", path, "-o", "rows.csv", "--memory-limit", named[1])
    assert (tmp_path / "rows.csv").read_text().count("\n") == 60_001
