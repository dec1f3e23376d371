"""
Dishes, with pictures
=====================

A map of pictures is best read with the pictures on it. These plates are drawn, not photographed:
each has a sauce between green and red and some number of peas. Simulated guests were asked which
of two dishes tastes more like a third.
"""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ordinate import STE, Triplets, plot_map, sample_triplets

rng = np.random.default_rng(4)
taste = rng.uniform(-1, 1, size=(60, 2))  # hot or mild, many peas or few
labels = [f"dish {k}" for k in range(len(taste))]


def plate(hot: float, peas: float) -> np.ndarray:
    """A picture of a dish."""
    figure = Figure(figsize=(0.8, 0.8), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1), aspect="equal", xlim=(-1, 1), ylim=(-1, 1))
    axes.axis("off")
    axes.add_patch(Circle((0, 0), 0.95, facecolor="#eeeeea", edgecolor="#b9b9b4"))
    share = (hot + 1) / 2
    axes.add_patch(Circle((0, 0), 0.66, facecolor=(0.35 + 0.5 * share, 0.65 - 0.45 * share, 0.2)))
    for angle in np.linspace(0, 2 * np.pi, round(3 + 5 * (peas + 1)), endpoint=False):
        spot = 0.45 * np.cos(angle), 0.45 * np.sin(angle)
        axes.add_patch(Circle(spot, 0.09, facecolor="#d8f29a", edgecolor="#5d7f1f", linewidth=0.5))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


# %%
# 100 answers for each coordinate, by guests who err as Bradley and Terry have it.

answers = sample_triplets(3 * taste, 100 * taste.size, random_state=0)
triplets = Triplets(answers.rows, items=labels)
model = STE(n_components=2, random_state=0).fit(triplets)

# %%
# Pictures go by label. Those that would cover each other move apart, with a line to the place.

pictures = {label: plate(*of) for label, of in zip(labels, taste, strict=True)}
plot_map(model, images=pictures, image_size=9, ellipses=False, width="page")
