"""Files that nobody would write on purpose, and remedies that are taken at their word."""

import pytest

from ordinate import readers


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
    assert any("odd= is not used" in note for note in reading.notes)
