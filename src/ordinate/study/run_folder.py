"""The folder that a fit leaves behind: coordinates, figures, a report, and how they were made."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ordinate import __version__
from ordinate._base import progress
from ordinate._base.writing import DiskFullError, whole_file, write_json
from ordinate.algorithms.selection import settings_in_words
from ordinate.estimators.saving import known_covariance, standard_errors, write_model
from ordinate.evaluation.analysis import Analysis
from ordinate.evaluation.held_out import BETTER, HeldOut
from ordinate.evaluation.metrics import (
    as_plain,
    by_source_in_words,
    levels,
    three_way_in_words,
)
from ordinate.figures.dimensions import plot_dimensions
from ordinate.figures.figure_files import save_both
from ordinate.figures.plotting import plot_map
from ordinate.figures.report import html_report
from ordinate.files.maps import MANY, map_name, write_map
from ordinate.study.people import draw_people, judged, write_people
from ordinate.study.record import choice_of, describe, dimension_of, problems_of, versions
from ordinate.study.story import Appearance, Story


def write_run(
    folder: Path,
    analysis: Analysis,
    story: Story,
    appearance: Appearance,
    tell: Callable[[str], None] = lambda stage: None,
    *,
    defuse: bool = False,
) -> tuple[dict[str, Any], list[str]]:
    """Write all files into a folder: the map and its record first, then what shows them.

    Returns what went into ``run.json``, and what could not be written, as the disk is full.
    ``defuse`` is for the map, as in :func:`ordinate.files.maps.write_map`.
    """
    appearance = appearance.beside_ours()
    labels, columns = _write_tables(folder, analysis, story, appearance, defuse)
    write_json(folder / "run.json", describe(analysis, story))

    def draw(appearance: Appearance) -> None:
        every = -(-len(labels) // MANY)  # all of them, as a rule
        figure = plot_map(
            _shown(analysis.model) if every == 1 else analysis.model.embedding_[::every],
            labels[::every],
            names=None if appearance.names is None else appearance.names[::every],
            images=appearance.images,
            colour=None if appearance.colour is None else appearance.colour[::every],
            colour_name=appearance.colour_name,
            caption=caption(analysis, story) + f" Shown: one item in {every}." * (every > 1),
            **appearance.drawing,
        )
        save_both(figure, folder / "embedding.png")

    def report(appearance: Appearance) -> None:
        with whole_file(folder / "report.html") as path:
            path.write_text(_page(analysis, story, appearance, columns, labels), encoding="utf-8")

    def draw_dimensions(_: Appearance) -> None:
        save_both(plot_dimensions(analysis.model), folder / "dimensions.png")

    shown: dict[str, Callable[[Appearance], None]] = {"figure": draw}
    if len(labels) <= MANY:
        shown["report"] = report
    else:
        analysis.warnings.append(
            f"a report shows each item, up to {MANY:,}: there is none of {len(labels):,}"
        )
    if judged(analysis.participants):
        people = partial(draw_people, folder, analysis.participants)
        shown = {"figure of participants": lambda _: people(), **shown}
    if dimension_of(analysis.model) is not None:
        shown = {"figure of dimensions": draw_dimensions, **shown}
    progress.expect(len(shown) - 2)  # beside the figure and the report, which any run has
    unwritten = []
    for what, show in shown.items():
        tell(what)
        try:
            analysis.warnings.extend(_attempt(what, show, appearance))
        except DiskFullError:
            unwritten.append(what)
            analysis.warnings.append(f"the disk is full, and the {what} could not be written")
    tell("record")
    record = describe(analysis, story)
    try:
        write_json(folder / "run.json", record)  # now with what became of the figures
    except DiskFullError:
        unwritten.append("end of the record")
    return record, unwritten


def _write_tables(
    folder: Path, analysis: Analysis, story: Story, appearance: Appearance, defuse: bool
) -> tuple[list[str], dict[str, Any]]:
    """Write the map, its model and what was found about people; return its labels and columns."""
    model = analysis.model
    labels = [str(label) for label in model.items_]
    known = known_covariance(model)
    columns: dict[str, Any] = {
        **standard_errors(known),
        "triplets": analysis.triplets_per_item,
        "accuracy": analysis.accuracy_per_item.round(4),
    }
    named = {} if appearance.names is None else {"name": appearance.names}
    more = columns | named | dict(appearance.columns)
    table = folder / map_name(len(labels))
    write_map(table, model.items_, model.embedding_, more, defuse=defuse)
    write_model(folder / "model.json", model, known)
    differing = story.differences is not None and story.differences.helps
    if judged(analysis.participants) or differing:
        write_people(folder, analysis.participants, defuse=defuse)
    if story.differences is not None and differing:
        write_map(folder / "axes.csv", labels, story.differences.embedding, {}, defuse=defuse)
    return labels, columns


def _attempt(what: str, show: Callable[[Appearance], None], appearance: Appearance) -> list[str]:
    """Show the map, without what is in the way if need be: no fit is lost to a picture.

    Returns what could not be shown.
    """
    told = []
    for lost, tried in (("pictures, colours and names", appearance), ("anything", Appearance())):
        try:
            show(tried)
        except DiskFullError:
            raise
        except Exception as error:
            told.append(f"the {what} cannot show {lost}: {type(error).__name__}: {error}")
        else:
            break
    return told


def caption(analysis: Analysis, story: Story) -> str:
    """What the map is, and how good it is."""
    text = (
        f"{len(analysis.model.items_):,} items by {type(analysis.model).__name__} from "
        f"{story.summary.n_rows:,} triplets."
    )
    held_out = analysis.held_out
    if held_out is None:
        return text
    warned = "" if held_out.verdict == BETTER else f": {held_out.verdict}"
    return f"{text} Held-out accuracy {held_out}{warned}."


def _shown(model: Any) -> Any:
    """What is drawn: the model, or its map alone where it is not known how sure that is."""
    return model if "_covariance" in vars(model) else model.embedding_


def _page(
    analysis: Analysis,
    story: Story,
    appearance: Appearance,
    columns: dict[str, Any],
    labels: list[str],
) -> str:
    ceiling = story.summary.ceiling
    facts = {
        "command": story.command,
        "method": f"{story.method}: {story.reason}",
        **_chosen(analysis.model, ceiling),
        **_by_dimension(analysis.model),
        **{name: record["sentence"] for name, record in story.more.items()},
        **({} if story.differences is None else {"participants' axes": str(story.differences)}),
        **{f"setting: {name}": value for name, value in story.settings.items()},
        **{f"input: {name}": value for name, value in story.source.items()},
        **{f"dropped {k}": note for k, note in enumerate(story.notes, start=1)},
        **{f"warning {k}": text for k, text in enumerate(analysis.warnings, start=1)},
        **{f"seconds: {name}": f"{value:.2f}" for name, value in story.seconds.items()},
        "ordinate": __version__,
        **versions(),
    }
    held_out = analysis.held_out
    curve = None if held_out is None else as_plain(held_out)["calibration"]
    return html_report(
        _shown(analysis.model),
        labels,
        title=story.title,
        names=appearance.names,
        accuracy_per_item=columns["accuracy"] if analysis.held_out else None,
        triplets_per_item=columns["triplets"],
        images=appearance.images,
        columns=appearance.columns,
        colour=appearance.colour_name,
        participants=analysis.participants or None,
        history=getattr(analysis.model, "history_", None),
        summary=story.summary.lines(),
        problems=[(p.severity, p.what, p.remedy) for p in problems_of(analysis, story)],
        facts={name: str(value) for name, value in facts.items()},
        held_out=None if held_out is None else _headline(held_out),
        calibration=curve,
        ceiling=ceiling,
        ellipses=appearance.drawing.get("ellipses"),
        verdict=next(((p.severity, p.what, p.remedy) for p in analysis.problems), None),
    )


def _chosen(model: Any, ceiling: float | None) -> dict[str, str]:
    """What was chosen, and how well the best of what was tried predicts, in words."""
    choice = choice_of(model)
    if choice is None:
        return {}
    tried = {
        f"tried {k}": f"{settings_in_words(row)}: log-likelihood {-row['loss']:.4f}, behind the "
        f"best by {row['behind']:.4f} ± {row['error']:.4f}; accuracy {row['accuracy']:.1%} "
        f"{levels(ceiling)}"
        for k, row in enumerate(choice["tried"], start=1)
    }
    answers = ", ".join(f"{name} {value:.3g}" for name, value in choice["response"].items())
    return {
        "choice": f"{choice['told']} ({choice['n_triplets']:,} triplets took part)",
        "how people answer": f"{answers}, of the map's distances",
        **tried,
    }


def _by_dimension(model: Any) -> dict[str, str]:
    """How well maps of each dimension predict unseen answers, in words."""
    found = dimension_of(model)
    if found is None:
        return {}
    rows = {
        f"dimensions: {tried.n_components}": f"log-likelihood {tried.log_likelihood:.4f}, behind "
        f"the best by {tried.behind:.4f} ± {tried.error:.4f}; accuracy {tried.accuracy:.1%} "
        f"{levels(found.ceiling)}"
        for tried in found.tried
    }
    return {"dimensions": found.sentence, **rows}


def _headline(held_out: HeldOut) -> dict[str, Any]:
    """What the report says of held-out answers."""
    told: dict[str, Any] = {"accuracy": held_out.accuracy, "n_triplets": held_out.n_triplets}
    told["standard error"] = f"{held_out.error:.1%}"
    if held_out.log_likelihood is not None:
        told["log-likelihood"] = f"{held_out.log_likelihood:.4f}"
    if held_out.three_way is not None:
        told["answers"] = three_way_in_words(as_plain(held_out))
    if held_out.by_source is not None:
        told["of"] = by_source_in_words(as_plain(held_out))
    return told | {"where": held_out.how}
