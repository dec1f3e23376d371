"""What is told about a map beside the map itself, and how its items look."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ordinate.data.advice import Problem
from ordinate.data.summary import Brief, Summary
from ordinate.estimators.differences import IndividualDifferences


class Story(NamedTuple):
    """All that is told about a map beside the map itself.

    Attributes
    ----------
    title : str
    method : str
    reason : str
        Why this method.
    settings : dict
        Every option of the fit.
    source : dict
        File, layout, rows, hash.
    notes : list of str
        What was dropped, and why.
    problems : list of Problem
    summary : Summary or Brief
    seconds : dict of str to float
        Time of each stage.
    command : str
    more : dict
        What else was found: records by name, each with a ``sentence``.
    differences : IndividualDifferences or None
        What was found about axes of the participants' own, where that was asked.
    """

    title: str
    method: str
    reason: str
    settings: dict[str, Any]
    source: dict[str, Any]
    notes: list[str]
    problems: list[Problem]
    summary: Summary | Brief
    seconds: dict[str, float]
    command: str
    more: Mapping[str, Any] = MappingProxyType({})
    differences: IndividualDifferences | None = None


class Appearance(NamedTuple):
    """How items look: pictures by label, columns, which gives colours, names, other options."""

    images: Mapping[str, Path] | None = None
    columns: Mapping[str, list] = {}
    colour_name: str | None = None
    names: list | None = None
    drawing: Mapping[str, Any] = MappingProxyType({})

    @property
    def colour(self) -> list | None:
        """The values to colour by."""
        return None if self.colour_name is None else self.columns[self.colour_name]

    def beside_ours(self) -> "Appearance":
        """The same, each column with a name that none of a map's own has."""
        names: dict[str | None, str] = {}
        for name, values in self.columns.items():
            shown = name == "name" and values == self.names
            free = name if shown else _free_name(name)
            while free in names.values():
                free = f"items_{free}"
            names[name] = free
        columns = {names[name]: values for name, values in self.columns.items()}
        return self._replace(columns=columns, colour_name=names.get(self.colour_name))


def _free_name(name: str) -> str:
    """Return a name for a column of items that none of ours has."""
    ours = name in ("label", "name", "triplets", "accuracy") or re.fullmatch(r"(dim|se)\d+", name)
    return f"items_{name}" if ours else name
