"""
Do two groups see the same?
===========================

Experts and novices judged the same twelve birds. The groups agree but for one bird. Do their maps
differ beyond chance, and where?
"""

import numpy as np

from ordinate import STE, Triplets, compare, compare_groups, sample_points, sample_triplets
from ordinate.figures.comparing import plot_comparison

birds = [
    "wren",
    "robin",
    "crow",
    "gull",
    "owl",
    "hawk",
    "duck",
    "swan",
    "heron",
    "tit",
    "jay",
    "rook",
]
novices = 2 * sample_points(12, random_state=5)
experts = novices.copy()
experts[birds.index("owl")] += [1.6, -0.8]

answers = [
    Triplets(sample_triplets(points, 3000, random_state=seed).rows, items=birds)
    for seed, points in enumerate([novices, experts])
]

# %%
# **Do they differ at all?** Each group's unseen answers are predicted by a map of its own, and by
# one of as many answers of the other group.

both = Triplets.concatenate(answers)
groups = np.repeat(["novices", "experts"], 3000)
print(compare_groups(STE(n_components=2, random_state=0), both, groups, random_state=0).sentence)

# %%
# **Where?** One map is laid onto the other. An arrow is dark where a bird moved by more than
# chance would have it.

maps = [STE(n_components=2, random_state=0).fit(each) for each in answers]
found = compare(*maps)
print(found.sentence)
plot_comparison(found)
