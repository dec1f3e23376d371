"""The folders that a fit of groups leaves: one for each group, a table and a figure of all."""

import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ordinate._base import progress
from ordinate._base.messages import Message, message_of
from ordinate._base.writing import DiskFullError, whole_folder
from ordinate.data.advice import problems
from ordinate.data.triplets import Triplets
from ordinate.evaluation.analysis import analyse
from ordinate.evaluation.groups import Group, Groups
from ordinate.figures.figure_files import save_both
from ordinate.figures.grouping import plot_groups
from ordinate.files.items import display_names
from ordinate.files.maps import as_text, write_table
from ordinate.study.run_folder import write_run
from ordinate.study.story import Appearance, Story

FOLDER, TABLE, FIGURE = "groups", "groups.csv", "groups.png"


def describe_groups(found: Groups, by: str) -> dict[str, Any]:
    """Return what was found as plain values for JSON."""
    names = folder_names([group.name for group in found.groups])
    rows = found.table()
    for row, name in zip(rows, names, strict=False):
        row["folder"] = f"{FOLDER}/{name}"
    return {
        "sentence": found.sentence,
        "by": by,
        "held_out": found.by,
        "differ": found.differ,
        "over_common": found.over_common._asdict(),
        "p_value": found.p_value,
        "asked_unevenly": found.uneven,
        "items": [str(label) for label in found.apart],
        "table": rows,
        "skipped": {str(name): n for name, n in found.skipped.items()},
    }


def write_groups(
    folder: Path,
    found: Groups,
    triplets: Triplets,
    story: Story,
    appearance: Appearance,
    tell: Callable[[str], None] = lambda stage: None,
    *,
    folds: int | None = None,
    defuse: bool = False,
) -> list[str]:
    """Write the table, the figure, and a folder as of any fit for each group.

    What fails costs nothing else: what a full disk kept from being written is returned, and all
    else that went wrong is a warning.
    """
    rows = story.more["groups"]["table"]
    labels = display_names(found.common.items_.tolist(), appearance.names)[0]
    parts: dict[str, Callable[[], None]] = {
        "table of groups": lambda: _write_table(folder / TABLE, rows, defuse),
        "figure of groups": lambda: save_both(plot_groups(found, labels=labels), folder / FIGURE),
    }
    for group, row in zip(found.groups, rows, strict=False):
        own = folder / row["folder"], group, found, triplets, story, appearance, folds, defuse
        parts[f"group {group.name}"] = partial(_write_group, *own)
    progress.expect(len(parts))
    unwritten = []
    for what, write in parts.items():
        tell(what)
        try:
            write()
        except DiskFullError:
            unwritten.append(what)
        except Exception as error:  # no map of all answers is lost to one of some
            told = f"the {what} could not be written: {type(error).__name__}: "
            warnings.warn(UserWarning(Message(told, message_of(error))), stacklevel=2)
    return unwritten


def _write_group(
    folder: Path,
    group: Group,
    found: Groups,
    triplets: Triplets,
    story: Story,
    appearance: Appearance,
    folds: int | None,
    defuse: bool,
) -> None:
    own = triplets[group.rows]
    estimator = group.model._from_here()
    d = found.common.embedding_.shape[1]
    told = story._replace(
        title=f"{story.title}: {group.name}",
        reason="as the common map was made",
        source=story.source | {"group": str(group.name), "rows used": len(own)},
        problems=problems(own, [], d),
        summary=own.summarise(),
        seconds={},
        more={},
    )
    with whole_folder(folder) as whole:
        _, unwritten = write_run(
            whole, analyse(estimator, own, folds=folds), told, appearance, defuse=defuse
        )
    if unwritten:
        raise DiskFullError(f"the {' and the '.join(unwritten)} could not be written")


def folder_names(names: list[Any]) -> list[str]:
    """Return names for folders that differ on every system.

    Examples
    --------
    >>> folder_names(["a/b", "A b", "", "..", "über"])
    ['a_b', 'A_b-2', 'group-3', 'group-4', 'über']
    """
    taken: set[str] = set()
    found = []
    for k, name in enumerate(map(str, names), start=1):
        safe = re.sub(r"[^\w.-]+", "_", name)[:60].strip("._- ") or f"group-{k}"
        safe = safe if safe.casefold() not in taken else f"{safe}-{k}"
        taken.add(safe.casefold())
        found.append(safe)
    return found


def _write_table(path: Path, rows: list[dict[str, Any]], defuse: bool) -> None:
    import pyarrow as pa

    shown = [row | {"group": as_text(row["group"], defuse=defuse)} for row in rows]
    write_table(path, pa.Table.from_pylist(shown))
