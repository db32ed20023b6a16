"""Least squares and logistic filters with forgetting, from which hindsight picks.

Scaled, rebased and clipped as ours are.

All factors run side by side, `means` (K, N) and `covariances` (K, N, N), intercept last. Round:
C/λ, g = C z, v = z'g, then learn. Forgetting pauses for a filter whose covariance has grown past
CEILING: without it, features that rest would overflow.
"""

import math

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.forecasters._classification import FLATTEST, mode, sigmoid
from stillpoint.forecasters._tracking import CENTRE, COUNT, MEAN, SCALE, SQUARES, standardise

CEILING = 1e12
# entries of `seen`
ROUNDS, ORIGIN, LOW, HIGH = range(4)


@njit(cache=True)
def forget(
    factors: np.ndarray, C: np.ndarray, z: np.ndarray, gains: np.ndarray, variances: np.ndarray
) -> None:
    """C/λ, then C z and z'C z, in every filter."""
    N = z.size
    for k in range(factors.size):
        largest = 0.0
        for i in range(N):
            largest = max(largest, C[k, i, i])
        if largest < CEILING:
            for i in range(N):
                for j in range(N):
                    C[k, i, j] /= factors[k]
        variances[k] = 0.0
        for i in range(N):
            gains[k, i] = 0.0
            for j in range(N):
                gains[k, i] += C[k, i, j] * z[j]
            variances[k] += gains[k, i] * z[i]


@njit(cache=True)
def condition(
    k: int, step: float, weight: float, M: np.ndarray, C: np.ndarray, gains: np.ndarray
) -> None:
    """θ += g·step, C −= g g'·weight, symmetric to the bit."""
    for i in range(M.shape[1]):
        M[k, i] += gains[k, i] * step
        for j in range(M.shape[1]):
            C[k, i, j] -= (gains[k, i] * gains[k, j]) * weight


@njit(cache=True)
def open_squares(
    x: np.ndarray,
    prior: float,
    factors: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    seen: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    variances: np.ndarray,
    out: np.ndarray,
) -> None:
    """Forecasts, one a factor, clipped to the range of past targets widened by itself on both
    sides.
    """
    standardise(x, prior, features, M, C, z)
    seen[ROUNDS] += 1.0
    forget(factors, C, z, gains, variances)
    reach = seen[HIGH] - seen[LOW]
    for k in range(factors.size):
        value = 0.0
        for i in range(z.size):
            value += z[i] * M[k, i]
        out[k] = seen[ORIGIN] + min(max(value, seen[LOW] - reach), seen[HIGH] + reach)


@njit(cache=True)
def close_squares(
    y: float,
    M: np.ndarray,
    C: np.ndarray,
    seen: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    variances: np.ndarray,
) -> None:
    """Learn the target. The first only sets the level, as in ours."""
    if seen[ROUNDS] == 1.0:
        seen[ORIGIN] = y
    y -= seen[ORIGIN]
    seen[LOW], seen[HIGH] = min(seen[LOW], y), max(seen[HIGH], y)
    for k in range(M.shape[0]):
        value = 0.0
        for i in range(z.size):
            value += z[i] * M[k, i]
        inverse = 1.0 / (variances[k] + 1.0)
        condition(k, (y - value) * inverse, inverse, M, C, gains)


@njit(cache=True)
def open_logistic(
    x: np.ndarray,
    rebased: bool,
    prior: float,
    factors: np.ndarray,
    features: np.ndarray,
    M: np.ndarray,
    C: np.ndarray,
    z: np.ndarray,
    gains: np.ndarray,
    variances: np.ndarray,
    values: np.ndarray,
) -> None:
    """z'θ, one a filter. `factors` holds each as often as there are classes to tell from the rest.

    rebased: changes of origin and unit are carried into the filters; else they see the running
    standard score.
    """
    if rebased:
        standardise(x, prior, features, M, C, z)
    else:
        standardise(x, prior, features, M[:0], C[:0], z)
        for i in range(x.size):
            spread = math.sqrt(features[SQUARES, i] / features[COUNT, i])
            if spread > 0.0:
                z[i] = (
                    features[CENTRE, i] + features[SCALE, i] * z[i] - features[MEAN, i]
                ) / spread
    forget(factors, C, z, gains, variances)
    for k in range(factors.size):
        values[k] = 0.0
        for i in range(z.size):
            values[k] += z[i] * M[k, i]


@njit(cache=True)
def close_logistic(
    labels: np.ndarray,
    exact: bool,
    M: np.ndarray,
    C: np.ndarray,
    gains: np.ndarray,
    variances: np.ndarray,
    values: np.ndarray,
) -> None:
    """Learn labels in {0, 1}, one a filter: at the mode of the new posterior (exact), or linearised
    at the old mean (EKF).
    """
    for k in range(labels.size):
        at = values[k]
        if exact:  # label 0 is label 1 with the signs turned
            at = mode(at, variances[k]) if labels[k] == 1.0 else -mode(-at, variances[k])
        p = sigmoid(at)
        h = max(p * (1.0 - p), FLATTEST)
        weight = h / (1.0 + h * variances[k])
        # linearised, the step is that of a Kalman filter that saw y − p with slope h and noise h:
        # (y − p)/(1 + h v)
        step = labels[k] - p if exact else (labels[k] - p) / (1.0 + h * variances[k])
        condition(k, step, weight, M, C, gains)
