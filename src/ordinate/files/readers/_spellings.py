"""Labels that may not be meant: rows between stray quotes, and items named in two ways."""

import re
from collections.abc import Mapping

import numpy as np

from ordinate._base.messages import Message, Option
from ordinate.data.labels import alike, groups_in_words
from ordinate.data.triplets import Triplets
from ordinate.files.formats.cells import is_missing
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.table import Table
from ordinate.files.readers._propose import SHARED, words

Named = tuple[set, set] | None  # anchors, and what they are compared with
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
    if table.header is None or triplets.items.dtype.kind == "i":
        return
    is_anchor, is_compared = np.zeros((2, triplets.n_items), bool)
    is_anchor[triplets.rows[:, 0]] = True
    is_compared[triplets.rows[:, 1:]] = True
    own: Named = None
    if not (is_anchor & is_compared).any():
        own = ({*triplets.items[is_anchor]}, {*triplets.items[is_compared]})
    named = table.together("anchors and others", own, _apart)
    if named is None:
        return
    anchors, others = ({*map(str, names)} for names in named)
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


def _apart(some: Named, more: Named) -> Named:
    """Put anchors and others together; None if an item is both."""
    if some is None or more is None:
        return None
    anchors, others = some[0] | more[0], some[1] | more[1]
    return None if anchors & others else (anchors, others)


def alike_notes(items: np.ndarray, merged: Mapping[str, set[str]]) -> list[str]:
    """Tell which labels differ in trifles alone, and which of them became one item."""
    if items.dtype.kind == "i":
        return []
    notes: list[str] = [
        f"an item is called {label!r}: if that means that there is none, remove those rows"
        for label in items
        if is_missing(label)
    ]
    labels = {*items.tolist()}
    several = sorted(sorted(group) for first, group in merged.items() if first in labels)
    if several:
        notes.append(f"{len(several):,} items have several spellings: {groups_in_words(several)}")
    found = alike(items.tolist())
    if found:
        notes.append(
            Message(
                "labels that differ only by case, by blanks or by what cannot be seen are "
                f"different items: {groups_in_words(found)}. ",
                Option("merge_labels", True),
                " makes one item of them",
            )
        )
    return notes


def _file(label: str) -> str:
    r"""Return the name of a file without folder and ending.

    >>> _file("img/oak.png"), _file("C:\\img\\oak"), _file("Oak")
    ('oak', 'oak', 'oak')
    """
    return re.sub(r"\.[A-Za-z]\w{1,4}$", "", re.split(r"[/\\]", label)[-1]).lower()
