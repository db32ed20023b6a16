"""The weighted entropy's projection onto the simplex, compiled."""

import math

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

STEPS = 200  # of Newton's method kept between ends that halve: floats have no more


@njit(cache=True)
def settle(logs: Array, rates: Array, out: Array) -> None:
    """Write ln w_i = logs_i − η_iλ with the λ for which Σw = 1 into `out`."""
    low, high = -math.inf, -math.inf
    for i in range(logs.size):
        # at the least λ some w is 1, at the largest all are at most 1/N
        low = max(low, logs[i] / rates[i])
        high = max(high, (logs[i] + math.log(logs.size)) / rates[i])
    x = low
    for _ in range(STEPS):
        total, slope = 0.0, 0.0
        for i in range(logs.size):
            w = math.exp(min(logs[i] - rates[i] * x, 700.0))
            total += w
            slope += rates[i] * w
        if total > 1.0:
            low = x
        else:
            high = x
        new = x + (total - 1.0) / slope if slope > 0.0 else 0.5 * (low + high)
        if not low < new < high:
            new = 0.5 * (low + high)
        if new == x or not low < new < high:
            break
        x = new
    for i in range(logs.size):
        out[i] = logs[i] - rates[i] * x
