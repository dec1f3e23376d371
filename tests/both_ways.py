"""A file read as a whole, and block by block: what both say of it, to be compared."""

from pathlib import Path

from ordinate.files.formats import blocks
from ordinate.files.inputs import open_in_blocks, open_source
from ordinate.files.ondisk import TripletFile
from ordinate.files.readers import ReadError

KEPT = "too many triplets for the memory limit"
NOT_IN_BLOCKS = "which cannot be read block by block"


def as_a_whole(path, **options):
    """Return what a file says, as plain values, or the message that refuses it."""
    return _said(lambda: open_source(path, **options))


def in_blocks(path, n_bytes=1, **options):
    """Return the same of a file that is read in blocks as small as possible."""
    return _said(lambda: open_in_blocks(Path(path), memory_limit=n_bytes, **options))


def differences(path, **options):
    """Return what the two ways say where they differ; nothing for what only one can read."""
    whole, parts = as_a_whole(path, **options), in_blocks(path, **options)
    if isinstance(parts, str) and NOT_IN_BLOCKS in parts:
        return {}
    if isinstance(whole, str) or isinstance(parts, str):
        return {} if whole == parts else {"error": (whole, parts)}
    return {name: (whole[name], parts[name]) for name in whole if whole[name] != parts[name]}


def _said(read):
    try:
        source = read()
    except ReadError as error:
        return f"{error.what} {error.remedies}"
    except (ValueError, OSError) as error:
        return str(error)
    found = source.triplets
    triplets = found.load() if isinstance(found, TripletFile) else found
    people = triplets.participant_labels
    return {
        "layout": source.layout,
        "rows": triplets.items[triplets.rows].tolist(),
        "items": triplets.items.tolist(),
        "weight": None if triplets.weight is None else triplets.weight.tolist(),
        "answer": None if triplets.answer is None else triplets.answer.tolist(),
        "participant": None if people is None else people[triplets.participant].tolist(),
        "people": None if people is None else people.tolist(),
        "n_rows": source.n_rows,
        "n_used": source.n_used,
        "notes": [str(note) for note in source.notes if not note.startswith(KEPT)],
    }


def tiny_blocks(monkeypatch, lines=1):
    """Let blocks be as small as they may: a few lines or rows each."""
    from ordinate.files import streaming

    monkeypatch.setattr(streaming, "SMALLEST", lines)
    monkeypatch.setattr(blocks, "CHUNK", 64)
