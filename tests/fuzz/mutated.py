"""Damaged files: each row that was not touched is used, or told of, or the file is refused."""

import csv
import io
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from fuzz.features import make_sheet
from fuzz.formats import Written, write
from fuzz.known import dropped, told
from ordinate import Triplets, readers

ALIASES = {"salmon", "meadows"}
STRAYS = (b'"', b'""', b"'", b"\0", b"\xff", b"\r", b"\n", b",", b";", b"\t", b"\\", b"\x1a", b"NA")


def check(rng: Random, folder: Path) -> list[str]:
    """Write a file, damage it, read it, and return what is wrong with that."""
    written = write(rng, make_sheet(rng), folder)
    damage, touched = damaged(rng, written)
    try:
        reading = readers.read(written.path, **written.sheet.options)
    except readers.ReadError:
        return []
    problems = accounted(reading)
    if touched is not None:
        problems += _untouched_rows(written, reading, touched)
        problems += _lines(written, reading)
    return [f"{told(written)}, {damage}: {problem}" for problem in problems]


def accounted(reading: Any) -> list[str]:
    """Rows are used, or dropped with a note."""
    n_dropped = dropped(reading.notes)
    if reading.n_rows == reading.n_used + n_dropped:
        return []
    return [f"{reading.n_rows} rows, {reading.n_used} used, {n_dropped} told as dropped"]


def _untouched_rows(written: Written, reading: Any, touched: set[int]) -> list[str]:
    """Rows that the damage did not reach say what they said, as far as they are used."""
    sheet, first = written.sheet, written.first
    if any(record < first for record in touched):
        return []  # other names of columns are another file
    if ALIASES & {*sheet.features} and any("id" in note.lower() for note in reading.notes):
        return []  # items have ids, too, which name them where names are in doubt
    if "floats" in sheet.features and any("by .0" in note for note in reading.notes):
        return []  # where a label is no number any more, 7 and 7.0 are two, which is told
    wanted: Counter = Counter(
        triplet[:3]
        for i, said in enumerate(sheet.answers)
        if said is not None and i + first not in touched
        for triplet in said
    )
    lost = wanted - _triplets(reading.triplets)
    spared = sheet.n_used - reading.n_used  # at most so many rows are told as dropped
    if not lost or (spared > 0 and len(lost) <= 40 * spared):
        return []
    return [f"{lost.total()} triplets are lost, such as {next(iter(lost))}; notes {reading.notes}"]


def _triplets(triplets: Triplets) -> Counter:
    return Counter(tuple(map(str, row)) for row in triplets.items[triplets.rows].tolist())


def _lines(written: Written, reading: Any) -> list[str]:
    """Each line of a text file without line ends in fields is a row, or told of."""
    inside = any("\n" in str(cell) for cells in written.sheet.columns.values() for cell in cells)
    content = written.path.read_bytes()
    if inside or content[:2] == b"\xff\xfe":
        return []
    end = b"\n" if b"\n" in content else b"\r"
    n_lines = sum(bool(line.strip(b"\r")) for line in content.split(end))
    if reading.n_rows >= n_lines - written.first or any("line" in n for n in reading.notes):
        return []
    return [f"{n_lines} lines, {reading.n_rows} rows; notes {reading.notes}"]


def damaged(rng: Random, written: Written) -> tuple[str, set[int] | None]:
    """Damage a file; return how, and which records of a text file that reached."""
    records, path = written.records, written.path
    if path.is_dir():
        path = rng.choice(sorted(path.iterdir()))
    if records and rng.random() < 0.4:
        how = rng.choice([_double_row, _cut_row, _double_field, _lose_field, _stray_quotes])
        new, touched = how(rng, written)
        path.write_bytes(b"".join(new))
        return how.__name__.strip("_"), touched
    content = bytearray(path.read_bytes())
    if not content:
        return "empty", None
    reached = []
    kind = rng.choice(["flip", "flip", "byte", "stray", "stray", "cut", "zeros"])
    if kind == "cut":
        at = rng.randrange(len(content))
        del content[at:]
        reached = [at]
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            at = rng.randrange(len(content))
            if kind == "flip":
                content[at] ^= 1 << rng.randrange(8)
            elif kind == "byte":
                content[at] = rng.randrange(256)
            elif kind == "zeros":
                content[at : at + 8] = bytes(len(content[at : at + 8]))
                reached.append(min(at + 7, len(content) - 1))
            else:
                content[at:at] = rng.choice(STRAYS)
            reached.append(at)
    path.write_bytes(content)
    if not records:
        return f"{kind} at {reached}", None
    return f"{kind} at {reached}", _records_at(records, reached, kind)


def _records_at(records: list[bytes], places: list[int], kind: str) -> set[int]:
    """Return the records that some bytes are in, and their neighbours where an end may be lost."""
    found: set[int] = set()
    start = 0
    for i, record in enumerate(records):
        end = start + len(record)
        for at in places:
            if (kind == "cut" and end > at) or start - 40 <= at < end + 40:
                found.add(i)
        start = end
    return found


def _rows_of(written: Written) -> range:
    return range(written.first, len(written.records))


def _double_row(rng: Random, written: Written) -> tuple[list[bytes], set[int]]:
    i = rng.choice(_rows_of(written))
    records = list(written.records)
    records.insert(i, records[i])
    return records, {i, len(written.records) - 1}


def _cut_row(rng: Random, written: Written) -> tuple[list[bytes], set[int]]:
    i = rng.choice(_rows_of(written))
    return [*written.records[:i], *written.records[i + 1 :]], {i}


def _fields(written: Written, i: int) -> tuple[list[str], str, str] | None:
    """Return the fields of a record, its delimiter and its end."""
    try:
        text = written.records[i].decode()
    except UnicodeDecodeError:
        return None
    delimiter = written.how[1].strip("'").replace("\\t", "\t")
    body = text.rstrip("\r\n")
    rows = list(csv.reader(io.StringIO(body, newline=""), delimiter=delimiter))
    return (rows[0], delimiter, text[len(body) :]) if len(rows) == 1 else None


def _refield(rng: Random, written: Written, change: Any) -> tuple[list[bytes], set[int]]:
    i = rng.choice(_rows_of(written))
    found = _fields(written, i)
    records = list(written.records)
    if found is not None:
        fields, delimiter, end = found
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter).writerow(change(fields))
        records[i] = (text.getvalue().removesuffix("\r\n") + end).encode()
    return records, {i}


def _double_field(rng: Random, written: Written) -> tuple[list[bytes], set[int]]:
    return _refield(rng, written, lambda fields: [fields[0], *fields])


def _lose_field(rng: Random, written: Written) -> tuple[list[bytes], set[int]]:
    return _refield(rng, written, lambda fields: fields[1:])


def _stray_quotes(rng: Random, written: Written) -> tuple[list[bytes], set[int]]:
    """Two fields begin with a quote that is never closed: all between them may be swallowed."""
    chosen = rng.sample(_rows_of(written), min(2, len(_rows_of(written))))
    records = list(written.records)
    delimiter = written.how[1].strip("'").replace("\\t", "\t").encode()
    for i in chosen:
        head, mark, tail = records[i].rpartition(delimiter)
        records[i] = head + mark + b'"' + tail
    return records, {*chosen}
