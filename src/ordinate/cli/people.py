"""What ``fit`` does about participants: who guesses is left out, or counts less."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ordinate.cli import _shell as shell

if TYPE_CHECKING:
    from ordinate.algorithms.participants import Participants
    from ordinate.cli.fit import Checked


def without_guessers(
    source: "Checked", estimator: Any, seed: int, tell: Callable[[str], None]
) -> "tuple[Checked, Participants]":
    """Leave out those who answer no better than chance, say so, and check the rest anew."""
    from ordinate.data.advice import ranked
    from ordinate.estimators.participants import participants
    from ordinate.study.people import left_out

    refuse_streamed(source, "--exclude-chance")
    tell("who answers by chance")
    people = participants(estimator, source.triplets, random_state=seed)
    told = left_out(people)
    if told is None:
        note = "nobody was left out: no participant is found to answer no better than chance"
        return source._replace(notes=[*source.notes, note]), people
    kept = people.without_chance(source.triplets)
    return source._replace(
        triplets=kept,
        notes=[*source.notes, told.what],
        problems=ranked([told, *source.problems]),
        summary=kept.summarise(),
    ), people


def weighing(source: "Checked", estimator: Any, seed: int) -> Any:
    """Wrap an estimator so that participants who guess count less."""
    from ordinate.estimators.participants import ParticipantEmbedding

    refuse_streamed(source, "--weigh-participants")
    return ParticipantEmbedding(estimator, random_state=seed)


def listed(
    people: list[dict[str, Any]], screened: "Participants | None", weighed: bool
) -> list[dict[str, Any]]:
    """Join what is known of those on the map with those who were left out."""
    if screened is None:
        return [person | {"left_out": False} for person in people] if weighed else people
    on_map = {person["participant"]: person for person in people}
    found = []
    for person in screened.rows():
        name = person["participant"]
        unweighed = {} if weighed else {"weight": 1.0 if name in on_map else 0.0}
        out = {"left_out": name not in on_map}
        found.append(person | on_map.get(name, {"weight": 0.0}) | unweighed | out)
    return found


def refuse_streamed(source: "Checked", option: str) -> None:
    """Refuse files that are larger than memory: their answers are not dealt into parts."""
    if source.streamed:
        raise shell.CommandError(
            f"{option} needs all answers in memory, and {source.triplets.path.name} is larger "
            "than that: leave it out, or raise --memory-limit",
            shell.WRONG_USE,
        )
