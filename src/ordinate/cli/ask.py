"""Commands about questions: ask and plan."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate._base.messages import counted, some
from ordinate.cli import _shell as shell
from ordinate.cli import _values
from ordinate.cli.data import Output, refuse_output

if TYPE_CHECKING:
    from ordinate.asking import Plan, Questions
    from ordinate.data.triplets import Triplets

LARGE = 1000  # items from which on landmarks are worth a thought


@shell.command
def ask(
    output: Output,
    budget: Annotated[
        int, typer.Option(help="Number of questions, repeats and checks included.", min=1)
    ],
    items: Annotated[
        Path | None,
        typer.Argument(help="File with a column of labels, or folder of pictures or sounds."),
    ] = None,
    after: Annotated[
        Path | None,
        typer.Option(help="Folder of `fit`: ask what teaches most beyond the answers in it."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(help="With --after: items that all questions are about, by their labels."),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(help="With --after: items to be added to the map, by their labels."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="With --new: file of the answers about these items so far."),
    ] = None,
    random_share: Annotated[
        float | None,
        typer.Option(
            help="With --after: share of questions drawn at random; by default 0.2, 0 with --new.",
            min=0,
            max=1,
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="triplet (an anchor and two items) or odd-one-out.")
    ] = "triplet",
    design: Annotated[
        str | None,
        typer.Option(help="balanced (each item equally often), uniform or landmarks."),
    ] = None,
    landmarks: Annotated[
        int | None,
        typer.Option(help="Number of landmarks, the only anchors; on the rim with --after.", min=1),
    ] = None,
    repeats: Annotated[
        float, typer.Option(help="Share of questions asked twice, which tell the ceiling.", min=0)
    ] = 0.05,
    checks: Annotated[
        float, typer.Option(help="Share of questions with an obvious answer.", min=0)
    ] = 0.02,
    blocks: Annotated[
        int, typer.Option(help="Parts of equal size, one for each participant.", min=1)
    ] = 1,
    seed: shell.Seed = 0,
    force: shell.Force = False,
    quiet: shell.Quiet = False,
    debug: shell.Debug = False,
) -> None:
    """Write a list of questions: to begin with, or the next ones.

    To begin with, name a file of items. Once there are answers and a map, --after takes those
    questions whose answers will teach most. No question occurs twice, but for the repeats. --new
    takes those that find the place of an item that is not on the map with the fewest answers.

    The ending of the output sets the format: .csv or .tsv, .json for a timeline of jsPsych, .jsonl
    with a prompt on each line for a language model. `ordinate fit` reads the same file when its
    column of answers is filled in; checks are left out then.

    ```
    ordinate ask items.csv --budget 5000 --blocks 20 -o questions.csv
    ordinate ask --after out/ --budget 500 -o more.csv
    ordinate ask --after out/ --new "koala" --budget 10 -o about-koala.csv
    ```
    """
    from ordinate.asking import write_questions

    if (items is None) == (after is None):  # not both, not neither
        raise shell.CommandError(
            "name a file of items to begin with, or a map that there is already with --after",
            shell.WRONG_USE,
        )
    refuse_output(output, force, inputs=[path for path in (items, after, answers) if path])
    both = {
        "landmarks": landmarks,
        "repeats": repeats,
        "checks": checks,
        "blocks": blocks,
        "random_state": seed,
    }
    choosing = {"about": about, "new": new, "answers": answers, "random_share": random_share}
    if after is not None:
        if design is not None:
            raise shell.CommandError(
                "--design is for the first questions; with --after the map chooses",
                shell.WRONG_USE,
            )
        if kind != "triplet":
            raise shell.CommandError(
                "--after chooses triplet questions; leave --kind out", shell.WRONG_USE
            )
        questions, labels = _next(after, budget, choosing, both, quiet)
    elif items is not None:
        useless = [name for name, value in choosing.items() if value is not None]
        if useless:
            option = useless[0].replace("_", "-")
            raise shell.CommandError(f"--{option} goes with --after", shell.WRONG_USE)
        questions, labels = _first(items, budget, kind, design, both, quiet)
    write_questions(output, questions, labels, force=force)
    shell.say(_told(questions, len(labels), output), quiet)


def _first(
    items: Path, budget: int, kind: str, design: str | None, both: dict[str, Any], quiet: bool
) -> "tuple[Questions, list]":
    """Make a list of questions about items of which nothing is known."""
    from ordinate.asking import design_questions
    from ordinate.files.items import read_labels
    from ordinate.files.maps import map_in

    labels = read_labels(items)
    if len(labels) < 3:
        raise shell.CommandError(
            f"{items} names {counted(len(labels), 'item')}, and a question compares three",
            shell.UNREADABLE,
        )
    if items.is_dir() and map_in(items).exists():
        shell.say(
            f"note: {items} holds a map, whose items are asked about as if nothing was known of "
            f"them; --after {items} asks what teaches most beyond its answers",
            quiet,
        )
    design = design or ("balanced" if both["landmarks"] is None else "landmarks")
    return design_questions(len(labels), budget, kind=kind, design=design, **both), labels


def _next(
    folder: Path, budget: int, choosing: dict[str, Any], both: dict[str, Any], quiet: bool
) -> "tuple[Questions, list]":
    """Choose the next questions by the map in a folder, and say how well it is known."""
    import ordinate
    from ordinate.asking import choose_questions
    from ordinate.asking.active import UNKNOWN, places_of, uncertainty
    from ordinate.data.labels import label_array

    model = ordinate.load(folder)
    about, new, answers = (choosing[name] for name in ("about", "new", "answers"))
    if new is not None:
        model.items_ = label_array([str(label) for label in model.items_])  # as new ones are named
        choosing["new"] = _values.names(new)
    if answers is not None:
        choosing["answers"] = _as_text(answers, quiet)
    labels = model.items_.tolist()
    names = {str(label): label for label in labels}
    wanted = _values.names(about)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise shell.CommandError(
            f"--about names items that are not in {folder}: {some(unknown)}; --new asks about "
            "items that are to be added",
            shell.WRONG_USE,
        )
    choosing["about"] = [names[name] for name in wanted] or None
    questions = choose_questions(model, budget, **choosing, **both)
    if new is not None:
        return questions, [*labels, *choosing["new"]]
    unsure = uncertainty(*places_of(model))
    shell.say(f"places are uncertain by {unsure:.0%} of the map's size", quiet)
    doubt = getattr(model, "covariance_doubt_", None)
    if doubt is not None:
        shell.say(f"note: how uncertain is itself not to be trusted: {doubt}", quiet)
    if not about and unsure > UNKNOWN:
        shell.say(
            f"note: that is more than {UNKNOWN:.0%}, so that chance chooses better than the map: "
            "all questions are drawn at random",
            quiet,
        )
    return questions, labels


def _as_text(answers: Path, quiet: bool) -> "Triplets":
    """Read answers, with labels as text."""
    from ordinate.data.triplets import Triplets
    from ordinate.files.inputs import open_source
    from ordinate.files.readers import ReadError

    try:
        source = open_source(answers, stream=False)
    except ReadError as error:
        if not error.remedies:
            raise
        raise ReadError(
            f"{shell.spelled(error.what)}. `ask` takes no such options: `ordinate convert "
            f"{shlex.quote(str(answers))} -o plain.csv` does, and --answers plain.csv is then read "
            "as it is",
            *error.remedies,
        ) from None
    for note in source.notes:
        shell.say(f"note: {note}", quiet)
    read = source.load()
    return Triplets(read.rows, items=[str(label) for label in read.items], answer=read.answer)


def _told(questions: "Questions", n_items: int, output: Path) -> str:
    from collections import Counter

    sources = Counter(questions.source.tolist())
    parts = ", ".join(f"{n:,} {source}" for source, n in sorted(sources.items()))
    n_blocks = int(questions.block.max())
    blocks = f" in {n_blocks:,} blocks" if n_blocks > 1 else ""
    asked = f"{len(questions):,} question{'s' * (len(questions) > 1)}"
    return f"{asked} about {n_items:,} items{blocks} in {output}: {parts}"


@shell.command
def plan(
    items: Annotated[
        Path,
        typer.Argument(help="File with a column of labels, or folder of pictures or of `fit`."),
    ],
    dimensions: Annotated[
        int, typer.Option("--dimensions", "-d", help="Number of dimensions of the map.", min=1)
    ] = 2,
    error: Annotated[
        float, typer.Option(help="Error of the map that is wanted, relative to its size.")
    ] = 0.1,
    pilot: Annotated[
        Path | None,
        typer.Option(help="Folder of `fit`, of first answers: people answer as they did there."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also draw the curve: PNG, TIFF, SVG, PDF or EPS."),
    ] = None,
    seed: shell.Seed = 0,
    as_json: shell.AsJson = False,
    force: shell.Force = False,
    debug: shell.Debug = False,
) -> None:
    """Tell how many answers a map needs, and what more would buy.

    Studies are simulated with people who answer as in the pilot; without one, with people
    who compare distances and guess one answer in twenty.
    The error is the distance of the map from the truth, after the best alignment and scaling, over
    the size of the truth.

    ```
    ordinate plan items.csv -d 2 --error 0.1
    ordinate plan items.csv --pilot out/ -o plan.png
    ```
    """
    import ordinate
    from ordinate.algorithms.landmark_choice import n_landmarks
    from ordinate.asking import plan_study
    from ordinate.files.items import read_labels

    if not 0 < error < 1:
        raise shell.CommandError(f"--error must lie between 0 and 1; got {error}", shell.WRONG_USE)
    if output is not None:
        from ordinate.figures.figure_files import check_ending

        check_ending(output)
        refuse_output(output, force, inputs=[items, *([pilot] if pilot else [])])
    n = len(read_labels(items))
    model = None if pilot is None else ordinate.load(pilot)
    found = plan_study(n, dimensions, pilot=model, random_state=seed)
    if output is not None:
        from ordinate.figures.figure_files import save
        from ordinate.figures.plans import plot_plan

        save(plot_plan(found, error=error), output)
    wanted = found.answers_for(error)
    landmarks = None if wanted is None else n_landmarks(n, dimensions, wanted)
    if as_json:
        shell.answer_json(
            {
                "items": n,
                "dimensions": dimensions,
                "error": error,
                "answers": wanted,
                "landmarks": landmarks,
                "pilot": None if pilot is None else str(pilot),
                "curve": {
                    "answers": found.answers.tolist(),
                    "error": [round(value, 4) for value in found.error.tolist()],
                },
            }
        )
        return
    people = (
        f"people answer as in {pilot}"
        if pilot
        else "without --pilot it is not known how people answer: the simulated ones compare "
        "distances, and guess one answer in twenty"
    )
    shell.say(f"note: {people}")
    shell.answer(_planned(found, error, wanted))
    if wanted is not None:
        if landmarks is not None and n >= LARGE:
            shell.answer(f"asked about landmarks, for LOE: {landmarks:,} of them")
        shell.answer("\n  answers   error")
        for answers, value in zip(found.answers.tolist(), found.error.tolist(), strict=True):
            shell.answer(f"{answers:9,}   {value:.3f}")


def _planned(plan: "Plan", error: float, wanted: int | None) -> str:
    """Say in a sentence how many answers an error takes, and what more or fewer would give."""
    if wanted is None:
        return (
            f"fewer than {plan.answers[0]:,} answers give an error of {error:g}; with so many it "
            f"is {plan.error[0]:.2f}"
        )
    half = (
        f"half as many one of {plan.error_of(wanted / 2):.2g}"
        if wanted / 2 >= plan.answers[0]
        else "half as many were not simulated"
    )
    d = plan.n_components
    return (
        f"about {wanted:,} answers to random questions give a map of {plan.n_items:,} items in {d} "
        f"dimension{'s' * (d > 1)} with an error of {error:g}; twice as many one of "
        f"{plan.error_of(2 * wanted):.2g}, {half}"
    )
