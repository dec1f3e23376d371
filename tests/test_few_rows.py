"""What NumPy does for few rows, and a compiled kernel for many: the same sums."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed")

from ordinate.kernels import losses
from ordinate.kernels.backends import numba_, numpy_
from ordinate.kernels.backends.numba_ import maps, rows
from ordinate.kernels.backends.numba_.functions import DOUBLE, MANY

ROWS = np.random.default_rng(0).integers(0, 9, (500, 3)).astype(np.uint32)
ROWS.flags.writeable = False


def test_mentions(monkeypatch):
    expected = numpy_.count_mentions(ROWS, 9)
    assert np.array_equal(numba_.count_mentions(ROWS, 9), expected)
    monkeypatch.setattr(rows, "MANY", 0)
    assert np.array_equal(numba_.count_mentions(ROWS, 9), expected)


def test_few_rows_have_no_kernel_of_their_loss_compiled_for_their_curvature(monkeypatch):
    def none(*_, **__):
        raise AssertionError("a kernel of the loss was compiled")

    monkeypatch.setattr(maps, "filled", none)
    points = np.random.default_rng(1).normal(size=(9, 2))
    given = ROWS, np.empty(0), points, losses.get("ste")
    for found, twin in zip(maps.curvature_sums(*given), numpy_.curvature_sums(*given), strict=True):
        np.testing.assert_allclose(found, twin, rtol=1e-12)
    assert len(ROWS) < MANY


def test_a_formula_is_translated_once():
    power = losses.get("power").link
    assert DOUBLE.translate(power.value) is DOUBLE.translate(power.value)
