"""A map of handwritten digits from noisy comparisons alone.

Takes the 1,797 digits that scikit-learn ships, asks "is this digit or that one more like this
one?", answers by the pixels with every seventh answer wrong, and embeds the answers. Draws the map
with the digits themselves and tells how well its clusters match the digits.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

from ordinate._base.writing import whole_file
from ordinate.data.simulate import sample_triplets
from ordinate.estimators import TSTE
from ordinate.evaluation.metrics import CHANCE, purity, triplet_error

WRONG = 0.15


def main(out: Path, n_triplets: int, seed: int) -> float:
    """Simulate answers, embed them, draw the map; return the purity of its clusters."""
    digits = load_digits()
    pixels, kinds = digits.data, digits.target
    n = len(pixels)

    print(f"{n:,} digits, {n_triplets:,} answers, {WRONG:.0%} of them wrong")
    answers = sample_triplets(
        squared_distances=euclidean_distances(pixels, squared=True),
        n_triplets=n_triplets,
        noise=WRONG,
        random_state=seed,
    )
    train, test = answers.split(0.1, random_state=seed)

    began = time.perf_counter()
    model = TSTE(n_components=2, random_state=seed).fit(train)
    print(f"embedded in {time.perf_counter() - began:.2f} s, {model.n_passes_:.1f} passes")
    predicted, best = model.score(test), 1 - WRONG
    print(f"held-out answers predicted: {predicted:.1%} (chance {CHANCE:.0%}, at best {best:.0%})")
    wrong = triplet_error(model.embedding_, truth=pixels, random_state=seed)
    print(f"wrong on the true order:    {wrong:.1%} (chance {CHANCE:.0%})")

    clusters = KMeans(10, n_init=10, random_state=seed).fit_predict(model.embedding_)
    found = purity(clusters, kinds)
    print(f"purity of 10 clusters:      {found:.3f}")

    draw(model.embedding_, digits.images, kinds, found, out)
    print(f"picture: {out}")
    return found


def draw(
    points: np.ndarray, images: np.ndarray, kinds: np.ndarray, found: float, out: Path
) -> None:
    """Paint each digit, tinted by its kind, at its place on one canvas."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from scipy.ndimage import zoom

    size, side = 1800, 32
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    middle, reach = (low + high) / 2, (high - low).max() / 2 * 1.06
    where = (points - middle) / (2 * reach) + 0.5
    colours = colormaps["tab10"].colors
    canvas = np.ones((size, size, 3))
    for place, image, kind in zip(where, images, kinds, strict=True):
        column, row = (place * [1, -1] + [0, 1]) * (size - side)
        if not (0 <= row < size - side and 0 <= column < size - side):
            continue
        row, column = int(row), int(column)
        ink = np.clip(zoom(image / 16, side / 8, order=1), 0, 1)[:, :, None]
        patch = canvas[row : row + side, column : column + side]
        patch += ink * (np.array(colours[kind]) - patch)
    outside = int(((where < 0) | (where >= 1)).any(axis=1).sum())

    figure = Figure(figsize=(9, 9.4), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(canvas, interpolation="bilinear")
    axes.set_axis_off()
    note = f", {outside} beyond the frame" if outside else ""
    axes.set_title(
        f"{len(points):,} digits from comparisons, {WRONG:.0%} of them wrong\n"
        f"purity {found:.2f}{note}",
        fontsize=13,
    )
    for kind, colour in enumerate(colours):
        axes.plot([], [], "o", color=colour, label=str(kind), markersize=8)
    axes.legend(ncols=10, loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False, fontsize=12)
    with whole_file(out) as partial:
        figure.savefig(partial, dpi=110, format="png")
