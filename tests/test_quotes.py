"""Quotes in text: every physical line is a row, part of a field that is told, or named."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import readers

HEADER = "anchor,near,far,comment\n"
ROWS = ["ant,bee,cod,ok", "bee,cod,ant,ok", "cod,ant,bee,fine", "ant,cod,bee,", "bee,ant,cod,ok"]


def read(path, text):
    path.write_text(text)
    return readers.read(path)


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        # Two quotes that open: the second closes the first, within a field.
        (['a,b,"c', "b,c,a", "c,a,b", "c,b,a", 'a,c,"b'], "line 2: .* next one, on line 6, .*'b'"),
        # One that opens and one that closes: a name of several lines.
        (['a,b,"c', "b,c,a", "c,a,b", "c,b,a", 'a,c,b"'], r"line 2: the name 'c\\nb,c,a.*as rows"),
        (["a,b,c", "b,c,a", 'c,"a,b'], "line 4: .* never closed"),
        (["a,b,c", "b,c,a", '"c,a,b', "a,c,b"], "line 4: .* never closed"),
        (["a,b,c", "b,c,a", 'c,a,"b'], "line 4: .* never closed"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_rows_between_stray_quotes_are_not_lost(tmp_path, rows, where, end):
    text = "anchor,near,far\n" + "\n".join(rows) + end
    with pytest.raises(readers.ReadError, match=where):
        read(tmp_path / "stray.csv", text)


def test_a_quote_that_never_ends_is_named_however_long_the_file(tmp_path):
    text = HEADER + 'ant,bee,cod,"so\n' + "bee,cod,ant,ok\n" * 400_000
    with pytest.raises(readers.ReadError, match="line 2: a quote is opened here and never closed"):
        read(tmp_path / "long.csv", text)


def test_comments_may_hold_line_breaks(tmp_path):
    comments = ['"first,\nthen ""that"",\nthen, so to say, this"', "ok", '"so\nso"', "", "x"]
    rows = [f"{row.rsplit(',', 1)[0]},{c}\n" for row, c in zip(ROWS, comments, strict=True)]
    reading = read(tmp_path / "last.csv", HEADER + "".join(rows))
    assert (reading.n_rows, reading.n_used) == (5, 5)
    assert reading.notes == [
        "2 fields in quotes hold line breaks; the first stands on lines 2 to 4"
    ]
    # In front of the items, or after a title, too.
    rows = [f"{c},{row.rsplit(',', 1)[0]}\n" for row, c in zip(ROWS, comments, strict=True)]
    reading = read(tmp_path / "first.csv", "A study\ncomment,anchor,near,far\n" + "".join(rows))
    assert (reading.n_rows, reading.n_used) == (5, 5)
    assert "the first stands on lines 3 to 5" in reading.notes[-1]


@pytest.mark.parametrize("place", ["last", "first"])
@pytest.mark.parametrize("last", [1, 3])
def test_rows_within_the_quotes_of_a_comment_are_not_lost(tmp_path, place, last):
    """Quotes at the borders of fields, as those of a comment, but other rows stand between them."""
    rows = [row.split(",") for row in ROWS * 2]
    rows[0][3], rows[last][3] = '"so', 'on"'
    order = [3, 0, 1, 2] if place == "first" else [0, 1, 2, 3]
    header = HEADER.strip().split(",")
    text = "".join(",".join(row[k] for k in order) + "\n" for row in [header, *rows])
    with pytest.raises(readers.ReadError, match=f"line 2: .* close on line {2 + last} hold rows"):
        read(tmp_path / "between.csv", text)


def test_rows_between_quotes_that_stand_alone_are_not_lost(tmp_path):
    rows = [row.split(",") for row in ROWS * 2]
    rows[0][3] = rows[1][3] = '"'
    with pytest.raises(readers.ReadError, match="line 2: .* close on line 3 hold rows"):
        read(tmp_path / "alone.csv", HEADER + "".join(",".join(row) + "\n" for row in rows))


def test_a_name_of_a_column_may_have_several_lines(tmp_path):
    text = '"comment\n(free)",anchor,near,far\n' + "".join(f"ok,{row[:11]}\n" for row in ROWS)
    reading = read(tmp_path / "header.csv", text)
    assert reading.n_rows == 5
    assert reading.notes == [
        "1 field in quotes holds line breaks; the first stands on lines 1 to 2"
    ]


def test_a_participant_made_of_rows_is_none(tmp_path):
    text = 'anchor,near,far,participant\nant,bee,cod,"p1\ndab,eel,fox,p2"\nbee,cod,ant,p3\n'
    with pytest.raises(readers.ReadError, match=r"line 2: the name 'p1\\ndab,eel,fox,p2'"):
        read(tmp_path / "people.csv", text)


def test_names_may_have_several_lines(tmp_path):
    reading = read(tmp_path / "names.csv", 'anchor,near,far\n"ice\ncream",pie,"cake, if any"\n')
    assert reading.triplets.items.tolist() == ["cake, if any", "ice\ncream", "pie"]
    assert reading.notes == [
        "1 field in quotes holds line breaks; the first stands on lines 2 to 3"
    ]


def test_a_folder_names_the_file(tmp_path):
    (tmp_path / "p1.csv").write_text(HEADER + "\n".join(ROWS))
    (tmp_path / "p2.csv").write_text(HEADER + 'ant,bee,"cod,so\nbee,cod,dab",so\n')
    with pytest.raises(readers.ReadError, match=r"p2.csv, line 2: the name 'cod,so\\nbee,cod,dab'"):
        readers.read(tmp_path)


@given(
    rows=st.lists(
        st.tuples(
            st.permutations(["ant", "bee", "cod", "dab"]),
            st.text(alphabet='ab,"\n; 1', max_size=12),
        ),
        min_size=1,
        max_size=8,
    ),
    stray=st.lists(st.integers(0, 200), max_size=3),
)
def test_every_line_is_accounted_for(tmp_path_factory, rows, stray):
    """Rows that were written are read, and with quotes put anywhere none gets lost unnoticed."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["anchor", "near", "far", "comment"])
    writer.writerows([*items[:3], comment] for items, comment in rows)
    reading = read(path, text.getvalue())
    assert reading.n_rows == len(rows)
    assert any("line breaks" in note for note in reading.notes) == any("\n" in c for _, c in rows)
    written = text.getvalue()
    for place in stray:
        place %= len(written)
        written = f'{written[:place]}"{written[place:]}'
    try:
        reading = read(path, written)
    except readers.ReadError:
        return
    told = any("line breaks" in note for note in reading.notes)
    assert told or reading.n_rows == sum(bool(line) for line in written.split("\n")) - 1
