"""
How many dimensions?
====================

Answers that maps have not seen decide: the smallest number of dimensions that predicts them as
well as the best, within one standard error, is chosen.
"""

from ordinate import choose_dimension, plot_dimensions, sample_points, sample_triplets

points = 1.5 * sample_points(40, n_components=3, random_state=1)
answers = sample_triplets(points, 12_000, random_state=1)

found = choose_dimension(answers, range(1, 6), random_state=0)
print(found)

# %%
# With more dimensions than there are, maps fit the noise, and predict a little worse.

plot_dimensions(found)
