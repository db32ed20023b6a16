"""Rounds of KernelForecaster on splines: a Kalman filter for each ridge, advanced together, and
their aggregate.

The spline with offset λ has variance λ at time 0 and gains 1 a unit of time; the filter of ridge λ
is, with a gap Δ since the last round, v = C + Δ, ŷ = λm/(v + λ), m ← m + v/(v + λ)·(y − m) and
C ← vλ/(v + λ).
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.forecasters import _aggregation
from stillpoint.forecasters._aggregation import combine, learn


class Places(NamedTuple):
    """Where each number stands in `State.scalars`."""

    time: int = 0  # of the open round, or the last one
    first: int = 1  # time of the first round
    rounds: int = 2
    seen: int = 3  # rounds with an observation
    residual: int = 4  # mean of (y − ŷ)² over them
    open: int = 5
    forecast: int = 6
    experts: int = 7  # ridges that take part


class State(NamedTuple):
    """One entry a ridge, but for the scalars."""

    means: np.ndarray
    covariances: np.ndarray  # C
    variances: np.ndarray  # v, of the open round or the last one
    forecasts: np.ndarray
    scalars: np.ndarray  # see Places
    experts: _aggregation.State


class Rule(NamedTuple):
    """What does not change from round to round."""

    aggregation: int
    share: float
    grows: bool  # whether ridges join by and by
    ridges: np.ndarray


AT = Places()


@njit(cache=True)
def awake(rounds: float, elapsed: float, most: int, grows: bool) -> int:
    """How many ridges take part: 1 + ⌈log₂ t⌉, the widest window being about all there was."""
    if not grows:
        return most
    return min(most, 1 + math.ceil(math.log2(max(rounds, elapsed))))


@njit(cache=True)
def begin(time: float, rule: Rule, state: State) -> float:
    """Open a round at this time; returns the forecast."""
    m, C, v, p, c = state[:5]
    lam = rule.ridges
    if c[AT.rounds] == 0.0:
        c[AT.first] = time
        gap = time  # the prior is that of time 0, where the spline has variance λ
    else:
        gap = time - c[AT.time]
    for i in range(lam.size):
        v[i] = C[i] + gap
        p[i] = lam[i] / (v[i] + lam[i]) * m[i]
    c[AT.time], c[AT.open] = time, 1.0
    experts = awake(c[AT.rounds] + 1.0, time - c[AT.first] + 1.0, lam.size, rule.grows)
    c[AT.experts] = experts
    c[AT.forecast] = combine(rule.aggregation, p[:experts], state.experts)
    return float(c[AT.forecast])


@njit(cache=True)
def finish(y: float, rule: Rule, state: State) -> None:
    """Close the open round; y is NaN where it is missing."""
    m, C, v, p, c = state[:5]
    lam = rule.ridges
    if math.isnan(y):
        for i in range(lam.size):
            C[i] = v[i]
    else:
        known = p[: int(c[AT.experts])]
        learn(rule.aggregation, rule.share, c[AT.forecast], y, known, state.experts)
        for i in range(lam.size):
            part = v[i] / (v[i] + lam[i])
            m[i] += part * (y - m[i])
            C[i] = part * lam[i]  # v − v²/S without the cancellation
        c[AT.seen] += 1.0
        c[AT.residual] += ((y - c[AT.forecast]) ** 2 - c[AT.residual]) / c[AT.seen]
    c[AT.rounds] += 1.0
    c[AT.open] = 0.0


@njit(cache=True)
def track(y: np.ndarray, times: np.ndarray, rule: Rule, state: State, out: np.ndarray) -> None:
    """Round after round, forecasts into out."""
    rule, state = bare(rule), bare(state)
    for t in range(y.size):
        out[t] = begin(times[t], rule, state)
        finish(y[t], rule, state)


# Single rounds are called from Python, where unpacking a NamedTuple costs more than the round's
# arithmetic: arrays come one by one.


@njit(cache=True)
def begin_one(
    time: float,
    aggregation: int,
    share: float,
    grows: bool,
    ridges: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    variances: np.ndarray,
    forecasts: np.ndarray,
    scalars: np.ndarray,
    regrets: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    weights: np.ndarray,
) -> float:
    """`begin`."""
    experts = _aggregation.State(regrets, squares, sums, weights)
    state = bare(State(means, covariances, variances, forecasts, scalars, experts))
    return begin(time, Rule(aggregation, share, grows, ridges), state)


@njit(cache=True)
def finish_one(
    y: float,
    aggregation: int,
    share: float,
    grows: bool,
    ridges: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    variances: np.ndarray,
    forecasts: np.ndarray,
    scalars: np.ndarray,
    regrets: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    weights: np.ndarray,
) -> None:
    """`finish`."""
    experts = _aggregation.State(regrets, squares, sums, weights)
    state = bare(State(means, covariances, variances, forecasts, scalars, experts))
    finish(y, Rule(aggregation, share, grows, ridges), state)
