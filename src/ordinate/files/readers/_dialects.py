"""What survey platforms do to a table, undone: Qualtrics, MTurk, Meadows, jsPsych and psiz."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from operator import or_
from string import ascii_lowercase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordinate.files.formats.cells import is_list
from ordinate.files.formats.table import Table, squeezed
from ordinate.files.readers._columns import numbered_stems, without_prefix
from ordinate.files.readers._descriptions import without_descriptions

IMAGE = re.compile(r"<(?:img|video|audio|source)\b[^>]*?\bsrc\s*=\s*(['\"]?)([^'\" >]+)\1", re.I)
IMPORT_ID = re.compile(r"\s*\{\s*['\"]+ImportId['\"]", re.I)  # which Qualtrics gives to questions
# The columns that jsPsych adds to every row; two of them tell that it wrote the file.
JSPSYCH = ("trial_type", "trial_index", "internal_node_id", "time_elapsed")


def tidy(table: Table) -> Table:
    """Return a table with names as others have it; nothing is done silently."""
    table = replace(table, notes=[*table.notes])  # line 1 may turn out to be no names
    for dialect in (_qualtrics, without_descriptions, _mturk, _meadows, _jspsych, _psiz):
        table = dialect(table)
    return table


def _renamed(table: Table, names: dict[int, str]) -> Table:
    header = [names.get(i, name) for i, name in enumerate(table.header or [])]
    return replace(table, header=header)


def _qualtrics(table: Table) -> Table:
    """Drop the texts and ids of the questions that follow the header; a response is a person."""
    first = table.first_rows(2) if table.text else []
    with_ids = [k for k, cells in enumerate(first) if any(map(IMPORT_ID.match, cells))]
    if not with_ids:
        return table
    table = _without_lines(table, with_ids[0] + 1)
    if with_ids == [0]:  # somebody removed the texts
        table.notes.append("the ids of Qualtrics' questions, a line, are no answer")
    else:
        table.notes.append("the texts and ids of Qualtrics' questions, two lines, are no answers")
        _add_texts(table, first[0])
    person = table.index(["ResponseId"])
    known = table.index(["participant"]) is not None
    return table if person is None or known else _renamed(table, {person: "participant"})


def _without_lines(table: Table, n_lines: int) -> Table:
    """Drop the first lines of the file; of a folder, those of each file that has ids there."""
    if table.files is None:
        return table.without(n_lines)
    cells = [list(map(str, column.to_pylist())) for column in table.data.columns]
    dropped = np.zeros(table.data.num_rows, bool)
    for start in table.files.starts.tolist():
        last = start + n_lines - 1
        if last < len(dropped) and any(IMPORT_ID.match(column[last]) for column in cells):
            dropped[start : last + 1] = True
    return replace(table, data=table.data.filter(pa.array(~dropped)), rows=table.rows[~dropped])


def _add_texts(table: Table, texts: list[str]) -> None:
    """Add what differs between the texts of a looped question as columns 1_Q3_text_a, ..."""
    header = list(table.header or [])
    for stem, columns in numbered_stems(header).items():
        parts = _differing([texts[header.index(name)] for name in columns.values()])
        if not stem.startswith("*") or not parts[0]:
            continue
        for name, differing in zip(columns.values(), parts, strict=True):
            for letter, part in zip(ascii_lowercase, differing, strict=False):
                cells = pa.array([part] * table.data.num_rows, pa.string())
                table.data = table.data.append_column(f"{name}_text_{letter}", cells)
                table.header = [*(table.header or []), f"{name}_text_{letter}"]
        table.notes.append(f"what differs in the texts of {stem} is in {stem}_text_a, ...")


def _differing(texts: list[str]) -> list[list[str]]:
    """Return the parts in which texts of the same form differ: what stands between common words.

    >>> _differing(["oak: elm or yew?", "elm: red oak or ash?", "yew: ash or fir?"])
    [['oak', 'elm', 'yew'], ['elm', 'red oak', 'ash'], ['yew', 'ash', 'fir']]
    """
    folder = _only(_folders(texts))
    named = [IMAGE.sub(lambda image: f">{image[2].removeprefix(folder)}<", text) for text in texts]
    plain = [re.sub(r"<[^>]*>", " ", text) for text in named]
    split = [re.findall(r"[\w./-]*\w|[^\w\s]", text) for text in plain]
    common = set.intersection(*map(set, split))
    if len({tuple(word for word in words if word in common) for words in split}) > 1:
        return [[] for _ in texts]
    parts = [
        [" ".join(run) for same, run in groupby(words, common.__contains__) if not same]
        for words in split
    ]
    return parts if len({len(part) for part in parts}) == 1 else [[] for _ in texts]


def _mturk(table: Table) -> Table:
    """Take Input. and Answer. off the names of MTurk's columns, where they stay different."""
    header = table.header or []
    short = {
        i: without_prefix(name) for i, name in enumerate(header) if without_prefix(name) != name
    }
    taken = Counter(squeezed(short.get(i, name)) for i, name in enumerate(header))
    short = {i: name for i, name in short.items() if taken[squeezed(name)] == 1}
    return _renamed(table, short)


def _meadows(table: Table) -> Table:
    """Name items by stim1_name, ... instead of stim1_id, ..., where each id has one name."""
    pairs = [(table.index([f"stim{k}_id"]), table.index([f"stim{k}_name"])) for k in (1, 2, 3)]
    label = table.index(["label"])
    places = [place for pair in pairs for place in pair]
    if label is None or None in places:
        return table
    ids, id_codes = table.distinct([table.data.column(i) for i, _ in pairs])
    names, name_codes = table.distinct([table.data.column(i) for _, i in pairs])
    codes = np.unique(np.column_stack([id_codes, name_codes]), axis=0)
    own = {([*ids, None][i], [*names, None][k]) for i, k in codes.tolist()}
    known = table.together("ids and names", own, or_)
    if not len(known) == len({i for i, _ in known}) == len({name for _, name in known}):
        return table
    name_of = {i: name for i, name in known if None not in (i, name)}
    values, codes = table.distinct([table.data.column(label)])
    cells = pa.array([name_of.get(value, value) for value in values])
    answers = cells.take(pa.array(codes, pa.int64(), mask=codes < 0))
    table.notes.append("items are named by stim1_name, ..., not by stim1_id, ...")
    data = table.data.set_column(label, table.data.field(label).name, answers)
    for id_place, name_place in pairs:
        data = data.set_column(id_place, data.field(id_place).name, data.column(name_place))
    return replace(table, data=data)


def _jspsych(table: Table) -> Table:
    """Spread lists of choices, and name pictures in HTML by their files."""
    if sum(table.index([name]) is not None for name in JSPSYCH) < 2:
        return table
    table = replace(table)
    columns = {}
    for name in ("stimulus", "choices"):
        place = table.index([name])
        if place is not None and table.index([f"{name}_1"]) is None:
            kind = table.data.schema.types[place]
            if is_list(kind) or str(kind) in ("string", "large_string"):
                columns[name, place] = table.data.column(place).to_pylist()
    folders = _folders(cell for cells in columns.values() for cell in cells)
    folder = _only(table.together("folders", folders, or_))
    for (name, place), cells in columns.items():
        lists = [_parts(cell, folder) for cell in cells]
        table.spread(place, [entry if len(entry) > 1 else [] for entry in lists], pa.string())
        single = [
            e[0] if len(e) == 1 else None if e else _inside(folder, c)
            for e, c in zip(lists, cells, strict=True)
        ]
        if table.together("taken apart", single != cells, or_):
            table.notes.append(f"lists and pictures in the column {name} are taken apart")
            cells = ["" if cell is None else str(cell) for cell in single]
            table.data = table.data.set_column(place, name, pa.array(cells))
    return table


def _psiz(table: Table) -> Table:
    """Name the columns of stimulus_set: the query, then references, those selected first."""
    places = table.series(["stimulus_set"])
    if len(places) < 3 or table.index(["n_select"]) is None or table.index(["query"]) is not None:
        return table
    data = table.data
    for place in places:
        column = data.column(place)
        if pa.types.is_integer(column.type):  # -1 fills rows of fewer references
            column = pc.if_else(pc.less(column, 0), None, column)
        data = data.set_column(place, data.field(place).name, column)
    names = ["query", *(f"reference_{k}" for k in range(1, len(places)))]
    table.notes.append("stimulus_set is the query and the references, those selected first")
    return _renamed(replace(table, data=data), dict(zip(places, names, strict=True)))


def _parts(cell: object, folder: str) -> list[str]:
    """Return the entries of a list, or the files of the pictures in HTML; none for other text."""
    if isinstance(cell, str) and cell.lstrip()[:1] == "[":
        try:
            cell = json.loads(cell)
        except json.JSONDecodeError:
            return []
    if isinstance(cell, list):
        return [(_parts(entry, folder) or [_inside(folder, str(entry))])[0] for entry in cell]
    return [_inside(folder, source) for _, source in IMAGE.findall(str(cell or ""))]


def _inside(folder: str, cell: Any) -> Any:
    """Name a picture as those in HTML are, so that it is the same item."""
    return cell.removeprefix(folder) if isinstance(cell, str) else cell


def _folders(cells: Iterable[object]) -> set[str]:
    """Return the folders of pictures in HTML."""
    sources = {source for cell in cells for _, source in IMAGE.findall(str(cell or ""))}
    return {source[: source.rfind("/") + 1] for source in sources}


def _only(folders: set[str]) -> str:
    """Return the folder of all pictures; none where they are in several."""
    return next(iter(folders)) if len(folders) == 1 else ""
