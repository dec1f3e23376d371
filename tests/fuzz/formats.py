"""Sheets as files: text in its dialects, JSON, workbooks, arrays, Arrow's formats, packed, folders."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzz.features import is_whole
from fuzz.sheets import Sheet


@dataclass
class Written:
    """A file, and how it came about.

    ``records`` are the pieces that a text file consists of: lines above the table, the names of
    the columns and the rows, each with its end; ``first`` is the first that holds a row.
    """

    path: Path
    sheet: Sheet
    how: list[str]
    records: list[bytes] = field(default_factory=list)
    first: int = 0


def write(rng: Random, sheet: Sheet, folder: Path, wanted: tuple[str, ...] = ()) -> Written:
    """Write a sheet in a format that can hold it, if possible one of those wanted."""
    lists = any(isinstance(cell, list) for cells in sheet.columns.values() for cell in cells)
    kinds = ["json", "parquet", "feather", "arrows"]
    if not lists:
        kinds += ["text"] * 8 + ["workbook", "npz", "folder"]
    if not sheet.named:
        kinds = ["text"] if sheet.layout == "food100" else ["text", "text", "npy", "json"]
    kind = rng.choice([kind for kind in kinds if kind in wanted] or kinds)
    if kind == "npy" and not _ids(sheet):
        kind = "text"
    written = WRITERS[kind](rng, sheet, folder)
    written.how.insert(0, kind)
    return written


def write_text(rng: Random, sheet: Sheet, folder: Path, name: str = "answers") -> Written:
    """Write text: delimiter, quotes, ends of lines, encoding, titles, packing."""
    delimiter, ending = rng.choice(
        [(",", "csv"), (",", "csv"), ("\t", "tsv"), (";", "csv"), ("|", "txt")]
    )
    if sheet.layout == "food100":
        delimiter, ending = ";", "csv"
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    end = rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"])
    rows = [[_cell(c) for c in row] for row in zip(*sheet.columns.values(), strict=True)]
    if sheet.layout == "food100":
        rows = [[row[0], *(f" {cell}" for cell in row[1:])] for row in rows]
    above = []
    if sheet.named and rng.random() < 0.08 and len(rows) > 3:
        above = rng.choice(
            [["# made by a program"], ["The study of 2024", ""], ["sep=" + delimiter]]
        )
        # Lines within fields are hard to tell from rows.
        sheet.sure = sheet.sure and above[0][:3] != "sep" and "comments" not in sheet.features
    lines = [
        _line(row, delimiter, quoting) for row in ([list(sheet.columns)] if sheet.named else [])
    ]
    lines += [_line(row, delimiter, quoting) for row in rows]
    if rng.random() < 0.05:
        lines = [f"{line}{delimiter}" for line in lines]  # a delimiter after each field
        sheet.sure = sheet.sure and sheet.named
    text = [*above, *lines]
    inner = "".join(lines)
    if end == "\r" and "\n" in inner:
        end = "\n"  # an old Macintosh would have written these by \r as well
    try:
        pieces = [f"{line}{end}".encode(encoding.removesuffix("-sig")) for line in text]
    except UnicodeEncodeError:
        encoding = "utf-8"
        pieces = [f"{line}{end}".encode() for line in text]
    if encoding == "utf-16":
        pieces = [piece.removeprefix(b"\xff\xfe") for piece in pieces]
        pieces[0] = b"\xff\xfe" + pieces[0]
    elif encoding == "utf-8-sig":
        pieces[0] = b"\xef\xbb\xbf" + pieces[0]
    if rng.random() < 0.2 and encoding != "utf-16":
        pieces[-1] = pieces[-1].removesuffix(end.encode())
    content = b"".join(pieces)
    path = folder / f"{name}.{ending}"
    path.write_bytes(content)
    first = len(above) + sheet.named
    how = [repr(delimiter), repr(end), encoding, "quoted" if quoting == csv.QUOTE_ALL else ""]
    return Written(path, sheet, how + ["titles"] * bool(above), pieces, first)


def packed(rng: Random, written: Written) -> Written:
    """Put a file into gzip or zip."""
    content, path = written.path.read_bytes(), written.path
    if rng.random() < 0.5:
        new = path.with_name(f"{path.name}.gz")
        new.write_bytes(gzip.compress(content, 1))
    else:
        new = path.with_suffix(".zip")
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.name, content)
            if rng.random() < 0.3:
                archive.writestr(f"__MACOSX/._{path.name}", b"\x00\x05")
    path.unlink()
    return Written(new, written.sheet, [*written.how, new.suffix])


def _write_packed(rng: Random, sheet: Sheet, folder: Path) -> Written:
    written = write_text(rng, sheet, folder)
    return packed(rng, written) if rng.random() < 0.12 else written


def _cell(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _line(row: list[str], delimiter: str, quoting: Any) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting).writerow(row)
    return text.getvalue().removesuffix("\r\n")


def _ids(sheet: Sheet) -> bool:
    """Tell whether labels are ids that an array can hold; those from 1 must be told."""
    if not all(item.isdigit() and item == str(int(item)) for item in sheet.items):
        return False
    return max(map(int, sheet.items)) < 1000


def _typed(rng: Random, sheet: Sheet) -> dict[str, list]:
    """Numbers as numbers, where a column holds nothing else, as programs save them."""
    share = rng.choice([0, 0.5, 1]) if all(map(is_whole, sheet.items)) else 0
    return {
        name: _as_numbers(cells) if rng.random() < share else cells
        for name, cells in sheet.columns.items()
    }


def _as_numbers(cells: list) -> list:
    try:
        return [_as_number(cell) for cell in cells]
    except ValueError:
        return cells


def _as_number(cell: Any) -> Any:
    if isinstance(cell, list):
        return [_as_number(entry) for entry in cell]
    if isinstance(cell, str) and cell.strip():
        if str(int(cell)) != cell.strip():
            raise ValueError(cell)
        return int(cell)
    return None if cell == "" else cell


def _table(rng: Random, sheet: Sheet) -> pa.Table:
    columns = {}
    for name, cells in _typed(rng, sheet).items():
        try:
            columns[name] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([_cell(cell) for cell in cells])
        if pa.types.is_integer(columns[name].type) and rng.random() < 0.2:
            columns[name] = columns[name].cast(pa.float64())  # as pandas has columns with gaps
        if pa.types.is_string(columns[name].type) and rng.random() < 0.2:
            columns[name] = columns[name].dictionary_encode()
    return pa.table(columns)


def _write_parquet(rng: Random, sheet: Sheet, folder: Path) -> Written:
    path = folder / "answers.parquet"
    rows = rng.choice([None, 7])
    pa.parquet.write_table(_table(rng, sheet), path, row_group_size=rows)
    return Written(path, sheet, [])


def _write_feather(rng: Random, sheet: Sheet, folder: Path) -> Written:
    path = folder / rng.choice(["answers.feather", "answers.arrow"])
    packing = rng.choice(["uncompressed", "lz4"])
    pa.feather.write_feather(_table(rng, sheet), path, packing)
    return Written(path, sheet, [packing])


def _write_stream(rng: Random, sheet: Sheet, folder: Path) -> Written:
    path, table = folder / "answers.arrows", _table(rng, sheet)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=rng.choice([5, 100]))
    return Written(path, sheet, [])


def _write_json(rng: Random, sheet: Sheet, folder: Path) -> Written:
    columns = _typed(rng, sheet)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kind = rng.choice(["records", "columns", "lines"]) if sheet.named else "rows"
    plain = rng.random() < 0.5
    if kind == "lines":
        text = "".join(json.dumps(record, ensure_ascii=plain) + "\n" for record in records)
    else:
        whole = {"records": records, "columns": columns, "rows": [[*r.values()] for r in records]}
        text = json.dumps(whole[kind], ensure_ascii=plain, indent=rng.choice([None, 1]))
    path = folder / ("answers.jsonl" if kind == "lines" else "answers.json")
    path.write_text(text, encoding="utf-8")
    return Written(path, sheet, [kind])


def _write_workbook(rng: Random, sheet: Sheet, folder: Path) -> Written:
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    down, right = rng.choice([(0, 0), (0, 0), (2, 1)])
    cells = [*zip(*sheet.columns.values(), strict=True)]
    filled = [i for i, row in enumerate(cells) if any(c not in (None, "") for c in row)]
    sheet = sheet.take(filled)  # an empty row of a sheet is none
    columns = _typed(rng, sheet)
    rows = ([list(columns)] if sheet.named else []) + [*zip(*columns.values(), strict=True)]
    for i, row in enumerate(rows, 1 + down):
        for k, value in enumerate(row, 1 + right):
            cell = page.cell(i, k, value)
            if isinstance(value, str):
                cell.data_type = "s"  # formulas are text here
    if rng.random() < 0.2:
        book.create_sheet("empty")
    path = folder / "answers.xlsx"
    book.save(path)
    return Written(path, sheet, ["moved"] * bool(down))


def _write_npz(rng: Random, sheet: Sheet, folder: Path) -> Written:
    columns = {n: _vector(cells) for n, cells in _typed(rng, sheet).items() if n and "/" not in n}
    np.savez(folder / "answers.npz", **columns)
    sheet.sure = False  # a single row is no table
    return Written(folder / "answers.npz", sheet, [])


def _vector(cells: list) -> np.ndarray:
    """Return cells as an array, gaps as NaN among numbers and as nothing among text."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float} and kinds:
        return np.array([np.nan if cell is None else cell for cell in cells])
    return np.array([_cell(cell) for cell in cells])


def _write_npy(rng: Random, sheet: Sheet, folder: Path) -> Written:
    rows = np.array([*zip(*sheet.columns.values(), strict=True)]).astype(
        rng.choice(["i4", "i8", "u1"] if max(map(int, sheet.items)) < 256 else ["i4", "i8"])
    )
    least = min(map(int, sheet.items))
    if "odd" in sheet.options or rows.min() > 0 or least > 0:
        sheet.sure = False
        if rng.random() < 0.5:
            sheet.options["first_id"] = least
    np.save(folder / "answers.npy", rows)
    return Written(folder / "answers.npy", sheet, [])


def _write_folder(rng: Random, sheet: Sheet, folder: Path) -> Written:
    """A file for each participant, who is named by it alone."""
    inside = folder / "study"
    inside.mkdir()
    people = [f"P{k:02}" for k in range(1, rng.randint(2, 4) + 1)]
    sheet.columns.pop(sheet.participant, None)
    owner = sorted(rng.choice(people) for _ in sheet.answers)
    sheet.participants = owner
    used = sorted({*owner})
    state = rng.getstate()
    for name in used:
        rng.setstate(state)  # all in the same dialect
        part = sheet.take([i for i, own in enumerate(owner) if own == name])
        write_text(rng, part, inside, name)
    if len(used) == 1:
        sheet.participants = None
    if rng.random() < 0.3:
        (inside / "README.md").write_text("A study.\n")
    sheet.sure = False  # files of a single row may look as if they had no names
    return Written(inside, sheet, [f"{len(used)} files"])


WRITERS: dict[str, Callable[[Random, Sheet, Path], Written]] = {
    "text": _write_packed,
    "parquet": _write_parquet,
    "feather": _write_feather,
    "arrows": _write_stream,
    "json": _write_json,
    "workbook": _write_workbook,
    "npz": _write_npz,
    "npy": _write_npy,
    "folder": _write_folder,
}
