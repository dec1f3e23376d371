"""The number of dimensions, by answers that maps have not seen.

Maps of parts of the answers are made in every dimension and judged by the answers left out, answer
by answer. The descent begins in the highest dimension, where few local optima are in the way; each
map, without its weakest principal axis, is the start of the next. How answers follow the maps of
one dimension (:mod:`ordinate.algorithms.response`) says which loss makes those of the next.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordinate._base.arrays import on_host
from ordinate._base.checks import check_choice, check_whole, random_generator
from ordinate._base.device import choose_device
from ordinate._base.messages import Message, Option, counted
from ordinate._base.threads import single_threaded_blas
from ordinate.algorithms.dimension_choice import LEAST_BITS, DimensionChoice, Tried
from ordinate.algorithms.response import fit_response
from ordinate.algorithms.scaling import principal_axes
from ordinate.algorithms.selection import (
    Judged,
    Maker,
    Part,
    at_best_scale,
    compared,
    fit_map,
    mean_of_answers,
    rightly_predicted,
)
from ordinate.algorithms.spectral import spectral_start
from ordinate.data.folds import sampled_answers, shuffled_folds
from ordinate.data.summary import ceiling
from ordinate.data.triplets import Triplets
from ordinate.files.inputs import as_triplets
from ordinate.passes import store_of

DIMENSIONS = range(1, 7)  # tried where none are named
MOST_ROWS = 300_000  # beyond, a sample of the answers judges
FOLDS = 10  # one part in so many judges the maps of the others
LEAST_PARTS = 3  # that are judged in turn
SEVERAL = 500_000  # rows of all of them: fewer answers, more parts
TUNING = 4  # parts that choose the ridge
FIRST = (0.5, 0.1)  # power and slope of the first loss
POWERS = (0.0, 1.0)  # of losses that make maps
STEP = 3.0  # from one ridge to the next


def choose_dimension(
    triplets: Any,
    dimensions: Iterable[int] | str = "auto",
    *,
    n_items: int | None = None,
    backend: str = "auto",
    device: Any = None,
    random_state: Any = None,
    tell: Callable[[str], Any] = lambda message: None,
) -> DimensionChoice:
    """Find how many dimensions unseen answers speak for.

    Parameters
    ----------
    triplets : Triplets, array-like of int (m, 3), DataFrame, Arrow table, or a file
        Rows ``(anchor, near, far)``.
    dimensions : iterable of int, or "auto"
        Those to try; "auto" tries 1 to 6.
    n_items : int, optional
        Number of items, if some may occur in no triplet.
    backend : {"auto", "numba", "numpy"}
    device : None, "cpu", "cuda", "cuda:<number>", "auto" or torch.device
        As for :class:`ordinate.OrdinalEmbedding`, and so is `backend`.
    random_state : int, Generator or None
        For dealing answers into parts, and random starts.
    tell : function of str
        Called with each dimension before it is tried.

    Returns
    -------
    DimensionChoice

    Examples
    --------
    >>> from ordinate import choose_dimension, sample_points, sample_triplets
    >>> points = sample_points(30, 2, random_state=0)
    >>> triplets = sample_triplets(points, 6000, random_state=0)
    >>> found = choose_dimension(triplets, range(1, 4), random_state=0)
    >>> found.n_components
    2
    >>> print(found.sentence)
    two dimensions: a third predicts no more unseen answers
    """
    known = as_triplets(triplets, n_items=n_items)
    tried = check_dimensions("dimensions", dimensions, known.n_items)
    generator = random_generator(random_state).spawn(1)[0]
    return judge_dimensions(known, tried, generator, backend, choose_device(device), tell)


def check_dimensions(
    name: str, given: Iterable[int] | str, n_items: int | None = None
) -> list[int]:
    """Return the dimensions to try, in order; each less than the number of items, if given."""
    if isinstance(given, str):
        check_choice(f"{name} (if it is a word)", given, ("auto",))
        return [d for d in DIMENSIONS if n_items is None or d < n_items]
    if not isinstance(given, Iterable):
        raise ValueError(
            Message(
                Option(name), f" must be several numbers to choose among, or 'auto'; got {given!r}"
            )
        )
    found = sorted({check_whole(name, d) for d in given})
    if not found:
        raise ValueError(Message(Option(name), " must name at least one number of dimensions"))
    if n_items is not None and found[-1] >= n_items:
        raise ValueError(
            Message(
                Option(name),
                f" must be less than the number of items, {n_items:,}; got {found[-1]:,}",
            )
        )
    return found


def judge_dimensions(
    triplets: Triplets,
    dimensions: Sequence[int],
    generator: np.random.Generator,
    backend: str,
    device: str,
    tell: Callable[[str], Any],
) -> DimensionChoice:
    """Find the number of dimensions; see :func:`choose_dimension`."""
    with single_threaded_blas():
        parts, eigenvalues = _parts(triplets, max(dimensions), generator, backend, device)
        judged = _descend(parts, sorted(dimensions, reverse=True), tell)
        tried = _table(judged, parts)
    rows = sum(len(part.others) for part in parts)
    answers = sum(int(part.others.groups("answer").max()) + 1 for part in parts)
    total = parts[0].fitted.total + parts[0].judging.total
    bound = ceiling(triplets._agreement)
    found = DimensionChoice(
        None,
        tried,
        eigenvalues,
        triplets.n_items,
        round(total * answers / rows),
        None if bound is None else bound.high,
    )
    if found.bits < LEAST_BITS:
        return found
    return replace(found, n_components=found._smallest.n_components)


def _parts(
    triplets: Triplets, d: int, generator: np.random.Generator, backend: str, device: str
) -> tuple[list[Part], np.ndarray]:
    """Deal the answers, or a sample of them, into parts, each with a start in d dimensions.

    Returns the eigenvalues of the first start, too.
    """
    triplets = sampled_answers(triplets, MOST_ROWS, generator)
    groups = triplets.groups("answer")
    n_answers = int(groups.max()) + 1
    if n_answers < FOLDS:
        raise ValueError(
            f"unseen answers choose the number of dimensions, one part in {FOLDS} at a time, and "
            f"{counted(n_answers, 'answer is', 'answers are')} too few: name the number of "
            "dimensions"
        )
    fold = shuffled_folds(groups, np.full(FOLDS, 1 / FOLDS), generator)
    n_parts = int(np.clip(SEVERAL // len(triplets), LEAST_PARTS, FOLDS))
    parts, eigenvalues = [], []
    for k in range(n_parts):
        fitted, others = triplets[fold != k], triplets[fold == k]
        store = store_of(fitted, backend, device)
        start = spectral_start(store, d, generator)
        judging = store_of(others, backend, device)
        parts.append(Part(store, judging, others, on_host(start.points)))
        eigenvalues.append(start.eigenvalues)
    return parts, eigenvalues[0]


def _descend(
    parts: Sequence[Part], dimensions: Sequence[int], tell: Callable[[str], Any]
) -> list[Judged]:
    """Make and judge maps of all parts, from the highest dimension down."""
    shape = Maker(*FIRST, 0.0)
    parts = [part._replace(start=on_host(at_best_scale(part, shape.loss))) for part in parts]
    factor = 1.0
    found: list[Judged] = []
    for d in dimensions:
        tell(f"{d} dimension{'s' * (d > 1)}")
        parts = [part._replace(start=part.start[:, :d]) for part in parts]
        if not found:  # nothing is known of how people answer yet
            shape, parts = _follow(parts, _judge(parts, _maker(parts, shape, factor)))
        factor, tuned = _tune(parts[:TUNING], shape, factor)
        found.append(_judge(parts, tuned.maker, tuned.maps))
        shape, parts = _follow(parts, found[-1])
    return found


def _tune(parts: Sequence[Part], shape: Maker, factor: float) -> tuple[float, Judged]:
    """Find the ridge, from a given one, which stays unless another is better beyond doubt."""
    tuned = {f: _judge(parts, _maker(parts, shape, f)) for f in (factor, factor / STEP)}
    step = STEP
    while True:
        tuned[factor * step] = _judge(parts, _maker(parts, shape, factor * step))
        best = min(tuned, key=lambda f: tuned[f].response.value)
        if compared([tuned[best], tuned[factor]], parts)[1].on_par or best == factor:
            return factor, tuned[factor]
        factor, step = best, STEP if best > factor else 1 / STEP


def _follow(parts: Sequence[Part], judged: Judged) -> tuple[Maker, list[Part]]:
    """Go on from maps: with the loss that answers follow, and of the size that they show."""
    scale, power, slope = judged.response[:3]
    starts = [principal_axes(scale * on_host(points)) for points in judged.maps]
    moved = [part._replace(start=start) for part, start in zip(parts, starts, strict=True)]
    return Maker(power, slope, 0.0), moved


def _maker(parts: Sequence[Part], shape: Maker, factor: float) -> Maker:
    """The loss with a ridge that is the prior of coordinates as large as those of the starts."""
    square = np.mean([(part.start**2).mean() for part in parts])
    return shape._replace(regularization=float(factor / max(square, 1e-300)))


def _judge(parts: Sequence[Part], maker: Maker, maps: Sequence[np.ndarray] = ()) -> Judged:
    """Make the maps of all parts, of which the first may be known, and judge them."""
    made = [fit_map(part, maker, part.start) for part in parts[len(maps) :]]
    maps = [*maps, *made]
    seen = [(part.judging, points) for part, points in zip(parts, maps, strict=True)]
    return Judged(maker, maps, fit_response(seen, maker.loss, POWERS))


def _table(judged: list[Judged], parts: Sequence[Part]) -> list[Tried]:
    """Hold every dimension against the best, answer by answer."""
    # Maps that share most of their answers err together, as other answers' maps would not: what
    # that adds to the variance of a mean over parts (Nadeau and Bengio, 2003).
    share = sum(part.judging.total for part in parts) / parts[0].fitted.total
    widened = float(np.sqrt(1 + share))
    by_value = compared(sorted(judged, key=lambda j: j.response.value), parts)
    best = rightly_predicted(by_value[0], parts)
    rows = []
    for tried in by_value:
        right = rightly_predicted(tried, parts)
        less, error = mean_of_answers([b - r for b, r in zip(best, right, strict=True)], parts)
        rows.append(
            Tried(
                tried.maps[0].shape[1],
                -tried.response.value,
                tried.behind,
                widened * tried.error,
                tried.accuracy,
                less,
                widened * error,
            )
        )
    return sorted(rows)
