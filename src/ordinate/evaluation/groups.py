"""A map for each group of answers beside the common one, and whether groups differ beyond chance.

Two questions are kept apart. Do the groups differ? If not, their labels could as well have been
dealt in another way: :mod:`ordinate.evaluation.group_pulls`. And which map predicts a group's
unseen answers better, its own or the common one? The own map is of fewer answers, so it may lose
although the group is different.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordinate._base.checks import check_choice, check_length, check_whole, random_generator
from ordinate._base.messages import Either, Message, Option, counted, some
from ordinate.data.labels import encode
from ordinate.data.numbering import numbered
from ordinate.data.triplets import Triplets
from ordinate.evaluation.comparison import LEVEL, p_in_words
from ordinate.evaluation.group_gains import LEAST, Gain, UnseenAnswers, fitted_alike
from ordinate.evaluation.group_pulls import LabelTest, Pulls, judge_labels
from ordinate.evaluation.permutation import fit_quietly
from ordinate.files.inputs import as_triplets
from ordinate.files.items import is_missing

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

FOLDS = 5
LEAST_PEOPLE = 5  # in each group, of whom some are held out in turn
UNITS = ("auto", "answer", "participant")


class Group(NamedTuple):
    """A group and its map.

    Attributes
    ----------
    name : Any
    rows : ndarray of int
        Of its triplets.
    n_answers : int
    model : Embedder
        Fitted to the answers of the group.
    own, common : float
        Log-likelihood of an unseen triplet of the group by its own map, and by the common one.
    over_common : Gain
        Of the own map over the common one.
    """

    name: Any
    rows: np.ndarray
    n_answers: int
    model: "Embedder"
    own: float
    common: float
    over_common: Gain

    def __repr__(self) -> str:
        return f"Group({self.name!r}, {counted(self.n_answers, 'answer')})"


class Groups(NamedTuple):
    """Groups beside each other.

    Attributes
    ----------
    common : Embedder
        Fitted to all answers.
    groups : list of Group
    skipped : dict
        Groups of too few answers, and how many these have.
    over_common : Gain
        As for each group, of all.
    by : str
        What was held out, and dealt to groups anew, as a whole: "answer" or "participant".
    p_value : float or None
        How often chance alone makes groups as different; None where it cannot be told.
    p_items : ndarray, shape (n,)
        The same of the place of each item, corrected for their number; NaN where unknown.
    uneven : bool
        Whether groups were asked about items unequally often, which the p-values allow for.
    """

    common: "Embedder"
    groups: list[Group]
    skipped: dict[Any, int]
    over_common: Gain
    by: str
    p_value: float | None
    p_items: np.ndarray
    uneven: bool

    def __repr__(self) -> str:
        return f"Groups({some([group.name for group in self.groups])}: {self.sentence})"

    @property
    def differ(self) -> bool | None:
        """Whether the groups differ beyond chance; None where nothing tells."""
        return None if self.p_value is None else bool(self.p_value <= LEVEL)

    @property
    def apart(self) -> np.ndarray:
        """The items about which groups differ beyond chance, the clearest first."""
        beyond = np.flatnonzero(self.p_items <= (LEVEL if self.differ else -1))
        return self.common.items_[beyond[np.argsort(self.p_items[beyond], kind="stable")]]

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.p_value is None:
            why = "one alone has enough answers"
            if len(self.groups) > 1:
                why = "they are too many, and were asked about different items"
            return f"Whether the groups differ cannot be told: {why}"
        p = p_in_words(self.p_value)
        unseen = "unseen answers" if self.by == "answer" else "answers of unseen participants"
        helps = self.over_common.beyond_chance
        # A reader of the first half may take the second for a contradiction.
        why = ", which are of fewer answers," if self.differ and not helps else ""
        used = (
            f"own maps{why} predict {unseen} {'better' if helps else 'no better'} than the common "
            f"map does ({self.over_common} in log-likelihood per triplet)"
        )
        if not self.differ:
            return f"The groups do not differ beyond chance ({p}); {used}"
        which = f", most clearly about {some(self.apart)}" if len(self.apart) else ""
        return f"The groups differ beyond chance ({p}){which}; {used}"

    def table(self) -> list[dict[str, Any]]:
        """Return a row of plain values for each group, those that were skipped last."""
        rows: list[dict[str, Any]] = []
        for group in self.groups:
            rows.append(
                {
                    "group": str(group.name),
                    "triplets": len(group.rows),
                    "answers": group.n_answers,
                    "log_likelihood_own": group.own,
                    "log_likelihood_common": group.common,
                    "over_common": group.over_common.mean,
                    "over_common_error": group.over_common.error,
                }
            )
        for name, n_answers in self.skipped.items():
            rows.append(dict.fromkeys(rows[0]) | {"group": str(name), "answers": n_answers})
        return rows


def compare_groups(
    estimator: "Embedder",
    triplets: Any,
    groups: Any = "participant",
    *,
    by: str = "auto",
    folds: int = FOLDS,
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> Groups:
    """Fit a map to each group and one to all, and tell whether groups differ beyond chance.

    Parameters
    ----------
    estimator : Embedder
        One that gives answers probabilities. What it chooses, such as model and ridge, it chooses
        once, by all answers.
    triplets : triplets in any form
    groups : "participant", or array-like of shape (m,)
        The group of each row. Rows without one (None, NaN, "") are in the common map alone. Groups
        of fewer than 50 answers, or fewer than coordinates, are skipped. Warnings tell of both.
    by : {"auto", "answer", "participant"}
        What is held out as a whole. Participants, where each is in one group and every group has
        at least five: else their own ways of answering are taken for those of the group.
    folds : int
        Parts that are held out in turn.
    random_state : int, Generator or None
    tell : function of str
        Called before each fit.

    Returns
    -------
    Groups

    Examples
    --------
    >>> import numpy as np
    >>> from ordinate import STE, Triplets, compare_groups, sample_points, sample_triplets
    >>> points = sample_points(15, random_state=0)
    >>> one = sample_triplets(points, 3000, random_state=1)
    >>> other = sample_triplets(points[::-1], 3000, random_state=2)
    >>> both, whose = Triplets.concatenate([one, other]), np.repeat(["one", "other"], 3000)
    >>> compare_groups(STE(2, random_state=0), both, whose).differ
    True
    """
    check_probabilities(estimator)
    data = as_triplets(triplets)
    tell("the map of all answers")
    common = fit_quietly(estimator, data)
    return judge_groups(
        common, data, groups, by=by, folds=folds, random_state=random_state, tell=tell
    )


def check_probabilities(estimator: "Embedder") -> None:
    """Raise if an estimator does not tell how likely answers are."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            Message(
                "groups are compared by how likely their answers are, and "
                f"{type(estimator).__name__} gives no probabilities: take another method, such as ",
                Either("STE", "--method ste"),
            )
        )


def judge_groups(
    common: "Embedder",
    data: Triplets,
    groups: Any,
    *,
    by: str = "auto",
    folds: int = FOLDS,
    random_state: Any = 0,
    tell: Callable[[str], None] = lambda message: None,
) -> Groups:
    """Do as :func:`compare_groups`, given the model that was fitted to all answers."""
    folds = check_whole("folds", folds, least=2)
    check_choice("by", by, UNITS)
    names, code = _codes(data, groups)
    enough, skipped = _large_enough(data, names, code, common.embedding_.shape[1])
    by = _unit(by, data, code, enough)
    # What is in two groups counts once in each.
    unit = numbered(data.groups(by) * (len(names) + 1) + code)
    answer = data.groups("answer")
    held = UnseenAnswers(data, code, unit, common, random_generator(random_state))
    judged = np.flatnonzero(np.isin(code, enough))
    tell("labels dealt anew")
    told = _labels_dealt_anew(common, data, code, unit, judged, held.generator)
    for k, (train, test) in enumerate(held.splits(folds)):
        tell(f"held-out answers, part {k + 1} of {folds}")
        held.judge(train, test, enough)
    tell("the map of each group")
    found = []
    for g in enough:
        rows = np.flatnonzero(code == g)
        found.append(
            Group(
                names[g],
                rows,
                len(np.unique(answer[rows])),
                fitted_alike(common, data[rows], held.settings),
                *held.likelihoods(rows),
                held.gain(rows),
            )
        )
    if told is None:
        told = LabelTest(None, np.full(data.n_items, np.nan), uneven=True)
    return Groups(common, found, skipped, held.gain(judged), by, *told)


def _labels_dealt_anew(
    common: Any,
    data: Triplets,
    code: np.ndarray,
    unit: np.ndarray,
    rows: np.ndarray,
    generator: np.random.Generator,
) -> LabelTest | None:
    """Tell whether groups differ, by the answers of those that have enough."""
    if len(np.unique(code[rows])) < 2:
        return None
    maker = getattr(common, "estimator_", common)  # that of participants who were weighed
    loss, _, scale = maker._made_by()
    points = np.nan_to_num(common.embedding_) / scale
    unit, some_rows = numbered(unit[rows]), data[rows]
    label = np.empty(unit.max() + 1, int)
    label[unit] = numbered(code[rows])
    return judge_labels(
        Pulls(some_rows, unit, points, loss), some_rows.rows, unit, label, generator
    )


def _codes(data: Triplets, groups: Any) -> tuple[list, np.ndarray]:
    """Return the names of the groups, and the place of each row's among them; -1 for none."""
    if isinstance(groups, str):
        if groups != "participant":
            raise ValueError(
                "groups must be 'participant' or have the group of each row; got "
                f"{groups!r}: of a file, readers.read(path, groups={groups!r}).groups has them"
            )
        data.groups("participant")  # which raises if there are none
        assert data.participant is not None
        assert data.participant_labels is not None
        return data.participant_labels.tolist(), data.participant.astype(int)
    values = check_length("groups", np.asarray(groups, dtype=object), len(data)).tolist()
    without = np.array([is_missing(value) or value == "" for value in values])
    if without.all():
        raise ValueError("no row names a group")
    if without.any():
        n = int(without.sum())
        warnings.warn(
            f"{n:,} of {len(data):,} triplets name{'s' * (n == 1)} no group, and shape the common "
            "map alone",
            UserWarning,
            stacklevel=3,
        )
    code = np.full(len(data), -1)
    found, names = encode(
        {"groups": [v for v, gone in zip(values, without, strict=True) if not gone]}
    )
    code[~without] = found[:, 0]
    return names.tolist(), code


def _unit(by: str, data: Triplets, code: np.ndarray, enough: list[int]) -> str:
    """Return what is held out as a whole."""
    if by != "auto":
        units = data.groups(by)
        if min(len(np.unique(units[code == g])) for g in enough) < 2:
            raise ValueError(
                Message(
                    Option("by", by), " needs at least two of them in each group, and one has 1"
                )
            )
        return by
    if data.participant is None:
        return "answer"
    people = [np.unique(data.participant[code == g]) for g in enough]
    apart = len(np.unique(np.concatenate(people))) == sum(map(len, people))
    return "participant" if apart and min(map(len, people)) >= LEAST_PEOPLE else "answer"


def _large_enough(
    data: Triplets, names: list, code: np.ndarray, d: int
) -> tuple[list[int], dict[Any, int]]:
    """Return the groups that have enough answers, and the others with their numbers."""
    answer = data.groups("answer")
    n_answers = [len(np.unique(answer[code == g])) for g in range(len(names))]
    n_items = [len(np.unique(data.rows[code == g])) for g in range(len(names))]
    least = [max(LEAST, n * d) for n in n_items]
    enough = [g for g in range(len(names)) if n_answers[g] >= least[g]]
    skipped = {names[g]: n_answers[g] for g in range(len(names)) if g not in enough}
    if not enough:
        n = len(names)
        raise ValueError(
            f"{f'none of the {n:,} groups has' if n > 1 else 'the one group has not'} enough "
            f"answers for a map: at least {LEAST} are needed, and one for each coordinate; "
            f"{'the largest' if n > 1 else 'it'} has {max(n_answers):,}"
        )
    if skipped:
        told = some([f"{name} ({n:,})" for name, n in skipped.items()])
        one = len(skipped) == 1
        warnings.warn(
            f"{len(skipped):,} of {len(names):,} groups {'has' if one else 'have'} fewer than "
            f"{LEAST} answers, or fewer than coordinates to find, and {'gets' if one else 'get'} "
            f"no map: {told}",
            UserWarning,
            stacklevel=3,
        )
    return enough, skipped
