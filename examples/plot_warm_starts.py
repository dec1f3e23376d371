"""
A warm start by LOE
===================

LOE maps many items from answers about a few landmarks, in one go; STE makes more of every answer,
but takes steps. So LOE finds the place and STE finishes: the paper's warm start.
"""

import time

import numpy as np
from matplotlib.figure import Figure

from ordinate import STE, sample_points, sample_triplets

points = sample_points(5000, random_state=0)
answers = sample_triplets(points, 500_000, design="landmarks", landmarks=24, random_state=0)


def losses(init: object) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and loss of every step of a fit."""
    steps, began = [], time.perf_counter()

    def watch(step) -> None:
        steps.append((time.perf_counter() - began, step.loss))

    STE(n_components=2, init=init, random_state=0, callback=watch).fit(answers)
    return tuple(np.array(steps).T)


# %%
# Once before measuring, so that nothing is compiled while the clock runs.

losses("random")
curves = {}
for name, init in {"from anywhere": "random", "from LOE's map": "loe"}.items():
    curves[name] = losses(init)

# %%

figure = Figure(figsize=(6, 3.6), layout="constrained")
axes = figure.subplots()
best = min(loss.min() for _, loss in curves.values())
for (name, (seconds, loss)), colour in zip(curves.items(), ["#999999", "#2f6f73"], strict=True):
    axes.plot(seconds, loss - best + 1e-6, ".-", color=colour, label=name)
axes.set(xlabel="seconds", ylabel="loss above the best", yscale="log")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure
