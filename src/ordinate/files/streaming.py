"""Files too large for memory, read by the same readers, block by block.

What comes out are arrays in a temporary folder, which are loaded if they fit, and otherwise read
again for every pass; ids that lie in a .npy file as they are needed stay there.
"""

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_whole
from ordinate._base.memory import in_words
from ordinate._base.messages import Message, Option
from ordinate.files.formats.blocks import Blocks, NotByLineError
from ordinate.files.formats.board import Board, NoRowsLeft
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.table import Table
from ordinate.files.formats.text import unequal_lines
from ordinate.files.ondisk.files import check_space, check_unchanged, fingerprint
from ordinate.files.ondisk.spool import Spool, scan
from ordinate.files.ondisk.unsorted import Numbers, PlainTriplets
from ordinate.files.readers import How, Reading, read_table
from ordinate.files.readers._spellings import alike_notes

# Memory that a block takes to read: some of the limit, within bounds that keep blocks efficient.
SHARE = 4
LARGEST, SMALLEST = 64 << 20, 1 << 20
LEAST_LABELS = 16 << 20  # bytes of labels that are never too many
MIB = 1 << 20


class Streamed(NamedTuple):
    """What was read block by block: see :class:`ordinate.readers.Reading`.

    Attributes
    ----------
    folder : Path
        Where the triplets are kept, as long as they are used.
    """

    triplets: PlainTriplets
    layout: str
    n_rows: int
    n_used: int
    notes: list[str]
    folder: Path


class _Pass(NamedTuple):
    """What one pass over all blocks came to: a reading of the last block, counts, and an error."""

    reading: Reading | None
    n_rows: int
    n_used: int
    error: ReadError | None


def read_in_blocks(
    path: Path, blocks: Blocks, how: How, memory_limit: int, n_items: int | None = None
) -> Streamed:
    """Read a file block by block, in bounded memory, as :func:`ordinate.readers.read` does."""
    if blocks.tables is None or how.table is not None:
        raise too_large(path, blocks, blocks.why)
    if blocks.least > max(memory_limit, SMALLEST):
        batches = blocks._replace(needed=2 * blocks.least)
        raise too_large(path, batches, "written in few and large batches")
    files, board = fingerprint(blocks.files), Board()
    n_bytes = int(np.clip((memory_limit - blocks.least) // SHARE, SMALLEST, LARGEST))
    folder = Path(tempfile.mkdtemp(prefix="ordinate-"))
    spool = Spool(folder)
    try:
        while True:
            spool.clear()
            board.begin_pass()
            found = _one_pass(blocks, how, board, spool, n_bytes, memory_limit)
            check_unchanged(files)
            if board.settled():
                break
        if found.error is not None:
            raise found.error
        triplets = _stored(path, spool, n_items, memory_limit)
        triplets.source = files
    except NotByLineError:
        spool.close()
        shutil.rmtree(folder)
        raise too_large(path, blocks, "a text whose fields hold line breaks") from None
    except BaseException:
        spool.close()
        shutil.rmtree(folder)
        raise
    weakref.finalize(triplets, shutil.rmtree, folder, ignore_errors=True)
    assert found.reading is not None  # a file without rows is an error
    notes = [*found.reading.notes, *alike_notes(triplets.items, board.merged)]
    return Streamed(triplets, found.reading.layout, found.n_rows, found.n_used, notes, folder)


def too_large(path: Path, blocks: Blocks, why: str) -> ReadError:
    """Return the error for a file that must be read as a whole, and cannot."""
    enough = f"{-(-blocks.needed // MIB)}MiB"
    return ReadError(
        Message(
            f"{path} takes about {in_words(blocks.needed)} of memory to read: it is {why}, which "
            "cannot be read block by block. Allow that much, as in ",
            Option("memory_limit", enough),
            "; or save it as CSV or Parquet, one answer a line",
        )
    )


def _one_pass(
    blocks: Blocks, how: How, board: Board, spool: Spool, n_bytes: int, memory_limit: int
) -> _Pass:
    """Read all blocks once; what they say together is on the board."""
    assert blocks.tables is not None
    reading, error, n_rows, n_used = None, None, 0, 0
    for table in blocks.tables(n_bytes):
        board.begin_block()
        table.board = board
        try:
            _refuse_unequal_lines(table)
            if not len(table.rows):
                continue
            found = read_table(table, how)
        except NoRowsLeft as left:
            n_rows += left.args[0]
            continue
        except ReadError as problem:
            error = error or problem
            continue
        reading, n_rows, n_used = found, n_rows + found.n_rows, n_used + found.n_used
        if not board.steady:
            continue  # there will be another pass
        if _lies_there(table, found):
            spool.look_at(found.triplets)
            continue
        if not spool.n_rows:
            spool.add(found.triplets, board.answer_names)
            check_space(spool.folder, spool.n_bytes * blocks.needed / n_bytes)
        else:
            spool.add(found.triplets, board.answer_names)
        if spool.label_bytes > max(memory_limit, LEAST_LABELS):
            raise _too_many_labels(table.path, spool, n_used)
    return _Pass(reading, n_rows, n_used, error)


def _refuse_unequal_lines(table: Table) -> None:
    """Raise if a line of a text has more or fewer fields than the first."""
    own = table.bad_lines
    said = table.together("lines", own, _first_and_sum)
    if said is not None:
        line, n_bad, form = said
        raise ReadError(unequal_lines(table.path, line, n_bad, form))


def _first_and_sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return one or other
    return one[0], one[1] + other[1], one[2]


def _lies_there(table: Table, found: Reading) -> bool:
    """Tell whether the rows of an array are used as they are."""
    ids = table.array is not None and table.array.shape[1] == 3
    return ids and found.triplets._items is None and not found.notes


def _too_many_labels(path: str, spool: Spool, n_used: int) -> ReadError:
    return ReadError(
        Message(
            f"{path}: {in_words(spool.label_bytes)} of labels in the first {n_used:,} rows alone "
            "are more than ",
            Option("memory_limit"),
            " allows; raise it, or name items, participants and answers by numbers",
        )
    )


def _stored(path: Path, spool: Spool, n_items: int | None, memory_limit: int) -> PlainTriplets:
    """Return the handle of what was read."""
    items, names = spool.items, None
    n_found = spool.largest + 1 if items is None else len(items)
    if n_items not in (None, n_found):
        n_items = check_whole("n_items", n_items, least=3)
        refuse_other_count(path, items, n_found, n_items)
        arrays, names = spool.finish(as_ids=True), spool.names if spool.labelled else None
        items, n_found = None, n_items
    else:
        arrays = spool.finish()
    if not arrays:
        arrays = {"rows": _ids_of(path)}
    counts, ordered = scan(arrays["rows"], spool.n_rows, n_found, names)
    people = None if spool.people_labels is None else spool.people_labels.tolist()
    return PlainTriplets(path, arrays, counts, ordered, items, people, memory_limit)


def refuse_other_count(
    path: Path, items: np.ndarray | None, n_found: int, n_items: int | None
) -> None:
    """Raise if the labels of a file are no ids, of which there may be more than occur."""
    if items is not None and 0 not in items:
        raise ValueError(
            f"n_items is {n_items}, but {path} names {n_found} items, and they are not "
            "ids from 0: read it with ordinate.readers.read(path, first_id=...), or leave n_items "
            "out"
        )


def _ids_of(path: Path) -> Numbers:
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read_header: Any = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        _, _, dtype = read_header(file)
        return Numbers(path, dtype, 3, file.tell())
