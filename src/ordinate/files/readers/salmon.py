"""The responses.csv of salmon, of either generation.

Both have head, left, right, winner, loser and puid. The older one names what chose the question
alg_ident, the newer one sampler; items are named by their files where those columns are present.
"""

from operator import or_

import numpy as np

from ordinate.data.triplets import Triplets
from ordinate.files.formats.table import Roles, Table, add
from ordinate.files.readers._layout import Layout, Options, extras
from ordinate.files.readers.response import by_winner

DIRECT = {"anchor": ("head",), "near": ("winner",), "far": ("loser",)}
SHOWN = {"anchor": ("head",), "first": ("left",), "second": ("right",)}
WINNER = {"winner": ("winner",)}
# Real files have a few winners that were not shown, stored within 0.05 s of the question: what was
# meant is unknown, so they cannot be used. With more of them the file is something else.
MOST_STRAY = 0.05


def matches(table: Table) -> bool:
    """A head, and who won over whom."""
    return table.has(DIRECT) or (table.has(SHOWN) and table.has(WINNER))


def parse(table: Table, options: Options) -> Triplets:
    """Read rows, by file names where there are such; Validation questions are checks already."""
    if table.has(SHOWN):
        _drop_stray(table)
        files = _files(SHOWN), _files(WINNER)
        by_file = table.has(files[0]) and table.has(files[1]) and _same_items(table)
        return by_winner(table, options, *(files if by_file else (SHOWN, WINNER)))
    items = table.distinct_items(table.places(DIRECT), answer=1)
    return Triplets.from_columns(
        *items.columns(),
        **extras(table, items, options),
    )


def _drop_stray(table: Table) -> None:
    """Drop answers that name an item that was not shown, while they are few."""
    columns = table.places({**SHOWN, **WINNER})
    _, left, right, winner = (table.words(table.data.column(place)) for place in columns)
    stray = (winner != left) & (winner != right) & (winner != "")
    few = table.together(
        "stray", (int(stray.sum()), len(stray)), add, lambda n: n[0] <= MOST_STRAY * n[1]
    )
    if few:
        table.drop(stray, "the winner is neither left nor right")


def _files(roles: Roles) -> Roles:
    return {role: (f"{names[0]}_filename",) for role, names in roles.items()}


def _same_items(table: Table) -> bool:
    """Tell whether each id has one file name and each file name one id."""
    ids, files = table.items(table.places(SHOWN)), table.items(table.places(_files(SHOWN)))
    codes = np.unique(np.column_stack([ids.codes.ravel(), files.codes.ravel()]), axis=0)
    names = [*ids.names, None], [*files.names, None]
    own = {(names[0][i], names[1][k]) for i, k in codes.tolist()}
    pairs = table.together("pairs", own, or_)
    of_ids, of_files = {i for i, _ in pairs}, {k for _, k in pairs}
    return None not in of_files and len(pairs) == len(of_ids) == len(of_files)


LAYOUT = Layout(
    "salmon",
    "salmon's responses.csv: head, winner, loser or left and right, puid",
    matches,
    parse,
    (DIRECT, {**SHOWN, **WINNER}),
)
