"""Both ways of reading, into memory and streamed within a small limit, say the same."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from fuzz.commands import rows_alone
from fuzz.features import make_sheet
from fuzz.formats import write
from fuzz.known import meaning, told
from fuzz.mutated import damaged
from ordinate import Triplets, ondisk, readers
from ordinate.files import streaming
from ordinate.files.inputs import Source, open_source

streaming.LEAST = 0  # so that small files are streamed at all
LIMITS = ("1kB", "1kB", "1kB", "20kB", "200kB")
IN_BLOCKS = ("text", "parquet", "feather", "npy")  # others are refused above the limit
# What only the streamed way may have to say.
OF_STREAMING = ("memory limit", "rows alone")


def check(rng: Random, folder: Path) -> list[str]:
    """Read a file, sound or damaged, in both ways, and return in what they differ."""
    written = write(rng, make_sheet(rng), folder, IN_BLOCKS if rng.random() < 0.8 else ())
    how = damaged(rng, written)[0] if rng.random() < 0.3 else "sound"
    limit = rng.choice(LIMITS)
    try:
        whole = readers.read(written.path, **written.sheet.options)
    except readers.ReadError:
        whole = None
    try:
        source = open_source(written.path, memory_limit=limit, **written.sheet.options)
        streamed = source.triplets
        if not isinstance(streamed, Triplets):
            streamed = streamed.load()
    except (ValueError, MemoryError):
        return []
    case = f"{told(written)}, {how}, {limit}"
    if whole is None:
        return [f"{case}: refused as a whole, but streamed as {len(streamed)} triplets"]
    problems = differences(whole, source, streamed)
    if not problems and rng.random() < 0.3:
        problems = _by_way_of_the_fast_layout(rng, source, streamed, folder)
    return [f"{case}: {problem}" for problem in problems]


def _by_way_of_the_fast_layout(
    rng: Random, source: Source, triplets: Triplets, folder: Path
) -> list[str]:
    """The fast layout keeps what a file means, in the order that it states, however it was made."""
    order = "anchor" if triplets.answer is None else rng.choice(["anchor", "answer"])
    target = folder / rng.choice(["fast", "fast.parquet"])
    try:
        if isinstance(source.triplets, Triplets):
            cut = rng.randrange(len(triplets))
            pieces = [triplets[:cut], triplets[cut:]] if cut else [triplets]
            ondisk.write(pieces, target, order=order, memory_limit=rng.choice(LIMITS))
        else:
            ondisk.convert(source.triplets, target, order=order)
    except MemoryError:
        return []
    found = ondisk.open_triplets(target).load()
    keys = found.rows[:, 0] if order == "anchor" else found.answer
    if (keys[1:] < keys[:-1]).any():
        return [f"not in the order of the {order}s in {target.name}"]
    before, after = meaning(triplets), meaning(found)
    if before == after:
        return []
    extra, lost = [*(after - before)][:2], [*(before - after)][:2]
    return [f"{target.name} by {order} says {extra} in place of {lost}"]


def differences(whole: Any, source: Source, streamed: Triplets) -> list[str]:
    """Hold what was streamed against what was read as a whole."""
    problems = []
    one, other = meaning(whole.triplets), meaning(streamed)
    if any("rows alone" in note for note in source.notes):
        one, other = rows_alone(one), rows_alone(other)
    if one != other:
        extra, lost = [*(other - one)][:2], [*(one - other)][:2]
        problems.append(f"streamed as {extra} in place of {lost}; notes {source.notes}")
    if (whole.n_rows, whole.n_used) != (source.n_rows, source.n_used):
        counts = f"{source.n_used} of {source.n_rows}, not {whole.n_used} of {whole.n_rows}"
        problems.append(f"rows used are {counts}")
    notes = [n for n in source.notes if not any(words in n for words in OF_STREAMING)]
    if Counter(notes) != Counter(whole.notes):
        problems.append(f"notes {notes}, not {whole.notes}")
    return problems
