"""What ``make fuzz`` found, one test each."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ordinate
from ordinate import as_triplets, ondisk, readers
from ordinate.files import streaming
from ordinate.files.inputs import open_source
from ordinate.files.ondisk.sorting import read_spool
from ordinate.files.readers import _propose

ROWS = "anchor,near,far\n" + "ant,bee,cod\nbee,cod,ant\n" * 40


@pytest.mark.parametrize("opened", [readers.read, as_triplets, open_source, ondisk.open_triplets])
def test_a_damaged_parquet_file_is_refused_as_any_other_file(tmp_path, opened):
    path = tmp_path / "answers.parquet"
    pq.write_table(pa.table({"anchor": ["a"], "near": ["b"], "far": ["c"]}), path)
    content = bytearray(path.read_bytes())
    del content[-9:-8]
    path.write_bytes(content)
    with pytest.raises(readers.ReadError, match="cannot be read"):
        opened(path)


@pytest.mark.parametrize("ending", [".csv.gz", ".zip"])
def test_damaged_archives_are_refused_within_a_memory_limit(tmp_path, ending):
    path = tmp_path / f"answers{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("answers.csv", ROWS)
        path.write_bytes(path.read_bytes()[:-30])
    else:
        content = bytearray(gzip.compress(ROWS.encode()))
        content[12:20] = b"\xff" * 8
        path.write_bytes(content)
    for opened in (open_source, ondisk.open_triplets):
        with pytest.raises(readers.ReadError, match="cannot be read"):
            opened(path, memory_limit="1kB")


def test_a_file_name_in_doubt_is_told_where_ids_take_its_place(tmp_path):
    path = tmp_path / "responses.csv"
    header = (
        "head,left,right,winner,loser,head_filename,left_filename,right_filename,winner_filename"
    )
    rows = [
        "0,1,2,1,2,ant.png,bee.png,cod.png,bee.png",
        "1,2,0,0,2,bee.png,cod.png,ant.png,ant.png",
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    sound = readers.read(path)
    assert sound.triplets.items.tolist() == ["ant.png", "bee.png", "cod.png"]
    assert sound.notes == []
    path.write_text("\n".join([header, *rows]).replace("1,2,0,0,2,bee.png", "1,2,0,0,2,be.png"))
    doubtful = readers.read(path)
    assert doubtful.triplets.items.tolist() == [0, 1, 2]
    assert any("named by their ids" in note for note in doubtful.notes)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_numbers_with_and_without_a_point_are_told(tmp_path, ending):
    """As tables have them in which one column had gaps, and another item is no number."""
    columns = {"anchor": ["1", "2"], "near": ["2.0", "1.0"], "far": ["x", "x"]}
    path = tmp_path / f"answers{ending}"
    if ending == ".csv":
        rows = [",".join(row) for row in (columns, *zip(*columns.values(), strict=True))]
        path.write_text("\n".join(rows) + "\n")
    else:
        pq.write_table(pa.table(columns), path)
    reading = readers.read(path)
    assert reading.triplets.n_items == 5
    assert any("'1' and '1.0'; '2' and '2.0'" in note for note in reading.notes)
    assert readers.read(path, merge_labels=True).triplets.n_items == 3


def test_memory_is_taken_for_the_rows_there_are(tmp_path):
    kind = np.dtype([("row", "<i4", (3,))])
    rows = np.zeros(5, kind)
    rows.tofile(tmp_path / "rows")
    for most in (1 << 45, 2, -1):
        assert sum(len(part) for part, _ in read_spool(tmp_path / "rows", kind, most)) == 5


def test_a_byte_order_mark_is_no_part_of_a_label(tmp_path):
    """Not even in a file that is UTF-8 but for one byte, and counts as text of Windows."""
    path = tmp_path / "answers.csv"
    rows = ["1,ant,bee", *(f"{k},bee,th\xe9" for k in range(2, 90))]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(rows).encode("cp1252"))
    whole = readers.read(path, layout="plain").triplets
    streamed = open_source(path, memory_limit="1kB", layout="plain").triplets.load()
    for triplets in (whole, streamed):
        assert "1" in triplets.items
        assert triplets.n_items == 92


@pytest.mark.parametrize("layout", ["odd_one_out", "response"])
def test_names_without_rows_are_refused_also_where_the_layout_is_told(tmp_path, layout):
    path = tmp_path / "answers.csv"
    path.write_text("option_1,option_2,option_3,choice\n")
    with pytest.raises(readers.ReadError, match="there are column names, but no rows"):
        readers.read(path, layout=layout)


def test_an_item_called_check_is_no_check_trial_of_salmon(tmp_path):
    path = tmp_path / "responses.csv"
    names = "head,left,right,winner,loser"
    path.write_text(
        f"{names},{','.join(f'{name}_filename' for name in names.split(','))}\n"
        "0,2,3,2,3,far,check,true,check,true\n"
        "0,1,3,1,3,far,two,true,two,true\n"
        "3,0,2,2,0,true,far,check,check,far\n"
    )
    reading = readers.read(path)
    assert (reading.n_used, reading.notes) == (3, [])


@pytest.mark.parametrize("end", [b"(", b"\x00", b"}"])
def test_a_covariance_with_a_damaged_header_is_refused(tmp_path, end):
    points = ordinate.sample_points(8, random_state=0)
    model = ordinate.STE(random_state=0).fit(ordinate.sample_triplets(points, 300, random_state=0))
    model.save(tmp_path / "model")
    path = tmp_path / "model" / "covariance.npy"
    content = bytearray(path.read_bytes())
    content[100:101] = end
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read"):
        ordinate.load(tmp_path / "model")


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_short_row_of_labels_that_begin_like_comments_is_no_comment(tmp_path, quote):
    """Colours, for example: the row was not read, as if it stood above the table."""
    path = tmp_path / "colours.csv"
    sound = [",".join(f"{quote}#{k}{item}{quote}" for item in "abc") for k in range(5)]
    path.write_text("\n".join(["#0a,#0b", *sound]) + "\n")
    with pytest.raises(readers.ReadError, match="line 2|fields"):
        readers.read(path, layout="plain")
    for title in ("# colours, by hand", "# colours by hand"):
        path.write_text("\n".join([title, "anchor,near,far", *sound]))
        assert readers.read(path).n_used == 5


def test_a_refusal_is_put_into_words_once_a_pass_however_many_blocks_there_are(
    tmp_path, monkeypatch
):
    """A table that nothing fits took minutes: each block looked for what its columns may hold."""
    path = tmp_path / "answers.csv"
    rows = (f"{k % 7},{(k + 1) % 7},{(k + 3) % 7},{k % 2}" for k in range(150))
    path.write_text("eins,zwei,drei,vier,elf\n" + "\n".join(f"x{r},x" for r in rows) + "\n")
    with pytest.raises(readers.ReadError) as whole:
        readers.read(path)
    asked = []

    def noting(*given):
        asked.append(given)
        return words(*given)

    words = _propose.words
    monkeypatch.setattr(_propose, "words", noting)
    monkeypatch.setattr(streaming, "SMALLEST", 100)
    with pytest.raises(readers.ReadError) as streamed:
        open_source(path, memory_limit="1kB")
    assert str(streamed.value) == str(whole.value)
    assert len(asked) == 10  # each column, in two passes
