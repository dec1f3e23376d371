"""A folder of files, such as one for each participant, as one table."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate._base.endings import ENDINGS, IMAGES, stem
from ordinate._base.hashing import sha256_of_several
from ordinate._base.messages import some
from ordinate._base.writing import MARK
from ordinate.files.formats import files as single
from ordinate.files.formats.cells import is_list, normal, plain_cells
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.table import Files, Table

ABOUT_FILES = ("readme", "license", "licence", "changelog", "citation")
HIDDEN = (".", "~$")  # the second of Excel, while a workbook is open


def load(path: Any, choice: str | None = None) -> Table:
    """Read a file, or all files of a folder that can be read, as one table."""
    if not os.path.isdir(path):
        return single.load(path, choice)
    folder = Path(path)
    files, notes = readable_files(folder)
    tables = [single.load(file, choice) for file in files]
    table = tables[0] if len(tables) == 1 else _together(folder, tables)
    each = {_within(folder, file): t.sha256 for file, t in zip(files, tables, strict=True)}
    table.sha256 = sha256_of_several(each)
    table.notes[:0] = notes
    return table


def readable_files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a folder, or of those within it, and notes on those that are not read."""
    files, notes = _readable(folder, sorted(folder.iterdir()))
    if not files and any(file.is_dir() for file in folder.iterdir()):
        inside = (file for file in sorted(folder.rglob("*")) if file.is_file() and not _ours(file))
        files, notes = _readable(folder, inside)
    if not files:
        told = "; ".join(notes) or "it is empty"
        raise ReadError(f"{folder} holds no file that can be read ({told}); {single.KNOWN} can")
    return files, notes


def _readable(folder: Path, inside: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """Return the files to read, and notes on those that are not."""
    parts = ((file, file.relative_to(folder).parts) for file in inside)
    found = [file for file, path in parts if not any(part.startswith(HIDDEN) for part in path)]
    files, empty, others = [], [], []
    for file in found:
        about = file.name.lower().startswith(ABOUT_FILES)
        if not file.is_file() or about or file.suffix.lower() not in ENDINGS:
            others.append(_within(folder, file))
        elif not file.stat().st_size:
            empty.append(_within(folder, file))
        else:
            files.append(file)
    notes = [
        f"{len(names):,} {what}: {some(names)}"
        for what, names in (("files are empty", empty), ("files were not read", others))
        if names
    ]
    first: dict[str, str] = {}
    for file in files:
        name = _within(folder, file)
        other = first.setdefault(stem(name), name)
        if other != name:
            raise ReadError(
                f"{folder}: {other} and {name} differ in their endings alone. Keep one of "
                "them in the folder if they hold the same; else give them other names"
            )
    return files, notes


def _ours(file: Path) -> bool:
    """Tell whether a file is a result that was written here, not an answer."""
    return (file.parent / MARK).exists()


def _within(folder: Path, file: Path) -> str:
    return file.relative_to(folder).as_posix()


def names_within(folder: Path, files: Iterable[Path]) -> list[str]:
    """Return the names of files; what is not UTF-8 in one is written as an escape."""
    inside = (_within(folder, file) for file in files)
    return [name.encode("utf-8", "backslashreplace").decode() for name in inside]


def _together(folder: Path, tables: list[Table]) -> Table:
    """Put tables below each other: by the names of their columns, or by position without names."""
    shown = str(folder)
    names = names_within(folder, (Path(table.path) for table in tables))
    notes: list[str] = []
    header: list[str] | None = None
    if _have_names(shown, names, tables):
        tables = [table.named() for table in tables]
        header, notes = _common_columns(shown, names, tables)
        data = [_select(table, header) for table in tables]
    else:
        tables = [table.bare() for table in tables]
        data = _same_width(shown, names, tables)
    text = all(table.text for table in tables)
    if any(part.schema != data[0].schema for part in data):
        data, text = [_as_text(shown, part) for part in data], True
    starts = np.cumsum([0, *(part.num_rows for part in data)])
    files = Files(names, starts[:-1])

    def place(row: int) -> str:
        k = int(files.of(np.array([row]))[0])
        return f"{names[k]}, {tables[k].place(int(tables[k].rows[row - starts[k]]))}"

    arrays = [table.array for table in tables if table.array is not None]
    delimiters = {table.delimiter for table in tables}
    return Table(
        shown,
        pa.concat_tables(data),
        header,
        place,
        text=text,
        own_names=header if text else None,
        delimiter=delimiters.pop() if len(delimiters) == 1 else "",
        array=np.concatenate(arrays) if len(arrays) == len(tables) else None,
        notes=notes + _notes_of(names, tables),
        files=files,
        like_rows={
            cell: f"{name}, {where}"
            for name, table in zip(names, tables, strict=True)
            for cell, where in table.like_rows.items()
        },
    )


def _have_names(shown: str, names: list[str], tables: list[Table]) -> bool:
    """Tell whether columns have names in all files, or in none; raise if only some have."""
    below = _first_cells_below(tables)
    bare = [table.header is None or _first_line_is_data(table, below) for table in tables]
    if any(bare) and not all(bare):
        usual = sum(bare) * 2 > len(bare)
        odd = names[bare.index(not usual)]
        raise ReadError(
            f"{shown}: {odd} seems to have {'' if usual else 'no '}column names, unlike other "
            "files; all files of a folder must have the same columns, with names or without"
        )
    return not any(bare)


def _first_line_is_data(table: Table, below: set[tuple[int, int, str]]) -> bool:
    """Tell whether a line that may be names holds numbers, images, or what occurs below, too."""
    if not table.undecided:
        return False
    width = table.data.num_columns
    return any(
        cell.lower().endswith(IMAGES) or _is_number(cell) or (width, k, cell) in below
        for k, cell in enumerate(table.header or [])
    )


def _first_cells_below(tables: list[Table]) -> set[tuple[int, int, str]]:
    """Return width of table, column and cell of first lines that other lines of any file repeat."""
    alike: dict[int, list[Table]] = {}
    for table in tables:
        if table.undecided:
            alike.setdefault(table.data.num_columns, []).append(table)
    found = set()
    for width, group in alike.items():
        for k in range(width):
            first = pa.array({(table.header or [])[k] for table in group} - {""}, pa.string())
            chunks = [c for table in group for c in table.data.column(k).slice(1).chunks]
            cells = pc.utf8_trim_whitespace(pa.chunked_array(chunks, pa.string()))
            again = cells.filter(pc.is_in(cells, value_set=first)).unique()
            found |= {(width, k, cell) for cell in again.to_pylist()}
    return found


def _same_width(shown: str, names: list[str], tables: list[Table]) -> list[pa.Table]:
    usual = Counter(table.data.num_columns for table in tables).most_common()[0][0]
    for name, table in zip(names, tables, strict=True):
        if table.data.num_columns != usual:
            raise ReadError(
                f"{shown}: {name} has {table.data.num_columns} columns, other files have {usual}; "
                "all files of a folder must have the same columns"
            )
    return [table.data.rename_columns([f"f{k}" for k in range(usual)]) for table in tables]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.lower() not in ("nan", "inf", "infinity")


def _common_columns(
    shown: str, files: list[str], tables: list[Table]
) -> tuple[list[str], list[str]]:
    """Return the columns that all files have; a file must have those that half of them have."""
    headers = [_keys(table.header) for table in tables]
    counts = Counter(key for header in headers for key in header)
    for key, count in counts.items():
        lacking = [file for file, header in zip(files, headers, strict=True) if key not in header]
        if lacking and 2 * count >= len(tables):
            more = f" ({len(lacking):,} such files)" if len(lacking) > 1 else ""
            raise ReadError(
                f"{shown}: {lacking[0]} has no column {key[0]!r}, which other files have{more}. "
                "Move files that hold something else to another folder, or repair the names"
            )
    common = [name for key, name in headers[0].items() if counts[key] == len(tables)]
    rare = [key[0] for key, count in counts.items() if count < len(tables)]
    notes = [f"columns that few files have are not read: {some(rare)}"] if rare else []
    return common, notes


def _keys(header: list[str] | None) -> dict[tuple[str, int], str]:
    """Return the names of columns by what tells them apart in other files: numbered if repeated."""
    seen: Counter[str] = Counter()
    keys = {}
    for name in header or []:
        keys[normal(name), seen[normal(name)]] = name
        seen[normal(name)] += 1
    return keys


def _select(table: Table, header: list[str]) -> pa.Table:
    """Return the columns of a header, in its order."""
    place = {key: k for k, key in enumerate(_keys(table.header))}
    places = [place[key] for key in _keys(header)]
    return table.data.select(places).rename_columns(header)


def _as_text(shown: str, data: pa.Table) -> pa.Table:
    """Return columns as text, for files that do not have the same types."""
    if any(is_list(kind) for kind in data.schema.types):
        raise ReadError(
            f"{shown}: columns of lists have other types in other files; save all files of the "
            "folder in the same format"
        )
    columns = [plain_cells(column).cast(pa.string()) for column in data.columns]
    return pa.table(columns, names=data.column_names)


def _notes_of(names: list[str], tables: list[Table]) -> list[str]:
    """Return what was noted of single files, once where it was noted of several."""
    files: dict[str, list[str]] = {}
    for name, table in zip(names, tables, strict=True):
        for note in table.notes:
            files.setdefault(note, []).append(name)
    return [f"{some(where, 3)}: {note}" for note, where in files.items()]
