"""The oracle: points, questions and noisy answers with a known truth.

An answer to "is j or k farther from i?" says j with probability f(D_ij - D_ik), where D holds the
squared distances and f is the noise model, a function from differences to probabilities; or, with
:class:`Power`, a function of the two.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate._base.checks import (
    check_choice,
    check_integers,
    check_points,
    check_whole,
    random_generator,
    seed_sequence,
)
from ordinate._base.messages import Message, Option
from ordinate._base.threads import blocks, run
from ordinate.data.triplets import Triplets
from ordinate.kernels.losses import Loss, power_family


@dataclass(frozen=True)
class Power:
    """The power family of noise models: how people err who compare powers of distances.

    Of two items, the one at squared distance v is called farther than the one at u with probability
    ``lapse / 2 + (1 - lapse) f(slope (link(v) - link(u)))``, where f is the logistic function and
    ``link(u) = ((1 + u)^power - 1) / power``, or log(1 + u) at power 0.

    Parameters
    ----------
    power : float
        From -10 to below 10. 1 compares squared distances, as "btl" does; 1/2 distances, where they
        are large; 0 ratios.
    slope : float
        Above 0: how clear answers are.
    lapse : float
        From 0 to below 1: the share of answers that are guesses, whatever the distances.

    Examples
    --------
    >>> from ordinate import Power, sample_points, sample_triplets
    >>> points = sample_points(100, random_state=0)
    >>> sample_triplets(points, 5000, noise=Power(power=0.5, slope=4, lapse=0.05), random_state=0)
    Triplets(5,000 rows, 100 items)
    """

    power: float = 1.0
    slope: float = 1.0
    lapse: float = 0.0

    def __post_init__(self) -> None:
        power_family(self.power, self.slope, self.lapse)


Noise = str | float | Power | Callable[[np.ndarray], np.ndarray]
NOISES = ("none", "btl", "thurstone")
Distances = np.ndarray | Callable[[np.ndarray, np.ndarray], np.ndarray]

# Every block has a random stream of its own, so that rows depend on the seed alone: not on the
# number of threads, nor on how many rows are asked for at a time.
BLOCK = 1 << 16
BLOCKS_AT_A_TIME = 64


def sample_points(
    n_items: int,
    n_components: int = 2,
    *,
    distribution: str = "normal",
    centred: bool = False,
    random_state: Any = None,
) -> np.ndarray:
    """Draw the true positions of items.

    Parameters
    ----------
    n_items, n_components : int
        Number of items n and of dimensions d.
    distribution : {"normal", "uniform"}
        Normal with standard deviation ``1 / sqrt(2 d)`` per coordinate, so that the mean squared
        distance between two items is 1 in every dimension; or uniform on ``[0, 1]^d``.
    centred : bool
        Move the mean to the origin.
    random_state : int, Generator or None

    Returns
    -------
    ndarray, shape (n_items, n_components)

    Examples
    --------
    >>> from ordinate import sample_points
    >>> sample_points(1000, 3, random_state=0).shape
    (1000, 3)
    """
    n_items = check_whole("n_items", n_items)
    n_components = check_whole("n_components", n_components)
    check_choice("distribution", distribution, ("normal", "uniform"))
    rng = random_generator(random_state)
    if distribution == "normal":
        points = rng.normal(scale=1 / np.sqrt(2 * n_components), size=(n_items, n_components))
    else:
        points = rng.random((n_items, n_components))
    return points - points.mean(axis=0) if centred else points


def sample_triplets(
    points: Any = None,
    n_triplets: int | None = None,
    *,
    squared_distances: Distances | None = None,
    n_items: int | None = None,
    noise: Noise = "btl",
    design: str = "uniform",
    landmarks: int | Sequence[int] | np.ndarray | None = None,
    random_state: Any = None,
) -> Triplets:
    """Ask questions at random and answer them with noise.

    Parameters
    ----------
    points : array-like, shape (n_items, d), optional
        True positions. Give these or `squared_distances`.
    n_triplets : int
        Number of answers.
    squared_distances : array (n_items, n_items) or function, optional
        Any dissimilarity in place of squared distances between points; a function takes two
        index arrays (i, j), returns the dissimilarity of each pair, and needs `n_items`.
    n_items : int, optional
        Number of items, with a function for `squared_distances`.
    noise : {"none", "btl", "thurstone"}, float, Power or function
        How the probability that j is called farther than k follows from the difference
        ``D_ij - D_ik``: always the truth, logistic, normal; a number p between 0 and 1/2 is the
        probability of a wrong answer, whatever the difference; a function gives the probability
        itself. A :class:`Power` compares powers of the two, and people may lapse. Ties are
        answered at random.
    design : {"uniform", "landmarks"}
        Anchors and pairs drawn uniformly; or each landmark the anchor of an equal number of
        uniformly drawn pairs of other items, rows in the order of the anchors.
    landmarks : int or sequence of int
        For the landmark design: the landmarks, or how many to draw.
    random_state : int, Generator or None
        The same seed gives the same rows on any number of threads.

    Returns
    -------
    Triplets

    Examples
    --------
    >>> from ordinate import sample_points, sample_triplets
    >>> points = sample_points(100, random_state=0)
    >>> sample_triplets(points, 5000, random_state=0)
    Triplets(5,000 rows, 100 items)
    >>> sample_triplets(points, 5000, noise=0.15, design="landmarks", landmarks=5, random_state=0)
    Triplets(5,000 rows, 100 items)
    """
    oracle = _Oracle(
        points, n_triplets, squared_distances, n_items, noise, design, landmarks, random_state
    )
    return oracle.triplets(blocks(oracle.n_triplets, BLOCK))


def iter_triplets(*arguments: Any, **options: Any) -> Iterator[Triplets]:
    """Yield the rows of :func:`sample_triplets` piece by piece, for sets larger than memory.

    Takes the arguments of `sample_triplets`; the pieces, of about four million rows each, make up
    what that returns for the same seed.

    Examples
    --------
    >>> from ordinate import simulate
    >>> points = simulate.sample_points(50, random_state=0)
    >>> sum(len(piece) for piece in simulate.iter_triplets(points, 10_000, random_state=0))
    10000
    """
    oracle = _Oracle(*arguments, **options)
    parts = blocks(oracle.n_triplets, BLOCK)
    for start in range(0, len(parts), BLOCKS_AT_A_TIME):
        yield oracle.triplets(parts[start : start + BLOCKS_AT_A_TIME])


class _Oracle:
    """Asks and answers any block of rows, as a function of the seed and the block's place."""

    def __init__(
        self,
        points: Any = None,
        n_triplets: int | None = None,
        squared_distances: Distances | None = None,
        n_items: int | None = None,
        noise: Noise = "btl",
        design: str = "uniform",
        landmarks: int | Sequence[int] | np.ndarray | None = None,
        random_state: Any = None,
    ) -> None:
        if n_triplets is None:
            raise TypeError("n_triplets, the number of answers, must be given")
        self.n_triplets = check_whole("n_triplets", n_triplets)
        self.distance, self.n_items = _distance_function(points, squared_distances, n_items)
        self.farther = _farther_probability(noise)
        self.seed = seed_sequence(random_state)
        check_choice("design", design, ("uniform", "landmarks"))
        self.landmarks: np.ndarray | None = None
        if design == "landmarks":
            self.landmarks = check_landmarks(landmarks, self.n_items, self._stream("landmarks"))
        elif landmarks is not None:
            raise ValueError(Message("landmarks go with ", Option("design", "landmarks")))

    def triplets(self, parts: list[slice]) -> Triplets:
        """Return the rows of consecutive blocks."""
        first = parts[0].start
        rows = np.empty((parts[-1].stop - first, 3), np.int32)

        def fill(part: slice) -> None:
            rows[part.start - first : part.stop - first] = self._answer(part)

        run(fill, parts)
        return Triplets(rows, n_items=self.n_items)

    def _stream(self, *key: int | str) -> np.random.Generator:
        numbers = [int.from_bytes(k.encode()[:4]) if isinstance(k, str) else k for k in key]
        return np.random.default_rng(
            np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *numbers))
        )

    def _answer(self, part: slice) -> np.ndarray:
        """Return the triplets (size, 3) of one block."""
        rng, size, n = self._stream(part.start // BLOCK), part.stop - part.start, self.n_items
        if self.landmarks is None:
            i = rng.integers(n, size=size, dtype=np.int32)
        else:
            row = np.arange(part.start, part.stop)
            i = self.landmarks[row * len(self.landmarks) // self.n_triplets]
        # Drawn among the n - 1, then n - 2 items left, and moved past those taken.
        j = rng.integers(n - 1, size=size, dtype=np.int32)
        j += j >= i
        k = rng.integers(n - 2, size=size, dtype=np.int32)
        k += k >= np.minimum(i, j)
        k += k >= np.maximum(i, j)
        to_j, to_k = self.distance(i, j), self.distance(i, k)
        j_farther = rng.random(size) < self.farther(to_j, to_k)
        return np.column_stack([i, np.where(j_farther, k, j), np.where(j_farther, j, k)])


def _distance_function(
    points: Any, squared_distances: Distances | None, n_items: int | None
) -> tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], int]:
    """Return a function of index arrays (i, j) to squared distances, and the number of items."""
    if (points is None) == (squared_distances is None):
        raise ValueError("give either points or squared_distances")
    if callable(squared_distances):
        if n_items is None:
            raise ValueError("a function for squared_distances needs n_items")
        return squared_distances, check_whole("n_items", n_items, least=3)
    name = "points" if squared_distances is None else "squared_distances"
    array = check_points(name, points if squared_distances is None else squared_distances)
    if n_items is not None and n_items != len(array):
        raise ValueError(f"n_items is {n_items}, but {name} has {len(array)} rows")
    if len(array) < 3:
        raise ValueError(f"a triplet needs three items; {name} has {len(array)} rows")
    if squared_distances is None:
        return lambda i, j: pair_distances(array, i, j), len(array)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"squared_distances must be a square matrix; got shape {array.shape}")
    return lambda i, j: array.take(i * np.int64(len(array)) + j), len(array)


def pair_distances(points: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the squared distance of each pair of rows ``points[i]``, ``points[j]``."""
    differences = points.take(i, axis=0) - points.take(j, axis=0)
    return np.einsum("ij,ij->i", differences, differences)


def _farther_probability(noise: Noise) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the probability that the first of two squared distances is called the larger."""
    if isinstance(noise, Power):
        loss = power_family(noise.power, noise.slope, noise.lapse)
        return lambda one, other: _power_probability(loss, one, other)
    f = _of_difference(noise)
    return lambda one, other: f(one - other)


def _power_probability(loss: Loss, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    least = min(one.min(), other.min())
    if least < 0:
        raise ValueError(
            f"squared_distances must be at least 0 for Power to take powers of them; got {least:g}"
        )
    return loss.probability(other, one)


def _of_difference(noise: Noise) -> Callable[[np.ndarray], np.ndarray]:
    """Return the noise model f: the probability of "farther" as a function of the difference."""
    if callable(noise):
        return lambda difference: _check_probability(noise(difference), difference)
    if isinstance(noise, (int, float)) and not isinstance(noise, bool):
        if not 0 <= noise <= 0.5:
            raise ValueError(
                f"noise as a number is the share of wrong answers, 0 to 1/2; got {noise}"
            )
        return lambda difference: 0.5 + (0.5 - noise) * np.sign(difference)
    check_choice("noise (if it is neither a number, Power nor a function)", noise, NOISES)
    if noise == "none":
        return _of_difference(0.0)
    from scipy.special import expit, ndtr

    return expit if noise == "btl" else ndtr


def _check_probability(probability: Any, difference: np.ndarray) -> np.ndarray:
    array = np.asarray(probability, float)
    if array.shape != difference.shape or not ((array >= 0) & (array <= 1)).all():
        raise ValueError(
            "a noise function must return a probability for each difference: values in [0, 1], "
            f"shape {difference.shape}; got shape {array.shape} with values from "
            f"{array.min()} to {array.max()}"
        )
    return array


def check_landmarks(landmarks: Any, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Return the ids of landmarks in order, given them or how many are to be drawn."""
    if landmarks is None:
        raise ValueError(
            Message(
                Option("design", "landmarks"), " needs landmarks: their ids, or how many to draw"
            )
        )
    if np.ndim(landmarks) == 0:
        n_landmarks = check_whole("landmarks", landmarks, most=n_items)
        return np.sort(rng.choice(n_items, n_landmarks, replace=False)).astype(np.int32)
    ids = check_integers("landmarks", landmarks)
    if ids.ndim != 1 or len(ids) == 0 or len(np.unique(ids)) < len(ids):
        raise ValueError("landmarks must be a list of different ids")
    if ids.min() < 0 or ids.max() >= n_items:
        raise ValueError(f"landmarks must lie in 0..{n_items - 1}; got {ids.tolist()}")
    return np.sort(ids).astype(np.int32)
