"""What kernels are made of: how they are compiled, and functions that let loops vectorise.

None has a branch or a library call, except in the far tail of the normal distribution.
"""

import math

import numpy as np
from numba import njit

# Fusing multiply and add, and leaving division by zero to IEEE, lets loops vectorise.
kernel = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})

BATCH = 256  # rows whose numbers stay in the first-level cache between the steps of a kernel
LOG_2 = math.log(2)
LOG2_E = 1 / LOG_2
SERIES = tuple(LOG_2**k / math.factorial(k) for k in range(13))
F32 = np.float32
SINGLE_LOG2_E = F32(LOG2_E)
SINGLE_SERIES = tuple(F32(term) for term in SERIES[:7])
SQRT_2 = math.sqrt(2)
SQRT_2_PI = math.sqrt(2 / math.pi)
MANTISSA_BITS = np.int64((1 << 52) - 1)
SQRT_HALF_BITS = np.float64(math.sqrt(0.5)).view(np.int64)


@kernel
def logistic_residual(x):
    """1 / (1 + e^x) to 1e-14, without a branch or a library call, so that the loop vectorises.

    e^x = 2^k 2^r with k whole and |r| <= 1/2: a power series for 2^r, and k in the exponent's bits.
    """
    x = x * LOG2_E
    x = x if x < 1000.0 else 1000.0
    x = x if x > -1000.0 else -1000.0
    k = np.int64(math.floor(x + 0.5))
    r = x - k
    power = SERIES[12]
    power = power * r + SERIES[11]
    power = power * r + SERIES[10]
    power = power * r + SERIES[9]
    power = power * r + SERIES[8]
    power = power * r + SERIES[7]
    power = power * r + SERIES[6]
    power = power * r + SERIES[5]
    power = power * r + SERIES[4]
    power = power * r + SERIES[3]
    power = power * r + SERIES[2]
    power = power * r + SERIES[1]
    power = power * r + 1.0
    scale = np.int64((k + np.int64(1023)) << np.int64(52)).view(np.float64)
    return 1.0 / (1.0 + power * scale)


@kernel
def single_logistic_residual(x):
    """The same in single precision, to 1e-7, with half the terms in half the space."""
    x = x * SINGLE_LOG2_E
    x = x if x < F32(125) else F32(125)
    x = x if x > F32(-125) else F32(-125)
    k = np.int32(math.floor(x + F32(0.5)))
    r = x - F32(k)
    power = SINGLE_SERIES[6]
    power = power * r + SINGLE_SERIES[5]
    power = power * r + SINGLE_SERIES[4]
    power = power * r + SINGLE_SERIES[3]
    power = power * r + SINGLE_SERIES[2]
    power = power * r + SINGLE_SERIES[1]
    power = power * r + F32(1)
    scale = np.int32((k + np.int32(127)) << np.int32(23)).view(np.float32)
    return F32(1) / (F32(1) + power * scale)


@kernel
def normal_residual(x):
    """phi(x) / Phi(x); far down the tail, where both vanish, by its asymptotic series."""
    if x > -35.0:
        return SQRT_2_PI * math.exp(-0.5 * x * x) / math.erfc(-x / SQRT_2)
    return -x - 1 / x + 2 / x**3 - 10 / x**5


@kernel
def softplus_rest(slope):
    """log(1 + e^-|z|) from slope = 1 / (1 + e^-z), by the series of the inverse tangent."""
    q = slope if slope < 0.5 else 1.0 - slope
    s = q / (2.0 - q)
    t = s * s
    series = 1 / 23.0
    series = series * t + 1 / 21.0
    series = series * t + 1 / 19.0
    series = series * t + 1 / 17.0
    series = series * t + 1 / 15.0
    series = series * t + 1 / 13.0
    series = series * t + 1 / 11.0
    series = series * t + 1 / 9.0
    series = series * t + 1 / 7.0
    series = series * t + 1 / 5.0
    series = series * t + 1 / 3.0
    series = series * t + 1.0
    return 2.0 * s * series


@kernel
def log(x):
    """Logarithm of a positive normal number to 1e-15, in a form that loops vectorise.

    x = 2^k f with f between sqrt(1/2) and sqrt(2), read off the bits; log f by the same series.
    """
    bits = np.float64(x).view(np.int64) - SQRT_HALF_BITS
    k = bits >> np.int64(52)
    f = np.int64((bits & MANTISSA_BITS) + SQRT_HALF_BITS).view(np.float64)
    s = (f - 1.0) / (f + 1.0)
    t = s * s
    series = 1 / 19.0
    series = series * t + 1 / 17.0
    series = series * t + 1 / 15.0
    series = series * t + 1 / 13.0
    series = series * t + 1 / 11.0
    series = series * t + 1 / 9.0
    series = series * t + 1 / 7.0
    series = series * t + 1 / 5.0
    series = series * t + 1 / 3.0
    series = series * t + 1.0
    return k * LOG_2 + 2.0 * s * series
