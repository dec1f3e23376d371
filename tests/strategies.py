"""What tests share: random inputs for hypothesis, and estimators with a seed."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def triplet_rows(draw, max_items=12, max_rows=60):
    """Sound rows (m, 3) and the number of items."""
    n_items = draw(st.integers(3, max_items))
    n_rows = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = np.array([rng.choice(n_items, 3, replace=False) for _ in range(n_rows)])
    return rows, n_items


def seeded(estimator, **options):
    """An estimator with seed 0, if it is random at all."""
    seed = {"random_state": 0} if "random_state" in estimator().get_params() else {}
    return estimator(**seed, **options)
