"""
Asking what teaches most
========================

A simulated crowd answers, 150 questions at a time. One study asks at random, the other asks what
the map so far is expected to learn most from. Both are fitted by the same method.
"""

import numpy as np
from matplotlib.figure import Figure

from ordinate import STE, Triplets, asking, procrustes_error, sample_points

n_items, batch, n_batches, n_crowds = 30, 150, 8, 5


def crowd(truth: np.ndarray, questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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


def study(active: bool, seed: int) -> list[float]:
    """The map's relative error, batch by batch."""
    rng = np.random.default_rng(seed)
    truth = 3 * sample_points(n_items, random_state=seed)
    rows, errors = crowd(truth, random_questions(300, rng), rng), []
    for step in range(n_batches):
        model = STE(n_components=2, regularization=0.02, random_state=0)
        model.fit(Triplets(rows, n_items=n_items))
        errors.append(procrustes_error(model.embedding_, truth, relative=True))
        if active:
            questions = asking.next_questions(model, batch, random_state=step)
        else:
            questions = random_questions(batch, rng)
        rows = np.concatenate([rows, crowd(truth, questions, rng)])
    return errors


curves = {
    name: np.mean([study(active, seed) for seed in range(n_crowds)], axis=0)
    for name, active in {"at random": False, "what teaches most": True}.items()
}

# %%
# Means of five crowds. Choosing pays most while answers are few.

figure = Figure(figsize=(6, 3.6), layout="constrained")
axes = figure.subplots()
answers = 300 + batch * np.arange(n_batches)
for (name, errors), colour in zip(curves.items(), ["#999999", "#2f6f73"], strict=True):
    axes.plot(answers, errors, "o-", color=colour, markersize=4, label=name)
axes.set(xlabel="answers", ylabel="relative error of the map", ylim=(0, None))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure
