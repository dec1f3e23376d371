"""How carefully each participant answers, given how likely a map holds each answer to be.

An answer is a guess with the participant's own lapse rate l, and else follows the map: a row that
the map gives the probability f has the probability ``(1 - l) f + l / 2``. Rows of one answer share
what it says about l, since a guess is a guess of the whole answer. The rates of all participants
have a Beta distribution, which is fitted to them (empirical Bayes): those who gave few answers are
taken to be like the others. One in twenty may be unlike them.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, expit, logit, ndtr, softmax

from ordinate._base.messages import Message, Option
from ordinate._base.threads import single_threaded_blas
from ordinate.data.labels import places
from ordinate.data.numbering import distinct, numbered
from ordinate.data.triplets import Triplets
from ordinate.evaluation.held_out import BETTER, NO_BETTER, TOO_FEW

# Cells of lapse rates, narrow near 0, where most people are.
EDGES = np.linspace(0, 1, 129) ** 2
CELLS = (EDGES[1:] + EDGES[:-1]) / 2
# Means and sizes (sums of the two exponents) of the Beta distributions that are tried.
MEANS = np.array([0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 95]) / 100
SIZES = np.array([0.5, 1, 2, 4, 8, 16, 32, 64])
# What log odds may have to be multiplied by; where they end, and how finely they are told apart.
SURENESS = np.geomspace(0.25, 4, 33)
SUREST, N_ODDS = 15.0, 301
UNUSUAL = 0.05  # share of participants who may be of any kind, unlike the others
LEVEL = 0.05  # of tests, and what intervals leave out
CLEARLY = 0.01  # chance that guesses pass for better than chance
LEAST_ANSWERS = 20  # below, nobody is found to be no better than chance
HALF = 0.5  # lapse rate up to which nobody should be left out


class Rows(NamedTuple):
    """Who gave each row, and which answer it belongs to.

    Attributes
    ----------
    labels : ndarray, shape (p,)
        The participants who gave any answer.
    who : ndarray of int, shape (m,)
        Places in `labels`.
    answer : ndarray of int, shape (m,)
    weight : ndarray, shape (m,)
        Times that the row was observed.
    share : ndarray, shape (m,)
        What the row counts as evidence about its participant: the rows of an answer as one.
    """

    labels: np.ndarray
    who: np.ndarray
    answer: np.ndarray
    weight: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, triplets: Triplets) -> "Rows":
        """Number the participants and their answers; an answer is one participant's."""
        if triplets.participant is None or triplets.participant_labels is None:
            raise ValueError(
                Message(
                    "the answers do not say who gave them, so that participants cannot be judged: "
                    "name the column that does, as in ",
                    Option("columns", {"participant": "worker"}),
                )
            )
        who = numbered(triplets.participant)
        answers = triplets.groups("answer")
        answer = numbered(who * (int(answers.max()) + 1) + answers)
        weight = triplets._weights
        labels = triplets.participant_labels[distinct(triplets.participant)]
        return cls(labels, who, answer, weight, weight / np.bincount(answer)[answer])

    @property
    def n_answers(self) -> np.ndarray:
        """How many answers each participant gave: (p,)."""
        return np.bincount(self.who[np.unique(self.answer, return_index=True)[1]])

    def by_participant(self, values: np.ndarray) -> np.ndarray:
        """Sum over the rows of each participant."""
        return np.bincount(self.who, values, len(self.labels))

    def over_answers(self, values: np.ndarray) -> np.ndarray:
        """Give each row the mean over the rows of its answer."""
        return (np.bincount(self.answer, values) / np.bincount(self.answer))[self.answer]


class Lapses(NamedTuple):
    """How often each participant guesses.

    Attributes
    ----------
    rate : ndarray, shape (p,)
        Mean of what the answers leave possible.
    low, high : ndarray, shape (p,)
        It lies between these with a probability of 95 %.
    typical : float
        The mean of the distribution over participants: what is expected of someone new.
    sureness : float
        What the map's log odds must be multiplied by to be right about answers that are no guesses.
        A map of few answers is too sure of others, and this is below 1.
    """

    rate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    typical: float
    sureness: float

    def calibrated(self, probability: np.ndarray) -> np.ndarray:
        """Probabilities f with log odds as they should be."""
        return expit(self.sureness * log_odds(probability))

    def meant(self, probability: np.ndarray, rows: Rows) -> np.ndarray:
        """Probability (m,) that the answer of each row was no guess.

        That is ``(1 - l) f / ((1 - l) f + l / 2)``, on average over the rows of an answer.
        """
        lapse = self.rate[rows.who]
        follows = (1 - lapse) * self.calibrated(probability)
        return rows.over_answers(follows / (follows + lapse / 2))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Log odds, as far as a map can be sure of anything."""
    return np.clip(logit(probability), -SUREST, SUREST)


def find_lapses(probability: np.ndarray, rows: Rows) -> Lapses:
    """Find each participant's lapse rate, and how the rates are distributed.

    Parameters
    ----------
    probability : ndarray, shape (m,)
        That each row is answered as it was, by a map, if it was no guess; best of a map that has
        not seen the answer, since others flatter everybody.
    rows : Rows
    """
    # Rows of a participant with about the same log odds are counted together.
    place = np.round((log_odds(probability) + SUREST) / (2 * SUREST) * (N_ODDS - 1)).astype(int)
    n = len(rows.labels)
    counts = np.bincount(rows.who * N_ODDS + place, rows.share, n * N_ODDS).reshape(n, N_ODDS)
    with single_threaded_blas():
        values = np.array([_log_evidence(sureness, counts) for sureness in SURENESS])
        # Averaged over all that are tried, so that a little change in the answers makes no leap.
        share = softmax(values)
        sureness = np.exp(share.sum(axis=1) @ np.log(SURENESS))
        prior = share.sum(axis=0) @ _priors()
        likelihood, _ = _likelihood(sureness, counts)
    posterior = likelihood * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    below = np.column_stack([np.zeros(n), posterior.cumsum(axis=1)])
    low, high = (
        np.array([np.interp(share, one, EDGES) for one in below])
        for share in (LEVEL / 2, 1 - LEVEL / 2)
    )
    # Where none, or all, may be guesses, that belongs to the interval.
    likeliest = posterior.argmax(axis=1)
    low, high = np.where(likeliest == 0, 0, low), np.where(likeliest == len(CELLS) - 1, 1, high)
    return Lapses(posterior @ CELLS, low, high, float(prior @ CELLS), float(sureness))


def _likelihood(sureness: float, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Likelihood (p, cells) of lapse rates, if the map is to be taken so surely.

    In units of each participant's largest, of which the logarithm (p,) is returned, too.
    """
    follows = expit(sureness * np.linspace(-SUREST, SUREST, N_ODDS))[:, None]
    of_cells = counts @ np.log(CELLS / 2 + (1 - CELLS) * follows)
    largest = of_cells.max(axis=1)
    return np.exp(of_cells - largest[:, None]), largest


def _log_evidence(sureness: float, counts: np.ndarray) -> np.ndarray:
    """Log-likelihood of all answers under each of the distributions of lapse rates."""
    likelihood, largest = _likelihood(sureness, counts)
    return np.log(likelihood @ _priors().T).sum(axis=0) + largest.sum()


@cache
def _priors() -> np.ndarray:
    """Masses of the cells by each Beta distribution: (number of them, cells)."""
    mean, size = (numbers.ravel()[:, None] for numbers in np.meshgrid(MEANS, SIZES))
    masses = np.diff(betainc(mean * size, (1 - mean) * size, EDGES), axis=1)
    return (1 - UNUSUAL) * masses + UNUSUAL * np.diff(EDGES)


def judge(probability: np.ndarray, rows: Rows) -> np.ndarray:
    """Say of each participant whether the answers are better than chance.

    The score of a row is ``2 f - 1``: positive where map and answer agree, and large where the map
    is sure. Guesses have a mean score of 0. Someone who guesses every second answer has one half
    of the mean square of the scores, and whoever stays clearly below that without being clearly
    above 0 is no better than chance: at a level of 5 % of those found so (Benjamini and Hochberg,
    1995), where each was in truth no worse than that.

    Parameters
    ----------
    probability : ndarray, shape (m,)
        By maps that have not seen the answer, and that are as sure as they should be.
    rows : Rows

    Returns
    -------
    ndarray of str, shape (p,)
    """
    score = 2 * probability - 1
    total = rows.by_participant(rows.share * score)
    # Rows of an answer may be right or wrong together: it varies at most as one of them does.
    by_chance = rows.by_participant(rows.share * rows.over_answers(score) ** 2)
    expected = (1 - HALF) * rows.by_participant(rows.share * score**2)
    spread = rows.by_participant(rows.share * (score**2 - ((1 - HALF) * score**2) ** 2))
    better = ndtr(-total / np.sqrt(np.maximum(by_chance, 1e-300))) <= CLEARLY
    worse = ndtr((total - expected) / np.sqrt(np.maximum(spread, 1e-300)))
    at_chance = ~better & (adjusted(worse) <= LEVEL) & (rows.n_answers >= LEAST_ANSWERS)
    return np.where(better, BETTER, np.where(at_chance, NO_BETTER, TOO_FEW))


def adjusted(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values so that of those below a level, that share at most is there by chance.

    The rule of Benjamini and Hochberg (1995).

    Examples
    --------
    >>> import numpy as np
    >>> adjusted(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.03]
    """
    order = np.argsort(p_values)[::-1]
    n = len(p_values)
    steps = p_values[order] * n / np.arange(n, 0, -1)
    found = np.empty(n)
    found[order] = np.minimum.accumulate(np.minimum(steps, 1))
    return found


class Participants(NamedTuple):
    """What is known of each participant: arrays of shape (p,).

    Attributes
    ----------
    participant : ndarray
        Their names.
    answers, triplets : ndarray of int
        How many they gave.
    accuracy : ndarray
        Share of their triplets that maps predict rightly that have not seen the answer.
    lapse, low, high : ndarray
        Estimated share of their answers that are guesses, and the 95 % interval of that.
    weight : ndarray
        What their answers count in the map, on average: the probability that one is no guess.
    verdict : ndarray of str
        "better than chance", "no better than chance" or "too few answers to tell".

    """

    participant: np.ndarray
    answers: np.ndarray
    triplets: np.ndarray
    accuracy: np.ndarray
    lapse: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray
    verdict: np.ndarray

    @property
    def at_chance(self) -> np.ndarray:
        """The names of those who are no better than chance."""
        return self.participant[self.verdict == NO_BETTER]

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values, a dictionary for each participant, for tables and JSON."""
        columns = (column.tolist() for column in self._replace(participant=_texts(self)))
        return [dict(zip(self._fields, row, strict=True)) for row in zip(*columns, strict=True)]

    def without_chance(self, triplets: Triplets) -> Triplets:
        """Leave out the answers of those who are no better than chance."""
        kept = self.beyond_chance(triplets)
        return triplets if kept.all() else triplets[kept]

    def beyond_chance(self, triplets: Triplets) -> np.ndarray:
        """Tell which rows (m,) are of those who are better than chance, or raise if none is."""
        if triplets.participant is None or triplets.participant_labels is None:
            raise ValueError("these triplets do not say who answered: give those that were judged")
        out = places(triplets.participant_labels.tolist(), self.at_chance.tolist()) >= 0
        kept = ~out[triplets.participant]
        if not kept.any():
            raise ValueError(
                f"all {len(self.participant):,} participants answer no better than chance: there "
                "is nobody left to make a map of"
            )
        return np.asarray(kept)


def _texts(people: Participants) -> np.ndarray:
    return np.array([str(name) for name in people.participant])
