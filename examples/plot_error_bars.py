"""
Error bars
==========

How sure is each place, each distance, each order? Every likelihood model knows, from one pass
over the answers; the bootstrap is the slow check of it.
"""

import numpy as np

from ordinate import STE, Triplets, bootstrap, plot_map, sample_points, sample_triplets, uncertainty

cities = ["Aarhus", "Bergen", "Cork", "Dover", "Esbjerg", "Faro", "Ghent", "Hull", "Ivrea", "Jena"]
points = 2 * sample_points(len(cities), random_state=3)
answers = Triplets(sample_triplets(points, 1500, random_state=0).rows, items=cities)
model = STE(n_components=2, random_state=0).fit(answers)
plot_map(model)

# %%
# Ellipses hold the true places, each with 95 % confidence. In numbers:

_, low, high = model.distance_interval("Cork", "Hull")
print(f"from Cork to Hull: between {low:.2f} and {high:.2f}")
print(f"Cork is closer to Dover than to Hull: {model.closer('Cork', 'Dover', 'Hull'):.1%} sure")

# %%
# 100 maps of answers drawn with replacement vary about as much:

again = bootstrap(STE(n_components=2, random_state=0), answers, n_boot=100, random_state=0)
ratio = uncertainty.standard_errors(model.covariance_) / again.standard_errors
print(f"standard errors, at once / by the bootstrap: {np.median(ratio):.2f} in the median")
