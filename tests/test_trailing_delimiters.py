"""Programs such as PsychoPy end every line, the header too, by a delimiter."""

import re

import pytest

from ordinate.files.readers import ReadError, read

LINES = (
    "ref,optA,optB,key_resp.keys,participant,",
    "cat,dog,cow,left,7,",
    "dog,cow,cat,right,7,",
    "cow,cat,dog,left,7,",
)
ROLES = {"anchor": "ref", "first": "optA", "second": "optB", "response": "key_resp.keys"}


def test_a_header_with_an_empty_name_at_its_end_is_a_header(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(LINES) + "\n")
    with pytest.raises(ReadError, match=re.escape("['ref', 'optA', 'optB', 'key_resp.keys'")) as no:
        read(path)
    assert "without names" not in str(no.value)
    assert read(path, columns=ROLES).triplets.items.tolist() == ["cat", "cow", "dog"]


def test_such_files_in_a_folder_have_headers_too(tmp_path):
    for person in "78":
        text = "\n".join(LINES).replace(",7,", f",{person},").replace("participant", "who")
        (tmp_path / f"{person}.csv").write_text(text + "\n")
    found = read(tmp_path, columns=ROLES).triplets
    assert found.items.tolist() == ["cat", "cow", "dog"]
    assert len(found) == 6
