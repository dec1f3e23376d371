"""Files in the shapes that labs and platforms write: what they mean is read right, or asked about.

The answers are made of known points on a line, so that a reading that swaps near and far, or takes
the wrong column for the anchor, shows.
"""

from itertools import permutations

import numpy as np
import pytest

from ordinate.files.readers import ReadError, read

NAMES = ["oak", "elm", "yew", "ash", "fir"]
POINTS = {name: float(2**k) for k, name in enumerate(NAMES)}
# (anchor, first, second) and whether the first is nearer: 60 questions, about half each way.
QUESTIONS = [
    (a, b, c, abs(POINTS[a] - POINTS[b]) < abs(POINTS[a] - POINTS[c]))
    for a, b, c in permutations(NAMES, 3)
]


def right(triplets, label=str):
    """Return the share of triplets that agree with the points; weights count."""
    points = np.array([POINTS[label(item)] for item in triplets.items.tolist()])
    anchor, near, far = points[triplets.rows].T
    weight = np.ones(len(near)) if triplets.weight is None else triplets.weight
    agree = np.abs(anchor - near) < np.abs(anchor - far)
    return float((agree * weight).sum() / weight.sum())


def lines(header, row, questions=QUESTIONS):
    """Return a file with a header and a line for each question."""
    return "\n".join([header, *(row(*question) for question in questions)]) + "\n"


def pasted(path, *words, **options):
    """Read a file, each time by the only remedy of the error that has the words."""
    for wanted in words:
        with pytest.raises(ReadError) as caught:
            read(path, **options)
        (remedy,) = [r for r in caught.value.remedies if wanted in str(r.options)]
        options |= remedy.options
    return read(path, **options)


def test_letters_beside_a_reference_are_the_two_options(tmp_path):
    path = tmp_path / "letters.csv"
    path.write_text(
        lines("ref,A,B,response", lambda a, b, c, f: f"{a},{b},{c},{'A' if f else 'B'}")
    )
    reading = read(path)
    assert reading.layout == "response"
    assert right(reading.triplets) == 1
    path.write_text(lines("ref,A,B,response", lambda a, b, c, f: f"{a},{b},{c},{int(not f)}"))
    assert right(pasted(path, "'0': 'first'").triplets) == 1


@pytest.mark.parametrize(
    "header",
    [
        "reference,A,B,votes_A,votes_B",
        "a,b,c,votes_b,votes_c",
        "ref,left,right,votes_left,votes_right",
    ],
)
def test_votes_are_named_for_their_items(header, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(
        lines(header, lambda a, b, c, f: f"{a},{b},{c},{9 if f else 1},{1 if f else 9}")
    )
    reading = read(path)
    assert reading.layout == "votes"
    assert right(reading.triplets) == pytest.approx(0.9)


def test_codes_that_are_names_of_columns_too_are_no_question(tmp_path):
    path = tmp_path / "wide.csv"
    header = ",".join(f"{stem}{q}" for q in (1, 2) for stem in ("ref", "a", "b", "q"))
    rows = [
        ",".join(f"{a},{b},{c},{'A' if f else 'B'}" for a, b, c, f in two)
        for two in zip(QUESTIONS[::2], QUESTIONS[1::2], strict=True)
    ]
    path.write_text("\n".join([header, *rows]))
    assert right(pasted(path, "'response': 'q*'").triplets) == 1


def test_gorilla_names_participants_in_private(tmp_path):
    path = tmp_path / "gorilla.csv"
    header = "Event Index,Participant Public ID,Participant Private ID,target,left,right,Response"
    path.write_text(
        lines(header, lambda a, b, c, f: f"1,BLIND,{len(a + b)},{a},{b},{c},{b if f else c}")
    )
    triplets = read(path).triplets
    assert triplets.participant_labels.tolist() == [6]
    assert right(triplets) == 1


def test_a_word_above_numbers_is_a_name(tmp_path):
    ids = {name: k for k, name in enumerate(NAMES)}
    path = tmp_path / "pandas.csv"
    path.write_text(
        lines("0,1,2,y", lambda a, b, c, f: f"{ids[a]},{ids[b]},{ids[c]},{1 if f else -1}")
    )
    reading = pasted(path, "'response': 'y'", "'1': 'first'")
    assert reading.n_rows == len(QUESTIONS)
    assert right(reading.triplets, lambda k: NAMES[k]) == 1
    path.write_text(
        lines(
            "head,b,c",
            lambda a, b, c, f: ",".join(str(ids[x]) for x in (a, *((b, c) if f else (c, b)))),
        )
    )
    with pytest.raises(ReadError, match="names that say too little") as caught:
        read(path)
    assert len(caught.value.remedies) == 2
    assert right(pasted(path, "'near': 'b'").triplets, lambda k: NAMES[k]) == 1


def test_a_header_of_three_unknown_words_is_settled_in_one_step(tmp_path):
    path = tmp_path / "three.csv"
    path.write_text(
        lines("q,chosen,unchosen", lambda a, b, c, f: f"{a},{b if f else c},{c if f else b}")
    )
    reading = pasted(path, "'near': 'chosen'")
    assert (reading.n_rows, right(reading.triplets)) == (len(QUESTIONS), 1)


def test_where_odd_was_told_the_header_is_asked_about_with_it(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("q,r,s\ncod,cat,lynx\nbus,cat,cod\n")
    reading = pasted(path, "'odd': 'q'", odd="first")
    assert "odd=first is not needed: columns= names the odd one" in reading.notes
    rows = reading.triplets.items[reading.triplets.rows].tolist()
    assert rows[0] == ["cat", "lynx", "cod"]
