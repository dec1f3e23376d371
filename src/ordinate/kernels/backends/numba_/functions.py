"""What kernels are made of: how they are compiled, and the functions that formulas are written in.

None but those of the normal distribution has a branch or a library call, so that loops vectorise.
"""

import math
import warnings
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numba import njit

from ordinate.kernels import functions as plain_functions
from ordinate.kernels.backends.translating import Language, fill, spelt_out
from ordinate.kernels.functions import EXPREL_SLOPE, SMALL


def _can_cache() -> bool:
    """Whether numba finds a folder for compiled kernels; warn if it finds none.

    No folder of ours takes its place: a cache holds code, and others may write to temporary ones.
    """
    try:
        njit(cache=True)(_can_cache)
    except RuntimeError:
        warnings.warn(
            "numba finds no folder to keep compiled kernels in, so that every process compiles "
            "its own, which takes some seconds: set the environment variable NUMBA_CACHE_DIR to a "
            "folder that only you can write to",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


# Fusing multiply and add, and leaving division by zero to IEEE, lets loops vectorise.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
kernel = njit(cache=_can_cache(), **OPTIONS)
# Only kernels can call a part: it lacks what a call from Python needs, which takes long to compile.
part = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
function = njit(forceinline=True, **OPTIONS)  # part of a loop, which a call would not let vectorise

MANY = 1 << 16  # rows of a part from which it pays to compile what NumPy does as well
BATCH = 256  # rows whose numbers stay in the first-level cache between the steps of a kernel
LOG_2 = math.log(2)
LOG2_E = 1 / LOG_2
SERIES = tuple(LOG_2**k / math.factorial(k) for k in range(13))
F32 = np.float32
SINGLE_LOG2_E = F32(LOG2_E)
SINGLE_SERIES = tuple(F32(term) for term in SERIES[:7])
SQRT_2 = math.sqrt(2)
SQRT_PI = math.sqrt(math.pi)
SMALLEST = np.finfo(np.float64).tiny
MANTISSA_BITS = np.int64((1 << 52) - 1)
SQRT_HALF_BITS = np.float64(math.sqrt(0.5)).view(np.int64)


@function
def ones_like(x):
    return 1.0


@function
def above(x):
    return x if x > 0.0 else 0.0


@function
def is_above(x):
    return 1.0 if x > 0.0 else 0.0


@function
def nonzero(x):
    return x if x > SMALLEST else SMALLEST


@function
def split_power(x):
    """Return 2^k and 2^r - 1 of e^x = 2^k 2^r, k whole and |r| <= 1/2.

    A power series for 2^r, and k in the exponent's bits.
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
    scale = np.int64((k + np.int64(1023)) << np.int64(52)).view(np.float64)
    return scale, power * r


@function
def expit(x):
    """1 / (1 + e^-x) to 1e-14."""
    scale, over = split_power(-x)
    return 1.0 / (1.0 + (over + 1.0) * scale)


@function
def single_expit(x):
    """The same in single precision, to 1e-7, with half the terms in half the space."""
    x = -F32(x) * SINGLE_LOG2_E
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


@function
def softplus(x):
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), from 1 / (1 + e^-x), which slopes need as well.

    The logarithm is found by the series of the inverse hyperbolic tangent.
    """
    slope = expit(x)
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
    return 2.0 * s * series + above(x)


@function
def log_by_series(s):
    """Logarithm of f between sqrt(1/2) and sqrt(2) from s = (f - 1) / (f + 1): 2 artanh s."""
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
    return 2.0 * s * series


@function
def log(x):
    """Logarithm of a positive normal number to 1e-15, without a branch.

    x = 2^k f with f between sqrt(1/2) and sqrt(2), read off the bits; log f by its series.
    """
    bits = np.float64(x).view(np.int64) - SQRT_HALF_BITS
    k = bits >> np.int64(52)
    f = np.int64((bits & MANTISSA_BITS) + SQRT_HALF_BITS).view(np.float64)
    return k * LOG_2 + log_by_series((f - 1.0) / (f + 1.0))


@function
def log1p(x):
    """log(1 + x) for x >= 0, exact for small x, as :func:`log` finds it.

    1 + x = 2^k f, and f - 1 = 2^-k x + (2^-k - 1), which is x itself as long as k is 0.
    """
    k = (np.float64(1.0 + x).view(np.int64) - SQRT_HALF_BITS) >> np.int64(52)
    shrunk = np.int64((np.int64(1023) - k) << np.int64(52)).view(np.float64)
    over = x * shrunk + (shrunk - 1.0)
    return k * LOG_2 + log_by_series(over / (2.0 + over))


@function
def exp(x):
    """e^x to 1e-14."""
    scale, over = split_power(x)
    return scale + scale * over


@function
def exprel(x):
    """(e^x - 1) / x to 1e-14, and 1 at 0."""
    scale, over = split_power(x)
    return (scale * over + (scale - 1.0)) / x if x != 0.0 else 1.0


@function
def exprel_slope(x):
    """Derivative of :func:`exprel`, by its series where the difference would cancel."""
    series = EXPREL_SLOPE[13]
    series = series * x + EXPREL_SLOPE[12]
    series = series * x + EXPREL_SLOPE[11]
    series = series * x + EXPREL_SLOPE[10]
    series = series * x + EXPREL_SLOPE[9]
    series = series * x + EXPREL_SLOPE[8]
    series = series * x + EXPREL_SLOPE[7]
    series = series * x + EXPREL_SLOPE[6]
    series = series * x + EXPREL_SLOPE[5]
    series = series * x + EXPREL_SLOPE[4]
    series = series * x + EXPREL_SLOPE[3]
    series = series * x + EXPREL_SLOPE[2]
    series = series * x + EXPREL_SLOPE[1]
    series = series * x + EXPREL_SLOPE[0]
    return series if abs(x) < SMALL else (exp(x) - exprel(x)) / x


@function
def erfcx(x):
    """e^(x^2) erfc(x); far out, where erfc vanishes, by its asymptotic series to 1e-14."""
    if x < 26.0:
        return math.exp(x * x) * math.erfc(x)
    t = 1 / (2 * x * x)
    return (1 - t * (1 - t * (3 - t * (15 - t * (105 - t * 945))))) / (x * SQRT_PI)


@function
def log_ndtr(x):
    """Logarithm of Phi(x) = erfc(-x / sqrt(2)) / 2, or of 1 - Phi(-x) where Phi(x) is almost 1."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / SQRT_2))
    if x > -36.0:
        return math.log(0.5 * math.erfc(-x / SQRT_2))
    return math.log(0.5 * erfcx(-x / SQRT_2)) - 0.5 * x * x


FUNCTIONS = {
    "above": above,
    "erfcx": erfcx,
    "exp": exp,
    "expit": expit,
    "exprel": exprel,
    "exprel_slope": exprel_slope,
    "is_above": is_above,
    "log": log,
    "log1p": log1p,
    "log_ndtr": log_ndtr,
    "nonzero": nonzero,
    "ones_like": ones_like,
    "softplus": softplus,
    "sqrt": math.sqrt,
}
DOUBLE = Language(FUNCTIONS, function, {})
SINGLE = Language(FUNCTIONS | {"expit": single_expit}, function, {})

_filled: dict[tuple, Any] = {}
_lock = Lock()


def filled(kernel_with_blanks, language=DOUBLE, **formulas):
    """Return the kernel compiled with formulas in its blanks: the same whenever it is asked for."""
    key = kernel_with_blanks, language is SINGLE, *formulas.values()
    with _lock:  # threads that ask at once must not each compile their own
        if key not in _filled:
            _filled[key] = _cached_by_formulas(kernel_with_blanks, language, formulas)
    return _filled[key]


def _cached_by_formulas(kernel_with_blanks, language, formulas):
    """Compile for a cache on disk that notices when a formula, or a function of it, changes.

    numba knows a cached kernel by its name and by when its own file was written, so that the name
    must tell what else it is made of.
    """
    said = [str(language is SINGLE), *map(spelt_out, formulas.values())]
    read = [Path(file).read_bytes() for file in (__file__, plain_functions.__file__)]
    made_of = blake2b(b"".join(read) + "\n".join(said).encode(), digest_size=8)
    blanks = {name: language.translate(formula) for name, formula in formulas.items()}
    whole = fill(kernel_with_blanks, blanks)
    whole.__qualname__ += f"-{made_of.hexdigest()}"
    return kernel(whole)
