"""What an error advises can be done where it is met, and our own mistakes are not the file's."""

import json
import sys
from collections import Counter

import pytest

from ordinate import STE, as_triplets, readers
from ordinate.files.readers import plain


def write(folder, text, name="answers.csv"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("use", [STE().fit, as_triplets])
def test_who_takes_no_options_names_the_reader(tmp_path, use):
    path = write(tmp_path, "anchor,first,second,response\na,b,c,0\nb,c,a,1\n")
    with pytest.raises(readers.ReadError) as caught:
        use(path)
    told = str(caught.value)
    assert "Give ordinate.readers.read(path, ...).triplets instead of the path, with resp" in told
    triplets = readers.read(path, **caught.value.remedies[0].options).triplets
    assert as_triplets(triplets) is triplets
    with pytest.raises(readers.ReadError, match=r"told\. Say response="):
        readers.read(path)


def test_our_own_mistakes_are_not_blamed_on_the_file(tmp_path, monkeypatch):
    def mistaken(table, options):
        return len(None)

    layout = plain.LAYOUT._replace(parse=mistaken)
    monkeypatch.setattr(readers, "LAYOUTS", (layout, *readers.LAYOUTS[1:]))
    with pytest.raises(TypeError, match="NoneType"):
        readers.read(write(tmp_path, "anchor,near,far\na,b,c\n"))


def test_codes_of_few_rows_can_be_told(tmp_path):
    path = write(tmp_path, "anchor,first,second,response\na,b,c,q\nb,c,a,p\n")
    with pytest.raises(readers.ReadError, match="are codes") as caught:
        readers.read(path)
    assert len(readers.read(path, **caught.value.remedies[0].options).triplets) == 2
    # One that is no item among others that are is a slip.
    path = write(tmp_path, "anchor,first,second,response\na,b,c,q\nb,c,a,c\n")
    with pytest.raises(readers.ReadError, match="line 2: the answer is 'q', not one of"):
        readers.read(path)


@pytest.mark.parametrize("known", [True, False])
def test_very_many_names_of_columns_take_little_work_each(tmp_path, known):
    """Calls are counted, since times vary: there were thousands for each name."""
    items = {"anchor": "a", "near": "b", "far": "c"} if known else {}
    names = [f"Q{k}_{j}" for k in range(200) for j in range(4)]
    path = write(tmp_path, json.dumps([{**dict.fromkeys(names, "1"), **items}] * 2), "wide.json")
    readers.read(write(tmp_path, "anchor,near,far\na,b,c\n"))  # imports are not counted
    counted = Counter()
    sys.setprofile(lambda frame, event, what: counted.update([event]))
    try:
        readers.read(path)
    except readers.ReadError:
        assert not known
    finally:
        sys.setprofile(None)
    assert counted["call"] + counted["c_call"] < 400 * len(names)


CODED = "query,shown_1,shown_2,shown_3,chosen_1\no,x,y,z,{}\nx,y,z,o,{}\ny,o,z,x,{}\n"


def nearest(reading):
    """Return the item chosen for each query."""
    anchor, near, _ = reading.triplets.items[reading.triplets.rows].T
    return dict(zip(anchor.tolist(), near.tolist(), strict=True))


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("ABC", {}),
        ("132", {}),
        ("qpm", {"response": {"q": "first", "p": "second", "m": "third"}}),
        ("xzx", {}),
        ("xzx", {"response": "item"}),
    ],
)
def test_selections_may_be_coded(tmp_path, said, options):
    path = write(tmp_path, CODED.format(*said))
    places = {"ABC": (0, 1, 2), "132": (0, 2, 1), "qpm": (0, 1, 2), "xzx": (0, 1, 2)}[said]
    shown = {"o": "xyz", "x": "yzo", "y": "ozx"}
    wanted = {query: shown[query][k] for query, k in zip(shown, places, strict=True)}
    assert nearest(readers.read(path, **options)) == wanted


def test_codes_of_selections_are_asked_about(tmp_path):
    path = write(tmp_path, CODED.format(*"qpm"))
    with pytest.raises(readers.ReadError, match="are codes") as caught:
        readers.read(path)
    assert len(readers.read(path, **caught.value.remedies[0].options).triplets) == 6


def test_an_item_may_be_called_like_nothing(tmp_path):
    path = write(tmp_path, "kept_a,kept_b,odd\nDE,FR,NA\nNA,DE,FR\nFR,DE,none\n")
    reading = readers.read(path)
    assert reading.triplets.items.tolist() == ["DE", "FR", "NA"]
    assert reading.notes == [
        "1 of 3 rows dropped: the answer is missing",
        "an item is called 'NA': if that means that there is none, remove those rows",
    ]
