import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning

from ordinate import (
    STE,
    GNMDSKer,
    STEKer,
    STEProj,
    Triplets,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate.algorithms import kernel_forms
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets

FORMS = [STEKer, STEProj, GNMDSKer]


@pytest.fixture(scope="module")
def data():
    points = sample_points(50, 2, random_state=0)
    return points, sample_triplets(points, 60_000, random_state=1)


@pytest.mark.parametrize("name", ["ste", "gnmds"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_the_finite_difference(name, weighted):
    rng = np.random.default_rng(0)
    rows = rng.random((60, 6)).argsort(axis=1)[:, :3]
    weight = rng.random(60) + 0.5 if weighted else None
    store = MemoryTriplets.from_triplets(Triplets(rows, n_items=6, weight=weight))
    A = rng.normal(size=(6, 6))
    K = A @ A.T
    value, G = kernel_forms.kernel_value(store, losses.get(name), K)
    assert (G == G.T).all()
    differences = approx_fprime(
        K.ravel(),
        lambda k: kernel_forms.kernel_value(store, losses.get(name), _symmetric(k))[0],
        1e-7,
    )
    assert G.ravel() == pytest.approx(differences, abs=1e-4)
    # The value is that of a map with these inner products.
    assert value == pytest.approx(store.loss(A, losses.get(name))[0])


def _symmetric(k):
    K = k.reshape(6, 6)
    return (K + K.T) / 2


@pytest.mark.parametrize("d", [1, 2, 5])
def test_projections(d):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(8, 8))
    A = A + A.T
    P = kernel_forms.project_semidefinite(A)
    values = np.linalg.eigvalsh(P)
    assert values.min() > -1e-12
    assert np.vdot(A - P, P) == pytest.approx(0, abs=1e-10)
    assert kernel_forms.project_semidefinite(P) == pytest.approx(P, abs=1e-12)
    R = kernel_forms.project_rank(d)(A)
    assert np.linalg.matrix_rank(R, tol=1e-9) <= d
    assert kernel_forms.project_rank(d)(R) == pytest.approx(R, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_maps_are_found(data, form):
    points, triplets = data
    model = form(tol=1e-5).fit(triplets)
    assert model.converged_
    assert (np.diff(model.history_) <= 1e-12).all()
    assert procrustes_error(model.embedding_, points, scale=True, relative=True) < 0.2
    assert model.kernel_.shape == (50, 50)
    assert np.linalg.eigvalsh(model.kernel_).min() > -1e-8
    assert model.loss_ == model.history_[-1]


def test_the_rank_d_form_reaches_ste(data):
    _, triplets = data
    form, ste = STEProj(tol=1e-9).fit(triplets), STE(tol=1e-9).fit(triplets)
    assert form.loss_ == pytest.approx(ste.loss_, rel=1e-5)
    assert form.embedding_ == pytest.approx(ste.embedding_, abs=0.02)
    # With more dimensions allowed the convex form cannot be worse.
    assert STEKer(tol=1e-6).fit(triplets).loss_ <= ste.loss_


def test_what_it_takes_is_said_before_it_starts(data, capsys):
    _, triplets = data
    with pytest.warns(ConvergenceWarning):
        STEKer(max_iter=2, verbose=2).fit(triplets)
    told = capsys.readouterr().err
    assert "MiB and about" in told
    assert "step 1" in told


def test_what_takes_long_is_warned_of(data, monkeypatch):
    from ordinate.estimators import kernel

    _, triplets = data
    monkeypatch.setattr(kernel, "LONG", 1e-6)
    with pytest.warns(UserWarning, match=r"STEProj may take .* minutes \(1,000 steps"):
        STEProj().fit(triplets)


def test_what_does_not_fit_is_refused(data, monkeypatch):
    _, triplets = data
    monkeypatch.setattr(kernel_forms, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="use STE or GNMDS"):
        GNMDSKer().fit(triplets)


def test_missing_items_have_no_place(data):
    _, triplets = data
    with pytest.warns(UserWarning, match="1 item is in no triplet"):
        model = STEProj().fit(Triplets(triplets.rows, n_items=51))
    assert np.isnan(model.embedding_[50]).all()
