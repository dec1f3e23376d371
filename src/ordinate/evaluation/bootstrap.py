"""The bootstrap: how far a map would move if other answers had come, by fitting it again."""

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ordinate._base.checks import check_choice, check_whole, refuse_class, seed_sequence
from ordinate._base.messages import Message, Option, counted, some
from ordinate._base.threads import in_order, n_threads, single_threaded_blas, threads
from ordinate.data.answers import independent_answers
from ordinate.data.triplets import Triplets
from ordinate.evaluation.metrics import align
from ordinate.evaluation.uncertainty import UncertainMap, standard_errors
from ordinate.files.inputs import answered, as_triplets

if TYPE_CHECKING:
    from ordinate.estimators.base import Embedder

TELL = 10  # times that progress is told


class Bootstrap(UncertainMap):
    """Maps of resampled answers, beside the map of all.

    Distances, comparisons and figures of it are as those of a fitted model: see
    :class:`ordinate.uncertainty.UncertainMap`.

    Parameters
    ----------
    embedding : ndarray, shape (n, d)
        The map of all answers.
    maps : ndarray, shape (B, n, d)
        Maps of resampled answers, each aligned to it. An item is NaN where a resample has none of
        its answers; a map is, where it could not be fitted.
    items : ndarray, shape (n,)

    Attributes
    ----------
    covariance : ndarray, shape (n, d, d)
        Of each item's coordinates over the maps that place it; NaN with fewer than two of them.
    standard_errors : ndarray, shape (n, d)
    n_placed : ndarray of int, shape (n,)
        How many of the maps place each item.
    """

    def __init__(self, embedding: np.ndarray, maps: np.ndarray, items: np.ndarray) -> None:
        self.embedding, self.maps, self.items = embedding, maps, items

    @cached_property
    def n_placed(self) -> np.ndarray:
        """How many of the maps place each item."""
        return np.isfinite(self.maps).all(axis=2).sum(axis=0)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Of each item's coordinates, over the maps that place it."""
        number = self.n_placed[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            away = np.nan_to_num(self.maps - np.nansum(self.maps, axis=0) / number)
            found = np.einsum("bik,bil->ikl", away, away) / (number[:, None] - 1)
        return np.where(number[:, None] > 1, found, np.nan)

    @property
    def standard_errors(self) -> np.ndarray:
        """Of each coordinate."""
        return standard_errors(self.covariance)

    def _uncertain_map(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.embedding, self.covariance, self.items

    def __repr__(self) -> str:
        n_maps, n, d = self.maps.shape
        return f"Bootstrap({n_maps:,} maps of {n:,} items in {d} dimension{'s' * (d > 1)})"


def bootstrap(
    estimator: "Embedder",
    triplets: Any,
    y: Any = None,
    *,
    n_boot: int = 200,
    by: str = "answer",
    random_state: Any = None,
    n_jobs: int | None = -1,
    verbose: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Bootstrap:
    """Fit a map again and again to resampled answers, and see how far its items move.

    It assumes nothing about how people err, and suits any method. Whole answers are drawn with
    replacement, as many as there are, or whole participants. A weight counts votes: a row of weight
    w stands for w answers. What the first fit chose stays chosen, and each of the others begins at
    its map, where the method takes a start: so their spread is that around this map, and tells
    nothing about other maps that fit nearly as well.

    Parameters
    ----------
    estimator : Embedder
        If it is fitted already, to these triplets, its map is the one of all answers.
    triplets : triplets in any form
    y : array-like of +1 and -1, or of bool, shape (m,), optional
        How the rows were answered, if the fit was given it.
    n_boot : int
        How many maps. With 200 of them, a standard error is known to about 5 %.
    by : {"answer", "participant"}
        What is drawn. Participants differ in more than chance: drawn as a whole, they tell how far
        the map would move if other people had answered.
    random_state : int, Generator or None
        The same seed gives the same maps on any number of threads.
    n_jobs : int
        How many fits run at a time; -1 for as many as :func:`ordinate.threads` allows.
    verbose : int
        1 prints how many maps are done, and how much time is left.
    tell : function of str, optional
        Called with the same words instead.

    Returns
    -------
    Bootstrap

    Warns
    -----
    UserWarning
        Some items lose all of their answers in some resamples, or some resamples cannot be fitted.

    Examples
    --------
    >>> from ordinate import STE, bootstrap, sample_points, sample_triplets
    >>> triplets = sample_triplets(sample_points(20, random_state=0), 4000, random_state=0)
    >>> found = bootstrap(STE(random_state=0), triplets, n_boot=20, random_state=0)
    >>> found
    Bootstrap(20 maps of 20 items in 2 dimensions)
    >>> found.standard_errors.shape
    (20, 2)
    """
    refuse_class(estimator)
    n_boot = check_whole("n_boot", n_boot, least=2)
    check_choice("by", by, ("answer", "participant"))
    workers = _workers(n_jobs)
    data = answered(triplets, as_triplets(triplets, n_items=estimator.n_items), y)
    fitted = hasattr(estimator, "embedding_")
    if fitted and not np.array_equal(data.items, estimator.items_):
        raise ValueError(
            "the triplets are about other items than the estimator was fitted to: give those of "
            "the fit, or an estimator that is not fitted"
        )
    model = estimator if fitted else clone(estimator).fit(data)
    draw = _drawing(data, by)
    seeds = seed_sequence(random_state).spawn(n_boot)
    say = tell or (_print if verbose else lambda _: None)

    def fit_again(number: int) -> np.ndarray | str:
        generator = np.random.default_rng(seeds[number])
        weight = draw(generator)
        taken = data[weight > 0]
        taken.weight = weight[weight > 0]
        try:
            again = model._fitted_again(taken, random_state=generator, callback=None, verbose=0)
            return _aligned(again.embedding_, model.embedding_)
        except ValueError as error:
            return str(error)

    maps = np.full((n_boot, *model.embedding_.shape), np.nan)
    failed: list[str] = []
    began = time.perf_counter()
    # Where fits run side by side, each has one thread. Filters of warnings are the process's, not a
    # thread's: set here, for all of them. The fit to all answers has warned of the same.
    alone = threads(1) if workers > 1 else nullcontext()
    with warnings.catch_warnings(), single_threaded_blas(), alone:
        warnings.simplefilter("ignore")
        found = in_order(fit_again, range(n_boot), workers=workers, ahead=2 * workers)
        for number, points in enumerate(found):
            if isinstance(points, str):
                failed.append(points)
            else:
                maps[number] = points
            if (number + 1) % max(1, n_boot // TELL) == 0 or number == 0:
                say(_progress(number + 1, n_boot, time.perf_counter() - began))
    result = Bootstrap(model.embedding_, maps, model.items_)
    _warn(result, failed)
    return result


def _drawing(triplets: Triplets, by: str) -> Callable[[np.random.Generator], np.ndarray]:
    """Return what draws a resample: the weight (m,) of each row in it."""
    weight = triplets._weights
    if by == "participant":
        unit = triplets.groups("participant")
        times = np.ones(int(unit.max()) + 1)
    else:
        unit = independent_answers(triplets)
        times = np.bincount(unit, weight) / np.bincount(unit)
    n_draws = max(1, round(times.sum()))
    share = times / times.sum()

    def draw(generator: np.random.Generator) -> np.ndarray:
        return (weight / times[unit]) * generator.multinomial(n_draws, share)[unit]

    return draw


def _aligned(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Align those items that have a place in both maps; NaN for the others."""
    both = np.isfinite(points).all(axis=1) & np.isfinite(reference).all(axis=1)
    aligned = np.full(reference.shape, np.nan)
    aligned[both] = align(points[both], reference[both])
    return aligned


def _workers(n_jobs: int | None) -> int:
    """How many fits run at a time, in the words of scikit-learn: -1 for all, -2 for all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, (int, np.integer)) and n_jobs < 0:
        return max(1, n_threads() + 1 + int(n_jobs))
    return check_whole("n_jobs", n_jobs)


def _progress(done: int, n_boot: int, seconds: float) -> str:
    left = seconds * (n_boot / done - 1)
    return f"{done:,} of {n_boot:,} maps, about {left:.0f} s left"


def _print(text: str) -> None:
    print(f"[bootstrap] {text}", file=sys.stderr)


def _warn(found: Bootstrap, failed: list[str]) -> None:
    """Tell which items and which maps are missing."""
    n_boot, n_fitted = len(found.maps), len(found.maps) - len(failed)
    if n_fitted < 2:
        raise ValueError(
            Message(
                f"{len(failed):,} of {n_boot:,} resamples could not be fitted, the first because: "
                f"{failed[0]}. Collect more answers, or take ",
                Option("by", "answer"),
            )
        )
    if failed:
        warnings.warn(
            f"{len(failed):,} of {n_boot:,} resamples could not be fitted and are left out (NaN); "
            f"the first because: {failed[0]}",
            UserWarning,
            stacklevel=3,
        )
    lost = (found.n_placed < n_fitted) & np.isfinite(found.embedding).all(axis=1)
    if lost.any():
        least = int(found.n_placed[lost].min())
        warnings.warn(
            f"{counted(lost.sum(), 'item has', 'items have')} no answers in some resamples, and no "
            f"place (NaN) there; errors come from the other maps, at least {least:,} of "
            f"{n_fitted:,}, and are too small: {some(found.items[lost])}",
            UserWarning,
            stacklevel=3,
        )
