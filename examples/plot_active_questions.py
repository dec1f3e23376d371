"""
Asking what teaches most
========================

A simulated crowd answers, 60 questions at a time. One study asks at random, the other asks what
the map so far is expected to learn most from. Both are fitted by the same method.
"""

import numpy as np
from matplotlib.figure import Figure

from ordinate import STE, Triplets, asking, procrustes_error, sample_points

n_items, batch = 30, 120
truth = 3 * sample_points(n_items, random_state=0)


def crowd(questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Answers by Bradley and Terry's rule: rows (anchor, near, far)."""
    to_first, to_second = (
        np.sum((truth[questions[:, 0]] - truth[questions[:, k]]) ** 2, axis=1) for k in (1, 2)
    )
    first = rng.random(len(questions)) < 1 / (1 + np.exp(to_first - to_second))
    return np.where(first[:, None], questions, questions[:, [0, 2, 1]])


def random_questions(size: int, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(n_items, 3, replace=False) for _ in range(size)])


# %%
# The loop is the same; only the questions differ.


def study(active: bool) -> list[tuple[int, float]]:
    """Answers so far and the map's relative error, batch by batch."""
    rng = np.random.default_rng(1)
    rows = crowd(random_questions(300, rng), rng)
    model = STE(n_components=2, regularization=0.1, random_state=0)
    model.fit(Triplets(rows, n_items=n_items))
    curve = []
    for step in range(12):
        if active:
            questions = asking.next_questions(model, batch, random_state=step)
        else:
            questions = random_questions(batch, rng)
        model.partial_fit(Triplets(crowd(questions, rng), n_items=n_items))
        error = procrustes_error(model.embedding_, truth, relative=True)
        curve.append((300 + batch * (step + 1), error))
    return curve


curves = {"at random": study(active=False), "what teaches most": study(active=True)}

# %%

figure = Figure(figsize=(6, 3.6), layout="constrained")
axes = figure.subplots()
for (name, curve), colour in zip(curves.items(), ["#999999", "#2f6f73"], strict=True):
    answers, errors = np.array(curve).T
    axes.plot(answers, errors, "o-", color=colour, markersize=4)
    axes.annotate(
        name,
        (answers[-1], errors[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        color=colour,
        va="center",
    )
axes.set(xlabel="answers", ylabel="relative error of the map", ylim=(0, None), xlim=(300, 2200))
axes.spines[["top", "right"]].set_visible(False)
figure
