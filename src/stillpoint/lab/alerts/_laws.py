"""Compiled noise: GARCH(1, 1), whose spread depends on its own past (Bollerslev 1986)."""

import math

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.jit import njit


@njit(cache=True)
def garch(draws: Array, alpha: float, beta: float) -> Array:
    """Return x_t = σ_t·draws_t with σ²_t = 1 − α − β + α·x²_{t−1} + β·σ²_{t−1}, σ_0 = 1."""
    out = np.empty(draws.size)
    square = 1.0
    for t in range(draws.size):
        out[t] = math.sqrt(square) * draws[t]
        square = 1.0 - alpha - beta + alpha * out[t] ** 2 + beta * square
    return out
