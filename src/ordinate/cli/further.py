"""What ``fit`` finds on request beside the map: groups of answers, and halves of them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ordinate.cli import _shell as shell

if TYPE_CHECKING:
    from ordinate.evaluation.groups import Groups

SENTENCES = ("groups", "split_half")  # records whose sentence is told
BY = ("answer", "participant", "row")


class FurtherOptions(NamedTuple):
    """What is wanted, as ``fit`` asks for it."""

    groups: str | None = None
    halves: int | None = None
    halves_by: str = "answer"
    folds: int | None = None
    seed: int = 0
    quiet: bool = False

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> "FurtherOptions":
        """Take the options among a command's parameters, given as its ``locals()``."""
        found = cls(**{name: parameters[name] for name in cls._fields})
        if found.halves_by not in BY:
            raise shell.CommandError(
                f"--halves-by must be one of {', '.join(BY)}; got {found.halves_by}",
                shell.WRONG_USE,
            )
        if found.halves is None and found.halves_by != BY[0]:
            raise shell.CommandError(
                f"--halves-by {found.halves_by} goes with --halves, which says how many times",
                shell.WRONG_USE,
            )
        return found

    def check(self, estimator: Any) -> None:
        """Refuse what cannot be done before anything is fitted."""
        from ordinate.evaluation.groups import check_probabilities

        if self.groups is not None:
            check_probabilities(estimator)

    @property
    def n_folds(self) -> int:
        """Parts that are held out in turn; groups cannot be judged without."""
        from ordinate.evaluation.groups import FOLDS

        return self.folds or FOLDS

    @property
    def n_stages(self) -> int:
        """How many stages it takes, about."""
        return (self.n_folds + 1) * (self.groups is not None) + (self.halves or -1) + 1


class Further(NamedTuple):
    """What was found: records for ``run.json``, and the groups."""

    records: dict[str, Any]
    groups: "Groups | None"
    folds: int | None

    def write(self, folder: Path, *what: Any, defuse: bool) -> None:
        """Write what goes into files of its own."""
        from ordinate.study.group_folders import write_groups

        if self.groups is not None:
            write_groups(folder, self.groups, *what, folds=self.folds, defuse=defuse)


def look_further(
    source: Any, model: Any, wanted: FurtherOptions, tell: Callable[[str], None]
) -> Further:
    """Judge groups and halves by the settings of the map of all answers."""
    from ordinate.evaluation.groups import judge_groups
    from ordinate.evaluation.reliability import split_half
    from ordinate.study.group_folders import describe_groups

    records: dict[str, Any] = {}
    groups = None
    if source.streamed and (wanted.groups is not None or wanted.halves is not None):
        raise shell.CommandError(
            "--groups and --halves need the answers in memory, and the file is larger: raise "
            "--memory-limit",
            shell.WRONG_USE,
        )
    with shell.warnings_as_notes(wanted.quiet):
        if wanted.groups is not None:
            groups = judge_groups(
                model,
                source.triplets,
                source.groups,
                folds=wanted.n_folds,
                random_state=wanted.seed,
                tell=tell,
            )
            records["groups"] = describe_groups(groups, wanted.groups)
        if wanted.halves is not None:
            found = split_half(
                model,
                source.triplets,
                n_splits=wanted.halves,
                by=wanted.halves_by,
                random_state=wanted.seed,
                tell=tell,
            )
            records["split_half"] = found.as_dict()
    return Further(records, groups, wanted.folds)
