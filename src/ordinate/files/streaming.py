"""Files too large for memory, read by the same readers, block by block.

What comes out are arrays in a temporary folder, which are loaded if they fit, and otherwise read
again for every pass; ids that lie in a .npy file as they are needed stay there.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ordinate._base.checks import check_whole
from ordinate._base.memory import give_back, in_words
from ordinate._base.messages import Message, Option
from ordinate._base.writing import Scratch
from ordinate.files.formats.blocks import Blocks, NotByLineError
from ordinate.files.formats.board import Board, NoRowsLeft
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.files import unreadable
from ordinate.files.formats.folder import load
from ordinate.files.formats.table import Table
from ordinate.files.formats.text import unequal_lines
from ordinate.files.formats.variables import array_header
from ordinate.files.ondisk.files import check_space, check_unchanged, fingerprint
from ordinate.files.ondisk.spool import Spool, scan
from ordinate.files.ondisk.unsorted import Numbers, PlainTriplets
from ordinate.files.readers import How, Reading, read_table
from ordinate.files.readers._spellings import alike_notes

# Memory that a block takes to read: some of the limit, within bounds that keep blocks efficient.
SHARE = 16
LARGEST, SMALLEST = 64 << 20, 1 << 20
LEAST = 24_000_000  # bytes of memory that it takes to read and sort blocks of any size
LABELS = 3_000_000  # of which so many are for labels
COUNTED = 100  # bytes that a label takes which is only counted
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
    error: Exception | None


def read_in_blocks(
    path: Path, blocks: Blocks, how: How, memory_limit: int, n_items: int | None = None
) -> Streamed:
    """Read a file block by block, in bounded memory, as :func:`ordinate.readers.read` does.

    What can only be read as a whole is one block, if the memory limit allows.
    """
    if how.table is not None:
        blocks = blocks._replace(tables=None, why="one of several tables")
    if how.options.groups is not None:
        blocks = blocks._replace(tables=None, why="to be told apart by groups")
    if blocks.tables is None:
        if blocks.needed > memory_limit:
            raise too_large(path, blocks)
        blocks = blocks._replace(tables=lambda n_bytes: iter([load(path, how.table)]))
    refuse_small_limit(path, memory_limit, blocks.needed, blocks.least)
    with (
        suppress(NotByLineError),
        Scratch() as scratch,
        closing(Spool(scratch.path)) as spool,
        frugal(),
    ):
        found = _read(path, blocks, how, spool, memory_limit, n_items)
        scratch.keep_for(found.triplets)
        return found
    broken = blocks._replace(
        tables=None, why="a text with line breaks within fields, or stray quotes"
    )
    return read_in_blocks(path, broken, how, memory_limit, n_items)


@contextmanager
def frugal() -> Iterator[None]:
    """Have Arrow take memory from the system: by itself it keeps 15 MiB, and all it ever had."""
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(usual)
        give_back()


def _read(
    path: Path, blocks: Blocks, how: How, spool: Spool, memory_limit: int, n_items: int | None
) -> Streamed:
    """Let blocks go through the readers until none learns anything new."""
    files, board = fingerprint(blocks.files), Board()
    n_bytes = int(np.clip((memory_limit - blocks.least) // SHARE, SMALLEST, LARGEST))
    while True:
        spool.clear()
        board.begin_pass()
        found = _one_pass(path, blocks, how, board, spool, n_bytes, memory_limit)
        check_unchanged(files)
        if board.settled():
            break
    if found.error is not None:
        raise found.error
    if found.reading is None:
        raise ReadError(f"{path}: the file holds no rows")
    triplets = _stored(path, spool, n_items, memory_limit)
    triplets.source = files
    notes = [*found.reading.notes, *alike_notes(triplets.items, board.merged)]
    return Streamed(triplets, found.reading.layout, found.n_rows, found.n_used, notes, spool.folder)


def _tables(path: Path, blocks: Blocks, n_bytes: int) -> Iterator[Table]:
    """Yield the blocks of a file; whatever decoders say of it, the file is at fault."""
    assert blocks.tables is not None
    try:
        yield from blocks.tables(n_bytes)
    except (ReadError, NotByLineError, MemoryError):
        raise
    except Exception as error:
        raise unreadable(str(path), error) from error


def too_large(path: Path, blocks: Blocks) -> ReadError:
    """Return the error for a file that must be read as a whole, and cannot."""
    enough = f"{-(-blocks.needed // MIB)}MiB"
    return ReadError(
        Message(
            f"{path} takes about {in_words(blocks.needed)} of memory to read: it is {blocks.why}, "
            "which cannot be read block by block. Allow that much, as in ",
            Option("memory_limit", enough),
            "; or save it as CSV or Parquet, one answer a line",
        )
    )


def least_limit(label_bytes: int) -> int:
    """Return the least limit that has room for blocks of any size, and for labels besides."""
    return LEAST + max(label_bytes - LABELS, 0)


def refuse_small_limit(path: Path, memory_limit: int, whole: int, largest: int = 0) -> None:
    """Raise if a limit leaves no room for blocks, nor for the whole file, and say which would.

    ``largest`` are bytes that are in memory at once, whatever the size of blocks.
    """
    least = LEAST + largest
    if memory_limit >= min(least, whole):
        return
    larger = f", since {in_words(largest)} of it come at once" if largest > LEAST else ""
    raise ReadError(
        Message(
            f"{path}: a memory limit of {in_words(memory_limit)} cannot be kept. It takes "
            f"{in_words(whole)} to have the whole file in memory, and {in_words(least)} to have it "
            f"block by block{larger}: allow that much, as in ",
            Option("memory_limit", f"{-(-min(least, whole) // MIB)}MiB"),
        )
    )


def _one_pass(
    path: Path,
    blocks: Blocks,
    how: How,
    board: Board,
    spool: Spool,
    n_bytes: int,
    memory_limit: int,
) -> _Pass:
    """Read all blocks once; what they say together is on the board."""
    reading: Reading | None = None
    error: Exception | None = None
    n_rows = n_used = 0
    for table in _tables(path, blocks, n_bytes):
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
        except (MemoryError, OSError):
            raise
        except Exception as problem:  # what a reader trips over may be an answer that changes yet
            error, board.refused = error or problem, True
            continue
        reading, n_rows, n_used = found, n_rows + found.n_rows, n_used + found.n_used
        if not board.steady:
            continue  # there will be another pass
        if _lies_there(table, found):
            spool.look_at(found.triplets)
            continue
        spool.add(found.triplets, board.answer_names)
        if spool.n_rows == len(found.triplets):  # what the first block takes, all others do
            check_space(spool.folder, spool.n_bytes * max(blocks.needed / n_bytes, 1))
        if least_limit(spool.label_bytes) > max(memory_limit, LEAST) and not spool.full:
            spool.only_count()  # to tell what would be enough
        if spool.n_counted * COUNTED > memory_limit:
            raise _too_many_labels(path, spool, f"the first {n_used:,} rows", "more than ")
    if spool.full and error is None:
        error = _too_many_labels(path, spool, "this file")
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


def _too_many_labels(path: Path, spool: Spool, where: str, at_least: str = "") -> ReadError:
    enough = least_limit(spool.label_bytes)
    return ReadError(
        Message(
            f"{path}: the labels of {where} take {in_words(spool.label_bytes)}, more than the "
            f"memory limit has room for besides the rows. It takes {at_least}",
            Option("memory_limit", f"{-(-enough // MIB)}MiB"),
            "; numbers take less than texts as names of items, participants and answers",
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
        *_, dtype, offset = array_header(path)
        arrays = {"rows": Numbers(path, dtype, 3, offset)}
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
