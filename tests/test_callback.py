"""What a callback is told, and that it can end a fit."""

import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from strategies import seeded

from ordinate import (
    CKL,
    GNMDS,
    LOE,
    SOE,
    STE,
    TSTE,
    GNMDSKer,
    PowerEmbedding,
    STEKer,
    STEProj,
    Triplets,
    align,
    sample_points,
    sample_triplets,
)
from ordinate.cli._after_fit import plain

GRADIENT = [STE, TSTE, CKL, PowerEmbedding, GNMDS, SOE]
KERNEL = [STEKer, STEProj, GNMDSKer]


@pytest.fixture(scope="module")
def triplets():
    return sample_triplets(sample_points(20, 2, random_state=0), 8000, random_state=0)


def fit(estimator, triplets, **options):
    """Fit with a callback; return the model and the steps it was told of."""
    steps = []
    model = seeded(estimator, callback=steps.append, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(triplets), steps


@pytest.mark.parametrize("estimator", [*GRADIENT, *KERNEL])
def test_every_step_is_told(estimator, triplets):
    model, steps = fit(estimator, triplets, max_iter=30)
    assert [step.iteration for step in steps] == list(range(model.n_iter_ + 1))
    assert [step.loss for step in steps] == model.history_.tolist()
    passes = [step.n_passes for step in steps]
    assert passes == sorted(set(passes))
    assert passes[0] >= 1
    for step in steps:
        assert step.embedding.shape == (20, 2)
    last = steps[-1].embedding
    assert align(last, model.embedding_) == pytest.approx(model.embedding_, abs=1e-7)
    # No two steps are at the same place: maps that were kept do not change later.
    assert len({step.embedding.tobytes() for step in steps[1:]}) == len(steps) - 1


@pytest.mark.parametrize("estimator", [*GRADIENT, *KERNEL])
def test_it_changes_nothing(estimator, triplets):
    told, _ = fit(estimator, triplets, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alone = seeded(estimator, max_iter=20).fit(triplets)
    assert (told.embedding_ == alone.embedding_).all()


@pytest.mark.parametrize("max_iter", [3, 500])
@pytest.mark.parametrize("solver", ["blocks", "batches", "scipy"])
def test_every_solver_tells(solver, max_iter, triplets):
    model, steps = fit(STE, triplets, solver=solver, init="random", max_iter=max_iter, tol=1e-6)
    assert [step.loss for step in steps] == model.history_.tolist()
    iterations = [step.iteration for step in steps]
    assert iterations == sorted(iterations)
    assert (iterations[0], iterations[-1]) == (0, model.n_iter_)
    if solver == "batches":
        assert len(steps) > model.n_iter_ + 1  # a larger batch begins where the last one ended
    else:
        assert iterations == list(range(model.n_iter_ + 1))
    if max_iter == 500 and solver != "scipy":
        assert steps[0].left > 1 >= steps[-1].left
    # Passes are those over all triplets, of samples their share.
    assert steps[-1].n_passes == pytest.approx(model.n_passes_)


def test_a_step_is_read_only(triplets):
    _, steps = fit(STE, triplets)
    with pytest.raises(ValueError, match="read-only"):
        steps[0].embedding[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        steps[0].loss = 0.0
    assert repr(steps[0]).startswith("Step(iteration=0, loss=0.")


@pytest.mark.parametrize("estimator", [STE, SOE, STEKer])
@pytest.mark.parametrize("when", [0, 2])
def test_true_ends_the_fit_where_it_is(estimator, when, triplets, capsys):
    steps = []

    def stop(step):
        steps.append(step)
        return step.iteration == when

    far = {} if estimator is STEKer else {"init": "random", "n_init": 1}
    model = seeded(estimator, callback=stop, tol=1e-9, verbose=1, **far).fit(triplets)  # no warning
    assert model.n_iter_ == steps[-1].iteration == when
    assert not model.converged_
    assert len(model.history_) == when + 1
    assert "stopped by the callback" in capsys.readouterr().err
    last = steps[-1].embedding
    assert align(last, model.embedding_) == pytest.approx(model.embedding_, abs=1e-7)


@pytest.mark.parametrize("solver", ["blocks", "batches", "scipy"])
@pytest.mark.parametrize("when", [0, 3])
def test_true_ends_every_solver(solver, when, triplets):
    model = STE(
        solver=solver, init="random", callback=lambda step: step.iteration >= when, random_state=0
    ).fit(triplets)
    assert model.n_iter_ == when
    assert not model.converged_


def test_true_leaves_out_the_starts_to_come(triplets):
    steps = []

    def stop(step):
        steps.append(step)
        return sum(one.iteration == 0 for one in steps) == 2

    STE(n_init=5, init="random", callback=stop, random_state=0).fit(triplets)
    assert [step.iteration for step in steps].count(0) == 2
    assert steps[-1].iteration == 0
    steps.clear()
    STE(n_init=3, init="random", callback=steps.append, random_state=0).fit(triplets)
    assert [step.iteration for step in steps].count(0) == 3


@pytest.mark.parametrize("solver", ["blocks", "batches"])
def test_true_where_a_start_has_converged(solver, triplets):
    """The last step of the first start, or of its first batch, is the last of the fit."""
    options = {"n_init": 3, "init": "random", "solver": solver}
    _, steps = fit(STE, triplets, **options)
    end = [step.left <= 1 for step in steps].index(True)

    told = []

    def stop(step):
        told.append(step)
        return step.left <= 1

    model = STE(callback=stop, random_state=0, **options).fit(triplets)
    assert len(told) == end + 1
    assert model.converged_ == (solver == "blocks")


def test_races_between_starts_are_not_told():
    """Descents on a sample, to choose a start: the callback sees the one that follows."""
    triplets = sample_triplets(sample_points(12, 2, random_state=0), 3000, random_state=0)
    model, steps = fit(STE, triplets)
    assert [step.iteration for step in steps] == list(range(model.n_iter_ + 1))
    assert steps[0].n_passes > 10  # but their passes count


def test_what_it_raises_ends_the_fit(triplets):
    def fail(step):
        raise KeyboardInterrupt

    for estimator in (STE, STEKer):
        model = estimator(callback=fail)
        with pytest.raises(KeyboardInterrupt):
            model.fit(triplets)
        assert not hasattr(model, "embedding_")


def test_it_is_a_parameter_like_others():
    for estimator in (*GRADIENT, *KERNEL):
        model = estimator(callback=print)
        assert model.get_params()["callback"] is print
        assert clone(model).callback is print
        assert pickle.loads(pickle.dumps(model)).callback is print
        with pytest.raises(TypeError, match="callback must be None or a function.*got 3"):
            estimator(callback=3).fit([[0, 1, 2]] * 9)
    # LOE takes no steps, and no parameter that it would ignore.
    assert "callback" not in LOE().get_params()


def test_the_map_comes_from_the_device():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rows = sample_triplets(sample_points(20, 2, random_state=0), 2000, random_state=0).rows
    _, steps = fit(STE, Triplets(rows), device=torch.device("cpu"), init="random", max_iter=2)
    assert isinstance(steps[-1].embedding, np.ndarray)


def test_it_is_not_among_the_settings_of_a_run():
    settings = plain(STE(callback=print, tol=1e-3).get_params(deep=False))
    assert settings["tol"] == 1e-3
    assert "callback" not in settings
