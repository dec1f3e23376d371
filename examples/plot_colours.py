"""
Colours: a circle from comparisons
==================================

Forty-eight hues of one lightness lie on a circle in CIELAB, where distances are about those that
people see. Nobody tells the map that there is a circle, or what a colour is.
"""

import numpy as np

from ordinate import OrdinalEmbedding, plot_map, procrustes_error, sample_triplets

angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
lab = np.column_stack([np.full(48, 65.0), 40 * np.cos(angle), 40 * np.sin(angle)])


def srgb(lab: np.ndarray) -> np.ndarray:
    """Colours for a screen (white point D65)."""
    fy = (lab[:, 0] + 16) / 116
    f = np.column_stack([fy + lab[:, 1] / 500, fy, fy - lab[:, 2] / 200])
    xyz = np.where(f > 6 / 29, f**3, (f - 4 / 29) * 108 / 841) * [0.95047, 1.0, 1.08883]
    to_rgb = [[3.2406, -0.9689, 0.0557], [-1.5372, 1.8758, -0.2040], [-0.4986, 0.0415, 1.0570]]
    linear = np.clip(xyz @ np.array(to_rgb), 0, 1)
    return np.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)


# %%
# 6,000 answers about colours, compared by their distance in CIELAB.

truth = lab[:, 1:] / 20
answers = sample_triplets(truth, 6000, random_state=0)
model = OrdinalEmbedding(n_components=2, random_state=0).fit(answers)
print(f"relative Procrustes error: {procrustes_error(model.embedding_, truth, relative=True):.1%}")

# %%
# Painted with the colours themselves.

figure = plot_map(model, show_labels="none", ellipses=False)
axes = figure.axes[0]
axes.scatter(*model.embedding_.T, c=srgb(lab), s=220, zorder=5)
figure
