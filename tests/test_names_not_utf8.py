"""Files whose names are not UTF-8, as old archives hold them: all formats are written and read."""

import sys

import pytest
from both_ways import as_a_whole, in_blocks, tiny_blocks
from test_cli import run  # noqa: F401

NAME = "b\udce4r"  # 'bär' in Latin-1
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 elsewhere")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_tables_are_written_and_read_both_ways(ending, run, tmp_path, monkeypatch):  # noqa: F811
    tiny_blocks(monkeypatch)
    source = "anchor,near,far\ncat,dog,fox\ndog,fox,cat\n"
    (tmp_path / "in.csv").write_text(source)
    run("convert", "in.csv", "-o", f"{NAME}.{ending}")
    path = tmp_path / f"{NAME}.{ending}"
    assert as_a_whole(path)["rows"] == [["cat", "dog", "fox"], ["dog", "fox", "cat"]]
    assert in_blocks(path) == as_a_whole(path)


@pytest.mark.parametrize("ending", ["", ".parquet"])
def test_the_fast_layout_is_known_again(ending, run, tmp_path):  # noqa: F811
    (tmp_path / "in.csv").write_text("anchor,near,far\ncat,dog,fox\ndog,fox,cat\n")
    run("convert", "in.csv", "-o", f"{NAME}{ending}", "--fast")
    said = as_a_whole(tmp_path / f"{NAME}{ending}")
    assert (said["layout"], said["items"]) == ("fast", ["cat", "dog", "fox"])
