"""
Letters, by the odd one out
===========================

Three letters are shown; which one looks least like the others? Each answer says two things: both
others are nearer to each other than to the odd one. Here the people are simulated: they compare
the ink of blurred letters, with some noise.
"""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.ndimage import gaussian_filter

from ordinate import OrdinalEmbedding, answers, plot_map

letters = list("abcdefghijklmnopqrstuvwxyz")


def ink(letter: str) -> np.ndarray:
    """A blurred picture of a letter."""
    figure = Figure(figsize=(0.64, 0.64), dpi=100)
    figure.text(0.5, 0.3, letter, ha="center", fontsize=30, family="DejaVu Sans")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return gaussian_filter(255.0 - np.asarray(canvas.buffer_rgba())[..., 0], 3)


pictures = np.array([ink(letter).ravel() for letter in letters])
pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
distances = np.linalg.norm(pictures[:, None] - pictures, axis=2)

# %%
# 8,000 questions. Of the three pairs, the one that looks most alike stays, and the third letter is
# the odd one.

rng = np.random.default_rng(0)
shown = np.array([rng.choice(26, 3, replace=False) for _ in range(8000)])
pairs = [(1, 2), (0, 2), (0, 1)]  # the pair that is left when the k-th letter is the odd one
seen = np.stack([distances[shown[:, a], shown[:, b]] for a, b in pairs], axis=1)
odd = np.argmin(seen + rng.gumbel(scale=0.1, size=seen.shape), axis=1)
kept = np.array(pairs)[odd]
row = np.arange(len(shown))
names = np.array(letters)[shown]
triplets = answers.odd_one_out(names[row, kept[:, 0]], names[row, kept[:, 1]], names[row, odd])
print(triplets)

# %%
# Two rows of the table come from one answer; the model knows, and counts them as one where it says
# how sure it is. The ellipses hold the true places, each with 95 % confidence.

model = OrdinalEmbedding(n_components=2, random_state=0).fit(triplets)
print(model.describe_choice())
plot_map(model)
