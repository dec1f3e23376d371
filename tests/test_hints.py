"""What is said of files that people nearly wrote as they should be, read in either way."""

import pytest
from both_ways import differences, tiny_blocks

from ordinate import Triplets, ondisk, readers

ROWS = "a,b,c\nb,c,a\nc,a,b\na,c,b\n"
BY_NUMBER = {"anchor": 0, "near": 1, "far": 2}


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a text, as a whole and in tiny blocks, which must say the same."""
    tiny_blocks(monkeypatch)

    def call(text, **options):
        path = tmp_path / "x.csv"
        path.write_text(text)
        assert differences(path, **options) == {}
        return readers.read(path, **options)

    return call


@pytest.mark.parametrize(("cell", "better"), [("0,5", "0.5"), ("-1,25", "-1.25"), (",5", ".5")])
def test_a_decimal_comma_is_named(read, cell, better):
    text = f"anchor;near;far;weight\na;b;c;1\nb;c;a;{cell}\nc;a;b;2\n"
    with pytest.raises(readers.ReadError, match=f"write {better}, with a decimal point"):
        read(text)
    with pytest.raises(readers.ReadError, match=r"'much', not a number \(1 such rows"):
        read(text.replace(cell, "much"))


@pytest.mark.parametrize("above", ["Items,,,Answer", "Trial,Items,Items,Choice"])
def test_a_line_above_the_names_is_named(read, above):
    rows = "".join(f"{line},1\n" for line in ROWS.split())
    with pytest.raises(readers.ReadError, match="line 2 .*names the columns.*: remove line 1"):
        read(f"{above}\nanchor,first,second,response\n{rows}")


@pytest.mark.parametrize(
    "header", ["anchor,near,far", "head,winner,loser", "Anchor,Positive,Negative"]
)
def test_columns_may_be_counted_below_names(read, header):
    found = read(f"{header}\n{ROWS}", columns=BY_NUMBER)
    assert found.triplets.items.tolist() == ["a", "b", "c"]
    assert found.n_rows == 4
    assert "is read as names, where columns=... counts columns" in found.notes[0]
    assert read(ROWS, columns=BY_NUMBER).notes == []


def test_words_above_numbers_are_names_where_columns_are_counted(read):
    rows = "".join(f"{k},{k + 1},{k + 2}\n" for k in range(20))
    found = read(f"x,y,z\n{rows}", columns=BY_NUMBER)
    assert found.n_rows == 20
    assert len(found.triplets.items) == 22


def test_a_first_line_that_may_be_names_is_data_where_columns_are_counted(read):
    found = read(f"d,e,f\n{ROWS}", columns=BY_NUMBER)
    assert found.triplets.items.tolist() == ["a", "b", "c", "d", "e", "f"]
    assert "is read as data, where columns=... counts columns" in found.notes[0]


def test_a_damaged_fast_layout_is_a_read_error(tmp_path):
    for target in (tmp_path / "x", tmp_path / "x.parquet"):
        ondisk.write([Triplets([[0, 1, 2], [1, 2, 0]])], target)
        damaged = target / "pairs.npy" if target.is_dir() else target
        content = bytearray(damaged.read_bytes())
        content[-9] ^= 0xFF
        damaged.write_bytes(content)
        with pytest.raises(readers.ReadError, match=r"corrupt|cannot be read"):
            readers.read(target)
