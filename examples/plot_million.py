"""
A million items
===============

LOE asks about a few landmarks only, and reads each answer about twice. A million items from
twenty million noisy answers take seconds on two cores.
"""

import time

import numpy as np
from matplotlib.figure import Figure

from ordinate import LOE, align, procrustes_error, sample_triplets

# %%
# A million points on a spiral, and 20 answers about each.

rng = np.random.default_rng(0)
turn = np.sqrt(rng.random(1_000_000)) * 3 * 2 * np.pi
truth = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) / 3
truth += 0.15 * rng.standard_normal(truth.shape)
answers = sample_triplets(truth, 20_000_000, design="landmarks", landmarks=8, random_state=0)

began = time.perf_counter()
model = LOE(n_components=2).fit(answers)
print(f"fitted in {time.perf_counter() - began:.1f} s")
print(f"relative Procrustes error {procrustes_error(model.embedding_, truth, relative=True):.1%}")

# %%
# Turned and mirrored to match the truth, and coloured by it. Twenty answers blur each place a
# little; the spiral is there nevertheless.

placed = align(model.embedding_, truth, scale=True)
figure = Figure(figsize=(5.4, 5.4), layout="constrained")
axes = figure.subplots()
axes.scatter(*placed.T, c=turn, s=0.05, cmap="twilight", rasterized=True)
axes.set_aspect("equal")
axes.axis("off")
figure
