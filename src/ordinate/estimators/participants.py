"""Maps in which each participant's answers count by how likely they are no guesses."""

import warnings
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ordinate._base.checks import random_generator
from ordinate.algorithms.participants import Participants, Rows, find_lapses, judge
from ordinate.data.folds import shuffled_folds
from ordinate.data.labels import places
from ordinate.data.triplets import Triplets
from ordinate.estimators.base import Embedder, answered
from ordinate.estimators.gradient import STE
from ordinate.estimators.likelihood import LikelihoodEmbedder, check_likelihood
from ordinate.files.inputs import over_labels

FOLDS = 5  # each part of the answers judges participants by a map of the others
ROUNDS = 10  # of weighing and mapping, at most
SETTLED = 0.01  # change of a lapse rate that matters no more
LEAST_WEIGHT = 1e-6  # so that no item loses its place


class ParticipantEmbedding(Embedder):
    """A map in which participants who guess count less, by any method with probabilities.

    Everybody has a lapse rate: the share of answers that are guesses. It is estimated from answers
    that maps have not seen, those of people with few answers drawn towards what is usual among the
    others; each answer then counts by the probability that it was no guess, the map is fitted
    again, and so on until the rates settle.

    Parameters
    ----------
    estimator : estimator with probabilities, optional
        STE, TSTE, CKL, PowerEmbedding or OrdinalEmbedding, which chooses once, by all answers. By
        default STE. Participants' lapse rates take the place of a common one.
    random_state : int, Generator or None
        For dealing answers into parts.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the weighed answers.
    participants_ : Participants
        The list: answers, accuracy, lapse rate and its interval, weight, whether at chance.
    lapses_ : Lapses
    n_rounds_ : int
        Of weighing and mapping.
    settled_ : bool
        Whether the rates did.
    embedding_, items_, converged_, device_, loss_
        Of ``estimator_``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinate import ParticipantEmbedding, STE, Triplets, sample_points, sample_triplets
    >>> points = 2 * sample_points(20, random_state=0)
    >>> careful = sample_triplets(points, 2700, random_state=1).rows
    >>> guesses = sample_triplets(points, 300, noise=0.5, random_state=2).rows
    >>> who = np.repeat(np.arange(10), 300)
    >>> triplets = Triplets(np.concatenate([careful, guesses]), participant=who)
    >>> model = ParticipantEmbedding(STE(random_state=0), random_state=0).fit(triplets)
    >>> model.participants_.at_chance.tolist()
    [9]
    """

    _streams = False

    def __init__(self, estimator: Any = None, *, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    @property
    def _base(self) -> LikelihoodEmbedder:
        """The estimator given, or the usual one."""
        return check_likelihood(STE() if self.estimator is None else self.estimator)

    @property
    def n_components(self) -> Any:
        """That of the estimator."""
        return self._base.n_components

    @property
    def n_items(self) -> int | None:  # type: ignore[override]
        """That of the estimator."""
        return self._base.n_items

    @property
    def verbose(self) -> int:  # type: ignore[override]
        """That of the estimator."""
        return self._base.verbose

    @property
    def _chooses(self) -> bool:  # type: ignore[override]
        return self._base._chooses

    def fit(self, X: Any, y: Any = None) -> "ParticipantEmbedding":
        """Find how often each participant guesses, and the map of their answers so weighed.

        Parameters
        ----------
        X : Triplets, DataFrame, Arrow table, or a file
            Which says who answered.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How rows ``(anchor, first, second)`` were answered, as for :class:`STE`.

        Returns
        -------
        self
        """
        base = self._base
        triplets = answered(X, self._triplets(X), y)
        rows = Rows.of(triplets)
        if rows.n_answers.sum() < FOLDS:
            raise ValueError(
                f"{rows.n_answers.sum()} answers cannot judge participants: {FOLDS} are the least, "
                "and some dozens from each are better"
            )
        self._fitted_to = X if isinstance(X, Triplets) and X._places is not None else None
        first = clone(base).fit(triplets)
        unseen = _Unseen(first, triplets, random_generator(self.random_state))
        lapses = find_lapses(unseen.probability, rows)
        accuracy = unseen.accuracy(rows)
        verdict = judge(lapses.calibrated(unseen.probability), rows)
        for number in range(1, ROUNDS + 1):
            unseen.again(_weighed(triplets, lapses.meant(unseen.probability, rows)), lapse=0.0)
            before, lapses = lapses, find_lapses(unseen.probability, rows)
            moved = float(np.abs(lapses.rate - before.rate).max())
            self._say(f"round {number}: lapse rates moved by {moved:.3f} at most")
            if moved <= SETTLED:
                break
        meant = lapses.meant(unseen.probability, rows)
        self.estimator_ = first._fitted_again(_weighed(triplets, meant), lapse=0.0)
        self.n_rounds_, self.settled_ = number, moved <= SETTLED
        self.lapses_ = lapses
        n_triplets = rows.by_participant(np.ones(len(triplets)))
        self.participants_ = Participants(
            rows.labels,
            rows.n_answers,
            n_triplets.astype(int),
            accuracy,
            lapses.rate,
            lapses.low,
            lapses.high,
            rows.by_participant(meant) / n_triplets,
            verdict,
        )
        for name in ("embedding_", "items_", "n_features_in_", "converged_", "device_", "loss_"):
            setattr(self, name, getattr(self.estimator_, name))
        if not self.settled_:
            warnings.warn(
                f"the lapse rates of participants still moved by {moved:.2f} after {ROUNDS} "
                "rounds: take their weights for rough ones",
                UserWarning,
                stacklevel=2,
            )
        return self

    @property
    def classes_(self) -> np.ndarray:
        """What the columns of `predict_proba` stand for, as `predict` says it."""
        return np.array([-1, 1])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two answers to questions, guesses included.

        Parameters
        ----------
        X : triplets in any form
            Rows ``(anchor, first, second)``. Where they say who answers, that participant's lapse
            rate counts; the usual one for participants who were not in the fit, and where nobody
            is named. ``estimator_.predict_proba`` is about answers that are no guesses.

        Returns
        -------
        ndarray, shape (m, 2)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "embedding_")
        self._warn_of_cut_answers(X)
        meant = self.estimator_._probability(
            over_labels(X, self.items_).rows, self.estimator_._loss(self.embedding_.shape[1])
        )
        lapse = self._lapse_of(X) if isinstance(X, Triplets) else self.lapses_.typical
        first = (1 - lapse) * self.lapses_.calibrated(meant) + lapse / 2
        return np.column_stack([1 - first, first])

    def _lapse_of(self, triplets: Triplets) -> np.ndarray | float:
        """The lapse rate of whoever gave each row."""
        if triplets.participant is None or triplets.participant_labels is None:
            return self.lapses_.typical
        known = places(
            triplets.participant_labels.tolist(), self.participants_.participant.tolist()
        )
        rates = np.append(self.lapses_.rate, self.lapses_.typical)  # -1 is the last
        return rates[known][triplets.participant]

    def save(self, folder: str | PathLike, *, force: bool = False) -> None:
        """Write ``estimator_``, the map of the weighed answers, as every estimator does."""
        check_is_fitted(self, "embedding_")
        self.estimator_.save(folder, force=force)


def participants(estimator: Any, triplets: Any, *, random_state: Any = 0) -> Participants:
    """Judge participants by how well a map of the others' answers predicts theirs.

    Parameters
    ----------
    estimator : estimator with probabilities
    triplets : triplets in any form, which say who answered
    random_state : int, Generator or None
        For dealing answers into parts.

    Returns
    -------
    Participants
        A list of answers, accuracy, lapse rate and its interval, weight, and whether at chance;
        ``without_chance(triplets)`` leaves those out who are.

    Examples
    --------
    >>> from ordinate import STE, Triplets, participants, sample_points, sample_triplets
    >>> rows = sample_triplets(sample_points(20, random_state=0), 2000, random_state=0).rows
    >>> triplets = Triplets(rows, participant=["Ida"] * 1500 + ["Bo"] * 500)
    >>> found = participants(STE(random_state=0), triplets)
    >>> found.participant.tolist(), found.answers.tolist()
    (['Bo', 'Ida'], [500, 1500])
    """
    return ParticipantEmbedding(estimator, random_state=random_state).fit(triplets).participants_


class _Unseen:
    """How likely each answer is, by a map that was fitted without it."""

    def __init__(
        self, first: LikelihoodEmbedder, triplets: Triplets, generator: np.random.Generator
    ) -> None:
        groups = triplets.groups("answer")
        fold = shuffled_folds(groups, np.full(FOLDS, 1 / FOLDS), generator)
        self.parts = [(fold != k, fold == k) for k in range(FOLDS)]
        self.probability = np.empty(len(triplets))
        self.models = [first] * FOLDS
        self.again(triplets)

    def again(self, triplets: Triplets, **settings: Any) -> None:
        """Fit all maps to these weights, each from itself, and predict the answers anew."""
        for k, (train, test) in enumerate(self.parts):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all triplets warns of the same
                model = self.models[k]._fitted_again(triplets[train], **settings)
            loss = model._loss(model.embedding_.shape[1]).without_lapses
            self.probability[test] = model._probability(triplets.rows[test], loss)
            self.models[k] = model

    def accuracy(self, rows: Rows) -> np.ndarray:
        """Share of each participant's rows that are predicted rightly, ties half."""
        right = (1 + np.sign(self.probability - 0.5)) / 2
        return rows.by_participant(rows.weight * right) / rows.by_participant(rows.weight)


def _weighed(triplets: Triplets, meant: np.ndarray) -> Triplets:
    weight = np.maximum(meant, LEAST_WEIGHT)
    return triplets.weighed(weight if triplets.weight is None else weight * triplets.weight)
