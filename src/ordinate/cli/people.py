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
    from ordinate.data.advice import DIMENSIONS, problems, ranked
    from ordinate.estimators.participants import participants
    from ordinate.study.people import left_out

    tell("who answers by chance")
    people = participants(estimator, source.triplets, random_state=seed)
    told = left_out(people)
    if told is None:
        note = "nobody was left out: no participant is found to answer no better than chance"
        return source._replace(notes=[*source.notes, note]), people
    beyond = people.beyond_chance(source.triplets)
    kept = source.triplets[beyond]
    d = estimator.n_components
    found = problems(kept, source.notes, d if isinstance(d, int) else DIMENSIONS)
    return source._replace(
        triplets=kept,
        notes=[*source.notes, told.what],
        problems=ranked([told, *found]),
        summary=kept.summarise(),
        groups=None if source.groups is None else source.groups[beyond],
    ), people


def differences(result: Any, source: "Checked", seed: int, tell: Callable[[str], None]) -> Any:
    """Test whether participants stretch the axes of the map; None, and a warning, if none can be.

    Weights of axes go to the list of participants, if they help.
    """
    from ordinate.estimators.differences import individual_differences

    tell("axes of participants")
    try:
        found = individual_differences(result.model, source.triplets, random_state=seed)
    except ValueError as error:  # too few participants or dimensions: no reason to lose a map
        result.warnings.append(f"no individual differences: {shell.told(error)}")
        return None
    if found.helps:
        own = dict(zip(map(str, found.participant), found.weights.tolist(), strict=True))
        for person in result.participants:
            weights = own[person["participant"]]
            person |= {f"axis{k}": weight for k, weight in enumerate(weights, start=1)}
    return found


def listed(
    people: list[dict[str, Any]], screened: "Participants | None", weighed: bool
) -> list[dict[str, Any]]:
    """Join what is known of those on the map with those who were left out."""
    if screened is None:
        return [person | {"left_out": False} for person in people] if weighed else people
    on_map = {  # an accuracy that was not measured again stays what it was
        person["participant"]: {name: value for name, value in person.items() if value == value}
        for person in people
    }
    found = []
    for person in screened.rows():
        name = person["participant"]
        unweighed = {} if weighed else {"weight": 1.0 if name in on_map else 0.0}
        out = {"left_out": name not in on_map}
        found.append(person | on_map.get(name, {"weight": 0.0}) | unweighed | out)
    return found


def check_people(source: "Checked", estimator: Any, options: dict[str, bool]) -> None:
    """Refuse, before any fit, what cannot be said of participants."""
    from ordinate.algorithms.participants import Rows
    from ordinate.estimators.likelihood import check_likelihood

    asked = [shell.as_command_line({name: None}) for name, given in options.items() if given]
    if not asked:
        return
    if source.streamed:
        raise shell.CommandError(
            f"{asked[0]} needs all answers in memory, and {source.triplets.path.name} is larger "
            "than that: leave it out, or raise --memory-limit",
            shell.WRONG_USE,
        )
    Rows.of(source.triplets)
    check_likelihood(estimator)
