"""Vector arithmetic shared by the compiled parts: one definition, so that every path gives the same
bits.
"""

import math

import numpy as np

from stillpoint.core.jit import njit

SMALLEST, LARGEST = 1e-150, 1e150  # gradients whose squares are floats


@njit(cache=True, fastmath={"reassoc"})
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """⟨a, b⟩; the order of the sum is the compiler's, so that long vectors go through SIMD lanes
    (seven times as fast).
    """
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def assign(out: np.ndarray, values: np.ndarray) -> None:
    """out[:] = values, for vectors. Numba's own takes two seconds to compile: it can tell in words
    which shapes did not fit.
    """
    for i in range(out.size):
        out[i] = values[i]


@njit(cache=True)
def norm(a: np.ndarray) -> float:
    """‖a‖, safe from overflow and underflow."""
    square = dot(a, a)
    if 1e-280 < square < 1e280:
        return math.sqrt(square)
    if math.isnan(square):
        return square
    largest = 0.0
    for i in range(a.size):
        largest = max(largest, abs(a[i]))
    if largest == 0.0 or math.isinf(largest):
        return largest
    total = 0.0
    for i in range(a.size):
        total += (a[i] / largest) ** 2
    return largest * math.sqrt(total)


@njit(cache=True)
def usable_norm(g: np.ndarray) -> float:
    """‖g‖ for learners, which square it: 0, and g with it, below SMALLEST; infinite above LARGEST;
    NaN for NaN.
    """
    size = norm(g)
    if size > LARGEST:
        return math.inf
    if size < SMALLEST:
        g[:] = 0.0
        return 0.0
    return size


@njit(cache=True)
def running_dot(a: np.ndarray, b: np.ndarray, start: float, out: np.ndarray) -> float:
    """out[t] = start + Σ_{s≤t}⟨a_s, b_s⟩, added up in order; returns the last."""
    for t in range(out.size):
        start += dot(a[t], b[t])
        out[t] = start
    return start
