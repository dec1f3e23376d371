"""Methods under the names and with the settings that experiments compare them by."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ordinate.algorithms.landmark_choice import n_landmarks
from ordinate.data.simulate import sample_triplets
from ordinate.data.triplets import Triplets
from ordinate.estimators import GNMDS, LOE, STE
from ordinate.study.experiments._frame import Tracked, about_landmarks, track

# The paper's baselines begin at random.
COLD: dict[str, Callable[[int, int], Any]] = {
    "STE, cold": lambda d, seed: STE(d, init="random", random_state=seed),
    "GNMDS, cold": lambda d, seed: GNMDS(d, init="random", random_state=seed, tol=1e-3),
}


def cold(points: np.ndarray, triplets: Triplets, seed: int) -> dict[str, Tracked]:
    """The paper's baselines, from random starts."""
    d = points.shape[1]
    return {name: track(make(d, seed), points, triplets) for name, make in COLD.items()}


def spectral(points: np.ndarray, triplets: Triplets, seed: int) -> Tracked:
    """Our STE, from the spectral start."""
    d = points.shape[1]
    return track(STE(d, init="spectral", random_state=seed), points, triplets)


def loe(points: np.ndarray, m: int, l: int, seed: int, **options: Any) -> Tracked:
    """LOE on m triplets about l landmarks."""
    return track(LOE(points.shape[1], **options), points, about_landmarks(points, m, l, seed))


def warm(points: np.ndarray, m: int, epsilon: float, seed: int) -> Tracked:
    """LOE-STE: a share epsilon of the budget about landmarks, the rest uniform."""
    n, d = points.shape
    about = round(epsilon * m)
    landmark = about_landmarks(points, about, n_landmarks(n, d, about), seed)
    rest = sample_triplets(points, m - about, random_state=seed + 3000)
    return track(STE(d, init="loe", random_state=seed), points, rest, init_triplets=landmark)
