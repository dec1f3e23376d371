"""What ``fit`` finds on request beside the map: groups of answers, and halves of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ordinate.cli import _shell as shell

if TYPE_CHECKING:
    from ordinate.cli.fit import Checked
    from ordinate.evaluation.groups import Groups

SENTENCES = ("groups", "split_half")  # records whose sentence is told
BY = ("answer", "participant", "row")


class FurtherOptions(NamedTuple):
    """What is wanted, as ``fit`` asks for it."""

    groups: Annotated[
        str | None,
        typer.Option(help="Column of groups: also a map of each, and whether they differ."),
    ] = None
    halves: Annotated[
        int | None,
        typer.Option(help="Cut the answers in two so often: are maps of halves alike?", min=1),
    ] = None
    halves_by: Annotated[
        str, typer.Option(help="What --halves deals to a half: answer or participant.")
    ] = "answer"
    folds: int | None = None
    seed: int = 0
    quiet: bool = False

    def understood(self) -> "FurtherOptions":
        """Return the options, once it is known that they go together."""
        if self.halves_by not in BY:
            raise shell.CommandError(
                f"--halves-by must be one of {', '.join(BY)}; got {self.halves_by}",
                shell.WRONG_USE,
            )
        if self.halves is None and self.halves_by != BY[0]:
            raise shell.CommandError(
                f"--halves-by {self.halves_by} goes with --halves, which says how many times",
                shell.WRONG_USE,
            )
        return self

    def check(self, source: "Checked", estimator: Any) -> None:
        """Refuse what cannot be done before anything is fitted."""
        from ordinate.evaluation.groups import check_probabilities

        if source.streamed and (self.groups is not None or self.halves is not None):
            raise shell.CommandError(
                "--groups and --halves need the answers in memory, and the file is larger: raise "
                "--memory-limit",
                shell.WRONG_USE,
            )
        if self.groups is not None:
            check_probabilities(estimator)
        if self.halves is not None:
            source.triplets.groups(self.halves_by)  # raises if there are none such

    @property
    def n_folds(self) -> int:
        """Parts that are held out in turn; groups cannot be judged without."""
        from ordinate.evaluation.groups import FOLDS

        return self.folds or FOLDS

    @property
    def n_stages(self) -> int:
        """How many stages it takes, about."""
        return (self.n_folds + 1) * (self.groups is not None) + (self.halves or -1) + 1


NOTHING_MORE = FurtherOptions()


class Further(NamedTuple):
    """What was found: records for ``run.json``, and the groups."""

    records: dict[str, Any]
    groups: "Groups | None"
    folds: int | None

    def write(self, folder: Path, *what: Any, defuse: bool) -> list[str]:
        """Write what goes into files of its own; return what a full disk has no room for."""
        from ordinate.study.group_folders import write_groups

        if self.groups is None:
            return []
        return write_groups(folder, self.groups, *what, folds=self.folds, defuse=defuse)


def look_further(
    source: "Checked", result: Any, wanted: FurtherOptions, tell: Callable[[str], None]
) -> Further:
    """Judge groups and halves by the settings of the map of all answers.

    What cannot be judged is a warning among those of the result: no reason to lose a map.
    """
    from ordinate.evaluation.groups import judge_groups
    from ordinate.evaluation.reliability import split_half
    from ordinate.study.group_folders import describe_groups

    records: dict[str, Any] = {}
    groups = None
    with shell.warnings_kept(result.warnings):
        if wanted.groups is not None:
            with _kept_going("groups", result.warnings):
                groups = judge_groups(
                    result.model,
                    source.triplets,
                    source.groups,
                    folds=wanted.n_folds,
                    random_state=wanted.seed,
                    tell=tell,
                )
                records["groups"] = describe_groups(groups, wanted.groups)
        if wanted.halves is not None:
            with _kept_going("halves", result.warnings):
                found = split_half(
                    result.model,
                    source.triplets,
                    n_splits=wanted.halves,
                    by=wanted.halves_by,
                    random_state=wanted.seed,
                    tell=tell,
                )
                records["split_half"] = found.as_dict()
    return Further(records, groups, wanted.folds)


@contextmanager
def _kept_going(what: str, warned: list[str]) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        warned.append(f"{what} could not be judged: {shell.told(error)}")
