"""Items that a file names in two ways, in one column with folder or ending, in another without."""

import re

import numpy as np

from ordinate.data.triplets import Triplets
from ordinate.files.formats.errors import ReadError, Remedy
from ordinate.files.formats.table import Table
from ordinate.files.readers._propose import SHARED, words

Named = tuple[set, set] | None  # anchors, and what they are compared with
# Fewer anchors than this may have such names by chance.
ENOUGH = 3


def refuse_two_spellings(table: Table, triplets: Triplets) -> None:
    """Raise where no anchor is ever compared, but most are but for their folder or ending."""
    is_anchor, is_compared = np.zeros((2, triplets.n_items), bool)
    is_anchor[triplets.rows[:, 0]] = True
    is_compared[triplets.rows[:, 1:]] = True
    if table.header is None or triplets.items.dtype.kind == "i":
        return
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


def _file(label: str) -> str:
    r"""Return the name of a file without folder and ending.

    >>> _file("img/oak.png"), _file("C:\\img\\oak"), _file("Oak")
    ('oak', 'oak', 'oak')
    """
    return re.sub(r"\.[A-Za-z]\w{1,4}$", "", re.split(r"[/\\]", label)[-1]).lower()
