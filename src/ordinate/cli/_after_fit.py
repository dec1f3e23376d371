"""What ``fit`` writes and says at the end."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.cli import _shell as shell
from ordinate.cli.further import SENTENCES

if TYPE_CHECKING:
    from ordinate.study.story import Story

FILES = (
    *("embedding.csv", "embedding.parquet", "embedding.png", "embedding.svg"),
    *("dimensions.png", "dimensions.svg"),
    *("participants.csv", "participants.png", "participants.svg", "axes.csv"),
    *("covariance.npy", "model.json", "report.html", "run.json"),
    *("groups.csv", "groups.png", "groups.svg", "groups"),
)


def story_of(source: Any, choice: Any, title: str, **told: Any) -> "Story":
    """All that is told about a map: of what was read, how it was made, and what else was found."""
    from ordinate.study.story import Story

    return Story(
        title=title,
        method=choice.name,
        reason=shell.spelled(choice.reason),
        source=source.origin,
        notes=source.notes,
        problems=source.problems,
        summary=source.summary,
        command=shlex.join(["ordinate", *sys.argv[1:]]),
        **told,
    )


def check_written(folder: Path, unwritten: list[str]) -> None:
    """End with an error if the disk became full after the map was written."""
    if unwritten:
        raise shell.CommandError(
            f"the disk is full, and the {' and the '.join(unwritten)} could not be written; the "
            f"map is in {folder}, with its model and record. Free some space and draw it "
            "with `ordinate plot`, or fit again with --force",
            shell.UNWRITABLE,
        )


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as values that JSON knows; a callback is none."""
    known = (str, int, float, bool, type(None))
    return {
        name: v if isinstance(v, known) else repr(v)
        for name, v in settings.items()
        if name != "callback"
    }


def report(
    folder: Path, record: dict[str, Any], warned: list[str], quiet: bool, as_json: bool
) -> None:
    """Say what came out: the record as JSON, or a few lines."""
    from ordinate.evaluation.metrics import by_source_in_words, in_words, three_way_in_words

    if as_json:
        shell.answer_json({"output": str(folder), **record})
        return
    for note in record["dropped"]:
        shell.say(f"note: {note}", quiet)
    for problem in record["problems"]:
        if problem["severity"] != "note":
            shell.say(f"{problem['severity']}: {problem['what']} ({problem['remedy']})", quiet)
    for warning in warned:
        shell.say(f"warning: {shell.spelled(warning)}", quiet)
    if quiet:
        return
    if record["input"].get("the first says"):
        shell.answer(f"the first answer was read as: {record['input']['the first says']}")
    held_out, result = record["held_out"], record["result"]
    d = result["n_components"]
    shell.answer(
        f"{result['n_items']:,} items in {d} dimension{'s' * (d > 1)} by "
        f"{record['method']} ({record['why']})"
    )
    if record["choice"] is not None:
        shell.answer(record["choice"]["told"])
    if record["dimension"] is not None and record["dimension"]["n_components"] is not None:
        shell.answer(record["dimension"]["told"])
    if record["participants"] is not None:
        shell.answer(record["participants"]["told"])
    if record["individual_differences"] is not None:
        shell.answer(record["individual_differences"]["told"])
    if held_out is not None:
        accuracy = in_words(held_out)
        shell.answer(f"held-out accuracy {accuracy}: {held_out['verdict']}; {held_out['how']}")
        if held_out["by_source"] is not None:
            shell.answer(f"this is the accuracy of {by_source_in_words(held_out)}")
        if held_out["log_likelihood"] is not None:
            shell.answer(
                f"held-out log-likelihood {held_out['log_likelihood']:.4f} per triplet; expected "
                f"calibration error {held_out['calibration']['error']:.1%}"
            )
        if held_out["three_way"]:
            shell.answer(f"held-out answers: {three_way_in_words(held_out)}")
    if record["uncertainty"] is not None:
        shell.answer(f"how sure: {record['uncertainty']['told']}")
    if result["covariance"] is not None:
        shell.answer(f"standard errors {result['covariance']}")
    for name in SENTENCES:
        if name in record:
            shell.answer(record[name]["sentence"])
    written = [name for name in FILES if (folder / name).exists()]
    shell.answer(f"{folder}/: {', '.join(written)}")
