"""
A million items
===============

LOE asks about a few landmarks only, and reads each answer a few times. Here are a million items,
and eighty million noisy answers about five of them.
"""

import time

import numpy as np
from matplotlib.figure import Figure

from ordinate import LOE, align, sample_triplets

# %%
# A million points on a ring, and 80 answers about each.

rng = np.random.default_rng(0)
turn = 2 * np.pi * rng.random(1_000_000)
truth = np.column_stack([np.cos(turn), np.sin(turn)])
truth += 0.05 * rng.standard_normal(truth.shape)
answers = sample_triplets(truth, 80_000_000, design="landmarks", landmarks=5, random_state=0)

began = time.perf_counter()
model = LOE(n_components=2).fit(answers)
print(f"fitted in {time.perf_counter() - began:.1f} s")

# %%
# Turned, mirrored and stretched to match the truth, and coloured by it. Eighty answers leave each
# place a little blurred. (The five landmarks themselves lie beyond the frame.)

placed = align(model.embedding_, truth, scale=True)
figure = Figure(figsize=(5.4, 5.4), layout="constrained")
axes = figure.subplots()
axes.scatter(*placed.T, c=turn, s=0.05, cmap="twilight", rasterized=True)
axes.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), aspect="equal")
axes.axis("off")
figure
