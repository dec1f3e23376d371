"""Every row of the table of formulas, on every backend; and how kernels are made of them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from ordinate._base.device import TORCH_CPU
from ordinate.data.triplets import Triplets
from ordinate.kernels import losses
from ordinate.kernels.backends import translating
from ordinate.kernels.formulas import LINKS, NOISES, PENALTIES, Link, Noise, Penalty
from ordinate.kernels.functions import expit, log, ndtr
from ordinate.kernels.losses import Loss
from ordinate.passes import MemoryTriplets

functions = import_module("ordinate.kernels.backends.numba_.functions")

SHAPES = ((), (0.7,), (0.7, 0.3))  # for formulas with that many shape numbers
SQUARED_DISTANCES = np.array([0.0, 1e-300, 1e-12, 0.01, 0.5, 1.0, 30.0, 1e8])
ARGUMENTS = np.array([-1e8, -60.0, -3.0, -1e-9, 0.0, 0.2, 1.0, 8.0, 37.0, 1e8])


def shape_of(formula):
    return SHAPES[formula.__code__.co_argcount - 1]


def compiled_formulas():
    """What kernels are filled with, each with the numbers to try it on."""
    for link in LINKS.values():
        yield from ((f, SQUARED_DISTANCES) for f in (link.value, link.slope))
    for penalty in PENALTIES.values():
        yield from ((f, ARGUMENTS) for f in (penalty.value, penalty.slope, penalty.curvature))
    for noise in NOISES.values():
        yield from ((f, ARGUMENTS) for f in (noise.residual, noise.information))


FORMULAS = {f.__name__: (f, x) for f, x in compiled_formulas()}
# Derivatives by shape numbers, which are torch's on a GPU, too.
BY_SHAPE = {
    f.__name__: (f, x)
    for rows, x in ((LINKS, SQUARED_DISTANCES), (PENALTIES, ARGUMENTS))
    for row in rows.values()
    for f in row.by_shape
}


@pytest.fixture(params=FORMULAS | BY_SHAPE)
def formula_and_numbers(request):
    return (FORMULAS | BY_SHAPE)[request.param]


@pytest.mark.parametrize("row", [*LINKS.values(), *PENALTIES.values()], ids=lambda row: row.name)
def test_slopes_are_finite_differences(row):
    shape, step = shape_of(row.value), 1e-6
    x = np.array([0.02, 0.3, 1.0, 2.5, 9.0])
    if isinstance(row, Penalty):
        x = np.concatenate([-x, x])
    differences = (row.value(x + step, *shape) - row.value(x - step, *shape)) / (2 * step)
    assert row.slope(x, *shape) == pytest.approx(differences, rel=1e-6, abs=1e-8)


SHAPED = [row for row in (*LINKS.values(), *PENALTIES.values()) if shape_of(row.value)]


@pytest.mark.parametrize("row", SHAPED, ids=lambda row: row.name)
def test_derivatives_by_shape_are_finite_differences(row):
    x, step = np.array([0.02, 0.3, 1.0, 2.5, 9.0]), 1e-6
    if isinstance(row, Penalty):
        x = np.concatenate([-x, x])
    shape = shape_of(row.value)
    assert len(row.by_shape) == len(shape)
    for k, by in enumerate(row.by_shape):
        moved = [
            (*shape[:k], number, *shape[k + 1 :]) for number in (shape[k] + step, shape[k] - step)
        ]
        differences = (row.value(x, *moved[0]) - row.value(x, *moved[1])) / (2 * step)
        assert by(x, *shape) == pytest.approx(differences, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=lambda row: row.name)
def test_curvatures_are_what_they_are_said_to_be(penalty):
    """Expected squares of slopes for likelihoods; the square, or the derivative, for hinges."""
    z, shape = np.array([-20.0, -2.0, -0.1, 0.3, 1.0, 4.0]), shape_of(penalty.value)

    def slope(z):
        return penalty.slope(z, *shape)

    if penalty.is_likelihood:
        probability, other = (np.exp(-penalty.value(x, *shape)) for x in (z, -z))
        assert probability + other == pytest.approx(np.ones(6), rel=1e-12)
        expected = probability * slope(z) ** 2 + other * slope(-z) ** 2
    elif penalty.name == "hinge":
        expected = slope(z) ** 2
    else:
        expected = (slope(z + 1e-6) - slope(z - 1e-6)) / 2e-6
    assert penalty.curvature(z, *shape) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_torch_agrees(formula_and_numbers):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    formula, x = formula_and_numbers
    shape = shape_of(formula)
    ours = formula(torch.from_numpy(x), *shape).numpy()
    assert ours == pytest.approx(formula(x, *shape), rel=1e-9)


def test_numba_agrees(formula_and_numbers):
    formula, x = formula_and_numbers
    shape = shape_of(formula)
    compiled = functions.DOUBLE.translate(formula)
    ours = np.array([compiled(number, *shape) for number in x])
    assert np.isfinite(ours).all()
    assert ours == pytest.approx(formula(x, *shape), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=lambda row: row.name)
@np.errstate(divide="ignore")
def test_infinite_arguments_cost_what_they_should(penalty):
    ends, shape = np.array([-np.inf, np.inf]), shape_of(penalty.value)
    compiled = functions.DOUBLE.translate(penalty.value)
    for values in (penalty.value(ends, *shape), [compiled(end, *shape) for end in ends]):
        if penalty.name == "lapsing logistic":
            assert values == pytest.approx([-np.log(0.65), -np.log(0.35)])  # anybody may lapse
            continue
        assert values[0] == pytest.approx(0, abs=1e-300)
        assert values[1] == np.inf
    compiled = functions.DOUBLE.translate(penalty.slope)
    for slopes in (penalty.slope(ends, *shape), [compiled(end, *shape) for end in ends]):
        assert slopes[0] == pytest.approx(0, abs=1e-300)
        assert slopes[1] >= 1 or penalty.name == "lapsing logistic"


def test_numba_agrees_in_single_precision():
    for noise in NOISES.values():
        compiled = functions.SINGLE.translate(noise.residual)
        x = ARGUMENTS.astype(np.float32)
        ours = np.array([compiled(number) for number in x])
        assert ours == pytest.approx(noise.residual(x.astype(float)), rel=2e-6, abs=1e-7)


class Pointer:
    """Where a kernel of Triton finds numbers."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __add__(self, steps):
        return Pointer(self.numbers[steps:])


@pytest.fixture
def triton_backend(monkeypatch):
    """Triton's backend run as plain Python, with torch's functions in the place of Triton's."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    triton, language, extra, libdevice = (
        ModuleType(name)
        for name in (
            "triton",
            "triton.language",
            "triton.language.extra",
            "triton.language.extra.libdevice",
        )
    )
    triton.jit, triton.language, language.extra = (lambda f: f), language, extra
    extra.libdevice, language.constexpr = libdevice, (lambda x: x)
    language.load = lambda pointer: pointer.numbers[0]
    language.maximum = lambda x, least: torch.clamp(x, min=least)
    language.full = lambda shape, x, dtype: torch.full(shape, x, dtype=dtype)
    for name in ("abs", "exp", "log", "sqrt", "where"):
        setattr(language, name, getattr(torch, name))
    for name in ("erfc", "erfcx", "expm1", "log1p"):
        setattr(libdevice, name, getattr(torch.special, name))
    for module in (triton, language, extra, libdevice):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if ".triton_" in name}
    yield import_module("ordinate.kernels.backends.triton_")
    for name in [name for name in sys.modules if ".triton_" in name]:
        del sys.modules[name]
    sys.modules.update(before)


def test_triton_agrees(triton_backend):
    import torch

    maps, language = triton_backend.maps, triton_backend.functions.TRITON
    assert language.functions.keys() == functions.FUNCTIONS.keys() - {"exprel_slope"}
    for formula, x in FORMULAS.values():
        shape = shape_of(formula)
        for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-6)):
            if dtype == torch.float32:
                x = x[(x == 0) | (np.abs(x) > 1e-30)]  # what single precision has
            numbers = torch.from_numpy(x).to(dtype)
            found = language.translate(formula)(numbers, *shape)
            assert found.dtype == dtype
            assert torch.isfinite(found).all()
            twin = formula(numbers.double().numpy(), *shape)
            # Of the root and its slope at 0 only their being finite matters.
            matters = (x > 1e-30) | ("root" not in formula.__name__)
            assert found.double().numpy()[matters] == pytest.approx(
                twin[matters], rel=tolerance, abs=tolerance
            )
            read = maps._reading_shape(formula)(numbers, Pointer(shape))
            assert torch.equal(read, found)


def test_triton_tells_filled_functions_apart(triton_backend):
    """It knows functions by their names, and would take one formula for all."""
    reading = [triton_backend.maps._reading_shape(formula) for formula, _ in FORMULAS.values()]
    assert len({function.__qualname__ for function in reading}) == len(FORMULAS)
    kernels = {
        triton_backend.maps._loss_of(link, penalty)
        for link in LINKS.values()
        for penalty in PENALTIES.values()
    }
    assert len(kernels) == len(LINKS) * len(PENALTIES)
    for kernel in kernels:  # what Triton reads to know which numbers are constants
        assert {"weighted", "width", "block"} < kernel.__annotations__.keys()


# A family like the power family with its numbers shared out otherwise, to see that a row is all that
# a new loss needs.


def _power(u, p):
    return ((1 + u) ** p - 1) / p


def _power_slope(u, p):
    return (1 + u) ** (p - 1)


def _power_by_p(u, p):
    return ((1 + u) ** p * log(1 + u) - _power(u, p)) / p


def _chance(z, steepness, lapse):
    return lapse / 2 + (1 - lapse) * expit(-steepness * z)


def _lapsing(z, steepness, lapse):
    return -log(_chance(z, steepness, lapse))


def _lapsing_slope(z, steepness, lapse):
    right = expit(-steepness * z)
    return (1 - lapse) * steepness * right * (1 - right) / _chance(z, steepness, lapse)


def _lapsing_by_steepness(z, steepness, lapse):
    return z / steepness * _lapsing_slope(z, steepness, lapse)


def _lapsing_by_lapse(z, steepness, lapse):
    return (expit(-steepness * z) - 0.5) / _chance(z, steepness, lapse)


def _lapsing_curvature(z, steepness, lapse):
    chance = _chance(z, steepness, lapse)
    return _lapsing_slope(z, steepness, lapse) ** 2 * chance / (1 - chance)


POWER = Loss(
    "power",
    Link("power", _power, _power_slope, (_power_by_p,)),
    Penalty(
        "lapsing",
        _lapsing,
        _lapsing_slope,
        _lapsing_curvature,
        True,
        (_lapsing_by_steepness, _lapsing_by_lapse),
    ),
    link_shape=(0.4,),
    penalty_shape=(1.3, 0.05),
)


@pytest.mark.parametrize("backend", ["numpy", "numba", "torch"])
def test_a_row_is_all_that_a_new_loss_needs(backend):
    rng = np.random.default_rng(0)
    triplets = Triplets(rng.random((200, 8)).argsort(axis=1)[:, :3], n_items=8)
    points = rng.normal(size=(8, 2))
    plain = MemoryTriplets.from_triplets(triplets, "numpy")
    if backend == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
        from on_torch import HostTriplets

        store = HostTriplets.of(plain, TORCH_CPU)
    else:
        store = MemoryTriplets.from_triplets(triplets, backend)
    value, gradient = store.loss(points, POWER)
    assert value == pytest.approx(plain.loss(points, POWER)[0], rel=1e-12)
    differences = approx_fprime(
        points.ravel(), lambda x: store.loss(x.reshape(points.shape), POWER)[0], 1e-7
    )
    assert gradient.ravel() == pytest.approx(differences, abs=1e-4)
    for ours, twin in zip(
        store.curvature(points, POWER), plain.curvature(points, POWER), strict=True
    ):
        assert ours == pytest.approx(twin, rel=1e-9, abs=1e-12)
    # The power family of the table has the same numbers; steepness is a part of its link.
    row = losses.get("power", power=0.4, slope=1.3, lapse=0.05)
    for ours, twin in zip(store.shape(points, POWER), plain.shape(points, row), strict=True):
        assert ours == pytest.approx(twin, rel=1e-9, abs=1e-12)


def test_triton_reads_several_shape_numbers(triton_backend):
    import torch

    read = triton_backend.maps._reading_shape(_lapsing)
    z = torch.linspace(-3, 3, 7, dtype=torch.float64)
    assert torch.allclose(read(z, Pointer((1.3, 0.05))), _lapsing(z, 1.3, 0.05), rtol=1e-12)


def _half(x):
    return 0.5 * expit(-x)


def _third(x):
    return 0.3 * expit(-x)


def _half_again(x):
    return _half(x)


def _third_again(x):
    return _third(x)


def test_a_changed_formula_is_not_taken_from_the_cache():
    """numba's key has the bytecode of a kernel alone: no constants, and nothing that it calls."""
    columns = import_module("ordinate.kernels.backends.numba_.columns")
    rows = (_half, _third, _half_again, _third_again)
    kernels = [functions.filled(columns._score_sums, residual=row) for row in rows]
    kernels.append(functions.filled(columns._score_sums, functions.SINGLE, residual=_half))
    assert len({kernel.py_func.__qualname__ for kernel in kernels}) == len(kernels)
    pairs, scores = np.array([[0, 1]], np.uint32), np.zeros(2)
    for row, factor in zip(rows[:2], (0.5, 0.3), strict=True):
        noise = Noise("half", row, row, row)
        found = columns.score_sums(pairs, np.empty(0), scores, noise)
        assert found == pytest.approx([-factor / 2, factor / 2])


@pytest.mark.parametrize("module", [functions, functions.plain_functions], ids=lambda m: m.__name__)
def test_a_changed_function_is_not_taken_from_the_cache(module, monkeypatch, tmp_path):
    """Coefficients that backends share lie beside the plain functions."""
    columns = import_module("ordinate.kernels.backends.numba_.columns")

    def name():
        made = functions._cached_by_formulas(
            columns._score_sums, functions.DOUBLE, {"residual": _half}
        )
        return made.py_func.__qualname__

    before = name()
    assert name() == before
    changed = tmp_path / "changed.py"
    changed.write_bytes(Path(module.__file__).read_bytes() + b"# more")
    monkeypatch.setattr(module, "__file__", str(changed))
    assert name() != before


def test_threads_that_ask_at_once_get_one_kernel(monkeypatch):
    made, slow = [], functions._cached_by_formulas

    def noted(*args):
        made.append(slow(*args))
        return made[-1]

    monkeypatch.setattr(functions, "_cached_by_formulas", noted)
    monkeypatch.setattr(functions, "_filled", {})
    columns = import_module("ordinate.kernels.backends.numba_.columns")
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(functions.filled, columns._score_sums, residual=_half) for _ in range(32)
        ]
    assert {kernel.result() for kernel in asked} == set(made)
    assert len(made) == 1


def test_compiled_kernels_are_found_on_disk_by_the_next_process(tmp_path):
    code = """
import numpy as np
from ordinate.kernels import losses
from ordinate.kernels.backends.numba_ import functions, loss_sums
rows = np.array([[0, 1, 2]], np.uint32)
loss_sums(rows, np.empty(0), np.eye(3, 2), losses.get("gnmds"))
stats = [kernel.stats for kernel in functions._filled.values()]
print(sum(sum(s.cache_hits.values()) for s in stats))
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert found == ["0", "1"]


def _with_a_builtin(x):
    return abs(x)


def _with_a_missing_function(x):
    return ndtr(x)


def test_formulas_that_cannot_be_translated_are_told():
    with pytest.raises(NotImplementedError, match="_with_a_builtin .* uses abs: it may only call"):
        functions.DOUBLE.translate(_with_a_builtin)
    with pytest.raises(NotImplementedError, match="calls ndtr, which this backend lacks: add"):
        functions.DOUBLE.translate(_with_a_missing_function)
    with pytest.raises(NotImplementedError, match="once they are filled"):
        translating.blank(1.0)


def test_whole_numbers_do_not_ask_for_kernels_of_their_own():
    """A kernel would be compiled once more for integers."""
    for name in losses.NAMES:
        loss = losses.get(name, alpha=2, mu=1, power=1, slope=2, lapse=0, margin=1)
        assert all(type(number) is float for number in (*loss.shape, loss.margin))
