"""
New items on an old map
=======================

A map of forty items is made. Two more turn up, with a few dozen answers about each. They are
placed where the fit would have put them, while the map stays as it is.
"""

from ordinate import STE, Triplets, plot_map, sample_points, sample_triplets

points = 2 * sample_points(42, random_state=0)
answers = sample_triplets(points, 12_000, random_state=0)
items = [f"old {k}" for k in range(40)] + ["new A", "new B"]
about_new = (answers.rows >= 40).any(axis=1)

model = STE(n_components=2, random_state=0).fit(
    Triplets(answers.rows[~about_new], items=items[:40])
)

# %%
# The answers may name a new item in any role.

asked = Triplets(answers.rows[about_new][:80], items=items)
placed = model.place(asked)
for item, place, error in zip(placed.items, placed.points, placed.standard_errors, strict=True):
    print(f"{item}: {place.round(2)} ± {error.round(2)}")

# %%
# More answers come in: ``partial_fit`` goes on from the map that is there.

model.partial_fit(Triplets(answers.rows[about_new], items=items))
plot_map(
    model,
    colour=["new" if str(item).startswith("new") else "known" for item in model.items_],
    colour_name="item",
)
