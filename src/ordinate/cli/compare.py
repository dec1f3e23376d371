"""The command ``compare``: two maps beside each other, and whether they differ beyond chance."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate._base.messages import some
from ordinate.cli import _shell as shell
from ordinate.cli.data import AS_FOUND, ReadingOptions, open_answers, refuse_folder
from ordinate.cli.maps import inside

Map = Annotated[
    Path,
    typer.Argument(help="A map: the folder of `fit`, or an embedding.csv.", show_default=False),
]


@shell.command
def compare(
    first: Map,
    second: Map,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default FIRST-SECOND."),
    ] = None,
    answers: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="The answers that each map was made from, to deal them anew."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="What is dealt anew: answer, participant, or auto.")
    ] = "auto",
    permutations: Annotated[int, typer.Option(help="How often, with --answers.", min=19)] = 199,
    reading: ReadingOptions = AS_FOUND,
    seed: shell.Seed = 0,
    defuse: shell.Defuse = False,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    as_json: shell.AsJson = False,
    debug: shell.Debug = False,
) -> None:
    """Tell how far two maps are apart, beside chance.

    Items are matched by label. The second map is laid onto the first: moved, turned, mirrored and
    stretched. What is left is held against how unsure both maps are, by the covariances saved with
    them; or, with --answers, against maps of answers dealt anew, which is exact and takes a few
    hundred fits. The folder gets `compare.csv` (each item's distance, what chance alone makes of
    it, and a p-value corrected for the number of items), `compare.png` and `.svg` with an arrow
    for each item, `report.html` and `compare.json`.

    ```
    ordinate compare young-map/ old-map/
    ordinate compare young-map/ old-map/ --answers young.csv old.csv -o young-old
    ```
    """
    from ordinate._base.writing import whole_folder
    from ordinate.study.compare_folder import FILES, Told, write_comparison

    names = (_name(first), _name(second))
    folder = Path(f"{names[0]}-{names[1]}") if output is None else output
    refuse_folder(folder, force, inputs=[first, second, *(answers or ())])
    notes: list[str] = []
    total = 3 if answers is None else permutations + 5
    with shell.stages(total, quiet) as stages:
        stages.begin("reading")
        with shell.warnings_kept(notes):
            if answers is None:
                found = _of_maps(first, second)
            else:
                options = {"by": by, "n_permutations": permutations, "random_state": seed}
                found = _of_answers(first, answers, reading, notes, options, stages.begin)
        notes += _left_out(found, names)
        told = Told(
            names,
            shell.spelled(found.sentence),
            notes,
            shlex.join(["ordinate", *sys.argv[1:]]),
        )
        stages.begin("figure and report")
        with whole_folder(folder, force=force, checked=True) as partial:
            record = write_comparison(partial, found, told, defuse=defuse)
    if as_json:
        shell.answer_json({"output": str(folder), **record})
        return
    for note in notes:
        shell.say(f"note: {note}", quiet)
    if quiet:
        return
    shell.answer(f"{told.sentence}.")
    shell.answer(
        f"relative Procrustes error {found.error:.1%}, the second map multiplied by "
        f"{found.factor:.3g}; without that {found.rigid_error:.1%}"
    )
    shell.answer(f"{folder}/: {', '.join(FILES)}")


def _name(path: Path) -> str:
    """Return what a map is called: by its folder, where it is in one of its own."""
    from ordinate.files.maps import MAPS

    path = path.resolve()
    return path.parent.name if path.name in MAPS else path.stem


def _of_maps(first: Path, second: Path) -> Any:
    from ordinate.estimators.comparing import compare as compare_maps

    try:
        return compare_maps(inside(first), inside(second))
    except ValueError as error:
        raise shell.CommandError(shell.told(error), shell.UNREADABLE) from None


def _of_answers(
    first: Path,
    answers: tuple[Path, Path],
    reading: ReadingOptions,
    notes: list[str],
    options: dict[str, Any],
    tell: Any,
) -> Any:
    """Fit both maps anew, by the method of the first."""
    from ordinate.estimators.saving import load
    from ordinate.evaluation.permutation import compare_answers

    try:
        model = load(inside(first).parent)
    except ValueError as error:
        raise shell.CommandError(
            "--answers are fitted as the first map was, and that is not known: "
            f"{shell.told(error)}",
            shell.UNREADABLE,
        ) from None
    sets = []
    for file in answers:
        source = open_answers(file, reading)
        notes += [f"{file}: {note}" for note in source.notes]
        sets.append(source.load())
    notes.append("both maps were fitted anew to the answers given, as the first was made")
    return compare_answers(model, *sets, tell=tell, **options)


def _left_out(found: Any, names: tuple[str, str]) -> list[str]:
    """Say which items only one map places, and which of them may be the same."""
    from ordinate.data.labels import alike, groups_in_words

    told = [
        f"{len(items):,} {'items are' if len(items) > 1 else 'item is'} placed by {name} alone, "
        f"and left out: {some(items)}"
        for name, items in zip(names, (found.only_first, found.only_second), strict=True)
        if items
    ]
    groups = alike([*map(str, found.only_first), *map(str, found.only_second)])
    if groups:
        told.append(
            "some of these differ only by case, blanks or what cannot be seen: "
            f"{groups_in_words(groups)}. If they are the same items, give them the same labels"
        )
    return told
