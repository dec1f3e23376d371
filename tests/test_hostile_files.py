"""Files that nobody would write on purpose, and remedies that are taken at their word."""

import os
import shlex
import struct

import numpy as np
import pytest

from ordinate import as_triplets, readers
from ordinate.cli import _shell, _values


def triples(reading):
    """Return the triplets by label."""
    return sorted(tuple(reading.triplets.items[row]) for row in reading.triplets.rows)


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("options", [{"layout": "plain"}, {"odd": "first"}])
def test_image_paths_are_read_in_the_layout_that_is_asked_for(tmp_path, separator, options):
    rows = [("a.jpg", "b.jpg", "c.jpg"), ("d.jpg", "a.jpg", "b.jpg")]
    path = tmp_path / "images.csv"
    path.write_text("".join(f"{separator.join(row)}\n" for row in rows))
    found = triples(readers.read(path, **options))
    odd_first = [(y, z, x) for x, y, z in rows] + [(z, y, x) for x, y, z in rows]
    assert found == sorted(rows if "layout" in options else odd_first)


@pytest.mark.parametrize(("odd", "place"), [("first", 0), ("middle", 1), ("last", 2)])
def test_a_remedy_puts_the_odd_one_where_it_was_said_to_be(tmp_path, odd, place):
    path = tmp_path / "bare.csv"
    path.write_text("ant,bee,cod\ndab,eel,fox\n")
    with pytest.raises(readers.ReadError, match="may be a header") as caught:
        readers.read(path, odd=odd)
    named, counted = (remedy.options["columns"] for remedy in caught.value.remedies)
    assert counted["odd"] == place
    assert named["odd"] == ["ant", "bee", "cod"][place]
    reading = readers.read(path, odd=odd, columns=counted)
    assert {far for _, _, far in triples(reading)} == {
        row[place] for row in (("ant", "bee", "cod"), ("dab", "eel", "fox"))
    }
    assert any("the odd one is in the column" in note for note in reading.notes)


def test_empty_arrays_of_any_width_are_no_rows(tmp_path):
    np.save(tmp_path / "wide.npy", np.empty((0, 1 << 40), np.int8))
    with pytest.raises(readers.ReadError, match=r"an array of shape \(0, 1099511627776\)"):
        readers.read(tmp_path / "wide.npy")
    # Two billion lines of no characters each, as MATLAB writes them.
    flags, name = struct.pack("<4I", 6, 8, 4, 0), struct.pack("<2I8s", 1, 1, b"t")
    shape, no_text = struct.pack("<2I2i", 5, 8, 2**31 - 1, 0), struct.pack("<2I", 4, 0)
    matrix = flags + shape + name + no_text
    header = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    (tmp_path / "lines.mat").write_bytes(header + struct.pack("<2I", 14, len(matrix)) + matrix)
    with pytest.raises(readers.ReadError, match=r"an array of shape \(0,\)"):
        readers.read(tmp_path / "lines.mat")


def test_a_header_may_be_longer_than_the_sample(tmp_path):
    path = tmp_path / "wide.csv"
    more = [f"question_number_{k}" for k in range(6000)]
    rows = [["anchor", "near", "far", *more], ["ant", "bee", "cod", *["1"] * len(more)]]
    path.write_text("".join(f"{','.join(row)}\n" for row in rows))
    assert triples(readers.read(path)) == [("ant", "bee", "cod")]


def test_lines_may_end_as_on_an_old_macintosh(tmp_path):
    path = tmp_path / "mac.csv"
    path.write_bytes(b"anchor,near,far\rant,bee,cod\rbee,cod,ant\r")
    assert triples(readers.read(path)) == [("ant", "bee", "cod"), ("bee", "cod", "ant")]


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a system without devices as files")
def test_devices_are_refused(tmp_path):
    for function in (as_triplets, readers.read):
        with pytest.raises(readers.ReadError, match="is a device"):
            function("/dev/zero")


@pytest.mark.parametrize("name", ["first\nitem", "a, b", 'the "one"', "x\r\ny", "p=q"])
def test_columns_of_any_name_can_be_pasted(name):
    columns = {"anchor": name, "near": "b"}
    _, text = shlex.split(_shell.as_command_line({"columns": columns}))
    assert _values.columns(text) == columns
