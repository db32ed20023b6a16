"""Vector arithmetic shared by the compiled parts, in a fixed order so that every path gives the same bits."""

import math

import numpy as np
from numba import njit


@njit(cache=True)
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """⟨a, b⟩ in the order of the coordinates."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def norm(a: np.ndarray) -> float:
    """‖a‖, safe from overflow and underflow."""
    largest = 0.0
    for i in range(a.size):
        largest = max(largest, abs(a[i]))
    if largest == 0.0:
        return 0.0
    total = 0.0
    for i in range(a.size):
        total += (a[i] / largest) ** 2
    return largest * math.sqrt(total)
