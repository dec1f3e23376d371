"""Ranking: items put in order of their likeness to a query, nearest first."""

import numpy as np

from ordinate.data import answers
from ordinate.data.triplets import Triplets
from ordinate.files.formats.item_columns import differing
from ordinate.files.formats.table import Table
from ordinate.files.readers._layout import Layout, Options, extras
from ordinate.files.readers.selection import with_query

QUERY = {"query": ("query",)}
RANKED = ("rank", "ranked")


def matches(table: Table) -> bool:
    """A query with rank_1, rank_2, ..., or a column of lists."""
    return table.has(QUERY) and len(table.series(RANKED)) > 1


def parse(table: Table, options: Options) -> Triplets:
    """Compare every two items of a ranking."""
    items = with_query(table, [*table.places(QUERY), *table.series(RANKED)])
    items = differing(table, items, items.codes)
    idle = (items.codes[:, 1:] >= 0).sum(axis=1) < 2
    table.drop(idle, "fewer than two items were ranked, which compares nothing")
    lists = [items.row(int(i)) for i in np.flatnonzero(~idle)]
    return answers.ranking(
        [row[0] for row in lists],
        [row[1:] for row in lists],
        **extras(table, items, options),
    )


LAYOUT = Layout(
    "ranking",
    "query, rank_1, rank_2, ..., nearest first",
    matches,
    parse,
    ({**QUERY, "rank_1": ("rank_1",), "rank_2": ("rank_2",)},),
)
