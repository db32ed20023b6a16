"""Exponential weights, compiled."""

import math

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.jit import njit


@njit(cache=True)
def weigh(log_prior: Array, rate: float, cumulative: Array, weights: Array) -> None:
    """Write weights ∝ exp(log_prior − rate·cumulative), which sum to 1."""
    top = -np.inf
    for i in range(weights.size):
        weights[i] = log_prior[i] - rate * cumulative[i]
        top = max(top, weights[i])
    total = 0.0
    for i in range(weights.size):
        weights[i] = math.exp(weights[i] - top)
        total += weights[i]
    for i in range(weights.size):
        weights[i] /= total


@njit(cache=True)
def mix(weights: Array, experts: Array, w: Array) -> None:
    """Write Σ_i weights[i]·experts[i] into `w`."""
    w[:] = 0.0
    for i in range(weights.size):
        for j in range(w.size):
            w[j] += weights[i] * experts[i, j]
