"""Files with a known answer: what is read is the truth, or the file is refused."""

import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from fuzz.features import make_sheet
from fuzz.formats import Written, write
from fuzz.sheets import BOTH, Sheet, Truth
from ordinate import Triplets, readers

DROPPED = re.compile(r"([\d,]+) of [\d,]+ rows dropped")


def check(rng: Random, folder: Path) -> list[str]:
    """Write a file, read it, and return what is wrong with that."""
    written = write(rng, make_sheet(rng), folder)
    sheet = written.sheet
    try:
        reading = readers.read(written.path, **sheet.options)
    except readers.ReadError as error:
        return [f"{told(written)}: refused: {error}"] if sheet.sure else []
    return [f"{told(written)}: {problem}" for problem in compare(sheet, reading)]


def compare(sheet: Sheet, reading: Any) -> list[str]:
    """Hold a reading against what the file says."""
    truth, found = sheet.truth(), meaning(reading.triplets)
    n_dropped = dropped(reading.notes)
    problems = []
    if reading.n_rows != reading.n_used + n_dropped:
        problems.append(
            f"{reading.n_rows} rows, {reading.n_used} used, {n_dropped} told as dropped"
        )
    if reading.n_rows != sheet.n_rows:
        problems.append(f"{reading.n_rows} rows counted of {sheet.n_rows}; notes {reading.notes}")
    if sheet.lookalikes and not any("look" in n or "differ" in n for n in reading.notes):
        problems.append(f"labels that look alike without a note; notes {reading.notes}")
    if found == truth:
        return problems
    if not sheet.sure and _told(sheet, reading, truth, found):
        return problems
    few = ", ".join(map(str, [*(found - truth)][:2])) or "nothing"
    lost = ", ".join(map(str, [*(truth - found)][:2])) or "nothing"
    return [*problems, f"read as {few} in place of {lost}; notes {reading.notes}"]


def _told(sheet: Sheet, reading: Any, truth: Truth, found: Truth) -> bool:
    """Tell whether a file that leaves something open was read as less, and the notes say so."""
    if BOTH in sheet.features and any("is not read" in note for note in reading.notes):
        return True
    if "meadows" in sheet.features and any("stim1_id" in note.lower() for note in reading.notes):
        return True  # items have ids, too, which name them where names are in doubt
    return not found - truth and (truth - found).total() == sheet.n_used - reading.n_used


def meaning(triplets: Triplets) -> Truth:
    """What was read: how often each participant gave each answer."""
    names = triplets.items[triplets.rows]
    m = len(triplets)
    answer = range(m) if triplets.answer is None else triplets.answer.tolist()
    weight = [1.0] * m if triplets.weight is None else triplets.weight.tolist()
    who = [""] * m
    if triplets.participant is not None:
        who = [str(name) for name in triplets.participant_labels[triplets.participant]]
    groups: dict[int, list] = {}
    owner = {}
    for row, of, one, w in zip(names.tolist(), answer, who, weight, strict=True):
        groups.setdefault(of, []).append((*map(str, row), w))
        owner[of] = one
    return Counter((owner[of], tuple(sorted(group))) for of, group in groups.items())


def dropped(notes: list[str]) -> int:
    """Rows that notes tell of."""
    found = [match[1] for note in notes for match in DROPPED.finditer(note)]
    return sum(int(number.replace(",", "")) for number in found)


def told(written: Written) -> str:
    """A case in words."""
    sheet = written.sheet
    parts = [sheet.layout, *sheet.features, "as", *filter(None, written.how)]
    return " ".join(parts) + (f" {sheet.options}" if sheet.options else "")
