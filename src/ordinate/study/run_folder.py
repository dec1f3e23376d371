"""The folder that a fit leaves behind: coordinates, figures, a report, and how they were made."""

import json
import platform
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ordinate import __version__
from ordinate._base import progress
from ordinate._base.writing import DiskFullError, whole_file, write_json
from ordinate.algorithms.dimension_choice import DimensionChoice
from ordinate.algorithms.selection import settings_in_words
from ordinate.algorithms.starts import agreement
from ordinate.data.advice import Problem, ranked
from ordinate.data.summary import Brief, Summary
from ordinate.estimators.differences import IndividualDifferences
from ordinate.estimators.saving import known_covariance, standard_errors, write_model
from ordinate.evaluation.analysis import Analysis
from ordinate.evaluation.held_out import BETTER, HeldOut
from ordinate.evaluation.metrics import (
    as_plain,
    by_source_in_words,
    levels,
    three_way_in_words,
)
from ordinate.evaluation.uncertainty import Sureness, sureness
from ordinate.figures.dimensions import plot_dimensions
from ordinate.figures.figure_files import save_both
from ordinate.figures.plotting import plot_map
from ordinate.figures.report import html_report
from ordinate.files.maps import write_map
from ordinate.study.people import draw_people, in_words, judged, write_people

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "matplotlib")


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
    model = analysis.model
    labels = [str(label) for label in model.items_]
    known = known_covariance(model)
    columns: dict[str, Any] = {
        **standard_errors(known),
        "triplets": analysis.triplets_per_item,
        "accuracy": analysis.accuracy_per_item.round(4),
    }
    appearance = appearance.beside_ours()
    named = {} if appearance.names is None else {"name": appearance.names}
    more = columns | named | dict(appearance.columns)
    write_map(folder / "embedding.csv", labels, model.embedding_, more, defuse=defuse)
    write_model(folder / "model.json", model, known)
    differing = story.differences is not None and story.differences.helps
    if judged(analysis.participants) or differing:
        write_people(folder, analysis.participants, defuse=defuse)
    if story.differences is not None and differing:
        write_map(folder / "axes.csv", labels, story.differences.embedding, {}, defuse=defuse)
    write_json(folder / "run.json", describe(analysis, story))

    def draw(appearance: Appearance) -> None:
        figure = plot_map(
            _shown(model),
            labels,
            names=appearance.names,
            images=appearance.images,
            colour=appearance.colour,
            colour_name=appearance.colour_name,
            caption=caption(analysis, story),
            **appearance.drawing,
        )
        save_both(figure, folder / "embedding.png")

    def report(appearance: Appearance) -> None:
        with whole_file(folder / "report.html") as path:
            path.write_text(_page(analysis, story, appearance, columns, labels), encoding="utf-8")

    def draw_dimensions(_: Appearance) -> None:
        save_both(plot_dimensions(model), folder / "dimensions.png")

    shown: dict[str, Callable[[Appearance], None]] = {"figure": draw, "report": report}
    if judged(analysis.participants):
        people = partial(draw_people, folder, analysis.participants)
        shown = {"figure of participants": lambda _: people(), **shown}
    if _dimension(model) is not None:
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


def describe(analysis: Analysis, story: Story) -> dict[str, Any]:
    """Return everything that makes the run repeatable, as plain values for JSON."""
    model, held_out = analysis.model, analysis.held_out
    result = {
        "n_items": len(model.items_),
        "n_components": int(model.embedding_.shape[1]),
        "n_without_place": int(np.isnan(model.embedding_).any(axis=1).sum()),
        "converged": bool(model.converged_),
        "loss": _number(getattr(model, "loss_", None)),
        "n_iterations": getattr(model, "n_iter_", None),
        "n_passes": _number(getattr(model, "n_passes_", None)),
        "init": getattr(getattr(model, "init_", None), "name", None),
        "starts": [end._asdict() for end in getattr(model, "starts_", [])],
        "covariance": None if (known := vars(model).get("_covariance")) is None else known.in_words,
    }
    return {
        "ordinate": __version__,
        "command": story.command,
        "method": story.method,
        "why": story.reason,
        "settings": story.settings,
        "input": story.source,
        "dropped": story.notes,
        "problems": [problem._asdict() for problem in _problems(analysis, story)],
        "data": story.summary.as_dict(),
        "dimension": None if (found := _dimension(model)) is None else found.as_dict(),
        "choice": _choice(model),
        "held_out": None if held_out is None else as_plain(held_out),
        "uncertainty": None if (sure := _sureness(model)) is None else sure.as_dict(),
        "participants": _people(analysis.participants),
        "individual_differences": story.differences and story.differences.as_dict(),
        "result": result,
        **story.more,
        "warnings": analysis.warnings,
        "seconds": {name: round(seconds, 3) for name, seconds in story.seconds.items()},
        "versions": versions(),
    }


def _choice(model: Any) -> dict[str, Any] | None:
    """What the answers chose, and what else was tried; None for a method that chooses nothing."""
    if not hasattr(model, "choice_"):
        return None
    return {
        "told": model.describe_choice(),
        "maker": model.maker_,
        "response": {"power": model.power_, "slope": model.slope_, "lapse": model.lapse_},
        "n_triplets": model.n_chosen_by_,
        "tried": model.choice_,
    }


def _sureness(model: Any) -> Sureness | None:
    """How sure the map is; None where that is not known."""
    known = vars(model).get("_covariance")
    return None if known is None else sureness(model.embedding_, known.values, model.items_)


def _shown(model: Any) -> Any:
    """What is drawn: the model, or its map alone where it is not known how sure that is."""
    return model if "_covariance" in vars(model) else model.embedding_


def _people(people: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How participants answer, where that was asked; ``participants.csv`` has each of them."""
    if not judged(people):
        return None
    out = [person["participant"] for person in people if person["left_out"]]
    return {"told": in_words(people), "n_participants": len(people), "left_out": out}


def _dimension(model: Any) -> DimensionChoice | None:
    """What answers said about the number of dimensions, where they were asked."""
    return getattr(model, "dimension_", None)


def read_record(embedding: Path) -> dict[str, Any] | None:
    """Return what is recorded of a map in ``run.json`` beside it; None where there is no record."""
    try:
        record = json.loads((embedding.parent / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    ours = isinstance(record, dict) and isinstance(record.get("input"), dict)
    return record if ours and embedding.name == "embedding.csv" else None


def versions() -> dict[str, str]:
    """Return the versions of Python and of what the map depends on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


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
        problems=[(p.severity, p.what, p.remedy) for p in _problems(analysis, story)],
        facts={name: str(value) for name, value in facts.items()},
        held_out=None if held_out is None else _headline(held_out),
        calibration=curve,
        ceiling=ceiling,
        ellipses=appearance.drawing.get("ellipses"),
        verdict=next(((p.severity, p.what, p.remedy) for p in analysis.problems), None),
    )


def _chosen(model: Any, ceiling: float | None) -> dict[str, str]:
    """What was chosen, and how well the best of what was tried predicts, in words."""
    choice = _choice(model)
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
    found = _dimension(model)
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


def _problems(analysis: Analysis, story: Story) -> list[Problem]:
    """What is wrong with the data and with the map, the worst first."""
    return ranked([*analysis.problems, *_start_problems(analysis), *story.problems])


def _start_problems(analysis: Analysis) -> list[Problem]:
    """Say so where the starts of a fit end in different maps."""
    ended = getattr(analysis.model, "starts_", [])
    n_same = sum(end.agrees for end in ended)
    if n_same == len(ended):
        return []
    return [
        Problem(
            "warning" if n_same <= 1 else "note",
            f"starts end in different maps: {agreement(ended)}",
            "other maps fit nearly as well; trust what they share, try more starts or fewer "
            "dimensions, or collect more answers",
        )
    ]


def _free_name(name: str) -> str:
    """Return a name for a column of items that none of ours has."""
    ours = name in ("label", "name", "triplets", "accuracy") or re.fullmatch(r"(dim|se)\d+", name)
    return f"items_{name}" if ours else name


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
