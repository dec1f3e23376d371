import numpy as np
import pytest
from scipy.optimize import approx_fprime

from ordinate.kernels import noise


@pytest.mark.parametrize("name", noise.NAMES)
def test_residual_is_the_derivative_of_log_f(name):
    model = noise.get(name)
    for x in (-6.0, -1.3, 0.0, 0.4, 5.0):
        slope = approx_fprime(np.array([x]), lambda v: float(np.log(model.probability(v))[0]), 1e-6)
        assert model.residual(np.array([x])) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("name", noise.NAMES)
def test_information_is_the_expected_squared_residual(name):
    model = noise.get(name)
    x = np.linspace(-6, 6, 25)
    p = model.probability(x)
    expected = p * model.residual(x) ** 2 + (1 - p) * model.residual(-x) ** 2
    assert model.information(x) == pytest.approx(expected, rel=1e-9)
    assert p + model.probability(-x) == pytest.approx(np.ones(25))


@pytest.mark.parametrize("name", noise.NAMES)
def test_far_tails_are_finite(name):
    model = noise.get(name)
    x = np.array([-700.0, -40.0, 40.0, 700.0])
    assert np.isfinite(model.residual(x)).all()
    assert (np.diff(model.residual(x)) <= 0).all()


def test_unknown_noise():
    with pytest.raises(ValueError, match="noise must be one of 'btl', 'thurstone'"):
        noise.get("gauss")
