"""The kernels compiled by numba: the functions of ``numpy_``, with the same meaning.

They release Python's global lock and are cached on disk. Arrays of triplets reach them read-only,
so that each kernel is compiled once, whether the rows lie in memory or in a memory map.
"""

import math

import numpy as np
from numba import njit

from ordinate.backends.numpy_ import DAMPING, HALVINGS, PLACING_STEPS, TINY

# Fusing multiply and add, and leaving division by zero to IEEE, lets loops vectorise.
kernel = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})

BATCH = 256  # rows whose numbers stay in the first-level cache between the steps of a kernel
CHUNK = 1 << 22  # rows after which sums move to double precision
LOG2_E = 1 / math.log(2)
SERIES = tuple(math.log(2) ** k / math.factorial(k) for k in range(13))
F32 = np.float32
SINGLE_LOG2_E = F32(LOG2_E)
SINGLE_SERIES = tuple(F32(term) for term in SERIES[:7])
SQRT_2 = math.sqrt(2)
SQRT_2_PI = math.sqrt(2 / math.pi)


@kernel
def scan_rows(rows, n_items):
    n_bad, first, largest = 0, -1, 0
    in_order, before = True, rows[0, 0]
    for row in range(rows.shape[0]):
        anchor, near, far = rows[row, 0], rows[row, 1], rows[row, 2]
        in_order &= anchor >= before
        before = anchor
        low, high = min(anchor, near, far), max(anchor, near, far)
        largest = max(largest, high)
        if low < 0 or high >= n_items or anchor in (near, far) or near == far:
            if n_bad == 0:
                first = row
            n_bad += 1
    return n_bad, first, largest, in_order


@kernel
def count_anchors(rows, n_items):
    counts = np.zeros(n_items, np.int64)
    for row in range(rows.shape[0]):
        counts[rows[row, 0]] += 1
    return counts


@kernel
def anchor_starts(rows, n_items):
    n_rows = rows.shape[0]
    starts = np.full(n_items + 1, n_rows, np.int64)
    row = 0
    for item in range(n_items + 1):
        # Bisection between here and a place found in strides that double: long runs are leapt over.
        stride = 1
        while row + stride < n_rows and rows[row + stride, 0] < item:
            stride *= 2
        low, high = row, min(row + stride, n_rows)
        while low < high:
            middle = (low + high) // 2
            if rows[middle, 0] < item:
                low = middle + 1
            else:
                high = middle
        starts[item] = row = low
    return starts


@kernel
def scatter_by_anchor(rows, values, free, out):
    for row in range(rows.shape[0]):
        place = free[rows[row, 0]]
        free[rows[row, 0]] = place + 1
        for k in range(values.shape[1]):
            out[place, k] = values[row, k]


@kernel
def count_sums(pairs, weight, n_items, dtype):
    far, near = np.zeros(n_items), np.zeros(n_items)
    # Sums of a few million ones are exact in either precision.
    some_far, some_near = np.zeros(n_items, dtype), np.zeros(n_items, dtype)
    for start in range(0, pairs.shape[0], CHUNK):
        stop = min(start + CHUNK, pairs.shape[0])
        if weight.shape[0] == 0:
            for row in range(start, stop):
                some_near[pairs[row, 0]] += 1
                some_far[pairs[row, 1]] += 1
        else:
            for row in range(start, stop):
                some_near[pairs[row, 0]] += weight[row]
                some_far[pairs[row, 1]] += weight[row]
        _move(some_far, far)
        _move(some_near, near)
    return far, near


@kernel
def score_sums(pairs, weight, scores, noise):
    gradient = np.zeros(scores.shape[0])
    some = np.zeros(scores.shape[0], scores.dtype)
    residual = np.empty(BATCH, scores.dtype)
    single = scores.itemsize == 4
    for start in range(0, pairs.shape[0], CHUNK):
        stop = min(start + CHUNK, pairs.shape[0])
        for first in range(start, stop, BATCH):
            size = min(BATCH, stop - first)
            batch = pairs[first : first + size]
            for i in range(size):
                residual[i] = scores[batch[i, 1]] - scores[batch[i, 0]]
            if noise == 0 and single:
                for i in range(size):
                    residual[i] = _single_logistic_residual(np.float32(residual[i]))
            elif noise == 0:
                for i in range(size):
                    residual[i] = _logistic_residual(residual[i])
            else:
                for i in range(size):
                    residual[i] = _normal_residual(residual[i])
            if weight.shape[0] > 0:
                for i in range(size):
                    residual[i] *= weight[first + i]
            for i in range(size):
                some[batch[i, 1]] += residual[i]
                some[batch[i, 0]] -= residual[i]
        _move(some, gradient)
    return gradient


@kernel
def pair_information(pairs, weight, scores, noise):
    information = np.empty(pairs.shape[0], scores.dtype)
    for row in range(pairs.shape[0]):
        information[row] = scores[pairs[row, 1]] - scores[pairs[row, 0]]
    if noise == 0:
        for row in range(pairs.shape[0]):
            residual = _logistic_residual(information[row])
            information[row] = residual * (1 - residual)
    else:
        for row in range(pairs.shape[0]):
            x = information[row]
            information[row] = _normal_residual(x) * _normal_residual(-x)
    if weight.shape[0] > 0:
        for row in range(pairs.shape[0]):
            information[row] *= weight[row]
    return information


@kernel
def neighbour_sums(pairs, weight, values):
    sums = np.zeros(values.shape[0], values.dtype)
    for row in range(pairs.shape[0]):
        near, far = pairs[row, 0], pairs[row, 1]
        sums[far] += weight[row] * values[near]
        sums[near] += weight[row] * values[far]
    return sums


@kernel
def _move(some, total):
    for i in range(total.shape[0]):
        total[i] += some[i]
        some[i] = 0


@kernel
def _logistic_residual(x):
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
def _single_logistic_residual(x):
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
def _normal_residual(x):
    """phi(x) / Phi(x); far down the tail, where both vanish, by its asymptotic series."""
    if x > -35.0:
        return SQRT_2_PI * math.exp(-0.5 * x * x) / math.erfc(-x / SQRT_2)
    return -x - 1 / x + 2 / x**3 - 10 / x**5


@kernel
def count_parts(pairs, n_items, n_compared):
    parent = np.arange(n_items, dtype=np.uint32)
    n_parts = n_compared
    for row in range(pairs.shape[0]):
        a, b = _root(parent, pairs[row, 0]), _root(parent, pairs[row, 1])
        if a != b:
            parent[a] = b
            n_parts -= 1
            if n_parts == 1:
                break
    return n_parts


@kernel
def _root(parent, item):
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@kernel
def place_items(points, landmarks, distances, weight):
    x = points.copy()
    d = x.shape[1]
    gradient, new_gradient = np.empty(d), np.empty(d)
    curvature, new_curvature = np.empty((d, d)), np.empty((d, d))
    step, new = np.empty(d), np.empty(d)
    for i in range(x.shape[0]):
        cost = _placement(x[i], landmarks, distances[i], weight[i], gradient, curvature)
        for _ in range(PLACING_STEPS):
            step[:] = gradient
            _solve(curvature, step)
            for _ in range(HALVINGS):
                new[:] = x[i] + step
                new_cost = _placement(
                    new, landmarks, distances[i], weight[i], new_gradient, new_curvature
                )
                if new_cost < cost:
                    x[i], cost = new, new_cost
                    gradient[:], curvature[:] = new_gradient, new_curvature
                    break
                step /= 2
            else:
                break  # no step helps: the point is where it fits best
    return x


@kernel
def _placement(x, landmarks, distances, weight, gradient, curvature):
    d = x.shape[0]
    cost = 0.0
    gradient[:] = 0
    curvature[:] = 0
    for k in range(landmarks.shape[0]):
        error = distances[k]
        for a in range(d):
            error -= (x[a] - landmarks[k, a]) ** 2
        cost += weight[k] * error * error
        for a in range(d):
            away = 2 * (x[a] - landmarks[k, a])
            gradient[a] += weight[k] * error * away
            for b in range(a + 1):
                curvature[a, b] += weight[k] * away * 2 * (x[b] - landmarks[k, b])
    size = TINY
    for a in range(d):
        size += curvature[a, a]
    for a in range(d):
        curvature[a, a] += DAMPING * size
    return cost


@kernel
def _solve(A, b):
    """Solve A x = b in place by Cholesky's method, from the lower triangle of A alone."""
    d = b.shape[0]
    for a in range(d):
        for k in range(a):
            A[a, a] -= A[a, k] ** 2
        A[a, a] = math.sqrt(A[a, a])
        for b_ in range(a + 1, d):
            for k in range(a):
                A[b_, a] -= A[b_, k] * A[a, k]
            A[b_, a] /= A[a, a]
    for a in range(d):
        for k in range(a):
            b[a] -= A[a, k] * b[k]
        b[a] /= A[a, a]
    for a in range(d - 1, -1, -1):
        for k in range(a + 1, d):
            b[a] -= A[k, a] * b[k]
        b[a] /= A[a, a]
