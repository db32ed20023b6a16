"""Least squares and logistic filters with forgetting, from which hindsight picks.

Scaled, rebased and clipped as ours are.

All factors run side by side. Round: C/λ, g = C z, v = z'g, then learn. Forgetting pauses for a
filter whose covariance has grown past CEILING: without it, features that rest would overflow.
"""

import math
from typing import NamedTuple

from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.forecasters._features import ROW, standardise
from stillpoint.forecasters._logistic import FLATTEST, mode, sigmoid

CEILING = 1e12


class Places(NamedTuple):
    """Where what the least squares filters have seen of targets is, less the first one."""

    rounds: int = 0
    origin: int = 1  # the first target
    low: int = 2
    high: int = 3


SEEN = Places()


class State(NamedTuple):
    """K filters of N coefficients, the intercept last, and what the open round has worked out."""

    factors: Array  # (K,), of forgetting
    features: Array  # (5, N − 1), running statistics
    means: Array  # (K, N)
    covariances: Array  # (K, N, N)
    z: Array  # (N,), the round's features, scaled
    gains: Array  # (K, N), C z
    variances: Array  # (K,), z'C z
    values: Array  # (K,), forecasts


@njit(cache=True)
def forget(state: State) -> None:
    """C/λ, then C z and z'C z, in every filter."""
    C, z, gains, variances = state.covariances, state.z, state.gains, state.variances
    N = z.size
    for k in range(state.factors.size):
        largest = 0.0
        for i in range(N):
            largest = max(largest, C[k, i, i])
        if largest < CEILING:
            for i in range(N):
                for j in range(N):
                    C[k, i, j] /= state.factors[k]
        variances[k] = 0.0
        for i in range(N):
            gains[k, i] = 0.0
            for j in range(N):
                gains[k, i] += C[k, i, j] * z[j]
            variances[k] += gains[k, i] * z[i]


@njit(cache=True)
def predicted(state: State, k: int) -> float:
    """z'θ of filter k."""
    value = 0.0
    for i in range(state.z.size):
        value += state.z[i] * state.means[k, i]
    return value


@njit(cache=True)
def condition(state: State, k: int, step: float, weight: float) -> None:
    """θ += g·step, C −= g g'·weight, symmetric to the bit."""
    M, C, gains = state.means, state.covariances, state.gains
    for i in range(M.shape[1]):
        M[k, i] += gains[k, i] * step
        for j in range(M.shape[1]):
            C[k, i, j] -= (gains[k, i] * gains[k, j]) * weight


@njit(cache=True)
def open_squares(state: State, seen: Array, prior: float, x: Array) -> None:
    """Write one forecast per factor to `state.values`.

    Each is clipped to the range of past targets, widened by itself on both sides.
    """
    standardise(x, prior, state.features, state.means, state.covariances, state.z)
    seen[SEEN.rounds] += 1.0
    forget(state)
    reach = seen[SEEN.high] - seen[SEEN.low]
    for k in range(state.factors.size):
        value = min(max(predicted(state, k), seen[SEEN.low] - reach), seen[SEEN.high] + reach)
        state.values[k] = seen[SEEN.origin] + value


@njit(cache=True)
def close_squares(state: State, seen: Array, y: float) -> None:
    """Learn the target. The first only sets the level, as in ours."""
    if seen[SEEN.rounds] == 1.0:
        seen[SEEN.origin] = y
    y -= seen[SEEN.origin]
    seen[SEEN.low], seen[SEEN.high] = min(seen[SEEN.low], y), max(seen[SEEN.high], y)
    for k in range(state.factors.size):
        inverse = 1.0 / (state.variances[k] + 1.0)
        condition(state, k, (y - predicted(state, k)) * inverse, inverse)


@njit(cache=True)
def open_logistic(state: State, rebased: bool, prior: float, x: Array) -> None:
    """Write z'θ of every filter to `state.values`.

    `state.factors` holds each factor as often as there are classes to tell from the rest. rebased:
    changes of origin and unit are carried into the filters; else they see the running standard
    score.
    """
    features, M, C, z = state.features, state.means, state.covariances, state.z
    if rebased:
        standardise(x, prior, features, M, C, z)
    else:
        standardise(x, prior, features, M[:0], C[:0], z)
        for i in range(x.size):
            spread = math.sqrt(features[ROW.squares, i] / features[ROW.seen, i])
            if spread > 0.0:
                z[i] = (
                    features[ROW.centre, i] + features[ROW.scale, i] * z[i] - features[ROW.mean, i]
                ) / spread
    forget(state)
    for k in range(state.factors.size):
        state.values[k] = predicted(state, k)


@njit(cache=True)
def close_logistic(state: State, exact: bool, labels: Array) -> None:
    """Learn labels in {0, 1}, one per filter.

    exact: at the mode of the new posterior; else linearised at the old mean, which is the EKF.
    """
    for k in range(labels.size):
        at, variance = state.values[k], state.variances[k]
        if exact:  # label 0 is label 1 with the signs turned
            at = mode(at, variance) if labels[k] == 1.0 else -mode(-at, variance)
        p = sigmoid(at)
        h = max(p * (1.0 - p), FLATTEST)
        weight = h / (1.0 + h * variance)
        # linearised, the step is that of a Kalman filter that saw y − p with slope h and noise h:
        # (y − p)/(1 + h v)
        step = labels[k] - p if exact else (labels[k] - p) / (1.0 + h * variance)
        condition(state, k, step, weight)
