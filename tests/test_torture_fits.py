"""Data that tell nothing, or everything, or next to nothing: finite maps, and honest warnings."""

import itertools
import warnings

import numpy as np
import pytest

from ordinate import (
    CKL,
    GNMDS,
    LOE,
    SOE,
    STE,
    TSTE,
    Triplets,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.estimators import GNMDSKer, STEKer, STEProj

NOTHING = "Nothing can be told about where the items lie"
SURE = "the map is sure of every answer"


def every_order(n):
    return np.array(list(itertools.permutations(range(n), 3)))


def on_a_line(n):
    """All answers about points on a line, without a contradiction."""
    x = np.arange(n) ** 1.1
    away, rows = np.abs(x[:, None] - x), every_order(n)
    return rows[away[rows[:, 0], rows[:, 1]] < away[rows[:, 0], rows[:, 2]]]


def noise(n, m, weight=None):
    rng = np.random.default_rng(0)
    return Triplets([rng.permutation(n)[:3] for _ in range(m)], weight=weight)


EXPONENTS = np.random.default_rng(1).uniform(-12, 12, 100)
DATA = {
    "every order of three": every_order(3),
    "every order of five": every_order(5),
    "two that cancel": [[0, 1, 2], [0, 2, 1]],
    "cycle": [[0, 1, 2], [1, 2, 0], [2, 0, 1]],
    "parts that cancel": [*every_order(3), *(every_order(3) + 3)],
    "one row": [[0, 1, 2]],
    "copies": [[0, 1, 2]] * 5000,
    "line": on_a_line(6),
    "parts": [*on_a_line(4), *(on_a_line(4) + 4)],
    "one anchor": [[0, i, j] for i in range(1, 8) for j in range(i + 1, 8)],
    "few of many items": Triplets(on_a_line(5), n_items=400),
    "noise": noise(20, 800),
    "weights of all sizes": noise(6, 100, 10.0**EXPONENTS),
    "one weight of 1e12": noise(6, 100, np.where(np.arange(100) == 0, 1e12, 1.0)),
}
METHODS = {
    **{
        f"ste {solver} {init}": lambda solver=solver, init=init: STE(
            solver=solver, init=init, random_state=0
        )
        for solver in ("blocks", "batches", "scipy")
        for init in ("spectral", "random")
    },
    "ste auto": lambda: STE(random_state=0),
    "ste plain": lambda: STE(random_state=0, backend="numpy"),
    "ste ridge": lambda: STE(regularization=1.0, random_state=0),
    "probit": lambda: STE(noise="thurstone", random_state=0),
    "tste": lambda: TSTE(random_state=0),
    "ckl": lambda: CKL(random_state=0),
    "gnmds": lambda: GNMDS(random_state=0),
    "soe": lambda: SOE(random_state=0),
    "ste-ker": lambda: STEKer(max_iter=50),
    "ste-proj": lambda: STEProj(max_iter=50),
    "gnmds-ker": lambda: GNMDSKer(max_iter=50),
}


def fitted(model, data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data)
    assert not [each for each in caught if each.category is RuntimeWarning]
    return model, " ".join(str(each.message) for each in caught)


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_items_that_occur_have_a_place(method, data):
    triplets = data if isinstance(data, Triplets) else Triplets(data)
    model, told = fitted(method(), triplets)
    occurs = np.unique(triplets.rows)
    assert np.isfinite(model.embedding_[occurs]).all()
    assert np.isfinite(model.loss_)
    assert ("in no triplet" in told) == (len(occurs) < triplets.n_items)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("data", ["every order of three", "two that cancel", "parts that cancel"])
def test_answers_that_cancel_tell_nothing_and_that_is_said(method, data):
    _, told = fitted(method(), DATA[data])
    assert NOTHING in told
    assert "max_iter" not in told


@pytest.mark.parametrize("method", ["ste auto", "probit", "tste", "ckl", "ste-ker"])
def test_a_map_that_is_sure_of_everything_has_no_size(method):
    _, told = fitted(METHODS[method](), [[0, 1, 2]] * 5)
    assert SURE in told
    assert "max_iter" not in told


@pytest.mark.parametrize("method", ["ste ridge", "gnmds", "soe", "gnmds-ker"])
def test_a_ridge_or_a_margin_gives_a_map_its_size(method):
    _, told = fitted(METHODS[method](), [[0, 1, 2]] * 5)
    assert SURE not in told


def test_a_ridge_that_outweighs_the_answers_is_named():
    _, told = fitted(STE(regularization=1e6, random_state=0), on_a_line(5))
    assert "or the ridge of 1e+06 outweighs them" in told


def test_a_convex_form_ends_where_rounding_hides_what_is_left():
    model, _ = fitted(STEKer(max_iter=100_000), [[0, 1, 2]])
    assert model.converged_


def test_loe_says_that_answers_cancel():
    _, told = fitted(LOE(), np.tile(every_order(6), (4, 1)))
    assert "nothing can be told about where the items lie" in told


@pytest.mark.parametrize("init", ["loe", np.zeros((6, 2))], ids=["loe", "given"])
def test_a_start_with_all_items_in_one_place_is_left(init):
    """No step leads away from it: its gradient is zero."""
    loe_sees_nothing = Triplets(np.tile(every_order(6), (4, 1)))
    model = STE(init=init, random_state=0)
    more = {"init_triplets": loe_sees_nothing} if isinstance(init, str) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(on_a_line(6), **more)
    assert model.init_.name == "random"
    assert model.score(on_a_line(6)) == 1


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("solver", ["blocks", "batches", "scipy"])
def test_the_scale_of_weights_makes_no_difference(solver, scale):
    triplets = sample_triplets(sample_points(15, random_state=0), 1500, random_state=1)
    weight = np.random.default_rng(0).uniform(0.5, 2, 1500)

    def fit(factor, ridge):
        data = Triplets(triplets.rows, weight=factor * weight)
        return STE(solver=solver, regularization=ridge, tol=1e-7, random_state=0).fit(data)

    for ridge in (0.0, 5.0):  # which outweighs answers in proportion
        plain, scaled = fit(1.0, ridge), fit(scale, scale * ridge)
        error = procrustes_error(scaled.embedding_, plain.embedding_, relative=True)
        assert error < 1e-3
        assert scaled.loss_ == pytest.approx(plain.loss_, rel=1e-6)


@pytest.mark.parametrize("weight", [0.0, -1.0, 1e-13, 1e13, 1e100, 1e-100, np.inf, np.nan])
def test_what_cannot_be_a_weight_is_refused(weight):
    rows = [[0, 1, 2], [1, 2, 0]]
    with pytest.raises(ValueError, match=r"weights must be from 1e-12 to 1e\+12: row 1 has"):
        Triplets(rows, weight=[1, weight])


def test_loe_says_that_weights_are_too_light_for_answers():
    rows = np.tile(on_a_line(6), (10, 1))
    _, told = fitted(LOE(), Triplets(rows, weight=np.full(len(rows), 1e-3)))
    assert "the weights of the triplets have a mean of 0.001" in told
    _, told = fitted(LOE(), Triplets(rows, weight=np.full(len(rows), 0.5)))
    assert "weights" not in told
