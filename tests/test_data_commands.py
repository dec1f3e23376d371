"""Options that the commands about data share: memory, spreadsheets, outputs that exist."""

import re

import numpy as np
import pytest
from pyarrow.csv import read_csv, write_csv
from test_cli import run  # noqa: F401

from ordinate import Triplets, readers


@pytest.fixture
def many(tmp_path):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(40), (60_000, 1)), axis=1)[:, :3]
    path = tmp_path / "many.csv"
    write_csv(Triplets(rows, items=[f"item {i}" for i in range(40)]).to_arrow(), path)
    return path


def test_check_keeps_to_a_memory_limit_or_names_one_that_is_enough(run, many):  # noqa: F811
    refused = run("check", many, "--memory-limit", "500kB", code=2)
    named = re.search(r"as in --memory-limit (\d+MiB)", refused.output)
    assert named is not None, refused.output
    allowed = run("check", many, "--memory-limit", named[1]).output
    assert "60,000 rows" in allowed
    assert allowed == run("check", many).output
    run("check", many, "--memory-limit", "much", code=2)


HARMFUL = ["=1+1", "-2", "'=x", "plain", "@a"]


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_convert_defuses_labels_for_spreadsheets(run, tmp_path, ending):  # noqa: F811
    source = tmp_path / "answers.csv"
    lines = [f"{a},{b},{c},+p" for a, b, c in zip(HARMFUL, HARMFUL[1:], HARMFUL[2:], strict=False)]
    source.write_text("anchor,near,far,participant\n" + "\n".join(lines) + "\n")
    plain, safe = f"plain{ending}", f"safe{ending}"
    run("convert", source, "-o", plain)
    told = run("convert", source, "-o", safe, "--defuse").stderr
    assert "' was put before =1+1, -2, '=x, @a, +p, and stays when it is read" in told
    assert sorted(readers.read(tmp_path / plain).triplets.items) == sorted(HARMFUL)
    after = readers.read(tmp_path / safe).triplets
    assert sorted(after.items) == sorted(["'=1+1", "'-2", "''=x", "plain", "'@a"])
    assert after.participant_labels.tolist() == ["'+p"]


def test_what_no_spreadsheet_opens_is_not_defused(run, many):  # noqa: F811
    for words in (["-o", "x.parquet"], ["-o", "x.csv", "--fast"], ["-o", "x"]):
        refused = run("convert", many, *words, "--defuse", code=2)
        assert "--defuse is for outputs that spreadsheets open, .csv and .tsv" in refused.stderr
    assert "--defuse is for" in run("simulate", "-o", "x", "--defuse", code=2).stderr


def test_simulate_takes_defuse(run, tmp_path):  # noqa: F811
    words = ("simulate", "--n", 5, "--c", 3, "-o")
    run(*words, "a.csv")
    run(*words, "b.csv", "--points", "truth.csv", "--defuse")
    assert read_csv(tmp_path / "a.csv") == read_csv(tmp_path / "b.csv")


def test_force_is_advised_only_where_it_helps(run, many, tmp_path):  # noqa: F811
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").touch()
    (tmp_path / "notes").touch()
    for output, words, said in (
        ("thesis", ["--fast"], "holds files that ordinate did not write"),
        ("thesis", [], "is a folder: name a file"),
        ("notes", ["--fast"], "is a file: name a folder"),
        ("notes", [], "--force replaces it"),
    ):
        refused = run("convert", many, "-o", output, *words, code=4).stderr.replace("\n", " ")
        assert said in refused
        assert ("--force" in refused) == ("--force" in said)
    refused = run("fit", many, "-o", "thesis", code=4).stderr
    assert "holds files that ordinate did not write" in refused
    assert "--force" not in refused
