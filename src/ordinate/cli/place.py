"""The command ``place``: new items on a map that was made before."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate._base.messages import Message, Option, some
from ordinate.cli import _shell as shell
from ordinate.cli.data import AS_FOUND, ReadingOptions, open_answers, refuse_folder

if TYPE_CHECKING:
    from ordinate.data.triplets import Triplets
    from ordinate.estimators.base import Embedder

FILES = (
    "embedding.csv",
    "embedding.parquet",
    "embedding.png",
    "embedding.svg",
    "covariance.npy",
    "model.json",
    "run.json",
)


@shell.command
def place(
    folder: Annotated[
        Path, typer.Argument(metavar="MAP", help="The folder of `fit`, or of model.save.")
    ],
    file: shell.File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default FILE-placed."),
    ] = None,
    append: Annotated[
        bool,
        typer.Option("--append", help="Write the whole map, new items included, and its model."),
    ] = False,
    reading: ReadingOptions = AS_FOUND,
    defuse: shell.Defuse = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Place items that a map does not have, from answers about them.

    The map stays as it is, and items are matched by their labels. The folder gets `embedding.csv`
    (label, coordinates, standard errors, triplets per item, whether the answers about it are weak),
    `embedding.png` and `.svg` (the map in grey, new items marked) and `run.json`. With --append it
    holds the whole map and its model, for `plot`, `score` and `place` again.

    ```
    ordinate place letters-map new-letters.csv
    ordinate place letters-map new-letters.csv -o more-letters --append
    ```
    """
    from ordinate._base.endings import stem
    from ordinate._base.writing import whole_folder
    from ordinate.files.formats.files import is_pipe, path_in_words
    from ordinate.files.maps import MAPS, map_in, read_map
    from ordinate.study.placed_folder import write_placed

    if is_pipe(file) and output is None:
        raise shell.CommandError(
            f"what comes through {path_in_words(file)} has no name to give to the results: "
            "say where they go with --output",
            shell.WRONG_USE,
        )
    target = file.with_name(f"{stem(file.name)}-placed") if output is None else output
    folder = folder.parent if folder.name in MAPS else folder
    refuse_folder(target, force, inputs=[folder, file])
    model = _load(folder)
    source = open_answers(file, reading)
    for note in source.notes:
        shell.say(f"note: {note}", quiet)
    triplets = _matched(source.load(), model, reading.merge_labels)
    _refuse(triplets, model, folder, file)
    told: list[str] = []
    with shell.warnings_kept(told):
        placed = model.place(triplets)
    record = {
        "command": shlex.join(["ordinate", *sys.argv[1:]]),
        "map": str(folder),
        "method": type(model).__name__,
        "input": {
            "file": str(file),
            "sha256": source.sha256,
            "layout": source.layout,
            "rows": source.n_rows,
            "rows used": source.n_used,
        },
        "dropped": source.notes,
        "result": {
            "n_new": len(placed.items),
            "n_weak": int(placed.weak.sum()),
            "n_without_place": int((placed.points != placed.points).any(axis=1).sum()),
            "n_triplets_about_known_items": _about_known(triplets, model),
            "appended": append,
        },
        "warnings": told,
    }
    with (
        whole_folder(target, force=force, checked=True) as partial,
        shell.warnings_as_notes(quiet),
    ):
        known = read_map(map_in(folder))
        record = write_placed(partial, model, known, placed, record, append=append, defuse=defuse)
    _report(target, record, quiet, as_json)


def _load(folder: Path) -> Any:
    from ordinate.estimators.saving import load

    try:
        model: Embedder = load(folder)
    except ValueError as error:
        raise shell.CommandError(shell.told(error), shell.UNREADABLE) from None
    if not hasattr(model, "place"):
        raise shell.CommandError(
            f"{folder} was made by {type(model).__name__}, which places no further items: fit the "
            "map by another method, such as --method ordinal or ste",
            shell.WRONG_USE,
        )
    return model


def _matched(triplets: "Triplets", model: Any, merge: bool) -> "Triplets":
    """Give triplets the labels of the map: as text where one side has numbers, the other texts."""
    import numpy as np

    from ordinate.data.labels import label_array, without_trifles
    from ordinate.data.triplets import Triplets

    labels = triplets.items.tolist()
    if triplets.items.dtype.kind != model.items_.dtype.kind:
        labels = [str(label) for label in labels]
        model.items_ = label_array([str(label) for label in model.items_])
    if merge:
        known = {without_trifles(str(label)): label for label in model.items_.tolist()}
        exact = {*model.items_.tolist()}
        labels = [
            label if label in exact else known.get(without_trifles(str(label)), label)
            for label in labels
        ]
    if labels == triplets.items.tolist() and triplets._items is not None:
        return triplets
    named = np.empty(len(labels), object)
    named[:] = labels
    who = triplets.participant
    return Triplets.from_columns(
        *named[triplets.rows].T,
        answer=triplets.answer,
        participant=None if who is None else np.asarray(triplets.participant_labels)[who],
        weight=triplets.weight,
    )


def _refuse(triplets: "Triplets", model: Any, folder: Path, file: Path) -> None:
    """Raise if there is nothing to place, nothing to place it by, or likely a slip in a label."""
    import numpy as np

    from ordinate.data.labels import alike, groups_in_words, places

    known = places(triplets.items.tolist(), model.items_.tolist()) >= 0
    labels = [str(label) for label in triplets.items]
    if not known.any():
        raise shell.CommandError(
            f"none of the {len(labels):,} items in {file} is on the map in {folder}: the file has "
            f"{some(labels, 3)}, and the map {some([str(label) for label in model.items_], 3)}",
            shell.UNREADABLE,
        )
    without = ~np.isfinite(model.embedding_).all(axis=1)
    if known.all() and not {*model.items_[without].tolist()} & {*triplets.items.tolist()}:
        raise shell.CommandError(
            f"all {len(labels):,} items in {file} are on the map in {folder} already, so that "
            f"there is nothing to place; `ordinate score {folder} {file}` tells how well the map "
            "predicts these answers",
            shell.UNREADABLE,
        )
    new = {*triplets.items[~known].tolist()}
    groups = [group for group in alike([*model.items_.tolist(), *new]) if new & {*group}]
    if groups:
        raise shell.CommandError(
            Message(
                f"some labels in {file} differ from others only by case, blanks or what cannot be "
                f"seen: {groups_in_words(groups)}. Say ",
                Option("merge_labels", True),
                " if they are the same items; if not, give the new ones other names",
            ),
            shell.UNREADABLE,
        )


def _about_known(triplets: "Triplets", model: Any) -> int:
    from ordinate.data.labels import places

    known = places(triplets.items.tolist(), model.items_.tolist()) >= 0
    return int(known[triplets.rows].all(axis=1).sum())


def _report(target: Path, record: dict[str, Any], quiet: bool, as_json: bool) -> None:
    if as_json:
        shell.answer_json({"output": str(target), **record})
        return
    for warning in record["warnings"]:
        shell.say(f"warning: {warning}", quiet)
    if quiet:
        return
    result = record["result"]
    if result["n_triplets_about_known_items"]:
        shell.answer(
            f"{result['n_triplets_about_known_items']:,} triplets name known items alone and were "
            "not used: the map stays as it is"
        )
    n_new = result["n_new"]
    items = f"{n_new:,} new item{'s' * (n_new != 1)}"
    if result["n_without_place"]:
        items = f"{n_new - result['n_without_place']:,} of {items}"
    shell.answer(f"{items} on the map in {record['map']}")
    written = [name for name in FILES if (target / name).exists()]
    shell.answer(f"{target}/: {', '.join(written)}")
