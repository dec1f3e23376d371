"""Labels that may not be meant: rows between stray quotes, and items named in two ways."""

import re

import numpy as np

from ordinate._base.messages import Message, Option
from ordinate.data.labels import alike, groups_in_words
from ordinate.data.triplets import Triplets
from ordinate.files.formats.cells import is_missing
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.table import Table
from ordinate.files.readers._propose import SHARED, words

# Fewer anchors than this may have such names by chance.
ENOUGH = 3


def refuse_rows_as_names(table: Table, triplets: Triplets) -> None:
    """Raise where a name is what stray quotes make of several rows."""
    if not table.like_rows:
        return
    people = triplets.participant_labels
    for label in [*triplets.items, *([] if people is None else people)]:
        where = table.like_rows.get(str(label))
        if where is not None:
            raise ReadError(
                f"{table.path}, {where}: the name {str(label)[:60]!r} holds line breaks, and reads "
                "as rows of the table. Remove the quotes around it if they are astray; if it is a "
                "name, replace its line breaks by blanks"
            )


def refuse_two_spellings(table: Table, triplets: Triplets) -> None:
    """Raise where no anchor is ever compared, but most are but for their folder or ending."""
    is_anchor, is_compared = np.zeros((2, triplets.n_items), bool)
    is_anchor[triplets.rows[:, 0]] = True
    is_compared[triplets.rows[:, 1:]] = True
    if table.header is None or (is_anchor & is_compared).any():
        return
    anchors, others = ({*map(str, triplets.items[used])} for used in (is_anchor, is_compared))
    alike = {_file(label): label for label in others}
    same = sorted(label for label in anchors if _file(label) in alike)
    if len(same) < ENOUGH or 2 * len(same) <= len(anchors):
        return
    used = {role: own for role, own in table.origin.items() if role in table.header}
    cells = [words(table, place) for place in range(table.data.num_columns)]
    files = [[_file(cell) for cell in column] for column in cells]
    found = [
        name
        for name, column, mine in zip(table.header, cells, files, strict=True)
        if files.count(mine) > 1 and len(others & {*column}) > SHARED * len(others)
    ]
    raise ReadError(
        f"{table.path}: anchors have other names than the items that they are compared with, as "
        f"{same[0]!r} and {alike[_file(same[0])]!r}, which would be different items; name them "
        "alike, or say which column names the anchors as the others are",
        *(Remedy({"columns": {**used, "anchor": name}}) for name in found[:3]),
    )


def note_alike(table: Table, triplets: Triplets) -> None:
    """Note which labels differ in trifles alone, and whether they became one item."""
    if triplets.items.dtype.kind == "i":
        return
    for label in triplets.items:
        if is_missing(label):
            table.notes.append(
                f"an item is called {label!r}: if that means that there is none, remove those rows"
            )
    labels = {*triplets.items.tolist()}
    merged = [sorted(group) for first, group in table.merged.items() if first in labels]
    if merged:
        table.notes.append(
            f"{len(merged):,} items have several spellings: {groups_in_words(merged)}"
        )
    found = alike(triplets.items.tolist())
    if found:
        table.notes.append(
            Message(
                "labels that differ only by case, by blanks or by what cannot be seen are "
                f"different items: {groups_in_words(found)}. ",
                Option("merge_labels", True),
                " makes one item of them",
            )
        )


def _file(label: str) -> str:
    r"""Return the name of a file without folder and ending.

    >>> _file("img/oak.png"), _file("C:\\img\\oak"), _file("Oak")
    ('oak', 'oak', 'oak')
    """
    return re.sub(r"\.[A-Za-z]\w{1,4}$", "", re.split(r"[/\\]", label)[-1]).lower()
