"""The estimator that needs no choice: it lets unseen answers choose how the map is made."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinate._base import progress
from ordinate._base.arrays import beside, on_host
from ordinate._base.checks import check_callback, check_number, random_generator
from ordinate._base.messages import Either, Message, Option, counted
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.dimension import DimensionChoice, check_dimensions, judge_dimensions
from ordinate.algorithms.optimise import Step
from ordinate.algorithms.profile import response_intervals
from ordinate.algorithms.response import fit_response
from ordinate.algorithms.selection import (
    LAPSE,
    STEPS,
    Judged,
    Part,
    choice_in_words,
    choose_maker,
    settings_in_words,
)
from ordinate.data.folds import sampled_answers, shuffled_folds
from ordinate.data.summary import ceiling
from ordinate.data.triplets import Triplets
from ordinate.estimators.descent import WORKING
from ordinate.estimators.gradient import PowerEmbedding
from ordinate.estimators.likelihood import LikelihoodEmbedder
from ordinate.estimators.occurring import among_occurring
from ordinate.estimators.placing import MadeBy
from ordinate.evaluation.metrics import levels
from ordinate.evaluation.uncertainty import Interval
from ordinate.files.inputs import over_labels
from ordinate.files.ondisk import TripletFile
from ordinate.kernels.losses import Loss, power_family
from ordinate.passes import store_of

MOST_ROWS = 300_000  # beyond, a sample of the answers chooses
CHOOSING = 200  # bytes per row of the sample, at most at the same time
KEPT = 200  # bytes per coordinate of the maps that are kept while they are compared
# Times the sample from which the map of all answers says more about how people answer, even by
# answers that it has seen, than maps of the sample do by unseen ones.
MANY_MORE = 2
FOLDS = 5  # of the answers that choose, one in so many judges the maps of the others
SEVERAL = 100_000  # rows, in all, of the parts that are judged in turn: fewer answers, more parts
SHOWN = 2  # dimensions of a map, where answers are too few to choose them
FIRST = (0.5, 0.1)  # power and slope of the loss of the first maps
# Ridges of the first maps, of which the first serves that leaves items apart: where answers are
# few, a large one draws all of them to one place, and no descent from there leaves it.
FIRST_RIDGES = (1.0, 0.1, 0.01)
APART = 0.01  # spread of items along some dimension, in the loss's own unit


class OrdinalEmbedding(LikelihoodEmbedder):
    """The map that predicts unseen answers best, without a choice to make.

    People differ in how they compare: some compare distances, some their ratios, and all answer at
    random now and then. Maps are made of a part of the answers by several members of the power
    family (see :class:`PowerEmbedding`), with several ridges, and judged by the answers that were
    left out. What predicts them best then makes the map of all answers, and ``power_``, ``slope_``
    and ``lapse_`` describe how unseen answers follow its distances.

    Parameters
    ----------
    n_components : int, "auto" or iterable of int
        Number of dimensions d; or those among which unseen answers choose, as
        :func:`ordinate.choose_dimension` does: "auto" is 1 to 6.
    tol : float
        Where to stop: the share of the squared statistical error that optimisation may leave.
    max_iter : int
        Most steps of a descent; a warning tells if they were too few.
    n_items : int, optional
        Number of items, if some may occur in no triplet.
    backend : {"auto", "numba", "numpy"}
        What computes on the CPU: compiled kernels, or NumPy alone; "auto" takes numba if there.
    device : None, "cpu", "cuda", "cuda:<number>", "auto" or torch.device
        Where the passes run: a GPU if named, or by "auto" if there is one. See docs/gpu.md.
    random_state : int, Generator or None
        For dealing answers into parts, and random starts; the same seed gives the same map.
    callback : function, optional
        Called with a :class:`.Step` after each step of the last fit, that of all answers.
    verbose : int
        1 prints what is done, 2 each step.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_items, n_components)
        Centred, along its principal axes. Items in no triplet are NaN, and a warning names them.
    items_ : ndarray, shape (n_items,)
    n_components_ : int
    dimension_ : DimensionChoice or None
        What was found about the number of dimensions, where there was a choice. If the answers are
        too few to tell, a warning says so, and the map has two.
    power_, slope_, lapse_ : float
        How answers follow the map's distances, from answers that maps had not seen: what
        ``predict_proba`` goes by. Where less than half of the answers chose, from those of the
        sample and the map of all.
    maker_ : dict
        What made the map: power, slope, lapse and regularization, as :class:`PowerEmbedding` takes
        them.
    scale_ : float
        Of the map, over what ``maker_`` made: what fits ``power_`` and ``slope_``.
    choice_ : list of dict
        The chosen maker and the runners-up: power, slope, regularization; minus the mean
        log-likelihood of an unseen answer and by how much it exceeds the best one's, with its
        standard error; and the share of unseen answers that were predicted rightly. The best of
        many looks a little better here than it is: for a fair estimate, hold out answers.
    n_chosen_by_ : int
        Triplets that took part in the choice: beyond 300,000, and where triplets are streamed from
        a file, those of a sample.
    sample_ : str
        What the sample was, in words; empty where all answers took part.
    n_triplets_at_fit_ : int
        All triplets that there were then. `partial_fit` keeps to the choice until there are 1.5
        times as many; then it is made again.
    loss_, history_, n_iter_, n_passes_, converged_, device_, init_
        Of the last fit, as of :class:`STE`.

    Examples
    --------
    >>> from ordinate import OrdinalEmbedding, procrustes_error, sample_points, sample_triplets
    >>> points = sample_points(30, random_state=0)
    >>> triplets = sample_triplets(points, 6000, random_state=0)
    >>> model = OrdinalEmbedding(n_components=2, random_state=0).fit(triplets)
    >>> bool(procrustes_error(model.embedding_, points, scale=True, relative=True) < 0.3)
    True
    """

    _chooses = True
    dimension_: DimensionChoice | None
    n_triplets_at_race_: int

    def __init__(
        self,
        n_components: int | str | Iterable[int] = 2,
        *,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_items: int | None = None,
        backend: str = "auto",
        device: Any = None,
        random_state: Any = None,
        callback: Callable[[Step], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_items = n_items
        self.backend = backend
        self.device = device
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "OrdinalEmbedding":
        """Choose what makes the map, and find the map.

        Parameters
        ----------
        X : Triplets, array-like of int (m, 3), DataFrame, Arrow table, or a file
            Rows ``(anchor, near, far)``. A file too large for memory is streamed: a sample of its
            answers chooses, and all of them make the map; no number of dimensions is chosen.
        y : array-like of +1 and -1, or of bool, shape (m,), optional
            How rows ``(anchor, first, second)`` were answered, as for :class:`STE`.

        Returns
        -------
        self
        """
        triplets, _ = self._prepare(X, y, self.device)
        check_callback(self.callback)
        generator = random_generator(self.random_state).spawn(1)[0]
        self._choose_dimension(triplets, generator)
        sample, items = among_occurring(self._sample(triplets, generator), self.n_components_)
        with single_threaded_blas():
            judged = choose_maker(self._parts(sample, generator))
        self._tell_choice(judged, sample)
        chosen, response = judged[0].maker, judged[0].response
        self.maker_ = {**chosen._asdict(), "lapse": LAPSE}
        progress.step("fitting")
        seed = int(generator.integers(1 << 31))
        asked = {"callback": self.callback, "random_state": seed, **self.maker_}
        starts: list[Any] = ["auto"]
        if isinstance(triplets, Triplets):  # streams are read no more often than need be
            starts.insert(0, items.over_all(on_host(judged[0].maps[0])))
        tries = [self._maker(init=start, **asked) for start in starts]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last one warns of the same
            for tried in tries[:-1]:
                tried.fit(triplets)
        tries[-1].fit(triplets)
        best = min(tries, key=lambda tried: tried.history_[-1])
        if len(triplets) >= MANY_MORE * len(sample):
            drawn = store_of(sample, self.backend, self.device_)
            points = beside(drawn.counts, np.nan_to_num(best.embedding_)[items.ids])
            response = fit_response([(drawn, points)], chosen.loss)
        self.scale_ = response.scale
        self._take(best)
        self.power_, self.slope_, self.lapse_ = response.loss.shape
        return self

    def _settled(self, **settings: Any) -> PowerEmbedding:
        return self._maker(**{"random_state": self.random_state, **self.maker_, **settings})

    def _from_here(self, **settings: Any) -> PowerEmbedding:
        return self._settled(init=self.embedding_ / self.scale_, n_init=1, **settings)

    def _fitted_again(self, triplets: Triplets, **settings: Any) -> "OrdinalEmbedding":
        model = copy(self)
        if "lapse" in settings:
            model.lapse_ = settings["lapse"]
            model.maker_ = {**self.maker_, "lapse": model.lapse_}
        model._set_known(settings)
        model._prepare(triplets, None, model.device)
        made = self._from_here(**{"callback": self.callback, **settings})
        made.fit(triplets)
        model._take(made)
        return model

    def _take(self, made: PowerEmbedding) -> None:
        """Take over what the maker of the map has found."""
        for name, value in vars(made).items():
            if name.endswith("_") and name not in ("items_", "device_", "n_triplets_at_fit_"):
                setattr(self, name, value)
        self.embedding_ = self.scale_ * made.embedding_

    def _continue(self, triplets: Triplets, start: np.ndarray, afresh: bool) -> None:
        """Fit with what was chosen, or choose again."""
        if afresh:
            self.fit(triplets)
            return
        self._say("power, slope and ridge stay as they were chosen")
        made = self._settled(callback=self.callback)
        made._prepare(triplets, None, self.device)
        made.n_triplets_at_race_ = getattr(self, "n_triplets_at_race_", 0)
        made._continue(triplets, start / self.scale_, afresh)
        self._take(made)

    def response_intervals(self, X: Any, *, level: float = 0.95) -> dict[str, Interval]:
        """Intervals of the numbers that say how people answer, from all answers.

        ``power_``, ``slope_`` and ``lapse_`` serve prediction by this map. What they are in truth
        is another question, and the map is unsure as well: here they are fitted together with the
        map, which is averaged over, and an interval holds all values with which the answers are
        about as likely as with the best.

        Several sets of numbers describe nearly the same people. Where squared distances are
        compared, slope and scale are one number, and so are power and slope on a small map: their
        intervals then end at infinity. What answers do tell is the exponent: the power of squared
        distance that people compare, near the map's typical distance. It is 1 for squared
        distances, 1/2 for distances, 0 for their ratios.

        Parameters
        ----------
        X : triplets in any form
            What the map was fitted to.
        level : float
            How often such intervals hold the truth, if people answer as some member of the family.
            Where an answer gave several triplets, which depend on each other, intervals are wider,
            as if the triplets of an answer said the same.

        Returns
        -------
        dict of str to Interval
            Of ``exponent``, ``power`` and ``lapse``: each ``(estimate, low, high)``. It
            takes hundreds of fits, each from the last: minutes for 100,000 triplets.

        Examples
        --------
        >>> from ordinate import OrdinalEmbedding, Power, sample_points, sample_triplets
        >>> points = 3 * sample_points(20, random_state=1)
        >>> noise = Power(power=0.5, slope=1.0, lapse=0.05)
        >>> triplets = sample_triplets(points, 4000, noise=noise, random_state=1)
        >>> model = OrdinalEmbedding(random_state=0).fit(triplets)
        >>> lapse = model.response_intervals(triplets)["lapse"]
        >>> bool(lapse.low <= 0.05 <= lapse.high)
        True
        """
        check_is_fitted(self, "embedding_")
        check_number("level", level, above=0, below=1)
        triplets = over_labels(X, self.items_)
        rows = np.bincount(triplets.groups("answer"))
        store = store_of(triplets, self.backend, self.device_)
        with single_threaded_blas():
            return response_intervals(
                store,
                np.nan_to_num(self.embedding_),
                (self.power_, self.slope_, self.lapse_),
                level=level,
                rows_per_answer=float((rows**2).sum() / rows.sum()),
            )

    def _most_components(self) -> int:
        if isinstance(self.n_components, str):
            return 1  # those that there are too few items for are not tried
        if isinstance(self.n_components, Iterator):
            rule = " must be a list, a range or the like, which can be read again"
            raise ValueError(Message(Option("n_components"), rule))
        if isinstance(self.n_components, Iterable):
            return max(check_dimensions("n_components", self.n_components))
        return super()._most_components()

    def _n_steps(self, n_items: int) -> int:
        if not isinstance(self.n_components, Iterable):
            return STEPS + 1
        return STEPS + 1 + len(check_dimensions("n_components", self.n_components, n_items))

    def _choose_dimension(
        self, triplets: Triplets | TripletFile, generator: np.random.Generator
    ) -> None:
        """Take the number of dimensions that was given, or let unseen answers choose it."""
        self.dimension_ = None
        if not isinstance(self.n_components, Iterable):
            self.n_components_ = int(self.n_components)
            return
        if not isinstance(triplets, Triplets):
            raise ValueError(
                Message(
                    Option("n_components"),
                    f" must be one number for {triplets.path}, which is larger than memory: none "
                    "is chosen there. Raise the memory limit, or try a part of the answers",
                )
            )
        tried = check_dimensions("n_components", self.n_components, triplets.n_items)
        own = generator.spawn(1)[0]

        def tell(dimension: str) -> None:
            self._say(dimension)
            progress.step(dimension)

        self.dimension_ = judge_dimensions(triplets, tried, own, self.backend, self.device_, tell)
        for line in str(self.dimension_).splitlines():
            self._say(line)
        found = self.dimension_.n_components
        if found is None:
            found = min(tried, key=lambda d: abs(d - SHOWN))
            warnings.warn(
                f"{self.dimension_.sentence}. The map has {found}, which says nothing about "
                "how many there are",
                UserWarning,
                stacklevel=3,
            )
        self.n_components_ = found

    def _maker(self, power: float, slope: float, **options: Any) -> PowerEmbedding:
        shared = ("tol", "max_iter", "n_items", "backend", "device", "verbose")
        given = {name: getattr(self, name) for name in shared} | options
        return PowerEmbedding(self.n_components_, power=power, slope=slope, **given)

    def _made_by(self) -> MadeBy:
        made = self.maker_
        loss = power_family(made["power"], made["slope"], made["lapse"])
        return MadeBy(loss, made["regularization"], self.scale_)

    def _loss(self, n_components: int) -> Loss:
        return power_family(self.power_, self.slope_, self.lapse_)

    def _sample(self, triplets: Triplets | TripletFile, generator: np.random.Generator) -> Triplets:
        """Take the answers that choose: all, or a sample of them."""
        if isinstance(triplets, Triplets):
            sample = sampled_answers(triplets, MOST_ROWS, generator)
        else:
            n_rows = min(MOST_ROWS, int(triplets.sample_bytes(math.inf)) // CHOOSING)
            size = triplets.n_items * self.n_components_
            self._check_memory(triplets, (WORKING + KEPT) * size, CHOOSING * n_rows)
            sample = triplets.sample(n_rows, int(generator.integers(1 << 63)))
        self.n_chosen_by_, self.sample_ = len(sample), ""
        if len(sample) < len(triplets):
            kind = "whole answers"
            if sample.answer is None:
                kind = "rows taken for answers, as nothing says which belong together"
            self.sample_ = f"{len(sample):,} of {len(triplets):,} triplets, {kind}"
        return sample

    def _parts(self, triplets: Triplets, generator: np.random.Generator) -> list[Part]:
        """Deal the answers into parts, and map each of them once."""
        groups = triplets.groups("answer")
        if groups.max() + 1 < FOLDS:
            raise ValueError(
                Message(
                    f"{counted(int(groups.max()) + 1, 'answer')} cannot choose what makes a map: "
                    f"{FOLDS} are the least, and some hundreds are better; ",
                    Either("STE", "--method ste"),
                    " needs no choice",
                )
            )
        fold = shuffled_folds(groups, np.full(FOLDS, 1 / FOLDS), generator)
        n_parts = int(np.clip(SEVERAL // len(triplets), 1, FOLDS))
        self._say(f"{len(triplets):,} triplets choose, in {n_parts} of {FOLDS} parts")
        parts = []
        for k in range(n_parts):
            fitted, others = triplets[fold != k], triplets[fold == k]
            start = self._first_map(fitted, generator)
            judging = store_of(others, self.backend, self.device_)
            stored = store_of(fitted, self.backend, self.device_)
            parts.append(Part(stored, judging, others, start))
        return parts

    def _first_map(self, triplets: Triplets, generator: np.random.Generator) -> np.ndarray:
        """Map a part of the answers, with a ridge that leaves items apart."""
        power, slope = FIRST
        for ridge in FIRST_RIDGES:
            first = self._maker(
                power,
                slope,
                lapse=LAPSE,
                regularization=ridge,
                n_items=None,
                random_state=generator,
                verbose=0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all triplets warns of the same
                points = np.nan_to_num(first.fit(triplets).embedding_)
            if points.std(axis=0).max() > APART:
                break
        return points

    def describe_choice(self) -> str:
        """Say in one sentence what was chosen, why, and how close the next best comes.

        Examples
        --------
        >>> from ordinate import OrdinalEmbedding, sample_points, sample_triplets
        >>> triplets = sample_triplets(sample_points(20, random_state=0), 2000, random_state=0)
        >>> model = OrdinalEmbedding(random_state=0).fit(triplets)
        >>> print(model.describe_choice())
        power ..., slope ..., ridge ...: chosen by unseen answers; ...
        """
        check_is_fitted(self, "embedding_")
        return choice_in_words(self.choice_, getattr(self, "sample_", ""))

    def _tell_choice(self, judged: list[Judged], sample: Triplets) -> None:
        """Keep what was tried, and say what was chosen."""
        self.choice_ = [tried.as_dict() for tried in judged]
        if not self.verbose:
            return
        bound = ceiling(sample._agreement)
        between = levels(None if bound is None else bound.high)
        for number, row in enumerate(self.choice_[:4]):
            place = "chosen" if number == 0 else "      "
            self._say(
                f"{place}: {settings_in_words(row)}: log-likelihood "
                f"{-row['loss']:.4f} ({-row['behind']:+.4f} ± {row['error']:.4f}), accuracy "
                f"{row['accuracy']:.1%} {between}"
            )
